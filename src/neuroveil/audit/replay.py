"""Tier 1, grey-box replay: the same draws on neighbouring tables, and everything that moves.

With the same randomness, two releases of neighbouring tables differ only by what the data do.
In a mechanism that treats every row on its own, nothing moves but the protected row, and that
row by no more than the sensitivity. One run shows scaling by statistics of the cohort, state
that is kept from one table to the next, and a sensitivity that is larger than claimed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from neuroveil.audit.mechanism.laws import AdditiveLaw
from neuroveil.audit.neighbours import Neighbours, neighbouring_tables
from neuroveil.audit.replay_result import Movement, Replayed, replay_result
from neuroveil.audit.subject import Subject, SubjectFacts
from neuroveil.errors import ChainError
from neuroveil.types.audit import AttackResult
from neuroveil.types.recording import FloatArray

Progress = Callable[[int, int], None]

_OF_A_STEP = 1e-6
_LARGEST_STEP = 0.05


@dataclass(frozen=True, eq=False)
class Stage:
    """What a pipeline gives at one place.

    Parameters
    ----------
    name : str
        Name for a reader, such as ``"release"`` or ``"estimate"``.
    values : ndarray of float64, shape (n_rows, n_values)
        One line a patient; one line in all where it is not made of rows (no unit).
    has_sensitivity : bool
        Whether the claimed sensitivity is about these values; post-processing changes the
        distances between them.
    """

    name: str
    values: FloatArray
    has_sensitivity: bool = True


class Replayable(Protocol):
    """A pipeline that can be run again with the same random draws."""

    @property
    def facts(self) -> SubjectFacts:
        """What is claimed."""
        ...

    @property
    def takes_missing(self) -> bool:
        """Whether cells of its table may be missing."""
        ...

    def replay(self, rows: FloatArray, seed: int) -> tuple[Stage, ...]:
        """Run the whole pipeline with recorded draws.

        Parameters
        ----------
        rows : ndarray of float64, shape (n_rows, dimension)
            The table, on the scaled axis (no unit); NaN marks a missing cell.
        seed : int
            Names the draws: the same seed gives the same draws, whatever the table.

        Returns
        -------
        tuple of Stage
            At least one.
        """
        ...


@dataclass(frozen=True)
class ReplayedSubject:
    """Any repeatable subject as a pipeline: its releases are the only stage.

    Parameters
    ----------
    subject : Subject
        Repeatable by a seed.
    takes_missing : bool
        Whether cells of its table may be missing.

    Raises
    ------
    ChainError
        If no seed makes the subject repeatable.
    """

    subject: Subject
    takes_missing: bool = False

    def __post_init__(self) -> None:
        if not self.subject.facts.repeatable:
            raise ChainError(
                "replay", "a subject that a seed makes repeatable", "one without a seed",
                "Let the function take a parameter 'seed', or leave the replay out.",
            )  # fmt: skip

    @property
    def facts(self) -> SubjectFacts:
        """What is claimed."""
        return self.subject.facts

    def replay(self, rows: FloatArray, seed: int) -> tuple[Stage, ...]:
        """Release the table once.

        Parameters
        ----------
        rows : ndarray of float64, shape (n_rows, dimension)
            The table (no unit).
        seed : int
            Names the draws.

        Returns
        -------
        tuple of Stage
            The release.
        """
        released = self.subject.run(rows, 1, seed)
        n_rows = rows.shape[0] if released.size == rows.size else 1
        return (Stage("release", released.reshape(n_rows, -1)),)


def audit_replay(
    pipeline: Replayable,
    n_rows: int = 17,
    n_rounds: int = 3,
    seed: int = 0,
    progress: Progress = lambda done, total: None,
) -> AttackResult:
    """Replay a pipeline on neighbouring tables with the same draws.

    Parameters
    ----------
    pipeline : Replayable
        What is audited.
    n_rows : int
        Rows of a table, at least 2.
    n_rounds : int
        How often every kind of neighbours is tried, each time with other rows and draws.
    seed : int
        Seed of tables and draws.
    progress : callable
        Called with (done, total) pairs.

    Returns
    -------
    AttackResult
        Violated where the release moves by more than the claimed sensitivity, or remembers an
        earlier table; weak where other rows move within it; not testable where the same draws
        do not give the same release.

    Raises
    ------
    ChainError
        If there are too few rows or rounds.
    """
    if n_rounds < 1:
        raise ChainError("replay", "at least one round", f"{n_rounds}", "Ask for more.")
    generator = np.random.default_rng(seed)
    pairs = [
        pair
        for _ in range(n_rounds)
        for pair in neighbouring_tables(
            pipeline.facts, n_rows, generator, with_missing=pipeline.takes_missing
        )
    ]
    movements: list[Movement] = []
    for number, pair in enumerate(pairs):
        movements.append(_replay_pair(pipeline, pair, seed + 2 * number))
        progress(number + 1, len(pairs))
    claimed = 2 * pipeline.facts.clip_norm
    replayed = Replayed(tuple(movements), claimed, n_rows, _is_additive(pipeline, pairs[0], seed))
    return replay_result(pipeline.facts, replayed)


def _replay_pair(pipeline: Replayable, pair: Neighbours, seed: int) -> Movement:
    first = pipeline.replay(pair.first, seed)
    second = pipeline.replay(pair.second, seed)
    again = pipeline.replay(pair.first, seed)
    order = 1 if pipeline.facts.norm == "l1" else 2
    moved = [one.values - other.values for one, other in zip(first, second, strict=True)]
    bounded = [
        max(0.0, _length(each, order) - _rounding(each, stage.values, pipeline.facts))
        for each, stage in zip(moved, first, strict=True)
        if stage.has_sensitivity
    ]
    by_rows = [each for each in moved if each.shape[0] == pair.first.shape[0]]
    places = [_protected_row(each, pair.row) for each in by_rows]
    rest = [np.delete(each, place, axis=0) for each, place in zip(by_rows, places, strict=True)]
    others = [_length(each, order) for each in rest]
    protected = [_length(each[place], order) for each, place in zip(by_rows, places, strict=True)]
    same_again = _same(first, again)
    return Movement(
        kind=pair.kind,
        total=max(bounded, default=0.0),
        others=max(others) if others else None,
        protected=protected[0] if protected else None,
        n_others=max((_n_moved(each) for each in rest), default=0),
        same_again=same_again,
        same_at_once=same_again or _is_repeatable(pipeline, pair.first, seed),
    )


def _is_repeatable(pipeline: Replayable, rows: FloatArray, seed: int) -> bool:
    """Whether the same draws give the same release, with no other table in between."""
    return _same(pipeline.replay(rows, seed), pipeline.replay(rows, seed))


def _same(one: tuple[Stage, ...], other: tuple[Stage, ...]) -> bool:
    return all(a.values.tobytes() == b.values.tobytes() for a, b in zip(one, other, strict=True))


def _is_additive(pipeline: Replayable, pair: Neighbours, seed: int) -> bool:
    """Whether noise is added: then a release moves by the same, whatever the draws are."""
    if isinstance(pipeline.facts.law, AdditiveLaw):
        return True
    released = [pipeline.replay(pair.first, each)[0].values for each in (seed, seed + 1)]
    moved = [
        values - pipeline.replay(pair.second, each)[0].values
        for values, each in zip(released, (seed, seed + 1), strict=True)
    ]
    size = max(float(np.abs(each).max()) for each in moved)
    steps = 2 * max(_step(values, pipeline.facts) for values in released)
    return bool(np.allclose(moved[0], moved[1], rtol=0, atol=1e-9 * (1 + size) + steps))


def _length(values: FloatArray, order: int) -> float:
    return float(np.linalg.norm(values.ravel(), ord=order))


def _rounding(moved: FloatArray, values: FloatArray, facts: SubjectFacts) -> float:
    """How far a release can have moved by rounding alone: each value that moved by one step."""
    moved_a_step = np.where(moved != 0, _step(values, facts), 0.0)
    return _length(moved_a_step, 1 if facts.norm == "l1" else 2)


def _step(values: FloatArray, facts: SubjectFacts) -> float:
    """Step that a release was rounded to, which costs no privacy; 0 where there is none.

    All values are multiples of it, and it is small beside the claimed sensitivity.
    """
    step = float(np.diff(np.unique(values)).min(initial=np.inf))
    if step > _LARGEST_STEP * 2 * facts.clip_norm:
        return 0.0
    multiples = values / step
    is_rounded = np.allclose(multiples, np.rint(multiples), rtol=0, atol=_OF_A_STEP)
    return step if is_rounded else 0.0


def _protected_row(moved: FloatArray, row: int) -> int:
    """Where the exchanged patient stands: the only row that moves, where rows are shuffled."""
    places = np.flatnonzero((moved != 0).any(axis=1))
    return int(places[0]) if places.size == 1 else row


def _n_moved(values: FloatArray) -> int:
    return int((values != 0).any(axis=1).sum())
