"""Singling out: statements about a release that are true of exactly one person behind it.

Half of the patients are released, the others are the control: people like them who are not in
the release. A statement that fits exactly one row singles somebody out by chance as well, with
luck more than one time in three. What counts is the excess over the same statement among the
controls.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuroveil.audit.mechanism.estimators import LEVEL, clopper_pearson
from neuroveil.audit.table.effort import Effort, Progress
from neuroveil.audit.table.frame import AuditFrame, Target
from neuroveil.audit.table.judging import MARGIN, Yardstick, common_limits, judge
from neuroveil.audit.table.predicates import Predicates, column_predicates, row_predicates
from neuroveil.audit.table.rates import POWER_FACTOR, interval
from neuroveil.privacy.bounds import IntArray
from neuroveil.types.audit import AttackResult, AuditCurve, AuditFigure
from neuroveil.types.recording import FloatArray

FEWEST = 4
"""Patients without whom there are not two on either side."""

_LINKS_A_ROW = 10
_MOST_MATCHES = 10
_YARDSTICK = Yardstick(0.0, 0.5)
_KINDS = (
    ("rows", "whole rows", row_predicates),
    ("columns", "single columns", column_predicates),
)


@dataclass(frozen=True, eq=False, repr=False)
class Isolations:
    """How often predicates singled somebody out. Private.

    Parameters
    ----------
    inside, outside : ndarray of float64, shape (n_patients,)
        How often each patient was the only match among those released, and among the controls.
    matches_inside, matches_outside : ndarray of int64, shape (12,)
        Predicates by number of matches on each side: 0 to 10, and more.
    """

    inside: FloatArray
    outside: FloatArray
    matches_inside: IntArray
    matches_outside: IntArray

    @property
    def total(self) -> int:
        """Number of predicates."""
        return int(self.matches_inside.sum())

    @property
    def excess(self) -> FloatArray:
        """What each patient adds to the excess rate, shape (n_patients,)."""
        return (self.inside - self.outside) / max(1, self.total)


def obstacle(frame: AuditFrame, target: Target) -> str:
    """Say why nobody can be singled out, in words.

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
    if frame.n_patients < FEWEST:
        return f"with fewer than {FEWEST} patients nobody is left for the control"
    return ""


def attack_singling_out(
    frame: AuditFrame, target: Target, effort: Effort, progress: Progress | None = None
) -> AttackResult:
    """Attack a target by singling people out.

    Parameters
    ----------
    frame : AuditFrame
        The table, of at least four patients.
    target : Target
        What is attacked; it must release rows.
    effort : Effort
        How long it may take.
    progress : callable, optional
        Called with (done, total).

    Returns
    -------
    AttackResult
        Internal. For predicates on whole rows and on single columns: the rate among released
        patients with that among controls, and the excess.
    """
    found = isolate(target, effort, progress)
    n = frame.n_patients
    generator = effort.generator("singling out, bootstrap")
    tables = generator.multinomial(n, np.full(n, 1 / n), size=effort.n_bootstraps)
    signs = generator.choice([-1.0, 1.0], size=(effort.n_bootstraps, n))
    weights = tables.astype(np.float64)
    excesses = tuple(_excess(name, label, found[name], weights, signs) for name, label, _ in _KINDS)
    rates = [_rate(name, label, found[name]) for name, label, _ in _KINDS]
    return AttackResult(
        attack="singling_out",
        title="Singling out",
        question="Does the release allow statements that are true of exactly one person in it?",
        target=target.name,
        verdict=judge(n, excesses, _YARDSTICK),
        sentence=_sentence(target, *rates),
        figures=(*excesses, *rates),
        curves=tuple(_curve(name, label, found[name]) for name, label, _ in _KINDS),
        limits=_limits(frame, target),
        settings={
            "mechanism": target.channel.name,
            "patients_on_either_side": n // 2,
            "predicates": {name: found[name].total for name, _, _ in _KINDS},
            "margin": MARGIN,
            "bootstrap_tables": effort.n_bootstraps,
            "seed": effort.seed,
        },
    )


def isolate(
    target: Target, effort: Effort, progress: Progress | None = None
) -> dict[str, Isolations]:
    """Release random halves of the table, and count whom predicates single out.

    Parameters
    ----------
    target : Target
        What is attacked.
    effort : Effort
        How long it may take.
    progress : callable, optional
        Called with (done, total).

    Returns
    -------
    dict of str to Isolations
        By kind of predicate.
    """
    source, choices = effort.source("singling out"), effort.generator("singling out")
    channel, bounded = target.row_channel, target.candidates.rows
    n, m = bounded.shape
    cost = n * max(channel.cells_a_row, 3 * m + n)
    n_draws = effort.draws(-(-effort.n_links // (_LINKS_A_ROW * n)), cost)
    found = {name: _nothing_yet(n) for name, _, _ in _KINDS}
    half = n // 2  # as many on either side: among fewer people, one is singled out more easily
    for done in range(1, n_draws + 1):
        order = choices.permutation(n)
        released, control = order[:half], order[half : 2 * half]
        values = channel.values(target.candidates.draw(released, source))
        for name, _, make in _KINDS:
            predicates = make(values, channel.noise_variance)
            so_far = found[name]
            _count(predicates, bounded, released, (so_far.inside, so_far.matches_inside))
            _count(predicates, bounded, control, (so_far.outside, so_far.matches_outside))
        if progress is not None:
            progress(done, n_draws)
    return found


def _nothing_yet(n_patients: int) -> Isolations:
    patients = np.zeros((2, n_patients))
    matches = np.zeros((2, _MOST_MATCHES + 2), dtype=np.int64)
    return Isolations(*patients, *matches)


def _count(
    predicates: Predicates, rows: FloatArray, people: IntArray, into: tuple[FloatArray, IntArray]
) -> None:
    """Add up who is the only match of a predicate, and how many match it."""
    by_patient, by_matches = into
    matches = predicates.matches(rows[people])
    counts = matches.sum(axis=0)
    by_matches += np.bincount(np.minimum(counts, _MOST_MATCHES + 1), minlength=by_matches.size)
    by_patient[people] += matches[:, counts == 1].sum(axis=1)


def _excess(
    name: str, label: str, found: Isolations, weights: FloatArray, signs: FloatArray
) -> AuditFigure:
    """Excess with the bootstrap of patients; the control swaps both sides at random."""
    parts = found.excess
    low, high = interval(np.clip(weights @ parts, -1.0, 1.0))
    null = signs @ parts
    control_low, control_high = interval(null)
    return AuditFigure(
        name=f"excess_{name}",
        label=f"Excess of statements on {label} that fit exactly one released patient",
        value=float(parts.sum()), low=low, high=high, level=LEVEL, n=parts.size,
        control=round(float(null.mean()), 9), control_low=control_low, control_high=control_high,
        smallest_detectable=MARGIN + POWER_FACTOR * float(np.sqrt(np.square(parts).sum())),
    )  # fmt: skip


def _rate(name: str, label: str, found: Isolations) -> AuditFigure:
    """Rate among released patients, beside that among controls; patients are what is counted."""
    n = found.inside.size
    rates = np.array([found.inside.sum(), found.outside.sum()]) / max(1, found.total)
    low, high = clopper_pearson(rates * n, n, LEVEL)
    return AuditFigure(
        name=f"rate_{name}", label=f"Statements on {label} that fit exactly one patient",
        value=float(rates[0]), low=float(low[0]), high=float(high[0]), level=LEVEL, n=n,
        control=float(rates[1]), control_low=float(low[1]), control_high=float(high[1]),
    )  # fmt: skip


def _curve(name: str, label: str, found: Isolations) -> AuditCurve:
    inside, outside = (
        each[:-1] / max(1, found.total) for each in (found.matches_inside, found.matches_outside)
    )
    return AuditCurve(
        f"matches_{name}", f"How many patients a statement on {label} fits", "patients",
        "share of statements", tuple(float(each) for each in range(_MOST_MATCHES + 1)),
        tuple(inside.tolist()), control=tuple(outside.tolist()),
    )  # fmt: skip


def _limits(frame: AuditFrame, target: Target) -> tuple[str, ...]:
    return (
        "Statements are half-spaces; an attacker with other statements, or who knows something "
        "about the patients beforehand, may single out more.",
        f"Half of the patients are the control, so that {frame.n_patients // 2} are released each "
        "time.",
        *common_limits(frame, target, frame.n_patients),
    )


def _sentence(target: Target, rows: AuditFigure, columns: AuditFigure) -> str:
    best = max(rows, columns, key=lambda figure: figure.value - (figure.control or 0.0))
    control = best.control or 0.0  # a rate has one
    return (
        f"Of statements fitted on {target.label}, {100 * best.value:.0f} in 100 fit exactly one "
        f"person in it; they fit exactly one of as many people outside in {100 * control:.0f}."
    )
