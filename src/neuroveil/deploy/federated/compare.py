"""Where privacy may enter, side by side at one epsilon, before the first round.

Rests on public numbers alone: hospitals and patients of the plan, the public reference, and
made-up patients whose classes are a stated distance apart. No row of a hospital is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from neuroveil.deploy.federated.cohort import Roster, hospital_parts, made_up, roster_size
from neuroveil.deploy.federated.direct import train_directly
from neuroveil.deploy.federated.figures import judged
from neuroveil.deploy.federated.hospital import Part
from neuroveil.deploy.federated.local import judge
from neuroveil.deploy.federated.models import Arrays, initial_arrays
from neuroveil.deploy.federated.plan import TRUSTED_SERVER, FederationPlan
from neuroveil.deploy.federated.planned import noise_in_a_step
from neuroveil.deploy.federated.specs import Seat
from neuroveil.evaluate.downstream.intervals import student
from neuroveil.pipeline.pool import Progress, no_progress
from neuroveil.study.federation import Setting
from neuroveil.types.scaling import Scaling

FREE_ROUNDS = 30
"""Rounds where they cost nothing: rows that are protected already, and no protection."""

SETTINGS: tuple[Setting, ...] = ("local_features", "dp_sgd", "distributed", "none")
POOLED = "pooled"

FORECAST_SEPARATION, _FORECAST_SEEDS = 2.0, 8

_TEST_SHARE = 0.5
_STEPS_TO_THE_END = 300

_LABELS = {
    "local_features": "rows and labels protected at home",
    "dp_sgd": "noise in every step at every hospital",
    "distributed": "noise shares under secure aggregation",
    "none": "federated, no protection",
    TRUSTED_SERVER: "noise in every step at a server that holds all rows",
    POOLED: "all rows in one place, no protection",
}
_TRUST = {
    "local_features": "nobody", "dp_sgd": "nobody",
    "distributed": "coordinator keeps to the protocol; few hospitals collude",
    "none": "everybody", TRUSTED_SERVER: "the server", POOLED: "everybody",
}  # fmt: skip


@dataclass(frozen=True)
class Compared:
    """A setting on made-up patients.

    Parameters
    ----------
    setting, label, trust : str
        Key, name for a reader, and who has to be trusted beyond one's own hospital.
    epsilon, delta : float or None
        Guarantee for one patient; none without one.
    rounds : int
        Rounds of training.
    noise : float or None
        Length of the noise in a step's mean gradient, in clipping norms; none without noise.
    balanced_accuracy, low, high : float
        On new people: mean over seeds, with its 95 % interval by Student's t.
    auc : float
        Area under the curve on new people, mean over seeds.
    n_seeds : int
        Simulated federations, each with patients and noise of its own.
    """

    setting: str
    label: str
    trust: str
    epsilon: float | None
    delta: float | None
    rounds: int
    noise: float | None
    balanced_accuracy: float
    low: float
    high: float
    auc: float
    n_seeds: int

    def to_json(self) -> dict[str, Any]:
        """Give the row as plain data.

        Returns
        -------
        dict
            One entry a field.
        """
        return asdict(self)


def compare_settings(
    plan: FederationPlan,
    scaling: Scaling,
    separation: float,
    n_seeds: int,
    progress: Progress = no_progress,
) -> tuple[Compared, ...]:
    """Train in every setting on the same made-up patients, at the plan's epsilon.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed; its epsilon and delta must be positive.
    scaling : Scaling
        Public constants of the columns.
    separation : float
        Distance between the classes, in public standard deviations.
    n_seeds : int
        Simulated federations, at least 2.
    progress : callable
        Called with (done, total, what).

    Returns
    -------
    tuple of Compared
        One a setting; then training by a trusted server, and the same without protection.

    Raises
    ------
    ChainError
        If a setting cannot be calibrated.
    """
    plans = {setting: _plan_for(plan, setting) for setting in SETTINGS}
    of_server = _plan_of_server(plan)
    everything = (*SETTINGS, TRUSTED_SERVER, POOLED)
    scores: dict[str, list[tuple[float, float]]] = {each: [] for each in everything}
    for seed in range(n_seeds):
        rosters = {
            seat.name: made_up(
                scaling, roster_size(plans["none"], seat.n_patients), separation, (seed, number)
            )
            for number, seat in enumerate(plan.seats)
        }
        for setting, each in plans.items():
            scores[setting].append(_score(replace(each, seed=seed), scaling, rosters))
        bare = replace(plans["none"], seed=seed)
        scores[TRUSTED_SERVER].append(
            _by_server(replace(of_server, seed=seed), bare, scaling, rosters)
        )
        scores[POOLED].append(_central(bare, scaling, rosters))
        progress(seed + 1, n_seeds, "comparing settings on made-up patients")
    rows = [_row(setting, plans[setting], scores[setting]) for setting in SETTINGS]
    server = _row(TRUSTED_SERVER, of_server, scores[TRUSTED_SERVER])
    return (*rows, server, _row(POOLED, plans["none"], scores[POOLED]))


def forecast_of_server(plan: FederationPlan, scaling: Scaling) -> tuple[Compared, Compared]:
    """Say what training by a trusted server should reach, on made-up patients.

    Parameters
    ----------
    plan : FederationPlan
        Of a trusted server.
    scaling : Scaling
        Public constants of the columns.

    Returns
    -------
    tuple of Compared
        With the plan's noise, and the same people without protection; classes are
        :data:`FORECAST_SEPARATION` public standard deviations apart.
    """
    of_server, bare = _plan_of_server(plan), _plan_for(plan, "none")
    (seat,) = plan.seats
    scores: dict[str, list[tuple[float, float]]] = {TRUSTED_SERVER: [], POOLED: []}
    for seed in range(_FORECAST_SEEDS):
        size = roster_size(bare, seat.n_patients)
        rosters = {seat.name: made_up(scaling, size, FORECAST_SEPARATION, (seed, 0))}
        each = replace(bare, seed=seed)
        scores[TRUSTED_SERVER].append(
            _by_server(replace(of_server, seed=seed), each, scaling, rosters)
        )
        scores[POOLED].append(_central(each, scaling, rosters))
    return (
        _row(TRUSTED_SERVER, of_server, scores[TRUSTED_SERVER]),
        _row(POOLED, bare, scores[POOLED]),
    )


def _plan_for(plan: FederationPlan, setting: Setting) -> FederationPlan:
    """The same hospitals, model and epsilon in another setting; a simulation always."""
    is_free = setting in ("local_features", "none")
    terms = replace(
        plan.privacy, setting=setting, secure_aggregation=False,
        labels="randomised_response" if setting == "local_features" else "with_the_row",
    )  # fmt: skip
    training = replace(
        plan.training, rounds=FREE_ROUNDS if is_free else plan.training.rounds,
        retries=plan.training.retries, stopping="fixed_rounds", test_share=_TEST_SHARE,
        aggregation="mean",
    )  # fmt: skip
    if setting == "distributed":
        # One sum a round, so as many rounds as there were steps.
        steps = training.rounds * training.local_steps
        training = replace(training, rounds=steps, local_steps=1)
        terms = replace(terms, sampling_rate=1.0)
    return replace(
        plan, privacy=terms, training=training, simulation=True, seed=0, duplicates="apart"
    )


def _plan_of_server(plan: FederationPlan) -> FederationPlan:
    """The same patients in one cohort, with everybody in every step; a simulation always."""
    steps = plan.training.rounds * plan.training.local_steps
    terms = replace(
        plan.privacy, setting=TRUSTED_SERVER, sampling_rate=1.0, labels="with_the_row",
        label_epsilon=0.0, secure_aggregation=False, max_dropouts=0, max_colluding=0,
    )  # fmt: skip
    training = replace(
        plan.training, rounds=steps, local_steps=1, retries=0, stopping="fixed_rounds",
        test_share=_TEST_SHARE, aggregation="mean", proximal=0.0,
    )  # fmt: skip
    return replace(
        plan, seats=(Seat("cohort", plan.n_patients),), privacy=terms, training=training,
        minimum_hospitals=1, simulation=True, seed=0, duplicates="linked_pool",
    )  # fmt: skip


def _score(
    plan: FederationPlan, scaling: Scaling, rosters: dict[str, Roster]
) -> tuple[float, float]:
    parts = hospital_parts(plan, scaling, rosters)
    arrays = train_directly(plan, {name: each["train"] for name, each in parts.items()})
    return _on_new_people(plan, arrays, [each["test"] for each in parts.values()])


def _central(
    plan: FederationPlan, scaling: Scaling, rosters: dict[str, Roster]
) -> tuple[float, float]:
    """Train to the end on all rows together, with the plan's penalty."""
    parts = hospital_parts(plan, scaling, rosters)
    pooled = _pooled([each["train"] for each in parts.values()])
    arrays = _trained_to_the_end(plan, pooled)
    return _on_new_people(plan, arrays, [each["test"] for each in parts.values()])


def _by_server(
    plan: FederationPlan, apart: FederationPlan, scaling: Scaling, rosters: dict[str, Roster]
) -> tuple[float, float]:
    """Train on everybody together as a trusted server does, with its noise."""
    parts = hospital_parts(apart, scaling, rosters)
    pooled = _pooled([each["train"] for each in parts.values()])
    arrays = train_directly(plan, {plan.seats[0].name: pooled})
    return _on_new_people(plan, arrays, [each["test"] for each in parts.values()])


def _trained_to_the_end(plan: FederationPlan, pooled: Part) -> Arrays:
    """Gradient descent of all rows in one place: one hospital, many steps."""
    alone = replace(
        plan, seats=(Seat("all", pooled.labels.size),), minimum_hospitals=1,
        training=replace(plan.training, rounds=1, local_steps=_STEPS_TO_THE_END),
    )  # fmt: skip
    return train_directly(alone, {"all": pooled}) if pooled.labels.size else initial_arrays(alone)


def _pooled(parts: Sequence[Part]) -> Part:
    return Part(
        np.concatenate([part.inputs for part in parts]),
        np.concatenate([part.labels for part in parts]),
    )


def _on_new_people(
    plan: FederationPlan, arrays: Arrays, parts: Sequence[Part]
) -> tuple[float, float]:
    calls = judge(plan, arrays, _pooled(parts))
    found = judged(calls.positive, calls.negative, calls.loss)
    if found.balanced_accuracy is None or found.auc is None:
        return 0.5, 0.5  # nobody of one class to judge by
    return found.balanced_accuracy.mean, found.auc.mean


def _row(setting: str, plan: FederationPlan, scores: list[tuple[float, float]]) -> Compared:
    found = np.array(scores)
    mean, n = float(found[:, 0].mean()), len(scores)
    half = student(n - 1) * float(found[:, 0].std(ddof=1)) / float(np.sqrt(n))
    is_bare = setting in ("none", POOLED)
    return Compared(
        setting, _LABELS[setting], _TRUST[setting],
        None if is_bare else plan.epsilon, None if is_bare else plan.delta,
        _STEPS_TO_THE_END if setting == POOLED else plan.training.rounds,
        None if setting == POOLED else noise_in_a_step(plan),
        mean, max(0.0, mean - half), min(1.0, mean + half), float(found[:, 1].mean()), n,
    )  # fmt: skip
