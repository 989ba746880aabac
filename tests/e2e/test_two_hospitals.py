"""Two hospitals, three patients seen in both, one of them misspelt: from two lists to a release."""

import base64
import contextlib
import csv
import io
import json
from pathlib import Path

import pandas as pd
import pytest

from neuroveil.cli.app import run
from neuroveil.keys import sealing
from neuroveil.linkage.encoded_list import read_encoded
from neuroveil.simulate import CohortSpec, cohort_patient_list, plan_cohort, simulate_cohort

SPEC = CohortSpec(n_patients=12, n_in_two_hospitals=3, n_sessions=1, seconds=20.0, seed=3)
N_PEOPLE = 9

SCHEMA = """\
name = "two hospitals"

[[field]]
name = "given_name"
kind = "name"
typical_grams = 7.0

[[field]]
name = "surname"
kind = "name"
typical_grams = 8.0

[[field]]
name = "birth_date"
kind = "date"
weight = 1.5
typical_grams = 9.0

[[field]]
name = "postcode"
kind = "postcode"
typical_grams = 5.0

[identifier]
column = "number"
scheme = "project"
pattern = "[0-9]{6}"

[matching]
threshold = 0.8
review_from = 0.72
learned_on = "simulated people"
"""

STUDY = """\
[input]
layout = "bids"
folder = "cohort"
population = "adults"

[linkage]
people = "people.csv"
policy = "pool"

[privacy]
mechanism = "privunit"
epsilon = 1.0

[privacy.budget]
epsilon = 1.0
delta = 0.0
"""

pytestmark = pytest.mark.slow


def neuroveil(folder: Path, *words: str, code: int = 0) -> dict[str, object]:
    """Run one command in a folder and read its answer."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        ended = run([*words, "--json"])
    assert ended == code, out.getvalue() + err.getvalue()
    return json.loads(out.getvalue())


def write_lists(folder: Path) -> None:
    """Write each hospital's patient list, and one as if they were a single hospital.

    The first patient has the same number in both hospitals; of the other two nobody took down
    the number in the second, and the last one's name was misspelt there.
    """
    people = cohort_patient_list(SPEC)
    numbers = [f"{100000 + row}" for row in range(SPEC.n_patients)]
    numbers[-3:] = [numbers[0], "", ""]
    hospitals = [patient.hospital for patient in plan_cohort(SPEC).patients]
    for hospital in (*set(hospitals), "everybody"):
        with (folder / f"{hospital}.csv").open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow([*people, "number"])
            writer.writerows(
                [*(values[row] for values in people.values()), numbers[row]]
                for row, where in enumerate(hospitals)
                if hospital in (where, "everybody")
            )


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Both lists linked by the command line, and the release that follows."""
    root = tmp_path_factory.mktemp("two")
    simulate_cohort(root / "cohort", SPEC)
    write_lists(root)
    (root / "linkage.toml").write_text(SCHEMA, encoding="utf-8")
    (root / "study.toml").write_text(STUDY, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sealing, "SCRYPT_COST", 1 << 10)
        patch.setenv("NEUROVEIL_KEY_PASSPHRASE", "three patients were seen in both hospitals")
        neuroveil(root, "link", "keygen", "linkage.keystore")
        for hospital in ("hospital-1", "hospital-2"):
            neuroveil(root, "link", "encode", f"{hospital}.csv", "--out", hospital,
                      "--allow", "missing-numbers")  # fmt: skip
        neuroveil(root, "link", "match", "hospital-1", "hospital-2", "--out", "linked")
        neuroveil(root, "link", "resolve", "linked", "hospital-1", "hospital-2")
        neuroveil(root, "release", "study.toml")
        neuroveil(root, "link", "encode", "everybody.csv", "--out", "everybody",
                  "--allow", "missing-numbers", "--allow", "duplicates")  # fmt: skip
    return root


def test_all_three_are_found_the_misspelt_one_too(folder):
    with (folder / "people.csv").open(encoding="utf-8") as stream:
        person = {row["patient"]: row["person"] for row in csv.DictReader(stream)}
    assert len(person) == SPEC.n_patients
    assert len(set(person.values())) == N_PEOPLE
    for first, again in (("0001", "0010"), ("0002", "0011"), ("0003", "0012")):
        assert person[f"sub-{first}"] == person[f"sub-{again}"]


def test_the_release_has_a_row_for_each_person_and_says_how(folder):
    certificate = json.loads((folder / "release" / "certificate.json").read_bytes())
    unit, adjacency = certificate["chain"]["unit"], certificate["chain"]["adjacency"]
    assert unit["dedup"]["value"] == "linked_pool"
    assert unit["rows_per_unit_max"]["value"] == 1
    assert adjacency["n_roster"]["value"] == N_PEOPLE
    (table,) = (folder / "release").glob("*table.csv")
    assert len(pd.read_csv(table)) == N_PEOPLE
    neuroveil(folder, "verify", "release")
    assert "linkage" in (folder / "release" / "report.html").read_text(encoding="utf-8")


def test_no_identifier_and_no_encoding_is_published(folder):
    """Looked for in every file, and in every cell of the tables that are compressed."""
    secrets: set[bytes] = set()
    for hospital in ("hospital-1", "hospital-2"):
        encoded = read_encoded(folder / hospital / "encoded.parquet", hospital)
        assert encoded.bits is not None
        ids = [each for each in encoded.global_ids or () if each]
        assert ids
        secrets |= {each.encode() for each in ids} | {each.split(":")[-1].encode() for each in ids}
        secrets.add(encoded.made_with.key_id.encode())
        for record in encoded.bits:
            raw = record.tobytes()
            secrets |= {raw[:16], raw.hex()[:32].encode(), base64.b64encode(raw)[:20]}
    secrets |= {patient.encode() for patient in cohort_patient_list(SPEC)["patient"]}
    published = [file for file in (folder / "release").rglob("*") if file.is_file()]
    assert len(published) > 4
    for file in published:
        content = file.read_bytes()
        if file.suffix == ".parquet":
            content += pd.read_parquet(file).to_csv().encode()
        assert not [secret for secret in secrets if secret in content], file.name


def test_the_same_files_without_linkage_would_count_three_people_twice(folder, tmp_path):
    study = STUDY.replace('[linkage]\npeople = "people.csv"\npolicy = "pool"\n', "")
    study = study.replace('folder = "cohort"', f"folder = {str(folder / 'cohort')!r}")
    (tmp_path / "study.toml").write_text(study, encoding="utf-8")
    assert neuroveil(tmp_path, "check", "study.toml")["n_patients"] == SPEC.n_patients
    assert neuroveil(folder, "check", "study.toml")["n_patients"] == N_PEOPLE


def test_two_keys_of_one_patient_inside_one_hospital_are_found_too(folder, tmp_path):
    neuroveil(folder, "link", "match", "everybody", "--out", "alone")
    neuroveil(folder, "link", "resolve", "alone", "everybody", "--out", "alone.csv")
    study = STUDY.replace("people.csv", str(folder / "alone.csv"))
    study = study.replace('folder = "cohort"', f"folder = {str(folder / 'cohort')!r}")
    (tmp_path / "study.toml").write_text(study, encoding="utf-8")
    assert neuroveil(tmp_path, "check", "study.toml")["n_patients"] == N_PEOPLE
