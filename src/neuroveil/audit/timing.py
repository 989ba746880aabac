"""Timing: whether the time that a release takes tells which row it was, or how much noise.

The claim of differential privacy says nothing about time, so nothing here violates it. Somebody
who can watch single releases on the machine that makes them sees more than the release, though;
whole files, released at once, hide it (Haney et al. 2022, "Precision-based attacks and interval
refining", and Jin et al. 2022, "Are we there yet? Timing and floating-point attacks on
differential privacy systems").
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from neuroveil.audit.mechanism.canaries import dense_row
from neuroveil.audit.mechanism.estimators import LEVEL
from neuroveil.audit.subject import Subject, SubjectFacts, check_releases
from neuroveil.errors import ChainError
from neuroveil.types.audit import AttackResult, AuditCurve, AuditFigure, Verdict
from neuroveil.types.recording import FloatArray

ATTACK = "timing"
FALSE_ALARM = 1e-6
"""Chance at most that equal times are called different."""

FEWEST_CALLS = 20
_QUANTILES = np.linspace(0.02, 0.98, 25)
_DETECTABLE = 0.4  # largest distance of an AUC from chance that still counts as testable


def audit_timing(subject: Subject, n_calls: int = 400, seed: int | None = None) -> AttackResult:
    """Time single releases of two rows, in random order.

    Parameters
    ----------
    subject : Subject
        What is audited.
    n_calls : int
        Timed releases of each row, at least 20.
    seed : int, optional
        For a repeatable subject.

    Returns
    -------
    AttackResult
        Weak where time tells rows or noise apart beyond a chance of one in a million.

    Raises
    ------
    ChainError
        If there are too few calls.
    """
    if n_calls < FEWEST_CALLS:
        raise ChainError("timing", f"at least {FEWEST_CALLS} calls", f"{n_calls}", "Ask for more.")
    facts = subject.facts
    far = dense_row(facts)
    times, loudness = _measure(subject, (np.zeros_like(far), far), n_calls, seed)
    rows = _auc(times[0], times[1])
    null = _auc(times[0][::2], times[0][1::2])
    noise = _rank_correlation(times[0], loudness)
    return _result(facts, times, (rows, null, noise), n_calls)


@dataclass(frozen=True)
class _Score:
    """A statistic that is 0 by chance, with its standard error there."""

    value: float
    error: float
    n: int

    @property
    def p_value(self) -> float:
        return math.erfc(abs(self.value) / self.error / math.sqrt(2))

    @property
    def detectable(self) -> float:
        """Value that would have passed for more than chance."""
        from scipy.special import ndtri

        return float(-ndtri(FALSE_ALARM / 2)) * self.error


def _measure(
    subject: Subject, rows: tuple[FloatArray, FloatArray], n_calls: int, seed: int | None
) -> tuple[tuple[FloatArray, FloatArray], FloatArray]:
    """Seconds of each call by row, and mean absolute noise of the calls with zeros."""
    order = np.random.default_rng(0).permutation(np.repeat([0, 1], n_calls)).tolist()
    seconds: tuple[list[float], list[float]] = ([], [])
    loudness: list[float] = []
    for row in rows:  # the first call of a program or library is slow for reasons of its own
        subject.run(row, 1, seed)
    for number, which in enumerate(order):
        start = time.perf_counter()
        values = subject.run(rows[which], 1, None if seed is None else seed + number)
        seconds[which].append(time.perf_counter() - start)
        if which == 0:
            loudness.append(float(np.abs(check_releases(values, 1)).mean()))
    return (np.array(seconds[0]), np.array(seconds[1])), np.array(loudness)


def _auc(first: FloatArray, second: FloatArray) -> _Score:
    """Chance that the second row takes longer, less one half (Mann and Whitney 1947)."""
    from scipy.stats import rankdata

    n, m = len(first), len(second)
    ranks = rankdata(np.concatenate([first, second]))
    auc = (float(ranks[n:].sum()) - m * (m + 1) / 2) / (n * m)
    return _Score(auc - 0.5, math.sqrt((n + m + 1) / (12 * n * m)), n + m)


def _rank_correlation(one: FloatArray, other: FloatArray) -> _Score:
    from scipy.stats import rankdata

    ranks = [rankdata(each) for each in (one, other)]
    if any(float(np.ptp(each)) == 0 for each in ranks):
        return _Score(0.0, 1 / math.sqrt(len(one) - 1), len(one))
    value = float(np.corrcoef(ranks[0], ranks[1])[0, 1])
    return _Score(value, 1 / math.sqrt(len(one) - 1), len(one))


def _result(
    facts: SubjectFacts,
    times: tuple[FloatArray, FloatArray],
    scores: tuple[_Score, _Score, _Score],
    n_calls: int,
) -> AttackResult:
    rows, null, noise = scores
    verdict, sentence = _judge(rows, noise)
    reach = 1.96  # of a 95 % interval
    return AttackResult(
        attack=ATTACK,
        title="Time",
        question="Does the time of a release tell which row it was, or how much noise it got?",
        target=facts.name,
        verdict=verdict,
        sentence=sentence,
        figures=(
            AuditFigure(
                "auc_rows", "Two rows told apart by time (AUC; 0.5 is chance)", 0.5 + rows.value,
                0.5 + rows.value - reach * rows.error, 0.5 + rows.value + reach * rows.error,
                LEVEL, rows.n, control=0.5 + null.value,
                control_low=0.5 + null.value - reach * null.error,
                control_high=0.5 + null.value + reach * null.error,
                smallest_detectable=0.5 + rows.detectable, theory=0.5,
            ),
            AuditFigure(
                "noise_correlation", "Rank correlation of time and size of the noise", noise.value,
                noise.value - reach * noise.error, noise.value + reach * noise.error,
                LEVEL, noise.n, smallest_detectable=noise.detectable, theory=0.0,
            ),
        ),
        curves=(_curve(times),),
        limits=(
            "The whole call was timed, on this machine, while it did other things too: a "
            "difference that is small beside those would not be seen.",
            "The claim says nothing about time; this is about somebody who can watch single "
            "releases being made. Releasing whole files hides it.",
        ),
        settings={"n_calls": n_calls, "false_alarm": FALSE_ALARM},
    )  # fmt: skip


def _judge(rows: _Score, noise: _Score) -> tuple[Verdict, str]:
    if rows.p_value < FALSE_ALARM / 2:
        return "weak", (
            f"A release of zeros and one of a full row take different times (AUC "
            f"{0.5 + rows.value:.2f}). Release whole files, so that nobody can time single rows."
        )
    if noise.p_value < FALSE_ALARM / 2:
        return "weak", (
            f"Time grows with the noise that was drawn (rank correlation {noise.value:.2f}). "
            "Release whole files, so that nobody can time single rows."
        )
    if rows.detectable > _DETECTABLE:
        return "not_testable", f"{rows.n} timed releases are too few to tell times apart."
    return "no_attack_succeeded", "Time tells neither rows nor the size of the noise apart."


def _curve(times: tuple[FloatArray, FloatArray]) -> AuditCurve:
    """Quantiles of the time of a full row; the control are those of zeros."""
    zero, full = (np.quantile(each * 1e6, _QUANTILES) for each in times)
    return AuditCurve(
        "time", "Time of a release of a full row; dashed, of zeros",
        "share of the releases", "time (µs)",
        tuple(map(float, _QUANTILES)), tuple(map(float, full)), control=tuple(map(float, zero)),
    )  # fmt: skip
