"""The paper's classifier on one draw of protected rows."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from neuroveil.evaluate.downstream import (
    BASELINE_GRID,
    PROTECTED_GRID,
    leave_one_out_probabilities,
)
from neuroveil.evaluate.downstream.ranking import rank_within_folds
from neuroveil.evaluate.downstream.scores import Labels, best_threshold, confusion
from neuroveil.evaluate.reproduction.cohort import ReproductionCohort
from neuroveil.evaluate.reproduction.contenders import contender
from neuroveil.evaluate.reproduction.pieces import CONTROL, UNPROTECTED, Piece
from neuroveil.evaluate.reproduction.plans import plan_contender
from neuroveil.privacy.randomness import SimulationRandomness
from neuroveil.types.recording import FloatArray


def classify(cohort: ReproductionCohort, piece: Piece, draw: int) -> dict[str, Any]:
    """Protect once, let the paper's classifier judge every patient, and count in two ways.

    Parameters
    ----------
    cohort : ReproductionCohort
        The rows.
    piece : Piece
        Which kind of rows the classifier sees.
    draw : int
        Number of the draw.

    Returns
    -------
    dict
        ``threshold`` picked on all patients, confusion matrices with it (``pooled``) and with
        thresholds picked on the others (``honest``), and ``auc``. Internal.
    """
    seed = piece.draw_seed(draw)
    rows, positive, grid = cohort.scaled, cohort.positive, BASELINE_GRID
    if piece.name == CONTROL:
        positive = np.random.default_rng(seed).permutation(positive)
    elif piece.name != UNPROTECTED:
        rows, grid = _protect(cohort, piece, seed), PROTECTED_GRID
    probabilities = leave_one_out_probabilities(rows, positive, seed)
    threshold = best_threshold(probabilities, positive, grid)
    pooled = confusion(positive, probabilities >= threshold)
    honest = confusion(positive, calls_without_own_answer(probabilities, positive, grid))
    return {
        "threshold": threshold,
        "pooled": asdict(pooled),
        "honest": asdict(honest),
        "auc": rank_within_folds(probabilities, np.zeros(positive.size, np.int64), positive).auc,
    }


def _protect(cohort: ReproductionCohort, piece: Piece, seed: int) -> FloatArray:
    assert piece.epsilon is not None
    rows, chosen = cohort.scaled, contender(piece.name)
    plan = plan_contender(chosen, piece.epsilon, cohort.scaling, rows.shape[0])
    source = SimulationRandomness(seed)
    mechanism = plan.mechanism.renewed(source)
    values = mechanism.apply(plan.bound(rows), mechanism.draw(rows.shape[0], source))
    return plan.estimates(values)[0]


def calls_without_own_answer(
    probabilities: FloatArray, positive: Labels, grid: tuple[float, ...]
) -> Labels:
    """Judge each patient by the threshold that is best for all the others.

    Parameters
    ----------
    probabilities : ndarray of float64, shape (n_patients,)
        Probability of the positive class.
    positive : ndarray of bool, shape (n_patients,)
        True for the positive class.
    grid : tuple of float
        Thresholds to choose from.

    Returns
    -------
    ndarray of bool, shape (n_patients,)
        True where a patient is called positive.
    """
    calls = np.zeros(positive.shape, dtype=np.bool_)
    for patient in range(positive.size):
        others = np.arange(positive.size) != patient
        threshold = best_threshold(probabilities[others], positive[others], grid)
        calls[patient] = probabilities[patient] >= threshold
    return calls
