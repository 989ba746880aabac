from datetime import date

import numpy as np
import pytest

from neuroveil.errors import StudyError
from neuroveil.simulate import (
    CohortSpec,
    cohort_patient_list,
    plan_cohort,
    simulate_patient_list,
    written_elsewhere,
)
from neuroveil.simulate.patient_list import FIELDS
from neuroveil.simulate.patient_names import STOCKS


@pytest.mark.parametrize("population", list(STOCKS))
def test_lists_have_names_of_their_population_and_real_dates(population):
    people = simulate_patient_list(500, np.random.default_rng(1), population)
    assert tuple(people) == FIELDS
    assert {len(values) for values in people.values()} == {500}
    assert set(people["given_name"]) <= set(STOCKS[population].given)
    assert all(1930 <= date.fromisoformat(day).year <= 2004 for day in people["birth_date"])
    assert set(people["sex"]) == {"F", "M"}


def test_names_are_skewed_as_real_ones_are():
    people = simulate_patient_list(3000, np.random.default_rng(1), "vietnamese")
    assert 0.2 < people["surname"].count("Nguyễn") / 3000 < 0.4


def test_mistakes_are_made_as_often_as_asked_for():
    people = simulate_patient_list(4000, np.random.default_rng(2))
    again = written_elsewhere(people, np.random.default_rng(3), 0.2)
    wrong = {
        name: np.mean([a != b for a, b in zip(people[name], again[name], strict=True)])
        for name in FIELDS
    }
    assert abs(wrong["surname"] - 0.2) < 0.04
    assert abs(wrong["sex"] - 0.02) < 0.01
    assert all(date.fromisoformat(day) for day in again["birth_date"])
    assert written_elsewhere(people, np.random.default_rng(3), 0.0) == people


def test_a_cohort_plants_the_same_people_at_the_last_hospital():
    spec = CohortSpec(n_patients=10, n_in_two_hospitals=3)
    first, again = plan_cohort(spec).patients[:3], plan_cohort(spec).patients[-3:]
    assert [p.signature for p in first] == [p.signature for p in again]
    assert {p.hospital for p in first} == {"hospital-1"}
    assert {p.hospital for p in again} == {"hospital-2"}
    assert len({p.patient for p in plan_cohort(spec).patients}) == 10


def test_the_list_beside_a_cohort_misspells_the_last_of_them():
    spec = CohortSpec(n_patients=10, n_in_two_hospitals=3)
    people = cohort_patient_list(spec)
    assert people["patient"] == [p.patient for p in plan_cohort(spec).patients]
    for name in FIELDS[:1] + FIELDS[2:]:
        assert people[name][:3] == people[name][-3:]
    assert people["surname"][:2] == people["surname"][-3:-1]
    assert people["surname"][2] != people["surname"][-1]
    assert sorted(people["surname"][2]) == sorted(people["surname"][-1])


def test_what_cannot_be_simulated_is_refused():
    with pytest.raises(StudyError, match="at least 1"):
        simulate_patient_list(0, np.random.default_rng(1))
    with pytest.raises(StudyError, match="n_in_two_hospitals"):
        CohortSpec(n_patients=10, n_hospitals=1, n_in_two_hospitals=1)
    with pytest.raises(StudyError, match="n_in_two_hospitals"):
        CohortSpec(n_patients=10, n_in_two_hospitals=6)
