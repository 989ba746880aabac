"""What a plan will cost: noise in a step, and bytes in a round. Public."""

from __future__ import annotations

import numpy as np

from neuroveil.deploy.federated.local import N_BINS
from neuroveil.deploy.federated.noise import noise_terms
from neuroveil.deploy.federated.plan import FederationPlan


def message_bytes(plan: FederationPlan) -> int:
    """Say how many bytes of content the coordinator sends and receives in a round.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed.

    Returns
    -------
    int
        Models both ways; under masks also keys and shares, which grow with the square of the
        number of hospitals; and counts of calls where every round is judged. An estimate from
        above, without Flower's own envelope.
    """
    n, model = len(plan.seats), 8 * plan.n_parameters + 1024
    masks = n * n * 2048 if plan.privacy.is_masked else 0
    is_judged = plan.simulation or plan.training.stopping == "validation"
    judging = n * (model + 2 * 2 * 8 * N_BINS) if is_judged else 0
    return 2 * n * model + masks + judging


def noise_in_a_step(plan: FederationPlan) -> float | None:
    """Give the typical length of the noise in the common model's step, in clipping norms.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed.

    Returns
    -------
    float or None
        Root mean square length divided by the clipping norm (no unit): near 1 or above, steps are
        mostly noise. None where training adds none.
    """
    noise = noise_terms(plan)
    if noise is None:
        return None
    deviation = noise.noise_std / plan.n_patients
    if plan.setting == "dp_sgd":
        # Hospitals' noises add up in squares, each divided by q n_h and weighted by n_h / N.
        deviation *= np.sqrt(len(plan.seats)) / plan.privacy.sampling_rate
    return float(deviation * np.sqrt(plan.n_parameters) / plan.privacy.gradient_norm)
