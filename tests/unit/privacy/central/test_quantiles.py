"""Quantiles: sensitivity of ranks, budget of many, accuracy, refusals."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuroveil.errors import ChainError
from neuroveil.privacy.accounting import epsilon_by_zcdp
from neuroveil.privacy.central.exponential import UNIFORM_BITS, choose, step_weights
from neuroveil.privacy.central.noisy_quantiles import QuantileDraws
from neuroveil.privacy.central.quantile_budget import QuantileBudget
from neuroveil.privacy.central.quantile_spec import QUARTILES, QuantileSpec
from neuroveil.privacy.central.quantiles import DpQuantiles
from neuroveil.privacy.randomness import SimulationRandomness
from neuroveil.privacy.sampling import SystemRandomness
from neuroveil.types.recording import FloatArray

SPEC = QuantileSpec(1.0, 1e-5, 363, 2000)
VALUES = st.lists(st.floats(-50, 50), min_size=1, max_size=12)


class TestRanks:
    @given(VALUES, st.data(), st.sampled_from([0.1, 0.25, 0.5, 0.75, 0.9]))
    def test_one_replaced_patient_changes_each_count_by_at_most_1(
        self, values: list[float], data: st.DataObject, probability: float
    ) -> None:
        mechanism = DpQuantiles(QuantileSpec(1.0, 0.0, 1, len(values), points=33))
        other = list(values)
        other[data.draw(st.integers(0, len(values) - 1))] = data.draw(st.floats(-50, 50))
        first, second = (
            mechanism.misses(np.array(each), mechanism.spec.candidates, probability)
            for each in (values, other)
        )
        assert np.abs(first - second).max() <= 1
        assert first.min() >= 0
        assert first.max() <= len(values)

    @given(VALUES, st.sampled_from([0.25, 0.5, 0.75]))
    def test_only_quantiles_miss_by_nothing(self, values: list[float], probability: float) -> None:
        mechanism = DpQuantiles(QuantileSpec(1.0, 0.0, 1, len(values)))
        column = np.array(values)
        missed = mechanism.misses(column, np.sort(column), probability)
        low, high = (
            np.quantile(column, probability, method=method) for method in ("inverted_cdf", "higher")
        )
        for value, misses in zip(np.sort(column), missed, strict=True):
            if misses == 0:
                assert low <= value <= high
        assert missed.min() == 0


class TestAnExactAudit:
    """The distribution of the whole mechanism on small tables, without sampling."""

    SPEC = QuantileSpec(1.0, 0.0, 1, 3, absolute_deviation=False, points=5)

    def test_no_two_neighbours_differ_by_more_than_epsilon(self) -> None:
        mechanism = DpQuantiles(self.SPEC)
        weights = step_weights(mechanism.budget.epsilon_each, 3)
        levels = (-4.0, -0.3, 0.0, 0.3, 4.0)
        chances = {
            table: self.chances(mechanism, table, weights)
            for table in itertools.product(levels, repeat=3)
        }
        worst = 0.0
        for table, own in chances.items():
            for patient, value in itertools.product(range(3), levels):
                other = (*table[:patient], value, *table[patient + 1 :])
                ratios = np.array(own) / np.array(chances[other])
                worst = max(worst, float(np.log(ratios).max()))
        assert worst <= 1.0 + 1e-12
        assert worst > 0.5  # an audit that could not see anything would prove nothing

    @staticmethod
    def chances(
        mechanism: DpQuantiles, table: tuple[float, ...], weights: list[int]
    ) -> list[float]:
        misses = mechanism.misses(np.array(table), mechanism.spec.candidates, 0.5)
        share = [weights[step] for step in misses.tolist()]
        return [each / sum(share) for each in share]


class TestBudget:
    def test_a_pure_budget_is_divided(self) -> None:
        budget = QuantileBudget(QuantileSpec(1.0, 0.0, 10, 50))
        assert budget.variant == "pure_dp"
        assert budget.epsilon_each == pytest.approx(1 / 20, rel=1e-15)
        assert budget.epsilon_pure <= 1.0

    def test_few_quantiles_stay_pure_even_with_delta(self) -> None:
        budget = QuantileBudget(QuantileSpec(1.0, 1e-5, 1, 50))
        assert budget.variant == "pure_dp"
        assert budget.epsilon_each == 0.5

    @pytest.mark.parametrize("epsilon", [1e-6, 0.5, 1.0, 20.0, 1000.0])
    @pytest.mark.parametrize("delta", [1e-17, 1e-5, 0.1])
    def test_the_composition_keeps_what_was_promised(self, epsilon: float, delta: float) -> None:
        budget = QuantileBudget(QuantileSpec(epsilon, delta, 363, 2000))
        if budget.variant == "pure_dp":
            assert budget.epsilon_pure <= epsilon * (1 + 1e-12)
        else:
            assert epsilon_by_zcdp(budget.rho, delta) <= epsilon
            assert epsilon_by_zcdp(budget.rho * 1.001, delta) > epsilon * (1 - 1e-6)

    @pytest.mark.parametrize("epsilon", [0.01, 0.5, 2.0])
    def test_bounded_range_costs_an_eighth_of_the_square(self, epsilon: float) -> None:
        """Renyi divergences of the worst pair of two-valued losses, orders 1.01 to 100."""
        for share in np.linspace(0.01, 0.99, 49):
            low = -math.log(share * math.exp(epsilon) + 1 - share)
            for order in (1.01, 2.0, 10.0, 100.0):
                with mpmath.workdps(30):
                    moment = share * mpmath.exp(order * (low + epsilon)) + (1 - share) * mpmath.exp(
                        order * low
                    )
                    divergence = mpmath.log(moment) / (order - 1)
                assert divergence <= order * epsilon**2 / 8 * (1 + 1e-9) + 1e-15

    def test_ranks_of_decimals_are_exact(self) -> None:
        """0.1 as a double times 10 would be above 1; as it was written it is 1."""
        budget = QuantileBudget(QuantileSpec(1.0, 0.0, 1, 10))
        assert budget.rank_target(0.1) == (1, 1)
        assert budget.rank_target(0.25) == (3, 2)


def release(spec: QuantileSpec, rows: FloatArray, seed: int) -> tuple[FloatArray, FloatArray]:
    mechanism = DpQuantiles(spec)
    return mechanism.apply(rows, mechanism.draw(SimulationRandomness(seed))).centre_and_spread()


@pytest.mark.parametrize("deviation", [True, False])
def test_with_much_budget_it_finds_median_and_range(deviation: bool) -> None:
    """Fixed seeds."""
    rows = np.random.default_rng(1).normal(2.0, 1.5, (4000, 3))
    chosen = (0.5,) if deviation else QUARTILES
    spec = QuantileSpec(100.0, 0.0, 3, 4000, chosen, deviation)
    centre, spread = release(spec, rows, 2)
    assert centre == pytest.approx(np.median(rows, axis=0), abs=0.03)
    quarters = np.quantile(rows, [0.25, 0.75], axis=0)
    assert spread == pytest.approx(quarters[1] - quarters[0], rel=0.05)


def test_quantiles_come_in_order_and_spreads_are_positive() -> None:
    """At next to no budget the draws are nearly those of the public grid."""
    rows = np.zeros((5, 40))
    mechanism = DpQuantiles(QuantileSpec(0.01, 0.0, 40, 5, QUARTILES, False))
    found = mechanism.apply(rows, mechanism.draw(SystemRandomness()))
    assert (np.diff(found.values, axis=1) >= 0).all()
    assert (found.centre_and_spread()[1] > 0).all()


def test_draws_can_be_replayed() -> None:
    rows = np.random.default_rng(3).normal(size=(20, 4))
    mechanism = DpQuantiles(QuantileSpec(1.0, 1e-5, 4, 20))
    draws = mechanism.draw(SystemRandomness())
    first, again = mechanism.apply(rows, draws), mechanism.apply(rows, draws)
    assert (first.values == again.values).all()
    assert (mechanism.apply(rows[::-1], draws).values == first.values).all()
    uniform = draws.uniforms[2][0]
    misses = mechanism.misses(rows[:, 2], mechanism.spec.candidates, 0.5)
    weights = step_weights(mechanism.budget.epsilon_each, 20)
    chosen = mechanism.spec.candidates[choose(misses.tolist(), weights, uniform)]
    assert first.values[2, 0] == chosen


def test_drawing_does_not_look_at_the_rows() -> None:
    mechanism = DpQuantiles(QuantileSpec(1.0, 1e-5, 4, 20))
    first = mechanism.draw(SimulationRandomness(1)).uniforms
    assert mechanism.draw(SimulationRandomness(1)).uniforms == first
    assert all(0 <= each < 2**UNIFORM_BITS for column in first for each in column)


def test_the_grid_is_dense_in_the_middle_and_reaches_far() -> None:
    grid = SPEC.candidates
    assert (np.diff(grid) > 0).all()
    assert grid == pytest.approx(-grid[::-1])
    assert grid[len(grid) // 2 + 1] < 0.003
    assert grid[-1] > 20
    assert (SPEC.distances > 0).all()


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": 0.0}, {"epsilon": math.nan}, {"delta": 1.0}, {"delta": -1e-5},
        {"dimension": 0}, {"n_patients": 0}, {"probabilities": ()}, {"probabilities": (0.0, 0.5)},
        {"probabilities": (0.5, 1.0)}, {"probabilities": (0.5, 0.25)},
        {"probabilities": (0.5, 0.5)}, {"probabilities": (0.25,)}, {"points": 1},
        {"points": 2.0}, {"points": 10**6}, {"scale": 0.0}, {"scale": math.nan},
        {"probabilities": (math.nan, 0.5)},
    ],
    ids=str,
)  # fmt: skip
def test_bad_parameters_are_refused(change: dict[str, object]) -> None:
    given_values = {"epsilon": 1.0, "delta": 1e-5, "dimension": 3, "n_patients": 9} | change
    with pytest.raises(ChainError):
        QuantileSpec(**given_values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "rows",
    [
        np.zeros((4, 2)), np.zeros((5, 3)), np.array([[math.nan, 0.0]] * 5), np.zeros(5),
        np.array([[math.inf, 0.0]] * 5),
    ],
    ids=["short", "wide", "NaN", "one axis", "infinite"],
)  # fmt: skip
def test_bad_rows_are_refused(rows: FloatArray) -> None:
    mechanism = DpQuantiles(QuantileSpec(1.0, 1e-5, 2, 5))
    with pytest.raises(ChainError):
        mechanism.apply(rows, mechanism.draw(SystemRandomness()))


def test_draws_of_another_mechanism_are_refused() -> None:
    mechanism = DpQuantiles(QuantileSpec(1.0, 1e-5, 2, 5))
    for uniforms in (((1, 2),), ((1,), (2,)), ((1, 2), (3,))):
        with pytest.raises(ChainError):
            mechanism.apply(np.zeros((5, 2)), QuantileDraws(uniforms, SystemRandomness().facts))


def test_a_spread_needs_quartiles_or_deviations() -> None:
    mechanism = DpQuantiles(QuantileSpec(1.0, 1e-5, 2, 5, (0.5,), False))
    found = mechanism.apply(np.zeros((5, 2)), mechanism.draw(SystemRandomness()))
    with pytest.raises(ChainError):
        found.centre_and_spread()
