"""``neuroveil link``: what it refuses, what it never prints, and thresholds that it learns."""

import json
import random
import tomllib
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from neuroveil.cli.app import cli
from neuroveil.errors import LinkageError, StudyError
from neuroveil.keys import sealing
from neuroveil.linkage import linked, long_lists
from neuroveil.linkage.bloom import encode_records
from neuroveil.linkage.hardening import harden
from neuroveil.linkage.key_service import LinkageKey, LocalKeyService
from neuroveil.linkage.keystore import load_keystore
from neuroveil.linkage.matching import SiteList, match_lists
from neuroveil.linkage.schema import load_schema
from neuroveil.simulate import simulate_patient_list, written_elsewhere

PHRASE = "correct horse, battery and staple"
SCHEMA = """\
name = "trial"
[identifier]
column = "number"
scheme = "own"
pattern = "[0-9]{4}"
[[field]]
name = "given_name"
kind = "name"
typical_grams = 7
[[field]]
name = "surname"
kind = "name"
typical_grams = 8
"""


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch, tmp_path):
    monkeypatch.setattr(sealing, "SCRYPT_COST", 1 << 10)
    monkeypatch.setenv("NEUROVEIL_KEY_PASSPHRASE", PHRASE)
    monkeypatch.chdir(tmp_path)
    Path("linkage.toml").write_text(SCHEMA)


def link(*arguments: str, **options: object) -> Result:
    return CliRunner().invoke(cli, ["link", *arguments], **options)


def refusal(*arguments: str) -> Exception:
    result = link(*arguments)
    assert isinstance(result.exception, (LinkageError, StudyError)), result.output
    return result.exception


def done(*arguments: str) -> dict:
    result = link(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture
def trial() -> list[tuple[str, str]]:
    """Two lists of the same 60 people, every third with two letters exchanged in one of them."""
    draw = random.Random(7)

    def word(length: int) -> str:
        return "".join(draw.choices("abdefghiklmnoprstuv", k=length))

    people = [(word(6), word(8)) for _ in range(60)]
    for name in ("left", "right"):
        lines = ["patient,number,given_name,surname"]
        for n, (given, surname) in enumerate(people):
            typo = surname[:3] + surname[4] + surname[3] + surname[5:]
            written = typo if name == "right" and n % 3 == 0 else surname
            lines.append(f"{name[0]}{n},{n:04d},{given},{written}")
        Path(f"{name}.csv").write_text("\n".join(lines))
    done("keygen")
    for name in ("left", "right"):
        done("encode", f"{name}.csv", "--out", name)
    return people


def test_the_schema_that_init_writes_is_accepted_and_never_replaced(tmp_path):
    shown = done("init", "other.toml", "--dry-run")
    assert not Path("other.toml").exists()
    assert done("init", "other.toml")["written"]
    assert Path("other.toml").read_text() == shown["schema"]
    assert load_schema(Path("other.toml")).name == "my project"
    assert "new file" in str(refusal("init", "other.toml"))


def test_there_is_no_keystore_without_a_passphrase(monkeypatch):
    monkeypatch.delenv("NEUROVEIL_KEY_PASSPHRASE")
    for command in (("keygen",), ("hospital-key",)):
        assert "passphrase" in str(refusal(*command))
    assert [each.name for each in Path().iterdir()] == ["linkage.toml"]


def test_secrets_are_never_printed():
    printed = link("keygen").output + link("show").output + link("rotate").output
    made = link("hospital-key", "--json")
    public = json.loads(made.stdout)["public_key"]
    printed += made.output + link("wrap", "--for", public, "--out", "w.json").output
    printed += Path("w.json").read_text() + Path("linkage.keystore").read_text()
    store = load_keystore(Path("linkage.keystore"), PHRASE)
    assert store.previous is not None
    for secret in (store.current.secret, store.previous.secret, store.noise):
        assert secret.hex() not in printed
    assert PHRASE not in printed
    assert "existing one" in str(refusal("keygen"))


def test_a_mapping_needs_a_previous_key():
    Path("patients.csv").write_text("patient,number,given_name,surname\nP,0001,A,B\n")
    done("keygen")
    assert "previous key" in str(refusal("encode", "patients.csv", "--with-previous"))
    assert not Path("encoded").exists()


def test_an_encoded_list_is_never_replaced(trial):
    assert "existing one" in str(refusal("encode", "left.csv", "--out", "left"))


@pytest.mark.parametrize("with_truth", [False, True])
def test_thresholds_are_learned_and_fit_the_schema(trial, with_truth):
    options: list[str] = []
    if with_truth:
        pairs = "\n".join(f"l{n},r{n}" for n in range(60))
        Path("truth.csv").write_text(f"left,right\n{pairs}\n")
        options = ["--truth", "truth.csv"]
    learned = done("learn", "left", "right", *options)
    assert learned["accuracy"]["f1"] > 0.97
    text = link("learn", "left", "right", *options, "--quiet").stdout
    assert tomllib.loads(text)["matching"] == learned["matching"]
    Path("linkage.toml").write_text(SCHEMA + text)
    assert load_schema(Path("linkage.toml")).matching.threshold == learned["matching"]["threshold"]
    assert done("match", "left", "right")["matches"] == 60


def test_people_who_stand_twice_in_one_list_are_found(trial):
    text = Path("left.csv").read_text() + "\nx1,0005,Zed,Other\nx2,," + ",".join(trial[7])
    Path("left.csv").write_text(text)
    done("encode", "left.csv", "--allow", "duplicates", "--allow", "missing-numbers", "--out", "d")
    assert done("match", "d", "--out", "m") | {"lists": None} == {
        "matches": 2, "exact": 1, "review": 0, "lists": None, "out": "m",
    }  # fmt: skip
    assert done("resolve", "m", "d")["people"] == 60
    without = done("match", "d", "right", "--no-within", "--out", "both")
    assert (without["matches"], without["review"]) == (61, 1)
    whole = done("match", "d", "right", "--out", "within")
    assert (whole["matches"], whole["review"]) == (62, 0)
    resolved = done("resolve", "within", "right", "d", "--out", "all.csv")
    assert (resolved["people"], resolved["conflicts"]) == (60, 0)


def test_what_cannot_be_matched_is_refused(trial):
    Path("copy").mkdir()
    Path("copy/left").symlink_to(Path("left").absolute())
    assert "different names" in str(refusal("match", "left", "copy/left"))
    assert "no such file" in str(refusal("match", "left", "copy"))
    done("match", "left", "right")
    assert "the very lists" in str(refusal("resolve", "linked", "left"))
    assert "a folder as" in str(refusal("resolve", "copy", "left", "right"))
    Path("linkage.toml").write_text(SCHEMA + "[encoding]\nfill = 0.2\n")
    assert "schema at hand" in str(refusal("match", "left", "right", "--out", "again"))


def test_nothing_is_read_for_results_that_have_no_place(trial, monkeypatch):
    """Encoding or matching for minutes and then refusing to write would be a poor joke."""
    done("match", "left", "right")
    done("resolve", "linked", "left", "right")
    monkeypatch.delenv("NEUROVEIL_KEY_PASSPHRASE")  # encoding would ask for it first
    right = Path("right/encoded.parquet")
    whole = right.read_bytes()
    right.write_bytes(b"")  # matching would find this first
    Path("file").write_text("")
    assert "existing one" in str(refusal("encode", "left.csv", "--out", "left"))
    assert "people file" in str(refusal("resolve", "linked", "left", "right"))
    assert "matches.csv" in str(refusal("match", "left", "right"))
    right.write_bytes(whole)
    assert "--out" in str(refusal("match", "left", "right", "--out", "file"))
    assert "people file" in str(refusal("resolve", "linked", "left", "right", "--out", "no/p.csv"))


def test_a_list_that_was_encoded_again_is_not_resolved_with_old_rows(trial):
    done("match", "left", "right")
    Path("left").rename("older")
    done("encode", "left.csv", "--out", "left")
    assert "encoded again" in str(refusal("resolve", "linked", "left", "right"))
    Path("left/encoded.parquet").write_bytes(Path("older/encoded.parquet").read_bytes())
    assert "this very list" in str(refusal("resolve", "linked", "left", "right"))
    assert not Path("people.csv").exists()


def test_an_interrupted_matching_of_long_lists_goes_on(trial, monkeypatch):
    """With a bound of no pair at all these lists are long, too; six parts of ten rows."""
    whole = done("match", "left", "right", "--no-within", "--out", "whole")
    monkeypatch.setattr(linked, "ALL_PAIRS_UP_TO", 0)
    monkeypatch.setattr(long_lists, "PAIRS_A_STRIPE", 600)
    compared, seen = long_lists.pairs_from, []

    def stop_at_the_second(*arguments):
        seen.append(arguments)
        if len(seen) == 2:
            raise KeyboardInterrupt
        return compared(*arguments)

    monkeypatch.setattr(long_lists, "pairs_from", stop_at_the_second)
    assert link("match", "left", "right", "--no-within").exit_code != 0
    tables = sorted(each.name for each in Path("linked/unfinished/lists-1-2").glob("table-*"))
    assert tables == ["table-0000.npz"]
    assert not Path("linked/matches.csv").exists()
    monkeypatch.setattr(long_lists, "pairs_from", compared)
    done("encode", "left.csv", "--out", "again")
    again = ("match", "again", "right", "--no-within", "--out", "linked")
    assert "tables of other lists" in str(refusal(*again))
    assert done("match", "left", "right", "--no-within") == {**whole, "out": "linked"}
    assert sorted(each.name for each in Path("linked").iterdir()) == [
        "match.json", "matches.csv", "review.csv",
    ]  # fmt: skip
    assert Path("linked/matches.csv").read_text() == Path("whole/matches.csv").read_text()


def test_long_lists_are_searched_for_duplicates_by_blocking_too(trial, monkeypatch):
    text = Path("left.csv").read_text()
    given, surname = trial[7]
    Path("left.csv").write_text(f"{text}\nx2,,{given},{surname}")
    done("encode", "left.csv", "--allow", "missing-numbers", "--out", "twice")
    whole = done("match", "twice", "--out", "whole")
    monkeypatch.setattr(linked, "ALL_PAIRS_UP_TO", 0)
    monkeypatch.setattr(long_lists, "_COST_OF_A_BIT", 1.0)
    monkeypatch.setattr(long_lists, "_in_stripes", None)  # so that it must be by blocking
    assert done("match", "twice", "--out", "blocked") == {**whole, "out": "blocked"}
    assert whole["matches"] == 1


def test_patient_keys_must_differ_between_hospitals(trial):
    Path("left.csv").write_text(Path("left.csv").read_text().replace("l1,", "r1,"))
    done("encode", "left.csv", "--out", "same")
    done("match", "same", "right")
    assert "a key in two of them" in str(refusal("resolve", "linked", "same", "right"))


@pytest.mark.parametrize(
    "text", ["patient,row,encoded\nl1,0,0\n", "patient,row,encoded\nl1,first,0\n", "a,b\n1,2\n"]
)
def test_the_map_of_another_list_is_refused(trial, text):
    done("match", "left", "right")
    Path("left/local-map.csv").write_text(text)
    assert isinstance(refusal("resolve", "linked", "left", "right"), LinkageError)


@pytest.mark.slow
def test_thresholds_of_the_schema_that_init_writes_fit_it():
    """Three lists of 2,000 made-up people, 200 in both, an error in a fifth of their values."""
    done("init", "other.toml")
    schema = load_schema(Path("other.toml"))
    service = LocalKeyService(LinkageKey(bytes(range(32))), bytes(32))
    found, right = 0, 0
    for seed in (4, 5, 6):
        rng = np.random.default_rng(seed)
        people = simulate_patient_list(3800, rng)
        here = {name: values[:2000] for name, values in people.items()}
        there = written_elsewhere({name: each[1800:] for name, each in people.items()}, rng)
        keys = service.field_keys(schema), service.hardening_keys()
        lists = (
            SiteList(harden(encode_records(each, schema, keys[0]), schema, keys[1]))
            for each in (here, there)
        )
        matches = match_lists(*lists, schema.matching).matches
        found += len(matches)
        right += int((matches.left == matches.right + 1800).sum())
    assert right / found > 0.98
    assert right / 600 > 0.95


def test_a_rotation_reaches_a_hospital_by_a_second_wrapped_key(tmp_path):
    done("keygen", "project.keystore")
    public = done("hospital-key")["public_key"]

    def send(name: str) -> str:
        said = done("wrap", "project.keystore", "--for", public, "--out", name)
        return str(said["key_id"])

    first = send("first.json")
    done("unwrap", "first.json", "--key-id", first)
    done("rotate", "project.keystore")
    second = send("second.json")
    assert "another key" in str(refusal("unwrap", "second.json", "--key-id", first))
    spoken = " ".join(second[at : at + 4] for at in range(0, 32, 4)).upper()
    states = done("unwrap", "second.json", "--key-id", spoken)["keys"]
    assert states == [
        {"key_id": second, "state": "current"}, {"key_id": first, "state": "previous"},
    ]  # fmt: skip
    assert "at most two keys" in str(refusal("rotate"))
    assert done("retire")["keys"][1] == {"key_id": first, "state": "retired"}
    assert "a new key" in str(refusal("unwrap", "first.json", "--key-id", first))
    for typed in ("ø" * 32, "", first[:-1]):
        assert "another key" in str(refusal("unwrap", "second.json", "--key-id", typed))


def test_a_link_to_a_keystore_leads_to_the_keystore_that_is_rotated():
    done("keygen", "safe.keystore")
    Path("linkage.keystore").symlink_to("safe.keystore")
    rotated = done("rotate")["keys"]
    assert Path("linkage.keystore").is_symlink()
    assert done("show", "safe.keystore")["keys"] == rotated
    assert [each["state"] for each in rotated] == ["current", "previous"]
