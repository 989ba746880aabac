"""Collects the figures of one draw after another, and sums them up at the end."""

from __future__ import annotations

import numpy as np

from neuroveil.evaluate.intervals import estimate
from neuroveil.evaluate.metrics import (
    FIGURES,
    band_change,
    column_groups,
    draw_figures,
    prepare_reference,
)
from neuroveil.types.catalogue import feature_spec
from neuroveil.types.recording import FloatArray
from neuroveil.types.scaling import Scaling
from neuroveil.types.utility import BandDistortion, Estimate, GroupUtility, UtilityFigures

_CLIPPED, _UNCLIPPED = 0, 1


class Tally:
    """Figures of all draws, against the clipped rows and against the rows before clipping.

    What is kept of a draw are a few hundred numbers, whatever the size of the table.

    Parameters
    ----------
    scaled, clipped : ndarray of float64, shape (n_patients, n_features)
        Scaled rows before and after clipping (no unit).
    scaling : Scaling
        The columns, and their spread.
    """

    def __init__(self, scaled: FloatArray, clipped: FloatArray, scaling: Scaling) -> None:
        self._groups = column_groups(scaling.columns)
        self._references = (prepare_reference(clipped), prepare_reference(scaled))
        self._spread = scaling.spread
        self._bands = [
            (place, name)
            for place, name in enumerate(self._groups.features, start=1)
            if feature_spec(name).band_hz is not None
        ]
        self._figures: list[FloatArray] = []
        self._changes: list[FloatArray] = []

    def add(self, drawn: tuple[FloatArray, FloatArray], permutation: np.ndarray) -> None:
        """Take the figures of one draw.

        Parameters
        ----------
        drawn : tuple of two ndarray of float64, shape (n_patients, n_features)
            What the draw says of the clipped rows, and of the rows before clipping, in the
            order of the rows (no unit).
        permutation : ndarray of int64, shape (n_patients,)
            Order of the reference's rows in the permuted control.
        """
        pairs = list(zip(self._references, drawn, strict=True))
        figures = [draw_figures(r, noisy, permutation, self._groups) for r, noisy in pairs]
        self._figures.append(np.stack(figures))
        changes = [band_change(r.rows, noisy, self._spread) for r, noisy in pairs]
        self._changes.append(np.stack([self._by_band(change) for change in changes]))

    def overall(self) -> GroupUtility:
        """Sum up over all columns.

        Returns
        -------
        GroupUtility
            Means and intervals over the draws so far.
        """
        return self._group(0, "overall", "all columns")

    def by_feature(self) -> tuple[GroupUtility, ...]:
        """Sum up by feature, over all of its channels.

        Returns
        -------
        tuple of GroupUtility
            In the order of the columns.
        """
        names = enumerate(self._groups.features, start=1)
        return tuple(self._group(place, name, feature_spec(name).label) for place, name in names)

    def by_channel(self) -> tuple[GroupUtility, ...]:
        """Sum up by channel, over all of its features.

        Returns
        -------
        tuple of GroupUtility
            In the order of the columns.
        """
        names = enumerate(self._groups.channels, start=1 + len(self._groups.features))
        return tuple(self._group(place, name, name) for place, name in names)

    def bands(self) -> tuple[BandDistortion, ...]:
        """Sum up the distortion of band powers.

        Returns
        -------
        tuple of BandDistortion
            One entry a band-power feature, in the order of the columns.
        """
        if not self._bands:
            return ()
        changes = np.stack(self._changes)
        rows = self._references[_UNCLIPPED].rows
        differ = None
        if rows.shape[0] > 1:
            differ = self._by_band(rows.std(axis=0, ddof=1) * self._spread)
        return tuple(
            BandDistortion(
                feature=name,
                label=feature_spec(name).label,
                against_clipped=_defined(changes[:, _CLIPPED, band]),
                against_unclipped=_defined(changes[:, _UNCLIPPED, band]),
                patient_spread=None if differ is None else float(differ[band]),
            )
            for band, (_, name) in enumerate(self._bands)
        )

    def _by_band(self, by_column: FloatArray) -> FloatArray:
        members = self._groups.membership[[place for place, _ in self._bands]]
        mean: FloatArray = members @ by_column / members.sum(axis=1)
        return mean

    def _group(self, place: int, name: str, label: str) -> GroupUtility:
        figures = np.stack(self._figures)[:, :, place]
        clipped, unclipped = (_summed_up(figures[:, side]) for side in (_CLIPPED, _UNCLIPPED))
        return GroupUtility(name, label, clipped, unclipped)


def _summed_up(figures: FloatArray) -> UtilityFigures:
    column = dict(zip(FIGURES, figures.T, strict=True))
    return UtilityFigures(
        rmse=_defined(column["rmse"]),
        mae=_defined(column["mae"]),
        **{name: estimate(column[name]) for name in FIGURES[2:]},
    )


def _defined(draws: FloatArray) -> Estimate:
    result = estimate(draws)
    assert result is not None  # errors of finite rows are always defined
    return result
