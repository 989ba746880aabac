"""Tier 2: whether released noise has the scale and the law that the chain promises."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from neuroveil.audit.mechanism.estimators import LEVEL, verdict_level
from neuroveil.audit.mechanism.fit import LawFit, noise_fit
from neuroveil.audit.mechanism.laws import AdditiveLaw
from neuroveil.audit.mechanism.noise_scale import (
    NoiseScale,
    detectable_scale_ratio,
    known_rows_scale,
    unknown_rows_scale,
)
from neuroveil.audit.mechanism.promises import row_bound, supported_epsilon
from neuroveil.audit.subject import SubjectFacts
from neuroveil.errors import ChainError
from neuroveil.types.audit import AttackResult, AuditFigure, Verdict
from neuroveil.types.recording import FloatArray

_TOO_FEW = 0.5
# A verdict may rest on the scale and the law of fresh runs, and on the scale of a released table.
_LOOKS = 3
_CONTROL_CELLS = 10_000_000


@dataclass(frozen=True)
class _Measured:
    """What releases show, at the confidence of figures and at that of a verdict."""

    scale: NoiseScale
    strict: NoiseScale
    fit: LawFit | None
    rows_known: bool


def audit_noise(
    facts: SubjectFacts,
    released: FloatArray,
    rows: FloatArray | None = None,
    level: float = LEVEL,
    seed: int = 0,
) -> AttackResult:
    """Measure the noise of one or more releases against what the chain promises.

    Parameters
    ----------
    facts : SubjectFacts
        Claim and promised law, which has to be additive noise.
    released : ndarray of float64, shape (n_rows, dimension)
        Released rows on the scaled axis, before post-processing; several releases below each
        other (no unit).
    rows : ndarray of float64, shape (n_rows, dimension), optional
        The bounded rows behind them, inside the hospital. Without them, rows are only known to
        lie inside the clipping norm: the scale is still measured, its law is not.
    level : float
        Confidence of intervals. A subject that keeps its promise is called violated with a
        probability of at most 1e-3, or of ``1 - level`` where that is less, also where the
        released table is measured as well as fresh runs: each of the three looks has a third.
    seed : int
        Seed of the null control, which is simulated noise of the promised law.

    Returns
    -------
    AttackResult
        Verdict, scale, the epsilon that the measured noise supports, and the fit of the law.

    Raises
    ------
    ChainError
        If no additive law is promised, or the shapes do not fit.
    """
    law = _additive(facts)
    _check_shapes(facts, released, rows)
    control = np.random.default_rng(seed)
    n_rows = min(released.shape[0], max(1, _CONTROL_CELLS // facts.dimension))
    draw = control.normal if law.family == "gaussian" else control.laplace
    noise = draw(0.0, law.scale, (n_rows, facts.dimension))
    null = known_rows_scale(noise, law.family, level)
    return _result(facts, law, _measure(facts, released, rows, level), null)


def _measure(
    facts: SubjectFacts, released: FloatArray, rows: FloatArray | None, level: float
) -> _Measured:
    family, strict = _additive(facts).family, 1 - 2 * _false_alarm(level)
    if rows is None:
        bound = row_bound(facts)
        scales = [unknown_rows_scale(released, family, bound, each) for each in (level, strict)]
        return _Measured(scales[0], scales[1], None, False)
    noise = released - rows
    scales = [known_rows_scale(noise, family, each) for each in (level, strict)]
    return _Measured(scales[0], scales[1], noise_fit(noise, family), True)


def _false_alarm(level: float) -> float:
    """Chance that one look calls a sound subject violated, at most."""
    return (1 - verdict_level(level)) / _LOOKS


def _result(
    facts: SubjectFacts, law: AdditiveLaw, measured: _Measured, null: NoiseScale
) -> AttackResult:
    scale = measured.scale
    ratio = detectable_scale_ratio(scale.n_values, law.family, measured.strict.level)
    epsilon = _epsilon_figure(facts, scale, null, ratio)
    verdict, sentence = _judge(facts, law, measured, ratio)
    figures = [_scale_figure(law, scale, null, ratio), epsilon]
    limits = [
        "The noise is compared with a law. Whether it is independent of the rows, and from one "
        "cell to the next, is for the other checks to see.",
        f"Noise that is at least {ratio:.3g} times as loud as promised may pass.",
    ]
    if measured.fit is not None:
        figures.append(_fit_figure(measured.fit, scale.level))
    else:
        limits.append(
            "The shape of the law was not tested: that takes the rows behind the release, and at "
            "least 50 cells."
        )
    return AttackResult(
        attack="noise_scale",
        title="Scale and law of the noise",
        question="Is the noise as loud, and of the law, that the chain promises?",
        target=facts.name,
        verdict=verdict,
        sentence=sentence,
        figures=tuple(figures),
        limits=tuple(limits),
        settings={
            "level": scale.level, "verdict_level": verdict_level(scale.level), "family": law.family,
            "promised_scale": law.scale, "rows_known": measured.rows_known,
        },
    )  # fmt: skip


def _judge(
    facts: SubjectFacts, law: AdditiveLaw, measured: _Measured, ratio: float
) -> tuple[Verdict, str]:
    strict, fit = measured.strict, measured.fit
    said = f"epsilon {facts.epsilon:g}" + (f" at delta {facts.delta:g}" if facts.delta else "")
    lowest = supported_epsilon(facts, AdditiveLaw(law.family, strict.high))
    if lowest > facts.epsilon:
        return (
            "violated",
            f"The noise supports no epsilon below {lowest:.3g}, where {said} is claimed.",
        )
    if strict.high < law.scale:
        return "violated", (
            f"The noise is quieter than the chain states: at most {strict.high:.5g} where "
            f"{law.scale:.5g} is promised."
        )
    if fit is not None and fit.p_value < _false_alarm(measured.scale.level):
        return "violated", (
            f"The noise does not follow the promised {law.family} law (p = {fit.p_value:.2g}), "
            "so the derivation of the claim does not apply to it."
        )
    if ratio < _TOO_FEW:
        return "not_testable", (
            f"{strict.n_values} cells are too few: noise half as loud as promised would pass."
        )
    if strict.low > law.scale:
        return "no_attack_succeeded", (
            "The noise is louder than the chain promises. That protects more and says that the "
            "chain does not describe this release."
        )
    if measured.scale.high < law.scale:
        return "no_attack_succeeded", (
            "The noise looks a little quieter than promised, as one sound release in forty does. "
            "Measure more releases."
        )
    return "no_attack_succeeded", f"The noise is as loud as {said} needs, as far as can be seen."


def _scale_figure(
    law: AdditiveLaw, scale: NoiseScale, null: NoiseScale, ratio: float
) -> AuditFigure:
    kind = "standard deviation" if law.family == "gaussian" else "Laplace scale b"
    return AuditFigure(
        "noise_scale", f"Noise scale ({kind})", scale.estimate, scale.low, scale.high,
        scale.level, scale.n_values, "",
        control=null.estimate, control_low=null.low, control_high=null.high,
        smallest_detectable=ratio * law.scale, theory=law.scale,
    )  # fmt: skip


def _epsilon_figure(
    facts: SubjectFacts, scale: NoiseScale, null: NoiseScale, ratio: float
) -> AuditFigure:
    law = _additive(facts)

    def at(value: float) -> float:
        if value <= 0:
            return math.inf
        return supported_epsilon(facts, AdditiveLaw(law.family, value))

    return AuditFigure(
        "epsilon_supported", "Epsilon that noise of the measured scale supports",
        at(scale.estimate), at(scale.high), at(scale.low), scale.level, scale.n_values, "",
        control=at(null.estimate), control_low=at(null.high), control_high=at(null.low),
        smallest_detectable=at(ratio * law.scale), theory=at(law.scale),
    )  # fmt: skip


def _fit_figure(fit: LawFit, level: float) -> AuditFigure:
    return AuditFigure(
        "law_fit_p", f"Fit of the {fit.family} law (p value, {fit.bins} bins)",
        fit.p_value, 0.0, 1.0, level, fit.n_values, "", smallest_detectable=fit.detectable,
    )  # fmt: skip


def _additive(facts: SubjectFacts) -> AdditiveLaw:
    if not isinstance(facts.law, AdditiveLaw):
        raise ChainError(
            "subject.law", "additive noise of a stated scale", "another law, or none",
            "State family and scale of the noise, or use the black-box audit.",
        )  # fmt: skip
    return facts.law


def _check_shapes(facts: SubjectFacts, released: FloatArray, rows: FloatArray | None) -> None:
    right = released.ndim == 2 and released.shape[1] == facts.dimension
    if not right or (rows is not None and rows.shape != released.shape):
        raise ChainError(
            "released rows", f"{facts.dimension} columns, and as many known rows or none",
            f"shapes {released.shape} and {None if rows is None else rows.shape}",
            "Give releases below each other, and the bounded row behind each of them.",
        )  # fmt: skip
