"""The ledger never overspends, never forgets and never lets a stranger make a charge."""

import multiprocessing
import os
import pickle
import random
import signal
import sqlite3
import subprocess
import sys
import time
from fractions import Fraction

import pytest

from neuroveil.errors import BudgetError
from neuroveil.ledger import Ledger
from neuroveil.types.charge import Charge


def test_spends_add_up_exactly(ledger, request_for):
    for _ in range(3):
        ledger.reserve(request_for("1/10"))
    state = ledger.state()
    assert state.spent == (Fraction(3, 10), Fraction(3, 100000))
    assert state.remaining == (Fraction(97, 10), Fraction(97, 100000))


def test_refuses_without_room_and_writes_nothing(ledger, request_for):
    ledger.reserve(request_for("9.5"))
    with pytest.raises(BudgetError, match=r"epsilon = 0\.5"):
        ledger.reserve(request_for("0.6"))
    assert len(ledger.state().entries) == 1


def test_refuses_when_only_delta_is_short(ledger, request_for):
    with pytest.raises(BudgetError, match="Nothing was released"):
        ledger.reserve(request_for("1", "1/500"))


def test_the_limit_can_be_spent_to_the_last_bit(ledger, request_for):
    ledger.reserve(request_for("10", "1/1000"))
    assert ledger.state().remaining == (0, 0)
    with pytest.raises(BudgetError):
        ledger.reserve(request_for("1/1000000", "0"))


@pytest.mark.parametrize(("epsilon", "delta"), [("0", "0"), ("-1", "0"), ("1", "1"), ("1", "-1")])
def test_refuses_senseless_amounts(ledger, request_for, epsilon, delta):
    with pytest.raises(BudgetError):
        ledger.reserve(request_for(epsilon, delta))


def test_a_limit_that_is_set_stays_set(ledger, ledger_path):
    with pytest.raises(BudgetError, match="existing one"):
        Ledger.create(ledger_path, Fraction(100), Fraction(1, 10))


def test_no_ledger_no_charge(tmp_path):
    with pytest.raises(BudgetError, match="ledger init"):
        Ledger(tmp_path / "absent.sqlite")
    assert not (tmp_path / "absent.sqlite").exists()


def test_a_charge_cannot_be_made_by_hand(request_for):
    with pytest.raises(BudgetError, match="no way around the ledger"):
        Charge(
            request_for(), entry=1, limit=(Fraction(1), Fraction(0)), prior_releases=0,
            spent_before=(Fraction(0), Fraction(0)), seal=object(),
        )  # fmt: skip


def test_a_charge_pays_once_and_only_for_its_request(ledger, request_for):
    charge = ledger.reserve(request_for("1"))
    with pytest.raises(BudgetError, match="other parameters"):
        charge.consume(request_for("2"))
    charge.consume(request_for("1"))
    with pytest.raises(BudgetError, match="already paid"):
        charge.consume(request_for("1"))


def test_a_charge_cannot_be_copied_to_another_process(ledger, request_for):
    with pytest.raises(BudgetError):
        pickle.dumps(ledger.reserve(request_for()))


def test_sql_cannot_change_or_remove_an_entry(ledger, ledger_path, request_for):
    ledger.reserve(request_for())
    connection = sqlite3.connect(ledger_path)
    for statement in ("UPDATE neuroveil_entry SET body = '{}'", "DELETE FROM neuroveil_entry"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            connection.execute(statement)


def test_another_file_is_not_taken_for_a_ledger(tmp_path):
    path = tmp_path / "notes.sqlite"
    path.write_text("these are notes and no database at all, " * 50)
    with pytest.raises(BudgetError, match="not a ledger"):
        Ledger(path).state()
    sqlite3.connect(tmp_path / "other.sqlite").execute("CREATE TABLE t (x)").connection.commit()
    with pytest.raises(BudgetError, match="not a ledger"):
        Ledger(tmp_path / "other.sqlite").state()


def test_read_only_and_locked_databases_are_refused(ledger, ledger_path, request_for, monkeypatch):
    with pytest.raises(BudgetError, match="read-only"):
        Ledger(ledger_path, read_only=True).reserve(request_for())
    monkeypatch.setattr("neuroveil.ledger.sqlite.LOCK_TIMEOUT_SECONDS", 0.1)
    holder = sqlite3.connect(ledger_path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(BudgetError, match="locked"):
        Ledger(ledger_path).reserve(request_for())
    holder.execute("ROLLBACK")
    assert ledger.state().entries == ()


def _spend_until_refused(path, request, results):
    ledger, granted = Ledger(path), 0
    while True:
        try:
            ledger.reserve(request)
        except BudgetError:
            break
        granted += 1
    results.put(granted)


@pytest.mark.slow
def test_four_racing_processes_stop_exactly_at_the_limit(ledger, ledger_path, request_for):
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    workers = [
        context.Process(target=_spend_until_refused, args=(ledger_path, request_for(), results))
        for _ in range(4)
    ]
    for worker in workers:
        worker.start()
    granted = [results.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join()
    assert sum(granted) == 10
    assert ledger.state().remaining[0] == 0


_KILLED = """
import sys
from fractions import Fraction
from pathlib import Path
from neuroveil.ledger import Ledger
from neuroveil.types.charge import ChargeRequest
ledger = Ledger(Path(sys.argv[1]))
request = ChargeRequest(Fraction(1, 1000), Fraction(0), "laplace", 17, 19, "sha256:0")
print("ready", flush=True)
while True:
    ledger.reserve(request)
    print("charged", flush=True)
"""


@pytest.mark.slow
def test_sigkill_never_loses_or_unspends_a_charge(ledger, ledger_path):
    """Ten kills at random points: every charge that was handed out is in the ledger."""
    moments = random.Random(20261129)
    handed_out = 0
    for _ in range(10):
        process = subprocess.Popen(
            [sys.executable, "-c", _KILLED, str(ledger_path)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(moments.uniform(0.0, 0.15))
        os.kill(process.pid, signal.SIGKILL)
        handed_out += process.stdout.read().count("charged\n")
        process.wait()
        written = len(ledger.state().entries)
        assert written >= handed_out
        handed_out = written
    assert handed_out > 0
