"""What integers cost the Gaussian mechanism, and its calibration with that cost paid.

Laplace noise needs none of this: its proof holds on integers as it stands.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from neuroveil.privacy.bounds import Clip
from neuroveil.privacy.calibration import gaussian_sigma, solve_sigma
from neuroveil.privacy.grid import choose_grid_log2
from neuroveil.privacy.validate import check_dimension

_MARGIN = 2.0**-40  # covers the rounding of the few operations below
_HEADROOM = 1.25  # the slack raises sigma by far less than this
_LARGEST_SHARE = 1024  # the simple slack may take at most this part of delta
_LARGEST_EXPONENT = 100.0  # beyond it e^epsilon leaves no delta for the simple slack


@dataclass(frozen=True)
class Slack:
    """What integer noise costs compared with continuous noise.

    Parameters
    ----------
    epsilon, delta : float
        The cost, rounded up.
    epsilon_calibrated, delta_calibrated : float
        What is left for the continuous mechanism, rounded down.
    """

    epsilon: float
    delta: float
    epsilon_calibrated: float
    delta_calibrated: float


def discrete_slack(integer_scale: float, epsilon: float, delta: float, dimension: int) -> Slack:
    """Bound what the discrete Gaussian costs compared with the rounded continuous one.

    Let X be discrete Gaussian noise of scale s and Y rounded continuous noise. In one
    coordinate P(X = k) <= exp(1 / (24 s^2)) P(Y = k) (Poisson summation and Jensen), so the
    total variation is at most 1 / (24 s^2), and delta grows by (1 + e^epsilon) d / (24 s^2).
    Where e^epsilon makes that more than a thousandth of delta, the likelihood ratio is
    bounded in both directions instead: P(Y = k) <= P(X = k) exp(k^2 / (24 s^4) + 3
    exp(-2 pi^2 s^2)), within the ball ||noise||^2 <= B s^2, B = d + 2 sqrt(d x) + 2 x,
    x = epsilon + 100, which rounded noise leaves with probability at most exp(1 - x)
    (Laurent and Massart 2000; the 1 pays for the rounding).

    Parameters
    ----------
    integer_scale : float
        Standard deviation s in units of the grid.
    epsilon, delta : float
        The guarantee for the rows.
    dimension : int
        Number of columns d.

    Returns
    -------
    Slack
        The cost and what is left.
    """
    per_coordinate = 1 / (24 * integer_scale**2)
    if epsilon < _LARGEST_EXPONENT:
        cost = (1 + math.exp(epsilon)) * dimension * per_coordinate * (1 + _MARGIN)
        if cost <= delta / _LARGEST_SHARE:
            return Slack(0.0, cost, epsilon, math.nextafter(delta - cost, 0.0))
    x = epsilon + 100
    ball = dimension + 2 * math.sqrt(dimension * x) + 2 * x
    normaliser = 3 * dimension * math.exp(-2 * math.pi**2 * integer_scale**2)
    epsilon_cost = ((dimension + ball) * per_coordinate + normaliser) * (1 + _MARGIN)
    delta_cost = (delta * dimension * per_coordinate + math.exp(-99)) * (1 + _MARGIN)
    return Slack(
        epsilon_cost,
        delta_cost,
        math.nextafter(epsilon - epsilon_cost, 0.0),
        math.nextafter(delta - delta_cost, 0.0),
    )


@dataclass(frozen=True)
class GaussianCalibration:
    """Noise scale of the discrete Gaussian, with what the integers cost.

    Parameters
    ----------
    noise_scale : float
        Standard deviation sigma, on the scaled axis (no unit).
    grid_log2 : int
        Binary logarithm of the grid's step.
    slack : Slack
        What the step from continuous to integer noise costs at this scale.
    """

    noise_scale: float
    grid_log2: int
    slack: Slack


def calibrate_gaussian(
    clip: Clip, sensitivity: float, epsilon: float, delta: float, dimension: int
) -> GaussianCalibration:
    """Calibrate integer Gaussian noise: continuous noise at what its slack leaves.

    The slack shrinks as the scale grows. So it is first bounded at the scale that the whole
    delta would need, and stated at the final, larger scale: what the certificate claims to
    have calibrated for is then at most what was calibrated for.

    Parameters
    ----------
    clip : ClipL2
        The bound, for the choice of the grid.
    sensitivity : float
        L2 sensitivity, on the scaled axis (no unit).
    epsilon, delta : float
        The guarantee for the rows.
    dimension : int
        Number of columns.

    Returns
    -------
    GaussianCalibration
        Noise scale, grid and slack.

    Raises
    ------
    ChainError
        If a parameter is out of its range.
    """
    check_dimension(dimension)
    least = gaussian_sigma(sensitivity, epsilon, delta)
    grid_log2 = choose_grid_log2(_HEADROOM * least, clip.clip_norm)
    first = discrete_slack(math.ldexp(least, -grid_log2), epsilon, delta, dimension)
    sigma = solve_sigma(sensitivity, first.epsilon_calibrated, first.delta_calibrated)
    final = discrete_slack(math.ldexp(sigma, -grid_log2), epsilon, delta, dimension)
    return GaussianCalibration(sigma, grid_log2, final)
