"""The figures of the mathematics for releases by a trusted curator (d = 363, C = 2).

Rows have the spectrum j^-1.5 and are all clipped. The figures were measured with the privacy losses
of mean and second moment added up; ours count that no patient moves both as far (a tenth less
loss), so that they may be a little better, and never worse.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from neuroveil.privacy.central.basis import make_basis
from neuroveil.privacy.central.candidates import Candidate
from neuroveil.privacy.central.choice import choose_release
from neuroveil.privacy.central.covariance import CovarianceEstimate, estimate_covariance
from neuroveil.privacy.central.forecast import predict_moments
from neuroveil.privacy.central.forms import Setting, forecast
from neuroveil.privacy.central.mean_covariance import MeanCovariance
from neuroveil.privacy.central.moment_spec import MomentSpec
from neuroveil.privacy.central.pca import DpPca
from neuroveil.privacy.central.quantile_spec import QuantileSpec
from neuroveil.privacy.central.quantiles import DpQuantiles
from neuroveil.privacy.central.question import ReleaseQuestion
from neuroveil.privacy.central.rank import best_rank
from neuroveil.privacy.central.synthetic import synthetic_table
from neuroveil.privacy.codebook.design import choose_codebook
from neuroveil.privacy.mechanisms.contract import CodebookOptions
from neuroveil.privacy.mechanisms.privunit import make_privunit
from neuroveil.privacy.randomness import SimulationRandomness
from neuroveil.simulate.rows import spectrum_basis, spectrum_rows
from neuroveil.types.recording import FloatArray

D, C, DELTA = 363, 2.0, 1e-5
SEEDS = range(4)
SPECTRUM, _ = spectrum_basis(D, 1.5, 0)
ABOVE = np.triu_indices(D, 1)


def correlation(first: FloatArray, second: FloatArray) -> float:
    """Of covariance entries, each once; 0 where nothing was left to correlate."""
    a, b = first[ABOVE], second[ABOVE]
    return float(np.corrcoef(a, b)[0, 1]) if a.std() > 0 else 0.0


def estimate(spec: MomentSpec, seed: int) -> tuple[FloatArray, CovarianceEstimate]:
    """One cohort's clipped rows and what a release leaves of their covariance."""
    mechanism = MeanCovariance(spec)
    rows_int = mechanism.bound(spectrum_rows(spec.n_patients, D, 1.5, seed))
    noisy = mechanism.apply(rows_int, mechanism.draw(SimulationRandomness(seed)))
    return rows_int * 2.0**mechanism.calibration.grid_log2, estimate_covariance(noisy)


@pytest.mark.slow
class TestCovariance:
    """Fixed seeds, mean of four cohorts; tolerance from the two runs that the figures are from."""

    @staticmethod
    def measured(epsilon: float, n: int) -> float:
        found = []
        for seed in SEEDS:
            rows, released = estimate(MomentSpec(epsilon, DELTA, C, D, n), seed)
            found.append(correlation(released.covariance, np.cov(rows.T, bias=True)))
        return float(np.mean(found))

    @pytest.mark.parametrize(
        ("epsilon", "one_run", "other_run"),
        [(0.5, 0.79, 0.82), (1.0, 0.88, 0.92), (2.0, 0.96, 0.97), (5.0, 0.98, 0.99)],
    )
    def test_with_2000_patients(self, epsilon: float, one_run: float, other_run: float) -> None:
        found = self.measured(epsilon, 2000)
        assert one_run - 0.005 <= found <= other_run + 0.04
        spec = MomentSpec(epsilon, DELTA, C, D, 2000)
        predicted = predict_moments(MeanCovariance(spec).calibration, SPECTRUM)
        assert predicted.covariance_correlation == pytest.approx(found, abs=0.02)

    @pytest.mark.parametrize(
        ("epsilon", "low", "high"),
        [(0.5, -0.05, 0.05), (1.0, -0.05, 0.1), (2.0, 0.27, 0.6), (5.0, 0.76, 0.86)],
    )
    def test_with_200_patients(self, epsilon: float, low: float, high: float) -> None:
        """Figures .00/.00/.27/.76; at 2, cohorts give about .5 or about 0."""
        assert low <= self.measured(epsilon, 200) <= high

    def test_a_synthetic_table_keeps_them(self) -> None:
        rows, released = estimate(MomentSpec(1.0, DELTA, C, D, 2000), 0)
        table = synthetic_table(released, 2000, SimulationRandomness(9)).values
        truth = np.cov(rows.T, bias=True)
        kept = correlation(np.cov(table.T), truth)
        assert kept > 0.98 * correlation(released.covariance, truth)


@pytest.mark.slow
@pytest.mark.parametrize(("total", "figure"), [(5.0, 0.40), (10.0, 0.59), (20.0, 0.72)])
def test_private_pca_in_front_of_privunit(total: float, figure: float) -> None:
    """Fixed seeds, two cohorts of 2000; epsilon = 1 of the total for the basis."""
    n, budget = 2000, 1 << 16
    plan = DpPca("privunit", 1.0, DELTA, total - 1.0, 0.0, C, (2000, D))
    found = []

    def noise_variance(rank: int) -> float:
        design = choose_codebook(plan.epsilon_rows, rank, budget)
        return design.mse_over_clip_norm_squared * C**2 / rank

    for seed in range(2):
        rows, released = estimate(plan.moment_spec, seed)
        basis = make_basis(released)
        basis = basis.first(best_rank(basis.energies, noise_variance))
        source = SimulationRandomness(100 + seed)
        mechanism = make_privunit(
            replace(plan.row_spec(basis.rank), codebook=CodebookOptions(budget))
        ).renewed(source)
        values = mechanism.apply(mechanism.bound(basis.project(rows)), mechanism.draw(n, source))
        restored = basis.restore(values, noise_variance(basis.rank))
        found.append(np.corrcoef(restored.ravel(), rows.ravel())[0, 1])
    assert figure - 0.01 <= np.mean(found) <= figure + 0.08


@pytest.mark.slow
@pytest.mark.parametrize(("n", "figure"), [(17, 3.4), (2000, 0.21)])
def test_quantiles_of_363_columns_at_epsilon_1(n: int, figure: float) -> None:
    """Fixed seeds. Public constants that are off by 0.7 spreads and 1.5 times too narrow.

    The figures were measured once, on an even grid; a grid that is dense around the public
    constants does better.
    """
    rows = np.random.default_rng(1).normal(0.7, 1.5, (n, D))
    mechanism = DpQuantiles(QuantileSpec(1.0, DELTA, D, n))
    released = mechanism.apply(rows, mechanism.draw(SimulationRandomness(2)))
    centre, spread = released.centre_and_spread()
    quarters = np.quantile(rows, [0.25, 0.5, 0.75], axis=0)
    width = quarters[2] - quarters[0]
    assert np.mean(np.abs(centre - quarters[1]) / width) <= figure
    if n == 2000:
        assert np.median(np.abs(spread / width - 1)) < 0.15


def clipped(rows: FloatArray) -> FloatArray:
    """Shorten rows to the clipping norm."""
    return rows * np.minimum(1.0, C / np.linalg.norm(rows, axis=1, keepdims=True))


@pytest.fixture(scope="module")
def many_rows() -> tuple[FloatArray, FloatArray]:
    """Forty thousand rows with the spectrum, and the same rows clipped."""
    rows = np.random.default_rng(0).normal(size=(40_000, D)) * np.sqrt(SPECTRUM)
    return rows, clipped(rows)


class TestForecastsOfRows:
    """The table of row releases on the same spectrum (n = 2000), from closed forms alone."""

    @staticmethod
    def predicted(form: str, epsilon: float) -> float:
        setting = Setting(SPECTRUM, 2000, epsilon, DELTA, C)
        candidate = Candidate("privunit", form)  # type: ignore[arg-type]
        return forecast(candidate, setting).patient_correlation

    @pytest.mark.parametrize(
        ("epsilon", "figure"),
        [(0.5, 0.066), (1.0, 0.134), (2.0, 0.256), (5.0, 0.488), (10.0, 0.644), (20.0, 0.749)],
    )
    def test_privunit_and_public_wiener(self, epsilon: float, figure: float) -> None:
        assert self.predicted("shrunk", epsilon) == pytest.approx(figure, abs=0.02)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("epsilon", "figure"),
        [(0.5, 0.071), (1.0, 0.140), (2.0, 0.266), (5.0, 0.535), (10.0, 0.706), (20.0, 0.815)],
    )
    def test_public_pca_privunit_and_wiener(
        self, many_rows: tuple[FloatArray, FloatArray], epsilon: float, figure: float
    ) -> None:
        """Fixed seed, 40,000 rows (sampling error about .003), noise with the mechanism's error.

        The published figures are of rows that are clipped before they are projected. Ours are
        projected first, which leaves more; the forecast is of that order.
        """
        setting = Setting(SPECTRUM, 2000, epsilon, DELTA, C)
        found = forecast(Candidate("privunit", "public_basis"), setting)
        noise = setting.row_utility("privunit", found.rank).rmse ** 2
        rows, bounded = many_rows
        rng = np.random.default_rng(1)
        correlation = []
        for kept in (bounded[:, : found.rank], clipped(rows[:, : found.rank])):
            released = kept + rng.normal(size=kept.shape) * np.sqrt(noise)
            power = (kept**2).mean(axis=0)
            restored = np.zeros_like(rows)
            restored[:, : found.rank] = released * power / (power + noise)
            correlation.append(np.corrcoef(restored.ravel(), bounded.ravel())[0, 1])
        assert correlation[0] == pytest.approx(figure, abs=0.02)
        assert correlation[1] > correlation[0]
        assert found.patient_correlation == pytest.approx(correlation[1], rel=0.05, abs=0.008)

    @pytest.mark.slow
    @pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 5.0])
    def test_from_2000_patients_on_the_aggregate_beats_every_row_release(
        self, epsilon: float
    ) -> None:
        choice = choose_release(ReleaseQuestion(SPECTRUM, 2000, epsilon, DELTA, C, "central"))
        assert choice.best.candidate.form == "aggregate"
        rows = [each.patient_correlation for each in choice.ranking[1:]]
        assert max(rows) < choice.best.score("either")
