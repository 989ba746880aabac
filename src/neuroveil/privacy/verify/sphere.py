"""Moments of the codewords that lie closest to a row, by plain numerical integration.

Codewords are uniform points of the unit sphere of R^D; what counts of one is its inner product
T = cos θ with the row, whose angle has a density proportional to sin^(D-2) θ. Of N codewords
the K with the smallest angles are the close ones. With ``U(θ)`` the share of the sphere within
an angle θ, the share within the first angle that is not close follows Beta(K, N - K), and

* mean of T over the close ones = (N / K) E[sin^(D-1) Θ / ((D - 1) B)],
* mean of T² over the close ones = (N / K) E[U(Θ) / D + sin^(D-1) Θ cos Θ / (D B)],

where Θ is that angle and ``B`` the integral of sin^(D-2) over (0, π): both follow from the
density of an order statistic by integration in parts. The integrals are taken over the angle
with Gauss and Legendre's rule on narrow panels, in double precision.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

ACCURACY = 1e-9
"""Relative accuracy of the moments; what is stated may differ by as much."""

_PANELS = 4096
_FINE_PANELS = 400
_HALF_NODES = (
    (0.1834346424956498, 0.3626837833783620),
    (0.5255324099163290, 0.3137066458778873),
    (0.7966664774136267, 0.2223810344533745),
    (0.9602898564975363, 0.1012285362903763),
)  # fmt: skip
_NODES = tuple((sign * x, weight) for x, weight in _HALF_NODES for sign in (-1.0, 1.0))
_NEGLIGIBLE = 45.0
_WHOLE = 1 - 2.0**-53


@dataclass(frozen=True)
class CloseMoments:
    """Means over the close codewords, over codebooks and draws.

    Parameters
    ----------
    first : float
        Mean of the inner product with the row (no unit).
    second : float
        Mean of its square (no unit).
    """

    first: float
    second: float


class _Angles:
    """The law of the angle between a uniform point and a fixed direction."""

    def __init__(self, sphere_dimension: int) -> None:
        self.power = sphere_dimension - 2
        self.log_norm = (
            math.lgamma((sphere_dimension - 1) / 2)
            - math.lgamma(sphere_dimension / 2)
            + 0.5 * math.log(math.pi)
        )
        self.width = math.pi / _PANELS
        self.within = [0.0]
        for panel in range(_PANELS):
            low = panel * self.width
            self.within.append(self.within[-1] + self.mass(low, low + self.width))

    def density(self, angle: float) -> float:
        """Density of the angle, for angles inside (0, pi)."""
        return math.exp(self.power * math.log(math.sin(angle)) - self.log_norm)

    def share(self, angle: float) -> float:
        """Share of the sphere within an angle."""
        panel = min(int(angle / self.width), _PANELS - 1)
        return self.within[panel] + self.mass(panel * self.width, angle)

    def angle(self, share: float) -> float:
        """Angle that holds a share, by bisection."""
        low, high = 0.0, math.pi
        for _ in range(70):
            middle = (low + high) / 2
            low, high = (middle, high) if self.share(middle) < share else (low, middle)
        return high

    def mass(self, low: float, high: float) -> float:
        half, centre = (high - low) / 2, (high + low) / 2
        if half <= 0:
            return 0.0
        return half * math.fsum(weight * self.density(centre + half * x) for x, weight in _NODES)


@lru_cache(maxsize=8)
def _angles(sphere_dimension: int) -> _Angles:
    return _Angles(sphere_dimension)


@lru_cache(maxsize=64)
def close_moments(size: int, top: int, sphere_dimension: int) -> CloseMoments:
    """Means of T and T² over the K closest of N codewords.

    Parameters
    ----------
    size, top : int
        Codewords N and close codewords K, K at most N / 2.
    sphere_dimension : int
        D, at least 2.

    Returns
    -------
    CloseMoments
        Within :data:`ACCURACY`.
    """
    law = _angles(sphere_dimension)
    low, high = _reach(law, size, top)
    width = (high - low) / _FINE_PANELS
    peak = math.log(top / size)
    rest = math.log1p(-top / size)
    mass: list[float] = []
    first: list[float] = []
    second: list[float] = []
    share = law.share(low)
    for panel in range(_FINE_PANELS):
        start = low + panel * width
        for x, weight in sorted(_NODES):
            angle = start + width * (1 + x) / 2
            within = share + law.mass(start, angle)
            exponent = (top - 1) * (math.log(within) - peak)
            exponent += (size - top - 1) * (math.log1p(-min(within, _WHOLE)) - rest)
            chance = weight * math.exp(exponent) * law.density(angle)
            rim = law.density(angle) * math.sin(angle)
            mass.append(chance)
            first.append(chance * rim / (sphere_dimension - 1))
            second.append(chance * (within + rim * math.cos(angle)) / sphere_dimension)
        share += law.mass(start, start + width)
    scale = size / top / math.fsum(mass)
    return CloseMoments(scale * math.fsum(first), scale * math.fsum(second))


def _reach(law: _Angles, size: int, top: int) -> tuple[float, float]:
    """Angles outside which the first codeword that is not close lies with negligible chance."""
    spread = 13 * math.sqrt(1 / top + 1 / (size - top))
    centre = math.log(top / (size - top))
    low = 1 / (1 + math.exp(-(centre - spread - _NEGLIGIBLE / top)))
    high = 1 / (1 + math.exp(-(centre + spread + _NEGLIGIBLE / (size - top))))
    # A Gamma(K) variable exceeds K + sqrt(2 K x) + x with a chance of at most e^-x.
    few = (top + math.sqrt(2 * _NEGLIGIBLE * top) + _NEGLIGIBLE) / (size - top)
    return law.angle(low), law.angle(min(high, few))
