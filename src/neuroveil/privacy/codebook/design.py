"""How many codewords, and how many of them count as close: from public numbers alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from neuroveil.errors import ChainError
from neuroveil.privacy.codebook.caps import row_mse, sphere_mse, top_moments
from neuroveil.privacy.exact import exact_down, exp_down
from neuroveil.privacy.validate import check_dimension, check_epsilon

PROBABILITY_BITS = 128
"""The chance of a close codeword is a whole number of 2^-128, and never 1."""

SMALLEST_CODEBOOK = 1 << 12
LARGEST_CODEBOOK = 1 << 30
DEFAULT_BUDGET = 1 << 19
"""Codewords that are worth waiting for: some seconds for a small cohort."""

_EXP_BITS = 192
_MSE_EXCESS = 0.01
_BIAS_SHARE = 0.05
_WORK = 1.2e12
_MAKING = 200


def top_probability(epsilon: float, size: int, top: int) -> int:
    """Give the chance of a close codeword, rounded down, in units of 2^-128.

    p = e^epsilon K / (e^epsilon K + N - K) grows with e^epsilon, so a proven lower bound of
    e^epsilon and two roundings down give a probability at most the exact one. The exact one is
    below 1, so its floor in units of 2^-128 is at most 1 - 2^-128.

    Parameters
    ----------
    epsilon : float
        Epsilon of a row (no unit).
    size, top : int
        Codewords N and close codewords K, with K below N.

    Returns
    -------
    int
        From 1 to 2^128 - 1.
    """
    grown = exp_down(exact_down(epsilon), _EXP_BITS) * top
    return (grown << PROBABILITY_BITS) // (grown + ((size - top) << _EXP_BITS))


@dataclass(frozen=True)
class CodebookDesign:
    """Public sizes of a k-closest mechanism, and what follows from them.

    Parameters
    ----------
    epsilon : float
        Epsilon of a row (no unit).
    dimension : int
        Number d of columns; codewords have one more.
    size : int
        Number N of codewords, from 2 to :data:`LARGEST_CODEBOOK`.
    top : int
        Number K of codewords that count as close, at most N / 2.

    Raises
    ------
    ChainError
        If a parameter is out of range.
    """

    epsilon: float
    dimension: int
    size: int
    top: int

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_dimension(self.dimension)
        if not 2 <= self.size <= LARGEST_CODEBOOK or not 1 <= self.top <= self.size // 2:
            raise ChainError(
                "mechanism.codebook", "2 to 2^30 codewords, at most half of them close",
                f"{self.size} codewords, {self.top} close", "Choose both by choose_codebook.",
            )  # fmt: skip

    @property
    def sphere_dimension(self) -> int:
        """Number d + 1 of columns of a codeword."""
        return self.dimension + 1

    @cached_property
    def threshold(self) -> int:
        """Chance of a close codeword in units of 2^-128, rounded down."""
        return top_probability(self.epsilon, self.size, self.top)

    @property
    def probability(self) -> float:
        """Chance p of a close codeword, to the nearest double (no unit)."""
        return self.threshold / (1 << PROBABILITY_BITS)

    @property
    def likelihood_ratio(self) -> Fraction:
        """Exact ratio of the chances of one close and one other codeword.

        The chances of a codeword from any two rows differ by this factor at most, and it is at
        most e^epsilon.
        """
        others = (1 << PROBABILITY_BITS) - self.threshold
        return Fraction(self.threshold * (self.size - self.top), others * self.top)

    @cached_property
    def moments(self) -> tuple[float, float]:
        """Mean m of v u and mean of (v u)^2 for a codeword v released for a unit row u.

        Over codebooks and draws; exact order statistics, see
        :func:`~neuroveil.privacy.codebook.caps.top_moments` (no unit).
        """
        first, second = top_moments(self.size, self.top, self.sphere_dimension)
        inside, outside = self._weights
        rest = self.size / self.sphere_dimension - self.top * second
        alignment = first * self.top * (inside - outside)
        return alignment, self.top * second * inside + rest * outside

    @property
    def alignment(self) -> float:
        """Mean m of v u: a codeword v is decoded as C v / m (no unit)."""
        return self.moments[0]

    @property
    def mse_over_clip_norm_squared(self) -> float:
        """Squared error of a row of norm C over its d columns, divided by C^2 (no unit)."""
        return row_mse(*self.moments, self.dimension)

    @cached_property
    def bias_over_clip_norm_squared(self) -> float:
        """Part of the squared error that is the same in every draw from one codebook.

        The mean of the close codewords strays from the row by the finite number of them, and
        so does the mean of the others. Divided by C^2; across the row's direction, which holds
        nearly all of it (no unit). A fresh codebook for every row averages it out.
        """
        _, second = top_moments(self.size, self.top, self.sphere_dimension)
        inside, outside = self._weights
        rest = self.size - self.top - self.size / self.sphere_dimension + self.top * second
        stray = self.top * inside**2 * (1 - second) + outside**2 * rest
        released = (self.dimension - 1) / self.dimension if self.dimension > 1 else 0.0
        return released * stray / self.alignment**2

    @property
    def _weights(self) -> tuple[float, float]:
        """Chance of each single close codeword and of each other one."""
        others = (1 << PROBABILITY_BITS) - self.threshold
        scale = 1 << PROBABILITY_BITS
        return (
            self.threshold / (scale * self.top),
            others / (scale * (self.size - self.top)),
        )


def choose_codebook(epsilon: float, dimension: int, budget: int = DEFAULT_BUDGET) -> CodebookDesign:
    """Choose the number of codewords and of close ones from epsilon and the dimension.

    The number of codewords is the smallest power of two from 4,096 on whose error is at most
    1 % above that of the whole sphere and whose bias is at most 5 % of it, or the largest
    power of two within the budget. It grows with epsilon: from 4,096 codewords at 5 over 2^15 at
    10 to more than 2^24 at 20, where the budget decides.

    Parameters
    ----------
    epsilon : float
        Epsilon of a row (no unit).
    dimension : int
        Number d of columns.
    budget : int
        Largest number of codewords, at least 4,096, see :func:`affordable_codewords`. Time
        grows with it; memory does not.

    Returns
    -------
    CodebookDesign
        With the number of close codewords of least predicted error.

    Raises
    ------
    ChainError
        If a parameter is out of range.
    """
    check_epsilon(epsilon)
    check_dimension(dimension)
    if not SMALLEST_CODEBOOK <= budget <= LARGEST_CODEBOOK:
        raise ChainError(
            "mechanism.codebook_budget", f"{SMALLEST_CODEBOOK} to {LARGEST_CODEBOOK} codewords",
            f"{budget}", "Allow a codebook of an ordinary size.",
        )  # fmt: skip
    ideal = sphere_mse(epsilon, dimension)
    size = SMALLEST_CODEBOOK
    design = best_top(epsilon, dimension, size)
    while 2 * size <= budget and not _is_close_to(design, ideal):
        size *= 2
        design = best_top(epsilon, dimension, size)
    return design


def best_top(epsilon: float, dimension: int, size: int) -> CodebookDesign:
    """Choose the number of close codewords of least predicted error.

    Parameters
    ----------
    epsilon : float
        Epsilon of a row (no unit).
    dimension : int
        Number d of columns.
    size : int
        Number N of codewords.

    Returns
    -------
    CodebookDesign
        With the best K.

    Raises
    ------
    ChainError
        If a parameter is out of range.
    """
    from scipy.optimize import minimize_scalar

    def at(log_top: float) -> CodebookDesign:
        top = min(max(1, round(math.exp(log_top))), size // 2)
        return CodebookDesign(epsilon, dimension, size, top)

    best = minimize_scalar(
        lambda log_top: at(log_top).mse_over_clip_norm_squared,
        bounds=(0.0, math.log(size / 2)), method="bounded", options={"xatol": 1e-3},
    )  # fmt: skip
    found = at(float(best.x)).top
    # The search moves in small steps of log K; between small whole numbers it may stop one off.
    tops = {1, *range(max(1, found - 2), min(found + 2, size // 2) + 1)}
    designs = [CodebookDesign(epsilon, dimension, size, top) for top in sorted(tops)]
    return min(designs, key=lambda design: design.mse_over_clip_norm_squared)


def affordable_codewords(n_patients: int, dimension: int) -> int:
    """Give the largest codebook for a table of a certain size, in reasonable time.

    Parameters
    ----------
    n_patients : int
        Number of rows, public.
    dimension : int
        Number d of columns.

    Returns
    -------
    int
        A power of two from 4,096 to :data:`DEFAULT_BUDGET`, such that ranking takes at most
        1.2e12 multiplications and additions, about half a minute on two processors; making one
        codeword costs as much as ranking it for 200 rows.
    """
    codewords = _WORK / ((n_patients + _MAKING) * (dimension + 1))
    size = SMALLEST_CODEBOOK
    while 2 * size <= min(codewords, DEFAULT_BUDGET):
        size *= 2
    return size


def _is_close_to(design: CodebookDesign, ideal: float) -> bool:
    mse = design.mse_over_clip_norm_squared
    bias = design.bias_over_clip_norm_squared
    return mse <= (1 + _MSE_EXCESS) * ideal and bias <= _BIAS_SHARE * mse
