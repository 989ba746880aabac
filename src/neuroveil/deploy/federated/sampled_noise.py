"""How little noise suffices where every step draws its patients at random.

There is no formula: the account of many sampled steps is a computation, and takes a second where
its losses are rounded finely. So the search goes over coarse rounding first, which is a hundred
times quicker and overestimates epsilon by about a thousandth, and begins with much noise, where
losses are small. Only the last few questions are asked of the fine account. Whatever the search
does, the noise that it gives was accepted by the fine account, which is an upper bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from neuroveil.errors import ChainError
from neuroveil.privacy.accounting import sampled_gaussian_epsilon
from neuroveil.privacy.calibration import gaussian_sigma

_PRECISION = 1e-3
_COARSE = 1e-2  # of epsilon, over the square root of the number of steps
_LARGEST_MULTIPLIER = 1e6

Fits = Callable[[float], bool]


@lru_cache(maxsize=128)
def smallest_multiplier(
    epsilon: float, delta: float, sampling_rate: float, steps: int, near: float | None = None
) -> float:
    """Find the noise multiplier whose account over all steps stays within epsilon.

    Parameters
    ----------
    epsilon, delta : float
        What all steps together may cost.
    sampling_rate : float
        Probability with which a patient is in a step.
    steps : int
        Number of steps.
    near : float, optional
        Where to begin, if nearly the same was asked before.

    Returns
    -------
    float
        ``noise_std / sensitivity`` (no unit), the smallest to a thousandth, from above.

    Raises
    ------
    ChainError
        If no noise gives the guarantee, or the guarantee needs none: where it is less likely
        than delta that a patient is drawn in any step.
    """
    whole = gaussian_sigma(math.sqrt(steps), epsilon, delta)
    if sampling_rate == 1.0:
        return whole  # T Gaussian sums are one Gaussian mechanism, in closed form
    if steps * sampling_rate <= delta:
        raise ChainError(
            "federation.sampling_rate", "a rate at which patients are drawn at all",
            f"{sampling_rate:g}", "Ask for a larger sampling_rate: delta alone covers this one.",
        )  # fmt: skip

    def fits(multiplier: float) -> bool:
        return sampled_gaussian_epsilon(multiplier, sampling_rate, steps, delta) <= epsilon

    def fits_coarsely(multiplier: float) -> bool:
        return (
            sampled_gaussian_epsilon(
                multiplier, sampling_rate, steps, delta, _COARSE * epsilon / math.sqrt(steps)
            )
            <= epsilon
        )

    start = near or _search(fits_coarsely, whole, 2.0)
    return _search(fits, start, 1 + _PRECISION)


def _search(fits: Fits, start: float, stride: float) -> float:
    """Go from a start to where ``fits`` begins, with growing strides, then halve what is left."""
    high, step = start, stride
    while not fits(high):
        high, step = high * step, step * step
        if high > _LARGEST_MULTIPLIER:
            raise ChainError(
                "privacy.epsilon", "a guarantee that sampled noise can give", "none",
                "Ask for fewer rounds or local steps, or for a larger epsilon.",
            )  # fmt: skip
    low, step = high / stride, stride
    while fits(low):
        low, high, step = low / step, low, min(step * step, 2.0)
    while high / low > 1 + _PRECISION:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high
