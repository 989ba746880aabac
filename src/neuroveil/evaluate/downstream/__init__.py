"""What a classifier can still do with rows, or with what else may be shared of them.

Everything here is internal: it rests on private rows and labels.

:mod:`~neuroveil.evaluate.downstream.paper` repeats the check of the paper as it was done;
:mod:`~neuroveil.evaluate.downstream.scores` turns calls into figures and intervals.
"""

from neuroveil.evaluate.downstream.paper import (
    BASELINE_GRID,
    PROTECTED_GRID,
    leave_one_out_probabilities,
    paper_protocol,
    paper_result,
)

__all__ = [
    "BASELINE_GRID",
    "PROTECTED_GRID",
    "leave_one_out_probabilities",
    "paper_protocol",
    "paper_result",
]
