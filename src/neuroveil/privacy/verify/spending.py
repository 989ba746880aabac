"""What these patients have spent: the link composition."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from statistics import NormalDist
from typing import Any

from neuroveil.privacy.verify.arithmetic import smallest_epsilon, square_root, to_decimal
from neuroveil.privacy.verify.basis import (
    is_shuffled,
    row_delta,
    row_epsilon,
    scaling_events,
    squared_sensitivity,
)
from neuroveil.privacy.verify.findings import broken, finding, holds, missing, show
from neuroveil.privacy.verify.losses import ACCURACY, Events, composed_epsilon
from neuroveil.privacy.verify.result import Check
from neuroveil.privacy.verify.statement import Statement, as_number

_LOSSES = "composition of privacy losses: Kairouz, Oh & Viswanath 2015; Dong, Roth & Su 2022"
_SET_ASIDE = 1e-9
_ROUNDED_UP = 2e-3
_LARGEST_RATIO = 60.0
_LARGEST_LOSS = 690.0
_SMALLEST_MULTIPLIER = 1e-6
_LARGEST = 1e9
_SMALL_EPSILON = 1e-5
_BASIC = "basic composition, Dwork & Roth 2014, Theorem 3.16"


def check_composition(statement: Statement) -> Iterator[Check]:
    """Check that the releases about the same patients stay within a limit.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Yields
    ------
    Check
        Number of earlier releases, and the arithmetic of the budget.
    """
    prior = statement.integer("composition.prior_releases")
    spent = [statement.number("composition.spent_before", key) for key in ("epsilon", "delta")]
    limit = [statement.number("composition.limit", key) for key in ("epsilon", "delta")]
    if prior is None and None in spent:
        yield missing("composition.prior_releases", "whether these patients were released before")
    elif prior is not None and None not in spent and not _agree(prior, spent):
        yield broken(
            "composition.prior_releases",
            "The number of earlier releases and what they spent contradict each other.",
            stated=prior,
        )  # fmt: skip
    elif prior == 0 or None not in spent:
        words = (
            "Nothing was released about these patients before."
            if spent == [0, 0] or prior == 0
            else "What was released about these patients before is counted."
        )
        yield holds("composition.prior_releases", words, stated=prior)
    else:
        yield missing("composition.prior_releases", "what the earlier releases spent")
    if statement.is_claim and None in limit:
        return
    if statement.text("composition.rule") == "pld" and not statement.is_claim:
        yield from _check_by_losses(statement)
        return
    for key, total, before in zip(("epsilon", "delta"), limit, spent, strict=True):
        yield _check_remaining(statement, key, total, before)


def _agree(prior: int, spent: list[Fraction | None]) -> bool:
    """Every release spends some epsilon, though not every one spends some delta."""
    return spent == [0, 0] if prior == 0 else spent[0] != 0


def _check_remaining(
    statement: Statement, key: str, limit: Fraction | None, before: Fraction | None
) -> Check:
    name, this = f"composition.remaining.{key}", statement.number(f"guarantee.{key}")
    before = Fraction(0) if before is None and statement.is_claim else before
    if limit is None or before is None or this is None:
        return missing(name, "limit, spent_before or guarantee")
    right, stated = limit - before - this, statement.number("composition.remaining", key)
    rounding = Fraction(1, 10**12) * max(limit, before, this)
    details = {"stated": stated, "recomputed": right, "source": _BASIC}
    if before < 0 or limit < 0 or right < -rounding:
        return broken(
            name, f"This release and those before it spend more {key} than the limit allows.",
            **details,
        )  # fmt: skip
    if stated is None and statement.is_claim:
        return holds(name, f"There is room for this release: {key} {show(right)}.", **details)
    if stated is None or stated < -rounding or abs(stated - right) > rounding:
        return broken(name, f"What remains of {key} is {show(right)}.", **details)
    return holds(name, f"{show(right)} of the limit for {key} remains.", **details)


def _check_by_losses(statement: Statement) -> Iterator[Check]:
    """Rule pld: ε at the limit's δ, of what was before, and of that together with this."""
    limit = [statement.number("composition.limit", key) for key in ("epsilon", "delta")]
    spent = [statement.number("composition.spent_before", key) for key in ("epsilon", "delta")]
    left = [statement.number("composition.remaining", key) for key in ("epsilon", "delta")]
    before, this = _prior_events(statement), _this_release(statement)
    if this is None or None in limit or limit[1] is None or not 0 < limit[1] < 1:
        yield missing("composition.remaining.epsilon", "composition.limit or what is released")
        return
    prior, delta = [] if before is None else before, limit[1]
    expected = delta if prior else Fraction(0)
    yield _spend(statement, "composition.spent_before", spent[0], prior, delta)
    agrees = spent[1] == expected and left[1] == 0
    yield finding(
        "holds" if agrees else "broken", "composition.remaining.delta",
        "All of delta goes with the epsilon that is counted at it."
        if agrees
        else "What is stated of delta is not the delta at which epsilon is counted.",
        stated=spent[1], recomputed=expected, source=_LOSSES,
    )  # fmt: skip
    if limit[0] is None or left[0] is None:
        yield missing("composition.remaining.epsilon")
    elif left[0] < 0:
        yield broken(
            "composition.remaining.epsilon",
            "This release and those before it spend more epsilon than the limit allows.",
            stated=left[0],
        )  # fmt: skip
    else:
        total = limit[0] - left[0]
        yield _spend(statement, "composition.remaining.epsilon", total, [*prior, *this], delta)


def _spend(
    statement: Statement, name: str, stated: Fraction | None,
    events: list[Mapping[str, Any]], delta: Fraction,
) -> Check:  # fmt: skip
    """Compare a spend with the rule, and with the exact composition of all losses."""
    if stated is None:
        return missing(name)
    losses = _as_losses(events)
    least = composed_epsilon(losses, float(delta)) if events and losses.are_few else 0.0
    rule = _by_the_rule(events, delta) if events else 0.0
    details = {"stated": stated, "recomputed": rule if math.isfinite(rule) else None}
    tolerance = Fraction(1, 10**9) + abs(stated) / 10**9
    if not math.isfinite(least + rule) or stated + tolerance < Fraction(least * (1 - ACCURACY)):
        return broken(
            name, f"The releases together have epsilon = {show(least)} at delta = {show(delta)}, "
            "more than what is counted.", source=_LOSSES, **details,
        )  # fmt: skip
    low = Fraction(rule * (1 - ACCURACY)) - tolerance
    high = Fraction(rule * (1 + _ROUNDED_UP)) + tolerance
    agrees = low <= stated <= high
    return finding(
        "holds" if agrees else "broken", name,
        f"The releases together are counted with epsilon = {show(rule)} at delta = {show(delta)}"
        + ("." if agrees else f", not with {show(stated)}."),
        source=_LOSSES, **details,
    )  # fmt: skip


def _prior_events(statement: Statement) -> list[Mapping[str, Any]] | None:
    found = statement.listing("composition.prior_events")
    return None if found is None else [entry for entry in found if isinstance(entry, Mapping)]


def _this_release(statement: Statement) -> list[Mapping[str, Any]] | None:
    """The events of this release, from its foundations and not from what is stated of them."""
    epsilon, delta = row_epsilon(statement), row_delta(statement)
    if epsilon is None or delta is None:
        return None
    rows: dict[str, Any] = {"epsilon": float(epsilon), "delta": float(delta)}
    if statement.text("mechanism.name") == "gaussian" and not is_shuffled(statement):
        square = squared_sensitivity(statement, "l2")
        scale = statement.number("mechanism.noise_scale")
        if not square or scale is None or scale <= 0:
            return None
        rows["noise_multiplier"] = _between(
            Fraction(square_root(scale**2 / square)), _SMALLEST_MULTIPLIER, _LARGEST
        )
    labels = statement.entries("domain.labels")
    labelled = [{"epsilon": entry.get("epsilon"), "delta": 0.0} for entry in labels]
    return [rows, *scaling_events(statement), *labelled]


def _as_losses(events: list[Mapping[str, Any]]) -> Events:
    """Numbers of events; what is beyond all use is moved to where it stays harmless."""
    found = Events()
    for event in events:
        multiplier = as_number(event.get("noise_multiplier"))
        if multiplier:
            found.multipliers.append(_between(multiplier, _SMALLEST_MULTIPLIER, _LARGEST))
            continue
        found.pure.append(_between(as_number(event.get("epsilon")) or Fraction(0), 0.0, _LARGEST))
        if delta := as_number(event.get("delta")):
            found.deltas.append(_between(delta, 0.0, 1.0))
    return found


def _between(value: Fraction, low: float, high: float) -> float:
    return float(min(max(value, Fraction(low)), Fraction(high)))


def _by_the_rule(events: list[Mapping[str, Any]], delta: Fraction) -> float:
    """The smaller of two bounds that hold even where each release is chosen after the others.

    All ε added up, where the δ's are together at most a quarter of the limit's; or everything
    as Gaussian noise at half of δ, pure events by the μ whose trade-off function lies below
    theirs, where the other δ's are together at most a quarter.
    """
    nothing = Fraction(0)
    amounts = [
        (as_number(event.get("epsilon")) or nothing, as_number(event.get("delta")) or nothing)
        for event in events
    ]
    quarter = delta / 4
    added = math.inf
    if sum(amount[1] for amount in amounts) <= quarter:
        added = _between(sum((amount[0] for amount in amounts), nothing), 0.0, _LARGEST)
    losses = _as_losses(events)
    if math.fsum(losses.deltas) > quarter * (1 + Fraction(1, 10**12)):
        return added
    ratios = [1 / z for z in losses.multipliers] + [_ratio(epsilon) for epsilon in losses.pure]
    together = math.sqrt(math.fsum(ratio**2 for ratio in ratios))
    if not 0 < together <= _LARGEST_RATIO:
        return added
    half = to_decimal(delta / 2 * (1 - Fraction(_SET_ASIDE)))
    by_gaussians = float(smallest_epsilon(half, to_decimal(Fraction(1 / together)), to_decimal(1)))
    return min(added, by_gaussians + _SET_ASIDE)


def _ratio(epsilon: float) -> float:
    """Sensitivity over noise of the Gaussian mechanism that tells no less than a pure one."""
    if epsilon < _SMALL_EPSILON:  # there the quantile is a straight line
        return epsilon * math.sqrt(math.pi / 2)
    chance = 1 / (1 + math.exp(min(epsilon, _LARGEST_LOSS)))
    return -2 * NormalDist().inv_cdf(chance)
