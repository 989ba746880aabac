"""What an audit reads about patients besides their rows: one attribute, from a table of labels."""

from __future__ import annotations

from pathlib import Path

from neuroveil.audit.table.frame import Attribute
from neuroveil.errors import RecordingError
from neuroveil.types.table import FeatureTable

_KEYS = ("patient", "participant_id")


def read_attribute(name: str, table: FeatureTable, labels: Path | None = None) -> Attribute:
    """Read an attribute of the patients of a table.

    Parameters
    ----------
    name : str
        Its column.
    table : FeatureTable
        The private table; its own attributes are used where there is no other file.
    labels : Path, optional
        CSV, or TSV such as ``participants.tsv``, with a column ``patient`` or
        ``participant_id`` of roster keys. Patients of whom it says nothing count as unknown.

    Returns
    -------
    Attribute
        One value a patient, in the order of the table. Private.

    Raises
    ------
    RecordingError
        If the file or the column cannot be read, a key stands twice, or no patient of the
        table is in it.
    """
    if labels is None:
        if name not in table.attributes:
            raise RecordingError(
                "attribute", "a column of the feature table", "none of that name",
                "Name a column beside the features, or a file that has it (--labels).",
            )  # fmt: skip
        return Attribute(name, table.attributes[name])
    known = _read(labels, name)
    values = tuple(known.get(patient, "") for patient in table.patients)
    if not any(patient in known for patient in table.patients):
        raise RecordingError(
            "labels", "patients of the table", "none of them",
            "Use the roster keys of the feature table in the column patient.",
        )  # fmt: skip
    return Attribute(name, values)


def _read(file: Path, name: str) -> dict[str, str]:
    """Values by roster key, all as text."""
    import pandas as pd

    separator = "\t" if file.suffix.lower() == ".tsv" else ","
    try:
        frame = pd.read_csv(file, sep=separator, dtype=str, keep_default_na=False)
    except (OSError, ValueError, UnicodeError) as error:
        raise RecordingError(
            "labels", "a CSV or TSV file with a header", type(error).__name__,
            "Name a table with a column patient and the attribute.",
        ) from None  # fmt: skip
    key = next((each for each in _KEYS if each in frame.columns), None)
    if key is None or name not in frame.columns:
        raise RecordingError(
            "labels", "a column patient with roster keys, and the attribute", "other columns",
            "Name a table with a column patient and the attribute.",
        )  # fmt: skip
    if frame[key].duplicated().any():
        raise RecordingError(
            "labels", "one row a patient", "a patient with two rows",
            "Keep one row of labels for each patient.",
        )  # fmt: skip
    return dict(zip(frame[key], frame[name], strict=True))
