"""Linkage: whose row is it, for somebody who holds recordings of the same people.

Every released row is compared with the raw rows of another session, or, for the strongest
attacker, with the very rows that were released. The score is the likelihood given the public
mechanism, as if the other session's row were the one that was released.
"""

from __future__ import annotations

import numpy as np

from neuroveil.audit.mechanism.estimators import LEVEL, clopper_pearson
from neuroveil.audit.table.additive import AdditiveChannel
from neuroveil.audit.table.effort import Effort, Progress
from neuroveil.audit.table.frame import FEWEST_PATIENTS, AuditFrame, Target
from neuroveil.audit.table.links import LARGEST_ASSIGNMENT, Links, link
from neuroveil.audit.table.ranks import standing
from neuroveil.audit.table.rates import POWER_FACTOR, interval, smallest_rate
from neuroveil.audit.table.yardstick import gaussian_rank_one
from neuroveil.privacy.bounds import IntArray
from neuroveil.types.audit import AttackResult, AuditCurve, AuditFigure, Verdict
from neuroveil.types.recording import FloatArray

MARGIN = 0.05
"""A hit rate within this of chance is not called a success."""

_LARGE_EFFECT = 0.5
_FALSE_POSITIVES = (0.1, 0.01)
_MOST_POINTS = 50


def attack_linkage(
    frame: AuditFrame, target: Target, effort: Effort, progress: Progress | None = None
) -> AttackResult:
    """Attack a target by linking its rows to another session.

    Parameters
    ----------
    frame : AuditFrame
        The table, and the other session where there is one.
    target : Target
        What is attacked; it must release rows.
    effort : Effort
        How long it may take.
    progress : callable, optional
        Called with (done, total).

    Returns
    -------
    AttackResult
        Internal.

    Raises
    ------
    RecordingError
        If no patient of the table is in the other session.
    """
    links = link(frame, target, effort, progress)
    generator = effort.generator("linkage, bootstrap")
    n_mated = links.people.size
    tables = generator.integers(0, n_mated, size=(effort.n_bootstraps, n_mated))
    rank_one = _rate(links, tables, "rank_1", "Right at the first guess", links.standing.within(1))
    figures = [
        _with_theory(rank_one, target, links),
        _rate(links, tables, "rank_5", "Right among the first five", links.standing.within(5)),
        *_assignment(links, tables),
        *_open_figures(links, generator, effort.n_bootstraps),
        *_of_the_release(frame, target),
    ]
    verdict = _verdict(links, rank_one)
    return AttackResult(
        attack="linkage",
        title="Linkage",
        question="Can released rows be matched to people whose recordings somebody holds?",
        target=target.name,
        verdict=verdict,
        sentence=_sentence(frame, target, links, rank_one),
        figures=tuple(figures),
        curves=(_cmc(links, tables), _open_curve(links)),
        limits=_limits(frame, links),
        settings={
            "mechanism": target.channel.name,
            "n_links": int(links.patients.size),
            "n_candidates": links.n_candidates,
            "chance": links.chance,
            "reference": "another session" if frame.reference is not None else "the same rows",
            "margin": MARGIN,
            "bootstrap_tables": effort.n_bootstraps,
            "seed": effort.seed,
        },
    )


def _rate(links: Links, tables: IntArray, name: str, label: str, hits: FloatArray) -> AuditFigure:
    by_patient = links.by_patient(hits)
    low, high = _interval_of_rate(by_patient, tables)
    rank = 5 if name == "rank_5" else 1
    control = links.by_patient(links.control.within(rank))
    null = control[tables].mean(axis=1)
    control_low, control_high = interval(null)
    chance = min(1.0, rank * links.chance)
    return AuditFigure(
        name=name, label=label, value=float(by_patient.mean()), low=low, high=high, level=LEVEL,
        n=links.people.size, control=float(control.mean()), control_low=control_low,
        control_high=control_high,
        smallest_detectable=smallest_rate(null, chance, MARGIN),
    )  # fmt: skip


def _interval_of_rate(by_patient: FloatArray, tables: IntArray) -> tuple[float, float]:
    """Interval of a mean rate; where all patients have the same, tables drawn of them say nothing.

    Seventeen patients of seventeen do not prove that an eighteenth would be found.
    """
    if np.ptp(by_patient) > 0:
        return interval(by_patient[tables].mean(axis=1))
    low, high = clopper_pearson(np.array([by_patient.sum()]), by_patient.size, LEVEL)
    return float(low[0]), float(high[0])


def _assignment(links: Links, tables: IntArray) -> list[AuditFigure]:
    if bool(np.isnan(links.assigned).any()):
        return []
    label = "Right in the best assignment"
    return [_rate(links, tables, "assignment", label, links.assigned)]


def _with_theory(figure: AuditFigure, target: Target, links: Links) -> AuditFigure:
    """Print the yardstick beside the rate where the noise is Gaussian."""
    from dataclasses import replace

    channel = target.channel
    if not isinstance(channel, AdditiveChannel) or not channel.is_gaussian:
        return figure
    mechanism = channel.mechanism
    theory = gaussian_rank_one(mechanism.spec.clip_norm, mechanism.noise_scale, links.n_candidates)
    return replace(figure, theory=theory)


def _open_figures(
    links: Links, generator: np.random.Generator, n_bootstraps: int
) -> list[AuditFigure]:
    n = links.n_patients
    tables = generator.multinomial(n, np.full(n, 1 / n), size=min(n_bootstraps, 300))
    figures = []
    for allowed in _FALSE_POSITIVES:
        value, realised = links.open.miss_rate(allowed, np.ones(links.open_patients.size))
        if not np.isfinite(value):
            continue
        samples = np.array([
            links.open.miss_rate(allowed, table[links.open_patients].astype(np.float64))[0]
            for table in tables
        ])  # fmt: skip
        low, high = interval(samples[np.isfinite(samples)])
        half = max(1, links.n_candidates // 2)
        figures.append(AuditFigure(
            name=f"fnir_at_fpir_{allowed:g}",
            label=f"People missed where {100 * allowed:g} % of strangers are taken for somebody "
            f"(really {100 * realised:.2g} %)",
            value=value, low=low, high=high, level=LEVEL, n=n, control=1 - realised / half,
            smallest_detectable=max(
                0.0, 1 - realised / half - max(MARGIN, POWER_FACTOR * float(np.nanstd(samples)))
            ),
        ))  # fmt: skip
    return figures


def _of_the_release(frame: AuditFrame, target: Target) -> list[AuditFigure]:
    """Rank-1 on the released rows themselves, where the hospital has kept their order."""
    if target.name != "release" or frame.order is None or frame.released is None:
        return []
    candidates = target.reference_candidates
    scores = candidates.all(frame.released)
    mates = frame.mates[frame.order]
    mated = np.flatnonzero(mates >= 0)
    hits = standing(scores[mated], mates[mated]).within(1)
    low, high = clopper_pearson(np.array([hits.sum()]), mated.size, LEVEL)
    every_count = np.arange(mated.size + 1, dtype=np.float64)
    lows, _ = clopper_pearson(every_count, mated.size, LEVEL)
    enough = every_count[lows > 1 / candidates.n_rows]
    return [AuditFigure(
        "rank_1_of_the_release", "Right at the first guess, on the released rows themselves",
        float(hits.mean()), float(low[0]), float(high[0]), LEVEL, mated.size,
        control=1 / candidates.n_rows,
        smallest_detectable=float(enough[0]) / mated.size if enough.size else 1.0,
    )]  # fmt: skip


def _verdict(links: Links, rank_one: AuditFigure) -> Verdict:
    assert rank_one.smallest_detectable is not None  # every rate has one
    blind = rank_one.smallest_detectable > links.chance + _LARGE_EFFECT
    if links.people.size < FEWEST_PATIENTS or blind:
        return "not_testable"
    return "weak" if rank_one.low > links.chance + MARGIN else "no_attack_succeeded"


def _sentence(frame: AuditFrame, target: Target, links: Links, rank_one: AuditFigure) -> str:
    held = (
        "another recording of the same people"
        if frame.reference is not None
        else "the very rows behind the table"
    )
    return (
        f"Somebody who holds {held} names the right one of {links.n_candidates} people for "
        f"{100 * rank_one.value:.0f} of 100 rows of {target.label}, where guessing gives "
        f"{100 * links.chance:.0f}."
    )


def _limits(frame: AuditFrame, links: Links) -> tuple[str, ...]:
    limits = [
        "The score takes the other session's row for the one that was released; an attacker who "
        "models how people change between sessions may do better.",
        f"A hit rate within {MARGIN:g} of chance is not called a success.",
        f"The figures describe these {links.people.size} patients; with more candidates hit rates "
        "fall.",
    ]
    if frame.reference is None:
        limits[0] = (
            "The attacker holds the very rows that were released, which is as strong as it gets; "
            "with another session of the same people (--reference) rates are lower."
        )
    if bool(np.isnan(links.assigned).any()):
        limits.append(f"No best assignment among more than {LARGEST_ASSIGNMENT} people.")
    if links.people.size < FEWEST_PATIENTS:
        limits.append(f"Fewer than {FEWEST_PATIENTS} patients show nothing about other patients.")
    return tuple(limits)


def _cmc(links: Links, tables: IntArray) -> AuditCurve:
    ranks = np.unique(np.geomspace(1, links.n_candidates, _MOST_POINTS).round().astype(int))
    rates = np.array([links.by_patient(links.standing.within(int(rank))) for rank in ranks])
    low, high = np.array([interval(by_patient[tables].mean(axis=1)) for by_patient in rates]).T
    control = [float(links.by_patient(links.control.within(int(rank))).mean()) for rank in ranks]
    return AuditCurve(
        "cmc", "Right person among the likeliest (cumulative match curve)",
        "candidates that are looked at", "share of rows",
        tuple(float(rank) for rank in ranks), tuple(rates.mean(axis=1).tolist()),
        tuple(low.tolist()), tuple(high.tolist()), tuple(control),
    )  # fmt: skip


def _open_curve(links: Links) -> AuditCurve:
    axis = np.logspace(-2, 0, 21)
    every = np.ones(links.open_patients.size)
    missed = [links.open.miss_rate(float(rate), every)[0] for rate in axis]
    half = max(1, links.n_candidates // 2)
    return AuditCurve(
        "open_set", "People missed against strangers taken for somebody (half of the people known)",
        "false positive identification rate", "false negative identification rate",
        tuple(axis.tolist()), tuple(missed), control=tuple((1 - axis / half).tolist()),
    )  # fmt: skip
