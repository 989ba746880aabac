"""Patients of a simulated federation: made up from the public reference, or given tables.

Nothing is protected here. A setting only decides what a hospital trains on: rows as they are, or
rows and labels as its mechanisms would have released them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from neuroveil.deploy.federated.hospital import Part
from neuroveil.deploy.federated.inputs import model_inputs
from neuroveil.deploy.federated.joining import split_patients
from neuroveil.deploy.federated.plan import FederationPlan, federation_settings
from neuroveil.errors import FederationError
from neuroveil.evaluate.downstream.choice_of_ways import Promise, list_ways
from neuroveil.evaluate.downstream.scores import Labels
from neuroveil.evaluate.downstream.ways import RowWay
from neuroveil.pipeline.evaluation import patient_labels
from neuroveil.pipeline.extract import extract_study
from neuroveil.pipeline.pool import Progress, no_progress
from neuroveil.pipeline.promise import planning_scaling, study_scaling
from neuroveil.privacy.public_model import public_model
from neuroveil.privacy.randomness import SimulationRandomness
from neuroveil.privacy.scaling import scale_rows
from neuroveil.simulate.rows import simulate_rows
from neuroveil.study import Study, load_study
from neuroveil.types.recording import FloatArray
from neuroveil.types.scaling import Scaling

_DIRECTIONS = 4
_CLIP_NORM = 2.0
_OF_ROWS, _OF_LABELS, _OF_SPLIT, _OF_WAY = range(4)
"""Streams of randomness of a simulation, apart from each other."""


@dataclass(frozen=True, eq=False, repr=False)
class Roster:
    """Everybody at one hospital of a simulation. Private where tables were given.

    Parameters
    ----------
    rows : ndarray of float64, shape (n, n_features)
        Scaled rows (no unit).
    labels, known : ndarray of bool, shape (n,)
        The label, and whether it is known.
    """

    rows: FloatArray
    labels: Labels
    known: Labels


def make_rosters(
    study: Study, plan: FederationPlan, progress: Progress = no_progress
) -> dict[str, Roster]:
    """Collect the patients of all hospitals of a simulation.

    Parameters
    ----------
    study : Study
        With ``[federation]``; hospitals that name a study of their own bring their tables.
    plan : FederationPlan
        A simulation's plan.
    progress : callable
        Called with (done, total, what).

    Returns
    -------
    dict of str to Roster
        By hospital.

    Raises
    ------
    NeuroveilError
        If a table or label cannot be used, or does not have the patients of the plan.
    """
    wanted, scaling = federation_settings(study), planning_scaling(study)
    rosters = {}
    for number, hospital in enumerate(wanted.hospitals):
        progress(number, len(wanted.hospitals), "patients of the simulation")
        size = roster_size(plan, plan.seat(hospital.name).n_patients)
        if hospital.study is None:
            rosters[hospital.name] = made_up(
                scaling, size, wanted.separation, (plan.seed or 0, number)
            )
        else:
            rosters[hospital.name] = _given(load_study(study.path(hospital.study)), size)
    progress(len(wanted.hospitals), len(wanted.hospitals), "patients of the simulation")
    return rosters


def roster_size(plan: FederationPlan, n_training: int) -> int:
    """Give the number on the roster of which so many train.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed.
    n_training : int
        Patients that train.

    Returns
    -------
    int
        With those that judge.
    """
    size = n_training
    while size - int(plan.training.test_share * size) < n_training:
        size += 1
    return size


def made_up(scaling: Scaling, n: int, separation: float, seed: tuple[int, int]) -> Roster:
    """Draw people who do not exist, half of them ill.

    Parameters
    ----------
    scaling : Scaling
        Public constants of the columns.
    n : int
        How many.
    separation : float
        Distance between the classes along the first public components, in public standard
        deviations.
    seed : tuple of int
        Seed of the simulation, and number of the hospital; the direction is the same at all.

    Returns
    -------
    Roster
        All labels known.
    """
    direction = np.random.default_rng([seed[0], _OF_LABELS]).standard_normal(_DIRECTIONS)
    own = np.random.SeedSequence([*seed, _OF_ROWS]).generate_state(2)
    labels = np.random.default_rng(int(own[0])).random(n) < 0.5
    rows = simulate_rows(n, scaling, int(own[1]))
    shift = np.zeros(rows.shape[1])
    step = separation * direction / np.linalg.norm(direction)
    model = public_model(scaling)
    if model is None:
        shift[: min(_DIRECTIONS, shift.size)] = step[: shift.size]
    else:
        k = min(_DIRECTIONS, shift.size)
        shift = model.basis(k) @ (step[:k] * np.sqrt(np.maximum(model.spectrum[:k], 0.0)))
    moved = rows + np.where(labels, 0.5, -0.5)[:, None] * shift
    return Roster(moved, labels, np.ones(n, dtype=bool))


def _given(study: Study, size: int) -> Roster:
    extraction = extract_study(study)
    extraction.require_settled()
    table = extraction.table
    if table.n_patients != size:
        raise FederationError(
            "federation.hospitals", f"{size} patients on the roster, those that judge included",
            f"{table.n_patients}", "Correct patients or test_share.",
        )  # fmt: skip
    found = patient_labels(study, table.attributes).values
    return Roster(
        scale_rows(table, study_scaling(study, table)),
        np.array([value is True for value in found], dtype=bool),
        np.array([value is not None for value in found], dtype=bool),
    )


def hospital_parts(
    plan: FederationPlan, scaling: Scaling, rosters: Mapping[str, Roster]
) -> dict[str, dict[str, Part]]:
    """Give every hospital of a simulation what it trains on and who judges.

    Parameters
    ----------
    plan : FederationPlan
        A simulation's plan.
    scaling : Scaling
        Public constants of the columns.
    rosters : mapping of str to Roster
        From :func:`make_rosters`.

    Returns
    -------
    dict of str to dict of str to Part
        Parts by hospital. Those who judge are new people, in the clear, in every setting.
    """
    way = _way(plan, scaling) if plan.setting == "local_features" else None
    found = {}
    for number, (name, roster) in enumerate(rosters.items()):
        source = SimulationRandomness(_stream(plan, number, _OF_SPLIT))
        inputs = model_inputs(roster.rows, scaling, plan.inputs)
        parts = dict(split_patients(plan, inputs, roster.labels, roster.known, source))
        if way is not None:
            # The same split again, of rows that are protected before anything is learned.
            again = SimulationRandomness(_stream(plan, number, _OF_SPLIT))
            shared = way.share(roster.rows, roster.labels, scaling, _stream(plan, number, _OF_WAY))
            protected = model_inputs(shared.learned.values, scaling, plan.inputs)
            released = split_patients(plan, protected, shared.labels, roster.known, again)
            parts |= {part: released[part] for part in ("train", "validation")}
        found[name] = parts
    return found


def _way(plan: FederationPlan, scaling: Scaling) -> RowWay:
    """Rows and labels under one guarantee, by the mechanism that a study would choose."""
    smallest = min(seat.n_patients for seat in plan.seats)
    promise = Promise(plan.epsilon, plan.delta or 1e-5, _CLIP_NORM, smallest)
    (way,) = list_ways(promise, scaling, ("rows_and_labels",))
    assert isinstance(way, RowWay)  # of this key always
    return way


def _stream(plan: FederationPlan, number: int, purpose: int) -> int:
    sequence = np.random.SeedSequence([plan.seed or 0, number, purpose])
    return int(sequence.generate_state(1, np.uint64)[0])
