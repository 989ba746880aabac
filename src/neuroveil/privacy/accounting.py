"""Second opinions on epsilon. The only module that knows of dp-accounting.

Our noise multiplier is ``noise_std / sensitivity``. The multiplier z of dp-accounting and
of DP-SGD is ``noise_std / clip_norm``, which is twice ours under replace-one, because there
the sensitivity is twice the clipping norm. The conversion is made in
:func:`_library_multiplier` and nowhere else. dp-accounting's two accountants read z
differently: its privacy-loss-distribution accountant applies the factor 2 of replace-one,
its Rényi accountant does not and must be fed half of z.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.metadata import version
from typing import Any, Literal

from neuroveil.errors import ChainError
from neuroveil.privacy.bounds import Relation, adjacency_factor
from neuroveil.privacy.validate import check_delta, check_positive

Family = Literal["gaussian", "laplace", "two_valued"]

_GRID_STEPS = 1e-4
_CHECKED_EPSILONS = (1e-3, 50.0)
SMALLEST_CHECKED_DELTA = 1e-12
"""Range in which the library's discretised distributions are accurate."""


@dataclass(frozen=True)
class Event:
    """Uses of one mechanism, as an accountant sees it.

    Parameters
    ----------
    family : {"gaussian", "laplace", "two_valued"}
        Family of the noise; ``two_valued`` for k-closest codewords, which add none.
    noise_multiplier : float, optional
        ``noise_std / sensitivity``, with the sensitivity in the norm that the mechanism
        consumes (no unit); none without noise.
    releases : int
        How many times.
    """

    family: Family
    noise_multiplier: float | None
    releases: int = 1


def epsilon_by_pld(
    events: Sequence[Event], delta: float, relation: Relation = "replace_one"
) -> float:
    """Compute epsilon from privacy loss distributions (Koskela et al. 2020).

    Parameters
    ----------
    events : sequence of Event
        Gaussian events, composed.
    delta : float
        Delta.
    relation : {"replace_one", "add_or_remove_one"}
        Adjacency under which the events' sensitivities were taken.

    Returns
    -------
    float
        Epsilon, a slight overestimate (pessimistic rounding of losses).

    Raises
    ------
    ChainError
        If an event is not Gaussian, or a parameter is out of range.
    """
    check_delta(delta, "delta")
    return _pld_epsilon(tuple(events), delta, relation)


def epsilon_by_rdp(
    events: Sequence[Event], delta: float, relation: Relation = "replace_one"
) -> float:
    """Compute epsilon from Rényi divergences (Mironov 2017), as a cross-check.

    Parameters
    ----------
    events : sequence of Event
        Gaussian events, composed, without sampling.
    delta : float
        Delta.
    relation : {"replace_one", "add_or_remove_one"}
        Adjacency under which the events' sensitivities were taken.

    Returns
    -------
    float
        Epsilon, an upper bound that is a few per cent loose.

    Raises
    ------
    ChainError
        If an event is not Gaussian, or a parameter is out of range.
    """
    from dp_accounting import rdp

    check_delta(delta, "delta")
    accountant = rdp.RdpAccountant(neighboring_relation=_library_relation(relation))
    for event in events:
        # This accountant leaves the factor of replace-one out, so it is divided out here.
        multiplier = _library_multiplier(event, relation) / adjacency_factor(relation)
        accountant.compose(_gaussian_event(multiplier), event.releases)
    return float(accountant.get_epsilon(delta))


@lru_cache(maxsize=256)
def sampled_gaussian_epsilon(
    noise_multiplier: float,
    sampling_rate: float,
    steps: int,
    delta: float,
    interval: float = _GRID_STEPS,
) -> float:
    """Compute epsilon of Poisson-sampled Gaussian sums under replace-one, by their losses.

    Each step draws every patient with the same probability q, adds the clipped contributions of
    those that were drawn, and adds Gaussian noise. Replacing a patient turns the mixture
    (1 - q) N(0, s^2) + q N(C, s^2) into (1 - q) N(0, s^2) + q N(-C, s^2): a shift of 2 C with
    probability q. That pair dominates all others.

    Parameters
    ----------
    noise_multiplier : float
        ``noise_std / sensitivity`` with sensitivity 2 C, as everywhere here (no unit).
    sampling_rate : float
        Probability q, above 0 and at most 1.
    steps : int
        How many steps, each with noise and sampling of its own.
    delta : float
        Delta.
    interval : float
        Losses are rounded up to multiples of it (nat). A coarser one is quicker and overestimates
        more; whatever it is, the result is an upper bound.

    Returns
    -------
    float
        Epsilon, a slight overestimate (pessimistic rounding of losses).

    Raises
    ------
    ChainError
        If a parameter is out of range.

    References
    ----------
    Koskela, Jälkö and Honkela 2020 (substitution); Zhu, Dong and Wang 2022 (dominating pairs).
    """
    check_delta(delta, "delta")
    check_positive(noise_multiplier, "noise_multiplier")
    check_positive(interval, "interval")
    if not 0 < sampling_rate <= 1 or steps < 1:
        raise ChainError(
            "sampling", "a rate above 0 and at most 1, and at least one step",
            f"{sampling_rate!r} and {steps!r}", "Correct sampling_rate or the number of steps.",
        )  # fmt: skip
    losses = _sampled_gaussian_losses(noise_multiplier, sampling_rate, steps, interval)
    return float(losses.get_epsilon(delta))


@lru_cache(maxsize=4)  # a calibration asks for two deltas at the same noise; losses are large
def _sampled_gaussian_losses(
    noise_multiplier: float, sampling_rate: float, steps: int, interval: float
) -> Any:
    from dp_accounting import PoissonSampledDpEvent, pld

    multiplier = noise_multiplier * adjacency_factor("replace_one")
    event = PoissonSampledDpEvent(sampling_rate, _gaussian_event(multiplier))
    # Rounding adds up to one interval a step at worst, and its square root in practice.
    accountant = pld.PLDAccountant(
        _library_relation("replace_one"), value_discretization_interval=interval
    )
    accountant.compose(event, steps)
    return accountant


def zcdp_rho(events: Sequence[Event]) -> float:
    """Give the zero-concentrated privacy loss of Gaussian events.

    Parameters
    ----------
    events : sequence of Event
        Gaussian events, composed.

    Returns
    -------
    float
        ``rho``, the sum of sensitivity^2 / (2 sigma^2). Holds for discrete Gaussian noise
        as it stands (Canonne, Kamath and Steinke 2020, Theorem 14).
    """
    return math.fsum(event.releases / (2 * _multiplier(event, "gaussian") ** 2) for event in events)


def epsilon_by_zcdp(
    rho: float, delta: float, conversion: Literal["optimal", "simple"] = "optimal"
) -> float:
    """Convert zero-concentrated differential privacy to (epsilon, delta).

    Parameters
    ----------
    rho : float
        Zero-concentrated privacy loss.
    delta : float
        Delta.
    conversion : {"optimal", "simple"}
        ``"optimal"``: the infimum over Rényi orders of Canonne, Kamath and Steinke 2020,
        Proposition 12. ``"simple"``: rho + 2 sqrt(rho log(1/delta)) of Bun and Steinke 2016,
        Proposition 1.3.

    Returns
    -------
    float
        Epsilon, an upper bound.

    Raises
    ------
    ChainError
        If a parameter is out of range.
    """
    from scipy.optimize import minimize_scalar

    check_positive(rho, "rho")
    check_delta(delta, "delta")
    simple = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    if conversion == "simple":
        return simple

    def at_order(log_excess: float) -> float:
        excess = math.exp(log_excess)  # Rényi order minus 1
        order = 1 + excess
        return rho * order + math.log(1 / (order * delta)) / excess + math.log1p(-1 / order)

    # Any order gives a valid bound; the simple conversion's order is where to look.
    centre = math.log(math.sqrt(math.log(1 / delta) / rho))
    best = minimize_scalar(at_order, bounds=(centre - 5, centre + 5), method="bounded")
    return max(0.0, min(simple, float(best.fun)))


@dataclass(frozen=True)
class CrossCheck:
    """A second opinion on the epsilon of one release's rows.

    Parameters
    ----------
    method, version : str
        Library, its method and its version.
    epsilon : float, optional
        What the library reports; nothing where it cannot reach.
    delta : float
        Delta at which it was asked.
    zcdp_rho : float, optional
        Zero-concentrated privacy loss, for Gaussian noise.
    """

    method: str
    version: str
    epsilon: float | None
    delta: float
    zcdp_rho: float | None

    def to_json(self) -> dict[str, Any]:
        """Give the second opinion as plain data.

        Returns
        -------
        dict
            One entry a field.
        """
        return asdict(self)


def cross_check(event: Event, epsilon: float, delta: float) -> CrossCheck | None:
    """Ask dp-accounting for the epsilon of one row mechanism under replace-one.

    Parameters
    ----------
    event : Event
        What was released.
    epsilon : float
        What the closed form says of it; tells whether the library can reach.
    delta : float
        Delta at which to ask; for Laplace noise :data:`SMALLEST_CHECKED_DELTA` is taken,
        because the library keeps a little probability for losses that it cuts off.

    Returns
    -------
    CrossCheck
        Epsilon from the privacy loss distribution: for Gaussian noise of the whole row, for
        Laplace noise of one coordinate that takes the whole L1 sensitivity. Nothing for
        k-closest codewords, whose two probabilities are compared exactly.
    """
    if event.family == "two_valued":
        return None
    low, high = _CHECKED_EPSILONS
    method, rho, found = "dp-accounting, privacy loss distribution", None, None
    reachable = low <= epsilon <= high
    if event.family == "laplace":
        delta = SMALLEST_CHECKED_DELTA
        found = _pld_laplace(_multiplier(event, "laplace")) if reachable else None
    else:
        rho = zcdp_rho((event,))
        if reachable and delta >= SMALLEST_CHECKED_DELTA:
            found = epsilon_by_pld((event,), delta)
    return CrossCheck(method, version("dp-accounting"), found, delta, rho)


@lru_cache(maxsize=64)
def _pld_epsilon(events: tuple[Event, ...], delta: float, relation: Relation) -> float:
    from dp_accounting import pld

    # Losses are rounded up to a grid that is fine compared with the epsilon to be found.
    interval = _GRID_STEPS * epsilon_by_zcdp(zcdp_rho(events), delta)
    accountant = pld.PLDAccountant(
        _library_relation(relation), value_discretization_interval=interval
    )
    for event in events:
        accountant.compose(_gaussian_event(_library_multiplier(event, relation)), event.releases)
    return float(accountant.get_epsilon(delta))


@lru_cache(maxsize=64)
def _pld_laplace(noise_multiplier: float) -> float:
    from dp_accounting import LaplaceDpEvent, NeighboringRelation, pld

    # The library knows Laplace noise as scale / sensitivity, under add-or-remove, where the
    # factor of replace-one is in the sensitivity already.
    parameter = noise_multiplier / math.sqrt(2)
    accountant = pld.PLDAccountant(
        NeighboringRelation.ADD_OR_REMOVE_ONE, value_discretization_interval=_GRID_STEPS / parameter
    )
    accountant.compose(LaplaceDpEvent(parameter))
    return float(accountant.get_epsilon(SMALLEST_CHECKED_DELTA))


def _library_multiplier(event: Event, relation: Relation) -> float:
    """Give z = noise_std / clip_norm, which dp-accounting's documentation speaks of."""
    return _multiplier(event, "gaussian") * adjacency_factor(relation)


def _library_relation(relation: Relation) -> Any:
    from dp_accounting import NeighboringRelation

    if relation == "replace_one":
        return NeighboringRelation.REPLACE_ONE
    return NeighboringRelation.ADD_OR_REMOVE_ONE


def _gaussian_event(multiplier: float) -> Any:
    from dp_accounting import GaussianDpEvent

    return GaussianDpEvent(multiplier)


def _multiplier(event: Event, family: Family) -> float:
    """Give the noise multiplier of an event of the right family."""
    if event.family != family or event.noise_multiplier is None:
        raise ChainError(
            "accountant.events", f"{family} events with a noise multiplier",
            f"a {event.family} event", "Add up the epsilons of mechanisms with a pure guarantee.",
        )  # fmt: skip
    return check_positive(event.noise_multiplier, "accountant.events.noise_multiplier")
