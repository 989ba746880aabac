"""Areas under the curve without the bias of pooled predictions.

Every fold has a model of its own, and one model's 0.4 may be another one's 0.6. Worse, a
left-out positive patient lowers the share of positives that the model learns from, so pooled
leave-one-out predictions rank positives too low: with rows of pure noise the pooled area lies
below one half. So only patients of the same fold are compared with each other, and the folds
are dealt anew in every round (Airola et al. 2011; Parker, Günter and Bedo 2007).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neuroveil.evaluate.downstream.folds import Folds
from neuroveil.evaluate.downstream.intervals import student
from neuroveil.evaluate.downstream.scores import Labels
from neuroveil.types.downstream import Difference
from neuroveil.types.recording import FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Ranking:
    """How one round ranks patients. Private.

    Parameters
    ----------
    auc : float
        Share of pairs of a positive and a negative patient of the same fold that are ranked
        right; a tie counts half.
    placements : ndarray of float64, shape (n,)
        The same for the pairs of each patient alone.
    """

    auc: float
    placements: FloatArray


def rank_within_folds(probabilities: FloatArray, folds: Folds, labels: Labels) -> Ranking:
    """Compare every positive patient with every negative one of the same fold.

    Parameters
    ----------
    probabilities : ndarray of float64, shape (n,)
        Probability of the positive class.
    folds : ndarray of int64, shape (n,)
        In which fold each patient was judged; both classes in every fold.
    labels : ndarray of bool, shape (n,)
        True for the positive class.

    Returns
    -------
    Ranking
        Area and placements.
    """
    from scipy.stats import rankdata

    placements = np.empty(labels.size)
    right = pairs = 0.0
    for fold in range(int(folds.max()) + 1):
        ups, downs = (
            np.flatnonzero((folds == fold) & labels),
            np.flatnonzero((folds == fold) & ~labels),
        )
        both = np.concatenate([ups, downs])
        among_all = rankdata(probabilities[both])
        above = among_all[: ups.size] - rankdata(probabilities[ups])
        below = among_all[ups.size :] - rankdata(probabilities[downs])
        placements[ups] = above / downs.size
        placements[downs] = 1 - below / ups.size
        right += float(above.sum())
        pairs += ups.size * downs.size
    return Ranking(right / pairs, placements)


def paired_difference(
    shared: Sequence[Ranking], unprotected: Sequence[Ranking], labels: Labels
) -> Difference:
    """Compare two areas over the same patients, folds and seeds.

    Parameters
    ----------
    shared, unprotected : sequence of Ranking
        One entry a round, with the same folds and seeds on both sides.
    labels : ndarray of bool, shape (n,)
        True for the positive class.

    Returns
    -------
    Difference
        Mean over the rounds; its interval adds up the variance over patients (DeLong) and that
        over rounds, with Student's t for as many degrees of freedom as the smaller class or the
        rounds give.

    References
    ----------
    DeLong, DeLong and Clarke-Pearson 1988, Biometrics 44, 837-845.
    """
    pairs = list(zip(shared, unprotected, strict=True))
    rounds = np.array([one.auc - other.auc for one, other in pairs])
    apart = np.mean([one.placements - other.placements for one, other in pairs], axis=0)
    n_smaller = min(int(labels.sum()), int((~labels).sum()))
    over_patients = sum(
        float(apart[side].var(ddof=1)) / int(side.sum()) for side in (labels, ~labels)
    )
    over_rounds = float(rounds.var(ddof=1)) / rounds.size
    half = float(np.sqrt(
        student(n_smaller - 1) ** 2 * over_patients + student(rounds.size - 1) ** 2 * over_rounds
    ))  # fmt: skip
    mean = float(rounds.mean())
    return Difference(mean, max(-1.0, mean - half), min(1.0, mean + half))
