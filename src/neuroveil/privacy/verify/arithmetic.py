"""High-precision numbers for verification, from the standard library alone.

Everything here is written a second time on purpose: the release path calibrates with other
code, so that one mistake cannot sit on both sides. Numbers are :class:`decimal.Decimal` with
:data:`DIGITS` digits, or exact fractions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, InvalidOperation, localcontext
from fractions import Fraction
from functools import cache, lru_cache

DIGITS = 110
"""Working precision. Between ε = 1e-12 and 1e6 cancellation costs at most about 40 digits."""

_SERIES_BELOW = 5
_NEGLIGIBLE_BEYOND = 10**6


def _context(extra_digits: int = 0) -> Context:
    """A wide context: underflow is quiet (a tail of e^-1e15 is zero), the rest is loud."""
    return Context(
        prec=DIGITS + extra_digits, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[InvalidOperation]
    )


def precise() -> AbstractContextManager[Context]:
    """Decimal arithmetic with :data:`DIGITS` digits inside a ``with`` block.

    Returns
    -------
    context manager
        Restores the context that was there before.
    """
    return localcontext(_context())


def to_decimal(value: Fraction | int) -> Decimal:
    """Turn an exact fraction into a decimal number.

    Parameters
    ----------
    value : Fraction or int
        Exact value.

    Returns
    -------
    Decimal
        The value rounded to :data:`DIGITS` digits.
    """
    exact = Fraction(value)
    with precise():
        return Decimal(exact.numerator) / Decimal(exact.denominator)


def square_root(value: Fraction) -> Decimal:
    """Square root of an exact fraction.

    Parameters
    ----------
    value : Fraction
        Not negative.

    Returns
    -------
    Decimal
        The root to :data:`DIGITS` digits.
    """
    with precise():
        return to_decimal(value).sqrt()


@cache
def pi() -> Decimal:
    """Circle constant by the arithmetic-geometric mean (Gauss, Brent & Salamin 1976).

    Returns
    -------
    Decimal
        Correct beyond :data:`DIGITS` digits.
    """
    with localcontext(_context(20)):
        a, b = Decimal(1), Decimal(1) / Decimal(2).sqrt()
        t, power = Decimal("0.25"), 1
        for _ in range(9):
            following = (a + b) / 2
            b = (a * b).sqrt()
            t -= power * (a - following) ** 2
            a, power = following, 2 * power
        return (a + b) ** 2 / (4 * t)


def erfc(x: Decimal) -> Decimal:
    """Complementary error function of a number that is not negative.

    Below 5 by the series of erf whose terms are all positive (Abramowitz & Stegun 7.1.6),
    above by the continued fraction (7.1.14).

    Parameters
    ----------
    x : Decimal
        Not negative.

    Returns
    -------
    Decimal
        erfc(x), with a relative error below 1e-90; 0 beyond x = 1e6.
    """
    if x > _NEGLIGIBLE_BEYOND:
        return Decimal(0)
    return _erfc_by_series(x) if x < _SERIES_BELOW else _erfc_by_fraction(x)


def _erfc_by_series(x: Decimal) -> Decimal:
    """1 - erf(x); as many digits more as the subtraction costs."""
    with localcontext(_context(30)):
        square = x * x
        term = total = x
        n, negligible = 0, x.scaleb(-DIGITS - 30)
        while term > negligible:
            n += 1
            term = term * 2 * square / (2 * n + 1)
            total += term
        return 1 - 2 * total * (-square).exp() / pi().sqrt()


def _erfc_by_fraction(x: Decimal) -> Decimal:
    """Continued fraction, evaluated from a depth at which it has converged."""
    # The relative error after n terms falls like exp(-2 sqrt(2) x sqrt(2 n)).
    depth = math.ceil((DIGITS * math.log(10) / (4 * float(x))) ** 2) * 2 + 60
    with localcontext(_context(10)):
        square = x * x
        fraction = Decimal(1)
        for n in range(depth, 0, -1):
            fraction = 1 + Decimal(n) / (2 * square * fraction)
        return (-square).exp() / (x * pi().sqrt() * fraction)


def normal_cdf(z: Decimal) -> Decimal:
    """Distribution function of the standard normal law.

    Parameters
    ----------
    z : Decimal
        Any number.

    Returns
    -------
    Decimal
        P(Z <= z).
    """
    with precise():
        tail = erfc(abs(z) / Decimal(2).sqrt()) / 2
        return tail if z <= 0 else 1 - tail


@lru_cache(maxsize=256)
def delta_analytic(epsilon: Decimal, sigma: Decimal, sensitivity: Decimal) -> Decimal:
    """Smallest δ for which continuous Gaussian noise is (ε, δ)-DP.

    Balle & Wang 2018, Theorem 8: Φ(Δ/2σ - εσ/Δ) - e^ε Φ(-Δ/2σ - εσ/Δ).

    Parameters
    ----------
    epsilon : Decimal
        ε, between 0 and 1e6.
    sigma : Decimal
        Standard deviation of the noise, in the unit of the sensitivity; positive.
    sensitivity : Decimal
        Δ, the L2 sensitivity; positive.

    Returns
    -------
    Decimal
        δ, not below 0.
    """
    with precise():
        half, slope = sensitivity / (2 * sigma), epsilon * sigma / sensitivity
        # Above ε the second factor can only underflow together with its tail.
        value = normal_cdf(half - slope) - epsilon.exp() * normal_cdf(-half - slope)
        return max(value, Decimal(0))


@lru_cache(maxsize=256)
def smallest_epsilon(delta: Decimal, sigma: Decimal, sensitivity: Decimal) -> Decimal:
    """Smallest ε for which continuous Gaussian noise is (ε, δ)-DP, by bisection.

    Parameters
    ----------
    delta : Decimal
        δ, between 0 and 1.
    sigma, sensitivity : Decimal
        As in :func:`delta_analytic`.

    Returns
    -------
    Decimal
        ε from above, to 20 digits; infinite beyond 1e7.
    """
    if delta_analytic(Decimal(0), sigma, sensitivity) <= delta:
        return Decimal(0)
    high = Decimal(1)
    while delta_analytic(high, sigma, sensitivity) > delta:
        high *= 2
        if high > 10**7:
            return Decimal("Infinity")
    return _bisect(Decimal(0), high, lambda e: delta_analytic(e, sigma, sensitivity) <= delta)


@lru_cache(maxsize=256)
def smallest_sigma(epsilon: Decimal, delta: Decimal, sensitivity: Decimal) -> Decimal:
    """Smallest standard deviation for which Gaussian noise is (ε, δ)-DP, by bisection.

    Parameters
    ----------
    epsilon, delta, sensitivity : Decimal
        As in :func:`delta_analytic`; δ between 0 and 1, neither included.

    Returns
    -------
    Decimal
        σ from above, to 20 digits.
    """
    low = high = sensitivity
    while delta_analytic(epsilon, high, sensitivity) > delta:
        low, high = high, high * 2
    while delta_analytic(epsilon, low, sensitivity) <= delta:
        low, high = low / 2, low
    return _bisect(low, high, lambda s: delta_analytic(epsilon, s, sensitivity) <= delta)


def _bisect(low: Decimal, high: Decimal, enough: Callable[[Decimal], bool]) -> Decimal:
    """Smallest number in (low, high] that is enough, from above, to 20 digits."""
    with precise():
        while high - low > high.scaleb(-20):
            middle = (low + high) / 2
            low, high = (low, middle) if enough(middle) else (middle, high)
        return high


def slack_by_total_variation(epsilon: Decimal, dimension: int, scale: Decimal) -> Decimal:
    """Price of integer noise, first proof: (1 + e^ε) d / (24 s²).

    Parameters
    ----------
    epsilon : Decimal
        ε of the rows.
    dimension : int
        Number of coordinates d.
    scale : Decimal
        s, standard deviation of the noise in steps of the grid.

    Returns
    -------
    Decimal
        What must be added to δ of the continuous mechanism.
    """
    with precise():
        return (1 + epsilon.exp()) * dimension / (24 * scale * scale)


def slack_by_likelihood_ratio(delta: Decimal, dimension: int, scale: Decimal) -> Decimal:
    """Price of integer noise, second proof: δ - (e^(-d/(24 s²)) δ - e^-99).

    The continuous mechanism then has to hold at ε - η, see :func:`epsilon_shift`.

    Parameters
    ----------
    delta : Decimal
        δ of the whole release.
    dimension, scale : int, Decimal
        As in :func:`slack_by_total_variation`.

    Returns
    -------
    Decimal
        What is taken from δ before the continuous mechanism is calibrated.
    """
    with precise():
        kappa = dimension / (24 * scale * scale)
        return delta * (1 - (-kappa).exp()) + Decimal(-99).exp()


def epsilon_shift(epsilon: Decimal, dimension: int, scale: Decimal) -> Decimal:
    """What the second proof takes from ε: η = (d + B)/(24 s²) + 3 d e^(-2π²s²).

    B = d + 2 √(d (ε + 100)) + 2 (ε + 100) bounds the squared norm of the noise in units of
    s² up to a probability of e^-(ε + 99), where :func:`second_proof_applies`.

    Parameters
    ----------
    epsilon, dimension, scale : Decimal, int, Decimal
        As in :func:`slack_by_total_variation`.

    Returns
    -------
    Decimal
        η.
    """
    with precise():
        bound = _chi_square_bound(epsilon + 100, dimension)
        tail = 3 * dimension * (-2 * pi() ** 2 * min(scale * scale, Decimal(10**12))).exp()
        return (dimension + bound) / (24 * scale * scale) + tail


def second_proof_applies(epsilon: Decimal, dimension: int, scale: Decimal) -> bool:
    """Whether the second proof covers noise that was rounded to integers.

    Rounding moves the norm of the noise by at most √d/2 steps; what is left of B has to be
    the bound for e^-(ε + 99) (Laurent & Massart 2000, Lemma 1).

    Parameters
    ----------
    epsilon, dimension, scale : Decimal, int, Decimal
        As in :func:`slack_by_total_variation`.

    Returns
    -------
    bool
        True on every grid that is fine beside the noise.
    """
    with precise():
        root = _chi_square_bound(epsilon + 100, dimension).sqrt()
        left = root - Decimal(dimension).sqrt() / (2 * scale)
        return left > 0 and left * left >= _chi_square_bound(epsilon + 99, dimension)


def _chi_square_bound(x: Decimal, dimension: int) -> Decimal:
    """Bound that a chi-square variable crosses with a probability of at most e^-x."""
    return dimension + 2 * (dimension * x).sqrt() + 2 * x
