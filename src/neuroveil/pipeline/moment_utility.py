"""Measure what a release of mean and covariance leaves, over simulated draws. Internal."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from neuroveil.errors import ChainError
from neuroveil.evaluate.intervals import estimate
from neuroveil.privacy.central.covariance import CovarianceEstimate, estimate_covariance
from neuroveil.privacy.central.plan import MomentPlan
from neuroveil.privacy.central.synthetic import synthetic_table
from neuroveil.privacy.randomness import SimulationRandomness
from neuroveil.types.moment_utility import MomentUtility
from neuroveil.types.recording import FloatArray
from neuroveil.types.utility import Estimate

_FEWEST_DRAWS = 20
_ROUNDING = 1e-6
_FIGURES = (
    "covariance_correlation", "covariance_correlation_permuted", "covariance_rmse", "mean_rmse",
    "marginal_distance", "marginal_distance_without_noise", "n_directions",
)  # fmt: skip


def measure_moments(
    scaled: FloatArray,
    plan: MomentPlan,
    n_draws: int,
    seed: int,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> MomentUtility:
    """Compare simulated releases with the moments of the clipped rows.

    Parameters
    ----------
    scaled : ndarray of float64, shape (n_patients, n_features)
        Scaled rows (no unit). Private.
    plan : MomentPlan
        The release.
    n_draws : int
        Draws of noise, at least 20; none of them is the released one.
    seed : int
        Seed of the simulated noise.
    progress : callable
        Called with (done, total).

    Returns
    -------
    MomentUtility
        Means with 95 % intervals.

    Raises
    ------
    ChainError
        If there are too few draws, or the rows do not fit.
    """
    if n_draws < _FEWEST_DRAWS:
        raise ChainError(
            "n_draws", f"at least {_FEWEST_DRAWS}", f"{n_draws}", "Ask for more draws.",
        )  # fmt: skip
    mechanism, source = plan.mechanism, SimulationRandomness(seed)
    rows_int = mechanism.bound(scaled)
    truth = _Truth(np.ldexp(rows_int.astype(np.float64), mechanism.calibration.grid_log2))
    generator = np.random.default_rng(seed)
    found = []
    for done in range(1, n_draws + 1):
        released = estimate_covariance(mechanism.apply(rows_int, mechanism.draw(source)))
        found.append(truth.figures(released, source, generator))
        progress(done, n_draws)
    figures = {
        name: estimate(np.array([draw[name] for draw in found], dtype=np.float64))
        for name in _FIGURES
    }
    lengths = np.sqrt(np.square(scaled).sum(axis=1))
    return MomentUtility(
        n_patients=scaled.shape[0],
        n_features=scaled.shape[1],
        n_draws=n_draws,
        seed=seed,
        covariance_correlation=figures["covariance_correlation"],
        covariance_correlation_permuted=figures["covariance_correlation_permuted"],
        **{name: _defined(figures[name]) for name in _FIGURES[2:]},
        zeros_covariance_rmse=_rms(truth.entries(truth.covariance)),
        zeros_mean_rmse=_rms(truth.mean),
        clipped_fraction=float(np.mean(lengths > plan.spec.clip_norm * (1 + _ROUNDING))),
    )


class _Truth:
    """Moments and distributions of the clipped rows themselves.

    Parameters
    ----------
    rows : ndarray of float64, shape (n_patients, n_features)
        Clipped rows (no unit). Private.
    """

    def __init__(self, rows: FloatArray) -> None:
        self.rows = np.sort(rows, axis=0)
        self.mean = rows.mean(axis=0)
        self.covariance = rows.T @ rows / len(rows) - np.outer(self.mean, self.mean)
        values, vectors = np.linalg.eigh(self.covariance)
        self.without_noise = CovarianceEstimate(
            self.mean, np.maximum(values, 0.0), vectors, values.size
        )
        self._upper = np.triu_indices(self.mean.size)

    def entries(self, matrix: FloatArray) -> FloatArray:
        """Entries of a symmetric matrix, each once."""
        chosen: FloatArray = matrix[self._upper]
        return chosen

    def figures(
        self,
        released: CovarianceEstimate,
        source: SimulationRandomness,
        generator: np.random.Generator,
    ) -> dict[str, float]:
        """Compare one draw; NaN for what is not defined."""
        covariance, true = self.entries(released.covariance), self.entries(self.covariance)
        order = generator.permutation(self.mean.size)
        exchanged = self.entries(self.covariance[np.ix_(order, order)])
        n = len(self.rows)
        return {
            "covariance_correlation": _correlation(covariance, true),
            "covariance_correlation_permuted": _correlation(covariance, exchanged),
            "covariance_rmse": _rms(covariance - true),
            "mean_rmse": _rms(released.mean - self.mean),
            "marginal_distance": self.distance(synthetic_table(released, n, source).values),
            "marginal_distance_without_noise": self.distance(
                synthetic_table(self.without_noise, n, source).values
            ),
            "n_directions": float(released.n_directions),
        }

    def distance(self, synthetic: FloatArray) -> float:
        """Kolmogorov and Smirnov's distance, averaged over columns."""
        n, found = len(self.rows), []
        for true, made in zip(self.rows.T, np.sort(synthetic, axis=0).T, strict=True):
            at = np.concatenate([true, made])
            shares = [np.searchsorted(each, at, side="right") / n for each in (true, made)]
            found.append(float(np.abs(shares[0] - shares[1]).max()))
        return float(np.mean(found))


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def _correlation(one: FloatArray, other: FloatArray) -> float:
    if one.size < 2 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return float("nan")
    return float(np.corrcoef(one, other)[0, 1])


def _defined(found: Estimate | None) -> Estimate:
    assert found is not None  # an error or a distance is defined for every draw
    return found
