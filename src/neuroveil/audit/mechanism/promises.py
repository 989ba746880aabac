"""What a noise scale means for a claim."""

from __future__ import annotations

import math

from neuroveil.audit.mechanism.canaries import dense_row, row_clip, sparse_row
from neuroveil.audit.mechanism.laws import AdditiveLaw
from neuroveil.audit.mechanism.noise_scale import RowBound
from neuroveil.audit.subject import SubjectFacts
from neuroveil.privacy.calibration import gaussian_epsilon


def supported_epsilon(facts: SubjectFacts, law: AdditiveLaw) -> float:
    """Give the epsilon that noise supports at the claim's delta, under replace-one.

    Parameters
    ----------
    facts : SubjectFacts
        Dimension, clipping norm and delta of the claim.
    law : AdditiveLaw
        The noise, at the scale that is asked about.

    Returns
    -------
    float
        Gaussian noise: exact, and infinite for a pure claim. Laplace noise: exact for a pure
        claim; else of the worse of two pairs of rows (all columns, one column), which the claim
        cannot go below.
    """
    if law.family == "gaussian":
        if facts.delta == 0:
            return math.inf
        sensitivity = row_clip(facts).sensitivity("replace_one", "l2", facts.dimension)
        return gaussian_epsilon(sensitivity, law.scale, facts.delta)
    if facts.delta == 0:
        return row_clip(facts).sensitivity("replace_one", "l1", facts.dimension) / law.scale
    rows = (dense_row(facts), sparse_row(facts))
    return max(law.trade_off(row, -row).epsilon(facts.delta) for row in rows)


def row_bound(facts: SubjectFacts) -> RowBound:
    """Give the largest norms of one bounded row.

    Parameters
    ----------
    facts : SubjectFacts
        Dimension and clipping norm.

    Returns
    -------
    RowBound
        In both norms, on the scaled axis (no unit).
    """
    clip = row_clip(facts)
    return RowBound(
        clip.sensitivity("replace_one", "l2", facts.dimension) / 2,
        clip.sensitivity("replace_one", "l1", facts.dimension) / 2,
    )
