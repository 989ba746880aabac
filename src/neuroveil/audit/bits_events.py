"""Events about the last bits of floats: found on one half of the releases, counted on the other."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from neuroveil.audit.mechanism.estimators import epsilon_bounds
from neuroveil.audit.subject import SubjectFacts
from neuroveil.types.recording import FloatArray

Exponents = npt.NDArray[np.int16]

ZERO = np.int16(2000)
"""Stands for the lowest bit of 0: coarser than every bit that a double has."""

FEATURES = ("finest", "coarsest")
"""What is looked at in a release of several columns."""


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
    return np.where(values == 0, ZERO, exponent - 53 + trailing).astype(np.int16)


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


@dataclass(frozen=True, eq=False)
class Sample:
    """Finest and coarsest last bit of each release, over the columns that matter.

    Parameters
    ----------
    exponents : dict of str to ndarray of int16, shape (n_trials,)
        By name of the feature.
    """

    exponents: dict[str, Exponents]

    def half(self, feature: str, *, held_out: bool) -> Exponents:
        """Give one half of the releases.

        Parameters
        ----------
        feature : str
            One of :data:`FEATURES`.
        held_out : bool
            Whether it is the half that events are counted on, or the one they are found on.

        Returns
        -------
        ndarray of int16, shape (n_trials / 2,)
            Exponents of last bits.
        """
        both = self.exponents[feature]
        middle = len(both) // 2
        return both[middle:] if held_out else both[:middle]


@dataclass(frozen=True, eq=False)
class Played:
    """Releases of both rows of a pair.

    Parameters
    ----------
    pair : BitPair
        The two rows.
    first, second : Sample
        Last bits of their releases.
    """

    pair: BitPair
    first: Sample
    second: Sample


@dataclass(frozen=True, eq=False)
class Event:
    """An event about last bits, found on one half, to be counted on the other.

    Parameters
    ----------
    played : Played
        Where it was found.
    feature : str
        One of :data:`FEATURES`.
    exponent : int
        Exponent of the bit where it ends.
    below : bool
        Whether it is the finer side of that exponent, or the coarser one.
    of_first : bool
        Whether it speaks for the first row.
    worth : float
        Lower bound of epsilon on the half that it was found on (no unit).
    """

    played: Played
    feature: str
    exponent: int
    below: bool
    of_first: bool
    worth: float

    def counts(self) -> tuple[int, int, int]:
        """Count the event on the half that it was not found on.

        Returns
        -------
        hits, others : int
            How often it happens on the row that it speaks for, and on the other one.
        n : int
            Of how many releases of each.
        """
        rows = (self.played.first, self.played.second)
        spoken, other = rows if self.of_first else rows[::-1]
        halves = [each.half(self.feature, held_out=True) for each in (spoken, other)]
        hits = [
            int(np.count_nonzero(half <= self.exponent if self.below else half > self.exponent))
            for half in halves
        ]
        return hits[0], hits[1], len(halves[0])

    def words(self) -> str:
        """Say what the event is, for a reader.

        Returns
        -------
        str
            Such as ``"the value is no multiple of 2^-53"``.
        """
        which = "some value" if (self.feature == "finest") == self.below else "every value"
        kind = "is no multiple" if self.below else "is a multiple"
        columns = "" if len(self.played.pair.columns) == 1 else f"{which} in those columns "
        return f"{columns or 'the value '}{kind} of 2^{self.exponent + 1}"


@dataclass(frozen=True, eq=False)
class Found:
    """The most telling event with its control.

    Parameters
    ----------
    event, null : Event
        Of the two rows, and of one row twice.
    level : float
        Confidence of a bound.
    n_trials : int
        Releases of each row.
    """

    event: Event
    null: Event
    level: float
    n_trials: int

    def bound(self, event: Event, delta: float, level: float) -> float:
        """Certify a lower bound of epsilon with the half that an event was not found on.

        Parameters
        ----------
        event : Event
            The event.
        delta : float
            Delta of the claim.
        level : float
            Confidence of the bound.

        Returns
        -------
        float
            Lower bound (no unit), at least 0.
        """
        hits, others, n = event.counts()
        return float(
            epsilon_bounds(np.array([float(hits)]), np.array([float(others)]), n, delta, level)[0]
        )


def find_event(played: Played, delta: float, level: float) -> Event:
    """Find the event that would certify most, on the half that is not certified with.

    Parameters
    ----------
    played : Played
        Releases of both rows.
    delta : float
        Delta of the claim.
    level : float
        Confidence of a bound.

    Returns
    -------
    Event
        To be counted on the other half.
    """
    best: Event | None = None
    for feature in FEATURES:
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
                    best = Event(played, feature, int(exponents[place]), below, of_first,
                                  float(worth[place]))  # fmt: skip
    assert best is not None  # there are features
    return best
