"""What public data say about rows before any patient is looked at.

A public reference carries the covariance of scaled rows. Rows are taken to be normal with that
covariance around the public centre, which is 0 on the scaled axis. From this follow, without
any private number, a basis in which a row has few large coordinates, how long rows are, and
what a noisy row says about the row behind it. Where the public covariance is wrong, the
release is less useful; privacy rests on none of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from neuroveil.errors import ChainError
from neuroveil.types.recording import FloatArray
from neuroveil.types.scaling import Scaling

_SEED = 20261129
_CELLS = 1 << 22
_FEWEST_ROWS, _MOST_ROWS = 1 << 12, 1 << 15


@dataclass(frozen=True, eq=False)
class Moments:
    """Second moments of public rows, coordinate by coordinate of the public basis.

    ``y`` stands for the m coordinates after bounding, ``x`` for the row before, and ``t`` for
    the row as it would be if all of it were bounded, both in the public basis.

    Parameters
    ----------
    bounded : ndarray of float64, shape (m,)
        E[y_i^2] (no unit).
    with_row : ndarray of float64, shape (m,)
        E[y_i x_i] (no unit).
    with_bounded_row : ndarray of float64, shape (m,)
        E[y_i t_i] (no unit).
    bounded_row : float
        E[|t|^2] (no unit).
    """

    bounded: FloatArray
    with_row: FloatArray
    with_bounded_row: FloatArray
    bounded_row: float

    @property
    def unclipping_factor(self) -> float:
        """E[y x] / E[y^2]: what a bounded row is worth on average, at least 1 (no unit)."""
        return max(1.0, float(self.with_row.sum() / self.bounded.sum()))

    def wiener_gain(self, noise_variance: float) -> FloatArray:
        """Weights of the coordinates in the best linear estimate of a bounded row.

        Parameters
        ----------
        noise_variance : float
            Mean square error of a released coordinate, on the scaled axis (no unit).

        Returns
        -------
        ndarray of float64, shape (m,)
            Between 0 and 1 (no unit).
        """
        gain: FloatArray = self.bounded / (self.bounded + noise_variance)
        return gain

    def correlation(self, noise_variance: float) -> float:
        """Predict the correlation of estimated and bounded rows over all cells.

        Parameters
        ----------
        noise_variance : float
            Mean square error of a released coordinate, on the scaled axis (no unit).

        Returns
        -------
        float
            E[estimate t] / sqrt(E[estimate^2] E[t^2]), from 0 to 1.
        """
        gain = self.wiener_gain(noise_variance)
        power = float(gain**2 @ (self.bounded + noise_variance))
        if power == 0:
            return 0.0
        return float(gain @ self.with_bounded_row) / float(np.sqrt(power * self.bounded_row))


@dataclass(frozen=True, eq=False)
class PublicModel:
    """Rows of the public population, by the covariance of a public reference.

    Parameters
    ----------
    covariance : ndarray of float64, shape (n_features, n_features)
        Public covariance of scaled rows (no unit).

    Raises
    ------
    ChainError
        If it is not a covariance.
    """

    covariance: FloatArray

    def __post_init__(self) -> None:
        matrix = self.covariance
        square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] > 0
        if not (square and np.isfinite(matrix).all() and np.allclose(matrix, matrix.T)):
            raise ChainError(
                "reference covariance", "a symmetric matrix of finite numbers",
                f"shape {matrix.shape}", "Rebuild the reference.",
            )  # fmt: skip

    @property
    def dimension(self) -> int:
        """Number d of columns."""
        return int(self.covariance.shape[0])

    @cached_property
    def _eigen(self) -> tuple[FloatArray, FloatArray]:
        values, vectors = np.linalg.eigh(self.covariance)
        values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
        largest = np.abs(vectors).argmax(axis=0)
        signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
        return np.ascontiguousarray(values), np.ascontiguousarray(vectors * signs)

    @property
    def spectrum(self) -> FloatArray:
        """Variances along the public principal components, shape (n_features,), falling."""
        return self._eigen[0]

    def basis(self, components: int) -> FloatArray:
        """Give the public principal components with the largest variances.

        Parameters
        ----------
        components : int
            How many, from 1 to the number of columns.

        Returns
        -------
        ndarray of float64, shape (n_features, components)
            Orthonormal columns (no unit).
        """
        return np.ascontiguousarray(self._eigen[1][:, :components])

    def variance_share(self, components: int) -> float:
        """Share of the public variance that the first components carry.

        Parameters
        ----------
        components : int
            How many.

        Returns
        -------
        float
            Between 0 and 1 (no unit).
        """
        return float(self.spectrum[:components].sum() / self.spectrum.sum())

    def moments(self, components: int, clip_norm: float) -> Moments:
        """Estimate the moments of public rows that are projected and then clipped in L2.

        By averaging over a fixed set of simulated public rows: the same numbers every time.

        Parameters
        ----------
        components : int
            Number m of coordinates that are kept; all d for rows that are not projected.
        clip_norm : float
            Clipping norm C (no unit).

        Returns
        -------
        Moments
            In the public basis.
        """
        known = self._known_moments.get((components, clip_norm))
        if known is None:
            known = self._average(components, clip_norm)
            self._known_moments[components, clip_norm] = known
        return known

    @cached_property
    def _known_moments(self) -> dict[tuple[int, float], Moments]:
        """Moments that were asked for before: the same ones serve every mechanism and epsilon."""
        return {}

    def _average(self, components: int, clip_norm: float) -> Moments:
        rows, squares = self._public_rows
        kept = rows[:, :components]
        length = np.sqrt(np.square(kept).sum(axis=1))
        shrink = _shrink(length, clip_norm)
        whole = _shrink(np.sqrt(squares), clip_norm)
        power = np.square(kept)
        return Moments(
            bounded=(shrink**2) @ power / len(rows),
            with_row=shrink @ power / len(rows),
            with_bounded_row=(shrink * whole) @ power / len(rows),
            bounded_row=float((whole**2) @ squares) / len(rows),
        )

    @cached_property
    def _public_rows(self) -> tuple[FloatArray, FloatArray]:
        n_rows = min(max(_CELLS // self.dimension, _FEWEST_ROWS), _MOST_ROWS)
        generator = np.random.default_rng(_SEED)
        rows = generator.standard_normal((n_rows, self.dimension)) * np.sqrt(self.spectrum)
        return rows, np.square(rows).sum(axis=1)


@lru_cache(maxsize=2)  # the same constants are asked about many times, one study at a time
def public_model(scaling: Scaling) -> PublicModel | None:
    """Give the public model of a study's columns, where there is one.

    Parameters
    ----------
    scaling : Scaling
        Constants of the columns.

    Returns
    -------
    PublicModel or None
        None where the constants are private, or carry no covariance.
    """
    if scaling.fitted_on != "public" or scaling.covariance is None:
        return None
    return PublicModel(scaling.covariance)


def _shrink(length: FloatArray, clip_norm: float) -> FloatArray:
    factor: FloatArray = np.minimum(1.0, clip_norm / np.maximum(length, 1e-300))
    return factor
