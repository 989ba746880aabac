"""A made-up private table, public constants for it, and charges from a real ledger."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from neuroveil.ledger import Ledger
from neuroveil.privacy import LabelPolicy, ProtectSettings, charge_request
from neuroveil.privacy.settings import Projection
from neuroveil.types.catalogue import FEATURE_NAMES, Column, columns_for
from neuroveil.types.charge import Charge
from neuroveil.types.scaling import Scaling
from neuroveil.types.table import FeatureTable

COLUMNS = columns_for(("Fp1", "Cz", "O2"), FEATURE_NAMES)
SEX = LabelPolicy("sex", "randomised_response", ("female", "male"), 0.5)
DIAGNOSIS = LabelPolicy("diagnosis", "unprotected")


@pytest.fixture
def columns() -> tuple[Column, ...]:
    return COLUMNS


@pytest.fixture
def make_table() -> Callable[..., FeatureTable]:
    """A table of positive features, two attributes, and no missing cell."""

    def make(n_patients: int = 5, columns: tuple[Column, ...] = COLUMNS) -> FeatureTable:
        generator = np.random.default_rng(20260)
        return FeatureTable(
            patients=tuple(f"patient {number}" for number in range(n_patients)),
            columns=columns,
            values=np.exp(generator.normal(size=(n_patients, len(columns)))),
            n_windows=np.full(n_patients, 60, dtype=np.int64),
            seconds=np.full(n_patients, 61.0),
            attributes={
                "sex": tuple(("female", "male")[number % 2] for number in range(n_patients)),
                "diagnosis": tuple(f"diagnosis {number}" for number in range(n_patients)),
            },
        )

    return make


@pytest.fixture
def table(make_table: Callable[..., FeatureTable]) -> FeatureTable:
    return make_table()


@pytest.fixture
def make_scaling() -> Callable[..., Scaling]:
    """Public constants: centre 0 and spread 1 on every column."""

    def make(columns: tuple[Column, ...] = COLUMNS) -> Scaling:
        d = len(columns)
        return Scaling(columns, np.zeros(d), np.ones(d), "public", "test v1", (False,) * d)

    return make


@pytest.fixture
def scaling(make_scaling: Callable[..., Scaling]) -> Scaling:
    return make_scaling()


@pytest.fixture
def gaussian() -> ProtectSettings:
    """Gaussian rows with one charged and one unprotected label."""
    return ProtectSettings(
        "gaussian", 1.0, 1e-5, 2.0, labels=(SEX, DIAGNOSIS), preprocessing={"line_hz": 50}
    )


@pytest.fixture
def laplace() -> ProtectSettings:
    return ProtectSettings("laplace", 1.0, 0.0, 2.0)


@pytest.fixture
def correlated(scaling: Scaling) -> Scaling:
    """Public constants with a covariance: what two columns share falls with their distance."""
    places = np.arange(len(scaling.columns))
    return replace(scaling, covariance=0.8 ** np.abs(places[:, None] - places))


@pytest.fixture
def privunit() -> ProtectSettings:
    return ProtectSettings("privunit", 5.0, 0.0, 2.0)


@pytest.fixture
def shuffled() -> ProtectSettings:
    """Four public components of codewords, shuffled together."""
    return ProtectSettings(
        "privunit", 2.0, 1e-5, 2.0, trust_model="shuffled", projection=Projection(4)
    )


@pytest.fixture
def paper_laplace() -> ProtectSettings:
    return ProtectSettings("paper_laplace", 1.0, 0.0, 2.0)


@pytest.fixture
def pay(tmp_path: Path) -> Callable[..., Charge]:
    """Reserve budget in a real ledger for a release with these settings."""

    def reserve(settings: ProtectSettings, table: FeatureTable) -> Charge:
        path = tmp_path / "ledger.sqlite"
        limit = (Fraction(1000), Fraction(1, 10))
        ledger = Ledger(path) if path.exists() else Ledger.create(path, *limit)
        return ledger.reserve(charge_request(settings, table.columns, table.n_patients))

    return reserve
