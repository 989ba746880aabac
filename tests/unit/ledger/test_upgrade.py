"""Ledgers of format 0: the file opens, keeps its spends, and is carried over by the first write.

The files are written here with nothing but the standard library, as version 0.1 wrote them.
"""

import hashlib
import json
import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest

from neuroveil.errors import BudgetError
from neuroveil.ledger import Ledger
from neuroveil.types.budget import Scope

FIELDS = (
    "number", "kind", "epsilon", "delta", "mechanism", "n_patients", "dimension",
    "columns_digest", "created", "nonce", "previous_hash",
)  # fmt: skip
SCHEMA = """
CREATE TABLE entry (
    number INTEGER NOT NULL, kind TEXT NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL,
    mechanism TEXT NOT NULL, n_patients INTEGER NOT NULL, dimension INTEGER NOT NULL,
    columns_digest TEXT NOT NULL, created TEXT NOT NULL, nonce TEXT NOT NULL,
    previous_hash TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (number), UNIQUE (hash)
);
CREATE TRIGGER entry_no_update BEFORE UPDATE ON entry
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER entry_no_delete BEFORE DELETE ON entry
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
"""


def write_format_0(path: Path, spends: list[tuple[str, str]], limit: str = "10") -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA application_id=1853254759")
    connection.executescript(SCHEMA)
    previous = "0" * 64
    lines = [("limit", limit, "1/1000", "", 0, 0, "")]
    lines += [("spend", *amount, "gaussian", 17, 363, "sha256:0") for amount in spends]
    for number, line in enumerate(lines):
        kind, epsilon, delta, mechanism, n_patients, dimension, digest = line
        values = (
            number, kind, epsilon, delta, mechanism, n_patients, dimension, digest,
            f"2026-11-0{number + 1}T10:00:00+00:00", f"{number:032x}", previous,
        )  # fmt: skip
        text = json.dumps(
            dict(zip(FIELDS, values, strict=True)), sort_keys=True, separators=(",", ":")
        )
        previous = hashlib.sha256(text.encode()).hexdigest()
        marks = ", ".join("?" * (len(FIELDS) + 1))
        connection.execute(f"INSERT INTO entry VALUES ({marks})", (*values, previous))
    connection.commit()
    connection.close()


@pytest.fixture
def old(ledger_path: Path) -> Path:
    write_format_0(ledger_path, [("3", "1/100000"), ("1/2", "0")])
    return ledger_path


def tables(path: Path) -> set[str]:
    rows = sqlite3.connect(path).execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return {name for (name,) in rows}


def test_it_is_read_without_being_changed(old):
    content = old.read_bytes()
    state = Ledger(old, read_only=True).state()
    assert state.limit == (10, Fraction(1, 1000))
    assert state.spent == (Fraction(7, 2), Fraction(1, 100000))
    assert [line.created[:10] for line in state.entries] == ["2026-11-02", "2026-11-03"]
    assert (state.rule, state.site_wide_keys) == ("basic", False)
    assert old.read_bytes() == content


def test_the_first_spend_carries_it_over(old, request_for):
    charge = Ledger(old).reserve(request_for())
    assert (charge.entry, charge.prior_releases) == (3, 2)
    assert charge.spent_before == (Fraction(7, 2), Fraction(1, 100000))
    state = Ledger(old).state()
    assert state.spent[0] == Fraction(9, 2)
    assert [line.created[:10] for line in state.entries][:2] == ["2026-11-02", "2026-11-03"]
    assert Ledger(old).export()[0]["upgraded"] is True
    assert tables(old) == {"neuroveil_entry", "neuroveil_roster", "entry_of_format_0"}
    Ledger(old).check_commitment(charge.commitment)


def test_the_limit_still_holds(old, request_for):
    with pytest.raises(BudgetError, match=r"epsilon = 6\.5, delta"):
        Ledger(old).reserve(request_for("7"))
    assert tables(old) == {"entry"}  # a refusal changes nothing
    Ledger(old).reserve(request_for("6.5"))
    with pytest.raises(BudgetError, match="epsilon = 0, delta"):
        Ledger(old).reserve(request_for())


def test_a_further_limit_carries_it_over_too(old):
    Ledger(old).set_limit(Scope("study", "one"), Fraction(1), Fraction(0))
    assert Ledger(old).state().spent[0] == Fraction(7, 2)


def test_the_old_version_refuses_the_file_afterwards(old, request_for):
    Ledger(old).reserve(request_for())
    with pytest.raises(sqlite3.OperationalError, match="no such table: entry"):
        sqlite3.connect(old).execute("SELECT * FROM entry")


def test_it_has_no_patients(old):
    with pytest.raises(BudgetError, match="site-wide"):
        Ledger(old).patient_digests("1")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entry SET epsilon = '1/1000' WHERE number = 1",
        "UPDATE entry SET mechanism = 'laplace' WHERE number = 2",
        "UPDATE entry SET epsilon = '1000' WHERE number = 0",
        "UPDATE entry SET hash = 'ff' WHERE number = 1",
        "UPDATE entry SET n_patients = 1.5 WHERE number = 1",
        "DELETE FROM entry WHERE number = 1",
        "DELETE FROM entry",
        "UPDATE entry SET kind = 'limit' WHERE number = 2",
        "DROP TABLE entry",
    ],
)
def test_tampering_with_it_is_found(old, request_for, statement):
    connection = sqlite3.connect(old)
    connection.execute("DROP TRIGGER entry_no_update")
    connection.execute("DROP TRIGGER entry_no_delete")
    connection.execute(statement)
    connection.commit()
    connection.close()
    for attempt in (Ledger(old).state, lambda: Ledger(old).reserve(request_for())):
        with pytest.raises(BudgetError):
            attempt()


HOSTILE = [("-1", "0"), ("0", "0"), ("1/0", "0"), ("x", "0"), ("1", "1"), ("nan", "0"),
           ("1e400", "0"), ("1e9999999999", "0"), ("1", "1e-9999999999"), ("9" * 5000, "0"),
           ("1_0", "0"), (" 1", "0"), ("1" + "0" * 400, "0")]  # fmt: skip


@pytest.mark.parametrize("amount", HOSTILE)
def test_an_amount_that_gives_budget_back_or_is_absurd_is_refused(ledger_path, amount):
    write_format_0(ledger_path, [amount])
    with pytest.raises(BudgetError, match="entry 1 holds no amount"):
        Ledger(ledger_path).state()


@pytest.mark.parametrize("limit", ["0", "-5", "1e9999999999", "inf"])
def test_a_limit_that_is_none_is_refused(ledger_path, limit):
    write_format_0(ledger_path, [], limit)
    with pytest.raises(BudgetError, match="entry 0 holds no amount"):
        Ledger(ledger_path).state()
