"""Whether shuffling gives what is stated: the link amplification."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from neuroveil.privacy.verify.basis import PURE, is_shuffled, row_epsilon
from neuroveil.privacy.verify.codebook import stated_codebook
from neuroveil.privacy.verify.findings import (
    broken,
    finding,
    holds,
    is_close,
    missing,
    quote,
    show,
)
from neuroveil.privacy.verify.result import Check
from neuroveil.privacy.verify.shuffling import (
    ACCURACY,
    TooLargeError,
    blanket_delta,
    clones_delta,
)
from neuroveil.privacy.verify.statement import Statement

_SOURCES = {
    "privacy_blanket": "Balle, Bell, Gascon & Nissim 2019, Lemma 5.3",
    "clones_2021": "Feldman, McMillan & Talwar 2021",
}
_SERVES = {"privacy_blanket": ("privunit",), "clones_2021": PURE}
_SHARED = ("privacy_blanket",)
_ROUNDED_UP = 1.02
_NEXT_TO_NOTHING = Fraction(1, 10**30)
_LARGEST_EPSILON = 300


def check_amplification(statement: Statement) -> Iterator[Check]:
    """Check the guarantee that shuffled rows have together.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Yields
    ------
    Check
        Bound, local ε, batch, share and δ; nothing where rows are not shuffled.
    """
    if not is_shuffled(statement):
        return
    bound, mechanism = statement.text("amplification.bound"), statement.text("mechanism.name")
    if bound not in _SOURCES:
        yield missing("amplification.bound")
        return
    yield from _check_fit(statement, bound, mechanism)
    yield from _check_batch(statement)
    yield from _check_share(statement, bound)
    yield from _check_delta(statement, bound)


def _check_fit(statement: Statement, bound: str, mechanism: str | None) -> Iterator[Check]:
    """Both bounds need pure rows, no labels beside them, and ε₀ of at least ε."""
    agrees = mechanism in _SERVES[bound]
    yield finding(
        "holds" if agrees else "broken", "amplification.bound",
        f"The bound {bound} serves the {quote(mechanism)} mechanism."
        if agrees
        else f"The bound {bound} does not hold for the mechanism {quote(mechanism)}.",
        stated=bound, source=_SOURCES[bound],
    )  # fmt: skip
    if statement.listing("domain.labels") or statement.listing("domain.unprotected"):
        yield broken(
            "amplification.labels",
            "Labels beside shuffled rows split the batch into groups; the bound is about one.",
        )  # fmt: skip
    order = statement.raw("postprocessing.row_order")
    if order is None:
        yield missing("amplification.row_order", "postprocessing.row_order")
    elif order != "random_permutation":
        yield broken("amplification.row_order", "Nothing says that the rows were shuffled.")
    local, central = statement.number("amplification.epsilon_local"), row_epsilon(statement)
    if local is not None and central is not None and local < central:
        yield broken(
            "amplification.epsilon_local",
            "One row on its own has at least the epsilon that all have together.",
            stated=local, recomputed=central,
        )  # fmt: skip


def _check_batch(statement: Statement) -> Iterator[Check]:
    name, right = "amplification.batch", _rows(statement)
    names = (name, "domain.n", "adjacency.n_roster")
    stated = [statement.integer(one) for one in names]
    given = [number for number in stated if number is not None]
    agrees = set(given) == {right} and (statement.is_claim or None not in stated)
    if right is None:
        yield missing(name, "amplification.batch or domain.n")
        return
    yield finding(
        "holds" if agrees else "broken", name,
        f"{right} rows are shuffled together."
        if agrees
        else "Another number of rows is shuffled than released.",
        stated=stated[0], recomputed=right,
    )  # fmt: skip


def _rows(statement: Statement) -> int | None:
    """Number of rows: the roster's; in a claim also what it says elsewhere."""
    roster = statement.integer("adjacency.n_roster")
    if roster is not None or not statement.is_claim:
        return roster
    stated = statement.integer("domain.n")
    return statement.integer("amplification.batch") if stated is None else stated


def _check_share(statement: Statement, bound: str) -> Iterator[Check]:
    if bound not in _SHARED:
        return
    name, book = "amplification.share", stated_codebook(statement)
    stated = statement.number(name)
    if statement.is_claim and stated is None:
        return
    if book is None or stated is None:
        yield missing(name, "amplification.share or the sizes of the codebook")
        return
    right = Fraction(book.top, book.size)
    agrees = is_close(stated, right, 2.0**-52)
    yield finding(
        "holds" if agrees else "broken", name,
        f"{show(right)} of the codewords count as close"
        + ("." if agrees else ", not what is stated."),
        stated=stated, recomputed=right,
    )  # fmt: skip


def _check_delta(statement: Statement, bound: str) -> Iterator[Check]:
    name, stated = "amplification.delta_bound", statement.number("amplification.delta_bound")
    batch, book = _rows(statement), stated_codebook(statement)
    local, central = statement.number("amplification.epsilon_local"), row_epsilon(statement)
    share = Fraction(book.top, book.size) if book is not None else None
    if batch is None or local is None or central is None or (share is None and bound in _SHARED):
        yield missing(name, "epsilon, the batch or the codebook")
    elif not central > 0 or not 0 < local <= _LARGEST_EPSILON or batch < 1:
        sentence = f"Bounds are derived for local epsilons up to {_LARGEST_EPSILON}."
        yield finding("unchecked", name, sentence, stated=stated)
    else:
        found, rows = _derived(bound, float(central), float(local), share, batch)
        if found is None:
            sentence = "Too many rows are shuffled to derive the bound here in reasonable time."
            yield finding("unchecked", name, sentence, stated=stated, source=_SOURCES[bound])
        else:
            yield _compared(statement, found, rows == batch, _SOURCES[bound])


def _derived(
    bound: str, central: float, local: float, share: Fraction | None, batch: int
) -> tuple[float | None, int]:
    """δ of the batch; of fewer rows, which is no smaller, where the batch is too large."""
    rows = batch
    for _ in range(8):
        try:
            if bound == "clones_2021":
                return clones_delta(central, local, rows), rows
            return blanket_delta(central, local, float(share or 0), rows), rows
        except TooLargeError:
            rows //= 4
    return None, batch


def _compared(statement: Statement, found: float, exact: bool, source: str) -> Check:
    """Compare the derived δ with the stated bound and with what the guarantee leaves for it."""
    name, stated = "amplification.delta_bound", statement.number("amplification.delta_bound")
    limit = statement.number("guarantee.delta") or Fraction(0)
    right = Fraction(found)
    details = {"stated": stated, "recomputed": right, "source": source}
    if right > limit * Fraction(1 + ACCURACY) and exact:
        return broken(
            name, f"The shuffled rows have delta = {show(right, 4)} at the stated epsilon, more "
            f"than the stated {show(limit, 4)}.", **details,
        )  # fmt: skip
    if right > limit * Fraction(1 + ACCURACY):
        return finding(
            "unchecked", name, "So many rows are shuffled that only a weaker bound is derived "
            "here, and that one is not enough.", **details,
        )  # fmt: skip
    if not statement.is_claim:
        low = right * Fraction(1 - ACCURACY) if exact else Fraction(0)
        high = right * Fraction(_ROUNDED_UP) + _NEXT_TO_NOTHING
        calibrated = statement.number("guarantee.delta_calibrated")
        fits = stated is not None and low <= stated <= min(high, limit)
        if not fits or calibrated is None or (stated or 0) > calibrated:
            return broken(
                name, f"The bound of delta is {show(right, 4)}, not what is stated.", **details
            )
    return holds(
        name, f"The shuffled rows have delta = {show(right, 4)} at the stated epsilon, and "
        f"{show(limit, 4)} is allowed.", **details,
    )  # fmt: skip
