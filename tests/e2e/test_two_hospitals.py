"""Two hospitals, three patients seen in both, one of them misspelt: from two lists to a release.

What is typed in is the trial in ``docs/linkage.md``, as it stands there.
"""

import base64
import contextlib
import csv
import io
import json
import re
from pathlib import Path

import pandas as pd
import pytest

from neuroveil.cli.app import run
from neuroveil.keys import sealing
from neuroveil.linkage.encoded_list import read_encoded

N_RECORDS, N_PEOPLE = 12, 9
HOSPITALS = {"hospital-1": "north", "hospital-2": "south"}

pytestmark = pytest.mark.slow


def neuroveil(folder: Path, *words: str, code: int = 0) -> dict[str, object]:
    """Run one command in a folder and read its answer."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        ended = run([*words, "--json"])
    assert ended == code, out.getvalue() + err.getvalue()
    return json.loads(out.getvalue())


def follow(page: Path, folder: Path) -> list[dict[str, object]]:
    """Do what the trial of the page says, in order."""
    text = page.read_text(encoding="utf-8")
    trial = text[text.index("<!-- trial:") : text.index("<!-- end of trial -->")]
    answers = []
    for language, block in re.findall(r"```(\w+)\n(.*?)```", trial, re.S):
        if language == "console":
            calls = [line.removeprefix("$ neuroveil ").split() for line in block.splitlines()]
            answers += [neuroveil(folder, *words) for words in calls]
        elif block.startswith("["):
            (folder / "study.toml").write_text(block, encoding="utf-8")
        else:
            schema = folder / "linkage.toml"
            before = schema.read_text(encoding="utf-8")
            assert f"# {block.strip()}" in before
            schema.write_text(before.replace(f"# {block.strip()}", block.strip()), encoding="utf-8")
    return answers


def patients(folder: Path) -> list[dict[str, str]]:
    """Both hospitals' lists, line by line."""
    lines = []
    for name in HOSPITALS:
        with (folder / "cohort" / "sourcedata" / f"{name}.csv").open(encoding="utf-8") as stream:
            lines += list(csv.DictReader(stream))
    return lines


@pytest.fixture(scope="module")
def folder(tmp_path_factory, project_root) -> Path:
    """The trial, and both lists as if they were a single hospital's."""
    root = tmp_path_factory.mktemp("two")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sealing, "SCRYPT_COST", 1 << 10)
        patch.setenv("NEUROVEIL_KEY_PASSPHRASE", "three patients were seen in both hospitals")
        answers = follow(project_root / "docs" / "linkage.md", root)
        assert answers[3]["written"] is False
        assert set(answers[3]["fields"]) == {"given_name", "surname", "birth_date", "postcode"}
        lines = patients(root)
        with (root / "everybody.csv").open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, lines[0])
            writer.writeheader()
            writer.writerows(lines)
        neuroveil(root, "link", "encode", "everybody.csv", "--out", "everybody",
                  "--allow", "missing-numbers", "--allow", "duplicates")  # fmt: skip
    return root


def test_all_three_are_found_the_misspelt_one_too(folder):
    with (folder / "people.csv").open(encoding="utf-8") as stream:
        person = {row["patient"]: row["person"] for row in csv.DictReader(stream)}
    assert len(person) == N_RECORDS
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
    for hospital in HOSPITALS.values():
        encoded = read_encoded(folder / hospital / "encoded.parquet", hospital)
        assert encoded.bits is not None
        ids = [each for each in encoded.global_ids or () if each]
        assert ids
        secrets |= {each.encode() for each in ids} | {each.split(":")[-1].encode() for each in ids}
        secrets.add(encoded.made_with.key_id.encode())
        for record in encoded.bits:
            raw = record.tobytes()
            secrets |= {raw[:16], raw.hex()[:32].encode(), base64.b64encode(raw)[:20]}
        secrets.add(encoded.digest.encode())
    for patient in patients(folder):
        written = (patient["patient"], patient["patient_number"], patient["birth_date"])
        secrets |= {value.encode() for value in written if value}
    published = [file for file in (folder / "release").rglob("*") if file.is_file()]
    assert len(published) > 4
    for file in published:
        content = file.read_bytes()
        if file.suffix == ".parquet":
            content += pd.read_parquet(file).to_csv().encode()
        assert not [secret for secret in secrets if secret in content], file.name


def test_the_same_files_without_linkage_would_count_three_people_twice(folder, tmp_path):
    study = (folder / "study.toml").read_text(encoding="utf-8")
    study = study.replace('[linkage]\npeople = "people.csv"\npolicy = "pool"\n', "")
    study = study.replace('folder = "cohort"', f"folder = {str(folder / 'cohort')!r}")
    (tmp_path / "study.toml").write_text(study, encoding="utf-8")
    assert neuroveil(tmp_path, "check", "study.toml")["n_patients"] == N_RECORDS
    assert neuroveil(folder, "check", "study.toml")["n_patients"] == N_PEOPLE


def test_two_keys_of_one_patient_inside_one_hospital_are_found_too(folder, tmp_path):
    neuroveil(folder, "link", "match", "everybody", "--out", "alone")
    neuroveil(folder, "link", "resolve", "alone", "everybody", "--out", "alone.csv")
    study = (folder / "study.toml").read_text(encoding="utf-8")
    study = study.replace("people.csv", str(folder / "alone.csv"))
    study = study.replace('folder = "cohort"', f"folder = {str(folder / 'cohort')!r}")
    (tmp_path / "study.toml").write_text(study, encoding="utf-8")
    assert neuroveil(tmp_path, "check", "study.toml")["n_patients"] == N_PEOPLE
