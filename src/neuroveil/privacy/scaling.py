"""From features in their own units to scaled rows that can be clipped.

``(transform(value) - centre) / spread`` with a public transform a column (log10 or none)
and constants that come from a public reference. A missing cell becomes the public centre,
0 after scaling, and a patient without any recording a row of zeros: which cells were
missing is not released.
"""

from __future__ import annotations

import numpy as np

from neuroveil.errors import ChainError
from neuroveil.types.recording import FloatArray
from neuroveil.types.scaling import Scaling
from neuroveil.types.table import FeatureTable

LOG10_FLOOR = -10.0
"""Floor of log10 columns after scaling, in public spreads below the public centre.

A power of zero (a flat channel that slipped through) has no logarithm. It takes this floor,
as does everything below it, so that one defective cell cannot fill a whole clipped row.
"""

_SMALLEST_SPREAD = 1e-9


def scale_rows(table: FeatureTable, scaling: Scaling) -> FloatArray:
    """Scale a feature table with the constants of a reference.

    Parameters
    ----------
    table : FeatureTable
        Features in their columns' units; NaN marks a missing cell.
    scaling : Scaling
        Constants for exactly these columns, in this order.

    Returns
    -------
    ndarray of float64, shape (n_patients, n_features)
        Scaled rows (no unit); missing cells are 0, log10 columns at least
        :data:`LOG10_FLOOR`.

    Raises
    ------
    ChainError
        If the constants belong to other columns, or a value is too large to be scaled.
    """
    if table.columns != scaling.columns:
        raise ChainError(
            "reference constants", "the table's columns in the table's order",
            f"{len(scaling.columns)} columns that differ from the table's {table.n_features}",
            "Use a reference for exactly the columns that the study lists.",
        )  # fmt: skip
    transformed = _transform(table)
    with np.errstate(over="ignore", invalid="ignore"):
        rows = (transformed - scaling.centre) / scaling.spread
    logarithmic = _log10_columns(table)
    rows[:, logarithmic] = np.maximum(rows[:, logarithmic], LOG10_FLOOR)  # keeps NaN
    rows[np.isnan(table.values)] = 0.0
    if not bool(np.isfinite(rows).all()):
        raise ChainError(
            "feature table", "values that are finite after scaling", "others",
            "Extract the features again; no EEG feature is this large.",
        )  # fmt: skip
    return rows


def private_statistics_scaling(table: FeatureTable) -> Scaling:
    """Fit centre and spread on the private cohort itself, as the paper did.

    For comparison only: medians and interquartile ranges of the cohort depend on every
    patient and are not paid for, so a certificate built on them has no end-to-end
    guarantee. The paper scaled linear values; here each column keeps its public transform.

    Parameters
    ----------
    table : FeatureTable
        The private cohort.

    Returns
    -------
    Scaling
        Median and interquartile range a column; ranges of at most 1e-9 become 1, as do
        those of a column without any value. ``fitted_on`` is ``"private"``.
    """
    transformed = _transform(table)
    transformed[np.isneginf(transformed)] = np.nan
    empty = np.count_nonzero(~np.isnan(transformed), axis=0) == 0
    transformed[:, empty] = 0.0
    lower, centre, upper = np.nanpercentile(transformed, [25.0, 50.0, 75.0], axis=0)
    spread = upper - lower
    spread[spread <= _SMALLEST_SPREAD] = 1.0
    return Scaling(
        columns=table.columns,
        centre=centre,
        spread=spread,
        fitted_on="private",
        name="median and interquartile range of the private cohort",
        fallback=tuple(empty.tolist()),
    )


def _log10_columns(table: FeatureTable) -> list[int]:
    return [index for index, column in enumerate(table.columns) if column.scale == "log10"]


def _transform(table: FeatureTable) -> FloatArray:
    """Apply the public transform; a value of zero or less on a log10 column gives -inf."""
    transformed = table.values.astype(np.float64, copy=True)
    logarithmic = _log10_columns(table)
    with np.errstate(divide="ignore", invalid="ignore"):
        transformed[:, logarithmic] = np.log10(np.maximum(transformed[:, logarithmic], 0.0))
    return transformed
