"""Splits of patients for attackers who learn: nobody stands on both sides.

Areas under the curve are taken within each test fold, over pairs of patients whom the same
model has scored, and averaged over repeated stratified splits. Predictions of different models
are never pooled. Leaving one patient out and pooling all predictions would be wrong: the mean
of the others leans away from whoever was left out, so that a model that has learnt nothing gets
an area of 0 instead of one half.
"""

from __future__ import annotations

import numpy as np

from neuroveil.errors import RecordingError
from neuroveil.privacy.bounds import IntArray
from neuroveil.types.recording import FloatArray

MOST_FOLDS = 5


def check_disjoint(rows: FloatArray, patients: IntArray) -> None:
    """Refuse rows of which one patient's is an exact copy of another's.

    Such a copy would stand on both sides of a split, and an attacker who memorises would seem
    to have learnt. Rows of zeros, of patients without any recording, are no copies.

    Parameters
    ----------
    rows : ndarray of float64, shape (n_rows, n_features)
        Scaled rows (no unit).
    patients : ndarray of int64, shape (n_rows,)
        Patient of each row.

    Raises
    ------
    RecordingError
        If two patients share a row.
    """
    if n_shared_rows(rows, patients):
        raise RecordingError(
            "table", "no row that two patients share",
            f"{n_shared_rows(rows, patients)} that two or more share",
            "Give copies of a recording the same roster key, or leave the copies out.",
        )  # fmt: skip


def n_shared_rows(rows: FloatArray, patients: IntArray) -> int:
    """Count different rows that stand under more than one patient.

    Parameters
    ----------
    rows : ndarray of float64, shape (n_rows, n_features)
        Scaled rows (no unit).
    patients : ndarray of int64, shape (n_rows,)
        Patient of each row.

    Returns
    -------
    int
        0 where a split by patient leaks nothing.
    """
    recorded = np.flatnonzero(rows.any(axis=1))
    owners: dict[bytes, set[int]] = {}
    for row in recorded.tolist():
        key = (rows[row] + 0.0).tobytes()  # minus zero is zero
        owners.setdefault(key, set()).add(int(patients[row]))
    return sum(len(found) > 1 for found in owners.values())


def stratified_folds(classes: IntArray, generator: np.random.Generator) -> IntArray:
    """Deal patients out to test folds, each class as evenly as can be.

    Parameters
    ----------
    classes : ndarray of int64, shape (n_patients,)
        Class of each patient.
    generator : numpy.random.Generator
        Source of the choices.

    Returns
    -------
    ndarray of int64, shape (n_patients,)
        Test fold of each patient, from 0. As many folds as the smallest class that has at
        least two patients allows, at most :data:`MOST_FOLDS`.
    """
    counts = np.bincount(classes)
    n_folds = int(min(MOST_FOLDS, counts[counts > 1].min(initial=MOST_FOLDS)))
    fold = np.empty(classes.size, dtype=np.int64)
    for number in np.unique(classes):
        members = np.flatnonzero(classes == number)
        places = (np.arange(members.size) + generator.integers(n_folds)) % n_folds
        fold[members] = generator.permutation(places)
    return fold
