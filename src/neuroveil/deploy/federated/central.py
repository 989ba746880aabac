"""One model trained by a trusted server on all hospitals' rows, and published once.

The same gradients, noise and chain as of a federation, with one holder of everybody's rows. Every
step is over all people of the linked rosters, so that T steps are one Gaussian mechanism of
sensitivity 2 C sqrt(T) (proof: docs/proofs-central.md). Nothing is judged on private rows: figures
would have to be charged as well.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from neuroveil.deploy.federated.chain import federation_chain
from neuroveil.deploy.federated.flower import require
from neuroveil.deploy.federated.hospital import Part
from neuroveil.deploy.federated.inputs import model_inputs
from neuroveil.deploy.federated.local import noisy_units, step_along
from neuroveil.deploy.federated.models import check_arrays, initial_arrays
from neuroveil.deploy.federated.noise import noise_terms
from neuroveil.deploy.federated.plan import TRUSTED_SERVER, FederationPlan
from neuroveil.deploy.federated.progress import RoundRecord, RunState, write_model
from neuroveil.deploy.federated.result_file import RESULT_FILE
from neuroveil.deploy.federated.signature import (
    PAGE_FILE,
    SIGNATURE_FILE,
    SIGNED_FILES,
    sign_training,
)
from neuroveil.deploy.federated.specs import (
    Duplicates,
    InputSpec,
    ModelSpec,
    PrivacyTerms,
    Seat,
    TrainingSpec,
)
from neuroveil.errors import ChainError, FederationError
from neuroveil.evaluate.downstream.central_way import central_components
from neuroveil.keys import SiteKey
from neuroveil.pipeline.internal_files import write_json, write_text
from neuroveil.privacy.exact import exact
from neuroveil.privacy.sampling import SystemRandomness
from neuroveil.privacy.scaling import scale_rows
from neuroveil.privacy.settings import columns_digest
from neuroveil.privacy.validate import check_delta_for
from neuroveil.report.federation import federation_report
from neuroveil.types.charge import Charge, ChargeRequest
from neuroveil.types.federation import FederationResult
from neuroveil.types.scaling import Scaling
from neuroveil.types.table import FeatureTable

COHORT = "cohort"
"""Name of the one seat of such a plan."""

DP_TRAINING = "dp_training"
"""What requests, ledger entries and the command line call it."""

UNKNOWN = -1
"""A label that nobody knows: the person counts, and adds nothing to any gradient."""

_ROUNDS = 4

IntLabels = npt.NDArray[np.int8]


def central_plan(
    scaling: Scaling,
    n_patients: int,
    epsilon: float,
    delta: float,
    duplicates: Duplicates,
    components: int | None = None,
) -> FederationPlan:
    """Make the plan of a training, from public numbers alone.

    Parameters
    ----------
    scaling : Scaling
        Public constants of the study's columns.
    n_patients : int
        People of the linked rosters.
    epsilon, delta : float
        Guarantee for one person's row and label.
    duplicates : {"linked_pool", "linked_keep_longest", "linked_hospital_order"}
        What became of people whom several hospitals know.
    components : int, optional
        Public components that the model sees; default: about sqrt(n).

    Returns
    -------
    FederationPlan
        Logistic regression on so many public components, in four steps.

    Raises
    ------
    ChainError
        If delta is large for so many people, or there are not so many components.
    """
    check_delta_for(n_patients, delta, None)
    columns = scaling.columns
    if components is not None and not 1 <= components <= len(columns):
        raise ChainError(
            "request.components", f"1 to {len(columns)}, the number of columns", f"{components}",
            "Leave it out, or name fewer.",
        )  # fmt: skip
    kept = components or central_components(n_patients, len(columns))
    inputs = InputSpec(columns_digest(columns), scaling.name, kept)
    return FederationPlan(
        seats=(Seat(COHORT, n_patients),),
        inputs=inputs,
        model=ModelSpec("logistic", 1),
        training=TrainingSpec(rounds=_ROUNDS),
        privacy=PrivacyTerms(
            TRUSTED_SERVER, epsilon, delta, math.sqrt(inputs.row_norm**2 + 1) / 2,
            max_dropouts=0, max_colluding=0,
        ),
        minimum_hospitals=1,
        duplicates=duplicates,
    )  # fmt: skip


def central_request(plan: FederationPlan) -> ChargeRequest:
    """Say what a training spends.

    Parameters
    ----------
    plan : FederationPlan
        From :func:`central_plan`.

    Returns
    -------
    ChargeRequest
        For all steps together.
    """
    return ChargeRequest(
        epsilon=exact(plan.epsilon), delta=exact(plan.delta), mechanism=DP_TRAINING,
        n_patients=plan.n_patients, dimension=plan.n_parameters,
        columns_digest=plan.inputs.columns_digest,
    )  # fmt: skip


def central_forecast(plan: FederationPlan, scaling: Scaling) -> str:
    """Say what a training should reach, from public numbers and made-up people alone.

    Parameters
    ----------
    plan : FederationPlan
        From :func:`central_plan`.
    scaling : Scaling
        Public constants of the columns.

    Returns
    -------
    str
        One sentence for the people who decide; always the same for the same plan.
    """
    from neuroveil.deploy.federated.compare import FORECAST_SEPARATION, forecast_of_server

    noisy, bare = forecast_of_server(plan, scaling)
    return (
        f"A model trained on {plan.n_patients} made-up people, with classes "
        f"{FORECAST_SEPARATION:g} public standard deviations apart, reaches a balanced accuracy of "
        f"{noisy.balanced_accuracy:.2f} ({noisy.low:.2f} to {noisy.high:.2f}) on new people; "
        f"without protection {bare.balanced_accuracy:.2f}; chance is 0.50."
    )


def require_trainable() -> None:
    """Refuse a training where a package for it is missing.

    Raises
    ------
    FederationError
        With the extra that is not installed.
    """
    require("torch", "opacus.grad_sample", "safetensors.numpy")


def check_training(
    plan: FederationPlan, table: FeatureTable, labels: IntLabels, scaling: Scaling
) -> Part:
    """Refuse everything that can be refused before the ledger is charged.

    Parameters
    ----------
    plan : FederationPlan
        From :func:`central_plan`.
    table : FeatureTable
        One row a person of the linked rosters. Private.
    labels : ndarray of int8, shape (n_patients,)
        1 positive, 0 negative, -1 unknown. Private.
    scaling : Scaling
        Public constants of the columns.

    Returns
    -------
    Part
        What trains: everybody's inputs and labels; no numbers where the label is unknown. Private.

    Raises
    ------
    FederationError
        If a package is missing, or rows or labels are not those of the plan.
    ChainError
        If the noise cannot be calibrated.
    """
    require_trainable()
    if plan.setting != TRUSTED_SERVER or plan.simulation:
        raise FederationError(
            "training", "a plan of a trusted server, for real people", "another",
            "Make it with central_plan.",
        )  # fmt: skip
    if table.n_patients != plan.n_patients or labels.shape != (plan.n_patients,):
        raise FederationError(
            "training", f"a row and a label for each of {plan.n_patients} people",
            f"{table.n_patients} rows and {labels.size} labels", "Nothing was spent.",
        )  # fmt: skip
    if not bool(np.isin(labels, (UNKNOWN, 0, 1)).all()):
        raise FederationError(
            "training", "labels 1, 0 or -1", "another number", "Nothing was spent."
        )
    noise_terms(plan)
    inputs = model_inputs(scale_rows(table, scaling), scaling, plan.inputs)
    # The gradient of who has no number counts as 0, and takes as long as anybody's: people wait for
    # a release, and how long must not say how many labels are known.
    inputs[labels == UNKNOWN] = np.nan
    return Part(inputs, labels == 1)


def train_centrally(
    plan: FederationPlan, part: Part, charge: Charge, folder: Path, key: SiteKey
) -> None:
    """Train on private rows, and write everything that is published.

    Parameters
    ----------
    plan : FederationPlan
        From :func:`central_plan`.
    part : Part
        From :func:`check_training`. Private.
    charge : Charge
        Made for :func:`central_request`; it is consumed before any noise is drawn.
    folder : Path
        An empty folder; gets :data:`~neuroveil.deploy.manifest.TRAINING_FILES`.
    key : SiteKey
        Signs them.

    Raises
    ------
    BudgetError
        If the charge was made for something else, or was used before.
    ChainError
        If the model came to something that is no number; what was charged stays spent.
    """
    charge.consume(central_request(plan))
    _write(plan, _trained(plan, part), folder, key)


def rehearse_training(plan: FederationPlan, folder: Path, key: SiteKey) -> None:
    """Write the files that a training would give, with a model that nobody has trained.

    Shows, before anything is spent, that chain, page and signature can be made and written.

    Parameters
    ----------
    plan : FederationPlan
        From :func:`central_plan`.
    folder : Path
        An empty folder; it is empty again afterwards.
    key : SiteKey
        Signs.
    """
    state = RunState(initial_arrays(plan), plan.training.rounds, _records(plan))
    _write(plan, state, folder, key)
    for name in (*SIGNED_FILES, SIGNATURE_FILE):
        (folder / name).unlink()


def _trained(plan: FederationPlan, part: Part) -> RunState:
    noise, source, arrays = noise_terms(plan), SystemRandomness(), initial_arrays(plan)
    assert noise is not None  # there is noise in every plan of a trusted server
    for _ in range(plan.training.rounds):
        units = noisy_units(plan, arrays, part, noise, source)
        arrays = step_along(plan, noise, arrays, units)
    try:
        check_arrays(plan, arrays, "model")
    except FederationError:
        raise ChainError(
            "model", "finite parameters", "others",
            "What was charged stays spent. Tell the coordinator.",
        ) from None  # fmt: skip
    return RunState(arrays, plan.training.rounds, _records(plan))


def _records(plan: FederationPlan) -> tuple[RoundRecord, ...]:
    """Steps as rounds. No time is stated: it was spent on private rows."""
    return tuple(
        RoundRecord(number, number, (COHORT,), {}, None, 0.0, 0, 0)
        for number in range(1, plan.training.rounds + 1)
    )


def _write(plan: FederationPlan, state: RunState, folder: Path, key: SiteKey) -> None:
    chain: dict[str, Any] = federation_chain(plan, state, write_model(folder, plan, state))
    write_json(folder / RESULT_FILE, chain)
    write_text(folder / PAGE_FILE, federation_report(FederationResult(chain, {}, None)))
    sign_training(folder, key)
