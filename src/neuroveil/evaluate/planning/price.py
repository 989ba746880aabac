"""What the number of columns costs."""

from __future__ import annotations

import math

from neuroveil.evaluate.planning.question import PlanQuestion
from neuroveil.privacy.codebook.design import affordable_codewords
from neuroveil.privacy.mechanisms.contract import CodebookOptions, MechanismSpec
from neuroveil.privacy.mechanisms.registry import make_mechanism
from neuroveil.types.planning import DimensionPrice


def price_of_dimension(
    label: str, dimension: int, question: PlanQuestion, epsilon: float
) -> DimensionPrice:
    """Price a number of columns for plain rows that fill the clipping norm.

    Parameters
    ----------
    label : str
        Name of this size, such as ``"33 x 11"``.
    dimension : int
        Number d of columns.
    question : PlanQuestion
        For clipping norm, delta and number of patients.
    epsilon : float
        Epsilon of a row.

    Returns
    -------
    DimensionPrice
        Noise in a cell is the same for every d with ``gaussian`` and grows with sqrt(d) with
        ``laplace``, while the signal in a cell shrinks as C / sqrt(d).

    Raises
    ------
    ChainError
        If a number is out of its range.
    """
    correlations = {}
    for name in ("privunit", "gaussian", "laplace"):
        delta = question.delta if name == "gaussian" else 0.0
        if name == "gaussian" and delta == 0:
            continue
        largest = question.largest_codebook or affordable_codewords(question.n_patients, dimension)
        spec = MechanismSpec(
            name, epsilon, delta, question.clip_norm, "l2", dimension, CodebookOptions(largest)
        )
        correlations[name] = make_mechanism(spec).predict().correlation
    root = math.sqrt(dimension)
    return DimensionPrice(label, dimension, root, epsilon, question.clip_norm / root, correlations)
