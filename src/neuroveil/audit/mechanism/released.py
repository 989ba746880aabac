"""Tier 2 on a release itself: the noise of the table that was published, beside that of fresh runs.

A mechanism can be sound and a table still hold other noise. Whoever has the table can measure it:
nobody needs the rows behind it.
"""

from __future__ import annotations

from dataclasses import replace

from neuroveil.audit.mechanism.estimators import LEVEL
from neuroveil.audit.mechanism.noise import audit_noise
from neuroveil.audit.subject import SubjectFacts
from neuroveil.types.audit import AttackResult, overall_verdict
from neuroveil.types.recording import FloatArray


def with_released_table(
    fresh: AttackResult, facts: SubjectFacts, released: FloatArray, level: float = LEVEL
) -> AttackResult:
    """Measure a released table too, and sum up.

    Parameters
    ----------
    fresh : AttackResult
        Noise of fresh runs, from :func:`~neuroveil.audit.mechanism.noise.audit_noise`.
    facts : SubjectFacts
        Claim and promised law, which has to be additive noise.
    released : ndarray of float64, shape (n_rows, dimension)
        The released table before post-processing (no unit).
    level : float
        Confidence of intervals.

    Returns
    -------
    AttackResult
        With the severer verdict of both; figures of the table begin with ``released_``. Both
        together call a sound release violated no more often than one of them may.

    Raises
    ------
    ChainError
        If no additive law is promised, or the shape does not fit.
    """
    table = audit_noise(facts, released, None, level)
    figures = tuple(
        replace(
            figure, name=f"released_{figure.name}", label=f"{figure.label}, in the released table"
        )
        for figure in table.figures
    )
    return replace(
        fresh,
        verdict=overall_verdict((fresh, table)),
        sentence=f"Fresh runs: {fresh.sentence} The released table: {table.sentence}",
        figures=fresh.figures + figures,
        limits=(
            *fresh.limits,
            "In the released table only the scale was measured, without the rows behind it.",
        ),
    )
