"""Scaling by the cohort's own median and spread: the example of docs/mathematics.md, built."""

from __future__ import annotations

import math

import numpy as np
import pytest

from neuroveil.privacy.bounds import ClipL2
from neuroveil.privacy.calibration import gaussian_sigma, log_delta
from neuroveil.privacy.scaling import private_statistics_scaling, scale_rows
from neuroveil.types.catalogue import FEATURE_NAMES, Column, columns_for
from neuroveil.types.recording import FloatArray
from neuroveil.types.table import FeatureTable

N_PATIENTS = 17
CLIP = ClipL2(2.0)
COLUMNS = columns_for(tuple(f"E{number}" for number in range(1, 34)), FEATURE_NAMES)


def cohort(last_patient_low_in_first_group: bool) -> FeatureTable:
    """Eight patients at 1, eight at 2, and one who is far out and decides the medians."""
    first_group = np.arange(len(COLUMNS)) < len(COLUMNS) // 2
    low, far_below, far_above = 1.0, -8.0, 11.0
    values = np.full((N_PATIENTS, len(COLUMNS)), low)
    values[8:16] = 2.0
    below = first_group if last_patient_low_in_first_group else ~first_group
    values[16] = np.where(below, far_below, far_above)
    return FeatureTable(
        patients=tuple(f"patient {number}" for number in range(N_PATIENTS)),
        columns=COLUMNS,
        values=on_linear_scale(values, COLUMNS),
        n_windows=np.ones(N_PATIENTS, dtype=np.int64),
        seconds=np.ones(N_PATIENTS),
    )


def on_linear_scale(values: FloatArray, columns: tuple[Column, ...]) -> FloatArray:
    """Undo the columns' public transforms."""
    logarithmic = np.array([column.scale == "log10" for column in columns])
    return np.where(logarithmic, 10.0**values, values)


def clipped(table: FeatureTable) -> FloatArray:
    """Rows as the noise would meet them."""
    return CLIP.apply(scale_rows(table, private_statistics_scaling(table)))


def test_one_patient_moves_the_table_by_12_where_4_was_claimed() -> None:
    moved = np.linalg.norm(clipped(cohort(True)) - clipped(cohort(False)))
    assert moved == pytest.approx(CLIP.clip_norm * math.sqrt(2 * (N_PATIENTS + 1)), rel=1e-9)
    assert moved == pytest.approx(12.0, rel=1e-9)


def test_the_two_cohorts_differ_in_one_patient_only() -> None:
    different = (cohort(True).values != cohort(False).values).any(axis=1)
    assert different.tolist() == [False] * 16 + [True]


def test_an_epsilon_of_1_is_really_3_41() -> None:
    sigma = gaussian_sigma(4.0, 1.0, 1e-5)
    log_claimed = math.log(1e-5)
    assert log_delta(12.0 / sigma, 3.405) > log_claimed > log_delta(12.0 / sigma, 3.415)
