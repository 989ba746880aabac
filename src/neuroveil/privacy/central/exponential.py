"""The exponential mechanism in whole numbers: exact ratios, whatever the rounding.

Each candidate is k steps away from what is wanted, and one patient changes k by at most 1. Its
weight is W[k], a whole number from a table in which neighbours differ by a factor of less than
e^(epsilon / 2). A candidate is found by one uniform whole number that was drawn beforehand.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

from neuroveil.privacy.exact import exact_down, exp_down

UNIFORM_BITS = 384
"""Bits of the uniform number that chooses a candidate."""

LARGEST_N_CANDIDATES = 1 << 16

_WEIGHT_BITS = 128
_EXP_BITS = 192
_MARGIN_BITS = 100


def step_weights(epsilon: float, longest: int) -> list[int]:
    """Give the weights of candidates that are 0, 1, 2, ... steps away.

    W[0] = 2^128 and W[k + 1] = ceil(W[k] / f), where f is a proven lower bound of e^(epsilon/2)
    less a relative 2^-100. Rounding up keeps W[k] / W[k + 1] at most f; and W never grows.

    Parameters
    ----------
    epsilon : float
        Epsilon of the mechanism (no unit).
    longest : int
        Largest number of steps.

    Returns
    -------
    list of int
        ``longest + 1`` positive weights.
    """
    factor = exp_down(exact_down(epsilon) / 2, _EXP_BITS)
    factor -= 1 + (factor >> _MARGIN_BITS)
    factor = max(factor, 1 << _EXP_BITS)  # so that weights never grow
    weights = [1 << _WEIGHT_BITS]
    for _ in range(longest):
        weights.append(-(-(weights[-1] << _EXP_BITS) // factor))
    return weights


def choose(steps: Sequence[int], weights: Sequence[int], uniform: int) -> int:
    """Choose a candidate; deterministic once the uniform number is given.

    With cumulative weights c_j and their total c, candidate j is chosen for the uniform numbers
    from floor(2^384 c_(j-1) / c) to floor(2^384 c_j / c) - 1. So its probability differs from
    its share of the weights by a relative 2^-238 at most, which the margin of 2^-100 in
    :func:`step_weights` pays for many times over.

    Parameters
    ----------
    steps : sequence of int
        Steps of each candidate, at most :data:`LARGEST_N_CANDIDATES`.
    weights : sequence of int
        From :func:`step_weights`.
    uniform : int
        From 0 to 2^384 - 1.

    Returns
    -------
    int
        Number of the candidate, from 0.
    """
    cumulative = list(accumulate(weights[step] for step in steps))
    target = -((-(uniform + 1) * cumulative[-1]) >> UNIFORM_BITS)
    return bisect_left(cumulative, target)
