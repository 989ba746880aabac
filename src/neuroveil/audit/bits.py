"""Bit-level audit: whether the last bits of released floats tell what was released.

Floats lie denser near zero. Noise that is drawn as a float and added to 1 gives a multiple of
2^-53, since that is what floats near 1 minus something are; added to 0 it keeps finer bits. So
one look at the last bit of one value can tell two rows apart for certain, however much noise
there is (Mironov 2012, "On significance of the least significant bits for differential
privacy"). Noise on a grid that does not depend on the row leaves no such trace.

The audit needs no knowledge of the mechanism. It releases a row of zeros against a row with a
1, and against a row with the same small value in every column. On one half of the releases it
looks for the event about last bits that tells most; on the other half it counts that one event
and turns the counts into a certified lower bound of epsilon.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from neuroveil.audit.bits_events import (
    FEATURES,
    BitPair,
    Exponents,
    Found,
    Played,
    Sample,
    bit_pairs,
    find_event,
    lowest_bit,
)
from neuroveil.audit.bits_result import bits_result
from neuroveil.audit.mechanism.estimators import LEVEL
from neuroveil.audit.subject import Subject, check_releases
from neuroveil.errors import ChainError
from neuroveil.types.audit import AttackResult
from neuroveil.types.recording import FloatArray

Progress = Callable[[int, int], None]

FEWEST_TRIALS = 1000
_VALUES_AT_ONCE = 1 << 20


def audit_bits(
    subject: Subject,
    n_trials: int,
    seed: int | None = None,
    level: float = LEVEL,
    progress: Progress = lambda done, total: None,
) -> AttackResult:
    """Look for an event about last bits that two rows should not differ in.

    Parameters
    ----------
    subject : Subject
        What is audited; its releases of one row have one value a column.
    n_trials : int
        Releases of each row, at least 1000: half to find the event, half to count it.
    seed : int, optional
        For a repeatable subject.
    level : float
        Confidence of the bound.
    progress : callable
        Called with (done, total) releases.

    Returns
    -------
    AttackResult
        With the certified lower bound of epsilon of the most telling event.

    Raises
    ------
    ChainError
        If there are too few trials, or the subject gives something else than one row.
    """
    if n_trials < FEWEST_TRIALS:
        raise ChainError(
            "bit-level audit", f"at least {FEWEST_TRIALS} trials", f"{n_trials}", "Ask for more."
        )
    facts = subject.facts
    seeds: Iterator[int | None] = iter(_seeds(seed))
    pairs = bit_pairs(facts)
    total, done = n_trials * (2 * len(pairs) + 1), 0

    def collect(row: FloatArray, pair: BitPair) -> Sample:
        nonlocal done
        sample = _release(subject, row, pair.columns, n_trials, seeds)
        done += n_trials
        progress(done, total)
        return sample

    played = [Played(pair, collect(pair.first, pair), collect(pair.second, pair)) for pair in pairs]
    null = Played(pairs[-1], played[-1].first, collect(pairs[-1].first, pairs[-1]))
    best = max(
        (find_event(each, facts.delta, level) for each in played), key=lambda event: event.worth
    )
    return bits_result(facts, Found(best, find_event(null, facts.delta, level), level, n_trials))


def _seeds(seed: int | None) -> Iterator[int | None]:
    """Another seed for every call of a repeatable subject, so that no two share noise."""
    if seed is None:
        while True:
            yield None
    generator = np.random.default_rng(seed)
    while True:
        yield int(generator.integers(1 << 62))


def _release(
    subject: Subject,
    row: FloatArray,
    columns: npt.NDArray[np.intp],
    n_trials: int,
    seeds: Iterator[int | None],
) -> Sample:
    """Release one row many times and keep only what its last bits say."""
    dimension = row.shape[1]
    at_once = max(1, _VALUES_AT_ONCE // dimension)
    parts: dict[str, list[Exponents]] = {feature: [] for feature in FEATURES}
    for start in range(0, n_trials, at_once):
        n_now = min(at_once, n_trials - start)
        values = check_releases(subject.run(row, n_now, next(seeds)), n_now)
        if values.shape[1] != dimension:
            raise ChainError(
                "subject", f"{dimension} values for a row", f"{values.shape[1]}",
                "The bit-level audit compares a released row with the row that went in.",
            )  # fmt: skip
        exponents = lowest_bit(values[:, columns])
        parts["finest"].append(exponents.min(axis=1))
        parts["coarsest"].append(exponents.max(axis=1))
    return Sample({feature: np.concatenate(found) for feature, found in parts.items()})
