"""Made-up cohorts with a class difference that is known."""

from __future__ import annotations

import numpy as np
import pytest

from neuroveil.evaluate.downstream.units import Cohort
from neuroveil.types.catalogue import columns_for
from neuroveil.types.scaling import Scaling


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    """Thousands of tiny matrix products wait for threads longer than they take."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


CHANNELS = ("Fp1", "Fp2", "C3", "C4", "O1", "O2")
FEATURES = ("line_length", "variance", "alpha_power", "beta_power")


@pytest.fixture(scope="session")
def public_scaling():
    """Public constants of 24 columns whose variances fall like 1 / j along a random basis."""
    columns = columns_for(CHANNELS, FEATURES)
    d = len(columns)
    basis = np.linalg.qr(np.random.default_rng(7).normal(size=(d, d)))[0]
    variances = d / np.arange(1, d + 1) / np.sum(1 / np.arange(1, d + 1))
    covariance = (basis * variances) @ basis.T
    return Scaling(columns, np.zeros(d), np.full(d, 0.3), "public", "test v1", (False,) * d,
                   (covariance + covariance.T) / 2)  # fmt: skip


@pytest.fixture(scope="session")
def people(public_scaling):
    """Make a cohort of n patients, 30 % positive, apart by ``effect`` standard deviations."""

    def make(n, effect, seed=0):
        generator = np.random.default_rng([seed, n])
        values, vectors = np.linalg.eigh(public_scaling.covariance)
        rows = (generator.normal(size=(n, values.size)) * np.sqrt(values)) @ vectors.T
        labels = np.arange(n) < round(0.3 * n)
        rows[labels] += effect * vectors[:, -6:] @ np.sqrt(values[-6:])
        return Cohort(rows, labels, public_scaling)

    return make
