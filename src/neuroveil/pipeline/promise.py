"""From the study to the promise: what is protected, how, and with which constants."""

from __future__ import annotations

from dataclasses import replace

from neuroveil.pipeline.revision import source_revision
from neuroveil.pipeline.settings import require_epsilon, signal_settings, software_versions
from neuroveil.privacy import LabelPolicy, ProtectSettings, private_statistics_scaling
from neuroveil.reference import Reference, default_reference, load_reference
from neuroveil.study import Study
from neuroveil.types.scaling import Scaling
from neuroveil.types.table import FeatureTable


def protect_settings(study: Study) -> ProtectSettings:
    """Say what the release promises. Public settings only.

    Parameters
    ----------
    study : Study
        Checked settings.

    Returns
    -------
    ProtectSettings
        For :func:`neuroveil.privacy.protect`.

    Raises
    ------
    StudyError
        If epsilon is missing.
    """
    privacy = study.privacy
    return ProtectSettings(
        mechanism=privacy.mechanism,
        epsilon=require_epsilon(study),
        delta=privacy.row_delta,
        clip_norm=privacy.clip_norm,
        norm=privacy.norm,
        labels=label_policies(study),
        acknowledge_private_statistics=study.reference.acknowledge_no_guarantee,
        preprocessing=signal_settings(study).public_params(),
        software_versions=software_versions(),
        commit=source_revision(),
    )


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
        Public, or marked private.
    """
    if study.reference.scaling == "private_statistics":
        return private_statistics_scaling(table)
    return named_reference(study).scaling_for(table.columns)
