"""Patient lists of a simulated cohort as files, with national numbers that nobody has.

Norway's tax administration adds 80 to the month of made-up people, so that these numbers have
right check digits and can never be a real person's.
"""

from __future__ import annotations

import csv
from datetime import date
from pathlib import Path

import numpy as np

from neuroveil.simulate.patient_list import FIELDS, cohort_patient_list
from neuroveil.simulate.people import plan_cohort
from neuroveil.simulate.spec import CohortSpec

LISTS = "sourcedata"
"""Folder below the cohort's, which BIDS leaves to its owner."""

_FIRST_WEIGHTS = (3, 7, 6, 1, 8, 9, 4, 5, 2)
_SECOND_WEIGHTS = (5, 4, 3, 2, 7, 6, 5, 4, 3, 2)


def synthetic_number(birth: date, rng: np.random.Generator) -> str:
    """Draw a Norwegian national number of a person who does not exist.

    Parameters
    ----------
    birth : date
        Date of birth, from 1930 to 2039.
    rng : numpy.random.Generator
        Seeded.

    Returns
    -------
    str
        Eleven digits: the month is 80 too high, the two check digits are right.
    """
    low, high = (0, 500) if birth.year < 2000 else (500, 1000)
    while True:
        start = f"{birth.day:02d}{birth.month + 80:02d}{birth.year % 100:02d}"
        digits = [int(digit) for digit in f"{start}{rng.integers(low, high):03d}"]
        for weights in (_FIRST_WEIGHTS, _SECOND_WEIGHTS):
            total = sum(weight * digit for weight, digit in zip(weights, digits, strict=True))
            digits.append(-total % 11)
        if max(digits) < 10:  # one in six has no check digit, and is never given out
            return "".join(map(str, digits))


def write_patient_lists(folder: Path, spec: CohortSpec) -> tuple[Path, ...]:
    """Write each hospital's patient list beside a simulated cohort.

    Of the people whom the cohort plants in two hospitals, the first has the same number in
    both; of the others the second hospital has no number, and the last one's family name is
    misspelt there.

    Parameters
    ----------
    folder : Path
        Of the cohort.
    spec : CohortSpec
        Of the cohort.

    Returns
    -------
    tuple of Path
        One CSV file a hospital, with the columns ``patient``, ``patient_number`` and
        :data:`~neuroveil.simulate.patient_list.FIELDS`.
    """
    people = cohort_patient_list(spec)
    rng = np.random.default_rng(np.random.SeedSequence(spec.seed, spawn_key=(2**31, 1)))
    numbers = [synthetic_number(date.fromisoformat(day), rng) for day in people["birth_date"]]
    if spec.n_in_two_hospitals:
        numbers[-spec.n_in_two_hospitals :] = [numbers[0]] + [""] * (spec.n_in_two_hospitals - 1)
    hospitals = [patient.hospital for patient in plan_cohort(spec).patients]
    (folder / LISTS).mkdir(parents=True, exist_ok=True)
    files = []
    for hospital in sorted(set(hospitals)):
        file = folder / LISTS / f"{hospital}.csv"
        with file.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["patient", "patient_number", *FIELDS])
            writer.writerows(
                [people["patient"][row], numbers[row], *(people[name][row] for name in FIELDS)]
                for row, where in enumerate(hospitals)
                if where == hospital
            )
        files.append(file)
    return tuple(files)
