"""The games of membership: one row known, one row among all, or sums of all rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from neuroveil.audit.table.channels import Candidates, Channel, block_size
from neuroveil.audit.table.frame import Target, far_rows
from neuroveil.audit.table.moments import MomentsChannel, MomentsOfTable
from neuroveil.privacy.bounds import IntArray
from neuroveil.privacy.randomness import RandomSource
from neuroveil.types.recording import FloatArray

_BATCH_CELLS = 1 << 20
_DRAWING = 20
"""Drawing noise in a cell costs as much as comparing that many cells."""


@dataclass(frozen=True)
class Kind:
    """Which game is played.

    Parameters
    ----------
    substitute : {"another", "farthest"}
        Who takes the patient's place: another patient of the table, or the row that is
        farthest from the patient's within the clipping norm.
    row_known : bool
        Whether it is known which released row would be the patient's.
    """

    substitute: Literal["another", "farthest"]
    row_known: bool


class MembershipGame(Protocol):
    """One kind of game on one target."""

    @property
    def cells_a_trial(self) -> int:
        """Cells that one trial looks at."""
        ...

    def scores(
        self,
        patients: IntArray,
        which: IntArray,
        is_member: bool,
        source: RandomSource,
    ) -> FloatArray:
        """Draw one release a trial and score it.

        Parameters
        ----------
        patients : ndarray of int64, shape (n_trials,)
            The patient of each trial.
        which : ndarray of int64, shape (n_trials,)
            The substitute of each trial.
        is_member : bool
            Whether the patient is in the table, or the substitute.
        source : RandomSource
            Noise of the releases.

        Returns
        -------
        ndarray of float64, shape (n_trials,)
            Log-likelihood ratio of patient to substitute (nat).
        """
        ...


def make_game(target: Target, kind: Kind) -> MembershipGame:
    """Set up a game.

    Parameters
    ----------
    target : Target
        What is attacked.
    kind : Kind
        Which game.

    Returns
    -------
    MembershipGame
        Ready to be played.
    """
    farthest = kind.substitute == "farthest"
    if isinstance(target.channel, MomentsChannel):
        table = target.channel.game(target.rows)
        far = target.channel.mechanism.bound(far_rows(target)) if farthest else None
        return SumsGame(table, far)
    substitutes = target.far_candidates if farthest else None
    if kind.row_known:
        return RowGame(target.channel, target.candidates, substitutes)
    return BatchGame(target.channel, target.candidates, substitutes)


@dataclass(frozen=True, eq=False)
class RowGame:
    """One released row, known to be the patient's or the substitute's.

    Parameters
    ----------
    channel : Channel
        The public mechanism.
    candidates : Candidates
        Rows of the table.
    substitutes : Candidates, optional
        One substitute a patient; other patients of the table by default.
    """

    channel: Channel
    candidates: Candidates
    substitutes: Candidates | None = None

    @property
    def cells_a_trial(self) -> int:
        """Cells that one trial looks at."""
        return _DRAWING * self.channel.cells_a_row

    def scores(
        self,
        patients: IntArray,
        which: IntArray,
        is_member: bool,
        source: RandomSource,
    ) -> FloatArray:
        """Draw one released row a trial and score it.

        Parameters
        ----------
        patients : ndarray of int64, shape (n_trials,)
            The patient of each trial.
        which : ndarray of int64, shape (n_trials,)
            The substitute of each trial.
        is_member : bool
            Whether the row is the patient's.
        source : RandomSource
            Noise of the releases.

        Returns
        -------
        ndarray of float64, shape (n_trials,)
            Log-likelihood ratio of patient to substitute (nat).
        """
        others = self.candidates if self.substitutes is None else self.substitutes
        scores = np.empty(patients.size)
        block = block_size(self.channel.cells_a_row)
        for start in range(0, patients.size, block):
            part = slice(start, start + block)
            drawn = (
                self.candidates.draw(patients[part], source)
                if is_member
                else others.draw(which[part], source)
            )
            scores[part] = self.candidates.each(drawn, patients[part]) - others.each(
                drawn, which[part]
            )
        return scores


@dataclass(frozen=True, eq=False)
class BatchGame:
    """All rows in random order: nobody knows which one would be the patient's.

    With the other rows taken as draws from the public law of somebody unknown, the likelihood
    of the whole batch is a mixture over the row that is the patient's. The ratio of two such
    mixtures is exact under that law, and a valid score whatever the other rows are.

    Parameters
    ----------
    channel : Channel
        The public mechanism.
    candidates : Candidates
        Rows of the table.
    substitutes : Candidates, optional
        One substitute a patient; other patients of the table by default.
    """

    channel: Channel
    candidates: Candidates
    substitutes: Candidates | None = None

    @property
    def cells_a_trial(self) -> int:
        """Cells that one trial looks at."""
        return _DRAWING * self.candidates.n_rows * self.channel.cells_a_row

    def scores(
        self,
        patients: IntArray,
        which: IntArray,
        is_member: bool,
        source: RandomSource,
    ) -> FloatArray:
        """Draw a whole table a trial and score the batch.

        Parameters
        ----------
        patients : ndarray of int64, shape (n_trials,)
            The patient of each trial.
        which : ndarray of int64, shape (n_trials,)
            The substitute of each trial.
        is_member : bool
            Whether the patient's row is in the batch.
        source : RandomSource
            Noise of the releases.

        Returns
        -------
        ndarray of float64, shape (n_trials,)
            Log-likelihood ratio of patient to substitute (nat).
        """
        others = self.candidates if self.substitutes is None else self.substitutes
        cells = self.candidates.n_rows * self.channel.cells_a_row
        block = max(1, _BATCH_CELLS // cells)
        parts = [slice(start, start + block) for start in range(0, patients.size, block)]
        scores = [
            self._block(others, (patients[part], which[part]), is_member, source) for part in parts
        ]
        return np.concatenate(scores)

    def _block(
        self,
        others: Candidates,
        pair: tuple[IntArray, IntArray],
        is_member: bool,
        source: RandomSource,
    ) -> FloatArray:
        patients, which = pair
        n, trials = self.candidates.n_rows, np.arange(patients.size)
        table = self.candidates.draw(np.tile(np.arange(n), patients.size), source)
        nobody = self.channel.unknown(table)
        for_patient = self.candidates.each(table, np.repeat(patients, n)) - nobody
        for_other = others.each(table, np.repeat(which, n)) - nobody
        for_patient, for_other = for_patient.reshape(-1, n), for_other.reshape(-1, n)
        if not is_member:  # the substitute's released row stands where the patient's stood
            joined = others.draw(which, source)
            nobody = self.channel.unknown(joined)
            for_patient[trials, patients] = self.candidates.each(joined, patients) - nobody
            for_other[trials, patients] = others.each(joined, which) - nobody
        difference: FloatArray = np.logaddexp.reduce(for_patient, axis=1) - np.logaddexp.reduce(
            for_other, axis=1
        )
        return difference


@dataclass(frozen=True, eq=False)
class SumsGame:
    """Noisy sums of all rows, the other rows being known.

    Parameters
    ----------
    table : MomentsOfTable
        The table.
    substitutes : ndarray of int64, shape (n_patients, n_features), optional
        Bounded substitutes; other patients of the table by default.
    """

    table: MomentsOfTable
    substitutes: IntArray | None = None

    @property
    def cells_a_trial(self) -> int:
        """Cells that one trial looks at."""
        return self.table.channel.cells_a_draw

    def scores(
        self,
        patients: IntArray,
        which: IntArray,
        is_member: bool,
        source: RandomSource,
    ) -> FloatArray:
        """Draw noisy sums a trial and score them.

        Parameters
        ----------
        patients : ndarray of int64, shape (n_trials,)
            The patient of each trial.
        which : ndarray of int64, shape (n_trials,)
            The substitute of each trial.
        is_member : bool
            Whether the patient's row is in the sums.
        source : RandomSource
            Noise of the releases.

        Returns
        -------
        ndarray of float64, shape (n_trials,)
            Log-likelihood ratio of patient to substitute (nat).
        """
        rows = self.table.rows_int
        others = rows if self.substitutes is None else self.substitutes
        scores = []
        for patient, row in zip(patients.tolist(), others[which], strict=True):
            joining = rows[patient] if is_member else row
            sums = self.table.release(patient, joining, source)
            scores.append(self.table.log_ratio(sums, patient, row))
        return np.array(scores)


def other_patients(patients: IntArray, n: int, choices: np.random.Generator) -> IntArray:
    """Choose somebody else for each patient.

    Parameters
    ----------
    patients : ndarray of int64, shape (n_trials,)
        Numbers below ``n``.
    n : int
        Number of patients, at least 2.
    choices : numpy.random.Generator
        Source of the choice.

    Returns
    -------
    ndarray of int64, shape (n_trials,)
        Uniform over the other numbers.
    """
    return (patients + choices.integers(1, n, size=patients.size)) % n
