"""What hospitals and coordinator have agreed on before the first round. Public.

Everybody holds the same plan and compares digests, so that nothing that matters to the guarantee
is taken from a message. Noise is not written in it: each side works it out from the plan.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final, get_args

from neuroveil.deploy.federated.specs import (
    Duplicates,
    InputSpec,
    LabelPolicyName,
    ModelSpec,
    PlanSetting,
    PrivacyTerms,
    Seat,
    TrainingSpec,
)
from neuroveil.errors import FederationError, StudyError, StudyMistake
from neuroveil.pipeline.internal_files import write_json
from neuroveil.pipeline.promise import label_policies, planning_scaling
from neuroveil.pipeline.settings import require_epsilon, study_columns
from neuroveil.privacy.exact import exact
from neuroveil.privacy.settings import columns_digest
from neuroveil.privacy.validate import check_delta_for, largest_delta
from neuroveil.study import Study
from neuroveil.study.federation import FederationSettings, HospitalSettings
from neuroveil.types.certificate import canonical_json, digest

PLAN_FILE = "plan.json"
TRUSTED_SERVER: Final = "central"
"""The setting of a training by a server that holds all rows."""

_SCHEMA = "neuroveil-federation-plan"
_VERSION = 1
_SIMULATED_TEST_SHARE = 0.25
_MAXIMUM_COMPONENTS = 1_000_000


@dataclass(frozen=True)
class FederationPlan:
    """Everything that was agreed. Public.

    Parameters
    ----------
    seats : tuple of Seat
        All hospitals.
    inputs : InputSpec
        What the model is shown.
    model : ModelSpec
        The model.
    training : TrainingSpec
        Rounds and steps.
    privacy : PrivacyTerms
        The guarantee.
    minimum_hospitals : int
        Without so many updates a round does not count.
    simulation : bool
        Whether everybody is made up or everything stays in one place: nothing is protected.
    seed : int, optional
        Seed of a simulation's noise; none otherwise.
    enrol_seconds, round_seconds : float
        How long to wait for hospitals, and for the answers to one message, in seconds.
    duplicates : {"apart", "linked_pool", "linked_keep_longest", "linked_hospital_order"}
        What became of people whom several hospitals know: ``apart`` where nobody looked, which a
        federation does not do itself; otherwise the policy by which each got one row.
    """

    seats: tuple[Seat, ...]
    inputs: InputSpec
    model: ModelSpec
    training: TrainingSpec
    privacy: PrivacyTerms
    minimum_hospitals: int
    simulation: bool = False
    seed: int | None = None
    enrol_seconds: float = 600.0
    round_seconds: float = 300.0
    duplicates: Duplicates = "apart"

    def __post_init__(self) -> None:
        _check(self)

    @property
    def setting(self) -> PlanSetting:
        """Where privacy enters."""
        return self.privacy.setting

    @property
    def n_patients(self) -> int:
        """Patients that train, at all hospitals together."""
        return sum(seat.n_patients for seat in self.seats)

    @property
    def n_parameters(self) -> int:
        """Parameters of the model."""
        return self.model.n_parameters(self.inputs.components)

    @property
    def epsilon(self) -> float:
        """Epsilon for the whole run."""
        return self.privacy.epsilon

    @property
    def delta(self) -> float:
        """Delta for the whole run."""
        return self.privacy.delta

    @property
    def figures_may_leave(self) -> bool:
        """Whether losses and counts of calls may go to the coordinator.

        They may where rows are protected before training, and where everything is made up.
        Otherwise they are computed at the hospital and stay there.
        """
        return self.simulation or self.setting == "local_features"

    def seat(self, name: str) -> Seat:
        """Look a hospital up.

        Parameters
        ----------
        name : str
            Its public name.

        Returns
        -------
        Seat
            The hospital.

        Raises
        ------
        FederationError
            If it takes no part.
        """
        for seat in self.seats:
            if seat.name == name:
                return seat
        raise FederationError(
            "hospital", f"one of {len(self.seats)} hospitals of the plan", "another",
            "Use the name that stands in the plan.",
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """Give the plan as plain data.

        Returns
        -------
        dict
            Keys ``schema``, ``version`` and one a field.
        """
        return {"schema": _SCHEMA, "version": _VERSION, **asdict(self)}

    @property
    def digest(self) -> str:
        """Digest that everybody compares, ``sha256:…``."""
        return digest(canonical_json(json.loads(json.dumps(self.to_json()))))


def plan_from_json(document: Any) -> FederationPlan:
    """Read a plan.

    Parameters
    ----------
    document : JSON value
        From :meth:`FederationPlan.to_json`.

    Returns
    -------
    FederationPlan
        The same plan.

    Raises
    ------
    FederationError
        If it is none, or one of another version.
    """
    try:
        if (document["schema"], document["version"]) != (_SCHEMA, _VERSION):
            raise ValueError
        rest = {name: document[name] for name in document if name not in ("schema", "version")}
        parts: dict[str, Any] = {
            "inputs": InputSpec(**rest.pop("inputs")),
            "model": ModelSpec(**rest.pop("model")),
            "training": TrainingSpec(**rest.pop("training")),
            "privacy": PrivacyTerms(**rest.pop("privacy")),
            "seats": tuple(Seat(**seat) for seat in rest.pop("seats")),
        }
        plan = FederationPlan(**parts, **rest)
        _check_values(plan)
        return plan
    except (TypeError, KeyError, ValueError, AttributeError):
        raise FederationError(
            "federation plan", f"a plan of version {_VERSION} with its fields", "something else",
            "Write it anew from the study, with the neuroveil that all hospitals use.",
        ) from None  # fmt: skip


def write_plan(plan: FederationPlan, folder: Path) -> Path:
    """Write a plan into a folder.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed.
    folder : Path
        The coordinator's or a hospital's folder.

    Returns
    -------
    Path
        The file.
    """
    write_json(folder / PLAN_FILE, plan.to_json())
    return folder / PLAN_FILE


def read_plan(folder: Path) -> FederationPlan:
    """Read the plan of a folder.

    Parameters
    ----------
    folder : Path
        The coordinator's or a hospital's folder.

    Returns
    -------
    FederationPlan
        What was agreed.

    Raises
    ------
    FederationError
        If there is none, it cannot be read, or it is none of a federation.
    """
    try:
        document = json.loads((folder / PLAN_FILE).read_bytes())
    except (OSError, ValueError, RecursionError):
        raise FederationError(
            "federation plan", f"a file {PLAN_FILE} in the folder", "none that can be read",
            "Make the folder with `neuroveil federate`.",
        ) from None  # fmt: skip
    plan = plan_from_json(document)
    if plan.setting == TRUSTED_SERVER:
        raise FederationError(
            "federation plan", "a plan of several hospitals", "that of a server with all rows",
            "A trusted server trains by `neuroveil consortium request --mechanism dp_training`.",
        )  # fmt: skip
    return plan


def plan_from_study(study: Study) -> FederationPlan:
    """Work a plan out from a study's public settings; reads no signal and no row.

    Parameters
    ----------
    study : Study
        Checked settings with a section ``[federation]``.

    Returns
    -------
    FederationPlan
        The same at every hospital whose study says the same.

    Raises
    ------
    StudyError
        If the section or a setting that it needs is missing.
    ChainError
        If delta is large for so many patients, and the study does not say why.
    """
    wanted = federation_settings(study)
    scaling, columns = planning_scaling(study), study_columns(study)
    n_patients = sum(hospital.patients for hospital in wanted.hospitals)
    inputs = InputSpec(
        columns_digest(columns), scaling.name, _components(wanted, n_patients, len(columns))
    )
    plan = FederationPlan(
        seats=tuple(Seat(each.name, each.patients) for each in wanted.hospitals),
        inputs=inputs,
        model=ModelSpec(wanted.model, wanted.hidden),
        training=TrainingSpec(
            wanted.rounds, wanted.retries, wanted.local_steps, wanted.learning_rate,
            wanted.penalty, wanted.proximal, wanted.aggregation, wanted.trimmed,
            wanted.stopping, _test_share(wanted),
        ),
        privacy=_terms(study, wanted, inputs, n_patients),
        minimum_hospitals=wanted.minimum_hospitals,
        simulation=wanted.simulation,
        seed=(wanted.seed or 0) if wanted.simulation else None,
        enrol_seconds=wanted.enrol_seconds,
        round_seconds=wanted.round_seconds,
    )  # fmt: skip
    check_delta(study, plan)
    return plan


def check_delta(study: Study, plan: FederationPlan) -> None:
    """Refuse a delta that is large for all patients together and that nobody explains.

    The rule is that of a release. A simulation protects nobody, and may have any delta.

    Parameters
    ----------
    study : Study
        Settings of whoever asks, with the words that justify a large delta.
    plan : FederationPlan
        What would be agreed.

    Raises
    ------
    ChainError
        If delta exceeds min(1/n², 1e-5) without ``privacy.delta_justification``.
    """
    if not plan.simulation:
        check_delta_for(plan.n_patients, plan.delta, study.privacy.delta_justification)


def federation_settings(study: Study) -> FederationSettings:
    """Give the section ``[federation]`` of a study.

    Parameters
    ----------
    study : Study
        Checked settings.

    Returns
    -------
    FederationSettings
        With at least one hospital.

    Raises
    ------
    StudyError
        If there is none, or it lists no hospital.
    """
    wanted = study.federation
    if wanted is None or not wanted.hospitals:
        raise StudyError([StudyMistake(
            "federation.hospitals", "hospitals with their numbers of patients", "none",
            "List them: [[federation.hospitals]] with name and patients.",
        )])  # fmt: skip
    return wanted


def _test_share(wanted: FederationSettings) -> float:
    """Everybody trains unless the study says otherwise; in a simulation somebody has to judge."""
    if wanted.test_share is None:
        return _SIMULATED_TEST_SHARE if wanted.simulation else 0.0
    return wanted.test_share


def _components(wanted: FederationSettings, n_patients: int, n_columns: int) -> int:
    from neuroveil.evaluate.downstream.central_way import central_components

    if wanted.components is None:
        return central_components(n_patients, n_columns)
    if wanted.components > n_columns:
        raise StudyError([StudyMistake(
            "federation.components", f"at most {n_columns}, the number of columns",
            f"{wanted.components}", "Keep fewer components.",
        )])  # fmt: skip
    return wanted.components


def _terms(
    study: Study, wanted: FederationSettings, inputs: InputSpec, n_patients: int
) -> PrivacyTerms:
    labels: LabelPolicyName = "with_the_row"
    epsilon, label_epsilon = 0.0, 0.0
    if wanted.setting != "none":
        epsilon = require_epsilon(study)
    if wanted.setting == "local_features":
        epsilon, labels, label_epsilon = _labels(study, wanted, epsilon)
    delta = study.privacy.delta_for(n_patients)
    if delta == 0 and wanted.setting in ("dp_sgd", "distributed"):
        delta = largest_delta(n_patients)
    default_norm = math.sqrt(inputs.row_norm**2 + 1) / 2
    return PrivacyTerms(
        setting=wanted.setting,
        epsilon=epsilon,
        delta=delta if wanted.setting != "none" else 0.0,
        gradient_norm=wanted.gradient_norm or default_norm,
        sampling_rate=wanted.sampling_rate,
        max_dropouts=wanted.max_dropouts,
        max_colluding=wanted.max_colluding,
        secure_aggregation=wanted.secure_aggregation,
        labels=labels,
        label_epsilon=label_epsilon,
    )


def _labels(
    study: Study, wanted: FederationSettings, epsilon: float
) -> tuple[float, LabelPolicyName, float]:
    """Say what row and label spend together, and what protects the label.

    Rows that are protected alone leave the label bare, so it has a policy of its own, charged on
    top of the rows as in any release. A simulation without one shares epsilon out instead.
    """
    for policy in label_policies(study):
        if policy.name == study.evaluation.label:
            return float(exact(epsilon) + exact(policy.epsilon)), policy.policy, policy.epsilon
    if not wanted.simulation:
        raise StudyError([StudyMistake(
            "labels", "a block for the label that is learned, since setting = 'local_features'",
            "none", "Release it by randomised_response, or unprotected and named so.",
        )])  # fmt: skip
    from neuroveil.evaluate.downstream.ways import label_epsilon

    return epsilon, "randomised_response", label_epsilon(epsilon)


def _check_values(plan: FederationPlan) -> None:
    """Hold a plan that came from elsewhere to the types and bounds of a study's section."""
    from pydantic import TypeAdapter

    document = plan.to_json()
    del document["schema"], document["version"]
    TypeAdapter(FederationPlan).validate_json(json.dumps(document), strict=True)
    training, privacy, seats = (document.pop(each) for each in ("training", "privacy", "seats"))
    epsilon, delta, label = (privacy.pop(each) for each in ("epsilon", "delta", "label_epsilon"))
    if not (0 <= label <= epsilon < math.inf and 0 <= delta < 1):
        raise ValueError
    if plan.inputs.components > _MAXIMUM_COMPONENTS:
        raise ValueError
    del privacy["labels"]
    hospitals = tuple({"name": each["name"], "patients": each["n_patients"]} for each in seats)
    who: dict[str, Any] = {"hospitals": hospitals, "minimum_hospitals": plan.minimum_hospitals}
    if plan.setting == TRUSTED_SERVER:  # no study of a federation, but the same bounds
        HospitalSettings.model_validate(hospitals[0])
        who, privacy["setting"] = {}, "dp_sgd"
    FederationSettings.model_validate({
        **training, **privacy, **who, "model": plan.model.kind,
        "hidden": plan.model.hidden, "components": plan.inputs.components,
        "simulation": plan.simulation, "seed": plan.seed,
        "enrol_seconds": plan.enrol_seconds, "round_seconds": plan.round_seconds,
    })  # fmt: skip


def _check(plan: FederationPlan) -> None:
    """Refuse what no study could say, in a plan that came from elsewhere."""
    names = [seat.name for seat in plan.seats]
    apart = (plan.privacy.max_dropouts, plan.privacy.max_colluding)
    problems: Mapping[str, bool] = {
        "a setting that is known": plan.setting in get_args(PlanSetting),
        # Fewer than nobody would shrink the noise shares that the others must make up for.
        "0 or more that drop out or collude": all(isinstance(n, int) and n >= 0 for n in apart),
        "hospitals with names of their own": len(set(names)) == len(names) >= 1,
        "at least one patient at every hospital": all(seat.n_patients >= 1 for seat in plan.seats),
        "a minimum that hospitals can reach": 1 <= plan.minimum_hospitals <= len(names),
        "numbers where numbers belong": all(
            isinstance(getattr(plan.training, field.name), int | float | str)
            for field in fields(plan.training)
        ),
        "at least one round and one step": plan.training.rounds >= 1 <= plan.training.local_steps,
        "no setting 'none' outside of a simulation": plan.setting != "none" or plan.simulation,
        "no seed outside of a simulation": plan.seed is None or plan.simulation,
        "fixed rounds where validation rows are private": plan.training.stopping == "fixed_rounds"
        or plan.setting in ("local_features", "none"),
        "means where only sums are seen": plan.training.aggregation == "mean"
        or not plan.privacy.is_masked,
        "enough hospitals for masks": not plan.privacy.is_masked or _masks_hold(plan),
        "linked people in one cohort and whole steps, where a server trains": _is_whole(plan)
        if plan.setting == TRUSTED_SERVER
        else plan.duplicates == "apart",
    }  # fmt: skip
    for expected, holds in problems.items():
        if not holds:
            raise FederationError(
                "federation plan", expected, "something else", "Correct [federation]."
            )


def _is_whole(plan: FederationPlan) -> bool:
    """Whether everybody takes part in every step, and each step is paid for once."""
    terms, spec = plan.privacy, plan.training
    return (
        len(plan.seats) == 1
        and plan.duplicates in get_args(Duplicates)[1:]
        and terms.labels == "with_the_row"
        and not terms.is_masked
        and (terms.sampling_rate, spec.local_steps, spec.retries) == (1, 1, 0)
        and (spec.test_share == 0 or plan.simulation)
        and (spec.aggregation, spec.proximal) == ("mean", 0)
    )


def _masks_hold(plan: FederationPlan) -> bool:
    n, terms = len(plan.seats), plan.privacy
    stay = n - terms.max_dropouts
    return n >= 3 and stay >= 2 and 2 * stay > n + terms.max_colluding
