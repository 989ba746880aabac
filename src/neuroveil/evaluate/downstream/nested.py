"""Cross-validation in which nothing of a test patient reaches setting, threshold or weights.

Patients are dealt out to folds. Within the training part of each fold, an inner round of
cross-validation chooses the model's setting by its likelihood and the threshold by its F1
score; the model that is then fitted on the whole training part judges the patients of the
fold. Everything a recipient of shared rows could do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuroveil.evaluate.downstream.folds import Folds, derived_seed, stratified_folds
from neuroveil.evaluate.downstream.models import Judge, Model
from neuroveil.evaluate.downstream.paper import PROTECTED_GRID
from neuroveil.evaluate.downstream.rows import Lesson, Shared
from neuroveil.evaluate.downstream.scores import Labels, best_threshold
from neuroveil.types.recording import FloatArray

ONE_INNER_FOLD_FROM = 1000
"""From so many training patients on one inner fold is enough: a fifth of them are 200."""

_LARGEST_LOG_ODDS_SHARE = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class Judged:
    """What was said of every patient by a model that had not seen the patient. Private.

    Parameters
    ----------
    probabilities : ndarray of float64, shape (n,)
        Probability of the positive class.
    called : ndarray of bool, shape (n,)
        Whether the patient was called positive, at the threshold of the patient's own fold.
    """

    probabilities: FloatArray
    called: Labels


@dataclass(frozen=True, eq=False, repr=False)
class Round:
    """One round of cross-validation. Private.

    Parameters
    ----------
    folds : ndarray of int64, shape (n,)
        In which fold each patient was judged.
    on_shared : Judged
        Judged by the row that was shared: somebody in the table.
    on_clear : Judged
        Judged by the row without noise: somebody new, whose row is not shared.
    """

    folds: Folds
    on_shared: Judged
    on_clear: Judged


def nested_round(model: Model, shared: Shared, folds: Folds, seed: int) -> Round:
    """Judge every patient once, with settings and thresholds chosen in the training part.

    Parameters
    ----------
    model : Model
        The classifier.
    shared : Shared
        One draw of what is shared.
    folds : ndarray of int64, shape (n,)
        From :func:`~neuroveil.evaluate.downstream.folds.stratified_folds`.
    seed : int
        Seed of inner folds and of the model.

    Returns
    -------
    Round
        Private.
    """
    n = folds.size
    probabilities, called = np.empty((2, n)), np.empty((2, n), dtype=bool)
    for fold in range(int(folds.max()) + 1):
        tested = folds == fold
        lesson = Lesson(shared.learned, shared.labels, shared.variances)
        judge, threshold = learn(
            model, lesson.part(np.flatnonzero(~tested)), derived_seed(seed, fold)
        )
        for side, rows in enumerate((shared.learned, shared.clear)):
            likely = judge(rows.take(tested))
            called[side, tested] = likely >= threshold
            probabilities[side, tested] = true_label_probability(likely, shared.keep_probability)
    shown, clear = (Judged(probabilities[side], called[side]) for side in (0, 1))
    return Round(folds, shown, clear)


def learn(model: Model, lesson: Lesson, seed: int) -> tuple[Judge, float]:
    """Choose setting and threshold by inner cross-validation, then fit on everything.

    Parameters
    ----------
    model : Model
        The classifier.
    lesson : Lesson
        The training part.
    seed : int
        Seed of inner folds and of the model.

    Returns
    -------
    judge : callable
        Fitted on the whole lesson.
    threshold : float
        A probability at or above it is a positive call.
    """
    labels = lesson.labels
    if min(int(labels.sum()), int((~labels).sum())) < 2:
        # Too few of a class for an inner round; nothing but the default is left.
        return _fitted(model, lesson, model.candidates[0], seed), 0.5
    inner = stratified_folds(labels, derived_seed(seed, 0))
    held_out = inner == 0 if labels.size >= ONE_INNER_FOLD_FROM else np.full(inner.shape, True)
    found = {
        candidate: _inner_round(model, lesson, np.where(held_out, inner, -1), candidate, seed)
        for candidate in model.candidates
    }
    truth = labels[held_out]
    best = min(found, key=lambda candidate: log_loss(found[candidate][held_out], truth))
    threshold = best_threshold(found[best][held_out], truth, PROTECTED_GRID)
    return _fitted(model, lesson, best, derived_seed(seed, 1)), threshold


def _inner_round(
    model: Model, lesson: Lesson, inner: Folds, candidate: float, seed: int
) -> FloatArray:
    """Judge every patient that has an inner fold; -1 marks those that only train."""
    probabilities = np.empty(inner.size)
    for fold in range(int(inner.max()) + 1):
        tested = inner == fold
        part = lesson.part(np.flatnonzero(~tested))
        judge = _fitted(model, part, candidate, derived_seed(seed, 2, fold))
        probabilities[tested] = judge(lesson.rows.take(tested))
    return probabilities


def _fitted(model: Model, lesson: Lesson, candidate: float, seed: int) -> Judge:
    """Fit, or give the share of the only class where labels that were drawn leave one."""
    if lesson.labels.all() or not lesson.labels.any():
        share = float(lesson.labels[0])
        return lambda rows: np.full(rows.values.shape[0], share)
    return model.fit(lesson, candidate, seed)


def log_loss(probabilities: FloatArray, labels: Labels) -> float:
    """Give the mean of minus the logarithm of the probability of what was the case.

    Parameters
    ----------
    probabilities : ndarray of float64, shape (n,)
        Probability of the positive class.
    labels : ndarray of bool, shape (n,)
        True for the positive class.

    Returns
    -------
    float
        In nats; probabilities are kept one in a million away from 0 and 1.
    """
    kept = np.clip(probabilities, _LARGEST_LOG_ODDS_SHARE, 1 - _LARGEST_LOG_ODDS_SHARE)
    return float(-np.log(np.where(labels, kept, 1 - kept)).mean())


def true_label_probability(probabilities: FloatArray, keep_probability: float) -> FloatArray:
    """Turn the probability of a label that was drawn into that of the true label.

    Parameters
    ----------
    probabilities : ndarray of float64, shape (n,)
        Probability that the label that goes along is positive.
    keep_probability : float
        With which probability that label is the true one, above 1/2.

    Returns
    -------
    ndarray of float64, shape (n,)
        From 0 to 1. Post-processing, since the probability is public.
    """
    if keep_probability == 1.0:
        return probabilities
    other = 1 - keep_probability
    return np.clip((probabilities - other) / (keep_probability - other), 0.0, 1.0)
