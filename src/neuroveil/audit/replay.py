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
        _length(each, order)
        for each, stage in zip(moved, first, strict=True)
        if stage.has_sensitivity
    ]
    by_rows = [each for each in moved if each.shape[0] == pair.first.shape[0]]
    others = [_length(np.delete(each, pair.row, axis=0), order) for each in by_rows]
    protected = [_length(each[pair.row], order) for each in by_rows]
    same_again = _same(first, again)
    return Movement(
        kind=pair.kind,
        total=max(bounded, default=0.0),
        others=max(others) if others else None,
        protected=protected[0] if protected else None,
        n_others=max((_n_moved(np.delete(each, pair.row, axis=0)) for each in by_rows), default=0),
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
    moved = [
        pipeline.replay(pair.first, each)[0].values - pipeline.replay(pair.second, each)[0].values
        for each in (seed, seed + 1)
    ]
    size = max(float(np.abs(each).max()) for each in moved)
    return bool(np.allclose(moved[0], moved[1], rtol=0, atol=1e-9 * (1 + size)))


def _length(values: FloatArray, order: int) -> float:
    return float(np.linalg.norm(values.ravel(), ord=order))


def _n_moved(values: FloatArray) -> int:
    return int((values != 0).any(axis=1).sum())
