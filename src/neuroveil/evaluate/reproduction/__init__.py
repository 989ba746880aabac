"""The paper's tables on a cohort of ours, number by number.

:mod:`~neuroveil.evaluate.reproduction.printed` holds what the paper prints,
:mod:`~neuroveil.evaluate.reproduction.cohort` the rows,
:mod:`~neuroveil.evaluate.reproduction.contenders` the mechanisms,
:mod:`~neuroveil.evaluate.reproduction.pieces` what is to be measured,
:mod:`~neuroveil.evaluate.reproduction.work` how,
:mod:`~neuroveil.evaluate.reproduction.theory` what needs no measuring,
:mod:`~neuroveil.evaluate.reproduction.verdicts` how a number is judged, and
:mod:`~neuroveil.evaluate.reproduction.conclusion` puts it all together.
"""

from neuroveil.evaluate.reproduction.cohort import (
    ReproductionCohort,
    cohort_of_rows,
    simulated_cohort,
)
from neuroveil.evaluate.reproduction.conclusion import conclude
from neuroveil.evaluate.reproduction.contenders import contenders_for
from neuroveil.evaluate.reproduction.pieces import Piece, pieces_for
from neuroveil.evaluate.reproduction.work import do_piece

__all__ = [
    "Piece",
    "ReproductionCohort",
    "cohort_of_rows",
    "conclude",
    "contenders_for",
    "do_piece",
    "pieces_for",
    "simulated_cohort",
]
