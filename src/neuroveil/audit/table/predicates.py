"""Predicates that should single somebody out, made from released rows and public noise alone.

A predicate is a half-space: everybody whose row points far enough in a direction. Directions
are single columns, or the way from the middle of the release to one of its rows. Thresholds lie
between the most extreme row and the next one; what public noise adds to their distance is taken
off first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuroveil.types.recording import FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Predicates:
    """Half-spaces: a row x matches where (x - centre) . direction > threshold.

    Parameters
    ----------
    centre : ndarray of float64, shape (m,)
        Middle of the release (no unit).
    directions : ndarray of float64, shape (n_predicates, m)
        Normals.
    thresholds : ndarray of float64, shape (n_predicates,)
        In units of the normal's length times a scaled row (no unit).
    """

    centre: FloatArray
    directions: FloatArray
    thresholds: FloatArray

    def matches(self, rows: FloatArray) -> np.ndarray:
        """Say which rows match which predicates.

        Parameters
        ----------
        rows : ndarray of float64, shape (n, m)
            Bounded rows on the scaled axis (no unit).

        Returns
        -------
        ndarray of bool, shape (n, n_predicates)
            Where a row matches.
        """
        found: np.ndarray = (rows - self.centre) @ self.directions.T > self.thresholds
        return found


def column_predicates(released: FloatArray, noise_variance: float) -> Predicates:
    """Single columns: more than nearly everybody, or less.

    Parameters
    ----------
    released : ndarray of float64, shape (n, m)
        Released values on the scaled axis (no unit), at least two rows.
    noise_variance : float
        Public variance of the noise in each coordinate.

    Returns
    -------
    Predicates
        Two for each column that varies.
    """
    centre = released.mean(axis=0)
    away = released - centre
    variance = np.square(away).mean(axis=0)
    varies = np.flatnonzero(variance > 0)
    kept = _kept(variance[varies], noise_variance)
    ordered = np.sort(away[:, varies], axis=0)
    above, below = (ordered[-1] + ordered[-2]) / 2, -(ordered[0] + ordered[1]) / 2
    normals = np.eye(released.shape[1])[varies]
    return Predicates(
        centre, np.concatenate([normals, -normals]), np.concatenate([above * kept, below * kept])
    )


def row_predicates(released: FloatArray, noise_variance: float) -> Predicates:
    """Whole rows: more like one released row than anybody else.

    Parameters
    ----------
    released : ndarray of float64, shape (n, m)
        Released values on the scaled axis (no unit), at least two rows.
    noise_variance : float
        Public variance of the noise in each coordinate.

    Returns
    -------
    Predicates
        One for each released row.
    """
    n, m = released.shape
    centre = released.mean(axis=0)
    away = released - centre
    products = away @ away.T
    lengths = products.diagonal().copy()
    own = np.maximum(lengths - m * noise_variance, 0.0)  # what the row itself should score
    others = products[~np.eye(n, dtype=bool)].reshape(n, n - 1)
    middle = others.mean(axis=1)
    variance = others.var(axis=1)
    next_best = middle + (others.max(axis=1) - middle) * _kept(variance, noise_variance * lengths)
    return Predicates(centre, away, np.maximum((own + next_best) / 2, next_best))


def _kept(variance: FloatArray, noise_variance: float | FloatArray) -> FloatArray:
    """Share of a spread that is left without the noise."""
    with np.errstate(invalid="ignore", divide="ignore"):
        share: FloatArray = np.sqrt(np.maximum(variance - noise_variance, 0.0) / variance)
    return np.where(np.isfinite(share), share, 0.0)
