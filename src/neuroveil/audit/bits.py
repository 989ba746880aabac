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

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from neuroveil.audit.mechanism.estimators import (
    LEVEL,
    clopper_pearson,
    epsilon_bounds,
    epsilon_cap,
    verdict_level,
)
from neuroveil.audit.subject import Subject, SubjectFacts, check_releases
from neuroveil.errors import ChainError
from neuroveil.types.audit import AttackResult, AuditCurve, AuditFigure, Verdict
from neuroveil.types.recording import FloatArray

Exponents = npt.NDArray[np.int16]
Progress = Callable[[int, int], None]

ATTACK = "last_bits"
FEWEST_TRIALS = 1000
_ZERO = np.int16(2000)  # coarser than every bit that a double has
_VALUES_AT_ONCE = 1 << 20
_FEATURES = ("finest", "coarsest")


def lowest_bit(values: FloatArray) -> Exponents:
    """Give the exponent of the lowest bit that is set in each float.

    Parameters
    ----------
    values : ndarray of float64, any shape
        Finite.

    Returns
    -------
    ndarray of int16, same shape
        The largest k such that the value is a multiple of 2^k; 2000 for zero.
    """
    significand, exponent = np.frexp(values)
    integer = np.ldexp(significand, 53).astype(np.int64)
    trailing = np.frexp((integer & -integer).astype(np.float64))[1] - 1
    return np.where(values == 0, _ZERO, exponent - 53 + trailing).astype(np.int16)


@dataclass(frozen=True, eq=False)
class BitPair:
    """Two rows, and which columns they differ in.

    Parameters
    ----------
    name : str
        Name for a reader.
    first, second : ndarray of float64, shape (1, dimension)
        Neighbouring tables of one row (no unit).
    """

    name: str
    first: FloatArray
    second: FloatArray

    @property
    def columns(self) -> npt.NDArray[np.intp]:
        """Columns in which the rows differ; the others cannot tell anything."""
        return np.flatnonzero((self.first != self.second).any(axis=0))


def bit_pairs(facts: SubjectFacts) -> tuple[BitPair, ...]:
    """Give the pairs of rows whose last bits a careless mechanism shows.

    Parameters
    ----------
    facts : SubjectFacts
        Dimension and clipping norm.

    Returns
    -------
    tuple of BitPair
        Zeros against a 1 in one column (or a power of two inside the clipping norm), and zeros
        against a row at the clipping norm with equal columns.
    """
    zero = np.zeros((1, facts.dimension))
    one = zero.copy()
    one[0, 0] = min(1.0, 2.0 ** math.floor(math.log2(facts.clip_norm)))
    root = math.sqrt(facts.dimension) if facts.norm == "l2" else facts.dimension
    dense = np.full((1, facts.dimension), facts.clip_norm / root)
    pairs = [BitPair(f"zeros against {one[0, 0]:g} in one column", zero, one)]
    if (dense != one).any():
        pairs.append(BitPair(f"zeros against {dense[0, 0]:.3g} in every column", zero, dense))
    return tuple(pairs)


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

    def collect(row: FloatArray, pair: BitPair) -> _Sample:
        nonlocal done
        sample = _release(subject, row, pair.columns, n_trials, seeds)
        done += n_trials
        progress(done, total)
        return sample

    played = [
        _Played(pair, collect(pair.first, pair), collect(pair.second, pair)) for pair in pairs
    ]
    null = _Played(pairs[-1], played[-1].first, collect(pairs[-1].first, pairs[-1]))
    best = max((_find(each, facts.delta, level) for each in played), key=lambda event: event.worth)
    return _result(facts, _Found(best, _find(null, facts.delta, level), level, n_trials))


@dataclass(frozen=True, eq=False)
class _Sample:
    """Finest and coarsest last bit of each release, over the columns that matter."""

    exponents: dict[str, Exponents]

    def half(self, feature: str, *, held_out: bool) -> Exponents:
        both = self.exponents[feature]
        middle = len(both) // 2
        return both[middle:] if held_out else both[:middle]


@dataclass(frozen=True, eq=False)
class _Played:
    """Releases of both rows of a pair."""

    pair: BitPair
    first: _Sample
    second: _Sample


@dataclass(frozen=True, eq=False)
class _Event:
    """An event about last bits, found on one half, to be counted on the other."""

    played: _Played
    feature: str
    exponent: int
    below: bool  # whether it is the finer or the coarser side of the exponent
    of_first: bool  # whether it speaks for the first row
    worth: float

    def counts(self) -> tuple[int, int, int]:
        """How often it happens on the row it speaks for, on the other one, and of how many."""
        rows = (self.played.first, self.played.second)
        spoken, other = rows if self.of_first else rows[::-1]
        halves = [each.half(self.feature, held_out=True) for each in (spoken, other)]
        hits = [
            int(np.count_nonzero(half <= self.exponent if self.below else half > self.exponent))
            for half in halves
        ]
        return hits[0], hits[1], len(halves[0])

    def words(self) -> str:
        """The event for a reader."""
        which = "some value" if (self.feature == "finest") == self.below else "every value"
        kind = "is no multiple" if self.below else "is a multiple"
        columns = "" if len(self.played.pair.columns) == 1 else f"{which} in those columns "
        return f"{columns or 'the value '}{kind} of 2^{self.exponent + 1}"


@dataclass(frozen=True, eq=False)
class _Found:
    """The most telling event with its control."""

    event: _Event
    null: _Event
    level: float
    n_trials: int

    def bound(self, event: _Event, delta: float, level: float) -> float:
        hits, others, n = event.counts()
        return float(
            epsilon_bounds(
                np.array([float(hits)]), np.array([float(others)]), n, delta, self.level
            )[0]
        )


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
) -> _Sample:
    """Release one row many times and keep only what its last bits say."""
    dimension = row.shape[1]
    at_once = max(1, _VALUES_AT_ONCE // dimension)
    parts: dict[str, list[Exponents]] = {feature: [] for feature in _FEATURES}
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
    return _Sample({feature: np.concatenate(found) for feature, found in parts.items()})


def _find(played: _Played, delta: float, level: float) -> _Event:
    """Find the event that would certify most on the half that is not certified with."""
    best: _Event | None = None
    for feature in _FEATURES:
        first = played.first.half(feature, held_out=False)
        second = played.second.half(feature, held_out=False)
        exponents = np.unique(np.concatenate([first, second]))
        cumulative = [np.searchsorted(np.sort(half), exponents, "right").astype(np.float64)
                      for half in (first, second)]  # fmt: skip
        n = len(first)
        for below in (True, False):
            hits = cumulative if below else [n - counts for counts in cumulative]
            for of_first in (True, False):
                ours, theirs = hits if of_first else hits[::-1]
                worth = epsilon_bounds(ours, theirs, n, delta, level)
                place = int(worth.argmax())
                if best is None or worth[place] > best.worth:
                    best = _Event(played, feature, int(exponents[place]), below, of_first,
                                  float(worth[place]))  # fmt: skip
    assert best is not None  # there are features
    return best


def _result(facts: SubjectFacts, found: _Found) -> AttackResult:
    event, n_counted = found.event, found.n_trials - found.n_trials // 2
    bound, null = (found.bound(each, facts.delta, found.level) for each in (event, found.null))
    cap = epsilon_cap(n_counted, facts.delta, found.level)
    hits, others, n = event.counts()
    sure = verdict_level(found.level)
    verdict = _verdict(
        facts, found.bound(event, facts.delta, sure), epsilon_cap(n_counted, facts.delta, sure)
    )
    rows = ("zeros", "the other row") if event.of_first else ("the other row", "zeros")
    figures = (
        AuditFigure(
            "epsilon_lower_bound", "Lower bound of epsilon from last bits", bound, bound, math.inf,
            found.level, n_counted, control=null, control_low=null, control_high=math.inf,
        ),
        AuditFigure("epsilon_cap", "Largest bound that these trials could certify", cap, cap, cap,
                    found.level, n_counted),
        *(
            _share(name, f"Share of releases of {row} in which {event.words()}", count, n, found)
            for name, row, count in zip(("share", "share_other"), rows, (hits, others), strict=True)
        ),
    )  # fmt: skip
    return AttackResult(
        attack=ATTACK,
        title="Last bits",
        question="Do the last bits of released numbers tell which row was released?",
        target=facts.name,
        verdict=verdict,
        sentence=_sentence(facts, event, verdict, (bound, cap)),
        figures=figures,
        curves=(_curve(found),),
        limits=_limits(facts, cap),
        settings={
            "n_trials": found.n_trials, "level": found.level, "pair": event.played.pair.name,
            "event": event.words(), "delta": facts.delta,
        },
    )  # fmt: skip


def _verdict(facts: SubjectFacts, bound: float, cap: float) -> Verdict:
    if bound > facts.epsilon:
        return "violated"
    return "not_testable" if cap <= facts.epsilon else "no_attack_succeeded"


def _sentence(
    facts: SubjectFacts, event: _Event, verdict: Verdict, numbers: tuple[float, float]
) -> str:
    bound, cap = numbers
    if verdict == "violated":
        return (
            f"The last bits give the row away: {event.words()} is so much more frequent for one "
            f"row that epsilon is at least {bound:.2f}, where {facts.epsilon:g} is claimed."
        )
    if verdict == "not_testable":
        return (
            f"So many trials can certify an epsilon of at most {cap:.2f}, which is no more than "
            f"the claimed {facts.epsilon:g}: a leak through last bits would not be seen."
        )
    if bound > facts.epsilon:
        return (
            f"Last bits differ between two rows by what epsilon {bound:.2f} allows. That is more "
            f"than the claimed {facts.epsilon:g}, and chance explains it once in a thousand runs "
            "or more often: run it again with more trials."
        )
    if bound > 0:
        return (
            f"Last bits differ between two rows by what epsilon {bound:.2f} allows, within the "
            f"claimed {facts.epsilon:g}."
        )
    return "The last bits look alike whichever row is released."


def _limits(facts: SubjectFacts, cap: float) -> tuple[str, ...]:
    return (
        f"A bound above {cap:.2f} could not have been certified with so many trials.",
        "Only the lowest bit that is set was looked at, in one value or over all columns: a trace "
        "that lies in other bits, or in several values together, would not be seen here.",
        f"The event is chosen for delta = {facts.delta:g}; rarer events are part of the claim.",
    )


def _share(name: str, label: str, hits: int, n: int, found: _Found) -> AuditFigure:
    low, high = clopper_pearson(np.array([float(hits)]), n, found.level)
    return AuditFigure(name, label, hits / n, float(low[0]), float(high[0]), found.level, n)


def _curve(found: _Found) -> AuditCurve:
    """Difference of shares between both rows, bit by bit, with the control beside it."""
    event = found.event
    halves = [
        each.half(event.feature, held_out=True)
        for each in (event.played.first, event.played.second, found.null.played.first,
                     found.null.played.second)
    ]  # fmt: skip
    pooled = np.concatenate(halves[:2])
    pooled = pooled[pooled != _ZERO]
    if not pooled.size:
        pooled = np.zeros(1, dtype=np.int16)
    middle = event.exponent if event.exponent != _ZERO else int(np.median(pooled))
    bits = np.arange(max(int(pooled.min()), middle - 20), min(int(pooled.max()), middle + 20) + 1)
    shares = [np.searchsorted(np.sort(half), bits, "right") / len(half) for half in halves]
    difference = shares[0] - shares[1]
    spread = [np.sqrt(share * (1 - share) / len(half))
              for share, half in zip(shares[:2], halves[:2], strict=True)]  # fmt: skip
    band = 1.96 * np.hypot(*spread)
    return AuditCurve(
        "last_bits", "Difference between the two rows, bit by bit",
        "exponent k", "difference of the shares with a bit of 2^k or finer",
        _floats(bits), _floats(difference), _floats(difference - band),
        _floats(difference + band), _floats(shares[2] - shares[3]),
    )  # fmt: skip


def _floats(values: npt.NDArray[np.generic]) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
