"""Where a person's own row stands among all candidates, with ties counted as they fall."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuroveil.privacy.bounds import IntArray
from neuroveil.types.recording import FloatArray


@dataclass(frozen=True, eq=False)
class Standing:
    """Where the right candidate of each released row stands.

    Parameters
    ----------
    better, equal : ndarray of int64, shape (n_released,)
        Other candidates with a higher score, and with the same one.
    """

    better: IntArray
    equal: IntArray

    def within(self, rank: int) -> FloatArray:
        """Give the chance that the right candidate is among the first ones.

        Parameters
        ----------
        rank : int
            How many candidates are looked at, at least 1.

        Returns
        -------
        ndarray of float64, shape (n_released,)
            Chances where candidates of equal score come in random order.
        """
        chance: FloatArray = np.clip((rank - self.better) / (self.equal + 1), 0.0, 1.0)
        return chance


def standing(scores: FloatArray, mates: IntArray) -> Standing:
    """Find out where right candidates stand.

    Parameters
    ----------
    scores : ndarray of float64, shape (n_released, n_candidates)
        Higher is likelier.
    mates : ndarray of int64, shape (n_released,)
        The right candidate of each released row.

    Returns
    -------
    Standing
        One entry a released row.
    """
    own = np.take_along_axis(scores, mates[:, None], axis=1)
    return Standing((scores > own).sum(axis=1), (scores == own).sum(axis=1) - 1)


def assign(scores: FloatArray, generator: np.random.Generator) -> IntArray:
    """Give every released row a candidate of its own, so that the total score is largest.

    Candidates are put in random order first: between equal scores the order of a table, in
    which truth and candidates agree, must not decide.

    Parameters
    ----------
    scores : ndarray of float64, shape (n_released, n_candidates)
        Higher is likelier.
    generator : numpy.random.Generator
        Source of the order.

    Returns
    -------
    ndarray of int64, shape (n_released,)
        Candidate of each released row; -1 where candidates have run out.
    """
    from scipy.optimize import linear_sum_assignment

    n_released, n_candidates = scores.shape
    rows, columns = generator.permutation(n_released), generator.permutation(n_candidates)
    chosen_rows, chosen = linear_sum_assignment(scores[np.ix_(rows, columns)], maximize=True)
    assigned = np.full(n_released, -1, dtype=np.int64)
    assigned[rows[chosen_rows]] = columns[chosen]
    return assigned


@dataclass(frozen=True, eq=False)
class OpenSet:
    """Identification where a released row may belong to nobody among the candidates.

    Parameters
    ----------
    best : ndarray of float64, shape (n_released,)
        Highest score over the candidates.
    is_right : ndarray of float64, shape (n_released,)
        Chance that the best candidate is the right one.
    is_enrolled : ndarray of bool, shape (n_released,)
        Whether the right one is among the candidates.
    """

    best: FloatArray
    is_right: FloatArray
    is_enrolled: np.ndarray

    def miss_rate(self, false_positive: float, weights: FloatArray) -> tuple[float, float]:
        """Give the false negative identification rate at a false positive one.

        Parameters
        ----------
        false_positive : float
            Allowed share of rows of people who are no candidates and are identified anyway.
        weights : ndarray of float64, shape (n_released,)
            How often each released row counts.

        Returns
        -------
        missed, realised : float
            Share of rows of candidates that are not identified, or as somebody else; and the
            false positive rate that the threshold really has. Not a number where one of the
            two groups is empty.
        """
        outside = ~self.is_enrolled
        impostors, their_weights = self.best[outside], weights[outside]
        total, enrolled = their_weights.sum(), weights[self.is_enrolled].sum()
        if total == 0 or enrolled == 0:
            return float("nan"), float("nan")
        threshold, realised = _threshold(impostors, their_weights / total, false_positive)
        found = self.is_right * (self.best >= threshold) * self.is_enrolled
        return 1 - float(found @ weights) / float(enrolled), realised


def open_set(scores: FloatArray, mates: IntArray, enrolled: np.ndarray) -> OpenSet:
    """Leave some people out of the candidates, and identify all released rows.

    Parameters
    ----------
    scores : ndarray of float64, shape (n_released, n_candidates)
        Higher is likelier; comparable between released rows.
    mates : ndarray of int64, shape (n_released,)
        The right candidate of each released row, -1 for none.
    enrolled : ndarray of bool, shape (n_candidates,)
        Which candidates are left; at least one.

    Returns
    -------
    OpenSet
        One entry a released row.
    """
    kept = np.where(enrolled[None, :], scores, -np.inf)
    best = kept.max(axis=1)
    is_enrolled = (mates >= 0) & enrolled[mates]
    own = np.take_along_axis(kept, np.maximum(mates, 0)[:, None], axis=1)[:, 0]
    ties = (kept == best[:, None]).sum(axis=1)
    return OpenSet(best, np.where(is_enrolled & (own == best), 1 / ties, 0.0), is_enrolled)


def _threshold(scores: FloatArray, shares: FloatArray, allowed: float) -> tuple[float, float]:
    """The lowest threshold that at most the allowed share reaches, and that share."""
    if allowed >= 1:
        return -float("inf"), 1.0
    levels, place = np.unique(scores, return_inverse=True)
    counts = np.bincount(place, shares, levels.size)
    beyond = np.append(np.cumsum(counts[::-1])[::-1][1:], 0.0)  # strictly above each level
    first = int(np.argmax(beyond <= allowed + 1e-12))
    return float(np.nextafter(levels[first], np.inf)), float(beyond[first])
