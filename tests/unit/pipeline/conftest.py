"""A real release, made from a made-up table through the real ledger."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from neuroveil.ledger import Ledger
from neuroveil.privacy import ProtectSettings, charge_request, protect
from neuroveil.reference import default_reference
from neuroveil.types.catalogue import Column, columns_for
from neuroveil.types.release import Release
from neuroveil.types.table import FeatureTable


@pytest.fixture
def columns() -> tuple[Column, ...]:
    return columns_for(("Fp1", "Cz", "O2"), ("variance", "alpha_power", "zero_crossing_rate"))


@pytest.fixture
def table(columns) -> FeatureTable:
    values = 10 ** np.random.default_rng(4).normal(1, 0.3, (6, len(columns)))
    return FeatureTable(
        patients=tuple(f"secret-{i}" for i in range(6)), columns=columns, values=values,
        n_windows=np.full(6, 30), seconds=np.full(6, 31.0),
    )  # fmt: skip


@pytest.fixture
def release(table, columns, tmp_path: Path) -> Release:
    settings = ProtectSettings(mechanism="gaussian", epsilon=1.0, delta=1e-5, clip_norm=2.0)
    ledger = Ledger.create(tmp_path / "ledger.sqlite", Fraction(1), Fraction(1, 1000))
    charge = ledger.reserve(charge_request(settings, columns, table.n_patients))
    return protect(table, default_reference("harmonised").scaling_for(columns), settings, charge)
