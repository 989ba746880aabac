"""Membership in trained models: online LiRA with patients as the unit.

Many shadow models are trained, each on a random half of the patients. A model's confidence in a
patient's own labels is compared with what models gave that had this patient in training, and
with what models gave that had not (Carlini et al. 2022, "Membership inference attacks from first
principles"). All rows of a patient are in or out together: windows of one recording in both
halves would tell nothing about the patient's membership.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from neuroveil.audit.mechanism.estimators import LEVEL
from neuroveil.audit.table.effort import Progress
from neuroveil.audit.table.frame import FEWEST_PATIENTS
from neuroveil.audit.table.rates import CurveSample, Game, false_alarm_axis, interval, smallest_rate
from neuroveil.errors import StudyError, StudyMistake
from neuroveil.types.audit import AttackResult, AuditCurve, AuditFigure, Verdict
from neuroveil.types.recording import FloatArray

LabelArray = npt.NDArray[Any]
Confidence = Callable[[FloatArray, LabelArray], FloatArray]
"""Takes rows and their labels, and gives the model's probability of each row's own label."""

Train = Callable[[FloatArray, LabelArray], Confidence]
"""Takes the rows and labels of a training set, and gives a trained model's confidence."""

FEWEST_SHADOWS = 64

_MARGIN = 0.05
_SMALLEST_PROBABILITY = 1e-12
_SMALLEST_SPREAD = 1e-3
_FALSE_ALARMS = ((1e-2, "1e-2"), (1e-3, "1e-3"))


@dataclass(frozen=True, eq=False, repr=False)
class TrainingData:
    """What models are trained on. Private.

    Parameters
    ----------
    rows : ndarray of float64, shape (n_rows, n_features)
        Rows of features.
    labels : ndarray, shape (n_rows,)
        What is predicted.
    patients : ndarray, shape (n_rows,)
        Whose row it is; rows of one patient go together.

    Raises
    ------
    StudyError
        If lengths disagree, or there are fewer than four patients.
    """

    rows: FloatArray
    labels: LabelArray
    patients: LabelArray

    def __post_init__(self) -> None:
        lengths = {len(self.rows), len(self.labels), len(self.patients)}
        n_patients = len(np.unique(self.patients))
        if len(lengths) != 1 or n_patients < 4:
            raise StudyError([StudyMistake(
                "training data", "one label and one patient a row, and at least four patients",
                f"{len(lengths)} different lengths, {n_patients} patients",
                "Give every row its label and its patient.",
            )])  # fmt: skip


@dataclass(frozen=True)
class LiraSettings:
    """Size of the attack.

    Parameters
    ----------
    n_shadows : int
        Shadow models behind every score, at least 64.
    n_bootstraps : int
        Bootstrap tables of patients.
    seed : int
        Seed of the choice of patients.

    Raises
    ------
    StudyError
        If there are fewer shadows.
    """

    n_shadows: int = FEWEST_SHADOWS
    n_bootstraps: int = 500
    seed: int = 20261129

    def __post_init__(self) -> None:
        if self.n_shadows < FEWEST_SHADOWS:
            raise StudyError([StudyMistake(
                "n_shadows", f"at least {FEWEST_SHADOWS}", f"{self.n_shadows}",
                "With fewer shadows the spread of a patient's scores is not known.",
            )])  # fmt: skip


def sklearn_trainer(make: Callable[[], Any]) -> Train:
    """Make a trainer of a scikit-learn classifier.

    Parameters
    ----------
    make : callable
        Gives a fresh classifier with ``fit`` and ``predict_proba``.

    Returns
    -------
    callable
        A :data:`Train`; a label that the training set lacked has probability 0.
    """

    def train(rows: FloatArray, labels: LabelArray) -> Confidence:
        model = make().fit(rows, labels)
        place = {label: column for column, label in enumerate(model.classes_.tolist())}

        def confidence(rows: FloatArray, labels: LabelArray) -> FloatArray:
            probabilities = np.column_stack([model.predict_proba(rows), np.zeros(len(rows))])
            columns = [place.get(label, len(place)) for label in labels.tolist()]
            return np.asarray(probabilities[np.arange(len(rows)), columns])

        return confidence

    return train


def attack_trained_model(
    data: TrainingData,
    train: Train,
    settings: LiraSettings = LiraSettings(),
    progress: Progress | None = None,
) -> AttackResult:
    """Attack a way of training, to see whether a model gives away who was in its training set.

    One model more than there are shadows is trained. Each is attacked in turn, with all others
    as its shadows, so that every patient is scored inside and outside of many models.

    Parameters
    ----------
    data : TrainingData
        Rows, labels and patients.
    train : callable
        Trains a model and gives its confidence, see :data:`Train`.
    settings : LiraSettings
        Size of the attack.
    progress : callable, optional
        Called with (done, total).

    Returns
    -------
    AttackResult
        Internal.

    Raises
    ------
    StudyError
        If the model gives confidences that are no probabilities.
    """
    names, place = np.unique(data.patients, return_inverse=True)
    generator = np.random.default_rng(settings.seed)
    members = _balanced_halves(settings.n_shadows + 1, len(names), generator)
    signals = np.empty(members.shape)
    for number, inside in enumerate(members):
        chosen = inside[place]
        confidence = train(data.rows[chosen], data.labels[chosen])
        signals[number] = _by_patient(confidence(data.rows, data.labels), place, len(names))
        if progress is not None:
            progress(number + 1, len(members))
    scores = online_scores(signals, members)
    # The control guesses a membership that had nothing to do with training.
    unrelated = _balanced_halves(len(members), len(names), generator)
    return _judge(_game(scores, members), _game(scores, unrelated), settings)


def online_scores(signals: FloatArray, members: npt.NDArray[np.bool_]) -> FloatArray:
    """Score every patient against every model, with all other models as shadows.

    Parameters
    ----------
    signals : ndarray of float64, shape (n_models, n_patients)
        Each model's logit of its confidence in each patient's labels.
    members : ndarray of bool, shape (n_models, n_patients)
        Who was in each model's training set.

    Returns
    -------
    ndarray of float64, shape (n_models, n_patients)
        Log-likelihood ratio of normal laws fitted to the shadows that had the patient and to
        those that had not (nat).
    """
    scores = np.empty(signals.shape)
    for model in range(len(signals)):
        others = np.arange(len(signals)) != model
        ratio = np.zeros(signals.shape[1])
        for sign, side in ((1, members[others]), (-1, ~members[others])):
            shadows = np.where(side, signals[others], np.nan)
            centre = np.nanmean(shadows, axis=0)
            spread = np.maximum(np.nanstd(shadows, axis=0), _SMALLEST_SPREAD)
            ratio += sign * (-0.5 * ((signals[model] - centre) / spread) ** 2 - np.log(spread))
        scores[model] = ratio
    return scores


def _balanced_halves(
    n_models: int, n_patients: int, generator: np.random.Generator
) -> npt.NDArray[np.bool_]:
    """Put every patient into half of the models, and half of the patients into every model."""
    order = generator.permuted(np.tile(np.arange(n_patients), (n_models, 1)), axis=1)
    halves = order < n_patients // 2
    complement = n_models // 2  # a model and its complement: every patient is in one of the two
    halves[complement : 2 * complement] = ~halves[:complement]
    return halves


def _by_patient(confidence: FloatArray, place: LabelArray, n_patients: int) -> FloatArray:
    """Mean logit of a patient's rows."""
    if not bool(((confidence >= 0) & (confidence <= 1)).all()):
        raise StudyError([StudyMistake(
            "model", "probabilities from 0 to 1 for every row", "others",
            "Let the trainer give the probability of each row's own label.",
        )])  # fmt: skip
    bounded = np.clip(confidence, _SMALLEST_PROBABILITY, 1 - _SMALLEST_PROBABILITY)
    logits = np.log(bounded) - np.log1p(-bounded)
    counts = np.bincount(place, minlength=n_patients)
    return np.asarray(np.bincount(place, logits, n_patients) / counts)


def _game(scores: FloatArray, members: npt.NDArray[np.bool_]) -> Game:
    patients = np.broadcast_to(np.arange(scores.shape[1]), scores.shape)
    return Game(
        scores[members], scores[~members], patients[members], patients[~members], scores.shape[1]
    )


def _judge(game: Game, control: Game, settings: LiraSettings) -> AttackResult:
    generator = np.random.default_rng([settings.seed, 1])
    curves = game.bootstrap(settings.n_bootstraps, generator)
    nulls = control.bootstrap(settings.n_bootstraps, generator)
    area = _area(game, control, curves, nulls)
    n = game.n_patients
    return AttackResult(
        attack="trained_model",
        title="Membership in a trained model",
        question="Does a trained model give away whose recordings it was trained on?",
        target="model",
        verdict=_verdict(n, area),
        sentence=(
            "Somebody who can train models of the same kind tells in "
            f"{100 * area.value:.0f} of 100 cases whether a patient was in the training set, "
            "where guessing gives 50."
        ),
        figures=(area, *_low_alarms((game, control), curves, nulls)),
        curves=(_roc(game, control, curves),),
        limits=(
            f"{settings.n_shadows} shadow models stand behind every score; an attacker with more "
            "of them, or with other people's data, may do better.",
            "Scores of one model share its training set, so no bound of epsilon is certified here.",
            f"The figures describe these {n} patients.",
        ),
        settings={
            "n_shadows": settings.n_shadows,
            "n_models": settings.n_shadows + 1,
            "trials": {"inside": game.inside.size, "outside": game.outside.size},
            "bootstrap_tables": settings.n_bootstraps,
            "margin": _MARGIN,
            "seed": settings.seed,
        },
    )


def _area(
    game: Game, control: Game, curves: list[CurveSample], nulls: list[CurveSample]
) -> AuditFigure:
    null_areas = np.array([curve.area for curve in nulls])
    low, high = interval(np.array([curve.area for curve in curves]))
    control_low, control_high = interval(null_areas)
    return AuditFigure(
        "auc", "Area under the curve, patient by patient", game.curve().area, low, high, LEVEL,
        game.n_patients, control=control.curve().area, control_low=control_low,
        control_high=control_high,
        smallest_detectable=smallest_rate(null_areas, 0.5, _MARGIN),
    )  # fmt: skip


def _low_alarms(
    games: tuple[Game, Game], curves: list[CurveSample], nulls: list[CurveSample]
) -> list[AuditFigure]:
    game, control = games
    figures = []
    for rate, text in _FALSE_ALARMS:
        value, realised = game.curve().at(rate)
        low, high = interval(np.array([curve.at(rate)[0] for curve in curves]))
        figures.append(AuditFigure(
            f"tpr_at_fpr_{text}",
            f"Members found at {100 * rate:g} % false alarms (really {100 * realised:.2g} %)",
            value, low, high, LEVEL, game.n_patients, control=control.curve().at(rate)[0],
            smallest_detectable=smallest_rate(np.array([null.at(rate)[0] for null in nulls]), rate),
        ))  # fmt: skip
    return figures


def _verdict(n_patients: int, area: AuditFigure) -> Verdict:
    assert area.smallest_detectable is not None  # every area has one
    if n_patients < FEWEST_PATIENTS or area.smallest_detectable > 0.75:
        return "not_testable"
    return "weak" if area.low > 0.5 + _MARGIN else "no_attack_succeeded"


def _roc(game: Game, control: Game, curves: list[CurveSample]) -> AuditCurve:
    axis = false_alarm_axis(game.outside.size)
    low, high = np.percentile([curve.sampled(axis) for curve in curves], [2.5, 97.5], axis=0)
    return AuditCurve(
        "roc", "Members found against false alarms", "false positive rate",
        "true positive rate", tuple(axis.tolist()),
        tuple(game.curve().sample(axis).true_positive.tolist()), tuple(low.tolist()),
        tuple(high.tolist()), tuple(control.curve().sample(axis).true_positive.tolist()),
    )  # fmt: skip
