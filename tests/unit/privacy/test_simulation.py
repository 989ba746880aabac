from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from neuroveil.errors import ChainError
from neuroveil.privacy import ProtectSettings, protect, simulate
from neuroveil.types.release import Release, Simulation


def test_a_simulation_is_not_a_release(gaussian, table, scaling) -> None:
    (simulation,) = simulate(table, scaling, gaussian, seed=1)
    assert isinstance(simulation, Simulation)
    assert not isinstance(simulation, Release)
    assert not simulation.certificate.formal_guarantee
    assert "NOT PRIVATE" in repr(simulation)


def test_draws_repeat_with_the_seed_and_differ_from_each_other(gaussian, table, scaling) -> None:
    first = list(simulate(table, scaling, gaussian, seed=1, n_draws=3))
    again = list(simulate(table, scaling, gaussian, seed=1, n_draws=3))
    other = list(simulate(table, scaling, gaussian, seed=2, n_draws=3))
    assert len(first) == 3
    for one, same, different in zip(first, again, other, strict=True):
        assert (one.values == same.values).all()
        assert (one.values != different.values).all()
        assert (one.clipped == first[0].clipped).all()
    assert (first[0].values != first[1].values).all()


def test_rows_keep_their_order_and_are_clipped(gaussian, table, scaling) -> None:
    settings = ProtectSettings("gaussian", 1000.0, 1e-5, 2.0)
    (simulation,) = simulate(table, scaling, settings, seed=1)
    norms = np.linalg.norm(simulation.clipped, axis=1)
    assert (norms <= 2.0).all()
    assert np.abs(simulation.values - simulation.clipped).max() < 1.0
    correlations = np.corrcoef(simulation.values, simulation.clipped)[:5, 5:]
    assert (correlations.argmax(axis=1) == np.arange(5)).all()


@pytest.mark.parametrize("name", ["gaussian", "laplace", "paper_laplace"])
def test_every_mechanism_can_be_simulated(name: str, table, scaling) -> None:
    settings = ProtectSettings(name, 1.0, 1e-5 if name == "gaussian" else 0.0, 2.0)
    (simulation,) = simulate(table, scaling, settings, seed=1)
    assert simulation.values.shape == (5, 33)


@pytest.mark.parametrize("name", ["gaussian", "laplace"])
def test_simulated_values_match_released_values(name: str, make_table, scaling, pay) -> None:
    """Two-sample Kolmogorov-Smirnov test on 13,200 cells. False alarms: 1e-7."""
    settings = ProtectSettings(name, 2.0, 1e-6 if name == "gaussian" else 0.0, 2.0)
    table = make_table(400)
    release = protect(table, scaling, settings, pay(settings, table))
    (simulation,) = simulate(table, scaling, settings, seed=11)
    assert stats.ks_2samp(release.values.ravel(), simulation.values.ravel()).pvalue > 1e-7


def test_simulated_values_are_on_the_grid(gaussian, table, scaling) -> None:
    (simulation,) = simulate(table, scaling, gaussian, seed=1)
    units = np.ldexp(simulation.values, 40)
    assert (units == np.rint(units)).all()


@pytest.mark.parametrize("n_draws", [0, -1, 1.5])
def test_no_draws_are_refused(gaussian, table, scaling, n_draws: int) -> None:
    with pytest.raises(ChainError, match="n_draws"):
        list(simulate(table, scaling, gaussian, seed=1, n_draws=n_draws))
