"""The way from a feature table to released rows, replayed as it stands.

Scaling, projection, clipping, quantising, mechanism and post-processing are those of
:func:`neuroveil.privacy.simulate`, which shares every step with a release; only the source of
randomness is one that can be repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from neuroveil.audit.replay import Stage
from neuroveil.audit.subject import SubjectFacts
from neuroveil.audit.subjects.ours import law_of
from neuroveil.errors import ChainError
from neuroveil.privacy import ProtectSettings, simulate
from neuroveil.privacy.plan import plan_rows
from neuroveil.types.recording import FloatArray
from neuroveil.types.scaling import Scaling
from neuroveil.types.table import FeatureTable

_FARTHEST = 200.0  # spreads from the centre; a power of ten of more would overflow


@dataclass(frozen=True, eq=False)
class WholePipeline:
    """A study's way from features to released rows.

    Parameters
    ----------
    constants : Scaling
        Public constants: made-up tables are written in the units of its columns.
    settings : ProtectSettings
        Public settings of the release.
    scaling_of : callable
        Gives the constants that a table is scaled with: the public ones, or statistics of the
        table itself.
    takes_missing : bool
        Whether cells may be missing.

    Raises
    ------
    ChainError
        If no rows are released, or constants are drawn anew for each release.
    """

    constants: Scaling
    settings: ProtectSettings
    scaling_of: Callable[[FeatureTable], Scaling]
    takes_missing: bool = True

    def __post_init__(self) -> None:
        drawn = self.settings.scaling_budget is not None
        if self.settings.is_central or drawn:
            raise ChainError(
                "replay", "rows that are released each on its own",
                "statistics of all rows", "Audit the mechanism by name instead.",
            )  # fmt: skip

    @cached_property
    def facts(self) -> SubjectFacts:
        """What is claimed for one row, with the table's columns as its dimension."""
        settings = self.settings
        mechanism = plan_rows(settings, self.constants, 2).mechanism
        return SubjectFacts(
            name=f"{settings.mechanism}, from features to released rows",
            epsilon=settings.epsilon,
            delta=settings.delta,
            dimension=len(self.constants.columns),
            clip_norm=settings.clip_norm,
            norm=settings.norm,
            law=law_of(mechanism),
            repeatable=True,
        )

    def replay(self, rows: FloatArray, seed: int) -> tuple[Stage, ...]:
        """Write a table in feature units and simulate its release.

        Parameters
        ----------
        rows : ndarray of float64, shape (n_rows, n_features)
            The table on the scaled axis (no unit); NaN marks a missing cell.
        seed : int
            Names the draws.

        Returns
        -------
        tuple of Stage
            The released values, and the estimate that public rules make of them.
        """
        table = self.table_of(rows)
        draw = next(simulate(table, self.scaling_of(table), self.settings, seed))
        stages = [Stage("release", draw.values)]
        if draw.estimated is not None:
            stages.append(Stage("estimate", draw.estimated, has_sensitivity=False))
        return tuple(stages)

    def table_of(self, rows: FloatArray) -> FeatureTable:
        """Write made-up rows as a feature table.

        Parameters
        ----------
        rows : ndarray of float64, shape (n_rows, n_features)
            On the scaled axis (no unit).

        Returns
        -------
        FeatureTable
            Of people who do not exist, in the columns' units.
        """
        columns, n_rows = self.constants.columns, rows.shape[0]
        near = np.clip(rows, -_FARTHEST, _FARTHEST)
        values = self.constants.centre + self.constants.spread * near
        logarithmic = np.array([column.scale == "log10" for column in columns])
        values[:, logarithmic] = 10.0 ** values[:, logarithmic]
        return FeatureTable(
            patients=tuple(f"row {number}" for number in range(n_rows)),
            columns=columns,
            values=values,
            n_windows=np.ones(n_rows, dtype=np.int64),
            seconds=np.ones(n_rows),
        )
