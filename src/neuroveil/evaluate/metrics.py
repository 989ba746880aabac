"""Error figures of noisy rows, for all groups of columns at once, on plain arrays.

Every figure follows from a handful of sums per column. They are added up over the groups
(all columns, each feature, each channel) by one small matrix product, so that a draw is
walked over once, whatever the number of groups.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuroveil.types.catalogue import Column
from neuroveil.types.recording import FloatArray

FIGURES: tuple[str, ...] = (
    "rmse", "mae", "correlation", "correlation_permuted", "correlation_centred",
    "correlation_centred_permuted", "snr_db",
)  # fmt: skip
"""Figures of one draw, in the order in which :func:`draw_figures` gives them."""

_ROUND_OFF = 1e-12
"""A variance below this share of the sum of squares is round-off, hence zero."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of columns over which figures are taken.

    Parameters
    ----------
    features, channels : tuple of str
        Names in the order of their first column.
    membership : ndarray of float64, shape (1 + n_features + n_channels, n_columns)
        1 where a column belongs to a group: all columns first, then the features, then
        the channels.
    """

    features: tuple[str, ...]
    channels: tuple[str, ...]
    membership: FloatArray


def column_groups(columns: tuple[Column, ...]) -> Groups:
    """Group columns by feature and by channel.

    Parameters
    ----------
    columns : tuple of Column
        What each column of the rows is.

    Returns
    -------
    Groups
        All columns, each feature, each channel.
    """
    features = tuple(dict.fromkeys(column.feature for column in columns))
    channels = tuple(dict.fromkeys(column.channel for column in columns))
    rows = [[True] * len(columns)]
    rows += [[column.feature == feature for column in columns] for feature in features]
    rows += [[column.channel == channel for column in columns] for channel in channels]
    return Groups(features, channels, np.array(rows, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class ReferenceRows:
    """Rows to compare with, and those of their sums that no draw changes.

    Parameters
    ----------
    rows : ndarray of float64, shape (n_patients, n_columns)
        Scaled rows (no unit).
    shift : float
        Grand mean, taken off before products are summed, against cancellation.
    sums, squares : ndarray of float64, shape (n_columns,)
        Sums of the shifted rows and of their squares.
    energy : ndarray of float64, shape (n_columns,)
        Sum of squares without the shift.
    """

    rows: FloatArray
    shift: float
    sums: FloatArray
    squares: FloatArray
    energy: FloatArray


def prepare_reference(rows: FloatArray) -> ReferenceRows:
    """Sum up what stays the same over all draws.

    Parameters
    ----------
    rows : ndarray of float64, shape (n_patients, n_columns)
        Scaled rows (no unit).

    Returns
    -------
    ReferenceRows
        The rows and their sums.
    """
    shift = float(rows.mean())
    shifted = rows - shift
    return ReferenceRows(
        rows, shift, shifted.sum(0), np.square(shifted).sum(0), np.square(rows).sum(0)
    )


def draw_figures(
    reference: ReferenceRows, noisy: FloatArray, permutation: np.ndarray, groups: Groups
) -> FloatArray:
    """Give the figures of one draw for every group of columns.

    Parameters
    ----------
    reference : ReferenceRows
        What the noisy rows ought to be.
    noisy : ndarray of float64, shape (n_patients, n_columns)
        The draw, in the same order of rows (no unit).
    permutation : ndarray of int64, shape (n_patients,)
        Order of the reference's rows in the permuted control.
    groups : Groups
        Groups of columns.

    Returns
    -------
    ndarray of float64, shape (n_groups, 7)
        :data:`FIGURES` by group; SNR in dB, the others without unit. NaN where a figure
        is not defined.
    """
    error = noisy - reference.rows
    add = groups.membership
    cells = add.sum(1) * noisy.shape[0]
    squared_error = add @ np.square(error).sum(0)
    figures = [np.sqrt(squared_error / cells), add @ np.abs(error).sum(0) / cells]
    figures += _correlations(reference, noisy, permutation, groups)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (add @ reference.energy) / squared_error
        snr_db = np.where((ratio > 0) & np.isfinite(ratio), 10 * np.log10(ratio), np.nan)
    return np.stack([*figures, snr_db], axis=1)


def _correlations(
    reference: ReferenceRows, noisy: FloatArray, permutation: np.ndarray, groups: Groups
) -> list[FloatArray]:
    x = reference.rows - reference.shift
    y = noisy - reference.shift
    n_rows = noisy.shape[0]
    add = groups.membership
    cells = add.sum(1) * n_rows
    x_sum, y_sum = reference.sums, y.sum(0)
    x_squares, y_squares = reference.squares, np.square(y).sum(0)
    group_product = (add @ x_sum) * (add @ y_sum) / cells
    x_total = _sum_of_squares(add @ x_squares, np.square(add @ x_sum) / cells)
    y_total = _sum_of_squares(add @ y_squares, np.square(add @ y_sum) / cells)
    x_within = _sum_of_squares(add @ x_squares, add @ np.square(x_sum) / n_rows)
    y_within = _sum_of_squares(add @ y_squares, add @ np.square(y_sum) / n_rows)
    overall, centred = [], []
    for products in (np.einsum("ij,ij->j", x, y), np.einsum("ij,ij->j", x[permutation], y)):
        overall.append((add @ products - group_product) / np.sqrt(x_total * y_total))
        within = add @ (products - x_sum * y_sum / n_rows)
        centred.append(within / np.sqrt(x_within * y_within))
    return [*overall, *centred]


def _sum_of_squares(squares: FloatArray, of_the_mean: FloatArray) -> FloatArray:
    """Squares about the mean; NaN where nothing but round-off is left."""
    rest = squares - of_the_mean
    about_mean: FloatArray = np.where(rest > _ROUND_OFF * squares, rest, np.nan)
    return about_mean


def exchange_rows(n_rows: int, generator: np.random.Generator) -> np.ndarray:
    """Draw an order of rows in which none stays where it is.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    generator : numpy.random.Generator
        Source of the order; it decides nothing about privacy.

    Returns
    -------
    ndarray of int64, shape (n_rows,)
        A single cycle through all rows; for one row, that row.
    """
    cycle = generator.permutation(n_rows)
    order = np.empty(n_rows, dtype=np.int64)
    order[cycle] = np.roll(cycle, 1)
    return order


def band_change(reference: FloatArray, noisy: FloatArray, spread: FloatArray) -> FloatArray:
    """Give the mean absolute change of log10(power) for every column.

    A scaled value is ``(log10(power) - centre) / spread``, so that a difference of scaled
    values times the spread is a difference of log10(power): the centre drops out.

    Parameters
    ----------
    reference, noisy : ndarray of float64, shape (n_patients, n_columns)
        Scaled rows (no unit).
    spread : ndarray of float64, shape (n_columns,)
        Public spread of each column, in decades.

    Returns
    -------
    ndarray of float64, shape (n_columns,)
        Decades.
    """
    decades: FloatArray = np.abs(noisy - reference).mean(0) * spread
    return decades
