"""Pairs of lists that are too long to be compared in one go.

Blocking pays where strangers look unlike, and is given up where it does not: hardening by
``diffusion`` makes strangers agree in half of their bits, so that it takes more tables than
comparing everybody costs. Either way finished parts are kept.
"""

from __future__ import annotations

from pathlib import Path

from neuroveil.errors import LinkageError
from neuroveil.linkage.blocking import Progress, blocked_pairs, plan_blocking
from neuroveil.linkage.bloom import BitArray
from neuroveil.linkage.dice import ScoredPairs, joined, pairs_from, require_comparable
from neuroveil.linkage.finished_tables import FinishedTables

PAIRS_A_STRIPE = 2_000_000_000
"""Pairs that are compared between two looks at the clock: some forty seconds on one core."""

_COST_OF_A_BIT = 0.019 / 1024  # microseconds a pair; measured by benchmarks/linkage.py


def pairs_of_long_lists(
    left: BitArray,
    right: BitArray,
    lowest: float,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> ScoredPairs:
    """Find all pairs that are at least so much alike, by blocking where that is less work.

    Parameters
    ----------
    left, right : ndarray of uint8, shape (n_records, n_bytes)
        Packed bits.
    lowest : float
        Lowest Dice similarity of interest, between 0 and 1.
    folder : Path, optional
        Where finished parts are kept, so that an interrupted run goes on where it stopped.
    progress : callable, optional
        Called with (parts done, parts).

    Returns
    -------
    ScoredPairs
        By row of the left list, then of the right list: all of them, or by blocking 99 % of
        those that are just so much alike.

    Raises
    ------
    LinkageError
        If the encodings cannot be compared, or the folder holds another run's parts.
    """
    require_comparable(left, right)
    everybody = _COST_OF_A_BIT * 8 * left.shape[1] * len(left) * len(right)
    try:
        plan = plan_blocking(left, right, lowest)
    except LinkageError:  # it would take more tables than are of any use
        return _in_stripes(left, right, lowest, folder, progress)
    if plan.work >= everybody:
        return _in_stripes(left, right, lowest, folder, progress)
    return blocked_pairs(left, right, plan, folder, progress)


def _in_stripes(
    left: BitArray, right: BitArray, lowest: float, folder: Path | None, progress: Progress | None
) -> ScoredPairs:
    """Compare everybody, some rows of the left list at a time."""
    n_rows = max(1, PAIRS_A_STRIPE // max(1, len(right)))
    about = {"all_pairs_from": lowest, "rows": n_rows}
    finished = FinishedTables(folder, about, (left, right))
    starts = range(0, len(left), n_rows)
    found = []
    for number, start in enumerate(starts):
        part = finished.read(number)
        if part is None:
            part = pairs_from(left[start : start + n_rows], right, lowest)
            part = ScoredPairs(part.left + start, part.right, part.scores)
            finished.keep(number, part)
        found.append(part)
        if progress is not None:
            progress(number + 1, len(starts))
    return joined(found)
