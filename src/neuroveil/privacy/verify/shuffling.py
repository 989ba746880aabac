"""What shuffling adds, by direct summation over counts of users.

Two bounds of δ for n shuffled rows, each of which is ε₀-private on its own:

* the privacy blanket of the k-closest codebook (Balle, Bell, Gascón & Nissim 2019, Lemma 5.3):
  ``E[(S)₊] / n``, where S adds up n independent terms that are ``u = a - b`` and
  ``-v = 1 - a b`` with probability ``g q`` each, ``-w = 1 - b`` with ``g (1 - 2 q)`` and 0
  otherwise, with ``a = e^ε₀``, ``b = e^ε``, ``g = 1 / (a q + 1 - q)``;
* the clones of Feldman, McMillan & Talwar 2021.

Nothing is transformed or put on a grid here. The number s of terms that are u or -v is
binomial, given s the number of u's is Binomial(s, 1/2), and given s the number of -w's is
binomial among the n - s others; the mean over the last is a closed form of its cumulative
sums. What lies outside the windows of the outer sums has a chance of at most e^-80 and counts
with its largest value, n u. All terms are positive, so double precision costs about n units in
the last place, which :data:`ACCURACY` covers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

ACCURACY = 1e-9
"""Relative accuracy of the bounds."""

MOST_WORK = 20_000_000
"""Terms that a sum may have; more would take a minute."""

_LOG_LOST = 80.0


class TooLargeError(Exception):
    """The sum would take too long."""


@lru_cache(maxsize=64)
def blanket_delta(epsilon: float, local_epsilon: float, share: float, batch: int) -> float:
    """δ of shuffled k-closest codewords, by the privacy blanket.

    Parameters
    ----------
    epsilon, local_epsilon : float
        Central ε, and ε₀ of one row (no unit).
    share : float
        K / N, at most 1/2 (no unit).
    batch : int
        Number n of rows.

    Returns
    -------
    float
        Within :data:`ACCURACY`; 0 where ε is at least ε₀.

    Raises
    ------
    TooLargeError
        If the sum has more than :data:`MOST_WORK` terms.
    """
    if epsilon >= local_epsilon:
        return 0.0
    gain = math.exp(epsilon) * math.expm1(local_epsilon - epsilon)
    loss, mild = math.expm1(local_epsilon + epsilon), math.expm1(epsilon)
    blanket = 1 / (math.exp(local_epsilon) * share + 1 - share)
    extreme = 2 * blanket * share
    others = blanket * (1 - 2 * share) / (1 - extreme) if extreme < 1 else 0.0
    low, high = _window(batch, extreme)
    widest = _window(high, 0.5)
    mildest = _window(batch - low, others)
    work = (high - low + 1) * (widest[1] - widest[0] + mildest[1] - mildest[0] + 2)
    if work > MOST_WORK:
        raise TooLargeError
    total = math.exp(-_LOG_LOST) * batch * gain
    for s, chance in _binomial(batch, extreme):
        parts = _PositiveParts(batch - s, others, mild)
        inner = 0.0
        for i, weight in _binomial(s, 0.5):
            height = gain * i - loss * (s - i)
            if height > 0:
                inner += weight * parts.mean_above(height)
        total += chance * inner
    return min(1.0, total / batch)


class _PositiveParts:
    """E[(h - w M)₊] for a binomial M, for any height h."""

    def __init__(self, trials: int, chance: float, step: float) -> None:
        self.step = step
        self.start, _ = _window(trials, chance)
        self.mass: list[float] = []
        self.moment: list[float] = []
        mass = moment = 0.0
        for m, weight in _binomial(trials, chance):
            mass += weight
            moment += weight * m
            self.mass.append(mass)
            self.moment.append(moment)

    def mean_above(self, height: float) -> float:
        """Mean of the positive part of ``height - step * M``."""
        place = height if self.step == 0 else min(height / self.step, 1e15)
        last = min(math.floor(place) - self.start, len(self.mass) - 1)
        if last < 0:
            return 0.0
        return max(0.0, height * self.mass[last] - self.step * self.moment[last])


@lru_cache(maxsize=64)
def clones_delta(epsilon: float, local_epsilon: float, batch: int) -> float:
    """δ of shuffled rows of any ε₀-private mechanism, by clones.

    Feldman, McMillan & Talwar 2021: given the number C of clones, the likelihood ratio rises
    with the first count, so the positive part is a difference of two binomial tails.

    Parameters
    ----------
    epsilon, local_epsilon : float
        Central ε, and ε₀ of one row (no unit).
    batch : int
        Number n of rows.

    Returns
    -------
    float
        Within :data:`ACCURACY`; 0 where ε is at least ε₀.

    Raises
    ------
    TooLargeError
        If the sum has more than :data:`MOST_WORK` terms.
    """
    if epsilon >= local_epsilon:
        return 0.0
    ratio = math.exp(epsilon)
    likely = 1 / (1 + math.exp(-local_epsilon))
    low, high = _window(batch - 1, math.exp(-local_epsilon))
    half = _window(high, 0.5)
    if (high - low + 1) * (half[1] - half[0] + 1) > MOST_WORK:
        raise TooLargeError
    total = math.exp(-_LOG_LOST)
    for clones, chance in _binomial(batch - 1, math.exp(-local_epsilon)):
        total += chance * _clones_given(clones, likely, ratio)
    return min(1.0, total)


def _clones_given(clones: int, likely: float, ratio: float) -> float:
    """Hockey-stick divergence for a number of clones, over the count k of the first symbol."""
    rare = 1 - likely
    gains = likely - ratio * rare  # what one chance of A = k - 1 adds
    costs = ratio * likely - rare  # what one chance of A = k takes
    before = found = 0.0
    for _, weight in _binomial(clones, 0.5):
        found += max(0.0, gains * before - costs * weight)
        before = weight
    return found + gains * before


def _window(trials: int, chance: float) -> tuple[int, int]:
    """Counts outside which a binomial variable lies with a chance of at most e^-80 (Bernstein)."""
    mean, variance = trials * chance, trials * chance * (1 - chance)
    reach = math.sqrt(2 * _LOG_LOST * variance) + 2 * _LOG_LOST / 3 + 2
    return max(0, math.floor(mean - reach)), min(trials, math.ceil(mean + reach))


def _binomial(trials: int, chance: float) -> Iterator[tuple[int, float]]:
    """Counts and their chances inside the window, from the smallest count."""
    low, high = _window(trials, chance)
    if chance <= 0 or chance >= 1:
        yield (0 if chance <= 0 else trials), 1.0
        return
    centre = min(max(round(trials * chance), low), high)
    log_centre = (
        math.lgamma(trials + 1) - math.lgamma(centre + 1) - math.lgamma(trials - centre + 1)
        + centre * math.log(chance) + (trials - centre) * math.log1p(-chance)
    )  # fmt: skip
    odds = chance / (1 - chance)
    weights = [math.exp(log_centre)]
    for count in range(centre, low, -1):
        weights.append(weights[-1] * count / ((trials - count + 1) * odds))
    weights.reverse()
    for count in range(centre, high):
        weights.append(weights[-1] * (trials - count) / (count + 1) * odds)
    # Logarithms of large factorials cost digits that the sum of all chances gives back.
    total = math.fsum(weights)
    yield from ((low + place, weight / total) for place, weight in enumerate(weights))
