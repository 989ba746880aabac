"""From the study to the promise: what is protected, how, and with which constants."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np

from neuroveil.errors import ChainError
from neuroveil.pipeline.cache import content_digest
from neuroveil.pipeline.revision import source_revision
from neuroveil.pipeline.settings import (
    require_epsilon,
    signal_settings,
    software_versions,
    study_columns,
)
from neuroveil.privacy import LabelPolicy, ProtectSettings, private_statistics_scaling
from neuroveil.privacy.central.dp_scaling import ScalingBudget, predict_scaling
from neuroveil.privacy.central.wiring import choose_central
from neuroveil.privacy.choice import RowChoice, RowWishes, choose_rows
from neuroveil.privacy.settings import MEAN_COVARIANCE, Dedup, Postprocessing, TrustModel
from neuroveil.reference import Reference, default_reference, load_reference
from neuroveil.study import Study
from neuroveil.study.promise import largest_delta
from neuroveil.types.scaling import Scaling
from neuroveil.types.table import FeatureTable


def protect_settings(study: Study, n_patients: int) -> ProtectSettings:
    """Say what the release promises. Public settings only, all choices made.

    Parameters
    ----------
    study : Study
        Checked settings.
    n_patients : int
        Roster size, public.

    Returns
    -------
    ProtectSettings
        For :func:`neuroveil.privacy.protect`.

    Raises
    ------
    StudyError
        If epsilon is missing.
    ChainError
        If rows are to be projected and the reference does not cover every column, or no
        mechanism can be calibrated.
    """
    privacy, post = study.privacy, study.postprocessing
    choice, budget = _choose(study, n_patients), scaling_budget(study, n_patients)
    sentence = choice.sentence
    if budget is not None:
        spec = budget.spec(len(study_columns(study)), n_patients)
        sentence += f" {predict_scaling(spec).describe(n_patients)}"
    if _leaves_delta_out(study, n_patients):
        sentence += (
            f" Mechanisms that spend delta were left out: it is above "
            f"{largest_delta(n_patients):.3g} without a justification."
        )
    return ProtectSettings(
        mechanism=choice.mechanism,
        epsilon=require_epsilon(study),
        delta=choice.delta,
        clip_norm=privacy.clip_norm,
        norm=privacy.norm,
        labels=label_policies(study),
        acknowledge_private_statistics=study.reference.acknowledge_no_guarantee,
        preprocessing=signal_settings(study).public_params(),
        software_versions=software_versions(),
        commit=source_revision(),
        trust_model=_trust_of(study, choice),
        projection=choice.projection,
        postprocessing=Postprocessing(post.shrinkage, post.feature_units, post.clamp),
        codebook=choice.codebook,
        choice=sentence,
        delta_justification=privacy.delta_justification,
        scaling_budget=budget,
        dedup=_dedup(study),
    )


def _dedup(study: Study) -> Dedup:
    """Say how people with several keys on the roster were found, and what became of them."""
    linkage = study.linkage
    if linkage is None:
        return "roster_key"
    together = "_undecided_together" if linkage.undecided == "together" else ""
    return cast("Dedup", f"linked_{linkage.policy}{together}")


def scaling_budget(study: Study, n_patients: int) -> ScalingBudget | None:
    """Give what scaling constants from the cohort may spend.

    Parameters
    ----------
    study : Study
        Checked settings.
    n_patients : int
        Roster size, public.

    Returns
    -------
    ScalingBudget or None
        None where the study scales with constants that are not drawn.
    """
    reference = study.reference
    if reference.scaling != "dp_quantiles" or reference.epsilon is None:
        return None
    beside = reference.delta_beside(row_delta(study, n_patients), largest_delta(n_patients))
    return ScalingBudget(reference.epsilon, beside)


def row_delta(study: Study, n_patients: int) -> float:
    """Give the delta of rows or moments.

    Parameters
    ----------
    study : Study
        Checked settings.
    n_patients : int
        Roster size, public.

    Returns
    -------
    float
        As set; otherwise what needs no justification, half of it beside scaling constants that
        spend the other half.
    """
    shared = study.reference.scaling == "dp_quantiles" and study.reference.delta != 0
    return study.privacy.delta_for(n_patients, 0.5 if shared else 1.0)


def _choose(study: Study, n_patients: int) -> RowChoice:
    """Choose among rows, or among rows and moments where somebody may see all rows."""
    draws = study.reference.scaling == "dp_quantiles"
    moments = study.privacy.mechanism == MEAN_COVARIANCE
    if study.privacy.trust_model != "central" or (draws and not moments):
        return choose_rows(row_wishes(study, n_patients), planning_scaling(study), n_patients)
    return choose_central(row_wishes(study, n_patients), planning_scaling(study), n_patients)


def _trust_of(study: Study, choice: RowChoice) -> TrustModel:
    """Rows that are released although a curator is trusted need nobody's trust.

    Unless their scaling constants come from all of them.
    """
    trust, draws = study.privacy.trust_model, study.reference.scaling == "dp_quantiles"
    if trust == "central" and choice.mechanism != MEAN_COVARIANCE and not draws:
        return "local"
    return trust


def row_wishes(study: Study, n_patients: int) -> RowWishes:
    """Collect what a study asks for, before anything is chosen.

    Parameters
    ----------
    study : Study
        Checked settings.
    n_patients : int
        Roster size, public.

    Returns
    -------
    RowWishes
        For :func:`neuroveil.privacy.choice.choose_rows`.

    Raises
    ------
    StudyError
        If epsilon is missing.
    """
    privacy = study.privacy
    return RowWishes(
        mechanism=privacy.mechanism,
        epsilon=require_epsilon(study),
        delta=0.0 if _leaves_delta_out(study, n_patients) else row_delta(study, n_patients),
        clip_norm=privacy.clip_norm,
        norm=privacy.norm,
        trust_model="local" if privacy.trust_model == "central" else privacy.trust_model,
        projection=privacy.projection,
        components=privacy.components,
        largest_codebook=privacy.largest_codebook,
        fresh_per_row=privacy.codebook_per_row,
    )


def _leaves_delta_out(study: Study, n_patients: int) -> bool:
    """Whether ``auto`` has only mechanisms to choose from that spend no delta."""
    privacy = study.privacy
    is_free = privacy.mechanism == "auto" and privacy.trust_model == "local"
    is_large = row_delta(study, n_patients) > largest_delta(n_patients)
    return is_free and is_large and privacy.delta_justification is None


def planning_scaling(study: Study) -> Scaling:
    """Give the public constants that choices rest on, without any table.

    Parameters
    ----------
    study : Study
        Checked settings.

    Returns
    -------
    Scaling
        Of the public reference; without any information where the study scales with
        statistics of the cohort.

    Raises
    ------
    StudyError
        If there is no such reference.
    """
    columns = study_columns(study)
    if study.reference.scaling == "public_reference":
        return named_reference(study).scaling_for(columns)
    d = len(columns)
    return Scaling(columns, np.zeros(d), np.ones(d), "private", "not known yet", (False,) * d)


def label_policies(study: Study) -> tuple[LabelPolicy, ...]:
    """List the labels that leave the hospital, and how.

    Parameters
    ----------
    study : Study
        Checked settings.

    Returns
    -------
    tuple of LabelPolicy
        Without those that the study leaves out.
    """
    return tuple(
        LabelPolicy(label.column, label.policy, label.category_names, label.epsilon or 0.0)
        for label in study.labels
        if label.policy != "left_out"
    )


def with_public_categories(study: Study, table: FeatureTable) -> FeatureTable:
    """Put label columns into their public categories, and leave all others out.

    Parameters
    ----------
    study : Study
        Checked settings.
    table : FeatureTable
        With attributes as they stand in the roster.

    Returns
    -------
    FeatureTable
        With the categories of the labels that are released; ``"unknown"`` where a value
        fits none (randomised response then draws a category at random).
    """
    attributes = {
        label.column: tuple(
            label.categorise(value) or "unknown" for value in table.attributes[label.column]
        )
        for label in study.labels
        if label.policy != "left_out" and label.column in table.attributes
    }
    return replace(table, attributes=attributes)


def named_reference(study: Study) -> Reference:
    """Load the public reference that the study names, or the preset's own.

    Parameters
    ----------
    study : Study
        Checked settings.

    Returns
    -------
    Reference
        Public constants.

    Raises
    ------
    StudyError
        If there is no such reference, or it was made with another preset.
    """
    if study.reference.name is None:
        return default_reference(study.signal.preset)
    path = study.path(study.reference.name)
    return load_reference(path if path.is_file() else study.reference.name)


def require_other_people(study: Study, recordings: Iterable[Path]) -> None:
    """Refuse a public reference that was built from the study's own recordings.

    Constants that rest on the patients themselves would be private statistics under a
    public name.

    Parameters
    ----------
    study : Study
        Checked settings.
    recordings : iterable of Path
        The study's recordings.

    Raises
    ------
    ChainError
        If a recording of the study is one of the reference's.
    """
    if study.reference.scaling == "private_statistics":
        return
    public = set(named_reference(study).provenance.recording_digests)
    shared = sum(content_digest(path) in public for path in recordings if path.is_file())
    if shared:
        raise ChainError(
            "reference", "constants from other people than the study's patients",
            f"{shared} recordings that are in both",
            "Name another reference, or take these patients off the roster.",
        )  # fmt: skip


def study_scaling(study: Study, table: FeatureTable) -> Scaling:
    """Give the constants of the study's columns.

    Parameters
    ----------
    study : Study
        Checked settings.
    table : FeatureTable
        Looked at only where the study asks for private statistics and acknowledges that
        there is no guarantee then.

    Returns
    -------
    Scaling
        Public, or marked private. Where the study draws its constants, the public ones that
        quantiles are measured in.
    """
    if study.reference.scaling == "private_statistics":
        return private_statistics_scaling(table)
    return named_reference(study).scaling_for(table.columns)
