"""Tier 2: scale and law of released noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from neuroveil.audit.mechanism.fit import noise_fit, normal_fit
from neuroveil.audit.mechanism.laws import AdditiveLaw
from neuroveil.audit.mechanism.noise import audit_noise
from neuroveil.audit.mechanism.noise_scale import (
    RowBound,
    detectable_scale_ratio,
    known_rows_scale,
    unknown_rows_scale,
)
from neuroveil.audit.mechanism.promises import supported_epsilon
from neuroveil.audit.subject import SubjectFacts
from neuroveil.errors import ChainError
from neuroveil.privacy.calibration import gaussian_sigma
from neuroveil.types.recording import FloatArray

SIGMA = gaussian_sigma(4.0, 1.0, 1e-5)
GAUSSIAN = SubjectFacts("gaussian", 1.0, 1e-5, 5, 2.0, "l2", AdditiveLaw("gaussian", SIGMA))
FAMILIES = ("gaussian", "laplace")


def noise(family: str, generator: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    return generator.normal(size=shape) if family == "gaussian" else generator.laplace(size=shape)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n_values", [5, 200])
def test_intervals_of_the_scale_cover_as_often_as_stated(family: str, n_values: int) -> None:
    """2,000 runs, fixed seed; 95 % give or take 4 standard errors."""
    generator = np.random.default_rng(n_values)
    scales = [
        known_rows_scale(noise(family, generator, (1, n_values)), family) for _ in range(2000)
    ]
    covered = np.mean([scale.low <= 1.0 <= scale.high for scale in scales])
    assert covered == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize("family", FAMILIES)
def test_an_outsiders_interval_covers_whatever_the_rows_are(family: str) -> None:
    """Rows of the largest norm beside noise of scale 1, 1,000 runs, fixed seed."""
    generator = np.random.default_rng(7)
    rows = np.full((4, 9), 2.0 / 3)
    bound = RowBound(2.0, 6.0)
    found = [
        unknown_rows_scale(rows + noise(family, generator, (4, 9)), family, bound)
        for _ in range(1000)
    ]
    assert np.mean([scale.high >= 1.0 for scale in found]) >= 0.97
    assert np.mean([scale.low <= 1.0 for scale in found]) >= 0.97


@pytest.mark.parametrize("family", FAMILIES)
def test_noise_as_quiet_as_is_called_detectable_is_detected(family: str) -> None:
    """500 runs, fixed seed: found in 80 %, give or take 4 standard errors."""
    generator = np.random.default_rng(11)
    ratio = detectable_scale_ratio(300, family)
    found = np.mean(
        [
            known_rows_scale(ratio * noise(family, generator, (1, 300)), family).high < 1.0
            for _ in range(500)
        ]
    )
    assert found == pytest.approx(0.8, abs=0.07)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n_values", [60, 2000])
def test_a_fitting_law_is_rejected_no_more_often_than_stated(family: str, n_values: int) -> None:
    """300 runs, fixed seed: at most 5 % and 4 standard errors."""
    generator = np.random.default_rng(13)
    fits = [noise_fit(3 * noise(family, generator, (1, n_values)), family) for _ in range(300)]
    assert np.mean([fit is not None and fit.p_value < 0.05 for fit in fits]) <= 0.1


def test_other_laws_are_rejected() -> None:
    generator = np.random.default_rng(17)
    heavy = generator.standard_t(10, size=(17, 363))
    for values, family in (
        (noise("laplace", generator, (1, 1000)), "gaussian"),
        (noise("gaussian", generator, (1, 1000)), "laplace"),
        (heavy, "gaussian"),
        (generator.uniform(-1, 1, (1, 1000)), "gaussian"),
    ):
        fit = noise_fit(values, family)
        assert fit is not None
        assert fit.p_value < 1e-3


def test_too_few_or_equal_values_have_no_fit() -> None:
    assert noise_fit(np.ones((1, 10)), "gaussian") is None
    assert normal_fit(np.ones(1000)) is None


@pytest.mark.parametrize(
    ("norm", "family", "delta", "scale", "epsilon"),
    [
        ("l2", "gaussian", 1e-5, SIGMA, 1.0),
        ("l2", "gaussian", 0.0, SIGMA, math.inf),
        ("l2", "laplace", 0.0, 4.0 * math.sqrt(5), 1.0),
        ("l1", "laplace", 0.0, 4.0, 1.0),
        ("l1", "gaussian", 1e-5, SIGMA, 1.0),
    ],
)
def test_what_a_scale_supports(
    norm: str, family: str, delta: float, scale: float, epsilon: float
) -> None:
    facts = SubjectFacts("a claim", 1.0, delta, 5, 2.0, norm)
    found = supported_epsilon(facts, AdditiveLaw(family, scale))
    assert found == pytest.approx(epsilon, rel=1e-9)


def test_laplace_noise_at_a_delta_is_held_against_real_pairs() -> None:
    """MECHANISMS section 2: 4.31 at delta 1e-5 for b = 4 in 363 columns."""
    facts = SubjectFacts("a claim", 1.0, 1e-5, 363, 2.0)
    assert supported_epsilon(facts, AdditiveLaw("laplace", 4.0)) == pytest.approx(4.31, abs=0.01)


@pytest.mark.parametrize("knows_rows", [True, False])
@pytest.mark.parametrize(
    ("factor", "verdict"),
    [(1.0, "no_attack_succeeded"), (0.8, "violated"), (1.3, "no_attack_succeeded")],
)
def test_verdicts_on_scales(knows_rows: bool, factor: float, verdict: str) -> None:
    generator = np.random.default_rng(20)
    rows = np.full((400, 5), 2.0 / math.sqrt(5))
    released = rows + generator.normal(0, factor * SIGMA, rows.shape)
    result = audit_noise(GAUSSIAN, released, rows if knows_rows else None)
    assert result.verdict == verdict
    scale = result.figure("noise_scale")
    assert scale.low < factor * SIGMA < scale.high
    assert scale.theory == SIGMA
    assert scale.control_low is not None
    assert scale.control_low < SIGMA
    assert ("louder" in result.sentence) == (factor > 1)


@pytest.mark.parametrize(
    ("chance", "verdict"), [(3.2e-4, "violated"), (3.5e-4, "no_attack_succeeded")]
)
def test_a_look_has_a_third_of_a_thousandth(chance: float, verdict: str) -> None:
    """Scale and law of fresh runs and the scale of a released table: 1e-3 for all of them.

    A table as quiet as honest noise is with this chance.
    """
    square = stats.chi2.ppf(chance, 2000) / 2000
    released = np.full((400, 5), SIGMA * math.sqrt(square))
    assert audit_noise(GAUSSIAN, released).verdict == verdict


def test_a_wrong_law_of_the_right_scale_is_found() -> None:
    generator = np.random.default_rng(23)
    released = generator.laplace(0, 1.2 * SIGMA / math.sqrt(2), (400, 5))
    result = audit_noise(GAUSSIAN, released, np.zeros((400, 5)))
    assert result.verdict == "violated"
    assert "law" in result.sentence


def test_a_handful_of_cells_is_not_testable() -> None:
    released = np.random.default_rng(30).normal(0, SIGMA, (1, 5))
    assert audit_noise(GAUSSIAN, released).verdict == "not_testable"


def test_what_cannot_be_measured_is_refused() -> None:
    with pytest.raises(ChainError, match="columns"):
        audit_noise(GAUSSIAN, np.zeros((3, 4)))
    with pytest.raises(ChainError, match="finite"):
        audit_noise(GAUSSIAN, np.full((3, 5), np.nan))
    with pytest.raises(ChainError, match="additive"):
        audit_noise(SubjectFacts("no law", 1.0, 0.0, 5, 2.0), np.zeros((3, 5)))


@pytest.mark.parametrize("decimals", [0, 1, 3])
def test_rounded_noise_still_follows_its_law(decimals: int) -> None:
    """2,000 cells, rounded after the noise was added. 20 runs, fixed seed."""
    generator = np.random.default_rng(11)
    zeros = np.zeros((400, 5))
    for _ in range(20):
        released = np.round(generator.normal(0.0, SIGMA, zeros.shape), decimals)
        assert audit_noise(GAUSSIAN, released, zeros).verdict == "no_attack_succeeded"


def test_rounded_noise_of_another_law_is_found() -> None:
    generator = np.random.default_rng(12)
    released = np.round(generator.laplace(0.0, SIGMA / math.sqrt(2), (400, 5)), 1)
    assert audit_noise(GAUSSIAN, released, np.zeros((400, 5))).verdict == "violated"
