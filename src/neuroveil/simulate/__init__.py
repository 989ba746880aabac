"""Cohorts of made-up patients with known truth, for demonstrations, planning and tests.

Nothing here comes from a real person, so this is the one room in which a seed is allowed.

:func:`simulate_cohort` writes real EDF+ files in a BIDS layout and returns what it planted
in them. :func:`simulate_rows` and :func:`spectrum_rows` draw feature rows directly, for
rehearsals and for the tables of the mathematics.
"""

from neuroveil.simulate.cohort import Progress, simulate_cohort
from neuroveil.simulate.patient_list import (
    cohort_patient_list,
    simulate_patient_list,
    written_elsewhere,
)
from neuroveil.simulate.patient_numbers import write_patient_lists
from neuroveil.simulate.people import plan_cohort
from neuroveil.simulate.rows import simulate_rows, spectrum_basis, spectrum_rows
from neuroveil.simulate.spec import CohortSpec
from neuroveil.simulate.truth import CohortTruth, PatientTruth, SessionTruth

__all__ = [
    "CohortSpec",
    "CohortTruth",
    "PatientTruth",
    "Progress",
    "SessionTruth",
    "cohort_patient_list",
    "plan_cohort",
    "simulate_cohort",
    "simulate_patient_list",
    "simulate_rows",
    "spectrum_basis",
    "spectrum_rows",
    "write_patient_lists",
    "written_elsewhere",
]
