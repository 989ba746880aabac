"""Fresh draws of a table, linked row by row: what the figures of linkage are made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from neuroveil.audit.table.effort import Effort, Progress
from neuroveil.audit.table.frame import AuditFrame, Target
from neuroveil.audit.table.ranks import OpenSet, Standing, assign, open_set, standing
from neuroveil.errors import RecordingError
from neuroveil.privacy.bounds import IntArray
from neuroveil.types.recording import FloatArray

LARGEST_ASSIGNMENT = 3000
"""Beyond so many people the best assignment takes too long, and is left out."""


@dataclass(frozen=True, eq=False)
class Links:
    """What came of linking fresh draws of a table; every draw has all patients.

    Parameters
    ----------
    patients : ndarray of int64, shape (n_links,)
        Patient behind each released row that has a mate among the candidates.
    standing : Standing
        Where the mate stands, shape (n_links,).
    control : Standing
        Where somebody stands who was named at random, shape (n_links,).
    assigned : ndarray of float64, shape (n_links,)
        1 where the best assignment found the mate; not a number where there are too many
        candidates for one.
    open : OpenSet
        With half of the candidates left out, for all released rows.
    open_patients : ndarray of int64, shape (n_released,)
        Patient behind each of these rows.
    n_patients, n_candidates : int
        People behind released rows, and in the reference.
    """

    patients: IntArray
    standing: Standing
    control: Standing
    assigned: FloatArray
    open: OpenSet
    open_patients: IntArray
    n_patients: int
    n_candidates: int

    @property
    def chance(self) -> float:
        """Hit rate of guessing."""
        return 1 / self.n_candidates

    @cached_property
    def people(self) -> IntArray:
        """Patients who have a mate, shape (n_mated,)."""
        return np.unique(self.patients)

    def by_patient(self, hits: FloatArray) -> FloatArray:
        """Average hits over the draws of each patient.

        Parameters
        ----------
        hits : ndarray of float64, shape (n_links,)
            Chance of a hit for each link.

        Returns
        -------
        ndarray of float64, shape (n_mated,)
            Hit rate by patient.
        """
        totals = np.bincount(self.patients, hits, self.n_patients)
        counts = np.bincount(self.patients, minlength=self.n_patients)
        return np.asarray(totals[self.people] / counts[self.people])


def link(
    frame: AuditFrame, target: Target, effort: Effort, progress: Progress | None = None
) -> Links:
    """Draw the table anew, many times, and link every row.

    Parameters
    ----------
    frame : AuditFrame
        The table, and the other session where there is one.
    target : Target
        What is attacked.
    effort : Effort
        How long it may take.
    progress : callable, optional
        Called with (done, total).

    Returns
    -------
    Links
        Over all draws.

    Raises
    ------
    RecordingError
        If no patient of the table is in the other session.
    """
    candidates, mates, n = target.reference_candidates, frame.mates, frame.n_patients
    if not (mates >= 0).any():
        raise RecordingError(
            "reference", "at least one patient of the table", "none of them",
            "Name a feature table of the same people, with the same roster keys.",
        )  # fmt: skip
    cells = n * max(target.row_channel.cells_a_row, candidates.n_rows * target.channel.dimension)
    n_draws = effort.draws(-(-effort.n_links // n), cells)
    source, choices = effort.source("linkage"), effort.generator("linkage")
    draws = []
    for done in range(1, n_draws + 1):
        released = target.candidates.draw(np.arange(n), source)
        scores = candidates.all(released) - target.row_channel.unknown(released)[:, None]
        draws.append(_link_draw(scores, mates, choices))
        if progress is not None:
            progress(done, n_draws)
    return _together(draws, mates, candidates.n_rows)


@dataclass(frozen=True, eq=False)
class _Draw:
    standing: Standing
    control: Standing
    assigned: FloatArray
    open: OpenSet


def _link_draw(scores: FloatArray, mates: IntArray, choices: np.random.Generator) -> _Draw:
    n_candidates = scores.shape[1]
    mated = np.flatnonzero(mates >= 0)
    own = mates[mated]
    named = choices.integers(0, n_candidates, size=own.size)
    enrolled = np.zeros(n_candidates, dtype=np.bool_)
    enrolled[choices.permutation(n_candidates)[: max(1, n_candidates // 2)]] = True
    return _Draw(
        standing(scores[mated], own),
        standing(scores[mated], named),
        _assigned(scores, mated, own, choices),
        open_set(scores, mates, enrolled),
    )


def _assigned(
    scores: FloatArray, mated: IntArray, own: IntArray, choices: np.random.Generator
) -> FloatArray:
    if max(scores.shape) > LARGEST_ASSIGNMENT:
        return np.full(own.size, np.nan)
    return np.asarray(assign(scores, choices)[mated] == own, dtype=np.float64)


def _together(draws: list[_Draw], mates: IntArray, n_candidates: int) -> Links:
    mated, n = np.flatnonzero(mates >= 0), mates.size

    def joined(of: list[Standing]) -> Standing:
        return Standing(
            np.concatenate([each.better for each in of]),
            np.concatenate([each.equal for each in of]),
        )

    return Links(
        patients=np.tile(mated, len(draws)),
        standing=joined([draw.standing for draw in draws]),
        control=joined([draw.control for draw in draws]),
        assigned=np.concatenate([draw.assigned for draw in draws]),
        open=OpenSet(
            np.concatenate([draw.open.best for draw in draws]),
            np.concatenate([draw.open.is_right for draw in draws]),
            np.concatenate([draw.open.is_enrolled for draw in draws]),
        ),
        open_patients=np.tile(np.arange(n), len(draws)),
        n_patients=n,
        n_candidates=n_candidates,
    )
