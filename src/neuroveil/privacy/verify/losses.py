"""Several releases about the same patients, composed exactly.

What was released before is a list of events. A pure event of ε is at worst randomised
response, whose privacy loss is ε with probability e^ε / (1 + e^ε) and -ε otherwise (Kairouz,
Oh & Viswanath 2015); a δ beside it is a chance of having no privacy at all. Gaussian noise with
multipliers z_i is together Gaussian noise with μ² = Σ 1 / z_i² (Dong, Roth & Su 2022). So

``δ(ε) = 1 - Π(1 - δ_i) (1 - E[δ_μ(ε - L)])``

with L the sum of the discrete losses and δ_μ the profile of the Gaussian mechanism. The sums
that L can be are listed one by one; only where there are too many are neighbours put together
on a grid, in a way that only raises δ (Doroshenko, Ghazi, Kamath, Kumar & Manurangsi 2022).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import neg

ACCURACY = 1e-6
"""Relative accuracy of the composed ε."""

_MOST_SUMS = 6000
_MOST_EVENTS = 2000
_MOST_KINDS = 40
_LARGEST_EPSILON = 1e7
_SERIES_FROM = 6.0
_ROOT = math.sqrt(2)


@dataclass
class Events:
    """What is composed.

    Parameters
    ----------
    pure : list of float
        ε of each event.
    deltas : list of float
        Chance of having no privacy, one for each event that has one.
    multipliers : list of float
        Noise standard deviation over L2 sensitivity of each Gaussian event (no unit).
    """

    pure: list[float] = field(default_factory=list)
    deltas: list[float] = field(default_factory=list)
    multipliers: list[float] = field(default_factory=list)

    @property
    def are_few(self) -> bool:
        """Whether the exact composition takes seconds and not hours."""
        return len(self.pure) <= _MOST_EVENTS and len(set(self.pure)) <= _MOST_KINDS


def composed_epsilon(events: Events, delta: float) -> float:
    """Smallest ε that all events have together at a δ.

    Parameters
    ----------
    events : Events
        What was released.
    delta : float
        δ, between 0 and 1.

    Returns
    -------
    float
        ε; infinite where there is none at this δ.
    """
    profile = _profile(events)
    if profile(0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while profile(high) > delta:
        low, high = high, 2 * high
        if high > _LARGEST_EPSILON:
            return math.inf
    while high - low > ACCURACY / 10 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if profile(middle) > delta else (low, middle)
    return high


def _profile(events: Events) -> Callable[[float], float]:
    """The smallest δ as a function of ε."""
    losses = _loss_sums(events.pure)
    mu = math.sqrt(math.fsum(1 / z**2 for z in events.multipliers))
    kept = math.prod(1 - delta for delta in events.deltas)
    lost = 1.0 if kept == 0 else -math.expm1(math.fsum(map(math.log1p, map(neg, events.deltas))))

    def delta_at(epsilon: float) -> float:
        mean = math.fsum(
            chance * gaussian_delta(epsilon - loss, mu) for loss, chance in losses.items()
        )
        return lost + kept * mean

    return delta_at


def gaussian_delta(epsilon: float, mu: float) -> float:
    """Profile of the Gaussian mechanism, also for ε below 0.

    Parameters
    ----------
    epsilon : float
        ε, any number.
    mu : float
        Sensitivity over noise standard deviation; 0 for no mechanism at all.

    Returns
    -------
    float
        Φ(μ/2 - ε/μ) - e^ε Φ(-μ/2 - ε/μ), as φ(a) (R(a) - R(a + μ)) with a = ε/μ - μ/2 and
        Mills' ratio R, which loses no digits in the tail.
    """
    if mu == 0:
        return -math.expm1(epsilon) if epsilon < 0 else 0.0
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    density = math.exp(-a * a / 2) / math.sqrt(2 * math.pi)
    if a >= 0:
        return density * (_mills(a) - _mills(b))
    taken = density * _mills(b) if b >= 0 else math.exp(epsilon) * 0.5 * math.erfc(b / _ROOT)
    return 0.5 * math.erfc(a / _ROOT) - taken


def _mills(x: float) -> float:
    """Mills' ratio (1 - Φ(x)) / φ(x) for x >= 0."""
    if x < _SERIES_FROM:
        return math.sqrt(math.pi / 2) * math.exp(x * x / 2) * math.erfc(x / math.sqrt(2))
    fraction = x
    for n in range(60, 0, -1):
        fraction = x + n / fraction
    return 1 / fraction


def _loss_sums(pure: list[float]) -> dict[float, float]:
    """Chances of the sums of the losses of randomised responses."""
    sums = {0.0: 1.0}
    for epsilon, count in sorted(Counter(pure).items()):
        single = {
            (2 * j - count) * epsilon: chance
            for j in range(count + 1)
            if (chance := _binomial(count, j, epsilon)) > 0
        }
        grown: dict[float, float] = {}
        for loss, chance in sums.items():
            for step, weight in single.items():
                grown[loss + step] = grown.get(loss + step, 0.0) + chance * weight
        sums = _gathered(grown) if len(grown) > _MOST_SUMS else grown
    return sums


def _binomial(count: int, j: int, epsilon: float) -> float:
    """Chance that j of so many randomised responses have their loss above 0."""
    choices = math.lgamma(count + 1) - math.lgamma(j + 1) - math.lgamma(count - j + 1)
    unlikely = -math.log1p(math.exp(-epsilon))
    return math.exp(choices + count * unlikely - (count - j) * epsilon)


def _gathered(sums: dict[float, float]) -> dict[float, float]:
    """Put sums on a grid; each is split so that both tables' chances of it are kept."""
    low, high = min(sums), max(sums)
    width = (high - low) / (_MOST_SUMS // 2)
    found: dict[int, float] = {}
    for loss, chance in sums.items():
        cell = min(int((loss - low) / width), _MOST_SUMS // 2 - 1)
        above = math.expm1(-(loss - low - cell * width)) / math.expm1(-width)
        above = min(max(above, 0.0), 1.0)
        for place, share in ((cell, 1 - above), (cell + 1, above)):
            found[place] = found.get(place, 0.0) + chance * share
    return {low + place * width: chance for place, chance in found.items() if chance > 0}
