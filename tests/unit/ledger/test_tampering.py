"""Whatever is changed behind the ledger's back is found, or changes nothing."""

import json
import random
import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest

from neuroveil.errors import BudgetError
from neuroveil.ledger import Ledger
from neuroveil.ledger.book import Book
from neuroveil.ledger.entries import hash_text
from neuroveil.types.budget import Scope


def guards(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    return connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
    ).fetchall()


def behind_the_triggers(path: Path, *statements: str) -> None:
    """Do something to the file that the triggers forbid, and leave the triggers as they were."""
    connection = sqlite3.connect(path)
    taken = guards(connection)
    for name, _ in taken:
        connection.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        connection.execute(statement)
    for _, text in taken:
        connection.execute(text)
    connection.commit()
    connection.close()


@pytest.fixture
def filled(site_ledger, request_for):
    """A limit, a set of patients, and three releases about four patients."""
    digests = site_ledger.patient_digests(["a", "b", "c", "d"])
    site_ledger.set_limit(Scope("patients", "young"), Fraction(5), Fraction(1, 2000), digests[:2])
    for patients in (digests[:2], digests[1:3], digests[3:]):
        site_ledger.reserve(request_for(patients=patients))
    return site_ledger


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE neuroveil_entry SET body = replace(body, '\"1\"', '\"0\"') WHERE number = 2",
        "UPDATE neuroveil_entry SET body = replace(body, 'gaussian', 'laplace') WHERE number = 3",
        "UPDATE neuroveil_entry SET body = replace(body, '\"10\"', '\"90\"') WHERE number = 0",
        "UPDATE neuroveil_entry SET body = body || ' ' WHERE number = 2",
        "UPDATE neuroveil_entry SET hash = 'ff' WHERE number = 2",
        "DELETE FROM neuroveil_entry WHERE number = 3",
        "DELETE FROM neuroveil_entry WHERE number = 0",
        "DELETE FROM neuroveil_entry",
        "UPDATE neuroveil_entry SET number = 9 WHERE number = 4",
        "UPDATE neuroveil_roster SET patients = replace(patients, substr(patients, 1, 9), 'abc')",
        "DELETE FROM neuroveil_roster",
    ],
)
def test_tampering_behind_the_triggers_is_found(filled, ledger_path, request_for, statement):
    behind_the_triggers(ledger_path, statement)
    with pytest.raises(BudgetError, match="Do not release anything"):
        filled.state()
    with pytest.raises(BudgetError, match="Do not release anything"):
        filled.reserve(request_for())


def rewritten(body: str, **changes: object) -> str:
    """An entry that says something else, with a hash that fits."""
    document = json.loads(body) | changes
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


@pytest.mark.parametrize(
    "content",
    [
        {"events": [], "mechanism": "m"},
        {"events": [{"mechanism": "m", "epsilon": "-1", "delta": "0"}]},
        {"events": [{"mechanism": "m", "epsilon": "1/0", "delta": "0"}]},
        {"events": [{"mechanism": "m", "epsilon": "much", "delta": "0"}]},
        {"epsilon": "1", "delta": "0"},
        {"scope": "hospital", "epsilon": "1", "delta": "0", "roster": None},
        "nothing",
        None,
    ],
)
@pytest.mark.parametrize("kind", ["spend", "limit", "opening", "refund"])
def test_an_entry_that_says_nonsense_with_a_fitting_hash_is_refused(
    filled, ledger_path, kind, content
):
    connection = sqlite3.connect(ledger_path)
    body = connection.execute("SELECT body FROM neuroveil_entry WHERE number = 4").fetchone()[0]
    connection.close()
    body = rewritten(body, kind=kind, content=content)
    behind_the_triggers(
        ledger_path,
        f"UPDATE neuroveil_entry SET body = '{body}', hash = '{hash_text(body)}' WHERE number = 4",
    )
    with pytest.raises(BudgetError, match="says nothing that a ledger says"):
        filled.state()


def test_the_same_thing_said_in_another_way_is_refused(filled, ledger_path):
    connection = sqlite3.connect(ledger_path)
    body = connection.execute("SELECT body FROM neuroveil_entry WHERE number = 4").fetchone()[0]
    connection.close()
    for other in (body.replace('"1"', '"2/2"', 1), body.replace(",", ", ", 1)):
        assert other != body
        behind_the_triggers(
            ledger_path,
            f"UPDATE neuroveil_entry SET body = '{other}', hash = '{hash_text(other)}' "
            "WHERE number = 4",
        )
        with pytest.raises(BudgetError, match="says nothing that a ledger says"):
            filled.state()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE neuroveil_entry SET body = '{}'",
        "DELETE FROM neuroveil_entry",
        "INSERT OR REPLACE INTO neuroveil_entry VALUES (4, '{}', '0')",
        "INSERT OR REPLACE INTO neuroveil_entry SELECT 2, body, 'x' FROM neuroveil_entry LIMIT 1",
        "INSERT INTO neuroveil_entry VALUES (7, '{}', '0')",
        "REPLACE INTO neuroveil_roster SELECT hash, '' FROM neuroveil_roster",
        "DELETE FROM neuroveil_roster",
        "UPDATE neuroveil_roster SET patients = ''",
    ],
)
def test_sql_cannot_change_remove_or_skip_an_entry(filled, ledger_path, statement):
    before = filled.state()
    connection = sqlite3.connect(ledger_path)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute(statement)
    connection.close()
    assert filled.state() == before


@pytest.mark.parametrize(
    "trigger",
    ["neuroveil_entry_no_update", "neuroveil_entry_no_delete", "neuroveil_roster_in_order"],
)
def test_a_ledger_without_its_guards_is_refused(filled, ledger_path, trigger):
    connection = sqlite3.connect(ledger_path)
    connection.execute(f"DROP TRIGGER {trigger}")
    connection.commit()
    with pytest.raises(BudgetError, match="no guard"):
        filled.state()


def book(path: Path) -> Book:
    """Everything that is read from the file, entry by entry."""
    return Ledger(path, read_only=True)._book()


def outcomes(path: Path, expected: Book, positions: list[int]) -> tuple[int, int]:
    """Flip one bit at each position in turn; how often that was refused, and how often harmless."""
    original = path.read_bytes()
    refused = harmless = 0
    copy = path.with_name("flipped.sqlite")
    for position in positions:
        content = bytearray(original)
        content[position] ^= 1 << random.Random(position).randrange(8)
        copy.write_bytes(content)
        try:
            found = book(copy)
        except BudgetError:
            refused += 1
        else:
            assert found == expected, f"a flip of byte {position} went unnoticed"
            harmless += 1
    return refused, harmless


def used(content: bytes) -> list[int]:
    """Bytes that hold something; the rest of a small SQLite file is empty space."""
    return [position for position, byte in enumerate(content) if byte]


def test_a_flipped_bit_is_refused_or_changes_nothing(filled, ledger_path):
    """A sample of the next test: every 40th byte that holds something."""
    expected = filled._book()
    assert not list(ledger_path.parent.glob("*-wal"))  # all of it is in the file
    refused, _ = outcomes(ledger_path, expected, used(ledger_path.read_bytes())[::40])
    assert refused > 20


@pytest.mark.slow
def test_a_flipped_bit_anywhere_is_refused_or_changes_nothing(filled, ledger_path):
    """Every byte of the file that holds something, and a sample of the empty space."""
    expected = filled._book()
    content = ledger_path.read_bytes()
    positions = sorted({*used(content), *range(0, len(content), 16)})
    refused, harmless = outcomes(ledger_path, expected, positions)
    assert refused > len(used(content)) / 2
    # Empty space, unused header fields and words of the triggers' message are no entry data.
    assert refused + harmless == len(positions)


@pytest.mark.slow
def test_a_flipped_bit_in_an_entry_is_always_refused(filled, ledger_path):
    content = ledger_path.read_bytes()
    bodies = [entry.body.encode() for entry in filled._book().entries]
    positions = [content.rindex(body) + offset for body in bodies for offset in range(len(body))]
    refused, harmless = outcomes(ledger_path, filled._book(), positions)
    assert (refused, harmless) == (len(positions), 0)


def test_a_torn_log_loses_the_last_spend_only_where_the_anchor_notices(
    filled, ledger_path, request_for, tmp_path
):
    """Killed before the log went into the file: the log is damaged, and its spend dropped."""
    keeper = sqlite3.connect(ledger_path)  # keeps the log from being folded into the file
    keeper.execute("SELECT count(*) FROM neuroveil_entry").fetchone()
    charge = filled.reserve(request_for())
    copy = tmp_path / "copy.sqlite"
    log = bytearray(ledger_path.with_name("ledger.sqlite-wal").read_bytes())
    log[len(log) // 2] ^= 1
    copy.write_bytes(ledger_path.read_bytes())
    copy.with_name("copy.sqlite-wal").write_bytes(log)
    keeper.close()
    assert len(Ledger(copy).state().entries) == 3  # SQLite drops what does not add up
    with pytest.raises(BudgetError, match="ends at entry 4, before entry 5"):
        Ledger(copy).check_commitment(charge.commitment)
