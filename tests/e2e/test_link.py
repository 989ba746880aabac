"""Two hospitals link their patients: from the key ceremony to the number of people.

Most commands run inside this process, through the function that the program calls; those of
the main story run as processes.
"""

import contextlib
import csv
import io
import json
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from neuroveil.cli.app import run
from neuroveil.keys import sealing

pytestmark = pytest.mark.slow

COLUMNS = "patient;patient_number;given_name;surname;birth_date;postcode\n"
NORTH = COLUMNS + (
    "N-1;2001;Ingrid;Sørensen;01.03.1970;0455\n"
    "N-2;2002;Olav;Dahl;24.12.1955;5003\n"
    "N-3;2003;Marit;Kvåle;13.07.1988;7010\n"
    "N-4;2004;Thị Hương;Nguyễn;02.02.1991;0560\n"
)
SOUTH = COLUMNS + (
    "S-1;20-02;OLAV;Dahl;1955-12-24;5003\n"  # the same number
    "S-2;;Ingird;Soerensen;1. mars 1970;0455\n"  # no number, and a misspelt name
    "S-3;2009;Bjørn;Lund;30.10.1961;9008\n"
)
PASSPHRASE = {"NEUROVEIL_KEY_PASSPHRASE": "correct horse, battery and staple"}


@dataclass(frozen=True)
class Said:
    out: str
    err: str

    @property
    def json(self) -> dict:
        return json.loads(self.out)


@pytest.fixture(scope="module", autouse=True)
def _surroundings() -> Iterator[None]:
    """A passphrase, and a scrypt that takes no half second a call."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sealing, "SCRYPT_COST", 1 << 10)
        for name, value in PASSPHRASE.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="module")
def link():
    def call(*arguments: object, cwd: Path, code: int = 0) -> Said:
        out, err = io.StringIO(), io.StringIO()
        with (
            contextlib.chdir(cwd), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)
        ):  # fmt: skip
            ended = run(["link", *map(str, arguments)])
        assert ended == code, out.getvalue() + err.getvalue()
        return Said(out.getvalue(), err.getvalue())

    return call


@pytest.fixture(scope="module")
def hospitals(link, tmp_path_factory) -> dict[str, Path]:
    """The project makes a key; each hospital receives it and encodes its list."""
    project = tmp_path_factory.mktemp("project")
    link("init", cwd=project)
    schema = (project / "linkage.toml").read_text()
    schema = re.sub(r'scheme = ".*', 'scheme = "trial"\npattern = "[0-9]{4}"', schema, count=1)
    (project / "linkage.toml").write_text(schema)
    link("keygen", cwd=project)
    folders = {}
    for name, text in (("north", NORTH), ("south", SOUTH)):
        folder = tmp_path_factory.mktemp(name)
        made = link("hospital-key", "--json", cwd=folder).json
        wrapped = link("wrap", "--for", made["public_key"], "--out", folder / "wrapped.json",
                       "--json", cwd=project).json  # fmt: skip
        assert wrapped["recipient"] == made["fingerprint"]
        link("unwrap", "wrapped.json", "--key-id", wrapped["key_id"], cwd=folder)
        (folder / "linkage.toml").write_text(schema)
        (folder / "patients.csv").write_text(text)
        link("encode", "patients.csv", "--allow", "missing-numbers", "--out", name, cwd=folder)
        folders[name] = folder / name
    return folders


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.open()))


def test_the_same_people_are_found_by_number_and_by_likeness(neuroveil, hospitals, tmp_path):
    schema = hospitals["north"].parent / "linkage.toml"
    both = (hospitals["north"], hospitals["south"])
    matched = neuroveil(
        "link", "match", *both, "--schema", schema, "--out", "linked", "--json", cwd=tmp_path
    ).json
    assert (matched["matches"], matched["exact"], matched["review"]) == (2, 1, 0)
    resolved = neuroveil("link", "resolve", "linked", *both, "--json", cwd=tmp_path).json
    assert (resolved["records"], resolved["people"], resolved["conflicts"]) == (7, 5, 0)
    person = {row["patient"]: row["person"] for row in rows_of(tmp_path / "people.csv")}
    assert person["N-2"] == person["S-1"]
    assert person["N-1"] == person["S-2"]
    assert len(set(person.values())) == 5
    for path in (tmp_path / "people.csv", *(tmp_path / "linked").iterdir()):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        text = path.read_text().lower()
        assert not re.search(r"ingrid|dahl|2002|v1:[0-9a-f]{32}", text)


def test_undecided_pairs_are_decided_by_a_person(link, hospitals, tmp_path):
    """A threshold that is too high leaves the misspelt name to a person."""
    schema = tmp_path / "linkage.toml"
    text = (hospitals["north"].parent / "linkage.toml").read_text()
    schema.write_text(text.replace("threshold = 0.73", "threshold = 0.99"))
    both = (hospitals["north"], hospitals["south"])
    matched = link("match", *both, "--out", "linked", "--json", cwd=tmp_path, code=5).json
    assert matched["review"] == 1
    before = link("resolve", "linked", *both, "--json", cwd=tmp_path, code=5).json
    assert (before["people"], before["undecided"], before["rows_per_person_max"]) == (6, 1, 2)
    groups = [row["undecided"] for row in rows_of(tmp_path / "people.csv")]
    assert sorted(groups) == [""] * 5 + ["1", "1"]
    review = tmp_path / "linked" / "review.csv"
    for said, people in (("yes", 5), ("no", 6)):
        lines = review.read_text().splitlines()
        review.write_text("\n".join([lines[0], lines[1].rpartition(",")[0] + f",{said}"]))
        after = link("resolve", "linked", *both, "--out", f"{said}.csv", "--json", cwd=tmp_path)
        assert (after.json["people"], after.json["undecided"]) == (people, 0)
    review.write_text(review.read_text().replace(",no", ",maybe"))
    wrong = link("resolve", "linked", *both, "--out", "x.csv", cwd=tmp_path, code=3)
    assert "review.csv, line 2" in wrong.err


def test_a_revoked_hospital_is_left_behind(link, hospitals, tmp_path):
    """North gets no new key: the key id of its ids is one that nobody compares with."""
    south = hospitals["south"].parent
    project = tmp_path / "new.keystore"
    project.write_bytes((south / "linkage.keystore").read_bytes())
    project.chmod(0o600)
    link("rotate", project, cwd=tmp_path)
    again = link("encode", south / "patients.csv", "--schema", south / "linkage.toml", "--key",
                 project, "--allow", "missing-numbers", "--with-previous", "--out", "south",
                 "--json", cwd=tmp_path).json  # fmt: skip
    link("retire", project, cwd=tmp_path)
    refused = link("match", hospitals["north"], tmp_path / "south", "--schema",
                   south / "linkage.toml", "--json", cwd=tmp_path, code=3)  # fmt: skip
    assert "two keys" in refused.json["found"]
    states = link("show", project, "--json", cwd=tmp_path).json["keys"]
    assert [each["state"] for each in states] == ["current", "retired"]
    assert states[0]["key_id"] == again["key_id"]


def test_a_dry_run_needs_no_key_and_names_every_bad_line(link, hospitals, tmp_path):
    north = hospitals["north"].parent
    common = ("--schema", north / "linkage.toml", "--dry-run", "--json")
    good = link("encode", north / "patients.csv", *common, cwd=tmp_path).json
    assert good["fields"] == {"given_name": 4, "surname": 4, "birth_date": 4, "postcode": 4}
    assert good["numbers"] == 4
    assert not good["written"]
    (tmp_path / "bad.csv").write_text(NORTH.replace("24.12.1955", "Yule").replace("2003", "x"))
    bad = link("encode", "bad.csv", *common, cwd=tmp_path, code=3)
    assert [each["where"] for each in bad.json["problems"]] == [
        "birth_date, line 3", "identifier, line 4",
    ]  # fmt: skip
    assert "Yule" not in bad.out + bad.err
    assert [each.name for each in tmp_path.iterdir()] == ["bad.csv"]


def test_what_stands_in_the_files(hospitals):
    folder = hospitals["north"]
    assert sorted(each.name for each in folder.iterdir()) == ["encoded.parquet", "local-map.csv"]
    for each in folder.iterdir():
        assert stat.S_IMODE(each.stat().st_mode) == 0o600
    assert not re.search(rb"N-1|Ingrid|ingrid|2001", (folder / "encoded.parquet").read_bytes())
    assert {row["patient"] for row in rows_of(folder / "local-map.csv")} == {
        "N-1", "N-2", "N-3", "N-4",
    }  # fmt: skip
    assert json.loads((folder.parent / "wrapped.json").read_text())["suite"]
