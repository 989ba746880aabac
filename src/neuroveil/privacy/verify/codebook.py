"""The k-closest codebook: its probabilities in exact arithmetic, and its decoding scale.

A codeword is released with the chance p / K or (1 - p) / (N - K), whatever the row and however
codewords are ranked. So privacy rests on three whole numbers and one comparison:
``(p / K) / ((1 - p) / (N - K)) <= e^ε``, which is made with exact fractions and a proven lower
bound of e^ε. The decoding scale is for use, not for privacy; it is derived again all the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from neuroveil.privacy.verify.arithmetic import DIGITS, precise, to_decimal
from neuroveil.privacy.verify.basis import mechanism_epsilon, row_dimension
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
from neuroveil.privacy.verify.sphere import ACCURACY, close_moments
from neuroveil.privacy.verify.statement import Statement

_ONE = 1 << 128
_ROUNDED_DOWN = Fraction(1, 1 << 120)
_BHOWMICK = "Bhowmick et al. 2018; two-valued likelihood of k-closest codewords"
_ORDER = "order statistics of uniform points on a sphere"
_LARGEST_EPSILON = Fraction(300)
_LARGEST = 1 << 40
_WIDEST = 1 << 20


@dataclass(frozen=True)
class Codebook:
    """Sizes of a codebook.

    Parameters
    ----------
    size, top : int
        N codewords, of which K count as close.
    """

    size: int
    top: int


@dataclass(frozen=True)
class Moments:
    """Means over a released codeword's inner product T with the lifted row of norm 1.

    Parameters
    ----------
    first, second : float
        E[T] and E[T²] (no unit).
    """

    first: float
    second: float


def exponential_bounds(value: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds of e^x around its value to 110 digits.

    Parameters
    ----------
    value : Fraction
        x, from 0 to 1e6.

    Returns
    -------
    tuple of Fraction
        Lower and upper bound; the exponent is rounded once and the exponential correctly, so
        each is off by far less than the width that is given to them.
    """
    with precise():
        middle = Fraction(to_decimal(value).exp())
    width = middle / 10 ** (DIGITS - 20)
    return middle - width, middle + width


def stated_codebook(statement: Statement) -> Codebook | None:
    """Sizes of the codebook, where they make one.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Returns
    -------
    Codebook or None
        ``None`` where a size is not stated, or no K of N codewords can be close.
    """
    size = statement.integer("mechanism.codebook_size")
    top = statement.integer("mechanism.codebook_top")
    if size is None or top is None or top < 1 or 2 * top > size or size > _LARGEST:
        return None
    return Codebook(size, top)


def right_ratio(statement: Statement) -> Fraction | None:
    """Ratio of the two probabilities of a codeword, from p, N and K.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Returns
    -------
    Fraction or None
        ``None`` where one of them is not stated, or p is 0 or 1.
    """
    book, chance = stated_codebook(statement), statement.rational("mechanism.top_probability")
    if book is None or chance is None or not 0 < chance < 1:
        return None
    return chance * (book.size - book.top) / ((1 - chance) * book.top)


def moments(statement: Statement) -> Moments | None:
    """Moments of a released codeword, from the sizes and p.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Returns
    -------
    Moments or None
        ``None`` where something that they follow from is not stated.
    """
    book, chance = stated_codebook(statement), statement.rational("mechanism.top_probability")
    dimension = row_dimension(statement)
    if book is None or chance is None or not 0 < chance < 1 or dimension is None:
        return None
    if not 1 <= dimension <= _WIDEST:
        return None
    close = close_moments(book.size, book.top, dimension + 1)
    inside, outside = float(chance / book.top), float((1 - chance) / (book.size - book.top))
    first = book.top * close.first * float(
        chance / book.top - (1 - chance) / (book.size - book.top)
    )  # fmt: skip
    seconds = book.top * close.second
    second = seconds * inside + (book.size / (dimension + 1) - seconds) * outside
    return Moments(first, second)


def check_codebook(statement: Statement) -> Iterator[Check]:
    """Check the codebook, the chance of a close codeword, and what follows from them.

    Parameters
    ----------
    statement : Statement
        A statement whose mechanism is a codebook.

    Yields
    ------
    Check
        Sizes, seed, probability, likelihood ratio and decoding scale.
    """
    book = stated_codebook(statement)
    if book is None:
        yield from _check_sizes(statement)
        return
    yield holds(
        "mechanism.codebook_top",
        f"{book.top} of {book.size} codewords count as close to a row.", stated=book.top,
    )  # fmt: skip
    yield from _check_seed(statement)
    yield _check_probability(statement, book)
    if statement.is_claim:
        return
    yield _check_ratio(statement)
    dimension = row_dimension(statement)
    sphere = statement.integer("mechanism.sphere_dimension")
    agrees = dimension is not None and sphere == dimension + 1
    yield finding(
        "holds" if agrees else "broken", "mechanism.sphere_dimension",
        "Codewords have one coordinate more than bounded rows."
        if agrees
        else "Codewords have another number of coordinates than lifted rows.",
        stated=sphere, recomputed=None if dimension is None else dimension + 1,
    )  # fmt: skip
    yield _check_decoding(statement)


def _check_sizes(statement: Statement) -> Iterator[Check]:
    name = "mechanism.codebook_top"
    size = statement.integer("mechanism.codebook_size")
    top = statement.integer(name)
    if size is None or top is None:
        yield missing(name, "mechanism.codebook_size or mechanism.codebook_top")
    else:
        yield broken(
            name, f"{top} of {size} codewords cannot be the close ones: at least 1, at most half.",
            stated=top,
        )  # fmt: skip


def _check_seed(statement: Statement) -> Iterator[Check]:
    if statement.is_claim:
        return
    name, seed = "mechanism.codebook_seed", statement.raw("mechanism.codebook_seed")
    own = statement.flag("mechanism.codebook_per_message")
    agrees = own is not None and (seed is None) == own
    yield finding(
        "holds" if agrees else "broken", name,
        ("Every row has a codebook of its own." if own else "All rows share one public codebook.")
        if agrees
        else "A shared codebook has its seed here, and codebooks of single rows have none.",
    )  # fmt: skip


def _check_probability(statement: Statement, book: Codebook) -> Check:
    """Compare p with the exact chance, by bounds of e^ε on the safe side."""
    name, chance = "mechanism.top_probability", statement.rational("mechanism.top_probability")
    epsilon = mechanism_epsilon(statement)
    if chance is None or epsilon is None or not Fraction(1, 10**12) <= epsilon <= 10**6:
        return missing(name, "mechanism.top_probability or mechanism.epsilon")
    if not 0 < chance < 1:
        return broken(name, "The chance of a close codeword is above 0 and below 1.")
    # Above e^300 no ratio of probabilities in steps of 2^-128 comes near the bound.
    low, _ = exponential_bounds(min(epsilon, _LARGEST_EPSILON))
    _, high = exponential_bounds(min(_as_written(epsilon), _LARGEST_EPSILON))
    ratio = right_ratio(statement)
    details = {"stated": quote(f"{show(chance, 8)}"), "source": _BHOWMICK}
    if ratio is None or ratio > low:
        return broken(
            name, f"A close codeword is {show(ratio or 0, 12)} times as likely as another one; "
            f"that is more than e^epsilon = {show(low, 12)}.", **details,
        )  # fmt: skip
    exact = high * book.top / (high * book.top + book.size - book.top)
    if not statement.is_claim and (
        (chance * _ONE).denominator != 1
        or not _is_over_2_to_128(statement)
        or chance < exact - _ROUNDED_DOWN
    ):
        return broken(
            name, "It is not the exact chance rounded down to a multiple of 2^-128.", **details
        )
    return holds(
        name, "A close codeword is at most e^epsilon times as likely as another one, from any row "
        "and for any ranking (exact fractions).", **details,
    )  # fmt: skip


def _as_written(epsilon: Fraction) -> Fraction:
    """The smaller of a double and of the decimal that people write for it.

    A budget is charged in decimals: what is drawn has to keep to the smaller of the two.
    """
    return min(epsilon, Fraction(repr(float(epsilon))))


def _is_over_2_to_128(statement: Statement) -> bool:
    text = statement.text("mechanism.top_probability") or ""
    return text.partition("/")[2] == str(_ONE)


def _check_ratio(statement: Statement) -> Check:
    name, stated = "mechanism.likelihood_ratio", statement.rational("mechanism.likelihood_ratio")
    right = right_ratio(statement)
    if right is None:
        return missing(name, "mechanism.top_probability and the sizes of the codebook")
    text = f"{right.numerator}/{right.denominator}"
    agrees = stated == right and statement.text(name) == text
    return finding(
        "holds" if agrees else "broken", name,
        f"The likelihood ratio of a codeword is {show(right, 12)}"
        + ("." if agrees else ", in lowest terms, not what is stated."),
        stated=show(stated, 12) if stated is not None else None, recomputed=show(right, 12),
        source=_BHOWMICK,
    )  # fmt: skip


def _check_decoding(statement: Statement) -> Check:
    name, stated = "mechanism.decoding_scale", statement.number("mechanism.decoding_scale")
    clip_norm, found = statement.number("bound.clip_norm"), moments(statement)
    if stated is None or clip_norm is None or found is None or found.first <= 0:
        return missing(name, "bound.clip_norm, the dimension and the codebook")
    right = float(clip_norm) / found.first
    agrees = math.isfinite(right) and is_close(stated, right, ACCURACY)
    return finding(
        "holds" if agrees else "broken", name,
        f"A codeword stands for {show(right, 8)} times itself, so that it is right on average"
        + ("." if agrees else f"; not {show(stated, 8)} times."),
        stated=stated, recomputed=right, source=_ORDER,
    )  # fmt: skip


def supported_by_codebook(statement: Statement) -> Decimal | None:
    """ε that the codebook supports for one row.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Returns
    -------
    Decimal or None
        Logarithm of the likelihood ratio; ``None`` where it does not follow.
    """
    ratio = right_ratio(statement)
    if ratio is None:
        return None
    with precise():
        return to_decimal(ratio).ln()
