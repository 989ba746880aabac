"""What is promised: the link guarantee."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction

from neuroveil.privacy.verify.arithmetic import precise, smallest_epsilon, square_root, to_decimal
from neuroveil.privacy.verify.basis import (
    CONSUMES,
    consumed_norm,
    is_drawn,
    is_shuffled,
    label_epsilon,
    mechanism_epsilon,
    row_delta,
    row_epsilon,
    slacks,
    squared_sensitivity,
    step_budget,
)
from neuroveil.privacy.verify.codebook import supported_by_codebook
from neuroveil.privacy.verify.findings import broken, finding, holds, is_close, missing, quote, show
from neuroveil.privacy.verify.result import Check
from neuroveil.privacy.verify.shapes import has_words
from neuroveil.privacy.verify.statement import Statement

_BASIC = "basic composition, Dwork & Roth 2014, Theorem 3.16"
_ROUNDED_UP = 1e-3
_PRINTED = Fraction(1_000_000_000_001, 1_000_000_000_000)


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
    yield from _check_variant(statement)
    yield from _check_justification(statement)
    name = statement.text("mechanism.name")
    if statement.number("guarantee.epsilon_labels") is not None:
        yield _equal(statement, "guarantee.epsilon_labels", label_epsilon(statement))
    if name == "gaussian":
        yield from _check_slack(statement)
    elif name in CONSUMES and not statement.is_claim:
        yield _equal(statement, "guarantee.delta_slack", Fraction(0))
    whole, slack = row_delta(statement), statement.number("guarantee.delta_slack")
    if is_drawn(statement) and not statement.is_claim:
        spent = statement.number("guarantee.delta_rows") or Fraction(0)
        yield _equal(statement, "guarantee.delta", spent + step_budget(statement, "delta"))
    if whole is not None and slack is not None and not statement.is_claim:
        yield _equal(statement, "guarantee.delta_calibrated", whole - slack)
    if name != "mean_covariance" or statement.is_claim:
        yield from _check_supported(statement)


def _check_variant(statement: Statement) -> Iterator[Check]:
    name, variant = statement.text("mechanism.name"), statement.text("guarantee.variant")
    if variant is None or name not in CONSUMES:
        return
    shuffled = is_shuffled(statement)
    paid = is_drawn(statement) and statement.number("guarantee.delta") != 0
    right = "approximate_dp" if name == "gaussian" or shuffled or paid else "pure_dp"
    yield finding(
        "holds" if variant == right else "broken", "guarantee.variant",
        "Constants that were drawn at a delta above 0 leave approximate_dp."
        if paid
        else f"{'Shuffled rows have' if shuffled else f'The {name} mechanism gives'} {right}.",
        stated=quote(variant), recomputed=right,
    )  # fmt: skip


def _check_justification(statement: Statement) -> Iterator[Check]:
    """A δ above min(1/n², 1e-5) needs a reason in words."""
    name, delta = "guarantee.delta_justification", statement.number("guarantee.delta")
    n, reason = statement.integer("adjacency.n_roster"), statement.text(name)
    if statement.is_claim or delta is None or n is None or n < 1:
        return
    largest = min(Fraction(1, n * n), Fraction(1, 10**5) * _PRINTED)
    if delta <= largest * _PRINTED:
        yield holds(name, "Delta is at most min(1/n^2, 1e-5).", stated=reason and quote(reason))
    else:
        yield finding(
            "holds" if has_words(reason) else "broken", name,
            f"Delta is above {show(largest, 3)} for {n} patients; "
            + ("the reason is stated." if has_words(reason) else "no reason is stated."),
            stated=reason and quote(reason), source="delta well below 1/n: Dwork & Roth 2014",
        )  # fmt: skip


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
    mechanism, rows = statement.text("mechanism.name"), row_delta(statement)
    if delta is None or rows is None:
        yield missing(name)
    elif not 0 <= delta < 1:
        yield broken(name, "Delta is a probability below 1.", stated=delta)
    elif mechanism == "gaussian" and rows <= 0:
        yield broken(name, "Gaussian noise needs a delta above 0.", stated=delta)
    elif is_shuffled(statement) and delta == 0:
        yield broken(name, "Shuffling needs a delta above 0.", stated=delta)
    elif is_shuffled(statement):
        yield holds(name, f"The whole release spends delta = {show(delta)}.", stated=delta)
    elif mechanism in CONSUMES and mechanism != "gaussian" and rows > 0 and not statement.is_claim:
        yield broken(name, "Pure DP has delta = 0.", stated=delta, recomputed=0)
    else:
        yield holds(name, f"The whole release spends delta = {show(delta)}.", stated=delta)


def _check_slack(statement: Statement) -> Iterator[Check]:
    """The price of integer noise has to be that of the proof that the formula names."""
    name, stated = "guarantee.delta_slack", statement.number("guarantee.delta_slack")
    epsilon, delta = mechanism_epsilon(statement), row_delta(statement)
    if statement.is_claim and stated is None:
        return
    if stated is None or epsilon is None or delta is None or not 0 < epsilon <= 10**6:
        yield missing(name, f"{name}, mechanism.epsilon or guarantee.delta")
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
    right = supported_epsilon(statement, row_delta(statement) if limit is None else limit)
    if right is None:
        yield missing(name, "the noise, guarantee.delta or the sensitivity")
        return
    with precise():
        low, high = right * (1 - Decimal("1e-9")), right * (1 + Decimal(_ROUNDED_UP))
        if statement.text("mechanism.name") == "privunit":
            most = to_decimal(mechanism_epsilon(statement) or Fraction(0))
            low, high = min(right, most), most
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
    if statement.text("mechanism.name") == "privunit":
        return supported_by_codebook(statement)
    square = squared_sensitivity(statement, consumed_norm(statement))
    scale = statement.number("mechanism.noise_scale")
    if not square or scale is None or scale <= 0:
        return None
    if statement.text("mechanism.name") != "gaussian":
        return square_root(square / scale**2)
    if delta is None or not 0 < delta < 1:
        return None
    return smallest_epsilon(to_decimal(delta), to_decimal(scale), square_root(square))
