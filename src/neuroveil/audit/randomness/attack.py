"""The check of randomness as one attack: repeated rows, repeated values, lagged streams."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from neuroveil.audit.randomness.correlation import Correlation, strongest_correlation
from neuroveil.audit.randomness.repeats import (
    FALSE_ALARM,
    Repeats,
    repeated_rows,
    repeated_values,
)
from neuroveil.audit.randomness.streams import Streams, collect_streams
from neuroveil.audit.subject import Subject, SubjectFacts
from neuroveil.types.audit import AttackResult, AuditCurve, AuditFigure, Verdict

ATTACK = "randomness"
_FEWEST_UNITS = 20
_CURVE_POINTS = 400


def audit_randomness(
    subject: Subject, n_cells: int = 20_000, seed: int | None = None
) -> AttackResult:
    """Look for noise that is used twice, and for streams that follow each other.

    Parameters
    ----------
    subject : Subject
        What is audited; a table of zeros is released often, in two runs.
    n_cells : int
        Values of each run, at least.
    seed : int, optional
        For a repeatable subject: every release gets the next one.

    Returns
    -------
    AttackResult
        Violated where noise repeats or correlates beyond a chance of one in a million.
    """
    facts = subject.facts
    streams = collect_streams(subject, n_cells, seed)
    family = None if facts.law is None else facts.law.family
    independent = _null_of(streams)
    found = _Found(
        rows=repeated_rows(streams),
        values=None if family == "codewords" else repeated_values(streams),
        null_rows=repeated_rows(independent),
        null_values=repeated_values(independent),
        # Each of three looks has its share of the chance of a false alarm.
        correlation=strongest_correlation(
            streams, FALSE_ALARM / 3, independent_cells=family in {"gaussian", "laplace"}
        ),
        null=strongest_correlation(
            independent, FALSE_ALARM / 3, independent_cells=family != "codewords"
        ),
        is_discrete=family == "codewords",
    )
    return _result(facts, streams, found, n_cells)


@dataclass(frozen=True, eq=False)
class _Found:
    rows: Repeats
    values: Repeats | None
    null_rows: Repeats
    null_values: Repeats
    correlation: Correlation
    null: Correlation
    is_discrete: bool

    def repeats(self) -> Repeats | None:
        """Repeats that chance does not explain, whole rows first."""
        for each in (self.rows, self.values):
            if each is not None and self._is_repeated(each):
                return each
        return None

    def _is_repeated(self, each: Repeats) -> bool:
        by_number = each.p_value < FALSE_ALARM / 3 and not self.is_discrete
        return by_number or each.lag_p_value < FALSE_ALARM / 3

    def follows(self) -> bool:
        """Whether a stream follows another one."""
        return self.correlation.p_value < FALSE_ALARM / 3


def _null_of(streams: Streams) -> Streams:
    """Independent noise of the same shape, for the control."""
    return Streams(np.random.default_rng(0).normal(size=streams.units.shape), streams.n_rows)


def _result(facts: SubjectFacts, streams: Streams, found: _Found, n_cells: int) -> AttackResult:
    verdict, sentence = _judge(streams, found)
    correlation, null = found.correlation, found.null
    width = correlation.threshold
    figures = [
        _repeats_figure(
            "repeated_rows", "Rows of noise that came twice (pairs)", found.rows, found.null_rows
        ),
        AuditFigure(
            "largest_correlation", "Strongest correlation between noise and noise, at any lag",
            correlation.value, correlation.value - width, correlation.value + width,
            1 - FALSE_ALARM / 3, correlation.n_values, control=null.value,
            control_low=null.value - null.threshold, control_high=null.value + null.threshold,
            smallest_detectable=correlation.smallest_detectable, theory=0.0,
        ),
    ]  # fmt: skip
    if found.values is not None:
        label = "Values of noise that came twice (pairs)"
        figures.insert(
            1, _repeats_figure("repeated_values", label, found.values, found.null_values)
        )
    return AttackResult(
        attack=ATTACK,
        title="Randomness",
        question="Is noise used twice, or does one stream of noise follow another?",
        target=facts.name,
        verdict=verdict,
        sentence=sentence,
        figures=tuple(figures),
        curves=(_curve(correlation, null),),
        limits=(
            "Whether somebody could predict the generator cannot be seen from its output: look at "
            "where its seed comes from.",
            f"A correlation below {correlation.smallest_detectable:.2g} between two streams would "
            "pass where they lie far apart.",
            f"A seed that repeats less than once in {found.rows.n_compared} rows would pass.",
        ),
        settings={
            "n_cells": n_cells, "n_rows_compared": found.rows.n_compared,
            "n_lags": correlation.n_lags, "false_alarm": FALSE_ALARM,
        },
    )  # fmt: skip


def _judge(streams: Streams, found: _Found) -> tuple[Verdict, str]:
    repeats = found.repeats()
    if repeats is not None:
        return "violated", _repeat_sentence(streams, found, repeats)
    if found.follows():
        where = "between two runs" if found.correlation.across_runs else "within one run"
        return "violated", (
            f"Noise follows noise {where}, at a distance of {found.correlation.lag} values, with "
            f"a correlation of {found.correlation.value:.2g}: two releases can be compared, and "
            "the noise of one taken off the other."
        )
    if streams.n_units < _FEWEST_UNITS:
        return "not_testable", f"{streams.n_units} rows of noise are too few to see a pattern."
    return "no_attack_succeeded", (
        f"No noise came twice among {found.rows.n_compared} rows beyond what chance explains, and "
        "no stream follows another one at any lag."
    )


def _repeat_sentence(streams: Streams, found: _Found, repeats: Repeats) -> str:
    what = "rows" if repeats is found.rows else "values"
    apart = ""
    if repeats.lag is not None and repeats.lag_p_value < FALSE_ALARM:
        apart = f", most of them {repeats.lag} {what} apart"
        n_run = streams.n_units * (1 if what == "rows" else streams.dimension)
        if repeats.lag == n_run:
            apart = ", at the same place in two runs: the same seed was used twice"
        elif what == "rows" and repeats.lag % streams.n_rows == 0:
            apart = ", in the same row of different releases: a seed is used again"
    return (
        f"The same noise came twice: {repeats.n_pairs} pairs of equal {what}{apart}. The "
        "difference of two such releases has no noise at all, so no epsilon holds."
    )


def _repeats_figure(name: str, label: str, repeats: Repeats, null: Repeats) -> AuditFigure:
    return AuditFigure(
        name, label, float(repeats.n_pairs), float(repeats.n_pairs), math.inf, 1 - FALSE_ALARM / 3,
        repeats.n_compared, control=float(null.n_pairs), control_low=float(null.n_pairs),
        control_high=math.inf, theory=repeats.expected,
    )  # fmt: skip


def _curve(correlation: Correlation, null: Correlation) -> AuditCurve:
    """Largest correlation by stretch of lags, beside that of independent noise."""
    n = min(_CURVE_POINTS, len(correlation.lags), len(null.lags))
    stretches = np.array_split(np.arange(len(correlation.lags)), n)
    peaks = [stretch[np.abs(correlation.values[stretch]).argmax()] for stretch in stretches]
    of_null = np.array_split(np.abs(null.values), n)
    y = np.abs(correlation.values[peaks])
    return AuditCurve(
        "correlation", "Strongest correlation by stretch of lags",
        "lag (values)", "size of the correlation",
        tuple(map(float, correlation.lags[peaks])), tuple(map(float, y)),
        control=tuple(float(stretch.max()) for stretch in of_null),
    )  # fmt: skip
