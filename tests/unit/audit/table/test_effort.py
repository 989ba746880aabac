"""How many draws are affordable, and that attacks are repeatable and independent."""

from __future__ import annotations

import numpy as np
import pytest

from neuroveil.audit.table.effort import FULL, QUICK, Effort
from neuroveil.audit.table.frame import Claim, check_order
from neuroveil.errors import RecordingError

EFFORT = Effort("test", n_trials=100, n_links=100, n_bootstraps=10, cells=1000)


@pytest.mark.parametrize(
    ("wanted", "cells", "draws"),
    [(100, 1, 100), (100, 20, 50), (100, 500, 20), (8, 500, 8), (1, 1, 2)],
)
def test_draws(wanted: int, cells: int, draws: int) -> None:
    assert EFFORT.draws(wanted, cells) == draws


def test_full_is_more_of_everything() -> None:
    for name in ("n_trials", "n_links", "n_bootstraps", "cells"):
        assert getattr(FULL, name) > getattr(QUICK, name)


def test_attacks_have_randomness_of_their_own() -> None:
    def noise(attack: str) -> list[int]:
        return [EFFORT.source(attack).below(1 << 60) for _ in range(2)]

    assert noise("membership") == noise("membership")
    assert noise("membership") != noise("linkage")
    first, second = (EFFORT.generator(name).random() for name in ("membership", "linkage"))
    assert first != second


def test_largest_area_that_a_claim_allows() -> None:
    assert Claim(1.0, 0.0, "local").largest_auc == pytest.approx(np.e / (1 + np.e))
    assert Claim(1e-9, 0.0, "local").largest_auc == pytest.approx(0.5)
    # Either row gives itself away in half of all releases: guessing is left in a quarter.
    assert Claim(1e-9, 0.5, "local").largest_auc == pytest.approx(0.875)
    assert Claim(1e6, 0.0, "local").largest_auc == pytest.approx(1.0)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.2), (1.0, 1e-5), (3.0, 0.01), (0.1, 0.9)])
def test_the_largest_area_is_that_under_the_region_of_the_claim(epsilon, delta):
    """By integration over the best true positive rate at every false positive rate."""
    false = np.linspace(0.0, 1.0, 200_001)
    bounds = [delta + np.exp(epsilon) * false, 1 - np.exp(-epsilon) * (1 - delta - false)]
    best = np.minimum(1.0, np.minimum(*bounds))
    area = float((best[1:] + best[:-1]) @ np.diff(false)) / 2
    assert Claim(epsilon, delta, "local").largest_auc == pytest.approx(area, abs=1e-6)


def test_an_order_names_every_patient_once() -> None:
    np.testing.assert_array_equal(check_order([2, 0, 1], 3), [2, 0, 1])
    for wrong in ([0, 1], [0, 0, 1], [-1, 0, 1]):
        with pytest.raises(RecordingError, match="each of 3 patients once"):
            check_order(wrong, 3)
