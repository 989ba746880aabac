"""Whether the noise is enough: the links mechanism and sampler."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

from neuroveil.privacy.verify.arithmetic import (
    delta_analytic,
    precise,
    smallest_sigma,
    square_root,
    to_decimal,
)
from neuroveil.privacy.verify.basis import (
    CONSUMES,
    consumed_norm,
    gaussian_target,
    mechanism_epsilon,
    row_delta,
    squared_sensitivity,
    stated_norm,
)
from neuroveil.privacy.verify.codebook import check_codebook
from neuroveil.privacy.verify.findings import (
    broken,
    finding,
    holds,
    is_close,
    missing,
    plain,
    quote,
    show,
)
from neuroveil.privacy.verify.result import Check
from neuroveil.privacy.verify.statement import Statement

_BALLE_WANG = "Balle & Wang 2018, Theorem 8, and the price of integer noise"
_LAPLACE = "Dwork & Roth 2014, Theorem 3.6: b = (l1 sensitivity) / epsilon"
_MOST_TOO_MUCH = Fraction(1001, 1000)
_NAME = "mechanism.noise_scale"

SAMPLERS = {
    "gaussian": "opendp", "laplace": "opendp", "paper_laplace": "opendp", "privunit": "python",
    "mean_covariance": "opendp",
}  # fmt: skip
"""Who draws for each mechanism."""


def check_mechanism(statement: Statement) -> Iterator[Check]:
    """Check the mechanism, the norm that it consumes, and its noise scale.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Yields
    ------
    Check
        Name, norm, noise scale and the numbers that follow from it.
    """
    name = statement.text("mechanism.name")
    if name is None:
        yield missing("mechanism.name")
        return
    if name not in CONSUMES:
        sentence = f"The mechanism {quote(name)} is not one that can be checked."
        yield finding("unchecked", "mechanism.name", sentence, stated=name)
        return
    yield from _check_norm(statement, name)
    yield from _check_epsilon(statement)
    if name == "privunit":
        yield from check_codebook(statement)
        yield from _check_word(statement, name, "k_closest_codeword")
        return
    epsilon, scale = mechanism_epsilon(statement), statement.number(_NAME)
    square = squared_sensitivity(statement, consumed_norm(statement))
    if scale is None or epsilon is None or square is None:
        yield missing(_NAME, f"{_NAME}, guarantee.epsilon or what the sensitivity follows from")
    elif scale <= 0 or not Fraction(1, 10**12) <= epsilon <= 10**6 or square <= 0:
        yield broken(_NAME, "Noise scale, sensitivity and epsilon have to be above 0.")
    elif name == "gaussian":
        yield _check_gaussian(statement, scale, square)
    else:
        yield _check_laplace(statement, scale, epsilon, square)
    if name == "paper_laplace" and not statement.is_claim:
        yield from _check_paper_scale(statement, scale, epsilon)
    yield from _check_followers(statement, name)


def _check_epsilon(statement: Statement) -> Iterator[Check]:
    """The mechanism's own ε is that of the rows, or, before shuffling, the local one."""
    name, stated = "mechanism.epsilon", statement.number("mechanism.epsilon")
    right = mechanism_epsilon(statement)
    if statement.is_claim and stated is None:
        return
    if right is None:
        yield missing(name, "guarantee.epsilon_rows or amplification.epsilon_local")
        return
    agrees = stated == right
    yield finding(
        "holds" if agrees else "broken", name,
        f"One row on its own is randomised with epsilon = {show(right)}"
        + ("." if agrees else ", not with what is stated."),
        stated=stated, recomputed=right,
    )  # fmt: skip


def _check_norm(statement: Statement, mechanism: str) -> Iterator[Check]:
    consumes, stated = CONSUMES[mechanism], statement.text("mechanism.consumes_norm")
    if stated is not None and stated != consumes:
        yield broken(
            "mechanism.consumes_norm",
            f"The {mechanism} mechanism consumes the norm {consumes}.",
            stated=stated, recomputed=consumes,
        )  # fmt: skip
    given = stated_norm(statement)
    if mechanism == "privunit" and given in {None, "none"}:
        sentence = "The mechanism needs no distance between rows."
        yield holds("mechanism.norm_match", sentence, recomputed=consumes)
        return
    if given is None:
        yield missing("mechanism.norm_match", "sensitivity.value with its norm")
    elif given == consumes:
        sentence = (
            f"The {mechanism} mechanism is fed a sensitivity in the {given} norm, as it needs."
        )
        yield holds("mechanism.norm_match", sentence, stated=given, recomputed=consumes)
    else:
        yield _mismatch(statement, mechanism, given)


def _mismatch(statement: Statement, mechanism: str, given: str) -> Check:
    consumes = CONSUMES[mechanism]
    squares = squared_sensitivity(statement, consumes), squared_sensitivity(statement, given)
    factor = ""
    if squares[0] and squares[1]:
        ratio = square_root(squares[0] / squares[1])
        factor = (
            f" The {consumes} sensitivity is {show(square_root(squares[0]))}, "
            f"{show(ratio, 4)} times the {given} sensitivity {show(square_root(squares[1]))}."
        )
    return broken(
        "mechanism.norm_match",
        f"Norm mismatch: an {quote(given)} sensitivity is fed to the {mechanism} mechanism, "
        f"which consumes the {consumes} norm.{factor}",
        stated=given, recomputed=consumes,
        source=_LAPLACE if consumes == "l1" else _BALLE_WANG,
    )  # fmt: skip


def _check_gaussian(statement: Statement, scale: Fraction, square: Fraction) -> Check:
    target, delta = gaussian_target(statement), row_delta(statement)
    if target is None or delta is None:
        return missing(_NAME, "guarantee.delta")
    epsilon, limit = target
    if not Fraction(0) < delta < 1 or limit <= 0 or epsilon <= 0:
        return broken(
            _NAME,
            "Gaussian noise has no pure guarantee: delta has to be above 0, also after the price "
            "of integer noise.", stated=scale, source=_BALLE_WANG,
        )  # fmt: skip
    sensitivity = square_root(square)
    needed = smallest_sigma(epsilon, limit, sensitivity)
    sigma = to_decimal(scale + statement.printing(_NAME))
    reached = delta_analytic(epsilon, sigma, sensitivity)
    with precise():
        factor = to_decimal(scale) / needed
    details: dict[str, Any] = {"stated": scale, "recomputed": needed, "source": _BALLE_WANG}
    if reached > limit:
        return broken(
            _NAME,
            f"Sigma {show(scale)} is too small: {show(needed)} is needed, {show(1 / factor, 4)} "
            f"times as much (variance {show(1 / factor**2, 4)} times). The stated noise reaches "
            f"delta = {show(reached, 3)} where {show(limit, 3)} is allowed.", **details,
        )  # fmt: skip
    return _enough(statement, factor, "delta_analytic(sigma) + slack <= delta", details)


def _check_laplace(
    statement: Statement, scale: Fraction, epsilon: Fraction, square: Fraction
) -> Check:
    needed = square_root(square / epsilon**2)
    with precise():
        factor = to_decimal(scale) / needed
        supported = square_root(square / scale**2)
    details: dict[str, Any] = {"stated": scale, "recomputed": needed, "source": _LAPLACE}
    allowed = scale + statement.printing(_NAME)
    if (allowed * epsilon) ** 2 >= square:
        return _enough(statement, factor, "b >= (l1 sensitivity) / epsilon", details)
    words = (
        f"The noise scale {show(scale)} is {show(1 / factor, 4)} times too small: the l1 "
        f"sensitivity {show(square_root(square))} needs {show(needed)} (variance "
        f"{show(1 / factor**2, 4)} times as much). As pure DP it supports "
        f"epsilon = {show(supported, 4)}"
    )
    if statement.is_claim and (row_delta(statement) or 0) > 0:
        sentence = f"{words}; what it supports with the stated delta is not derived here."
        return finding("unchecked", _NAME, sentence, **details)
    return broken(_NAME, f"{words} instead of {show(epsilon)}.", **details)


def _enough(statement: Statement, factor: Decimal, rule: str, details: dict[str, Any]) -> Check:
    if not statement.is_claim and Fraction(factor) > _MOST_TOO_MUCH:
        return broken(
            _NAME,
            f"The noise is {show(factor, 4)} times what is needed, so it does not follow from "
            "the stated guarantee.", **details,
        )  # fmt: skip
    printed = ", below 1 only by the rounding of its last printed digit" if factor < 1 else ""
    return holds(
        _NAME,
        f"The noise is enough: {rule}. It is {show(factor, 8)} times what is needed{printed}.",
        **details,
    )


def _check_paper_scale(
    statement: Statement, scale: Fraction | None, epsilon: Fraction | None
) -> Iterator[Check]:
    """The paper's scale has to be the one that the paper uses (its equation 11)."""
    square = squared_sensitivity(statement, "l2")
    if square is None or not scale or not epsilon:
        return
    right = square_root(square / epsilon**2)
    agrees = is_close(scale, right)
    yield finding(
        "holds" if agrees else "broken", "mechanism.paper_scale",
        f"The paper's noise scale is 2C/epsilon = {show(right)}.", stated=scale, recomputed=right,
    )  # fmt: skip


def _check_word(statement: Statement, mechanism: str, right: str) -> Iterator[Check]:
    stated = statement.text("mechanism.distribution")
    if stated is not None and stated not in {right, right.removeprefix("discrete_")}:
        yield broken(
            "mechanism.distribution", f"{mechanism} draws from {right}.",
            stated=quote(stated), recomputed=right,
        )  # fmt: skip


def _check_followers(statement: Statement, mechanism: str) -> Iterator[Check]:
    """Numbers that follow from the noise scale and have to agree with it."""
    gaussian = mechanism == "gaussian"
    right_word = "discrete_gaussian" if gaussian else "discrete_laplace"
    yield from _check_word(statement, mechanism, right_word)
    scale, grid = statement.number(_NAME), statement.integer("bound.grid_log2")
    if scale is None or scale <= 0:
        return
    with precise():
        std = to_decimal(scale) * (1 if gaussian else Decimal(2).sqrt())
        square = squared_sensitivity(statement, consumed_norm(statement))
        followers: list[tuple[str, Decimal | Fraction]] = [("mechanism.noise_std", std)]
        if square:
            followers.append(("mechanism.noise_multiplier", std / square_root(square)))
    if grid is not None and abs(grid) <= 1100:
        followers.append(("mechanism.integer_scale", scale / Fraction(2) ** grid))
    for name, right in followers:
        stated = statement.number(name)
        if stated is None:
            continue
        tolerance = 0.0 if name == "mechanism.integer_scale" else 1e-9
        agrees = is_close(stated, right, tolerance) or abs(
            stated - Fraction(right)
        ) <= statement.printing(name)
        yield finding(
            "holds" if agrees else "broken", name,
            f"It follows from the noise scale: {show(right)}"
            + ("." if agrees else f", not {show(stated)}."),
            stated=stated, recomputed=plain(right),
        )  # fmt: skip


def check_sampler(statement: Statement) -> Iterator[Check]:
    """Check that the noise that was drawn is the noise that was proven.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Yields
    ------
    Check
        Exactness, source of randomness and seed.
    """
    source = "Mironov 2012, on the least significant bits of floating-point noise"
    exact = statement.flag("sampler.exact")
    if exact:
        yield holds("sampler.exact", "The noise is drawn exactly, in integers.", source=source)
    else:
        yield finding(
            "unchecked" if exact is None else "broken", "sampler.exact",
            "Floating-point noise betrays its input by its last bits, so continuous noise proves "
            "nothing about what a computer draws"
            + ("; nothing is said about an exact sampler." if exact is None else "."),
            stated=exact, recomputed=True, source=source,
        )  # fmt: skip
    for name, right, reason in (
        ("sampler.source", "operating_system", "Predictable noise can be subtracted."),
        ("sampler.seeded", False, "Whoever knows the seed can subtract the noise."),
    ):
        stated = statement.raw(name)
        if stated is None:
            yield missing(name)
        elif stated == right and isinstance(stated, type(right)):
            yield holds(name, "The randomness comes from the operating system, without a seed.")
        else:
            yield broken(name, reason, stated=plain_word(stated), recomputed=right)
    yield from _check_library(statement)


def _check_library(statement: Statement) -> Iterator[Check]:
    """A certificate names the library that draws for its mechanism, and its listed version."""
    library, version = statement.text("sampler.library"), statement.text("sampler.version")
    right = SAMPLERS.get(statement.text("mechanism.name") or "")
    if not statement.is_claim and right is not None and library != right:
        yield broken(
            "sampler.library", f"The noise of this mechanism is drawn by {right}.",
            stated=quote(library), recomputed=right,
        )  # fmt: skip
    listed = statement.text("software.versions", library or "")
    is_open = statement.is_claim and None in {version, listed}
    if version != listed and not is_open:
        yield broken(
            "sampler.version", "The sampler's version is not the one listed under software.",
            stated=quote(version), recomputed=quote(listed),
        )  # fmt: skip


def plain_word(value: object) -> object:
    """Give a stated constant as it may stand in a result.

    Parameters
    ----------
    value : object
        What a document states.

    Returns
    -------
    object
        Truth values as they are, anything else quoted.
    """
    return value if isinstance(value, bool) else quote(value)
