"""What an attacker expects of a patient's row before and after seeing what was released.

The rows of other patients give a mean and a covariance, of scaled rows and of what the
mechanism makes of them. Conditioning on a released row is then linear algebra: with noise, the
Wiener filter; with a codeword, the exact posterior of the row along the codeword's direction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuroveil.types.recording import FloatArray

_SMALLEST_VARIANCE = 1e-12
"""Where others do not differ at all, the attacker still believes what is released exactly."""


@dataclass(frozen=True, eq=False, repr=False)
class Prior:
    """Mean and shrunk covariance of rows and of bounded rows. Private.

    Parameters
    ----------
    mean_row : ndarray of float64, shape (n_features,)
        Mean scaled row (no unit).
    mean_bounded : ndarray of float64, shape (m,)
        Mean bounded row (no unit).
    axes : ndarray of float64, shape (m, r)
        Principal directions of bounded rows.
    variances : ndarray of float64, shape (r,)
        Shrunk variance along each.
    floor : float
        Variance in every other direction, from shrinkage.
    cross : ndarray of float64, shape (r, n_features)
        Covariance of each principal coordinate with the scaled row.
    link : ndarray of float64, shape (m, n_features)
        Public map from bounded to scaled rows, with the lost length made up for.
    """

    mean_row: FloatArray
    mean_bounded: FloatArray
    axes: FloatArray
    variances: FloatArray
    floor: float
    cross: FloatArray
    link: FloatArray

    def given_noisy(self, values: FloatArray, noise_variance: float) -> FloatArray:
        """Give the posterior mean of rows given noisy bounded rows.

        Parameters
        ----------
        values : ndarray of float64, shape (n, m)
            Released values on the scaled axis (no unit).
        noise_variance : float
            Variance of the noise in each coordinate.

        Returns
        -------
        ndarray of float64, shape (n, n_features)
            Scaled rows (no unit). Exact for Gaussian noise; the best linear estimate for any
            other noise of this variance.
        """
        beyond = values - self.mean_bounded
        along = beyond @ self.axes
        rest = (beyond - along @ self.axes.T) * (self.floor / (self.floor + noise_variance))
        along = along / (self.variances + noise_variance)
        return self.mean_row + along @ self.cross + rest @ self.link

    def given_codeword(
        self, codewords: FloatArray, threshold: float, log_chances: tuple[float, float]
    ) -> FloatArray:
        """Give the posterior mean of rows given codewords.

        A codeword tells one thing alone: whether the row points far enough in its direction.
        Bounded rows are about equally long, so that before they are spread over an ellipsoid,
        in as many dimensions as carry their variance; after, each side of the threshold is
        weighed by its chance.

        Parameters
        ----------
        codewords : ndarray of float64, shape (n, m)
            Unit vectors.
        threshold : float
            Inner product of codeword and row from which the codeword is close (no unit).
        log_chances : tuple of float
            Log-likelihood of the codeword where it is close, and where it is not (nat).

        Returns
        -------
        ndarray of float64, shape (n, n_features)
            Scaled rows (no unit).
        """
        along = codewords @ self.axes
        rest = codewords - along @ self.axes.T
        variance = np.square(along) @ self.variances + self.floor * np.square(rest).sum(axis=1)
        std = np.sqrt(np.maximum(variance, _SMALLEST_VARIANCE))
        z = (threshold - codewords @ self.mean_bounded) / std
        odds = float(np.exp(log_chances[0] - log_chances[1]))
        shift = _shift(z, odds, self.effective_dimension)
        towards = along @ self.cross + self.floor * (rest @ self.link)
        rows: FloatArray = self.mean_row + (shift / std)[:, None] * towards
        return rows

    @property
    def effective_dimension(self) -> float:
        """Dimensions that carry the variance: its square over the sum of squares; at least 2."""
        n_rest = self.axes.shape[0] - self.variances.size
        total = self.variances.sum() + n_rest * self.floor
        squares = np.square(self.variances).sum() + n_rest * self.floor**2
        return max(2.0, float(total**2 / squares))


def _shift(z: FloatArray, odds: float, dimension: float) -> FloatArray:
    """Mean of a coordinate of unit variance on a sphere, beyond z being likelier by the odds."""
    from scipy.special import betainc, betaln

    half = (dimension - 1) / 2
    place = np.clip(z / np.sqrt(dimension), -1.0, 1.0)
    beyond = betainc(half, half, (1 - place) / 2)
    first_moment = (1 - np.square(place)) ** half / (2 * half) / np.exp(betaln(0.5, half))
    mean: FloatArray = (odds - 1) * first_moment / (1 + (odds - 1) * beyond)
    return mean * float(np.sqrt(dimension))


def fit_prior(rows: FloatArray, bounded: FloatArray, back: FloatArray) -> Prior:
    """Estimate what to expect of a row from the rows of others.

    The covariance is shrunk towards equal variances, by the weight that is best for Gaussian
    rows. So a hundred rows do for hundreds of columns.

    Parameters
    ----------
    rows : ndarray of float64, shape (n_others, n_features)
        Scaled rows (no unit), without the row that is attacked.
    bounded : ndarray of float64, shape (n_others, m)
        What the mechanism makes of them before noise.
    back : ndarray of float64, shape (m, n_features)
        Public map from bounded to scaled rows.

    Returns
    -------
    Prior
        Of a row like these.

    References
    ----------
    Chen, Wiesel, Eldar and Hero 2010 (oracle approximating shrinkage).
    """
    mean_row, mean_bounded = rows.mean(axis=0), bounded.mean(axis=0)
    centred, beyond = rows - mean_row, bounded - mean_bounded
    n, m = beyond.shape
    left, lengths, right = np.linalg.svd(beyond, full_matrices=False)
    variances = np.square(lengths) / n
    weight = _shrinkage(variances, n, m)
    floor = max(weight * float(variances.sum()) / m, _SMALLEST_VARIANCE)
    link = _stretch(beyond @ back, centred) * back
    cross = (1 - weight) / n * (lengths[:, None] * (left.T @ centred)) + floor * (right @ link)
    return Prior(
        mean_row, mean_bounded, right.T, (1 - weight) * variances + floor, floor, cross, link
    )


def _shrinkage(variances: FloatArray, n: int, m: int) -> float:
    """Weight of equal variances, between 0 and 1."""
    square, total = float(np.square(variances).sum()), float(variances.sum())
    spread = (n + 1 - 2 / m) * (square - total**2 / m)
    if spread <= 0:
        return 1.0
    return min(1.0, max(0.0, ((1 - 2 / m) * square + total**2) / spread))


def _stretch(mapped: FloatArray, centred: FloatArray) -> float:
    """How much longer rows are than bounding has left them."""
    length = float(np.square(mapped).sum())
    return float((mapped * centred).sum()) / length if length > 0 else 1.0
