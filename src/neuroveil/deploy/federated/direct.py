"""The same training without messages: what it should give, for comparing and for attacking it.

Every hospital's computation is the one that its app does; sums are made in the open. What masks
and messages give must equal it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from neuroveil.deploy.federated.aggregate import aggregate
from neuroveil.deploy.federated.hospital import Hospital, Part
from neuroveil.deploy.federated.local import noise_source, noisy_units, step_along, train_locally
from neuroveil.deploy.federated.models import (
    Arrays,
    initial_arrays,
)
from neuroveil.deploy.federated.noise import NoiseTerms, noise_terms
from neuroveil.deploy.federated.plan import TRUSTED_SERVER, FederationPlan
from neuroveil.deploy.federated.specs import Seat
from neuroveil.errors import FederationError

_NOWHERE = Path("no folder: rows are given")


def train_directly(
    plan: FederationPlan, parts: Mapping[str, Part], rounds: int | None = None
) -> Arrays:
    """Train on rows that are at hand. For simulations: protects nobody.

    Parameters
    ----------
    plan : FederationPlan
        A simulation's plan.
    parts : mapping of str to Part
        Rows that train, by hospital.
    rounds : int, optional
        Rounds; default: all of the plan.

    Returns
    -------
    dict of str to ndarray of float64, in the shapes of the plan
        The common model after the last round.

    Raises
    ------
    FederationError
        If the plan is not a simulation's.
    """
    if not plan.simulation:
        raise FederationError(
            "federation plan", "a simulation's", "one for real patients",
            "Rows of several hospitals are in one place in simulations only.",
        )  # fmt: skip
    noise, arrays = noise_terms(plan), initial_arrays(plan)
    hospitals = [Hospital(_NOWHERE, seat.name, plan, noise) for seat in plan.seats]
    for attempt in range(1, (rounds or plan.training.rounds) + 1):
        if plan.setting in ("distributed", TRUSTED_SERVER) and noise is not None:
            arrays = _step(plan, noise, arrays, attempt, [(h, parts[h.name]) for h in hospitals])
            continue
        updates = [
            (h.n_patients, train_locally(h, arrays, attempt, parts[h.name])) for h in hospitals
        ]
        arrays = aggregate(updates, plan.training)
    return arrays


def _step(
    plan: FederationPlan,
    noise: NoiseTerms,
    arrays: Arrays,
    attempt: int,
    hospitals: list[tuple[Hospital, Part]],
) -> Arrays:
    """One step along the sum of all hospitals' noisy integers."""
    total = np.zeros(plan.n_parameters, dtype=np.int64)
    for hospital, part in hospitals:
        total += noisy_units(plan, arrays, part, noise, noise_source(hospital, attempt))
    return step_along(plan, noise, arrays, total)


def with_seats(plan: FederationPlan, parts: Mapping[str, Part]) -> FederationPlan:
    """Give the plan for just these rows.

    Parameters
    ----------
    plan : FederationPlan
        A simulation's plan.
    parts : mapping of str to Part
        Rows that train, by hospital.

    Returns
    -------
    FederationPlan
        With their numbers of patients.
    """
    return replace(plan, seats=tuple(Seat(name, max(part.labels.size, 1))
                                     for name, part in parts.items()))  # fmt: skip
