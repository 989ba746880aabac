"""Reconstruction: how much of a patient's row comes back from the released one.

The attacker knows the rows of other patients, never the one that is attacked, and works out
what to expect of a row given its release. Only what goes beyond the average of the others
counts as reconstructed.
"""

from __future__ import annotations

import numpy as np

from neuroveil.audit.mechanism.estimators import LEVEL
from neuroveil.audit.table.effort import Effort, Progress
from neuroveil.audit.table.frame import AuditFrame, Target
from neuroveil.audit.table.judging import MARGIN, Yardstick, common_limits, judge
from neuroveil.audit.table.rates import POWER_FACTOR, interval
from neuroveil.audit.table.rebuilding import Rebuilt, rebuild_rows
from neuroveil.types.audit import AttackResult, AuditCurve, AuditFigure
from neuroveil.types.recording import FloatArray

_MOST_POINTS = 50
_YARDSTICK = Yardstick(0.0, 0.5)
_LABELS = {
    "r_squared": "Share of a column's variance that is rebuilt (R², mean over columns)",
    "r_squared_codeword": "The same by the likelihood of the codeword",
}


def attack_reconstruction(
    frame: AuditFrame, target: Target, effort: Effort, progress: Progress | None = None
) -> AttackResult:
    """Attack a target by rebuilding rows from released ones.

    Parameters
    ----------
    frame : AuditFrame
        The table.
    target : Target
        What is attacked; it must release rows.
    effort : Effort
        How long it may take.
    progress : callable, optional
        Called with (done, total).

    Returns
    -------
    AttackResult
        Internal. ``r_squared`` is the mean over columns, so that columns of another scaling
        count alike; ``r_squared_codeword`` that of an attacker who weighs codewords by their
        likelihood instead of filtering decoded rows.
    """
    found = rebuild_rows(target, effort, progress)
    n = frame.n_patients
    generator = effort.generator("reconstruction, bootstrap")
    tables = generator.multinomial(n, np.full(n, 1 / n), size=effort.n_bootstraps)
    weights = tables.astype(np.float64)
    figures = tuple(_figure(name, rebuilt, weights) for name, rebuilt in found.items())
    rebuilt = found["r_squared"]
    return AttackResult(
        attack="reconstruction",
        title="Reconstruction",
        question="How much of a patient's row can be rebuilt from the released one?",
        target=target.name,
        verdict=judge(n, figures, _YARDSTICK),
        sentence=_sentence(target, figures),
        figures=figures,
        curves=_curves(rebuilt, weights),
        limits=_limits(frame, target),
        settings={
            "mechanism": target.channel.name,
            "draws_of_each_row": rebuilt.n_draws,
            "columns_that_vary": int(rebuilt.before.shape[1]),
            "prior": "mean and shrunk covariance of other patients",
            "margin": MARGIN,
            "bootstrap_tables": effort.n_bootstraps,
            "seed": effort.seed,
        },
    )


def _figure(name: str, rebuilt: Rebuilt, weights: FloatArray) -> AuditFigure:
    once = np.ones((1, weights.shape[1]))
    errors, wrong = rebuilt.errors, rebuilt.wrong
    value, control = (_mean(rebuilt.explained(each, once))[0] for each in (errors, wrong))
    samples, null = (_mean(rebuilt.explained(each, weights)) for each in (errors, wrong))
    low, high = interval(samples[np.isfinite(samples)])
    control_low, control_high = interval(null[np.isfinite(null)])
    spread = float(null[np.isfinite(null)].std()) if np.isfinite(null).any() else float("inf")
    return AuditFigure(
        name=name, label=_LABELS[name],
        value=float(value), low=low, high=high, level=LEVEL, n=weights.shape[1],
        control=float(control), control_low=control_low, control_high=control_high,
        smallest_detectable=MARGIN + POWER_FACTOR * spread,
    )  # fmt: skip


def _mean(shares: FloatArray) -> FloatArray:
    """Mean over columns, in each table over those that vary in it."""
    defined = np.isfinite(shares)
    totals = np.where(defined, shares, 0.0).sum(axis=1)
    counts = defined.sum(axis=1)
    return np.where(counts > 0, totals / np.maximum(counts, 1), np.nan)


def _curves(rebuilt: Rebuilt, weights: FloatArray) -> tuple[AuditCurve, ...]:
    n_columns = rebuilt.before.shape[1]
    if n_columns == 0:
        return ()
    once = np.ones((1, weights.shape[1]))
    column = rebuilt.explained(rebuilt.errors, once)[0]
    places = np.unique(np.linspace(0, n_columns - 1, _MOST_POINTS).round().astype(int))
    chosen = np.argsort(-column, kind="stable")[places]
    samples = rebuilt.explained(rebuilt.errors[:, chosen], weights, rebuilt.before[:, chosen])
    low, high = np.nanpercentile(samples, [2.5, 97.5], axis=0)
    wrong = rebuilt.explained(rebuilt.wrong, once)[0][chosen]
    return (
        AuditCurve(
            "columns", "Columns from the best rebuilt to the worst", "columns", "R²",
            tuple((places + 1.0).tolist()), tuple(column[chosen].tolist()),
            tuple(low.tolist()), tuple(high.tolist()), tuple(wrong.tolist()),
        ),
    )  # fmt: skip


def _limits(frame: AuditFrame, target: Target) -> tuple[str, ...]:
    return (
        "The attacker expects rows to be Gaussian; somebody with a better model of EEG may rebuild "
        "more.",
        "A value of 0 means nothing beyond the mean of other patients; the wrong-row control is "
        "below 0 where a release is trusted that belongs to somebody else.",
        *common_limits(frame, target, frame.n_patients),
    )


def _sentence(target: Target, figures: tuple[AuditFigure, ...]) -> str:
    best = max(figure.value for figure in figures)
    if not np.isfinite(best):
        return "All patients have the same row, so that there is nothing to rebuild."
    return (
        f"From {target.label}, somebody who knows other patients' rows rebuilds "
        f"{100 * max(best, 0.0):.0f} % of what a row has beyond their average."
    )
