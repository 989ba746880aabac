"""Racing and dying processes, on a file and on a server."""

import os
import random
import signal
import subprocess
import sys
import time
from fractions import Fraction

import pytest

from neuroveil.errors import BudgetError
from neuroveil.ledger import Ledger
from neuroveil.types.charge import ChargeRequest

LONG = os.environ.get("NEUROVEIL_LONG") == "1"

RACER = """
import sys
from fractions import Fraction
from neuroveil.errors import BudgetError
from neuroveil.ledger import Ledger
from neuroveil.types.charge import ChargeRequest
ledger = Ledger(sys.argv[1])
request = ChargeRequest(Fraction(1), Fraction(1, 10**5), "gaussian", 17, 363, "sha256:0")
print("ready", flush=True)
sys.stdin.readline()
granted = 0
try:
    while True:
        ledger.reserve(request)
        granted += 1
except BudgetError as refusal:
    print(granted, refusal.where, flush=True)
"""

SPENDER = """
import sys
from fractions import Fraction
from neuroveil.ledger import Ledger
from neuroveil.types.charge import ChargeRequest
ledger = Ledger(sys.argv[1])
request = ChargeRequest(Fraction(1, 1000), Fraction(0), "laplace", 17, 19, "sha256:0")
print("ready", flush=True)
while True:
    print(ledger.reserve(request).entry, flush=True)
"""


def start(program: str, location: object) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(location)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def wait_for_the_last_commit(location: object) -> None:
    """Let a server end what a client had sent when it was killed; a file has no such afterlife."""
    if not isinstance(location, str):
        return
    import psycopg

    busy = (
        "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' "
        "AND state <> 'idle' AND pid <> pg_backend_pid()"
    )
    until = time.monotonic() + 60
    url = location.replace("postgresql+psycopg", "postgresql")
    with psycopg.connect(url, autocommit=True) as connection:
        while connection.execute(busy).fetchone() != (0,):
            assert time.monotonic() < until, "the server still works for a client that is dead"
            time.sleep(0.01)


@pytest.mark.slow
def test_four_racing_processes_stop_exactly_at_the_limit(location):
    ledger = Ledger.create(location, Fraction(10), Fraction(1, 1000))
    racers = [start(RACER, location) for _ in range(4)]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    said = [racer.communicate(timeout=120)[0].split() for racer in racers]
    assert {where for _, where in said} == {"budget"}  # refused for want of room, nothing else
    assert sum(int(granted) for granted, _ in said) == 10
    state = ledger.state()
    assert state.remaining[0] == 0
    assert [line.number for line in state.entries] == list(range(1, 11))


@pytest.mark.slow
@pytest.mark.parametrize(
    "n_kills",
    [10, pytest.param(100, marks=pytest.mark.skipif(not LONG, reason="long set only"))],
)
def test_sigkill_never_loses_or_unspends_a_charge(location, n_kills):
    """Every charge that was handed out before the kill is in the ledger, and stays there."""
    ledger = Ledger.create(location, Fraction(10**6), Fraction(1, 1000))
    moments = random.Random(20261129)
    seen: list[int] = []
    handed_out = 0
    for kill in range(n_kills):
        process = start(SPENDER, location)
        assert process.stdout is not None
        # Every other kill comes after a charge, however slow the machine is.
        first = process.stdout.readline() if kill % 2 else ""
        time.sleep(moments.uniform(0.0, 0.15))
        os.kill(process.pid, signal.SIGKILL)
        numbers = [int(number) for number in (first + process.stdout.read()).split()]
        process.wait()
        wait_for_the_last_commit(location)
        present = [line.number for line in ledger.state().entries]
        assert present[: len(seen)] == seen  # nothing is un-spent
        assert set(numbers) <= set(present)  # nothing that was handed out is lost
        assert len(present) - len(seen) - len(numbers) in (0, 1)  # at most one was in flight
        seen, handed_out = present, handed_out + len(numbers)
    assert handed_out > 0
    assert ledger.state().spent == (Fraction(len(seen), 1000), 0)


def test_a_spend_without_a_charge_stays_spent(location, request_for):
    """What a crash between spend and draw leaves behind."""
    Ledger.create(location, Fraction(10), Fraction(1, 1000)).reserve(request_for())
    assert Ledger(location).state().spent[0] == 1


def test_a_second_ledger_cannot_be_started_over_the_first(location, request_for):
    Ledger.create(location, Fraction(1), Fraction(1, 1000)).reserve(request_for())
    with pytest.raises(BudgetError, match="existing one"):
        Ledger.create(location, Fraction(100), Fraction(1, 10))
    assert Ledger(location).state().remaining[0] == 0


def test_charges_are_the_same_on_files_and_servers(location, request_for):
    ledger = Ledger.create(location, Fraction(3), Fraction(1, 1000))
    charges = [ledger.reserve(request_for()) for _ in range(3)]
    assert [charge.entry for charge in charges] == [1, 2, 3]
    assert [charge.spent_before[0] for charge in charges] == [0, 1, 2]
    assert [charge.prior_releases for charge in charges] == [0, 1, 2]
    with pytest.raises(BudgetError, match=r"epsilon = 0, delta = 0\.00097 left"):
        ledger.reserve(request_for())
    request: ChargeRequest = charges[0].request
    assert ledger.state().entries[0].spend.events == request.parts
