from fractions import Fraction
from pathlib import Path

import pytest

from neuroveil.ledger import Ledger
from neuroveil.types.charge import ChargeRequest


@pytest.fixture
def request_for():
    def make(epsilon: str = "1", delta: str = "1/100000") -> ChargeRequest:
        return ChargeRequest(
            epsilon=Fraction(epsilon), delta=Fraction(delta), mechanism="gaussian",
            n_patients=17, dimension=363, columns_digest="sha256:" + "0" * 64,
        )  # fmt: skip

    return make


@pytest.fixture
def ledger_path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def ledger(ledger_path: Path) -> Ledger:
    return Ledger.create(ledger_path, Fraction(10), Fraction(1, 1000))
