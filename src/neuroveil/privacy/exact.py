"""Exact rationals, and the few roundings that a proof needs: always to the safe side.

A setting such as ``epsilon = 0.1`` is charged as the decimal that a person wrote, and stands
in the certificate as the binary fraction next to it. Where the difference matters, the
smaller of the two is what noise is made for.
"""

from __future__ import annotations

import math
from fractions import Fraction

_GUARD_BITS = 96


def exact(value: float) -> Fraction:
    """Read a number as the decimal that it was written as.

    Parameters
    ----------
    value : float or int
        A finite number, for example a setting.

    Returns
    -------
    Fraction
        The shortest decimal that stands for it: ``0.1`` becomes exactly 1/10.
    """
    return Fraction(value) if isinstance(value, int) else Fraction(repr(float(value)))


def exact_down(value: float) -> Fraction:
    """Give the smaller of what a number is and what it was written as.

    Parameters
    ----------
    value : float or int
        A finite number, for example an epsilon.

    Returns
    -------
    Fraction
        At most the decimal, which is charged, and at most the double, which is certified.
    """
    return min(exact(value), Fraction(value))


def float_up(value: Fraction) -> float:
    """Give the smallest float that is not below a rational.

    Parameters
    ----------
    value : Fraction
        Exact value.

    Returns
    -------
    float
        ``value`` rounded towards plus infinity.
    """
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def float_down(value: Fraction) -> float:
    """Give the largest float that is not above a rational.

    Parameters
    ----------
    value : Fraction
        Exact value.

    Returns
    -------
    float
        ``value`` rounded towards minus infinity.
    """
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)


def sqrt_up(value: Fraction, bits: int = 128) -> Fraction:
    """Give an upper bound of a square root, exact where the root is rational.

    Parameters
    ----------
    value : Fraction
        Not negative.
    bits : int
        Binary digits after the point of the bound's numerator.

    Returns
    -------
    Fraction
        At least ``sqrt(value)``, and above it by less than ``2**-bits / denominator``.
    """
    # sqrt(p / q) = sqrt(p q) / q keeps the root of a rational square exact.
    product = value.numerator * value.denominator << (2 * bits)
    root = math.isqrt(product)
    if root * root < product:
        root += 1
    return Fraction(root, value.denominator << bits)


def exp_down(exponent: Fraction, bits: int) -> int:
    """Give a proven lower bound of ``exp(exponent) * 2**bits`` as an integer.

    The Taylor series of the exponential function has only positive terms here, and every
    term is rounded down, so whatever has been summed is below the exact value.

    Parameters
    ----------
    exponent : Fraction
        Not negative.
    bits : int
        Binary digits after the point.

    Returns
    -------
    int
        Below ``exp(exponent) * 2**bits`` by less than one unit plus a relative 2**-80, for
        exponents up to 1000.
    """
    term = 1 << (bits + _GUARD_BITS)
    total = 0
    order = 0
    while term:
        total += term
        order += 1
        term = term * exponent.numerator // (exponent.denominator * order)
    return total >> _GUARD_BITS
