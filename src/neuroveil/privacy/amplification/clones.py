"""The clones of Feldman, McMillan and Talwar 2021: shuffling of any pure local mechanism.

Seen from one row, every other row of an epsilon_0-local mechanism is, with probability
e^-epsilon_0, a copy of what that row would send with one value or the other, each as often. With
C ~ Bin(n - 1, e^-epsilon_0), A ~ Bin(C, 1/2) and D ~ Bern(e^epsilon_0 / (e^epsilon_0 + 1)), the
shuffled batch is at most as distinguishable as (A + D, C - A + 1 - D) from
(A + 1 - D, C - A + D): their Theorem 3.1 in the form of its proof. (A stronger form of 2023
carries an erratum and is not used.)

**Evaluation.** Given C = c, write w = e^epsilon_0 / (e^epsilon_0 + 1). The first pair has its
first count at a with probability w B(a - 1) + (1 - w) B(a), where B is Bin(c, 1/2); the second
with w and 1 - w exchanged. As B(a - 1) / B(a) = a / (c + 1 - a) grows with a, the likelihood
ratio passes e^epsilon at one threshold a*, and

    delta_c = (w - e^epsilon (1 - w)) P(B >= a* - 1) - (e^epsilon w - (1 - w)) P(B >= a*).

**Why the computed value is never too small.** Any integer in place of a* gives a smaller event
value, so the largest over the threshold and its neighbours is exact where the threshold itself
was rounded. Tails are taken too large by a relative 1e-10 in the first term and too small by the
same in the second, and the weights of C by 1e-9; scipy's binomial probabilities are more
accurate than that, which a test holds against 50-digit arithmetic. The mean over C runs over a
window, and the mass outside, bounded by Chernoff's inequality in the form of Hoeffding 1963, is
added as if delta were 1 there.
"""

from __future__ import annotations

import math
from bisect import bisect_left

import numpy as np

from neuroveil.privacy.amplification.blanket import LARGEST_LOCAL_EPSILON, check_batch
from neuroveil.privacy.amplification.search import safe_crossing
from neuroveil.privacy.validate import EPSILON_RANGE, check_delta, check_epsilon
from neuroveil.types.recording import FloatArray

_TAIL_ERROR = 1e-10
_LOG_LOST = -80.0


def clones_delta(epsilon: float, local_epsilon: float, n_batch: int) -> float:
    """Bound delta of shuffled messages of any pure local mechanism.

    Parameters
    ----------
    epsilon : float
        Central epsilon (no unit).
    local_epsilon : float
        Epsilon_0 of one row (no unit).
    n_batch : int
        Number n of rows that are shuffled together.

    Returns
    -------
    float
        An upper bound of delta, rounded up; 0 where epsilon is at least the local one.

    Raises
    ------
    ChainError
        If a parameter is out of range.

    References
    ----------
    Feldman, McMillan and Talwar 2021, Theorem 3.1.
    """
    from scipy.stats import binom

    check_epsilon(epsilon, "epsilon")
    check_epsilon(local_epsilon, "local_epsilon")
    check_batch(n_batch)
    if epsilon >= local_epsilon:
        return 0.0
    if local_epsilon > LARGEST_LOCAL_EPSILON:
        return 1.0
    chance = math.exp(-local_epsilon)
    low, high = _window(n_batch - 1, chance)
    clones = np.arange(low, high + 1, dtype=np.float64)
    weights = binom.pmf(clones, n_batch - 1, chance)
    inside = float(weights @ _delta_given(clones, epsilon, local_epsilon))
    return min(1.0, inside * (1 + 1e-9) + 2 * math.exp(_LOG_LOST))


def clones_epsilon(delta: float, local_epsilon: float, n_batch: int) -> float:
    """Bound the central epsilon of shuffled messages of any pure local mechanism.

    Parameters
    ----------
    delta : float
        Central delta.
    local_epsilon : float
        Epsilon_0 of one row (no unit).
    n_batch : int
        Number n of rows that are shuffled together.

    Returns
    -------
    float
        An epsilon at which :func:`clones_delta` is at most ``delta``, within about 1e-5 of the
        smallest in relative terms; never above the local one.

    Raises
    ------
    ChainError
        If a parameter is out of range.
    """
    check_delta(delta, "delta")
    check_epsilon(local_epsilon, "local_epsilon")

    def bound(log_epsilon: float) -> float:
        epsilon = max(EPSILON_RANGE[0], math.exp(log_epsilon))
        return clones_delta(epsilon, local_epsilon, n_batch)

    low, high = math.log(EPSILON_RANGE[0]), math.log(local_epsilon)
    found = safe_crossing(bound, safe=high, unsafe=low, delta=delta, width=1e-5)
    return min(local_epsilon, max(EPSILON_RANGE[0], math.exp(found)))


def _delta_given(clones: FloatArray, epsilon: float, local_epsilon: float) -> FloatArray:
    """Bound delta for every number of clones."""
    from scipy.stats import binom

    # Both factors are divided by 1 - w and written without cancellation.
    gain = math.exp(epsilon) * math.expm1(local_epsilon - epsilon)
    cost = math.expm1(epsilon + local_epsilon)
    small = 1 / (1 + math.exp(local_epsilon))
    first = np.ceil((clones + 1) * cost / (gain + cost))
    best = np.zeros_like(clones)
    for shift in (-1.0, 0.0, 1.0):
        threshold = np.clip(first + shift, 0.0, clones + 1)
        at_least = binom.sf(threshold - 1, clones, 0.5)
        one_more = np.where(threshold > 0, binom.sf(threshold - 2, clones, 0.5), 1.0)
        value = gain * one_more * (1 + _TAIL_ERROR) - cost * at_least * (1 - _TAIL_ERROR)
        best = np.maximum(best, small * value)
    return best


def _window(n_others: int, chance: float) -> tuple[int, int]:
    """Give numbers of clones outside of which the mass is at most 2 exp(-80)."""

    def is_far(count: int) -> bool:
        """Whether n KL(count / n, chance) exceeds 80, so that the tail is below exp(-80)."""
        share = count / max(1, n_others)
        divergence = _entropy_term(share, chance) + _entropy_term(1 - share, 1 - chance)
        return n_others * divergence > -_LOG_LOST

    mean = math.floor(n_others * chance)
    low = bisect_left(range(mean), True, key=lambda count: not is_far(count))
    high = mean + bisect_left(range(mean, n_others), True, key=is_far)
    return low, high


def _entropy_term(share: float, chance: float) -> float:
    return share * math.log(share / chance) if share > 0 else 0.0
