"""What several releases spend together, tighter than by adding up.

The ledger's rule ``pld``. It holds for every order of releases, and also when each mechanism
and its noise were chosen in the light of everything that was released before (a *fully
adaptive* analyst). That is why it is not the composition of all privacy loss distributions,
which is proven only for noise that was fixed in advance, but the best of two bounds that each
hold against such an analyst:

- the sum of all epsilons, where all deltas together are at most a quarter of delta;
- everything as Gaussian noise: ratios of sensitivity to noise add up in squares. Epsilon is
  read off the privacy loss distribution at half of delta, and the deltas of what is not
  Gaussian are together at most a quarter of it.

The analyst may steer into whichever bound suits the output, so the two share delta instead of
each using all of it. The proof is in ``docs/ledger.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from neuroveil.errors import ChainError
from neuroveil.privacy.accounting import (
    SMALLEST_CHECKED_DELTA,
    Event,
    epsilon_by_pld,
)
from neuroveil.privacy.calibration import gaussian_epsilon
from neuroveil.privacy.exact import exact, float_down
from neuroveil.privacy.mechanisms.contract import RowMechanism
from neuroveil.types.budget import AccountingEvent

_SHARE_OF_GAUSSIANS = Fraction(1, 2)
_SHARE_OF_DELTAS = Fraction(1, 4)

_INTEGER_COST = 1e-9
"""What is set aside for integers instead of continuous noise: an absolute part of epsilon
and a relative part of delta. Real releases cost about 1e-22."""

_SMALLEST_INTEGER_SCALE = 2.0**30
_LARGEST_EPSILON = 600.0
_SMALLEST_SHARE = 1e-20
_MOST_EVENTS = 10**8
_ROUNDING = 1e-12

_SLOPE_AT_0 = math.sqrt(math.pi / 2)
_SMALL_EPSILON = 1e-4

_PLD_RANGE = (1e-3, 50.0)
_PLD_GAP = 1e-3


def row_event(mechanism: RowMechanism) -> AccountingEvent:
    """Say what the rows of a release are to an accountant.

    Parameters
    ----------
    mechanism : RowMechanism
        The calibrated mechanism.

    Returns
    -------
    AccountingEvent
        For the ledger: with the size of the noise where it is Gaussian.
    """
    spec, event = mechanism.spec, mechanism.event
    if event.family != "gaussian":
        return AccountingEvent(spec.name, exact(spec.epsilon), exact(spec.delta))
    return AccountingEvent(
        spec.name, exact(spec.epsilon), exact(spec.delta),
        noise_multiplier=event.noise_multiplier,
        integer_scale=float(mechanism.facts()["mechanism"]["integer_scale"].value),
        dimension=spec.dimension,
    )  # fmt: skip


def composed_epsilon(events: Sequence[AccountingEvent], delta: Fraction) -> Fraction | None:
    """Give an epsilon that holds for all events together.

    Parameters
    ----------
    events : sequence of AccountingEvent
        What was released about one patient, in any order.
    delta : Fraction
        Delta at which epsilon is wanted: the limit's.

    Returns
    -------
    Fraction or None
        Epsilon, rounded up; nothing where neither bound can be proven at this delta.

    Raises
    ------
    ChainError
        If two accountants disagree.
    """
    if not events:
        return Fraction(0)
    bounds = (_by_adding_up(events, delta), _as_gaussians(events, delta))
    found = [bound for bound in bounds if bound is not None]
    return min(found) if found else None


def _by_adding_up(events: Sequence[AccountingEvent], delta: Fraction) -> Fraction | None:
    if _sum_of_deltas(events) > delta * _SHARE_OF_DELTAS:
        return None
    return sum((event.epsilon for event in events), Fraction(0))


def _as_gaussians(events: Sequence[AccountingEvent], delta: Fraction) -> Fraction | None:
    gaussians = [event for event in events if _is_fine_gaussian(event)]
    others = [event for event in events if not _is_fine_gaussian(event)]
    share = float_down(delta * _SHARE_OF_GAUSSIANS) * (1 - _INTEGER_COST)
    has_room = share >= _SMALLEST_SHARE and _sum_of_deltas(others) <= delta * _SHARE_OF_DELTAS
    if not has_room or not _integers_are_cheap(gaussians):
        return None
    ratios = [1 / float(event.noise_multiplier or 0) for event in gaussians]
    ratios += [gaussian_ratio(event.epsilon) for event in others]
    total = math.sqrt(math.fsum(ratio**2 for ratio in ratios)) * (1 + _ROUNDING)
    if not math.isfinite(total):
        return None
    epsilon = gaussian_epsilon_checked(total, share)
    return Fraction(epsilon + _INTEGER_COST) if epsilon <= _LARGEST_EPSILON else None


def gaussian_ratio(epsilon: Fraction) -> float:
    """Give the Gaussian mechanism that is at least as revealing as any pure one.

    Whatever a mechanism with a pure guarantee tells about two neighbouring tables, randomised
    response tells as much (Kairouz, Oh and Viswanath 2015). Its trade-off function is two
    straight lines that meet where the two errors are both 1 / (1 + e^epsilon); the Gaussian
    one is convex and passes through the same three points, so it lies below.

    Parameters
    ----------
    epsilon : Fraction
        Epsilon of the pure guarantee.

    Returns
    -------
    float
        ``mu = 2 Phi^-1(e^epsilon / (1 + e^epsilon))``, sensitivity divided by noise standard
        deviation, rounded up; infinity where epsilon is too large for it.
    """
    from scipy.special import expit, ndtri

    if epsilon > _LARGEST_EPSILON:
        return math.inf
    value = float(epsilon)
    if value < _SMALL_EPSILON:  # mu is concave in epsilon, so its tangent at 0 lies above it
        return value * _SLOPE_AT_0 * (1 + _ROUNDING)
    return float(-2 * ndtri(expit(-value))) * (1 + 1e3 * _ROUNDING)


def gaussian_epsilon_checked(ratio: float, delta: float) -> float:
    """Give epsilon of composed Gaussian noise by two accountants that must agree.

    Parameters
    ----------
    ratio : float
        Sensitivity divided by noise standard deviation; for several releases the root of the
        sum of squares.
    delta : float
        Delta.

    Returns
    -------
    float
        The larger of the closed form (Balle and Wang 2018, Theorem 8) and the privacy loss
        distribution, where the latter reaches: it is accurate for epsilons from 0.001 to 50
        and deltas from 1e-12 on.

    Raises
    ------
    ChainError
        If the two differ by more than a thousandth.
    """
    closed = gaussian_epsilon(1.0, 1 / ratio, delta)
    low, high = _PLD_RANGE
    if not low <= closed <= high or delta < SMALLEST_CHECKED_DELTA:
        return closed
    by_losses = epsilon_by_pld((Event("gaussian", 1 / ratio),), delta)
    if abs(by_losses - closed) > _PLD_GAP * closed:
        raise ChainError(
            "composition.spent", f"two accountants that agree on epsilon = {closed:.6g}",
            f"{by_losses:.6g} by privacy loss distributions",
            "Do not release anything. Report this with the version of dp-accounting.",
        )  # fmt: skip
    return max(closed, by_losses)


def _sum_of_deltas(events: Iterable[AccountingEvent]) -> Fraction:
    return sum((event.delta for event in events), Fraction(0))


def _is_fine_gaussian(event: AccountingEvent) -> bool:
    """Whether an event is integer Gaussian noise on a grid fine enough for the proof."""
    scale = event.integer_scale
    return event.is_gaussian and scale is not None and scale >= _SMALLEST_INTEGER_SCALE


def _integers_are_cheap(events: Sequence[AccountingEvent]) -> bool:
    """Whether integer noise costs no more than what is set aside for it.

    The second bound of "Integer Gaussian noise costs almost nothing" in ``docs/proofs.md``,
    with one ball for every epsilon up to the largest: the noise of one event leaves it with
    probability at most exp(-(largest + 99)).
    """
    x = _LARGEST_EPSILON + 100
    cost = math.fsum(
        (2 * event.dimension + 2 * math.sqrt(event.dimension * x) + 2 * x)
        / (24 * float(event.integer_scale or 1) ** 2)
        for event in events
    )
    return cost <= _INTEGER_COST / 2 and len(events) <= _MOST_EVENTS
