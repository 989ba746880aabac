"""A spend from a real ledger, for tests that run a release."""

from __future__ import annotations

from fractions import Fraction

import pytest

from neuroveil.ledger import Ledger
from neuroveil.privacy import charge_request


@pytest.fixture
def charge_for(tmp_path):
    """Reserve what a release of a table needs."""

    def reserve(settings, table):
        ledger = Ledger.create(tmp_path / "ledger.sqlite", Fraction(10), Fraction(1, 1000))
        return ledger.reserve(charge_request(settings, table.columns, table.n_patients))

    return reserve
