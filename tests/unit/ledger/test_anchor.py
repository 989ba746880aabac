"""A ledger that was cut off, rolled back or exchanged is found by what was kept outside it."""

import shutil
import sqlite3
from fractions import Fraction

import pytest

from neuroveil.errors import BudgetError
from neuroveil.ledger import Ledger
from neuroveil.ledger.anchor import from_json, to_json


def test_a_ledger_that_goes_on_is_still_the_same(ledger, request_for):
    first = ledger.commitment()
    commitments = [first, *(ledger.reserve(request_for()).commitment for _ in range(3))]
    assert [commitment.number for commitment in commitments] == [0, 1, 2, 3]
    for commitment in commitments:
        ledger.check_commitment(commitment)
        ledger.check_commitment(from_json(to_json(commitment)))


def test_an_old_copy_is_found(ledger, ledger_path, request_for, tmp_path):
    ledger.reserve(request_for())
    shutil.copy(ledger_path, tmp_path / "old.sqlite")
    commitment = ledger.reserve(request_for()).commitment
    old = Ledger(tmp_path / "old.sqlite")
    assert len(old.state().entries) == 1  # in itself it holds
    with pytest.raises(BudgetError, match="ends at entry 1, before entry 2"):
        old.check_commitment(commitment)
    old.reserve(request_for("2"))
    with pytest.raises(BudgetError, match="another entry 2"):
        old.check_commitment(commitment)


def test_an_end_that_was_cut_off_is_found(ledger, ledger_path, request_for):
    """The chain of what is left holds; only somebody outside can know that there was more."""
    ledger.reserve(request_for())
    commitment = ledger.reserve(request_for()).commitment
    connection = sqlite3.connect(ledger_path)
    name = "neuroveil_entry_no_delete"
    (guard,) = connection.execute(
        "SELECT sql FROM sqlite_master WHERE name = ?", (name,)
    ).fetchone()
    connection.execute(f"DROP TRIGGER {name}")
    connection.execute("DELETE FROM neuroveil_entry WHERE number = 2")
    connection.execute(guard)
    connection.commit()
    connection.close()
    assert len(ledger.state().entries) == 1
    with pytest.raises(BudgetError, match="ends at entry 1, before entry 2"):
        ledger.check_commitment(commitment)


def test_another_ledger_is_found_even_with_the_same_spends(ledger, request_for, tmp_path):
    other = Ledger.create(tmp_path / "other.sqlite", Fraction(10), Fraction(1, 1000))
    commitment = ledger.reserve(request_for()).commitment
    other.reserve(request_for())
    with pytest.raises(BudgetError, match="another entry 1"):
        other.check_commitment(commitment)


def test_a_commitment_gives_nothing_away(ledger, request_for):
    ledger.reserve(request_for())
    one, two = ledger.commitment(), ledger.commitment()
    assert one.digest != two.digest
    assert one.digest.startswith("sha256:")
    assert ledger.state().head not in one.digest
    assert one.nonce not in repr(one)


@pytest.mark.parametrize(
    "document",
    [
        None, [], "text", {}, {"number": 1, "nonce": "00"},
        {"number": -1, "nonce": "0" * 64, "commitment": "sha256:0"},
        {"number": "1", "nonce": "0" * 64, "commitment": "sha256:0"},
        {"number": 1, "nonce": "short", "commitment": "sha256:0"},
        {"number": 1, "nonce": 7, "commitment": "sha256:0"},
        {"number": 1, "nonce": "0" * 64, "commitment": 5},
    ],
)  # fmt: skip
def test_a_broken_anchor_is_refused(document):
    with pytest.raises(BudgetError, match="ledger anchor"):
        from_json(document)
