"""What a hospital would send to a trusted server, made at home: a roster, then feature rows.

GlobalIDs come from what ``neuroveil link encode`` wrote at this hospital. Rows are found by the
local map, which stays here.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from neuroveil.deploy.pseudonymised import (
    BESIDE,
    ID,
    LABEL,
    SECONDS,
    UNKNOWN,
    WINDOWS,
    IntLabels,
    Kind,
    features_bytes,
    roster_bytes,
)
from neuroveil.errors import LinkageError, StudyError, StudyMistake
from neuroveil.linkage.encoded_list import read_encoded
from neuroveil.pipeline.evaluation import patient_labels
from neuroveil.pipeline.extract import extract_study
from neuroveil.pipeline.pool import Progress, no_progress
from neuroveil.pipeline.promise import named_reference, require_other_people
from neuroveil.pipeline.release import recordings_of, require_data
from neuroveil.pipeline.settings import find_roster, signal_settings, study_columns
from neuroveil.study import Study
from neuroveil.types.certificate import canonical_json, digest
from neuroveil.types.table import FeatureTable

ENCODED_FILE, MAP_FILE = "encoded.parquet", "local-map.csv"

_WHAT = {ID: "text: pseudonym of the patient", WINDOWS: "whole number: windows that were kept",
         SECONDS: "number: recorded seconds",
         LABEL: "whole number: 1 positive, 0 negative, -1 unknown"}  # fmt: skip


@dataclass(frozen=True)
class RowsToSend:
    """One file that would be sent, and all that would go with it.

    Parameters
    ----------
    kind : {"roster", "features"}
        What it is.
    content : bytes
        Parquet. Private.
    fields : tuple of str
        Its columns.
    n_rows : int
        Its rows.
    terms : dict of str to str
        Digests of the study's columns, reference and signal settings.
    """

    kind: Kind
    content: bytes = field(repr=False)
    fields: tuple[str, ...]
    n_rows: int
    terms: dict[str, str]

    @property
    def digest(self) -> str:
        """``sha256:…`` of the content."""
        return digest(self.content)

    @property
    def announcement(self) -> bytes:
        """The first body that is sent."""
        return json.dumps({
            "kind": self.kind, "size": len(self.content), "digest": self.digest,
            "terms": self.terms,
        }).encode()  # fmt: skip

    def as_dict(self) -> dict[str, Any]:
        """Give what would be sent as plain data.

        Returns
        -------
        dict
            Keys ``kind``, ``rows``, ``bytes``, ``digest``, ``fields`` (name and what it is),
            ``announcement`` and ``announcement_bytes``, ``headers``.
        """
        number = "number: mean over the patient's windows"
        return {
            "kind": self.kind, "rows": self.n_rows, "bytes": len(self.content),
            "digest": self.digest,
            "fields": [{"name": name, "what": _WHAT.get(name, number)} for name in self.fields],
            "announcement": json.loads(self.announcement),
            "announcement_bytes": len(self.announcement),
            "headers": ["key id", "time", "nonce", "digest of the body", "signature"],
        }  # fmt: skip


def roster_to_send(study: Study, encoded: Path, with_label: bool = False) -> RowsToSend:
    """List the study's patients by their GlobalIDs; no recording is looked at.

    Parameters
    ----------
    study : Study
        The study file of this hospital.
    encoded : Path
        Folder that ``neuroveil link encode`` wrote.
    with_label : bool
        Whether rows will come with the label, since the study declares it.

    Returns
    -------
    RowsToSend
        Nothing was sent.

    Raises
    ------
    LinkageError
        If a patient has no GlobalID, or two have the same one.
    """
    patients = tuple(entry.patient for entry in find_roster(study).entries)
    ids = global_ids_of(encoded, patients)
    terms = study_terms(study, with_label)
    return RowsToSend("roster", roster_bytes(ids), (ID,), len(ids), terms)


def features_to_send(
    study: Study,
    encoded: Path,
    with_label: bool = False,
    n_workers: int | None = None,
    progress: Progress = no_progress,
) -> RowsToSend:
    """Extract features, as far as that was not done before, and put GlobalIDs on the rows.

    Parameters
    ----------
    study : Study
        The study file of this hospital.
    encoded : Path
        Folder that ``neuroveil link encode`` wrote.
    with_label : bool
        Whether the label under ``[evaluation]`` goes along, since the study declares it.
    n_workers : int, optional
        Processes for extraction; default: all cores.
    progress : callable
        Called with (done, total, what).

    Returns
    -------
    RowsToSend
        Nothing was sent.

    Raises
    ------
    LinkageError
        If a patient has no GlobalID, or two have the same one.
    ChainError
        If the public reference was built from these very recordings.
    """
    require_other_people(study, recordings_of(find_roster(study)))
    extraction = extract_study(study, n_workers, progress)
    extraction.require_settled()
    table = extraction.table
    require_data(table)
    labels = _labels(study, table) if with_label else None
    content = features_bytes(table, global_ids_of(encoded, table.patients), labels)
    beside = BESIDE if labels is None else (*BESIDE, LABEL)
    names = (*beside, *(column.name for column in table.columns))
    return RowsToSend("features", content, names, table.n_patients, study_terms(study, with_label))


def _labels(study: Study, table: FeatureTable) -> IntLabels:
    """Say of each patient whether the label is positive. Private."""
    values = patient_labels(study, table.attributes).values
    return np.array([UNKNOWN if each is None else int(each) for each in values], dtype=np.int8)


def label_of(study: Study) -> dict[str, Any]:
    """Say what the label of a study is, in public words.

    Parameters
    ----------
    study : Study
        The study file.

    Returns
    -------
    dict
        Column of the roster, and what makes somebody positive.

    Raises
    ------
    StudyError
        If the study names no label.
    """
    if study.evaluation.label is None:
        raise StudyError([StudyMistake(
            "evaluation.label", "a column of the roster, since the label is to be learned",
            "nothing", "Set it under [evaluation], with `positive`.",
        )])  # fmt: skip
    return study.evaluation.model_dump(mode="json", exclude_none=True)


def study_terms(study: Study, with_label: bool = False) -> dict[str, str]:
    """Digest what all hospitals of a study must have in common.

    Parameters
    ----------
    study : Study
        The study file.
    with_label : bool
        Whether the label is sent, too.

    Returns
    -------
    dict of str to str
        Keys ``columns_digest``, ``reference_digest``, ``features_digest``, and ``label_digest``
        where a label is sent.
    """
    from neuroveil.privacy.settings import columns_digest

    columns = study_columns(study)
    terms = {
        "columns_digest": columns_digest(columns),
        "reference_digest": named_reference(study).scaling_for(columns).digest,
        "features_digest": digest(canonical_json(signal_settings(study).public_params())),
    }
    if with_label:
        terms["label_digest"] = digest(canonical_json(label_of(study)))
    return terms


def global_ids_of(encoded: Path, patients: tuple[str, ...]) -> tuple[str, ...]:
    """Look up the GlobalIDs of patients.

    Parameters
    ----------
    encoded : Path
        Folder that ``neuroveil link encode`` wrote.
    patients : tuple of str
        Roster keys. Private.

    Returns
    -------
    tuple of str
        In the same order.

    Raises
    ------
    LinkageError
        If the files do not belong together, a patient has no GlobalID, or two have one.
    """
    ids = read_encoded(encoded / ENCODED_FILE).global_ids
    if ids is None:
        raise LinkageError(
            "encoded list", "GlobalIDs", "encodings alone",
            "A trusted server links by patient numbers: give the schema an identifier.",
        )  # fmt: skip
    rows = _local_map(encoded / MAP_FILE)
    if any(not 0 <= row < len(ids) for row in rows.values()):
        raise _wrong_map()
    found = tuple(ids[rows[each]] if each in rows else "" for each in patients)
    if not all(found):
        raise LinkageError(
            "roster", "a GlobalID for each patient", f"{found.count('')} patients without one",
            "Encode a list with all patients of the study, each with a number, or take them off "
            "the roster.",
        )  # fmt: skip
    if len(set(found)) != len(found):
        raise LinkageError(
            "roster", "each person once", f"{len(found) - len(set(found))} GlobalIDs that repeat",
            "Resolve duplicates inside this hospital first: see [linkage] of the study.",
        )  # fmt: skip
    return found


def _local_map(path: Path) -> dict[str, int]:
    try:
        lines = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")))
        return {line["patient"]: int(line["row"]) for line in lines}
    except (OSError, UnicodeError, KeyError, TypeError, ValueError, csv.Error):
        raise _wrong_map() from None


def _wrong_map() -> LinkageError:
    return LinkageError(
        "local map", "a row of the encoded list for each patient", "another file, or none",
        "Name the folder that `neuroveil link encode` wrote, with both of its files.",
    )  # fmt: skip
