"""Numbers that no ledger holds, written with a hash that fits: refused at once, never counted."""

import json
import sqlite3
import sys
from fractions import Fraction

import pytest

from neuroveil.errors import BudgetError
from neuroveil.ledger import Ledger
from neuroveil.ledger.anchor import from_json
from neuroveil.ledger.contents import Opening, spend_of
from neuroveil.ledger.entries import check_chain, hash_text, next_entry
from neuroveil.types.budget import AccountingEvent, Scope

AMOUNTS = ["1e400", "1e9999999999", "1e-9999999999", "nan", "NaN", "inf", "-inf", "-1", "-0", "+1",
           "0x10", "1_000", " 1", "1 ", "1.0", "1/0", "1/-2", "9" * 5000, "1/" + "9" * 5000,
           "1" + "0" * 400, "\u0661", "", None, True, 1, 0.1, ["1"], {}]  # fmt: skip
COUNTS = [-1, 0.5, 1e400, float("nan"), 10**13, 10**5000, True, "17", None, [17]]


@pytest.fixture
def forge(request_for):
    """Write one of two entries anew, with a hash that fits; gives the lines of the ledger."""
    opening = next_entry(Opening(Fraction(10), Fraction(1, 1000)))
    entries = [opening, next_entry(spend_of(request_for(), None), opening)]

    def change(number, alter):
        bodies = [entry.body for entry in entries]
        document = json.loads(bodies[number])
        alter(document)
        bodies[number] = json.dumps(document, sort_keys=True, separators=(",", ":"))
        return [(i, body, hash_text(body)) for i, body in enumerate(bodies)]

    return change


@pytest.fixture(autouse=True)
def long_numbers():
    """Let this test write numbers that Python would not turn into text."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    yield
    sys.set_int_max_str_digits(before)


def refused(lines):
    """Read a ledger that must be refused."""
    with pytest.raises(BudgetError, match="says nothing that a ledger says"):
        check_chain(lines)


def test_what_was_not_forged_is_read(forge):
    entries = check_chain(forge(1, lambda entry: None))
    assert [entry.kind for entry in entries] == ["opening", "spend"]


@pytest.mark.parametrize("amount", AMOUNTS, ids=lambda a: repr(a)[:12])
@pytest.mark.parametrize("field", ["epsilon", "delta"])
def test_no_amount(forge, field, amount):
    refused(forge(1, lambda entry: entry["content"]["events"][0].update({field: amount})))
    refused(forge(0, lambda entry: entry["content"].update({field: amount})))


@pytest.mark.parametrize("count", COUNTS, ids=lambda c: repr(c)[:12] if c != 10**5000 else "long")
@pytest.mark.parametrize("field", ["n_patients", "dimension"])
def test_no_count(forge, field, count):
    refused(forge(1, lambda entry: entry["content"].update({field: count})))


@pytest.mark.parametrize("field", ["mechanism", "columns_digest", "roster"])
@pytest.mark.parametrize("value", [1, float("nan"), ["x"], {"x": 1}, True])
def test_no_text(forge, field, value):
    refused(forge(1, lambda entry: entry["content"].update({field: value})))


@pytest.mark.parametrize("field", ["number", "created", "nonce", "previous_hash"])
@pytest.mark.parametrize("value", [True, float("nan"), [1], None])
def test_no_entry(forge, field, value):
    refused(forge(1, lambda entry: entry.update({field: value})))


def test_an_entry_that_stands_twice(ledger, ledger_path, request_for):
    """Also where somebody made the table anew, so that nothing in it has to be unique."""
    ledger.reserve(request_for())
    assert ledger.state().spent[0] == 1
    connection = sqlite3.connect(ledger_path)
    guards = connection.execute("SELECT sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    connection.executescript(
        "CREATE TABLE copy AS SELECT * FROM neuroveil_entry;"
        "DROP TABLE neuroveil_entry; ALTER TABLE copy RENAME TO neuroveil_entry;"
        "INSERT INTO neuroveil_entry SELECT * FROM neuroveil_entry WHERE number = 1;"
    )
    for (text,) in guards:
        if "neuroveil_entry" in text:
            connection.execute(text)
    connection.commit()
    connection.close()
    with pytest.raises(BudgetError, match="entry 2 does not match its hash"):
        ledger.state()


@pytest.mark.parametrize("epsilon", [Fraction(10**400), Fraction(1, 10**2000), Fraction(0)])
def test_what_could_not_be_read_again_is_not_written(ledger, ledger_path, request_for, epsilon):
    before = ledger_path.read_bytes()
    with pytest.raises(BudgetError):
        ledger.set_limit(Scope("study", "s"), epsilon, Fraction(0))
    if epsilon:
        event = AccountingEvent("gaussian", epsilon, Fraction(0))
        with pytest.raises(BudgetError):
            ledger.reserve(request_for(str(epsilon), "0", events=(event,)))
    with pytest.raises(BudgetError):
        Ledger.create(ledger_path.with_name("other.sqlite"), epsilon, Fraction(0))
    assert ledger_path.read_bytes() == before
    assert not ledger_path.with_name("other.sqlite").exists()


def test_the_smallest_numbers_of_double_precision_can_be_spent(ledger, request_for):
    tiny = Fraction(repr(5e-324))
    ledger.reserve(request_for(str(tiny), str(tiny)))
    ledger.reserve(request_for(str(Fraction(5e-324)), "0"))
    assert ledger.state().spent[0] == tiny + Fraction(5e-324)


@pytest.mark.parametrize("number", [-1, 0.5, float("nan"), "1", None, [1]])
def test_an_anchor_with_no_number(number):
    with pytest.raises(BudgetError, match="ledger anchor"):
        from_json({"number": number, "nonce": "0" * 64, "commitment": "sha256:" + "0" * 64})
