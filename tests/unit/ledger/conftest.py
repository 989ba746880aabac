"""Ledgers on disk and in databases, and requests to them."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from neuroveil.ledger import Ledger, Terms
from neuroveil.types.budget import AccountingEvent, Scope
from neuroveil.types.charge import ChargeRequest


@pytest.fixture(scope="session")
def request_for() -> Callable[..., ChargeRequest]:
    def make(
        epsilon: str = "1",
        delta: str = "1/100000",
        patients: tuple[str, ...] = (),
        studies: tuple[str, ...] = (),
        events: tuple[AccountingEvent, ...] = (),
    ) -> ChargeRequest:
        return ChargeRequest(
            epsilon=Fraction(epsilon), delta=Fraction(delta), mechanism="gaussian",
            n_patients=len(patients) or 17, dimension=363, columns_digest="sha256:" + "0" * 64,
            events=events, scopes=tuple(Scope("study", name) for name in studies),
            patients=patients,
        )  # fmt: skip

    return make


@pytest.fixture
def ledger_path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def ledger(ledger_path: Path) -> Ledger:
    return Ledger.create(ledger_path, Fraction(10), Fraction(1, 1000))


@pytest.fixture
def site_ledger(ledger_path: Path) -> Ledger:
    """A ledger that knows patients."""
    return Ledger.create(ledger_path, Fraction(10), Fraction(1, 1000), Terms(site_wide_keys=True))


@pytest.fixture(
    params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)],
)
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    """Where a ledger may go: a file, then a database on a server."""
    if request.param == "sqlite":
        return tmp_path / "ledger.sqlite"
    url: str = request.getfixturevalue("postgresql").url(request.getfixturevalue("new_schema"))
    return url
