"""Sensitivity of mean and second moment together, and the noise that it calls for.

Rows x lie in the ball of radius C. Released are the sum of x and the sum of x x^T, each with
Gaussian noise. Scaled to unit sensitivity and weighted by the square roots of their shares w
and 1 - w, they are one vector, and one Gaussian mechanism releases it. Replacing a patient
moves the sum by up to 2 C and the second moment by up to sqrt(2) C^2, but never both as far:
opposite rows have the same second moment. So the whole moves by sqrt(J) with

    J = w / 2 + (1 - w) + w^2 / (16 (1 - w)) < 1,

which ``docs/proofs-central.md`` proves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from neuroveil.errors import ChainError
from neuroveil.privacy.calibration import gaussian_epsilon, gaussian_sigma, solve_sigma
from neuroveil.privacy.central.moment_spec import MomentSpec
from neuroveil.privacy.exact import float_up, sqrt_up
from neuroveil.privacy.grid import LARGEST_SCALE_LOG2
from neuroveil.privacy.integer_noise import Slack, discrete_slack

_ROW_BITS = 22
"""A row is less than 2^22 grid steps long, so that 512 products add up to at most 2^53."""

_SUM_BITS = 61
_HEADROOM = 2  # the slack raises sigma by far less than this


@dataclass(frozen=True)
class MomentCalibration:
    """Noise of mean and second moment, with what the integers cost.

    Parameters
    ----------
    spec : MomentSpec
        What it was calibrated for.
    noise_scale : float
        Standard deviation for unit sensitivity and unit share (no unit).
    grid_log2 : int
        Binary logarithm of the grid's step for rows; that of the second moment is twice it.
    slack : Slack
        What the step from continuous to integer noise costs, at most.
    """

    spec: MomentSpec
    noise_scale: float
    grid_log2: int
    slack: Slack

    @property
    def sensitivity(self) -> float:
        """sqrt(J), the sensitivity of both together in the same units, rounded up."""
        return float_up(joint_sensitivity(self.spec.mean_share))

    @property
    def sum_sensitivity(self) -> float:
        """2 C, the L2 sensitivity of the sum of rows, on the scaled axis (no unit)."""
        return float_up(2 * Fraction(self.spec.clip_norm))

    @property
    def second_sensitivity(self) -> float:
        """sqrt(2) C^2, the Frobenius sensitivity of the sum of x x^T (no unit), rounded up."""
        return float_up(sqrt_up(2 * Fraction(self.spec.clip_norm) ** 4))

    @cached_property
    def sum_std(self) -> float:
        """Noise in an entry of the sum of rows (no unit); infinite where it is left out."""
        share = Fraction(self.spec.mean_share)
        if not share:
            return math.inf
        variance = 4 * Fraction(self.spec.clip_norm) ** 2 * Fraction(self.noise_scale) ** 2
        return float_up(sqrt_up(variance / share))

    @cached_property
    def diagonal_std(self) -> float:
        """Noise in a diagonal entry of the sum of x x^T (no unit)."""
        return float_up(sqrt_up(2 * self._off_diagonal_variance))

    @cached_property
    def off_diagonal_std(self) -> float:
        """Noise in another entry of the sum of x x^T (no unit).

        It is smaller by sqrt(2), because such an entry stands in the matrix twice.
        """
        return float_up(sqrt_up(self._off_diagonal_variance))

    @property
    def mean_noise_std(self) -> float:
        """Noise in an entry of the mean row, on the scaled axis (no unit)."""
        return self.sum_std / self.spec.n_patients

    @property
    def second_moment_noise_std(self) -> float:
        """Noise in an off-diagonal entry of the mean of x x^T (no unit)."""
        return self.off_diagonal_std / self.spec.n_patients

    @property
    def epsilon_supported(self) -> float:
        """Epsilon that the integer noise supports, its slack included."""
        continuous = gaussian_epsilon(
            self.sensitivity, self.noise_scale, self.slack.delta_calibrated
        )
        return float_up(Fraction(continuous) + Fraction(self.slack.epsilon))

    @property
    def _off_diagonal_variance(self) -> Fraction:
        share = 1 - Fraction(self.spec.mean_share)
        return Fraction(self.spec.clip_norm) ** 4 * Fraction(self.noise_scale) ** 2 / share

    @property
    def smallest_integer_scale(self) -> float:
        """Smallest of the noise scales in units of their grids."""
        scales = [math.ldexp(self.off_diagonal_std, -2 * self.grid_log2)]
        if self.spec.mean_share:
            scales.append(math.ldexp(self.sum_std, -self.grid_log2))
        return min(scales)


def joint_sensitivity(mean_share: float) -> Fraction:
    """Give the sensitivity of mean and second moment together, for unit noise.

    Parameters
    ----------
    mean_share : float
        Share w of the mean, from 0 to 0.8.

    Returns
    -------
    Fraction
        At least sqrt(w / 2 + (1 - w) + w^2 / (16 (1 - w))).
    """
    share = Fraction(mean_share)  # the double itself, as a certificate states it
    rest = 1 - share
    return sqrt_up(share / 2 + rest + share**2 / (16 * rest))


def calibrate_moments(spec: MomentSpec) -> MomentCalibration:
    """Calibrate integer Gaussian noise for mean and second moment together.

    Parameters
    ----------
    spec : MomentSpec
        Public specification.

    Returns
    -------
    MomentCalibration
        Noise scale, grid and slack.

    Raises
    ------
    ChainError
        If the integer grid is too coarse for so many columns.

    References
    ----------
    Balle and Wang 2018, Theorem 8, at the delta that integer noise leaves.
    """
    sensitivity = float_up(joint_sensitivity(spec.mean_share))
    scale = gaussian_sigma(sensitivity, spec.epsilon, spec.delta)
    grid_log2 = _choose_grid_log2(spec, scale)
    while True:
        # The slack shrinks as the scale grows, so this settles after one or two rounds.
        slack = _slack(spec, scale, grid_log2)
        needed = solve_sigma(sensitivity, slack.epsilon_calibrated, slack.delta_calibrated)
        if needed <= scale:
            return MomentCalibration(spec, scale, grid_log2, slack)
        scale = needed


def _choose_grid_log2(spec: MomentSpec, scale: float) -> int:
    """Choose the grid's step, a power of two, from public numbers alone.

    Sums of n products of rows stay below 2^61 and noise scales below 2^57.
    """
    row_bits = min(_ROW_BITS, (_SUM_BITS - spec.n_patients.bit_length()) // 2)
    norm_log2 = math.frexp(spec.clip_norm)[1]  # clip_norm < 2**norm_log2
    grid_log2 = norm_log2 - row_bits
    largest = MomentCalibration(spec, _HEADROOM * scale, 0, Slack(0, 0, 0, 0)).diagonal_std
    excess = math.frexp(largest)[1] - 2 * grid_log2 - LARGEST_SCALE_LOG2
    return grid_log2 + max(0, -(-excess // 2))


def _slack(spec: MomentSpec, scale: float, grid_log2: int) -> Slack:
    """Bound what integers cost, as if every coordinate had the smallest integer scale."""
    calibration = MomentCalibration(spec, scale, grid_log2, Slack(0, 0, 0, 0))
    smallest, coordinates = calibration.smallest_integer_scale, spec.n_coordinates
    # The second bound of discrete_slack pays for rounding with one unit of an exponent: enough
    # while sqrt(coordinates * ball) <= 2 * smallest, and the ball is below this.
    ball = 3 * (coordinates + 2 * (spec.epsilon + 100))
    if coordinates * ball > 4 * smallest**2:
        raise ChainError(
            "domain.dimension", "few enough columns for the integer grid",
            f"{spec.dimension} columns for {spec.n_patients} patients",
            "Release fewer columns, or a smaller epsilon.",
        )  # fmt: skip
    return discrete_slack(smallest, spec.epsilon, spec.delta, coordinates)
