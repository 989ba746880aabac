"""From counted calls to balanced accuracy and area under the curve, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from neuroveil.deploy.federated.local import N_BINS
from neuroveil.evaluate.downstream.intervals import auc_figure, balanced_figure, proportion_figure
from neuroveil.privacy.bounds import IntArray
from neuroveil.types.federation import Judged
from neuroveil.types.recording import FloatArray


def judged(positive: IntArray, negative: IntArray, loss: float) -> Judged:
    """Sum counted calls up.

    Parameters
    ----------
    positive, negative : ndarray of int64, shape (n_bins,)
        Patients of either class by predicted probability.
    loss : float
        Mean logistic loss (nat).

    Returns
    -------
    Judged
        Figures with intervals; within a bin patients count as tied.
    """
    n_positive, n_negative = int(positive.sum()), int(negative.sum())
    if not n_positive or not n_negative:
        return Judged(n_positive, n_negative, None, None, loss)
    half = N_BINS // 2
    recall = proportion_figure(_once(positive[half:].sum() / n_positive), n_positive)
    specificity = proportion_figure(_once(negative[:half].sum() / n_negative), n_negative)
    balanced = balanced_figure(_once((recall.mean + specificity.mean) / 2), recall, specificity)
    below = np.concatenate([[0], np.cumsum(negative)[:-1]])
    area = float((positive * (below + negative / 2)).sum() / (n_positive * n_negative))
    return Judged(
        n_positive, n_negative, balanced, auc_figure(_once(area), n_positive, n_negative), loss
    )


def _once(value: float) -> FloatArray:
    """A figure of one model: intervals are over patients alone, so rounds do not differ."""
    return np.array([value, value], dtype=np.float64)


def judged_by_hospital(
    figures: Mapping[str, Any], hospitals: tuple[str, ...], part: str = "test"
) -> tuple[dict[str, Judged], Judged | None]:
    """Sum up what hospitals counted, each and all together.

    Parameters
    ----------
    figures : mapping
        ``HOSPITAL/part_loss``, ``HOSPITAL/part_positive`` and ``HOSPITAL/part_negative``.
    hospitals : tuple of str
        Names.
    part : {"test", "validation"}
        Who judged.

    Returns
    -------
    dict of str to Judged
        By hospital, those that counted anybody.
    Judged or None
        Pooled over all patients; none where nobody counted.
    """
    each, total, loss = {}, np.zeros((2, N_BINS), dtype=np.int64), 0.0
    for name in hospitals:
        if f"{name}/{part}_loss" not in figures:
            continue
        counts = np.array(
            [figures[f"{name}/{part}_positive"], figures[f"{name}/{part}_negative"]],
            dtype=np.int64,
        )
        each[name] = judged(counts[0], counts[1], float(figures[f"{name}/{part}_loss"]))
        total += counts
        loss += float(counts.sum()) * each[name].loss
    if not total.sum():
        return each, None
    return each, judged(total[0], total[1], loss / float(total.sum()))
