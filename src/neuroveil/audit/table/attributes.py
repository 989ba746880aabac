"""Attribute inference: what a released row tells about something that was not released.

The attacker knows rows and attribute of other patients, learns one from the other, and guesses
the attribute of the person behind a released row. Patients who are guessed have taught nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuroveil.audit.mechanism.estimators import LEVEL
from neuroveil.audit.table.effort import Effort, Progress
from neuroveil.audit.table.frame import AuditFrame, Target
from neuroveil.audit.table.judging import MARGIN, Yardstick, common_limits, judge
from neuroveil.audit.table.pair_areas import PairTally
from neuroveil.audit.table.questions import (
    MOST_CLASSES,
    MOST_PATIENTS,
    Known,
    Question,
    affordable,
    known_rows,
    question_of,
)
from neuroveil.audit.table.rates import POWER_FACTOR, interval
from neuroveil.audit.table.ridge import fit_ridge
from neuroveil.audit.table.splits import check_disjoint, stratified_folds
from neuroveil.errors import RecordingError
from neuroveil.privacy.bounds import IntArray
from neuroveil.types.audit import AttackResult, AuditCurve, AuditFigure
from neuroveil.types.recording import FloatArray

N_PERMUTATIONS = 99
_FEWEST_REPEATS, _MOST_REPEATS = 10, 50
_YARDSTICK = Yardstick(0.5, 0.95)


def attack_attributes(
    frame: AuditFrame, target: Target, effort: Effort, progress: Progress | None = None
) -> AttackResult:
    """Attack a target by guessing an attribute of the people behind its rows.

    Parameters
    ----------
    frame : AuditFrame
        With an attribute; another session's rows are learnt from too.
    target : Target
        What is attacked; it must release rows.
    effort : Effort
        How long it may take.
    progress : callable, optional
        Called with (done, total).

    Returns
    -------
    AttackResult
        Internal. ``auc`` for an attacker who has learnt from raw rows of others, and
        ``auc_from_released`` from their released rows, where these differ.

    Raises
    ------
    RecordingError
        If two patients share a row, or the attribute has no classes to tell apart.
    """
    question = question_of(frame)
    if question is None:
        raise RecordingError(
            "attribute", f"two to {MOST_CLASSES} values with two patients on either side",
            "another column", "Name a column such as sex or diagnosis.",
        )  # fmt: skip
    known = known_rows(frame, target, question)
    check_disjoint(known.scaled, known.owner)
    question = affordable(question, effort)
    known = known_rows(frame, target, question)
    tallies = _play(target, question, known, effort, progress)
    n = question.patients.size
    generator = effort.generator("attributes, bootstrap")
    tables = generator.multinomial(n, np.full(n, 1 / n), size=effort.n_bootstraps)
    figures = tuple(
        _figure(name, label, tally, tables.astype(np.float64))
        for (name, label), tally in zip(_ATTACKERS, tallies, strict=False)
    )
    assert frame.attribute is not None  # it has classes
    return AttackResult(
        attack="attributes",
        title="Attribute inference",
        question="Can something that was not released be guessed from a released row?",
        target=target.name,
        verdict=judge(n, figures, _YARDSTICK),
        sentence=_sentence(target, frame.attribute.name, figures),
        figures=figures,
        curves=(_curve(figures[0], tallies[0]),),
        limits=_limits(frame, target, question),
        settings={
            "mechanism": target.channel.name,
            "attribute": frame.attribute.name,
            "n_patients_with_a_value": n,
            "classes_guessed": len(question.asked),
            "repeated_splits": _n_repeats(effort),
            "permutations": N_PERMUTATIONS,
            "margin": MARGIN,
            "bootstrap_tables": effort.n_bootstraps,
            "seed": effort.seed,
        },
    )


_ATTACKERS = (
    ("auc", "Area under the curve, having learnt from raw rows of other patients"),
    ("auc_from_released", "Area under the curve, having learnt from released rows of others"),
)


def _n_repeats(effort: Effort) -> int:
    return min(_MOST_REPEATS, max(_FEWEST_REPEATS, effort.n_bootstraps // 15))


def _play(
    target: Target,
    question: Question,
    known: Known,
    effort: Effort,
    progress: Progress | None,
) -> list[PairTally]:
    """Split, learn and guess many times, on the truth and on permuted labels at once."""
    source, choices = effort.source("attributes"), effort.generator("attributes")
    labels = _labels(question, choices)
    noise = target.row_channel.noise_variance
    tallies = [PairTally(labels) for _ in _ATTACKERS[: 1 if noise == 0 else 2]]
    n, n_repeats = question.patients.size, _n_repeats(effort)
    for done in range(1, n_repeats + 1):
        released = target.candidates.draw(question.patients, source)
        values = target.row_channel.values(released)
        learnt_from = (
            (known.rows, known.owner, noise),
            (values, np.arange(n), 0.0),
        )
        folds = stratified_folds(question.classes, choices)
        for tested in _each_fold(folds):
            for tally, (rows, owner, missing) in zip(tallies, learnt_from, strict=False):
                taught = ~np.isin(owner, tested)
                targets = labels[owner[taught]].astype(np.float64).reshape(taught.sum(), -1)
                model = fit_ridge(rows[taught], owner[taught], targets, missing)
                scores = model.scores(values[tested])
                tally.add(tested, scores.reshape(tested.size, *labels.shape[1:]))
        if progress is not None:
            progress(done, n_repeats)
    return tallies


def _each_fold(folds: IntArray) -> Iterator[IntArray]:
    for number in range(int(folds.max()) + 1):
        yield np.flatnonzero(folds == number)


def _labels(question: Question, choices: np.random.Generator) -> np.ndarray:
    """Membership of each class: the truth, and after permuting patients."""
    classes = question.classes
    columns = [classes, *(choices.permutation(classes) for _ in range(N_PERMUTATIONS))]
    return np.stack([np.stack(columns, axis=1) == number for number in question.asked], axis=1)


def _figure(name: str, label: str, tally: PairTally, weights: FloatArray) -> AuditFigure:
    low, high = interval(tally.resampled(weights))
    null = tally.permuted[np.isfinite(tally.permuted)]
    control_low, control_high = interval(null)
    return AuditFigure(
        name=name, label=label, value=tally.area, low=low, high=high, level=LEVEL,
        n=weights.shape[1], control=float(null.mean()), control_low=control_low,
        control_high=control_high,
        smallest_detectable=min(1.0, 0.5 + MARGIN + POWER_FACTOR * float(null.std())),
    )  # fmt: skip


def _curve(figure: AuditFigure, tally: PairTally) -> AuditCurve:
    null = np.sort(tally.permuted[np.isfinite(tally.permuted)])
    same = (1.0,) * null.size
    return AuditCurve(
        "permutations", "True labels against permuted ones, from the lowest area to the highest",
        "permutations", "area under the curve",
        tuple(float(each) for each in range(1, null.size + 1)),
        tuple(figure.value * each for each in same), tuple(figure.low * each for each in same),
        tuple(figure.high * each for each in same), tuple(null.tolist()),
    )  # fmt: skip


def _limits(frame: AuditFrame, target: Target, question: Question) -> tuple[str, ...]:
    counts = np.bincount(question.classes, minlength=max(question.asked) + 1)
    rarest = int(counts[list(question.asked)].min())
    sampled = (f"Of more patients, {MOST_PATIENTS} were drawn at random.",)
    return (
        *(sampled if question.patients.size == MOST_PATIENTS else ()),
        "Scores are linear; an attacker with another kind of model, or with many more patients to "
        "learn from, may guess better.",
        f"The rarest class that is guessed has {rarest} patients.",
        *common_limits(frame, target, question.patients.size),
    )


def _sentence(target: Target, name: str, figures: tuple[AuditFigure, ...]) -> str:
    best = max(figures, key=lambda figure: figure.value)
    return (
        f"Of two people who differ in {name!r}, an attacker who sees their rows from "
        f"{target.label} tells which is which in {100 * best.value:.0f} of 100 cases, where "
        "guessing gives 50."
    )
