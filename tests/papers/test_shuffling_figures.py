"""The figures of the mathematics for shuffling (d = 363, C = 2, delta = 1e-5)."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict

import pytest

from neuroveil.privacy.amplification.blanket import blanket_delta
from neuroveil.privacy.amplification.clones import clones_epsilon
from neuroveil.privacy.amplification.tuning import choose_shuffled_codebook
from neuroveil.privacy.calibration import gaussian_sigma

DELTA = 1e-5
Outcomes = dict[tuple[int, ...], float]


class TestClones:
    """Feldman, McMillan and Talwar 2021, Theorem 3.1."""

    @pytest.mark.parametrize(
        ("n", "figures"),
        [
            (2000, (0.105, 0.317, 0.684, 1.477, 4.991)),
            (500, (0.225, 0.701, 1.894, 3.999)),
            (200, (0.374, 1.285, 2.998)),
        ],
    )
    def test_central_epsilon(self, n: int, figures: tuple[float, ...]) -> None:
        for local, figure in enumerate(figures, start=1):
            assert clones_epsilon(DELTA, float(local), n) == pytest.approx(figure, abs=6e-4)

    def test_17_rows_gain_nothing(self) -> None:
        for local in (1.0, 2.0, 5.0):
            assert clones_epsilon(DELTA, local, 17) > 0.999 * local


@pytest.mark.slow
class TestBlanketTable:
    """Epsilon_0 and squared error with the codebook chosen for the shuffled guarantee.

    The error is flat in K, so K and epsilon_0 may differ by some per cent between searches.
    """

    @pytest.mark.parametrize(
        ("n", "epsilon", "local", "error"),
        [
            (17, 0.5, 0.72, 5602), (17, 1, 1.31, 1703), (17, 2, 2.36, 534), (17, 5, 5.0, 106),
            (50, 0.5, 1.08, 2398), (50, 1, 1.82, 857), (50, 2, 3.06, 311), (50, 5, 6.09, 84),
            (200, 0.5, 1.74, 849), (200, 1, 2.61, 380), (200, 2, 4.03, 181), (200, 5, 7.36, 59),
            (2000, 0.5, 3.40, 218), (2000, 1, 4.44, 132), (2000, 2, 5.68, 91.5),
            (2000, 5, 9.33, 39.5),
        ],
    )  # fmt: skip
    def test_rows(self, n: int, epsilon: float, local: float, error: float) -> None:
        shuffled = choose_shuffled_codebook(float(epsilon), DELTA, n, 363)
        assert shuffled.holds
        assert shuffled.design.epsilon == pytest.approx(local, rel=0.05)
        assert shuffled.design.mse_over_clip_norm_squared == pytest.approx(error, rel=0.01)

    @pytest.mark.parametrize(("n", "times"), [(17, 12), (50, 23.6), (200, 53), (2000, 153)])
    def test_times_below_the_gaussian_at_epsilon_1(self, n: int, times: float) -> None:
        gaussian = gaussian_sigma(4.0, 1.0, DELTA) ** 2 * 363 / 4
        error = choose_shuffled_codebook(1.0, DELTA, n, 363).design.mse_over_clip_norm_squared
        assert gaussian / error == pytest.approx(times, rel=0.01)


def message_chances(close: frozenset[int], size: int, local: float) -> list[float]:
    top = len(close)
    p = 1 / (1 + math.exp(-local) * (size - top) / top)
    return [p / top if j in close else (1 - p) / (size - top) for j in range(size)]


def shuffled_outcomes(rows: list[frozenset[int]], size: int, local: float) -> Outcomes:
    """Chance of every count vector of the shuffled messages."""
    outcomes: Outcomes = {(0,) * size: 1.0}
    for close in rows:
        chances = message_chances(close, size, local)
        new: Outcomes = defaultdict(float)
        for counts, chance in outcomes.items():
            for j, each in enumerate(chances):
                new[(*counts[:j], counts[j] + 1, *counts[j + 1 :])] += chance * each
        outcomes = new
    return outcomes


def worst_delta(size: int, top: int, n: int, local: float, epsilons: list[float]) -> list[float]:
    """Largest hockey-stick divergence over both rows and all other rows, exactly."""
    sets = [frozenset(each) for each in itertools.combinations(range(size), top)]
    worst = [0.0] * len(epsilons)
    first = sets[0]
    # Codewords may be renamed, so one of the two rows can be held fixed.
    for second in sets[1:]:
        for others in itertools.combinations_with_replacement(sets, n - 1):
            one = shuffled_outcomes([first, *others], size, local)
            other = shuffled_outcomes([second, *others], size, local)
            for index, epsilon in enumerate(epsilons):
                grown = math.exp(epsilon)
                delta = math.fsum(max(0.0, one[key] - grown * other[key]) for key in one)
                worst[index] = max(worst[index], delta)
    return worst


class TestBruteForce:
    """Balle, Bell, Gascón and Nissim 2019, Lemma 5.3, against every possible batch."""

    @pytest.mark.slow
    def test_six_codewords_one_close_four_rows(self) -> None:
        epsilons = [0.3, 0.7, 1.2]
        exact = worst_delta(6, 1, 4, 1.5, epsilons)
        bounds = [blanket_delta(epsilon, 1.5, 1 / 6, 4) for epsilon in epsilons]
        assert [round(each, 5) for each in exact] == [0.20668, 0.09221, 0.01294]
        assert [round(each, 5) for each in bounds] == [0.20668, 0.09484, 0.01353]

    @pytest.mark.parametrize(
        ("size", "top", "n", "local"),
        [(2, 1, 3, 1.0), (4, 2, 2, 2.0), (5, 2, 2, 0.7), (4, 1, 3, 3.0), (6, 3, 2, 1.0)],
    )
    def test_no_batch_and_no_overlap_passes_the_bound(
        self, size: int, top: int, n: int, local: float
    ) -> None:
        epsilons = [0.1 * local, 0.4 * local, 0.8 * local]
        for epsilon, delta in zip(
            epsilons, worst_delta(size, top, n, local, epsilons), strict=True
        ):
            assert delta <= blanket_delta(epsilon, local, top / size, n) * (1 + 1e-9)

    def test_outcomes_are_probabilities(self) -> None:
        rows = [frozenset({0}), frozenset({1}), frozenset({0})]
        outcomes = shuffled_outcomes(rows, 3, 1.0)
        assert math.fsum(outcomes.values()) == pytest.approx(1.0)
        assert Counter(map(sum, outcomes)) == {3: 10}
