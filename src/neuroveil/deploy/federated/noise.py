"""How much noise a plan needs. Everybody works it out from the plan, and trusts no message.

``dp_sgd``: in every local step at every hospital each patient takes part with probability q, and
the sum of clipped gradients gets integer Gaussian noise. A patient is at one hospital, so the
guarantee is that of one hospital's steps, whatever the others do.

``central``: the same at a server that holds everybody's rows, with everybody in every step.

``distributed``: in every round each hospital adds a share of noise to the sum of all its patients'
clipped gradients, and only the total of all hospitals is unmasked. With t hospitals that drop out
or collude, n - t shares are left; each is large enough that these suffice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from neuroveil.deploy.federated.plan import FederationPlan
from neuroveil.deploy.federated.sampled_noise import smallest_multiplier
from neuroveil.errors import ChainError
from neuroveil.privacy.accounting import sampled_gaussian_epsilon
from neuroveil.privacy.bounds import ClipL2
from neuroveil.privacy.calibration import gaussian_epsilon, gaussian_sigma
from neuroveil.privacy.grid import choose_grid_log2
from neuroveil.privacy.integer_noise import discrete_slack
from neuroveil.privacy.validate import check_delta, check_epsilon

_MODULUS_LOG2 = 32
_SPREADS_OF_ROOM = 16.0
"""A share beyond so many standard deviations does not fit; probability below 1e-56 a number."""

_SMALLEST_SHARE_LOG2 = 10
_CLOSED_FORM = "closed form of composed Gaussian sums (Balle and Wang 2018, Theorem 8)"


@dataclass(frozen=True)
class NoiseTerms:
    """Noise of a plan. Public.

    Parameters
    ----------
    noise_std : float
        Standard deviation of what must be in a sum of gradients (no unit).
    share_std : float
        Standard deviation of what one hospital adds; ``noise_std`` unless ``distributed``.
    grid_log2 : int
        Binary logarithm of the step of the grid that gradients and noise lie on.
    steps : int
        Noisy sums that the account covers, repeated ones included.
    epsilon : float
        What the account says at delta, with everything that integers cost.
    delta_slack : float
        Part of delta that integers and the limited room under masks cost.
    accountant : str
        How epsilon was found.
    """

    noise_std: float
    share_std: float
    grid_log2: int
    steps: int
    epsilon: float
    delta_slack: float
    accountant: str

    @property
    def integer_scale(self) -> float:
        """Standard deviation of a share in units of the grid."""
        return math.ldexp(self.share_std, -self.grid_log2)


@dataclass(frozen=True)
class MaskTerms:
    """Numbers of secure aggregation, from the plan. Public.

    Parameters
    ----------
    quantisation_range : int
        Number of integers that a masked value may take, a power of two.
    clipping_range : float
        Half of it for integers; the largest weighted parameter otherwise (no unit).
    max_weight : float
        Largest number of patients that a hospital may count for.
    threshold : int
        Hospitals that must stay until masks are taken off.
    """

    quantisation_range: int
    clipping_range: float
    max_weight: float
    threshold: int

    @property
    def modulus(self) -> int:
        """Masked values are sums modulo 2^32."""
        return 1 << _MODULUS_LOG2


PARAMETER_RANGE = 64.0
"""Largest parameter that plain updates may have under masks; anything beyond is refused."""


def mask_terms(plan: FederationPlan) -> MaskTerms:
    """Choose the numbers of secure aggregation so that no sum of all hospitals overflows.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed.

    Returns
    -------
    MaskTerms
        n hospitals times the quantisation range stay below the modulus.

    Raises
    ------
    ChainError
        If there are too many hospitals for 10 bits a value.
    """
    n = len(plan.seats)
    bits = min(30, _MODULUS_LOG2 - 1 - max(1, (n - 1).bit_length()))
    if bits < 10:
        raise ChainError(
            "federation.hospitals", "fewer than 2^21 hospitals under masks", f"{n}",
            "Form groups of hospitals.",
        )  # fmt: skip
    quantisation = 1 << bits
    clipping = quantisation / 2 if plan.setting == "distributed" else PARAMETER_RANGE
    largest = float(max(seat.n_patients for seat in plan.seats))
    return MaskTerms(quantisation, clipping, largest, n - plan.privacy.max_dropouts)


@lru_cache(maxsize=32)
def noise_terms(plan: FederationPlan) -> NoiseTerms | None:
    """Calibrate the noise of a plan for the whole run.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed.

    Returns
    -------
    NoiseTerms or None
        None where training adds no noise.

    Raises
    ------
    ChainError
        If the guarantee cannot be calibrated.
    """
    if plan.setting not in ("dp_sgd", "distributed", "central"):
        return None
    check_epsilon(plan.epsilon)
    check_delta(plan.delta)
    return _shares(plan) if plan.setting == "distributed" else _steps_of_one_holder(plan)


def _steps_of_one_holder(plan: FederationPlan) -> NoiseTerms:
    terms, steps = plan.privacy, plan.training.attempts * plan.training.local_steps
    clip = ClipL2(terms.gradient_norm)
    sensitivity = clip.sensitivity("replace_one", "l2", plan.n_parameters)
    first = smallest_multiplier(terms.epsilon, terms.delta, terms.sampling_rate, steps)
    least = sensitivity * first
    largest = max(seat.n_patients for seat in plan.seats) * terms.gradient_norm
    # The whole sum must fit into 64 bits, not a single gradient alone.
    grid_log2 = choose_grid_log2(least, largest)
    slack = discrete_slack(
        math.ldexp(least, -grid_log2), terms.epsilon, terms.delta, plan.n_parameters * steps
    )
    final = smallest_multiplier(
        slack.epsilon_calibrated, slack.delta_calibrated, terms.sampling_rate, steps, first
    )
    std = sensitivity * max(first, final)  # the slack is that of at least this much noise
    if terms.sampling_rate == 1.0:
        return NoiseTerms(std, std, grid_log2, steps, terms.epsilon, slack.delta, _CLOSED_FORM)
    found = sampled_gaussian_epsilon(
        std / sensitivity, terms.sampling_rate, steps, slack.delta_calibrated
    )
    return NoiseTerms(
        std, std, grid_log2, steps, found + slack.epsilon, slack.delta,
        "privacy loss distribution of Poisson-sampled Gaussian sums under replace-one",
    )  # fmt: skip


def _shares(plan: FederationPlan) -> NoiseTerms:
    terms, rounds, n = plan.privacy, plan.training.attempts, len(plan.seats)
    left = n - terms.max_dropouts - terms.max_colluding
    if left < 1:
        raise ChainError(
            "federation.max_colluding", f"fewer than {n} with those that may drop out",
            f"{n - left}", "Somebody must be left whose noise counts.",
        )  # fmt: skip
    clip, dimension = ClipL2(terms.gradient_norm), plan.n_parameters
    sensitivity = clip.sensitivity("replace_one", "l2", dimension)
    whole = sensitivity * math.sqrt(rounds)
    share = gaussian_sigma(whole, terms.epsilon, terms.delta) / math.sqrt(left)
    grid_log2 = _grid_under_masks(plan, share)
    scale = math.ldexp(share, -grid_log2)
    if scale < 1 << _SMALLEST_SHARE_LOG2:
        raise ChainError(
            "federation.hospitals", f"room for noise of at least 2^{_SMALLEST_SHARE_LOG2} steps",
            f"{scale:.3g}", "Larger groups or hospitals need a smaller gradient_norm or epsilon.",
        )  # fmt: skip
    joint = discrete_slack(scale * math.sqrt(left), terms.epsilon, terms.delta, dimension * rounds)
    room = _out_of_room(plan) + _of_sums(scale, left, dimension * rounds, terms.epsilon)
    sigma = gaussian_sigma(
        whole, joint.epsilon_calibrated, math.nextafter(joint.delta_calibrated - room, 0.0)
    )
    share = math.nextafter(sigma / math.sqrt(left), math.inf)
    return NoiseTerms(
        sigma, share, grid_log2, rounds,
        terms.epsilon, joint.delta + room, _CLOSED_FORM,
    )  # fmt: skip


def _grid_under_masks(plan: FederationPlan, share: float) -> int:
    """The finest power of two at which the largest sum and its noise fit into the range."""
    largest = max(seat.n_patients for seat in plan.seats) * plan.privacy.gradient_norm
    room = mask_terms(plan).quantisation_range / 2 - 1
    # Calibration with slack raises the share by far less than a hundredth.
    return math.frexp((largest + 1.01 * _SPREADS_OF_ROOM * share) / room)[1]


def _out_of_room(plan: FederationPlan) -> float:
    """Probability that a share does not fit and a hospital must refuse, in the whole run."""
    numbers = plan.n_parameters * plan.training.attempts * len(plan.seats)
    return numbers * 2 * math.exp(-(_SPREADS_OF_ROOM**2) / 2)


def _of_sums(scale: float, shares: int, dimension: int, epsilon: float) -> float:
    """What a sum of discrete Gaussians costs compared with one, by total variation.

    Kairouz, Liu and Steinke 2021, Proposition 10: at most 5 sum_k exp(-2 pi^2 s^2 k / (k + 1))
    a number, with k from 1 to m - 1; every term is at most exp(-pi^2 s^2).
    """
    variation = 5 * (shares - 1) * math.exp(-(math.pi**2) * scale**2)
    return (1 + math.exp(epsilon)) * dimension * variation


def epsilon_after(plan: FederationPlan, attempts: int) -> float:
    """Say what a patient has spent after some exchanges, out of what was charged for all.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed.
    attempts : int
        Exchanges so far.

    Returns
    -------
    float
        Epsilon at the plan's delta. All of it from the start where rows are protected before
        training, since rounds cost nothing then; 0 where nothing is protected.
    """
    if plan.setting == "local_features":
        return plan.epsilon
    noise = noise_terms(plan)
    if noise is None or attempts == 0:
        return 0.0
    sensitivity = ClipL2(plan.privacy.gradient_norm).sensitivity(
        "replace_one", "l2", plan.n_parameters
    )
    delta = plan.delta - noise.delta_slack
    if plan.setting == "dp_sgd" and plan.privacy.sampling_rate < 1:
        found = sampled_gaussian_epsilon(
            noise.noise_std / sensitivity, plan.privacy.sampling_rate,
            attempts * plan.training.local_steps, delta,
        )  # fmt: skip
    else:
        steps = attempts * plan.training.local_steps
        found = gaussian_epsilon(math.sqrt(steps) * sensitivity, noise.noise_std, delta)
    return min(found, noise.epsilon)
