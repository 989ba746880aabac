"""A black-box run as a result: bounds beside their controls, oracle, cap and limits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict

import numpy as np

from neuroveil.audit.mechanism.black_box import PURE_DELTA, BlackBoxSettings, Duel, duel
from neuroveil.audit.mechanism.estimators import (
    clopper_pearson,
    epsilon_cap,
    smallest_detectable_epsilon,
    verdict_level,
)
from neuroveil.audit.mechanism.gaussian_dp import GaussianEstimate
from neuroveil.audit.mechanism.laws import AdditiveLaw, CodewordLaw
from neuroveil.audit.subject import Subject, SubjectFacts
from neuroveil.types.audit import AttackResult, AuditCurve, AuditFigure, Verdict
from neuroveil.types.recording import FloatArray

_CURVE_POINTS = 41
_TOLD_FROM_CHANCE = 3.97
"""(1.96 + 0.85) sqrt(2): a mu this far from 0, over sqrt(n), is seen in 80 of 100 runs."""


def audit_black_box(
    subject: Subject,
    settings: BlackBoxSettings,
    progress: Callable[[float], None] | None = None,
) -> AttackResult:
    """Attack a mechanism as a black box and hold the bounds against its claim.

    Parameters
    ----------
    subject : Subject
        What is audited.
    settings : BlackBoxSettings
        Trials, level, pairs.
    progress : callable, optional
        Called with the finished share of the trials, from 0 to 1.

    Returns
    -------
    AttackResult
        Certified bound, cap, rates, and the Gaussian estimate where its fit passes.

    Raises
    ------
    ChainError
        If the subject gives what no release can be.
    """
    run = duel(subject, settings, progress)
    facts, gaussian = subject.facts, run.gaussian
    bound = _bound_figure(facts, run)
    figures = [bound, _cap_figure(facts, run), *_rate_figures(run)]
    limits = [
        "A lower bound says what was found, never that there is nothing else: another pair of "
        "tables, another score or more trials may find more.",
        f"{run.certified.n_trials} certifying trials a side show an epsilon of "
        f"{figures[1].value:.3g} at most, whatever the truth, and a failure that comes less often "
        "than once in as many releases is not seen.",
    ]
    if gaussian is not None and gaussian.fits:
        figures += _gaussian_figures(facts, gaussian, run.gaussian_control)
        limits.append(
            "The Gaussian estimate takes scores as normal. A test found nothing against that"
            + (
                "."
                if _estimate_decides(facts)
                else "; it does not decide, since no Gaussian noise is promised: scores of other "
                "noise look normal too where they are many, and part from it where delta is."
            )
        )
    else:
        limits.append("The scores are not normal, so the Gaussian estimate was not used.")
    verdict, sentence = _judge(facts, run, bound)
    return AttackResult(
        attack="black_box",
        title="Black box: two neighbouring tables told apart",
        question="Can releases of two tables that differ in one patient be told apart better "
        "than the claim allows?",
        target=facts.name,
        verdict=verdict,
        sentence=sentence,
        figures=tuple(figures),
        curves=(_curve(run),),
        limits=tuple(limits),
        settings={
            "n_trials": settings.n_trials, "level": settings.level,
            "verdict_level": verdict_level(settings.level), "pair": run.pair.name,
            "seed": settings.seed if facts.repeatable else None, "delta": facts.delta,
        },
    )  # fmt: skip


def _judge(facts: SubjectFacts, run: Duel, bound: AuditFigure) -> tuple[Verdict, str]:
    said = f"epsilon {facts.epsilon:g}" + (f" at delta {facts.delta:g}" if facts.delta else "")
    strict, gaussian = verdict_level(run.certified.level), run.gaussian
    certain = run.certified.bound_at(facts.delta, strict)
    if certain > facts.epsilon:
        return "violated", (
            f"Releases of two neighbouring tables were told apart so well that epsilon is at "
            f"least {certain:.3g}, where {said} is claimed."
        )
    if gaussian is not None and gaussian.fits and _estimate_decides(facts):
        certain = gaussian.epsilon_low_at(facts.delta or PURE_DELTA, strict)
        if certain > facts.epsilon:
            delta = f" at delta {PURE_DELTA:g}" if not facts.delta else ""
            return "violated", (
                f"Scores of the attack are normal and so far apart that epsilon is at least "
                f"{certain:.3g}{delta}, where {said} is claimed."
            )
    if run.certified.bound > facts.epsilon:
        return "no_attack_succeeded", (
            f"A bound of {run.certified.bound:.3g} lies above the claim of {said}, as it does in "
            "one sound run in twenty at most. Run again with more trials."
        )
    shown = f"Telling releases apart certified an epsilon of {run.certified.bound:.3g}"
    if gaussian is not None and gaussian.fits:
        estimate = f"{gaussian.epsilon_low:.3g} to {gaussian.epsilon_high:.3g}"
        beyond = gaussian.epsilon_low > facts.epsilon and not _estimate_decides(facts)
        return "no_attack_succeeded", (
            f"{shown}, and by the Gaussian estimate it is {estimate}; {said} is claimed."
            + (" The estimate is above the claim and proves nothing here." if beyond else "")
        )
    if bound.smallest_detectable == math.inf:
        return "not_testable", (
            f"{run.certified.n_trials} certifying trials a side cannot tell any mechanism from "
            f"one that keeps {said}."
        )
    return "no_attack_succeeded", f"{shown}; {said} is claimed."


def _estimate_decides(facts: SubjectFacts) -> bool:
    """Whether the Gaussian estimate may break a claim: only where Gaussian noise is promised.

    A law that is nearly normal passes every test of finitely many trials, and at a delta that no
    trial reaches it may lie far from the normal one. Laplace noise in ten columns that keeps a
    pure epsilon of 5 has scores that 500 trials cannot tell from normal ones; those would have an
    epsilon of 6.7 at a delta of 1e-5.
    """
    return facts.law is not None and facts.law.family == "gaussian"


def _bound_figure(facts: SubjectFacts, run: Duel) -> AuditFigure:
    certified, law, oracle = run.certified, facts.law, None
    if isinstance(law, AdditiveLaw | CodewordLaw) and run.pair.displacement is None:
        best = law.trade_off(run.pair.first, run.pair.second)
        oracle = best.oracle(certified.n_trials, facts.delta, certified.level)
    return AuditFigure(
        "epsilon_lower_bound", "Certified lower bound of epsilon",
        certified.bound, certified.bound, math.inf, certified.level, certified.n_trials, "",
        control=run.control.bound, control_low=run.control.bound, control_high=math.inf,
        smallest_detectable=smallest_detectable_epsilon(
            facts.epsilon, facts.delta, certified.n_trials, verdict_level(certified.level)
        ),
        theory=oracle,
    )  # fmt: skip


def _cap_figure(facts: SubjectFacts, run: Duel) -> AuditFigure:
    certified = run.certified
    cap = epsilon_cap(certified.n_trials, facts.delta, certified.level)
    return AuditFigure(
        "epsilon_cap", "Largest bound that so many trials can certify",
        cap, cap, cap, certified.level, certified.n_trials,
    )  # fmt: skip


def _rate_figures(run: Duel) -> list[AuditFigure]:
    names = (
        ("true_positive_rate", "True positive rate"),
        ("false_positive_rate", "False positive rate"),
    )
    controls = run.control.rates()
    return [
        AuditFigure(
            name, f"{label} at the chosen threshold", *rate, run.certified.level,
            run.certified.n_trials, "",
            control=control[0], control_low=control[1], control_high=control[2],
        )
        for (name, label), rate, control in zip(names, run.certified.rates(), controls, strict=True)
    ]  # fmt: skip


def _gaussian_figures(
    facts: SubjectFacts, found: GaussianEstimate, control: GaussianEstimate | None
) -> list[AuditFigure]:
    delta = facts.delta or PURE_DELTA
    control = control if control is not None and control.fits else None
    return [
        AuditFigure(
            "gaussian_epsilon", f"Epsilon at delta {delta:g} by the Gaussian estimate",
            found.epsilon, found.epsilon_low, found.epsilon_high, found.level, found.n_trials, "",
            **_control(control, "epsilon"),
            smallest_detectable=found.detectable(facts.epsilon, delta, verdict_level(found.level)),
        ),
        AuditFigure(
            "gaussian_mu", "Distance of the two scores in standard deviations",
            found.mu, found.mu_low, found.mu_high, found.level, found.n_trials, "",
            **_control(control, "mu"),
            smallest_detectable=_TOLD_FROM_CHANCE / math.sqrt(found.n_trials),
        ),
    ]  # fmt: skip


def _control(estimate: GaussianEstimate | None, name: str) -> dict[str, float]:
    if estimate is None:
        return {}
    values = asdict(estimate)
    return {
        "control": values[name],
        "control_low": values[f"{name}_low"],
        "control_high": values[f"{name}_high"],
    }


def _curve(run: Duel) -> AuditCurve:
    """Rates at thresholds that are evenly spaced in the logarithm of the false positives."""
    n_trials = run.certified.n_trials
    wanted = np.geomspace(1, n_trials, _CURVE_POINTS).astype(np.int64)
    thresholds = np.sort(run.second)[n_trials - np.unique(wanted)]
    false_rates = _above(run.second, thresholds) / n_trials
    hits = _above(run.first, thresholds)
    low, high = clopper_pearson(hits, n_trials, run.certified.level)
    null = np.sort(run.null)[n_trials - np.unique(wanted)]
    return AuditCurve(
        "roc", "How well two tables are told apart", "False positive rate", "True positive rate",
        tuple(false_rates.tolist()), tuple((hits / n_trials).tolist()),
        tuple(low.tolist()), tuple(high.tolist()),
        tuple((_above(run.first, null) / n_trials).tolist()),
    )  # fmt: skip


def _above(scores: FloatArray, thresholds: FloatArray) -> FloatArray:
    below = np.searchsorted(np.sort(scores), thresholds, side="right")
    above: FloatArray = scores.size - below.astype(np.float64)
    return above
