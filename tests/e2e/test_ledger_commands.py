"""The budget on the command line, and releases over ledgers that do not play along."""

import csv
import json
import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest

from neuroveil.errors import BudgetError
from neuroveil.ledger import Ledger, sqlite
from neuroveil.pipeline.release import release_study
from neuroveil.study import load_study
from neuroveil.types.charge import ChargeRequest

pytestmark = pytest.mark.slow


def spend(path: Path, epsilon: str = "1") -> None:
    Ledger(path).reserve(
        ChargeRequest(Fraction(epsilon), Fraction(1, 10**6), "gaussian", 17, 209, "sha256:0")
    )


@pytest.fixture
def ledger(neuroveil, tmp_path) -> Path:
    path = tmp_path / "ledger.sqlite"
    started = neuroveil("ledger", "init", path, "--epsilon", 10, "--delta", 1e-4, "--json")
    assert started.code == 0, started.err
    assert started.json == {
        "ledger": "ledger.sqlite", "epsilon": 10.0, "delta": 1e-4, "rule": "basic",
        "site_wide_keys": False, "written": True,
    }  # fmt: skip
    return path


def test_init_dry_run_writes_nothing(neuroveil, tmp_path):
    path = tmp_path / "ledger.sqlite"
    start = ("ledger", "init", path, "--dry-run", "--site-wide-keys", "--epsilon", 1, "--delta")
    assert neuroveil(*start, 0).code == 0
    assert not list(tmp_path.iterdir())
    assert neuroveil(*start, 1).code == 4  # no guarantee at all


def test_init_never_replaces_a_limit(neuroveil, ledger):
    for extra in ((), ("--dry-run",)):
        again = neuroveil("ledger", "init", ledger, "--epsilon", 99, "--delta", 0, *extra)
        assert again.code == 4
        assert "A limit that was set stays set" in again.err


def test_show_verify_and_export(neuroveil, ledger, tmp_path):
    spend(ledger, "1/2")
    shown = neuroveil("ledger", "show", ledger, "--json").json
    assert shown["spent"] == {"epsilon": 0.5, "delta": 1e-6}
    assert shown["remaining"]["epsilon"] == 9.5
    assert [entry["number"] for entry in shown["entries"]] == [1]
    assert "17 patients x 209 columns" in neuroveil("ledger", "show", ledger).out
    assert neuroveil("ledger", "verify", ledger, "--json").json == {
        "holds": True, "entries": 1, "anchored": False,
    }  # fmt: skip
    exported = neuroveil("ledger", "export", ledger, "--json").json["entries"]
    assert [entry["kind"] for entry in exported] == ["opening", "spend"]
    file = tmp_path / "entries.json"
    dry = neuroveil("ledger", "export", ledger, "--out", file, "--dry-run")
    assert json.loads(dry.out)["entries"] == exported
    assert not file.exists()
    assert neuroveil("ledger", "export", ledger, "--out", file).code == 0
    assert json.loads(file.read_text())["entries"] == exported
    assert neuroveil("ledger", "export", ledger, "--out", file).code == 2
    head = Ledger(ledger).state().head
    assert head not in file.read_text() + dry.everything


def test_limits_by_scope(neuroveil, ledger, tmp_path):
    def limit(*arguments: object):
        return neuroveil("ledger", "limit", *arguments, "--epsilon", 2, "--delta", 1e-5)

    assert limit(ledger, "--scope", "study:one", "--dry-run").code == 0
    assert len(neuroveil("ledger", "show", ledger, "--json").json["scopes"]) == 1
    assert limit(ledger, "--scope", "study:one").code == 0
    assert limit(ledger, "--scope", "study:one").code == 4
    assert limit(ledger, "--scope", "ward:one").code == 4
    scopes = neuroveil("ledger", "show", ledger, "--json").json["scopes"]
    assert [scope["scope"] for scope in scopes] == ["site", "study:one"]
    assert "study:one" in neuroveil("ledger", "show", ledger).out

    members = tmp_path / "members.txt"
    members.write_text("sub-01\n\nsub-02\n")
    young = ("--scope", "patients:young", "--patients", members)
    assert limit(ledger, *young).code == 4  # this ledger does not know patients
    other = tmp_path / "other.sqlite"
    assert neuroveil(
        "ledger", "init", other, "--epsilon", 5, "--delta", 0, "--site-wide-keys"
    ).code == 0  # fmt: skip
    answer = limit(other, *young, "--json")
    assert answer.json["n_members"] == 2
    everything = answer.everything + neuroveil("ledger", "export", other).out
    assert "sub-01" not in everything
    assert b"sub-01" not in other.read_bytes()


def test_a_tampered_ledger_ends_with_exit_4(neuroveil, ledger):
    spend(ledger)
    connection = sqlite3.connect(ledger)
    connection.execute("DROP TRIGGER neuroveil_entry_no_delete")
    connection.execute("DELETE FROM neuroveil_entry WHERE number = 0")
    connection.commit()
    connection.close()
    for command in ("show", "verify", "export"):
        answer = neuroveil("ledger", command, ledger, "--json")
        assert answer.code == 4
        assert answer.json["error"] == "BudgetError"


def test_an_anchor_tells_an_old_copy_from_the_ledger(neuroveil, study):
    folder = study.parent
    assert neuroveil("ledger", "init", folder / "ledger.sqlite", "--epsilon", 2, "--delta", 1e-4,
                     "--site-wide-keys").code == 0  # fmt: skip
    copy = (folder / "ledger.sqlite").read_bytes()
    released = neuroveil("release", study, "--json")
    assert released.code == 0, released.err
    assert neuroveil("verify", folder / "release").code == 0
    anchor = folder / "internal.ledger-anchor.json"
    arguments = ("ledger", "verify", folder / "ledger.sqlite", "--anchor", anchor)
    assert neuroveil(*arguments, "--json").json["anchored"] is True
    (folder / "ledger.sqlite").write_bytes(copy)
    assert neuroveil(*arguments).code == 4
    again = neuroveil("release", study, "--out", folder / "again")
    assert again.code == 4
    assert "old copy" in again.err
    assert not (folder / "again").exists()


def test_nothing_about_patients_leaves_with_a_release(neuroveil, study):
    """The ledger knows patients, by keyed digests; the release folder knows nothing of it."""
    folder = study.parent
    ledger = folder / "ledger.sqlite"
    neuroveil("ledger", "init", ledger, "--epsilon", 2, "--delta", 1e-4, "--site-wide-keys")
    assert neuroveil("release", study).code == 0
    with (folder / "cohort" / "participants.tsv").open() as stream:
        keys = [row["participant_id"] for row in csv.DictReader(stream, delimiter="\t")]
    digests = Ledger(ledger).patient_digests(keys)
    anchor = json.loads((folder / "internal.ledger-anchor.json").read_text())
    secrets = [*digests, Ledger(ledger).state().head, anchor["nonce"], anchor["commitment"][7:]]
    published = b"".join(file.read_bytes() for file in (folder / "release").iterdir())
    assert not [secret for secret in secrets if secret.encode() in published]
    assert len(digests) == 5


class TestReleasesOverLedgersThatDoNotPlayAlong:
    """A clear refusal, no release folder, nothing spent that was not there before."""

    @pytest.fixture
    def started(self, study) -> Path:
        path = study.parent / "ledger.sqlite"
        Ledger.create(path, Fraction(2), Fraction(1, 10**4))
        return path

    def refused(self, study: Path, said: str) -> None:
        with pytest.raises(BudgetError, match=said) as refusal:
            release_study(load_study(study), n_workers=1)
        assert refusal.value.exit_code == 4
        assert not (study.parent / "release").exists()

    def test_a_full_disk(self, study, started, monkeypatch):
        connect = sqlite.connect

        def cramped(path, mode):
            connection = connect(path, mode)
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            connection.execute(f"PRAGMA max_page_count = {pages}")
            return connection

        ledger = Ledger(started)
        monkeypatch.setattr(sqlite, "connect", cramped)
        bulky = ChargeRequest(
            Fraction(1, 10**6), Fraction(0), "laplace", 17, 209, "sha256:" + "0" * 3000
        )
        with pytest.raises(BudgetError, match="full disk"):  # use up what the pages still hold
            list(map(ledger.reserve, [bulky] * 50))
        before = len(ledger.state().entries)
        self.refused(study, "a full disk")
        assert len(ledger.state().entries) == before

    def test_a_read_only_file(self, study, started, monkeypatch):
        connect = sqlite.connect
        monkeypatch.setattr(sqlite, "connect", lambda path, mode: connect(path, "ro"))
        self.refused(study, "a read-only one")
        assert Ledger(started).state().entries == ()

    def test_a_locked_file(self, study, started, monkeypatch):
        monkeypatch.setattr(sqlite, "LOCK_TIMEOUT_SECONDS", 0.1)
        holder = sqlite3.connect(started, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        self.refused(study, "another process has locked")
        holder.execute("ROLLBACK")
        assert Ledger(started).state().entries == ()

    def test_a_damaged_file(self, study, started):
        content = bytearray(started.read_bytes())
        content[content.rindex(b'"epsilon"') + 12] ^= 1
        started.write_bytes(content)
        self.refused(study, "Do not release anything")
