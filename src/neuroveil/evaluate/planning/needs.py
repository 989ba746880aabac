"""What a wanted correlation would need: a larger epsilon, or more patients."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import ROUND_CEILING, Context

from neuroveil.evaluate.planning.forecast import forecast_option
from neuroveil.evaluate.planning.options import Option
from neuroveil.evaluate.planning.question import PlanQuestion
from neuroveil.types.planning import Need

EPSILON_TRIED = (0.05, 100.0)
N_TRIED = (2, 100_000)

_TWO_DIGITS_UP = Context(prec=2, rounding=ROUND_CEILING)
_WIDTH = 0.05
"""Ratio, less 1, of the numbers between which the searches end."""


def need_of(option: Option, question: PlanQuestion, target: float, at_epsilon: float) -> Need:
    """Search for the smallest epsilon, and for the smallest number of patients.

    Parameters
    ----------
    option : Option
        The release.
    question : PlanQuestion
        Public numbers.
    target : float
        Wanted correlation: of patients' values, without the cohort's mean, or of covariances.
    at_epsilon : float
        Epsilon at which more patients are tried.

    Returns
    -------
    Need
        Rounded up to two digits.

    Raises
    ------
    ChainError
        If the release cannot be calibrated.
    """

    def score(epsilon: float, n_patients: int) -> float:
        asked = replace(question, n_patients=n_patients)
        return forecast_option(option, asked, epsilon).score

    epsilon = _smallest(lambda e: score(e, question.n_patients) >= target, *EPSILON_TRIED)
    # Rows that are protected on their own are as noisy in a large cohort as in a small one.
    depends_on_n = option.trust_model != "local"
    n_patients = None
    if depends_on_n:
        n_patients = _smallest(lambda n: score(at_epsilon, round(n)) >= target, *N_TRIED)
    return Need(
        option.label(), option.trust_model, target, _two_digits(epsilon),
        None if n_patients is None else math.ceil(_two_digits(float(round(n_patients))) or 0),
        depends_on_n, at_epsilon, EPSILON_TRIED[1], N_TRIED[1],
    )  # fmt: skip


def _smallest(is_enough: Callable[[float], bool], low: float, high: float) -> float | None:
    """Bisect a number that is enough from some value on, on a logarithmic scale."""
    if not is_enough(high):
        return None
    if is_enough(low):
        return low
    while high / low > 1 + _WIDTH:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def _two_digits(value: float | None) -> float | None:
    if value is None:
        return None
    return float(_TWO_DIGITS_UP.create_decimal(repr(value)))
