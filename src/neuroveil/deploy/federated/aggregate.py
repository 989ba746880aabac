"""How updates become one: the weighted mean of the paper, and two that few outliers cannot move."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neuroveil.deploy.federated.models import Arrays
from neuroveil.deploy.federated.specs import TrainingSpec
from neuroveil.types.recording import FloatArray


def aggregate(updates: Sequence[tuple[int, Arrays]], spec: TrainingSpec) -> Arrays:
    """Make one model of the hospitals' models.

    Parameters
    ----------
    updates : sequence of tuple of int and dict
        Number of patients n_h and model w_h of each hospital, checked, at least one.
    spec : TrainingSpec
        ``mean``: sum of n_h / N w_h (equation 2 of the paper; McMahan et al. 2017).
        ``median``: coordinate by coordinate, each hospital counting once (Yin et al. 2018).
        ``trimmed_mean``: without the largest and the smallest values of each coordinate.

    Returns
    -------
    dict of str to ndarray of float64, in the shapes of the plan
        The common model.
    """
    total = sum(n for n, _ in updates)
    common: Arrays = {}
    for name in updates[0][1]:
        common[name] = _one(name, updates, spec, total)
    return common


def _one(
    name: str, updates: Sequence[tuple[int, Arrays]], spec: TrainingSpec, total: int
) -> FloatArray:
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused afterwards
        stacked = np.stack([arrays[name] for _, arrays in updates])
        if spec.aggregation == "median":
            return np.asarray(np.median(stacked, axis=0))
        if spec.aggregation == "trimmed_mean":
            kept = np.sort(stacked, axis=0)[spec.trimmed : stacked.shape[0] - spec.trimmed]
            return np.asarray(kept.mean(axis=0))
        shares = np.array([n / total for n, _ in updates])
        return np.asarray(np.tensordot(shares, stacked, axes=1))
