"""Tier 2 for codewords: how often close ones are released, and how evenly.

A k-closest codebook adds no noise that could be measured. Its promise is a law of numbers: one
of the K codewords close to a row with probability p, uniform among them, and uniform among the
others otherwise. Epsilon is the logarithm of p (N - K) / ((1 - p) K).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from neuroveil.audit.mechanism.estimators import LEVEL, clopper_pearson, verdict_level
from neuroveil.audit.mechanism.laws import CodewordLaw
from neuroveil.audit.subject import SubjectFacts
from neuroveil.errors import ChainError
from neuroveil.privacy.bounds import IntArray
from neuroveil.privacy.codebook.design import CodebookDesign
from neuroveil.types.audit import AttackResult, AuditFigure, Verdict
from neuroveil.types.recording import FloatArray

_EXPECTED_IN_BIN = 10.0
_MOST_BINS = 50


def audit_codewords(
    facts: SubjectFacts,
    released: FloatArray,
    row: FloatArray,
    level: float = LEVEL,
    seed: int = 0,
) -> AttackResult:
    """Measure which codewords a mechanism releases for one row, many times over.

    Parameters
    ----------
    facts : SubjectFacts
        Claim and promised law, which has to be that of codewords.
    released : ndarray of float64, shape (n_trials, dimension)
        Releases of the row (no unit).
    row : ndarray of float64, shape (1, dimension)
        The bounded row (no unit).
    level : float
        Confidence of intervals. A subject that keeps its promise is called violated with a
        probability of at most 1e-3, or of ``1 - level`` where that is less.
    seed : int
        Seed of the null control, which draws from the promised law.

    Returns
    -------
    AttackResult
        Verdict, chance of a close codeword, epsilon, and how even the numbers are.

    Raises
    ------
    ChainError
        If the law is another one, or a released row is no codeword.
    """
    law = facts.law
    if not isinstance(law, CodewordLaw):
        raise ChainError(
            "subject.law", "the law of codewords", "another law, or none",
            "Use audit_noise for additive noise.",
        )  # fmt: skip
    design, close = law.mechanism.design, law.close(row[0])
    ranks, is_close = _ranks(law.numbers(released), close, design.size)
    n_trials = len(released)
    control = np.random.default_rng(seed).binomial(n_trials, design.probability)
    chance = _chance_figure(int(is_close.sum()), int(control), n_trials, design, level)
    epsilon = _epsilon_figure(chance, design)
    p_value = _evenness(ranks, is_close, design)
    strict = verdict_level(level)
    lowest = clopper_pearson(np.array([float(is_close.sum())]), n_trials, strict)[0]
    verdict, sentence = _judge(
        facts, epsilon, _epsilon_of(float(lowest[0]), design), p_value, (1 - strict) / 2
    )
    figures = [chance, epsilon]
    if p_value is not None:
        figures.append(
            AuditFigure(
                "evenness_p", "Evenness among close and among other codewords (p value)",
                p_value, 0.0, 1.0, level, n_trials,
            )
        )  # fmt: skip
    return AttackResult(
        attack="noise_scale",
        title="Law of the codewords",
        question="Are close codewords released as rarely, and as evenly, as the chain promises?",
        target=facts.name,
        verdict=verdict,
        sentence=sentence,
        figures=tuple(figures),
        limits=(
            "One row was released many times. That other rows are treated alike is for replay to "
            "see.",
        ),
        settings={
            "level": level,
            "family": law.family,
            "codewords": design.size,
            "close": design.top,
        },
    )


def _ranks(numbers: IntArray, close: IntArray, size: int) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Place of each number among its own kind, and whether it is close."""
    is_close = np.isin(numbers, close)
    order = np.empty(size, dtype=np.int64)
    marked = np.zeros(size, dtype=bool)
    marked[close] = True
    order[marked] = np.arange(len(close))
    order[~marked] = np.arange(size - len(close))
    return order[numbers], is_close


def _epsilon_of(chance: float, design: CodebookDesign) -> float:
    if chance <= 0:
        return 0.0
    if chance >= 1:
        return math.inf
    ratio = chance * (design.size - design.top) / ((1 - chance) * design.top)
    return max(0.0, math.log(ratio))


def _chance_figure(
    n_close: int, n_control: int, n_trials: int, design: CodebookDesign, level: float
) -> AuditFigure:
    counts = np.array([n_close, n_control], dtype=np.float64)
    low, high = clopper_pearson(counts, n_trials, level)
    spread = math.sqrt(design.probability * (1 - design.probability) / n_trials)
    return AuditFigure(
        "close_probability", "Chance of a close codeword",
        n_close / n_trials, float(low[0]), float(high[0]), level, n_trials, "",
        control=n_control / n_trials, control_low=float(low[1]), control_high=float(high[1]),
        smallest_detectable=min(1.0, design.probability + 4.1 * spread), theory=design.probability,
    )  # fmt: skip


def _epsilon_figure(chance: AuditFigure, design: CodebookDesign) -> AuditFigure:
    def at(value: float | None) -> float | None:
        return None if value is None else _epsilon_of(value, design)

    return AuditFigure(
        "epsilon_supported", "Epsilon of the measured chance",
        _epsilon_of(chance.value, design), _epsilon_of(chance.low, design),
        _epsilon_of(chance.high, design), chance.level, chance.n, "",
        control=at(chance.control), control_low=at(chance.control_low),
        control_high=at(chance.control_high), smallest_detectable=at(chance.smallest_detectable),
        theory=at(chance.theory),
    )  # fmt: skip


def _evenness(
    ranks: IntArray, is_close: npt.NDArray[np.bool_], design: CodebookDesign
) -> float | None:
    """P-value of uniform numbers within both kinds; nothing where there are too few."""
    from scipy.stats import chi2

    statistic, freedom = 0.0, 0
    for kind, size in ((is_close, design.top), (~is_close, design.size - design.top)):
        places = ranks[kind]
        n_bins = min(_MOST_BINS, size, int(len(places) / _EXPECTED_IN_BIN))
        if n_bins < 2:
            continue
        bins = places * n_bins // size
        counts = np.bincount(bins, minlength=n_bins)
        held = np.bincount(np.arange(size) * n_bins // size, minlength=n_bins)
        expected = len(places) * held / size
        statistic += float(np.sum((counts - expected) ** 2 / expected))
        freedom += n_bins - 1
    return float(chi2.sf(statistic, freedom)) if freedom else None


def _judge(
    facts: SubjectFacts, epsilon: AuditFigure, lowest: float, p_value: float | None, rare: float
) -> tuple[Verdict, str]:
    if lowest > facts.epsilon:
        return "violated", (
            f"Close codewords come so often that epsilon is at least {lowest:.3g}, where "
            f"{facts.epsilon:g} is claimed."
        )
    if p_value is not None and p_value < rare:
        return "violated", (
            f"Codewords of one kind are not equally likely (p = {p_value:.2g}), so the derivation "
            "of the claim does not apply."
        )
    detectable = epsilon.smallest_detectable
    if p_value is None or detectable is None or detectable > facts.epsilon + 1:
        return "not_testable", (
            f"{epsilon.n} releases are too few to see an epsilon that is larger by 1."
        )
    return "no_attack_succeeded", (
        f"Close codewords come as rarely as epsilon {facts.epsilon:g} needs, and evenly, as far as "
        "can be seen."
    )
