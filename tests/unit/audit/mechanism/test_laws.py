"""Laws that a chain can promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from neuroveil.audit.mechanism.laws import AdditiveLaw, CodewordLaw
from neuroveil.errors import ChainError
from neuroveil.privacy.mechanisms.contract import CodebookOptions, MechanismSpec
from neuroveil.privacy.mechanisms.privunit import PrivUnit, make_privunit
from neuroveil.privacy.randomness import SimulationRandomness

DENSE = np.full((1, 363), 2.0 / math.sqrt(363))


@pytest.fixture(scope="module")
def privunit() -> PrivUnit:
    spec = MechanismSpec("privunit", 2.0, 0.0, 2.0, "l2", 3, CodebookOptions(4096))
    return make_privunit(spec).renewed(SimulationRandomness(1))


@pytest.mark.parametrize("family", ["gaussian", "laplace"])
def test_log_ratios_are_those_of_the_densities(family: str) -> None:
    generator = np.random.default_rng(0)
    first, second = generator.normal(size=(2, 2, 3))
    values = generator.normal(scale=3, size=(50, 6))
    law = AdditiveLaw(family, 1.7)
    density = stats.norm if family == "gaussian" else stats.laplace
    expected = sum(
        sign * density.logpdf(values, table.ravel(), 1.7).sum(axis=1)
        for sign, table in ((1, first), (-1, second))
    )
    assert law.log_ratio(values, first, second) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("scale", "epsilon"), [(8, 1.98), (4, 4.31), (2, 9.72), (0.8, 30.8), (0.4, 79.2), (0.2, 210)]
)
def test_epsilon_that_the_papers_laplace_really_has(scale: float, epsilon: float) -> None:
    """MECHANISMS section 2: epsilon at delta 1e-5 of the dense shift."""
    found = AdditiveLaw("laplace", scale).trade_off(DENSE, -DENSE).epsilon(1e-5)
    assert found == pytest.approx(epsilon, rel=3e-3)


def test_laplace_trade_off_agrees_with_simulation() -> None:
    """Unequal shifts, so that several spectra are multiplied. Fixed seed."""
    shifts = np.array([[0.3, 0.0, 1.0, 2.5]])
    law = AdditiveLaw("laplace", 1.0)
    generator = np.random.default_rng(5)
    noise = generator.laplace(size=(400_000, 4))
    losses = law.log_ratio(noise + shifts, shifts, 0 * shifts)
    curve = law.trade_off(shifts, 0 * shifts)
    for false_positive in (0.02, 0.1):
        index = int(np.searchsorted(curve.false_positive, false_positive))
        under_second = law.log_ratio(noise, shifts, 0 * shifts)
        threshold = np.quantile(under_second, 1 - curve.false_positive[index])
        assert np.mean(losses > threshold) == pytest.approx(curve.true_positive[index], abs=0.01)


def test_one_column_of_laplace_noise_has_its_pure_epsilon() -> None:
    row = np.array([[2.0]])
    assert AdditiveLaw("laplace", 4.0).trade_off(row, -row).epsilon(0.0) == pytest.approx(1.0)


def test_equal_tables_cannot_be_told_apart() -> None:
    row = np.array([[2.0, 1.0]])
    for family in ("gaussian", "laplace"):
        assert AdditiveLaw(family, 1.0).trade_off(row, row).epsilon(1e-5) == 0.0


def test_codewords_are_recognised_and_weighed(privunit: PrivUnit) -> None:
    law = CodewordLaw(privunit)
    row = np.array([[2.0, 0.0, 0.0]])
    rows_int = np.tile(privunit.bound(row), (200, 1))
    draws = privunit.draw(200, SimulationRandomness(2))
    values = privunit.apply(rows_int, draws)
    assert (law.numbers(values) == privunit.messages(rows_int, draws).numbers).all()
    ratios = np.unique(law.log_ratio(values, row, -row))
    assert np.allclose(ratios, [-2.0, 0.0, 2.0], atol=1e-3) or np.allclose(
        ratios, [-2.0, 2.0], atol=1e-3
    )
    assert law.trade_off(row, -row).epsilon(0.0) == pytest.approx(2.0, abs=1e-6)
    assert law.trade_off(row, row).epsilon(0.0) == 0.0
    above, below = (np.concatenate([np.zeros((1, 3)), each]) for each in (row, -row))
    assert law.trade_off(above, below).epsilon(0.0) == pytest.approx(2.0, abs=1e-6)


def test_a_row_that_is_no_codeword_is_refused(privunit: PrivUnit) -> None:
    with pytest.raises(ChainError, match="codewords"):
        CodewordLaw(privunit).numbers(np.zeros((1, 3)))


def test_fresh_codebooks_have_no_law_of_values() -> None:
    spec = MechanismSpec("privunit", 2.0, 0.0, 2.0, "l2", 3, CodebookOptions(4096, True))
    with pytest.raises(ChainError, match="codebook"):
        CodewordLaw(make_privunit(spec))


def test_a_scale_of_zero_is_refused() -> None:
    with pytest.raises(ChainError):
        AdditiveLaw("gaussian", 0.0)
