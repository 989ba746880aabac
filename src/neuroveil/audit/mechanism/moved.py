"""Whole tables as canaries, where a replay moves them farther than one row can go.

A pipeline that scales by statistics of the cohort hides nothing worse for a single row. For that,
a patient has to move the others: pairs of tables are replayed with the same draws, and the pair
that moves farthest is handed to the black box together with the way it moves.
"""

from __future__ import annotations

import numpy as np

from neuroveil.audit.mechanism.canaries import CanaryPair
from neuroveil.audit.mechanism.promises import row_bound
from neuroveil.audit.neighbours import Neighbours, neighbouring_tables
from neuroveil.audit.subject import Subject
from neuroveil.types.recording import FloatArray

_ROUNDING = 1e-9


def moved_pairs(subject: Subject, n_rows: int, seed: int = 0) -> tuple[CanaryPair, ...]:
    """Find the pair of tables that moves a release farther than two rows are apart.

    Parameters
    ----------
    subject : Subject
        What is audited.
    n_rows : int
        Rows of a table, at least 2.
    seed : int
        Of tables and draws.

    Returns
    -------
    tuple of CanaryPair
        One pair with its displacement; none where a seed repeats nothing, where the noise is not
        added, or where no release moves farther than rows inside the clipping norm can.
    """
    facts = subject.facts
    if not facts.repeatable:
        return ()
    generator = np.random.default_rng(seed)
    limit = 2 * row_bound(facts).l2 * (1 + _ROUNDING)
    farthest: CanaryPair | None = None
    for pair in neighbouring_tables(facts, n_rows, generator, with_missing=False):
        moved = _displacement(subject, pair, seed)
        length = float(np.linalg.norm(moved))
        if length > limit and np.allclose(
            moved, _displacement(subject, pair, seed + 1), rtol=0, atol=_ROUNDING * length
        ):
            limit = length
            farthest = CanaryPair(f"whole tables: {pair.kind}", pair.first, pair.second, moved)
    return () if farthest is None else (farthest,)


def _displacement(subject: Subject, pair: Neighbours, seed: int) -> FloatArray:
    """How the release moves from the second table to the first, with the same draws."""
    displacement: FloatArray = (
        subject.run(pair.first, 1, seed)[0] - subject.run(pair.second, 1, seed)[0]
    )
    return displacement
