"""Mean and covariance of all patients: sensitivity, noise and promise, derived again.

Worked out from the clip norm, the share of the mean, ε and δ only. With the share w of the mean,
a replaced patient moves both moments together by the square root of
J = w/2 + (1 - w) + w²/(16 (1 - w)), in units in which the noise has the stated scale.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from neuroveil.privacy.verify import arithmetic
from neuroveil.privacy.verify.arithmetic import (
    delta_analytic,
    precise,
    smallest_epsilon,
    smallest_sigma,
    square_root,
    to_decimal,
)
from neuroveil.privacy.verify.basis import is_drawn, row_delta, scaling_events
from neuroveil.privacy.verify.findings import broken, finding, holds, is_close, missing, quote, show
from neuroveil.privacy.verify.result import Check
from neuroveil.privacy.verify.rules_central import DERIVED
from neuroveil.privacy.verify.statement import Statement, is_same

_BALLE_WANG = "Balle & Wang 2018, Theorem 8, for both moments as one vector"
_JOINT = "both moments as one vector, see docs/proofs-central.md"
_ROUNDED_UP = Fraction(1_000_000_001, 1_000_000_000)
_MOST_TOO_MUCH = Fraction(1001, 1000)
_FIRST_PROOF = {"guarantee.epsilon_slack": "0:", "guarantee.delta_slack": "(1 +"}
_ROW_BITS, _SUM_BITS = 22, 61
_LARGEST_SHARE = Fraction(8, 10)


@dataclass(frozen=True)
class Foundations:
    """What everything follows from.

    Parameters
    ----------
    clip, share, scale : Fraction
        Clip norm C, share w of the mean, noise scale for unit sensitivity.
    epsilon, delta : Fraction
        The promise.
    n, d, grid : int
        Patients, columns, binary logarithm of the grid's step.
    """

    clip: Fraction
    share: Fraction
    scale: Fraction
    epsilon: Fraction
    delta: Fraction
    n: int
    d: int
    grid: int

    @property
    def joint_square(self) -> Fraction:
        """J, the square of the sensitivity of both moments together."""
        w = self.share
        return w / 2 + (1 - w) + w * w / (16 * (1 - w))

    @property
    def squares(self) -> dict[str, Fraction]:
        """Squares of sensitivities and of the noise in single entries, by fact."""
        second, rest = 2 * self.clip**4, 1 - self.share
        return {
            "sensitivity.value": self.joint_square,
            "sensitivity.sum": 4 * self.clip**2,
            "sensitivity.second_moment": second,
            "mechanism.noise_std_sum": 4 * self.clip**2 * self.scale**2 / self.share,
            "mechanism.noise_std_diagonal": second * self.scale**2 / rest,
            "mechanism.noise_std_off_diagonal": second * self.scale**2 / (2 * rest),
        }

    @property
    def n_coordinates(self) -> int:
        """Number of noisy integers."""
        return self.d * (self.d + 1) // 2 + self.d

    @property
    def integer_scale(self) -> Decimal:
        """Smallest noise scale in steps of its grid."""
        squares, step = self.squares, Fraction(2) ** (2 * self.grid)
        smallest = min(
            squares["mechanism.noise_std_off_diagonal"] / step**2,
            squares["mechanism.noise_std_sum"] / step,
        )
        return square_root(smallest)

    def slack(self) -> tuple[Decimal, Decimal, bool]:
        """Price of integer noise.

        Returns
        -------
        tuple of Decimal, Decimal, bool
            What it costs in ε and in δ, and whether by the first of the two proofs.
        """
        scale, count = self.integer_scale, self.n_coordinates
        epsilon, delta = to_decimal(self.epsilon), to_decimal(self.delta)
        with precise():
            first = arithmetic.slack_by_total_variation(epsilon, count, scale)
            if first <= delta / 1000 or not arithmetic.second_proof_applies(epsilon, count, scale):
                return Decimal(0), first, True
            shift = arithmetic.epsilon_shift(epsilon, count, scale)
            return shift, arithmetic.slack_by_likelihood_ratio(delta, count, scale), False


def is_of_moments(statement: Statement) -> bool:
    """Whether a certificate is one of statistics of all patients together.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Returns
    -------
    bool
        True under central trust, unless that is for constants of scaling, and for the
        mechanism that needs it.
    """
    central = statement.text("model.trust") == "central" and not is_drawn(statement)
    moments = statement.text("mechanism.name") == "mean_covariance"
    return not statement.is_claim and (central or moments)


def foundations(statement: Statement) -> Foundations | None:
    """Read what everything follows from.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Returns
    -------
    Foundations or None
        ``None`` where something is missing or out of range.
    """
    numbers = [
        statement.number(name)
        for name in ("bound.clip_norm", "mechanism.mean_share", "mechanism.noise_scale",
                     "guarantee.epsilon_rows")
    ]  # fmt: skip
    (clip, share, scale, epsilon), delta = numbers, row_delta(statement)
    n, d = statement.integer("adjacency.n_roster"), statement.integer("domain.dimension")
    grid = statement.integer("bound.grid_log2")
    if clip is None or share is None or scale is None or epsilon is None or delta is None:
        return None
    if n is None or d is None or grid is None or n < 1 or d < 1 or abs(grid) > 1100:
        return None
    in_range = clip > 0 and 0 < share <= _LARGEST_SHARE * _ROUNDED_UP and scale > 0
    if not (in_range and Fraction(1, 10**12) <= epsilon <= 10**6 and 0 < delta < 1):
        return None
    return Foundations(clip, share, scale, epsilon, delta, n, d, grid)


def check_moments(statement: Statement) -> Iterator[Check]:
    """Check bound, sensitivity, mechanism and aggregates.

    Parameters
    ----------
    statement : Statement
        A certificate of moments.

    Yields
    ------
    Check
        One for each number that has to follow.
    """
    pair = statement.text("mechanism.name"), statement.text("model.trust")
    right = ("mean_covariance", "central")
    yield finding(
        "holds" if pair == right else "broken", "mechanism.name",
        "Mean and covariance are released by somebody who sees all rows."
        if pair == right
        else "Mean and covariance, and nothing else, are released under central trust.",
        stated=quote(pair), recomputed=quote(right),
    )  # fmt: skip
    found = foundations(statement)
    if found is None:
        yield missing("mechanism.noise_scale", "what the noise follows from, within its range")
        return
    yield from _check_bound(statement, found)
    for name, square in found.squares.items():
        yield _rounded_up(statement, name, square)
    yield _check_scale(found)
    yield from _check_followers(statement, found)
    yield from _check_aggregates(statement, found)


def _check_bound(statement: Statement, found: Foundations) -> Iterator[Check]:
    steps = found.clip / Fraction(2) ** found.grid
    fine = (
        1 <= steps < 2**_ROW_BITS
        and found.n * steps**2 <= 2**_SUM_BITS
        and 2**10 <= found.integer_scale <= 2**62
    )
    yield finding(
        "holds" if fine else "broken", "bound.grid_log2",
        f"Rows are multiples of 2^{found.grid}; their sums stay exact in 64 bits."
        if fine
        else "That step does not suit the longest row, the sums or the noise.",
        stated=found.grid,
    )  # fmt: skip
    plain = statement.text("bound.norm") == "l2" and statement.integer("bound.dimension") == found.d
    plain = plain and statement.raw("preprocessing.projection") is None
    yield finding(
        "holds" if plain else "broken", "bound.dimension",
        f"Whole rows of {found.d} columns are bounded in L2."
        if plain
        else "Moments are those of whole rows, bounded in L2.",
    )  # fmt: skip
    norm = statement.text("sensitivity.norm")
    if norm != "l2":
        yield broken(
            "sensitivity.norm", "Gaussian noise consumes an l2 sensitivity of both moments.",
            stated=quote(norm), recomputed="l2",
        )  # fmt: skip
    alone = statement.listing("domain.labels") == [] == statement.listing("domain.unprotected")
    if not alone:
        yield broken("domain.labels", "Labels do not go beside statistics of all patients.")


def _rounded_up(statement: Statement, name: str, square: Fraction) -> Check:
    stated, exact = statement.number(name), square_root(square)
    if stated is None:
        return missing(name)
    agrees = stated > 0 and square <= stated**2 <= square * _ROUNDED_UP**2
    return finding(
        "holds" if agrees else "broken", name,
        f"Derived again it is {show(exact)}"
        + ("." if agrees else f"; the stated {show(stated)} is no rounding up of it."),
        stated=stated, recomputed=exact, source=_JOINT,
    )  # fmt: skip


def _check_scale(found: Foundations) -> Check:
    name = "mechanism.noise_scale"
    shift, slack, _ = found.slack()
    with precise():
        epsilon, limit = to_decimal(found.epsilon) - shift, to_decimal(found.delta) - slack
        if epsilon <= 0 or limit <= 0:
            return broken(name, "Integer noise on this grid eats the whole promise up.")
        sensitivity, scale = square_root(found.joint_square), to_decimal(found.scale)
        needed = smallest_sigma(epsilon, limit, sensitivity)
        reached = delta_analytic(epsilon, scale, sensitivity)
    # The stated scale is checked itself: the search for the needed one is a display.
    if reached > limit:
        words = f"Sigma {show(found.scale)} is too small: {show(needed)} is needed."
        return broken(name, words, stated=found.scale, recomputed=needed, source=_BALLE_WANG)
    if found.scale > Fraction(needed) * _MOST_TOO_MUCH:
        words = "The noise is more than what the stated guarantee asks for."
        return broken(name, words, stated=found.scale, recomputed=needed, source=_BALLE_WANG)
    return holds(
        name, "The noise is enough: delta_analytic(sigma) + slack <= delta.",
        stated=found.scale, recomputed=needed, source=_BALLE_WANG,
    )  # fmt: skip


def _check_followers(statement: Statement, found: Foundations) -> Iterator[Check]:
    with precise():
        multiplier = to_decimal(found.scale) / square_root(found.joint_square)
        expected = {
            "mechanism.n_coordinates": Decimal(found.n_coordinates),
            "mechanism.integer_scale": found.integer_scale,
            "mechanism.noise_multiplier": multiplier,
        }
    yield from _compare(statement, expected)


def _compare(statement: Statement, expected: Mapping[str, Decimal]) -> Iterator[Check]:
    for name, right in expected.items():
        stated = statement.number(name)
        agrees = stated is not None and is_close(stated, right, 1e-9)
        yield finding(
            "holds" if agrees else "broken", name,
            f"It follows from the facts it rests on: {show(right)}.",
            stated=stated, recomputed=right,
        )  # fmt: skip


def _check_aggregates(statement: Statement, found: Foundations) -> Iterator[Check]:
    """The list of sums repeats the facts it rests on, and names what is made of them."""
    raw, share = statement.raw, statement.raw("mechanism.mean_share")
    right = [
        {"name": "sum", "sensitivity_norm": "l2", "sensitivity": raw("sensitivity.sum"),
         "noise_scale": raw("mechanism.noise_std_sum"), "grid_log2": found.grid,
         "share": share},
        {"name": "second_moment", "sensitivity_norm": "l2",
         "sensitivity": raw("sensitivity.second_moment"),
         "noise_scale": raw("mechanism.noise_std_off_diagonal"), "grid_log2": 2 * found.grid,
         "share": 1 - share},
    ]  # fmt: skip
    agrees = statement.listing("aggregates.statistics") == right
    yield finding(
        "holds" if agrees else "broken", "aggregates.statistics",
        "Two sums are released, each with the sensitivity and noise of the chain."
        if agrees
        else "The released sums are not those that the chain describes.",
    )  # fmt: skip
    derived = statement.listing("aggregates.derived") == list(DERIVED)
    yield finding(
        "holds" if derived else "broken", "aggregates.derived",
        "Everything else is made of these sums."
        if derived
        else "What is made of the sums is not what such a release holds.",
        source="post-processing, Dwork & Roth 2014, Proposition 2.1",
    )  # fmt: skip
    if statement.listing("postprocessing.steps") != []:
        yield broken("postprocessing.steps", "The steps of row releases have no place here.")


def check_moment_promise(statement: Statement) -> Iterator[Check]:
    """Check slack, supported ε and the zCDP figures.

    Parameters
    ----------
    statement : Statement
        A certificate of moments.

    Yields
    ------
    Check
        One for each figure.
    """
    found = foundations(statement)
    if found is None:
        yield missing("guarantee.epsilon_supported", "what the noise follows from")
        return
    shift, slack, is_first = found.slack()
    for name, right in (("guarantee.epsilon_slack", shift), ("guarantee.delta_slack", slack)):
        yield _priced(statement, name, right)
        if _formula(statement, name).startswith(_FIRST_PROOF[name]) is not is_first:
            yield broken(name, "Its formula is that of the other of the two proofs.")
    with precise():
        twice = 2 * to_decimal(found.scale) ** 2
        whole, share = to_decimal(found.joint_square), to_decimal(found.share)
        expected = {
            "guarantee.zcdp_rho": whole / twice,
            "guarantee.zcdp_rho_sum": share / twice,
            "guarantee.zcdp_rho_second_moment": (1 - share) / twice,
        }
    yield from _compare(statement, expected)
    limit = statement.number("guarantee.delta_calibrated")
    if limit is None or not 0 < limit < 1:
        yield missing("guarantee.epsilon_supported", "guarantee.delta_calibrated")
        return
    with precise():
        right = shift + _supported(found, to_decimal(limit))
        stated = to_decimal(statement.number("guarantee.epsilon_supported") or Fraction(0))
        agrees = right * (1 - Decimal("1e-9")) <= stated <= right * Decimal("1.001")
    yield finding(
        "holds" if agrees else "broken", "guarantee.epsilon_supported",
        f"The stated noise supports epsilon = {show(right)} for each patient.",
        stated=stated, recomputed=right, source=_BALLE_WANG,
    )  # fmt: skip


def _formula(statement: Statement, name: str) -> str:
    link, _, key = name.partition(".")
    fact: Any = statement.document.get("chain")
    for step in (link, key, "formula"):
        fact = fact.get(step) if isinstance(fact, Mapping) else None
    return fact if isinstance(fact, str) else ""


def _supported(found: Foundations, delta: Decimal) -> Decimal:
    return smallest_epsilon(delta, to_decimal(found.scale), square_root(found.joint_square))


def _priced(statement: Statement, name: str, right: Decimal) -> Check:
    """A price is rounded up, and never down."""
    stated = statement.number(name)
    agrees = stated is not None and is_close(stated, right, 1e-6)
    agrees = agrees and (stated or 0) >= Fraction(right) * (1 - Fraction(1, 10**12))
    return finding(
        "holds" if agrees else "broken", name,
        f"Integer noise instead of continuous noise costs {show(right, 4)} here.",
        stated=stated, recomputed=right, source="Poisson summation and Jensen's inequality",
    )  # fmt: skip


def check_moment_books(statement: Statement) -> Iterator[Check]:
    """Check what was counted, and what is predicted to be left.

    Parameters
    ----------
    statement : Statement
        A certificate of moments.

    Yields
    ------
    Check
        Accountant and utility.
    """
    expected = {
        "accountant.name": "analytic_gaussian",
        "accountant.version": statement.text("software.versions", "neuroveil"),
        "accountant.adjacency": statement.text("adjacency.relation"),
    }
    for name, right in expected.items():
        stated = statement.text(name)
        agrees = stated == right
        yield finding(
            "holds" if agrees else "broken", name, "It has to agree with the rest of the chain.",
            stated=quote(stated), recomputed=quote(right),
        )  # fmt: skip
    multiplier = statement.raw("mechanism.noise_multiplier")
    moments = {"mechanism": "mean_covariance", "releases": 1, "noise_multiplier": multiplier}
    events = [moments, *scaling_events(statement)]
    counted = is_same(statement.listing("accountant.events"), events)
    yield finding(
        "holds" if counted else "broken", "accountant.events",
        "Exactly one release of both moments was counted."
        if counted
        else "Something other than what the chain describes was counted.",
    )  # fmt: skip
    found = foundations(statement)
    if found is None:
        return
    yield _second_opinion(statement, found)
    with precise():
        squares = found.squares
        entries = {"mean_rmse": "sum", "covariance_rmse": "off_diagonal"}
        for key, entry in entries.items():
            value = square_root(squares[f"mechanism.noise_std_{entry}"]) / found.n
            predicted = statement.number("utility.predicted", key)
            agrees = predicted is not None and is_close(predicted, value, 1e-9)
            yield finding(
                "holds" if agrees else "broken", f"utility.{key}",
                f"The noise in an entry of the mean over patients is {show(value)}.",
                stated=predicted, recomputed=value,
            )  # fmt: skip


def _second_opinion(statement: Statement, found: Foundations) -> Check:
    """A library's ε at the calibrated δ; over grids it may report a little more."""
    name = "accountant.cross_check"
    delta, calibrated = (
        statement.number(name, "delta"), statement.number("guarantee.delta_calibrated")
    )  # fmt: skip
    package = (statement.text(name, "method") or "").partition(",")[0]
    listed = statement.text("software.versions", package)
    rho = statement.number(name, "zcdp_rho")
    with precise():
        right_rho = to_decimal(found.joint_square) / (2 * to_decimal(found.scale) ** 2)
    if listed is None or statement.text(name, "version") != listed:
        return broken(name, "Its library and version are not listed under software.")
    if delta is None or calibrated is None or not 0 < delta < 1 or not is_close(delta, calibrated):
        return broken(name, "It was taken at another delta than the noise was calibrated for.")
    if rho is None or not is_close(rho, right_rho, 1e-9):
        return broken(name, "Its zCDP figure is not that of the noise.", recomputed=right_rho)
    stated = statement.number(name, "epsilon")
    right = _supported(found, to_decimal(delta))
    if stated is None:
        excused = not Fraction(1, 1000) <= found.epsilon <= 50 or calibrated < Fraction(1, 10**12)
        words = "No second opinion: whether the library reaches this far decides."
        return finding("holds" if excused else "broken", name, words, recomputed=right)
    with precise():
        low = right * (1 - Decimal("1e-4")) - Decimal("1e-6")
        high = right * Decimal("1.001") + Decimal("1e-3")
        agrees = low <= to_decimal(stated) <= high
    return finding(
        "holds" if agrees else "broken", name,
        f"The second opinion says epsilon = {show(stated)}; derived again it is {show(right)}.",
        stated=stated, recomputed=right, source="closed form of the privacy profile",
    )  # fmt: skip
