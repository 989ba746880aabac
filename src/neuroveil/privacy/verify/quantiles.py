"""Scaling constants that were drawn: what one quantile may cost, derived again.

Each of n quantiles is drawn by an exponential mechanism, which is purely e-private and costs
e²/8 in zero-concentrated terms (its log-likelihood ratios lie in a range of width e). So all
together keep ε = n e, and (ε, δ) wherever the conversion of ρ = n e²/8 gives no more: whatever
order a > 1 is chosen, ε = ρ a + ln(1/(a δ)) / (a - 1) + ln(1 - 1/a) is a bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from neuroveil.privacy.verify.findings import broken, finding, holds, is_close, missing, show
from neuroveil.privacy.verify.result import Check
from neuroveil.privacy.verify.statement import Statement

_STEP = "preprocessing.scaling"
_COUNT, _EACH, _RHO = (
    f"preprocessing.{name}" for name in ("n_quantiles", "quantile_epsilon", "quantile_rho")
)  # fmt: skip
_SOURCE = "Cesar & Rogers 2021; Canonne, Kamath & Steinke 2020, Proposition 12"
_ROUNDED_DOWN = 1e-6
_ROUNDING = 1e-12
_REACH = 6.0
_ROUNDS = 80
_DRAWS_PER_COLUMN = 2


def check_quantiles(statement: Statement) -> Iterator[Check]:
    """Check the budget of drawn constants against what each quantile spends.

    Parameters
    ----------
    statement : Statement
        A certificate whose scaling was fitted under a budget.

    Yields
    ------
    Check
        The budget, the number of quantiles, ε of one and ρ of all.
    """
    epsilon, delta = (statement.number(_STEP, key) for key in ("epsilon", "delta"))
    each, d = statement.number(_EACH), statement.integer("domain.dimension")
    if epsilon is None or delta is None or not Fraction(1, 10**12) <= epsilon <= 10**6:
        yield broken(_STEP, "Constants from the cohort need an epsilon of their own.")
        return
    if not 0 <= delta < 1:
        yield broken(_STEP, "Delta is a probability below 1.", stated=delta)
        return
    if each is None or d is None or d < 1 or not 0 < each <= 2 * epsilon + 2:
        yield missing(_EACH, "what one quantile spends, within its range")
        return
    yield holds(
        _STEP, f"Scaling constants were drawn with epsilon = {show(epsilon)} and delta = "
        f"{show(delta)} of their own.", source="McSherry & Talwar 2007",
    )  # fmt: skip
    count = _DRAWS_PER_COLUMN * d
    yield _same(statement, _COUNT, Fraction(count), "Two quantiles are drawn for each column")
    yield _check_each(float(each), count, float(epsilon), float(delta))
    rho = each**2 * count / 8
    yield _same(statement, _RHO, rho, "All quantiles together cost rho")


def _same(statement: Statement, name: str, right: Fraction, words: str) -> Check:
    stated = statement.number(name)
    agrees = stated is not None and is_close(stated, right, 1e-9)
    return finding(
        "holds" if agrees else "broken", name, f"{words}: {show(right)}.",
        stated=stated, recomputed=right, source=_SOURCE,
    )  # fmt: skip


def _check_each(each: float, count: int, epsilon: float, delta: float) -> Check:
    """Neither more than the budget allows, nor less than the most that it does."""
    spent = min(each * count, _converted(each, count, delta))
    largest = _largest(count, epsilon, delta)
    agrees = spent <= epsilon * (1 + _ROUNDING) and each >= largest * (1 - _ROUNDED_DOWN)
    return finding(
        "holds" if agrees else "broken", _EACH,
        f"{count} quantiles of epsilon = {each:.6g} spend {spent:.6g} together"
        + ("." if agrees else f"; epsilon = {epsilon:.6g} pays for {largest:.6g} each."),
        stated=each, recomputed=largest, source=_SOURCE,
    )  # fmt: skip


def _largest(count: int, epsilon: float, delta: float) -> float:
    """The most that one quantile may spend."""
    pure = epsilon / count
    if delta == 0:
        return pure
    low, high = 0.0, math.sqrt(8 * (epsilon + 1) / count) * 2
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        if _converted(middle, count, delta) <= epsilon:
            low = middle
        else:
            high = middle
    return max(pure, low)


def _converted(each: float, count: int, delta: float) -> float:
    """ε at δ of all quantiles, by the best order found; infinite where δ is 0."""
    rho = count * each * each / 8
    if delta == 0 or rho == 0:
        return math.inf if rho else 0.0
    centre = math.log(math.sqrt(math.log(1 / delta) / rho))
    low, high = centre - _REACH, centre + _REACH
    for _ in range(_ROUNDS):
        third = (high - low) / 3
        if _at_order(rho, delta, low + third) <= _at_order(rho, delta, high - third):
            high -= third
        else:
            low += third
    return max(0.0, _at_order(rho, delta, (low + high) / 2))


def _at_order(rho: float, delta: float, log_excess: float) -> float:
    excess = math.exp(min(log_excess, 600.0))  # order a less 1
    order = 1 + excess
    return rho * order - (math.log(order) + math.log(delta)) / excess + math.log1p(-1 / order)
