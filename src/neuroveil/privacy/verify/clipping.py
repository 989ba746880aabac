"""How far one patient can move the table: the links bound and sensitivity."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from neuroveil.privacy.verify.arithmetic import square_root, to_decimal
from neuroveil.privacy.verify.basis import (
    consumed_norm,
    integer_scale,
    row_dimension,
    squared_sensitivity,
    stated_norm,
)
from neuroveil.privacy.verify.findings import broken, finding, holds, missing, quote, show
from neuroveil.privacy.verify.result import Check
from neuroveil.privacy.verify.statement import Statement

_TRIANGLE = "triangle inequality; l1 <= sqrt(d) * l2 (Cauchy & Schwarz)"
_TWO_VALUES = "Bhowmick et al. 2018: a codeword has one of two probabilities from any row"
_FEWEST_STEPS, _MOST_STEPS = 2**20, 2**57
_ROUNDED_UP_AT_MOST = Fraction(1_000_000_001, 1_000_000_000)


def check_bound(statement: Statement) -> Iterator[Check]:
    """Check that rows are bounded by a norm, on a grid that can carry the bound.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Yields
    ------
    Check
        Norm, clip norm and grid.
    """
    norm, clip_norm = statement.text("bound.norm"), statement.number("bound.clip_norm")
    if norm is None:
        yield missing("bound.norm")
    elif norm not in {"l1", "l2"}:
        sentence = f"The norm {quote(norm)} is not one that can be checked."
        yield finding("unchecked", "bound.norm", sentence, stated=norm)
    else:
        yield holds("bound.norm", f"Rows are bounded in the {norm} norm.", stated=norm)
    if clip_norm is None:
        yield missing("bound.clip_norm")
        return
    if clip_norm <= 0:
        yield broken("bound.clip_norm", "A clip norm is above 0.", stated=clip_norm)
        return
    yield holds("bound.clip_norm", f"No row is longer than {show(clip_norm)}.", stated=clip_norm)
    grid = statement.integer("bound.grid_log2")
    if grid is not None and abs(grid) <= 1100:
        yield _check_grid(statement, grid, clip_norm)
    yield from _check_dimension(statement)


def _check_dimension(statement: Statement) -> Iterator[Check]:
    """As many coordinates are bounded as a row has where it is randomised."""
    name, stated = "bound.dimension", statement.integer("bound.dimension")
    right, whole = row_dimension(statement), statement.integer("domain.dimension")
    if statement.is_claim:
        return
    agrees = right is not None and stated == right and whole is not None and right <= whole
    yield finding(
        "holds" if agrees else "broken", name,
        f"{right} coordinates of a row are bounded and randomised."
        if agrees
        else "It is not the number of coordinates that a row is bounded and randomised in.",
        stated=stated, recomputed=right,
    )  # fmt: skip


def _check_grid(statement: Statement, grid: int, clip_norm: Fraction) -> Check:
    """The step has to be small beside the bound, and in a certificate beside the noise."""
    scale = integer_scale(statement)
    fine = Fraction(2) ** grid <= clip_norm
    if not statement.is_claim:
        # Codewords carry no noise of their own: there the step is compared with the bound.
        steps = to_decimal(clip_norm / Fraction(2) ** grid) if scale is None else scale
        fine = fine and _FEWEST_STEPS <= steps <= _MOST_STEPS
    return finding(
        "holds" if fine else "broken", "bound.grid_log2",
        f"Values are multiples of 2^{grid}, and rows are rounded towards zero onto it"
        + ("." if fine else "; that step does not suit the noise or the longest row."),
        stated=grid, source="discrete noise on a power-of-two grid",
    )  # fmt: skip


def check_sensitivity(statement: Statement) -> Iterator[Check]:
    """Recompute the sensitivity in the norm that it is stated in.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Yields
    ------
    Check
        The value.
    """
    name, value = "sensitivity.value", statement.number("sensitivity.value")
    if consumed_norm(statement) == "none":
        yield from _check_absence(statement)
        return
    if value is None:
        yield missing(name)
        return
    norm = stated_norm(statement)
    square = squared_sensitivity(statement, norm)
    if norm is None and _foundations_are_stated(statement):
        yield broken(
            name,
            f"The stated sensitivity {show(value)} is that of no norm: the l2 sensitivity is "
            f"{_show_root(statement, 'l2')}, the l1 sensitivity {_show_root(statement, 'l1')}.",
            stated=value, source=_TRIANGLE,
        )  # fmt: skip
    elif square is None:
        yield missing(
            name, "unit.rows_per_unit_max, adjacency.relation, bound and domain.dimension"
        )
    else:
        yield _compare(statement, value, square, norm or "")


def _check_absence(statement: Statement) -> Iterator[Check]:
    """A mechanism whose proof needs no distance between rows states none."""
    norm, value = statement.text("sensitivity.norm"), statement.raw("sensitivity.value")
    agrees = norm == "none" and value is None
    if statement.is_claim:
        agrees = norm in {None, "none"}
    yield finding(
        "holds" if agrees else "broken", "sensitivity.value",
        "No distance between rows enters the proof."
        if agrees
        else "A sensitivity is stated, but no distance between rows enters the proof.",
        source=_TWO_VALUES,
    )  # fmt: skip


def _foundations_are_stated(statement: Statement) -> bool:
    return squared_sensitivity(statement, "l1") is not None


def _show_root(statement: Statement, norm: str) -> str:
    square = squared_sensitivity(statement, norm)
    return "unknown" if square is None else show(square_root(square))


def _compare(statement: Statement, value: Fraction, square: Fraction, norm: str) -> Check:
    exact = square_root(square)
    allowed = value + statement.printing("sensitivity.value")
    details = {"stated": value, "recomputed": exact, "source": _TRIANGLE}
    if allowed <= 0 or allowed**2 < square:
        return broken(
            "sensitivity.value",
            f"Replacing one patient can move the table by {show(exact)} in the {norm} norm, "
            f"{_ratio(exact, value)} the stated {show(value)}.", **details,
        )  # fmt: skip
    if not statement.is_claim and value**2 > square * _ROUNDED_UP_AT_MOST**2:
        return broken(
            "sensitivity.value",
            f"The {norm} sensitivity is {show(exact)}; the stated {show(value)} is no rounding "
            "of it.", **details,
        )  # fmt: skip
    return holds(
        "sensitivity.value",
        f"Replacing one patient moves the table by at most {show(exact)} in the {norm} norm.",
        **details,
    )


def _ratio(exact: Decimal, value: Fraction) -> str:
    if value <= 0:
        return "and not"
    return f"{show(Fraction(exact) / value, 4)} times"
