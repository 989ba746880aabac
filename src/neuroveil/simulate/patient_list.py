"""Patient lists of people who do not exist, and of the same people at another hospital.

Names, dates, postcodes and the mistakes that are made when they are typed: letters that are
exchanged, left out, doubled or hit beside, accents that a keyboard does not have, a date with its
digits in another order, a move to another place.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta

import numpy as np

from neuroveil.errors import StudyError, StudyMistake
from neuroveil.simulate.patient_names import STOCKS, Population
from neuroveil.simulate.spec import CohortSpec

FIELDS = ("given_name", "surname", "birth_date", "sex", "postcode")
"""Columns of a list."""

PatientList = dict[str, list[str]]

_EARLIEST, _DAYS = date(1930, 1, 1), 75 * 365
_NEIGHBOURS = {
    letter: row[max(0, place - 1) : place] + row[place + 1 : place + 2]
    for row in ("qwertyuiop", "asdfghjkl", "zxcvbnm", "1234567890")
    for place, letter in enumerate(row)
}
_WITHOUT_ACCENT = str.maketrans("åøöäüéðþđ", "aooaueðtd")


def simulate_patient_list(
    n_patients: int, rng: np.random.Generator, population: Population = "nordic"
) -> PatientList:
    """Draw a list of made-up patients.

    Parameters
    ----------
    n_patients : int
        Rows, at least 1.
    rng : numpy.random.Generator
        Seeded; these people do not exist.
    population : {"nordic", "vietnamese", "english"}
        Whose names.

    Returns
    -------
    dict of str to list of str
        Columns by name, see :data:`FIELDS`.

    Raises
    ------
    StudyError
        If there would be nobody, or the population is not known.
    """
    if n_patients < 1 or population not in STOCKS:
        raise StudyError([StudyMistake(
            "simulate.patients", f"at least 1, and names of: {', '.join(STOCKS)}",
            f"{n_patients}, {population!r}", "Change this setting.",
        )])  # fmt: skip
    given, family = STOCKS[population].draw(rng, n_patients)
    days = rng.integers(0, _DAYS, n_patients).tolist()
    return {
        "given_name": given,
        "surname": family,
        "birth_date": [(_EARLIEST + timedelta(days=day)).isoformat() for day in days],
        "sex": rng.choice(["F", "M"], n_patients).tolist(),
        "postcode": [str(1000 + 37 * rank % 9000) for rank in _places(rng, n_patients)],
    }


def _places(rng: np.random.Generator, n: int) -> list[int]:
    """Draw where people live: half of them in few places, by Zipf's law over 2000."""
    weights = 1.0 / np.arange(1, 2001)
    ranks: list[int] = rng.choice(2000, n, p=weights / weights.sum()).tolist()
    return ranks


def cohort_patient_list(spec: CohortSpec, population: Population = "nordic") -> PatientList:
    """Draw the patient list beside a simulated cohort.

    Parameters
    ----------
    spec : CohortSpec
        Of the cohort.
    population : {"nordic", "vietnamese", "english"}
        Whose names.

    Returns
    -------
    dict of str to list of str
        The column ``patient`` holds the cohort's participant keys, in order; then
        :data:`FIELDS`. Patients whom the cohort plants in two hospitals stand there twice, and
        at the second hospital the last of them has a misspelt family name.
    """
    rng = np.random.default_rng(np.random.SeedSequence(spec.seed, spawn_key=(2**31,)))
    n_again = spec.n_in_two_hospitals
    people = simulate_patient_list(spec.n_patients - n_again, rng, population)
    again = {name: values[:n_again] for name, values in people.items()}
    if n_again:
        again["surname"] = [*again["surname"][:-1], _swapped(again["surname"][-1], rng)]
    patients = [f"sub-{number + 1:04d}" for number in range(spec.n_patients)]
    return {"patient": patients} | {name: people[name] + again[name] for name in FIELDS}


def written_elsewhere(
    people: PatientList, rng: np.random.Generator, error_rate: float = 0.2
) -> PatientList:
    """Write the same people down again, as another hospital might.

    Parameters
    ----------
    people : dict of str to list of str
        As :func:`simulate_patient_list` gives them.
    rng : numpy.random.Generator
        Seeded.
    error_rate : float
        Probability of a mistake in each name and date; a fifth of it for sex and half of it
        for a move to another place. From 0 to 1.

    Returns
    -------
    dict of str to list of str
        The same rows in the same order, some with mistakes.
    """
    changes: dict[str, tuple[float, Callable[[str, np.random.Generator], str]]] = {
        "given_name": (1.0, _mistyped),
        "surname": (1.0, _mistyped),
        "birth_date": (0.5, _misdated),
        "sex": (0.1, lambda value, _: "M" if value == "F" else "F"),
        "postcode": (0.5, lambda _, rng: str(rng.integers(1000, 10000))),
    }
    written = {}
    for name, values in people.items():
        share, change = changes.get(name, (0.0, _mistyped))
        is_wrong = rng.random(len(values)) < share * error_rate
        written[name] = [
            change(value, rng) if wrong else value
            for value, wrong in zip(values, is_wrong, strict=True)
        ]
    return written


def _mistyped(name: str, rng: np.random.Generator) -> str:
    """Make one mistake in a name."""
    plain = name.lower().translate(_WITHOUT_ACCENT)
    kinds = [_swapped, _left_out, _doubled, _hit_beside]
    if plain != name.lower() and rng.random() < 0.5:
        return plain.capitalize()
    return kinds[int(rng.integers(len(kinds)))](name, rng)


def _swapped(name: str, rng: np.random.Generator) -> str:
    places = [i for i in range(len(name) - 1) if name[i].lower() != name[i + 1].lower()]
    if not places:
        return _doubled(name, rng)
    i = int(rng.choice(places))
    return name[:i] + name[i + 1] + name[i] + name[i + 2 :]


def _left_out(name: str, rng: np.random.Generator) -> str:
    if len(name) < 3:
        return _doubled(name, rng)
    i = int(rng.integers(len(name)))
    return name[:i] + name[i + 1 :]


def _doubled(name: str, rng: np.random.Generator) -> str:
    i = int(rng.integers(len(name)))
    return name[: i + 1] + name[i:]


def _hit_beside(name: str, rng: np.random.Generator) -> str:
    places = [i for i, letter in enumerate(name) if letter.lower() in _NEIGHBOURS]
    if not places:
        return _doubled(name, rng)
    i = int(rng.choice(places))
    return name[:i] + str(rng.choice(list(_NEIGHBOURS[name[i].lower()]))) + name[i + 1 :]


def _misdated(text: str, rng: np.random.Generator) -> str:
    """Exchange day and month where that is a date, or miss by a day or a year."""
    day = date.fromisoformat(text)
    if day.day <= 12 and day.day != day.month and rng.random() < 0.5:
        return day.replace(month=day.day, day=day.month).isoformat()
    return (day + timedelta(days=int(rng.choice([-1, 1, 10, 365])))).isoformat()
