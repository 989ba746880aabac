"""How it was counted: the link accountant."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

from neuroveil.privacy.verify.arithmetic import precise, to_decimal
from neuroveil.privacy.verify.basis import (
    is_shuffled,
    mechanism_epsilon,
    scaling_events,
    squared_sensitivity,
)
from neuroveil.privacy.verify.findings import broken, finding, is_close, missing, quote, show
from neuroveil.privacy.verify.guarantee import supported_epsilon
from neuroveil.privacy.verify.result import Check
from neuroveil.privacy.verify.statement import Statement, as_number, is_same

_REACH = (Fraction(1, 1000), Fraction(50), Fraction(1, 10**12))
_NAMES = {
    "gaussian": "analytic_gaussian", "laplace": "laplace_closed_form",
    "paper_laplace": "laplace_closed_form", "privunit": "two_valued_likelihood",
}  # fmt: skip


def check_accountant(statement: Statement) -> Iterator[Check]:
    """Check what was counted, and the second opinion against our own number.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Yields
    ------
    Check
        Name, version, adjacency, events and cross-check, where they are stated.
    """
    expected = {
        "accountant.name": _NAMES.get(statement.text("mechanism.name") or ""),
        "accountant.version": statement.text("software.versions", "neuroveil"),
        "accountant.adjacency": statement.text("adjacency.relation"),
    }
    for name, right in expected.items():
        stated = statement.text(name)
        if stated is None or right is None or (statement.is_claim and name == "accountant.name"):
            continue
        yield finding(
            "holds" if stated == right else "broken", name,
            "It agrees with the rest of the chain."
            if stated == right
            else "It does not agree with the rest of the chain.",
            stated=quote(stated), recomputed=quote(right),
        )  # fmt: skip
    if statement.is_claim:
        return
    agrees = is_same(statement.raw("accountant.events"), _expected_events(statement))
    yield finding(
        "holds" if agrees else "broken", "accountant.events",
        "Exactly what the chain describes was counted."
        if agrees
        else "Something other than what the chain describes was counted.",
    )  # fmt: skip
    yield from _check_second_opinion(statement)


def _expected_events(statement: Statement) -> list[dict[str, Any]]:
    name = statement.raw("mechanism.name")
    rows: dict[str, Any] = {"mechanism": name, "releases": 1}
    if name == "privunit":
        rows["epsilon"] = statement.raw("mechanism.epsilon")
    else:
        rows["noise_multiplier"] = statement.raw("mechanism.noise_multiplier")
    if is_shuffled(statement):
        rows["batch"] = statement.raw("domain.n")
        rows["epsilon_central"] = statement.raw("guarantee.epsilon_rows")
        rows["delta_central"] = statement.raw("guarantee.delta")
    return [rows, *scaling_events(statement)] + [
        {"mechanism": "randomised_response", "epsilon": entry.get("epsilon"), "releases": 1}
        for entry in statement.entries("domain.labels")
    ]


def _check_second_opinion(statement: Statement) -> Iterator[Check]:
    name = "accountant.cross_check"
    if statement.text("mechanism.name") == "privunit":
        absent = statement.raw(name) is None
        yield finding(
            "holds" if absent else "broken", name,
            "No library knows this mechanism; its two probabilities are checked exactly instead."
            if absent
            else "There is no second opinion on codebooks.",
        )  # fmt: skip
        return
    delta, stated = statement.number(name, "delta"), statement.number(name, "epsilon")
    epsilon = mechanism_epsilon(statement)
    calibrated = statement.number("guarantee.delta_calibrated")
    if delta is None:
        yield broken(name, "There is no second opinion on this mechanism.")
        return
    if epsilon is None or calibrated is None:
        yield missing(name, "mechanism.epsilon or guarantee.delta_calibrated")
        return
    package = (statement.text(name, "method") or "").partition(",")[0]
    listed = statement.text("software.versions", package)
    if listed is None or statement.text(name, "version") != listed:
        yield broken(name, "Its library and version are not listed under software.")
        return
    if not 0 <= delta < 1:
        yield broken(name, "Delta is a probability below 1.", stated=delta)
        return
    gaussian = statement.text("mechanism.name") == "gaussian"
    if gaussian and not is_close(delta, calibrated):
        yield broken(name, "It was taken at another delta than the noise was calibrated for.")
        return
    right = supported_epsilon(statement, delta)
    if right is not None and not gaussian:
        # One coordinate that takes the whole sensitivity: δ(ε) = 1 - e^((ε - Δ/b)/2).
        with precise():
            right = max(right + 2 * (1 - to_decimal(delta)).ln(), Decimal(0))
    if right is None:
        yield missing(name, "mechanism.noise_scale or the sensitivity")
    elif stated is None:
        low, high, least = _REACH
        excused = not low <= epsilon <= high or (gaussian and calibrated < least)
        yield finding(
            "holds" if excused else "broken", name,
            "No second opinion: the library does not reach this far."
            if excused
            else "No second opinion, although the library reaches this far.",
            recomputed=right,
        )  # fmt: skip
    else:
        yield _plausible(statement, stated, right)
    yield from _check_rho(statement, gaussian)


def _plausible(statement: Statement, stated: Fraction, right: Decimal) -> Check:
    """Accountants over grids may report a little more, and never less."""
    with precise():
        low = right * (1 - Decimal("1e-4")) - Decimal("1e-6")
        high = right * Decimal("1.001") + Decimal("1e-3")
        agrees = low <= to_decimal(stated) <= high
    return finding(
        "holds" if agrees else "broken", "accountant.cross_check",
        f"The second opinion says epsilon = {show(stated)}; derived again it is {show(right)}.",
        stated=stated, recomputed=right, source="closed form of the privacy profile",
    )  # fmt: skip


def _check_rho(statement: Statement, gaussian: bool) -> Iterator[Check]:
    raw = statement.raw("accountant.cross_check", "zcdp_rho")
    square, scale = squared_sensitivity(statement, "l2"), statement.number("mechanism.noise_scale")
    right = square / (2 * scale**2) if gaussian and square and scale else None
    stated = as_number(raw)
    agrees = raw is None if right is None else stated is not None and is_close(stated, right, 1e-9)
    yield finding(
        "holds" if agrees else "broken", "accountant.zcdp_rho",
        "The zCDP figure is (sensitivity)^2 / (2 sigma^2)"
        if right is not None
        else "There is no zCDP figure for this mechanism.",
        stated=stated, recomputed=right, source="Bun & Steinke 2016, Proposition 1.6",
    )  # fmt: skip
