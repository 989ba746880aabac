"""Folds with the same share of both classes, and seeds that differ from each other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from neuroveil.evaluate.downstream.scores import Labels

Folds = npt.NDArray[np.int64]
"""Number of the fold in which a patient is tested, one a patient."""

LARGEST_N_FOLDS = 5


def stratified_folds(labels: Labels, seed: int, largest: int = LARGEST_N_FOLDS) -> Folds:
    """Deal patients out to folds, class by class, in random order.

    Parameters
    ----------
    labels : ndarray of bool, shape (n,)
        True for the positive class; at least two of each.
    seed : int
        Seed of the order.
    largest : int
        Largest number of folds; fewer where a class has fewer patients, so that both classes
        stand in every fold.

    Returns
    -------
    ndarray of int64, shape (n,)
        From 0 to the number of folds less 1.
    """
    generator = np.random.default_rng(seed)
    n_folds = min(largest, int(labels.sum()), int((~labels).sum()))
    folds = np.empty(labels.size, dtype=np.int64)
    start = 0
    for positive in (True, False):
        members = np.flatnonzero(labels == positive)
        # The second class goes on where the first one stopped, so that folds are of like size.
        folds[generator.permutation(members)] = (start + np.arange(members.size)) % n_folds
        start += members.size
    return folds


def derived_seed(*parts: int) -> int:
    """Make a seed of several numbers, so that no two uses share one.

    Parameters
    ----------
    *parts : int
        Numbers that say what the seed is for, not negative.

    Returns
    -------
    int
        A seed below 2^32.
    """
    return int(np.random.SeedSequence(parts).generate_state(1)[0])
