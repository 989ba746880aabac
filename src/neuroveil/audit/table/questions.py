"""Whom an attacker guesses an attribute of, and whose rows may teach."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from neuroveil.audit.table.effort import Effort
from neuroveil.audit.table.frame import AuditFrame, Target
from neuroveil.audit.table.splits import n_shared_rows
from neuroveil.privacy.bounds import IntArray
from neuroveil.types.recording import FloatArray

MOST_PATIENTS = 1500
"""Of more patients, so many are drawn: they say enough, and their pairs fit into memory."""

MOST_CLASSES = 10
_MISSING = frozenset({"", "n/a", "na", "nan", "none"})


@dataclass(frozen=True, eq=False, repr=False)
class Question:
    """Whom an attacker guesses about, and the truth. Private.

    Parameters
    ----------
    patients : ndarray of int64, shape (n_known,)
        Patients of the table whose attribute is known.
    classes : ndarray of int64, shape (n_known,)
        Class of each; the last one gathers values that one patient alone has.
    asked : tuple of int
        Classes that are guessed, each against all others: the rarer of two, or each of more.
    """

    patients: IntArray
    classes: IntArray
    asked: tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Known:
    """What an attacker may learn from, besides released rows. Private.

    Parameters
    ----------
    rows : ndarray of float64, shape (n_rows, m)
        Bounded rows of both sessions (no unit).
    owner : ndarray of int64, shape (n_rows,)
        Whose row each is, among the patients of the question.
    scaled : ndarray of float64, shape (n_rows, n_features)
        The same rows before they were bounded (no unit).
    """

    rows: FloatArray
    owner: IntArray
    scaled: FloatArray


def question_of(frame: AuditFrame) -> Question | None:
    """Turn an attribute into classes.

    Parameters
    ----------
    frame : AuditFrame
        With an attribute.

    Returns
    -------
    Question or None
        None where fewer than two patients stand on either side, or there are more than ten
        different values.
    """
    assert frame.attribute is not None  # an obstacle otherwise
    values = [value.strip() for value in frame.attribute.values]
    patients = np.flatnonzero([value.lower() not in _MISSING for value in values])
    names, classes = np.unique([values[place] for place in patients], return_inverse=True)
    counts = np.bincount(classes, minlength=names.size)
    if names.size > MOST_CLASSES or np.count_nonzero(counts > 1) == 0:
        return None
    order = np.argsort(-counts, kind="stable")
    ranked = np.argsort(order)[classes]  # the largest class is 0
    n_large = int(np.count_nonzero(counts > 1))
    ranked = np.minimum(ranked, n_large)
    sizes = np.bincount(ranked)
    if patients.size - sizes[0] < 2:
        return None
    asked = (1,) if sizes.size == 2 else tuple(range(n_large))
    return Question(patients, ranked.astype(np.int64), asked)


def obstacle(frame: AuditFrame, target: Target) -> str:
    """Say why attributes cannot be guessed, in words.

    Parameters
    ----------
    frame : AuditFrame
        What the audit looks at.
    target : Target
        What would be attacked.

    Returns
    -------
    str
        ``""`` where nothing stands in the way.
    """
    if not target.releases_rows:
        return "sums of all patients are released, and nobody's row"
    if frame.attribute is None:
        return "no attribute was named (--attribute)"
    question = question_of(frame)
    if question is None:
        return (
            f"the attribute needs two to {MOST_CLASSES} different values, with two patients on "
            "either side"
        )
    known = known_rows(frame, target, question)
    if n_shared_rows(known.scaled, known.owner):
        return (
            "two patients share exactly the same row, which would stand on both sides of a split; "
            "leave the copy out"
        )
    return ""


def known_rows(frame: AuditFrame, target: Target, question: Question) -> Known:
    """Gather the rows of the table, and of the other session where there is one.

    Parameters
    ----------
    frame : AuditFrame
        What the audit looks at.
    target : Target
        What is attacked.
    question : Question
        Whom is asked about.

    Returns
    -------
    Known
        A row a patient, or two.
    """
    chosen = question.patients
    rows, scaled = [target.candidates.rows[chosen]], [target.rows[chosen]]
    owners = [np.arange(chosen.size)]
    if target.reference is not None:
        mates = frame.mates[chosen]
        there = np.flatnonzero(mates >= 0)
        rows.append(target.reference_candidates.rows[mates[there]])
        scaled.append(target.reference[mates[there]])
        owners.append(there)
    return Known(np.concatenate(rows), np.concatenate(owners), np.concatenate(scaled))


def affordable(question: Question, effort: Effort) -> Question:
    """Keep all patients, or draw so many that all of their pairs can be kept.

    Parameters
    ----------
    question : Question
        Of all patients.
    effort : Effort
        Where the choice comes from.

    Returns
    -------
    Question
        Of at most :data:`MOST_PATIENTS`.
    """
    if question.patients.size <= MOST_PATIENTS:
        return question
    choices = effort.generator("attributes, patients")
    chosen = np.sort(choices.choice(question.patients.size, MOST_PATIENTS, replace=False))
    return replace(question, patients=question.patients[chosen], classes=question.classes[chosen])
