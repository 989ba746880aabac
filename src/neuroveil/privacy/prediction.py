"""What a mechanism will leave, from public numbers alone.

Nothing here sees data, so that a forecast may be published, unlike a measured error. Without a
public covariance rows are taken to have exactly the clipping norm and entries that average to
zero, which is what scaling and clipping aim at. With one, rows are those of the public
population.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy as np

from neuroveil.types.recording import FloatArray


@dataclass(frozen=True)
class Utility:
    """How close released values will be to the clipped values, on the scaled axis.

    Parameters
    ----------
    rmse, mae : float
        Root mean square and mean absolute error a cell (no unit).
    correlation : float
        Pearson correlation over all cells.
    snr_db : float
        Signal-to-noise ratio in dB.
    mse_over_clip_norm_squared : float
        Squared error of a whole row divided by the squared clipping norm.
    """

    rmse: float
    mae: float
    correlation: float
    snr_db: float
    mse_over_clip_norm_squared: float

    def to_json(self) -> dict[str, float]:
        """Give the forecast as plain data.

        Returns
        -------
        dict
            One entry a field.
        """
        return asdict(self)


def predict_additive(
    noise_std: float, mean_absolute_noise: float, clip_norm: float, dimension: int
) -> Utility:
    """Predict the utility of independent additive noise.

    Parameters
    ----------
    noise_std : float
        Standard deviation of the noise in one cell, on the scaled axis (no unit).
    mean_absolute_noise : float
        Mean absolute noise in one cell, on the scaled axis (no unit).
    clip_norm : float
        L2 norm that rows are taken to have (no unit).
    dimension : int
        Number of columns.

    Returns
    -------
    Utility
        With signal power C^2 / d and noise power v a cell: correlation
        sqrt(S / (S + v)) and signal-to-noise ratio 10 log10(S / v).
    """
    signal = clip_norm**2 / dimension
    noise = noise_std**2
    return Utility(
        rmse=noise_std,
        mae=mean_absolute_noise,
        correlation=math.sqrt(signal / (signal + noise)),
        snr_db=10 * math.log10(signal / noise),
        mse_over_clip_norm_squared=noise * dimension / clip_norm**2,
    )


@dataclass(frozen=True)
class ReleasedPower:
    """Mean square of a released coordinate, from that of the bounded coordinate behind it.

    E[z_i^2] = floor + share E[y_i^2] for the released z of a bounded y; by symmetry every
    coordinate of an orthonormal basis has the same two numbers.

    Parameters
    ----------
    floor : float
        What is there without any signal, on the scaled axis squared (no unit).
    share : float
        1 for independent additive noise (no unit).
    """

    floor: float
    share: float

    def of(self, bounded: FloatArray) -> FloatArray:
        """Give the mean square of released coordinates.

        Parameters
        ----------
        bounded : ndarray of float64, any shape
            Mean squares of bounded coordinates (no unit).

        Returns
        -------
        ndarray of float64, same shape
            Mean squares (no unit).
        """
        power: FloatArray = self.floor + self.share * bounded
        return power


def codeword_power(
    alignment: float, second_moment: float, clip_norm: float, dimension: int
) -> ReleasedPower:
    """Give the power of decoded codewords.

    Parameters
    ----------
    alignment, second_moment : float
        m = E[v u] and s = E[(v u)^2] of a codeword v released for a lifted unit row u (no unit).
    clip_norm : float
        Clipping norm C (no unit).
    dimension : int
        Number k of released coordinates; codewords have one more.

    Returns
    -------
    ReleasedPower
        A codeword C v / m has E[v v^T] = s u u^T + (1 - s) / k (I - u u^T), and u_i = y_i / C:
        so E[z_i^2] = (C / m)^2 ((1 - s) / k + (s - (1 - s) / k) E[y_i^2] / C^2).
    """
    across = (1 - second_moment) / dimension
    scale = 1 / alignment**2
    return ReleasedPower(scale * across * clip_norm**2, scale * (second_moment - across))


@dataclass(frozen=True, eq=False)
class LinearEstimate:
    """Rows estimated from a release by weights, in the coordinates of the public basis.

    For public rows x, normal with the covariance of the public reference: ``y`` is a row's
    bounded form in the first m coordinates, ``z`` what is released of it, ``t`` the row as it
    would be if all of it were bounded. The estimate is ``weights`` times ``z``. Coordinates are
    symmetric around 0, so that products of different ones average to zero.

    Parameters
    ----------
    weights : ndarray of float64, shape (m,)
        One a coordinate, 1 for a release as it stands (no unit).
    released : ndarray of float64, shape (m,)
        E[z_i^2] (no unit).
    with_bounded_row : ndarray of float64, shape (m,)
        E[y_i t_i], which is E[z_i t_i] (no unit).
    with_row : ndarray of float64, shape (m,)
        E[y_i x_i] (no unit).
    bounded_row : ndarray of float64, shape (n_features,)
        E[t_i^2] (no unit).
    row : ndarray of float64, shape (n_features,)
        E[x_i^2], the public spectrum (no unit).
    basis : ndarray of float64, shape (n_features, n_features)
        The public basis, one component a column (no unit).
    """

    weights: FloatArray
    released: FloatArray
    with_bounded_row: FloatArray
    with_row: FloatArray
    bounded_row: FloatArray
    row: FloatArray
    basis: FloatArray

    @property
    def rmse(self) -> float:
        """Root mean square error of a cell against the clipped row (no unit)."""
        error = self._power.sum() - 2 * self._product.sum() + self.bounded_row.sum()
        return math.sqrt(float(error) / self.bounded_row.size)

    @property
    def zeros_rmse(self) -> float:
        """The same error for a table of zeros (no unit)."""
        return math.sqrt(float(self.bounded_row.mean()))

    @property
    def snr_db(self) -> float:
        """Signal-to-noise ratio against the clipped row in dB; 0 for a table of zeros."""
        return 20 * math.log10(self.zeros_rmse / self.rmse)

    @property
    def correlation_centred(self) -> float:
        """Correlation with clipped rows after each column's cohort mean is taken off.

        The mean takes the same share, 1 / n, off all three sums, which cancels.
        """
        return _cosine(self._product.sum(), self._power.sum(), self.bounded_row.sum())

    def correlation(self, n_patients: int) -> float:
        """Predict the Pearson correlation with clipped rows over all cells of a cohort.

        Parameters
        ----------
        n_patients : int
            Number n of rows.

        Returns
        -------
        float
            The grand mean takes off what all cells have in common: of each of the three sums,
            1 / n of the part along the direction in which all columns are equal.
        """
        d = self.row.size
        along = np.square(self.basis.sum(axis=0)) / d
        kept, whole = 1 - along[: self.weights.size] / n_patients, 1 - along / n_patients
        return _cosine(
            (self._product * kept).sum(), (self._power * kept).sum(),
            (self.bounded_row * whole).sum(),
        )  # fmt: skip

    def score_correlation(self, component: int = 0) -> float:
        """Correlate the released and the unclipped score of rows on a public component.

        Parameters
        ----------
        component : int
            Number of the component, from 0 for the one with the largest variance.

        Returns
        -------
        float
            0 for a component that is not released.
        """
        if component >= self.weights.size:
            return 0.0
        parts = (self.with_row[component], self.released[component], self.row[component])
        return _cosine(*parts)

    @property
    def column_correlations(self) -> FloatArray:
        """Correlation of each column's estimate with its unclipped values, (n_features,)."""
        squares = np.square(self.basis)
        kept = squares[:, : self.weights.size]
        product = kept @ (self.weights * self.with_row)
        power = (kept @ self._power) * (squares @ self.row)
        return np.divide(product, np.sqrt(power), out=np.zeros(len(power)), where=power > 0)

    @property
    def _power(self) -> FloatArray:
        power: FloatArray = self.weights**2 * self.released
        return power

    @property
    def _product(self) -> FloatArray:
        product: FloatArray = self.weights * self.with_bounded_row
        return product


def attenuated_auc(effect_size: float, correlation: float = 1.0) -> float:
    """Predict how well a noisy score tells two groups apart.

    Parameters
    ----------
    effect_size : float
        Difference d' of the group means of the true score, in standard deviations within a
        group (no unit).
    correlation : float
        Correlation r of the noisy with the true score within a group (no unit).

    Returns
    -------
    float
        Area under the receiver operating characteristic, Phi(r d' / sqrt 2).

    Notes
    -----
    Let groups differ along the natural variation of the score s: their mean rows by
    d' Cov(x, s) / sd(s). A released score f(x), however nonlinear, then moves by
    d' Cov(f, s) / sd(s) to first order (Stein 1981, Lemma 2), so its own effect size is r d'
    (attenuation, Spearman 1904), where d' is small or f linear. The area is exact for scores
    that are normal within groups.
    """
    return 0.5 * math.erfc(-effect_size * correlation / 2)


def advantage_bound(epsilon: float, delta: float) -> float:
    """Bound the advantage of whoever has to tell two neighbouring tables apart.

    Parameters
    ----------
    epsilon, delta : float
        Guarantee.

    Returns
    -------
    float
        Largest true-positive rate minus false-positive rate of any test whether a certain
        patient's row was this one or that: (e^epsilon - 1 + 2 delta) / (e^epsilon + 1).

    References
    ----------
    Kairouz, Oh and Viswanath 2015, Theorem 2.1, at the corner of its region.
    """
    ratio = math.tanh(epsilon / 2)
    return min(1.0, ratio + delta * (1 - ratio))


def posterior_bound(epsilon: float, delta: float, prior: float) -> tuple[float, float]:
    """Bound what somebody may come to believe about one patient.

    Parameters
    ----------
    epsilon, delta : float
        Guarantee.
    prior : float
        Belief in the truth before the release, between 0 and 1.

    Returns
    -------
    posterior : float
        Largest belief after it: odds grow by e^epsilon at most where delta is 0, and by
        e^(2 epsilon) otherwise.
    exception : float
        Largest probability with which that is exceeded: 0, or delta / (1 - e^-epsilon).

    References
    ----------
    Kasiviswanathan and Smith 2014, Section 3: outcomes that are more than e^(2 epsilon) times as
    likely have a probability P with P <= e^-epsilon P + delta.
    """
    growth = 2 * epsilon if delta > 0 else epsilon
    odds = math.log(prior) - math.log1p(-prior) + growth
    exception = min(1.0, delta / -math.expm1(-epsilon))
    return 0.5 * (1 + math.tanh(odds / 2)), exception


def _cosine(product: float, left: float, right: float) -> float:
    return float(product) / math.sqrt(float(left) * float(right)) if left > 0 < right else 0.0


def gaussian_advantage(noise_multiplier: float) -> float:
    """Give the largest advantage that Gaussian noise leaves, which is below the bound.

    Parameters
    ----------
    noise_multiplier : float
        Noise standard deviation divided by the sensitivity (no unit).

    Returns
    -------
    float
        2 Phi(1 / (2 multiplier)) - 1, the total variation between neighbours as far apart as
        the sensitivity allows.

    References
    ----------
    Dong, Roth and Su 2022, Section 2.2.
    """
    return math.erf(1 / (noise_multiplier * 2 * math.sqrt(2)))


def codeword_advantage(probability: float, share: float) -> float:
    """Give the largest advantage that a codeword leaves, which is below the bound.

    Parameters
    ----------
    probability : float
        Chance p of a close codeword (no unit).
    share : float
        Share q of codewords that are close, at most 1/2 (no unit).

    Returns
    -------
    float
        p - (1 - p) q / (1 - q), the total variation between rows without a common close
        codeword.
    """
    return probability - (1 - probability) * share / (1 - share)
