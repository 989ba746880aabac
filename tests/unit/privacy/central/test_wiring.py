"""Rows or moments: the two choices together."""

from __future__ import annotations

import numpy as np
import pytest

from neuroveil.privacy.central.wiring import choose_central
from neuroveil.privacy.choice import RowWishes, choose_rows
from neuroveil.types.catalogue import FEATURE_NAMES, columns_for
from neuroveil.types.scaling import Scaling

COLUMNS = columns_for(("Fp1", "Cz", "O2"), FEATURE_NAMES)
D = len(COLUMNS)
PLACES = np.arange(D)


def scaling(*, with_covariance: bool) -> Scaling:
    covariance = 0.8 ** np.abs(PLACES[:, None] - PLACES) if with_covariance else None
    return Scaling(
        COLUMNS, np.zeros(D), np.ones(D), "public", "made-up", (False,) * D, covariance
    )  # fmt: skip


def test_many_patients_and_a_small_epsilon_make_it_moments() -> None:
    choice = choose_central(RowWishes("auto", 1.0, 1e-8, 2.0), scaling(with_covariance=True), 10000)
    assert choice.mechanism == "mean_covariance"
    assert choice.delta == 1e-8
    assert choice.projection is None
    assert choice.sentence.startswith("At epsilon = 1 with 10,000 patients")
    assert "each patient's own" in choice.sentence


@pytest.mark.slow
def test_few_patients_and_a_large_epsilon_make_it_the_rows_that_would_be_chosen() -> None:
    wishes = RowWishes("auto", 20.0, 1e-5, 2.0)
    choice = choose_central(wishes, scaling(with_covariance=True), 5)
    rows = choose_rows(wishes, scaling(with_covariance=True), 5)
    assert (choice.mechanism, choice.projection) == (rows.mechanism, rows.projection)
    assert "the mean and covariance of all patients would leave" in choice.sentence


@pytest.mark.parametrize("delta", [0.0, 1e-8])
def test_without_a_comparison_rows_are_released(delta: float) -> None:
    """Without delta there are no moments, without a public covariance no forecast of them."""
    choice = choose_central(
        RowWishes("auto", 1.0, delta, 2.0), scaling(with_covariance=not delta), 10000
    )
    assert choice.mechanism in {"privunit", "gaussian", "laplace"}


@pytest.mark.parametrize("with_covariance", [True, False])
def test_a_study_may_set_it(with_covariance: bool) -> None:
    wishes = RowWishes("mean_covariance", 1.0, 1e-8, 2.0)
    choice = choose_central(wishes, scaling(with_covariance=with_covariance), 10000)
    assert choice.mechanism == "mean_covariance"
    assert choice.sentence.lower().startswith("set by the study")
    assert ("should leave covariances that correlate" in choice.sentence) == with_covariance
