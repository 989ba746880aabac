"""How a hospital joins: its rows, from its own study, and the budget for the whole run.

Everything that can be refused is refused before the ledger is charged; from then on the budget is
spent, whatever becomes of the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from neuroveil.deploy.federated.flower import require_installed
from neuroveil.deploy.federated.hospital import (
    ANSWERS_FILE,
    SEAT,
    Hospital,
    Part,
    check_parts,
    write_hospital,
)
from neuroveil.deploy.federated.inputs import model_inputs
from neuroveil.deploy.federated.noise import noise_terms
from neuroveil.deploy.federated.plan import FederationPlan, check_delta
from neuroveil.deploy.federated.released import released_rows
from neuroveil.errors import FederationError
from neuroveil.evaluate.downstream.scores import Labels
from neuroveil.pipeline.budget import open_ledger, require_room, reserve
from neuroveil.pipeline.cache import private_folder
from neuroveil.pipeline.evaluation import patient_labels
from neuroveil.pipeline.extract import extract_study
from neuroveil.pipeline.pool import Progress, no_progress
from neuroveil.pipeline.promise import planning_scaling, require_other_people, study_scaling
from neuroveil.pipeline.release import recordings_of
from neuroveil.pipeline.settings import find_roster
from neuroveil.privacy.exact import exact
from neuroveil.privacy.randomness import RandomSource, permutation
from neuroveil.privacy.sampling import SystemRandomness
from neuroveil.privacy.scaling import scale_rows
from neuroveil.study import Study
from neuroveil.types.charge import ChargeRequest
from neuroveil.types.recording import FloatArray

_VALIDATION_SHARE = 0.2


def enrol_hospital(
    study: Study,
    plan: FederationPlan,
    name: str,
    folder: Path,
    progress: Progress = no_progress,
    n_workers: int | None = None,
) -> Hospital:
    """Make the folder that a hospital answers from, and charge its ledger for the whole run.

    Parameters
    ----------
    study : Study
        The hospital's own settings: recordings, label, reference, ledger.
    plan : FederationPlan
        What was agreed.
    name : str
        The hospital's name in the plan.
    folder : Path
        The folder to make; private.
    progress : callable
        Called with (done, total, what).
    n_workers : int, optional
        Processes that read recordings; default: all cores.

    Returns
    -------
    Hospital
        Ready to answer.

    Raises
    ------
    NeuroveilError
        If a package that training needs is missing, the plan is not one for real patients, rows
        or labels do not fit it, the release that it rests on does not hold, or the ledger has no
        room.
    """
    require_installed()  # who cannot train must not pay for it
    _check_offer(study, plan, name, folder)
    if plan.setting == "local_features":
        rows, labels, paid = released_rows(study, plan)
        known = np.ones(labels.size, dtype=bool)
        inputs = model_inputs(rows, planning_scaling(study), plan.inputs)
    else:
        inputs, labels, known = _private_rows(study, plan, progress, n_workers)
        paid = {}
    seat = plan.seat(name)
    n_test = _test_size(plan, labels.size)
    if labels.size - n_test != seat.n_patients:
        raise FederationError(
            "federation.hospitals", f"{labels.size - n_test} patients that train, as on the roster",
            f"{seat.n_patients} in the plan", "Agree on a plan with the right number.",
        )  # fmt: skip
    parts = split_patients(plan, inputs, labels, known, SystemRandomness())
    check_parts(plan, name, parts)
    noise_terms(plan)  # what cannot be calibrated is refused before anything is spent
    if plan.setting != "local_features":
        paid = _charge(study, plan, labels.size, folder)
    return write_hospital(folder, plan, name, parts, paid)


def _check_offer(study: Study, plan: FederationPlan, name: str, folder: Path) -> None:
    plan.seat(name)
    if plan.simulation:
        raise FederationError(
            "federation plan", "a plan for real patients", "a simulation, which protects nobody",
            "Use `neuroveil federate simulate` for simulations.",
        )  # fmt: skip
    limit = study.privacy.epsilon
    if limit is not None and plan.setting != "local_features" and plan.epsilon > limit:
        raise FederationError(
            "federation plan", f"epsilon of at most {limit:g}, as this hospital's study says",
            f"{plan.epsilon:g}", "Agree on a smaller epsilon, or change the study.",
        )  # fmt: skip
    check_delta(study, plan)
    if (folder / ANSWERS_FILE).exists():
        raise FederationError(
            "hospital folder", "a new one", "one that was made before",
            "Every run has a folder of its own, and is charged once.",
        )  # fmt: skip


def _private_rows(
    study: Study, plan: FederationPlan, progress: Progress, n_workers: int | None
) -> tuple[FloatArray, Labels, Labels]:
    """Inputs of everybody on the roster, their labels, and whose label is known. Private."""
    require_other_people(study, recordings_of(find_roster(study)))
    extraction = extract_study(study, n_workers, progress)
    extraction.require_settled()
    table = extraction.table
    found = patient_labels(study, table.attributes).values
    scaling = study_scaling(study, table)
    inputs = model_inputs(scale_rows(table, scaling), scaling, plan.inputs)
    labels = np.array([value is True for value in found], dtype=bool)
    return inputs, labels, np.array([value is not None for value in found], dtype=bool)


def _test_size(plan: FederationPlan, n_patients: int) -> int:
    return int(plan.training.test_share * n_patients)


def split_patients(
    plan: FederationPlan, inputs: FloatArray, labels: Labels, known: Labels, source: RandomSource
) -> Mapping[str, Part]:
    """Decide who trains and who judges, at random and without a look at anybody.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed.
    inputs : ndarray of float64, shape (n, k)
        One row a patient on the roster (no unit). Private.
    labels, known : ndarray of bool, shape (n,)
        The label, and whether it is known: who has none counts, and adds nothing. Private.
    source : RandomSource
        Where the choice comes from.

    Returns
    -------
    dict of str to Part
        ``train``, ``validation`` and ``test``; nobody is in two of them.
    """
    order = permutation(labels.size, source)
    n_test = _test_size(plan, labels.size)
    n_validation = 0
    if plan.training.stopping == "validation":
        n_validation = max(1, int(_VALIDATION_SHARE * (labels.size - n_test)))
    places = np.split(order, [n_test, n_test + n_validation])
    chosen = dict(zip(("test", "validation", "train"), places, strict=True))
    return {
        part: Part(inputs[each[known[each]]], labels[each[known[each]]])
        for part, each in chosen.items()
    }


def _charge(study: Study, plan: FederationPlan, n_patients: int, folder: Path) -> dict[str, Any]:
    """Pay for all rounds and retries at once."""
    request = ChargeRequest(
        epsilon=exact(plan.epsilon), delta=exact(plan.delta), mechanism=f"federated_{plan.setting}",
        n_patients=n_patients, dimension=plan.n_parameters,
        columns_digest=plan.inputs.columns_digest,
    )  # fmt: skip
    ledger = open_ledger(study)
    require_room(study, ledger, request)
    private_folder(folder, SEAT)  # one that cannot be made must not cost patients their budget
    charge = reserve(study, ledger, request)
    charge.consume(request)
    return {"ledger_entry": charge.entry, "epsilon": plan.epsilon, "delta": plan.delta}
