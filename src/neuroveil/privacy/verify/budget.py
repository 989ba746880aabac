"""What is promised, and how it was counted: the links guarantee and accountant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from neuroveil.privacy.verify.arithmetic import precise, smallest_epsilon, square_root, to_decimal
from neuroveil.privacy.verify.basis import (
    CONSUMES,
    consumed_norm,
    label_epsilon,
    row_epsilon,
    slacks,
    squared_sensitivity,
    step_budget,
)
from neuroveil.privacy.verify.findings import broken, finding, holds, is_close, missing, quote, show
from neuroveil.privacy.verify.result import Check
from neuroveil.privacy.verify.statement import Statement, as_number

_BASIC = "basic composition, Dwork & Roth 2014, Theorem 3.16"
_ROUNDED_UP = 1e-3
_REACH = (Fraction(1, 1000), Fraction(50), Fraction(1, 10**12))


def check_guarantee(statement: Statement) -> Iterator[Check]:
    """Check the promise: its range, its kind, and how its parts add up.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Yields
    ------
    Check
        ε, δ, the kind of guarantee and its parts.
    """
    yield from _check_epsilon(statement)
    yield from _check_delta(statement)
    name, variant = statement.text("mechanism.name"), statement.text("guarantee.variant")
    if variant is not None and name in CONSUMES:
        right = "approximate_dp" if name == "gaussian" else "pure_dp"
        agrees = variant == right
        yield finding(
            "holds" if agrees else "broken", "guarantee.variant",
            f"The {name} mechanism gives {right}.", stated=quote(variant), recomputed=right,
        )  # fmt: skip
    if statement.number("guarantee.epsilon_labels") is not None:
        yield _equal(statement, "guarantee.epsilon_labels", label_epsilon(statement))
    if name == "gaussian":
        yield from _check_slack(statement)
    elif name in CONSUMES and not statement.is_claim:
        yield _equal(statement, "guarantee.delta_slack", Fraction(0))
    whole, slack = statement.number("guarantee.delta"), statement.number("guarantee.delta_slack")
    if whole is not None and slack is not None and not statement.is_claim:
        yield _equal(statement, "guarantee.delta_calibrated", whole - slack)
    yield from _check_supported(statement)


def _equal(statement: Statement, name: str, right: Fraction | Decimal) -> Check:
    """Compare a stated number with what it follows from, up to the rounding of doubles."""
    stated = statement.number(name)
    if stated is None:
        return missing(name)
    agrees = is_close(stated, right) or abs(stated - Fraction(right)) <= statement.printing(name)
    return finding(
        "holds" if agrees else "broken", name,
        f"It follows from the facts it rests on: {show(right)}"
        + ("." if agrees else f", not {show(stated)}."),
        stated=stated, recomputed=right, source=_BASIC,
    )  # fmt: skip


def _check_epsilon(statement: Statement) -> Iterator[Check]:
    name, whole = "guarantee.epsilon", statement.number("guarantee.epsilon")
    if whole is None:
        yield missing(name)
        return
    if not Fraction(1, 10**12) <= whole <= 10**6:
        yield broken(name, "Epsilon is between 1e-12 and 1e6.", stated=whole)
        return
    rows = statement.number("guarantee.epsilon_rows")
    if rows is not None:
        parts = rows + label_epsilon(statement) + step_budget(statement, "epsilon")
        if not is_close(whole, parts) and (whole < parts or not statement.is_claim):
            yield broken(
                name, f"The parts add up to {show(parts)}, not to {show(whole)}.",
                stated=whole, recomputed=parts, source=_BASIC,
            )  # fmt: skip
            return
    elif (row_epsilon(statement) or whole) <= 0:
        yield broken(name, "Labels and scaling take more than the whole epsilon.", stated=whole)
        return
    yield holds(name, f"The whole release spends epsilon = {show(whole)}.", stated=whole)


def _check_delta(statement: Statement) -> Iterator[Check]:
    name, delta = "guarantee.delta", statement.number("guarantee.delta")
    mechanism = statement.text("mechanism.name")
    if delta is None:
        yield missing(name)
    elif not 0 <= delta < 1:
        yield broken(name, "Delta is a probability below 1.", stated=delta)
    elif mechanism == "gaussian" and delta == 0:
        yield broken(name, "Gaussian noise needs a delta above 0.", stated=delta)
    elif mechanism in {"laplace", "paper_laplace"} and delta > 0 and not statement.is_claim:
        yield broken(name, "Pure DP has delta = 0.", stated=delta, recomputed=0)
    else:
        yield holds(name, f"The whole release spends delta = {show(delta)}.", stated=delta)


def _check_slack(statement: Statement) -> Iterator[Check]:
    """The price of integer noise has to be that of the proof that the formula names."""
    name, stated = "guarantee.delta_slack", statement.number("guarantee.delta_slack")
    epsilon, delta = row_epsilon(statement), statement.number("guarantee.delta")
    if statement.is_claim and stated is None:
        return
    if stated is None or epsilon is None or delta is None or not 0 < epsilon <= 10**6:
        yield missing(name, f"{name}, guarantee.epsilon_rows or guarantee.delta")
        return
    first, second = slacks(statement, to_decimal(epsilon), to_decimal(delta))
    right = first if _formula(statement, name).startswith("(1 +") else second
    if not right.is_finite():
        yield broken(name, "The second proof does not apply to so coarse a grid.", stated=stated)
        return
    # Rounded up, and never rounded down: a smaller price would be a stronger promise.
    agrees = is_close(stated, right, 1e-6) and (
        Fraction(right) * (1 - Fraction(1, 10**12)) <= stated
    )
    yield finding(
        "holds" if agrees else "broken", name,
        f"Integer noise instead of continuous noise costs delta = {show(right, 4)}"
        + ("." if agrees else f", not {show(stated, 4)}."),
        stated=stated, recomputed=right, source="Poisson summation and Jensen's inequality",
    )  # fmt: skip


def _formula(statement: Statement, name: str) -> str:
    """Formula that a certificate states for a fact; empty where there is none."""
    link, _, key = name.partition(".")
    chain = statement.document.get("chain")
    facts = chain.get(link) if isinstance(chain, Mapping) else None
    fact = facts.get(key) if isinstance(facts, Mapping) else None
    formula = fact.get("formula") if isinstance(fact, Mapping) else None
    return formula if isinstance(formula, str) else ""


def _check_supported(statement: Statement) -> Iterator[Check]:
    """The ε that the stated noise really supports, rounded up by at most 0.1 %."""
    name, stated = "guarantee.epsilon_supported", statement.number("guarantee.epsilon_supported")
    if stated is None:
        if not statement.is_claim:
            yield missing(name)
        return
    limit = statement.number("guarantee.delta_calibrated")
    right = supported_epsilon(
        statement, statement.number("guarantee.delta") if limit is None else limit
    )
    if right is None:
        yield missing(name, "mechanism.noise_scale, guarantee.delta or the sensitivity")
        return
    with precise():
        low, high = right * (1 - Decimal("1e-9")), right * (1 + Decimal(_ROUNDED_UP))
        agrees = low <= to_decimal(stated) <= high + Decimal("1e-12")
    yield finding(
        "holds" if agrees else "broken", name,
        f"The stated noise supports epsilon = {show(right)} for the rows"
        + ("." if agrees else f", not {show(stated)}."),
        stated=stated, recomputed=right, source="Balle & Wang 2018; Dwork & Roth 2014",
    )  # fmt: skip


def supported_epsilon(statement: Statement, delta: Fraction | None) -> Decimal | None:
    """ε that the stated noise supports for the rows.

    Parameters
    ----------
    statement : Statement
        The stated facts.
    delta : Fraction or None
        δ for which it is asked; counts for the Gaussian mechanism only.

    Returns
    -------
    Decimal or None
        ``None`` where something that it needs is not stated.
    """
    square = squared_sensitivity(statement, consumed_norm(statement))
    scale = statement.number("mechanism.noise_scale")
    if not square or scale is None or scale <= 0:
        return None
    if statement.text("mechanism.name") != "gaussian":
        return square_root(square / scale**2)
    if delta is None or not 0 < delta < 1:
        return None
    return smallest_epsilon(to_decimal(delta), to_decimal(scale), square_root(square))


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
        "accountant.name": "analytic_gaussian"
        if statement.text("mechanism.name") == "gaussian"
        else "laplace_closed_form",
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
    events = _expected_events(statement)
    agrees = statement.raw("accountant.events") == events
    yield finding(
        "holds" if agrees else "broken", "accountant.events",
        "Exactly what the chain describes was counted."
        if agrees
        else "Something other than what the chain describes was counted.",
    )  # fmt: skip
    yield from _check_second_opinion(statement)


def _expected_events(statement: Statement) -> list[dict[str, Any]]:
    rows: dict[str, Any] = {
        "mechanism": statement.raw("mechanism.name"),
        "noise_multiplier": statement.raw("mechanism.noise_multiplier"),
        "releases": 1,
    }
    return [rows] + [
        {"mechanism": "randomised_response", "epsilon": entry.get("epsilon"), "releases": 1}
        for entry in statement.entries("domain.labels")
    ]


def _check_second_opinion(statement: Statement) -> Iterator[Check]:
    name = "accountant.cross_check"
    delta, stated = statement.number(name, "delta"), statement.number(name, "epsilon")
    epsilon, calibrated = row_epsilon(statement), statement.number("guarantee.delta_calibrated")
    if delta is None or epsilon is None or calibrated is None:
        yield missing(name)
        return
    package = (statement.text(name, "method") or "").partition(",")[0]
    listed = statement.text("software.versions", package)
    if listed is not None and statement.text(name, "version") != listed:
        yield broken(name, "Its version is not the one listed under software.")
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
