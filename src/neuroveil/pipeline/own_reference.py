"""A reference from a site's own public recordings, described in a study file."""

from __future__ import annotations

from neuroveil.errors import StudyError, StudyMistake
from neuroveil.pipeline.pool import Progress, no_progress
from neuroveil.pipeline.reference import build_reference_from_recordings
from neuroveil.pipeline.settings import find_roster, read_options, signal_settings
from neuroveil.reference import Provenance, Reference, ReferenceDescription
from neuroveil.study import Study


def describe_reference(study: Study) -> ReferenceDescription:
    """Take name, origin and caveats of a reference from a study.

    Parameters
    ----------
    study : Study
        With a section ``[provenance]``.

    Returns
    -------
    ReferenceDescription
        Counts, settings and versions are filled in when it is built.

    Raises
    ------
    StudyError
        If the study has no such section.
    """
    about = study.provenance
    if about is None:
        raise StudyError([StudyMistake(
            "provenance", "a section that says where the public recordings come from", "none",
            "Add [provenance] with name, dataset, dataset_version, source, licence, "
            "attribution, citation, people, recordings and covers.",
        )])  # fmt: skip
    provenance = Provenance(
        dataset=about.dataset, dataset_version=about.dataset_version, source=about.source,
        licence=about.licence, attribution=about.attribution, citation=about.citation,
        population=about.people, covers=about.covers, recordings=about.recordings,
        n_people=0, n_recordings=0, recording_digests=(), settings={}, software={},
    )  # fmt: skip
    return ReferenceDescription(
        name=about.name, version=about.version, preset=study.signal.preset,
        provenance=provenance, caveats=about.caveats,
    )  # fmt: skip


def reference_of_study(study: Study, progress: Progress = no_progress) -> Reference:
    """Build a reference from the public recordings that a study names.

    Parameters
    ----------
    study : Study
        With a section ``[provenance]``.
    progress : callable
        Called with (done, total, what).

    Returns
    -------
    Reference
        Public constants.

    Raises
    ------
    StudyError
        If the study does not describe a reference.
    RecordingError
        If a recording cannot be used.
    """
    return build_reference_from_recordings(
        find_roster(study), read_options(study), signal_settings(study),
        describe_reference(study), progress,
    )  # fmt: skip
