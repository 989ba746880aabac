"""Databases that do not play along: a clear refusal, no charge, and nothing half written."""

import sqlite3
from fractions import Fraction

import pytest

from neuroveil.errors import BudgetError
from neuroveil.ledger import Ledger, Terms
from neuroveil.ledger import sqlite as store
from neuroveil.types.budget import Scope
from neuroveil.types.charge import Charge


@pytest.fixture
def full_disk(monkeypatch):
    """From now on no database of this process may grow."""
    connect = store.connect

    def cramped(path, mode):
        connection = connect(path, mode)
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {max(pages, 1)}")
        return connection

    return lambda: monkeypatch.setattr(store, "connect", cramped)


def test_a_full_disk(ledger, request_for, full_disk):
    before = ledger.reserve(request_for("1/100", "0")).entry
    full_disk()
    charges: list[Charge] = []
    with pytest.raises(BudgetError, match=r"found a full disk\. Nothing was released") as refusal:
        charges.extend(ledger.reserve(request_for("1/100", "0")) for _ in range(200))
    assert refusal.value.exit_code == 4
    assert len(charges) < 50  # the file has room for a few more in the pages that it has
    assert len(ledger.state().entries) == before + len(charges)


def test_a_full_disk_while_a_ledger_is_started(ledger_path, full_disk):
    full_disk()
    with pytest.raises(BudgetError, match="a full disk"):
        Ledger.create(ledger_path, Fraction(1), Fraction(0))
    assert not list(ledger_path.parent.iterdir())


def test_a_read_only_database(ledger, ledger_path, request_for):
    reader = Ledger(ledger_path, read_only=True)
    assert reader.state().limit[0] == 10
    with pytest.raises(BudgetError, match="found a read-only one"):
        reader.reserve(request_for())
    with pytest.raises(BudgetError, match="found a read-only one"):
        reader.set_limit(Scope("study", "one"), Fraction(1), Fraction(0))
    assert ledger.state().entries == ()


def test_a_locked_database(ledger, ledger_path, request_for, monkeypatch):
    monkeypatch.setattr(store, "LOCK_TIMEOUT_SECONDS", 0.1)
    holder = sqlite3.connect(ledger_path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(BudgetError, match="one that another process has locked"):
        ledger.reserve(request_for())
    assert ledger.state().entries == ()  # looking is possible meanwhile
    holder.execute("ROLLBACK")
    assert ledger.reserve(request_for()).entry == 1


def test_a_folder_instead_of_a_file(tmp_path):
    with pytest.raises(BudgetError, match="an existing ledger"):
        Ledger(tmp_path)


def test_a_file_that_is_cut_in_half(ledger, ledger_path, request_for):
    ledger.reserve(request_for())
    content = ledger_path.read_bytes()
    ledger_path.write_bytes(content[: len(content) // 2])
    with pytest.raises(BudgetError):
        ledger.reserve(request_for())


def test_an_empty_file(ledger_path):
    ledger_path.touch()
    with pytest.raises(BudgetError, match="not a ledger"):
        Ledger(ledger_path).state()


class TestKeyOfPatients:
    def test_it_lies_beside_the_ledger_for_its_owner_only(self, site_ledger, ledger_path):
        key = ledger_path.with_name("ledger.sqlite.key")
        assert key.stat().st_mode & 0o777 == 0o600
        assert len(key.read_bytes()) == 32
        assert key.read_bytes() not in ledger_path.read_bytes()
        assert key.read_bytes().hex().encode() not in ledger_path.read_bytes()

    def test_another_key_is_refused_rather_than_taking_patients_for_strangers(
        self, site_ledger, ledger_path
    ):
        digests = site_ledger.patient_digests("1")
        key = ledger_path.with_name("ledger.sqlite.key")
        kept = key.read_bytes()
        for wrong in (b"x" * 32, b"", b"short"):
            key.write_bytes(wrong)
            with pytest.raises(BudgetError, match="ledger key"):
                site_ledger.patient_digests("1")
        key.unlink()
        with pytest.raises(BudgetError, match="none that can be read"):
            site_ledger.patient_digests("1")
        key.write_bytes(kept)
        assert site_ledger.patient_digests("1") == digests

    def test_it_may_lie_elsewhere(self, ledger_path, tmp_path):
        key = tmp_path / "keys" / "site.key"
        terms = Terms(site_wide_keys=True, key_file=key)
        digests = Ledger.create(ledger_path, Fraction(1), Fraction(0), terms).patient_digests("1")
        with pytest.raises(BudgetError, match="ledger key"):
            Ledger(ledger_path).patient_digests("1")
        assert Ledger(ledger_path, key_file=key).patient_digests("1") == digests

    def test_two_ledgers_digest_the_same_patient_differently(self, site_ledger, tmp_path):
        other = Ledger.create(
            tmp_path / "b.sqlite", Fraction(1), Fraction(0), Terms(site_wide_keys=True)
        )
        assert other.patient_digests("1") != site_ledger.patient_digests("1")
