"""One unit of work: one way of sharing, one classifier, one round. Done in any order, anywhere.

Everything random in a unit follows from the seed, the way, the classifier and the number of the
round. Folds and starting weights follow from the round alone, so that ways are compared on the
same ones; the labels of the control are permuted anew in every round.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuroveil.evaluate.downstream.central_way import CentralWay
from neuroveil.evaluate.downstream.choice_of_ways import WAY_KEYS
from neuroveil.evaluate.downstream.folds import derived_seed, stratified_folds
from neuroveil.evaluate.downstream.models import MODELS
from neuroveil.evaluate.downstream.nested import Judged, Round, nested_round
from neuroveil.evaluate.downstream.paper import (
    BASELINE_GRID,
    PROTECTED_GRID,
    paper_protocol,
)
from neuroveil.evaluate.downstream.scores import Labels
from neuroveil.evaluate.downstream.ways import RowWay, Way
from neuroveil.types.downstream import ConfusionMatrix
from neuroveil.types.recording import FloatArray
from neuroveil.types.scaling import Scaling

OWN_MODEL = "own"
"""Name of the classifier of ways that share no rows: each has one of its own."""

LARGEST_N_LEFT_ONE_OUT = 100
"""Up to so many patients the paper's leave-one-out protocol is done as well."""

_PERMUTATION, _FOLDS, _NOISE, _MODEL = range(4)


@dataclass(frozen=True, eq=False, repr=False)
class Cohort:
    """Whose rows are shared. Private.

    Parameters
    ----------
    rows : ndarray of float64, shape (n, n_features)
        Scaled rows before clipping (no unit), finite.
    labels : ndarray of bool, shape (n,)
        True for the positive class; at least two of each.
    scaling : Scaling
        Constants of the columns.
    """

    rows: FloatArray
    labels: Labels
    scaling: Scaling


@dataclass(frozen=True)
class Unit:
    """What is to be done. Public.

    Parameters
    ----------
    way : Way
        How the cohort is shared.
    model : str
        One of :data:`~neuroveil.evaluate.downstream.models.MODELS`, or :data:`OWN_MODEL`.
    number : int
        Number of the round, from 0.
    seed : int
        Seed of the whole comparison.
    """

    way: Way
    model: str
    number: int
    seed: int


@dataclass(frozen=True, eq=False, repr=False)
class Done:
    """What a unit found. Private.

    Parameters
    ----------
    actual, control : Round
        Judged with the labels, and with labels that were permuted.
    control_labels : ndarray of bool, shape (n,)
        The permuted labels.
    paper : tuple of float and ConfusionMatrix, optional
        Threshold and counts of the paper's protocol, for its classifier in small cohorts.
    """

    actual: Round
    control: Round
    control_labels: Labels
    paper: tuple[float, ConfusionMatrix] | None


def do_unit(unit: Unit, cohort: Cohort) -> Done:
    """Do one unit of work.

    Parameters
    ----------
    unit : Unit
        What is to be done.
    cohort : Cohort
        Whose rows are shared.

    Returns
    -------
    Done
        Private.
    """
    generator = np.random.default_rng([unit.seed, unit.number, _PERMUTATION])
    permuted = generator.permutation(cohort.labels)
    return Done(
        actual=_round(unit, cohort, cohort.labels, 0),
        control=_round(unit, cohort, permuted, 1),
        control_labels=permuted,
        paper=_paper(unit, cohort),
    )


def models_of(way: Way, models: tuple[str, ...]) -> tuple[str, ...]:
    """Say which classifiers a way is judged with.

    Parameters
    ----------
    way : Way
        The way.
    models : tuple of str
        Classifiers for shared rows.

    Returns
    -------
    tuple of str
        Those, or the way's own one.
    """
    return models if isinstance(way, RowWay) else (OWN_MODEL,)


def _round(unit: Unit, cohort: Cohort, labels: Labels, side: int) -> Round:
    folds = stratified_folds(labels, derived_seed(unit.seed, unit.number, _FOLDS, side))
    model_seed = derived_seed(unit.seed, unit.number, _MODEL, side)
    if isinstance(unit.way, CentralWay):
        return _central_round(unit.way, cohort, labels, folds, _noise_seed(unit, side))
    shared = unit.way.share(cohort.rows, labels, cohort.scaling, _noise_seed(unit, 0))
    return nested_round(MODELS[unit.model], shared, folds, model_seed)


def _noise_seed(unit: Unit, side: int) -> int:
    """Noise of its own for every way and round; all classifiers of a way see the same."""
    place = WAY_KEYS.index(unit.way.facts.key)
    return derived_seed(unit.seed, unit.number, _NOISE, place, side)


def _central_round(
    way: CentralWay, cohort: Cohort, labels: Labels, folds: np.ndarray, seed: int
) -> Round:
    """Let the curator work on the training patients of every fold, with noise of its own."""
    coordinates = way.coordinates(cohort.rows, cohort.scaling)
    likely = np.empty(labels.size)
    for fold in range(int(folds.max()) + 1):
        tested = folds == fold
        judge = way.teach(coordinates[~tested], labels[~tested], derived_seed(seed, fold))
        likely[tested] = judge(coordinates[tested])
    # A threshold chosen on clear patients would have to be paid for: one half is public.
    judged = Judged(likely, likely >= 0.5)
    return Round(folds, judged, judged)


def _paper(unit: Unit, cohort: Cohort) -> tuple[float, ConfusionMatrix] | None:
    if unit.model != "mlp" or cohort.labels.size > LARGEST_N_LEFT_ONE_OUT:
        return None
    assert isinstance(unit.way, RowWay)
    if unit.way.label_epsilon is not None:
        return None  # the paper knows labels as they are only
    shared = unit.way.share(cohort.rows, cohort.labels, cohort.scaling, _noise_seed(unit, 0))
    grid = BASELINE_GRID if unit.way.settings is None else PROTECTED_GRID
    seed = derived_seed(unit.seed, unit.number, _MODEL)
    result = paper_protocol(shared.learned.values, cohort.labels, grid, seed)
    return result.threshold, result.confusion
