"""The private feature table: one row a patient. It never leaves the hospital."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from neuroveil.errors import RecordingError
from neuroveil.types.catalogue import Column
from neuroveil.types.recording import FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class FeatureTable:
    """Patient-level features on the linear scale, in their own units. Private.

    Only :func:`neuroveil.privacy.protect` turns one into something that may be published.

    Parameters
    ----------
    patients : tuple of str
        Roster keys, one a row, each once.
    columns : tuple of Column
        What each column is.
    values : ndarray of float64, shape (n_patients, n_features)
        Features in the columns' units; NaN marks a missing cell.
    n_windows : ndarray of int64, shape (n_patients,)
        Kept windows that each row rests on.
    seconds : ndarray of float64, shape (n_patients,)
        Recorded time that each row rests on, in seconds.
    attributes : dict of str to tuple of str
        Roster columns such as diagnosis, age and sex, one value a patient.
    metadata : dict
        Software versions and settings digests.

    Raises
    ------
    RecordingError
        If shapes disagree, a patient stands twice, or a value is infinite.
    """

    patients: tuple[str, ...]
    columns: tuple[Column, ...]
    values: FloatArray
    n_windows: npt.NDArray[np.int64]
    seconds: FloatArray
    attributes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    metadata: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shape = (len(self.patients), len(self.columns))
        if self.values.shape != shape:
            raise RecordingError(
                "feature table", f"shape {shape}", f"shape {self.values.shape}",
                "Extract the features again.",
            )  # fmt: skip
        if len(set(self.patients)) != len(self.patients):
            raise RecordingError(
                "feature table", "one row a patient", "a patient with two rows",
                "Merge the rows: a patient with two rows has twice the influence.",
            )  # fmt: skip
        if bool(np.isinf(self.values).any()):
            raise RecordingError(
                "feature table", "finite values or missing cells", "infinite values",
                "Extract the features again, or mark these cells as missing (NaN).",
            )  # fmt: skip
        for name, column in self.attributes.items():
            if len(column) != len(self.patients):
                raise RecordingError(
                    f"attribute {name!r}", f"{len(self.patients)} values",
                    f"{len(column)} values", "Give one value a patient.",
                )  # fmt: skip

    @property
    def n_patients(self) -> int:
        """Number of rows."""
        return len(self.patients)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.columns)

    def __repr__(self) -> str:
        return f"FeatureTable({self.n_patients} patients x {self.n_features} features, private)"
