import csv
from datetime import date

import numpy as np
import pytest

from neuroveil.simulate import CohortSpec, write_patient_lists
from neuroveil.simulate.patient_numbers import synthetic_number

stdnum = pytest.importorskip("stdnum.no.fodselsnummer")


@pytest.mark.parametrize("birth", [date(1930, 1, 31), date(1999, 12, 1), date(2004, 6, 9)])
def test_numbers_are_valid_but_for_a_month_that_nobody_was_born_in(birth):
    rng = np.random.default_rng(3)
    for _ in range(50):
        number = synthetic_number(birth, rng)
        assert number[9] == stdnum.calc_check_digit1(number)
        assert number[10] == stdnum.calc_check_digit2(number)
        assert int(number[2:4]) == birth.month + 80
        real = f"{number[:2]}{birth.month:02d}{number[4:]}"
        assert stdnum.get_birth_date(real) == birth


def test_each_hospital_has_its_list_and_three_people_stand_in_both(tmp_path):
    spec = CohortSpec(n_patients=12, n_hospitals=2, n_in_two_hospitals=3)
    files = write_patient_lists(tmp_path, spec)
    first, second = (list(csv.DictReader(file.open(encoding="utf-8"))) for file in files)
    assert len(first) + len(second) == 12
    both = {row["patient_number"] for row in first} & {row["patient_number"] for row in second}
    assert both == {first[0]["patient_number"]}
    assert [row["patient_number"] for row in second[-3:]] == [first[0]["patient_number"], "", ""]
    born = {row["birth_date"] for row in first}
    assert [row["birth_date"] in born for row in second[-3:]] == [True, True, True]
    assert second[-1]["surname"] not in {row["surname"] for row in first[:3]}
