"""Whom the constants stand for, and whom they do not."""

from __future__ import annotations

from neuroveil.errors import StudyError, StudyMistake
from neuroveil.reference.model import POPULATIONS, Reference

_DIFFERENCES = {
    "adults": (
        "Adults of other ages or with an illness differ from them: alpha slows down and "
        "becomes weaker with age, medicines change beta power."
    ),
    "children": (
        "Children have several times the slow-wave power of adults and a slower alpha "
        "rhythm, so nearly all of their values lie on one side of these centres."
    ),
    "elderly": (
        "In elderly people the alpha rhythm is slower and weaker and slow activity is "
        "stronger, so their values lie to one side of these centres."
    ),
    "sleep": (
        "Sleep has several times the slow-wave power of wakefulness and no alpha rhythm, so "
        "nearly all values lie on one side of these centres."
    ),
    "mixed": (
        "In a mixed cohort, age and state of wakefulness move the values more than what "
        "tells one person from another."
    ),
}

_CONSEQUENCE = (
    "The guarantee does not depend on it, but clipping then keeps mostly what the cohort has "
    "in common, and less of what is individual survives. Build a reference from public EEG "
    "of the same kind with `neuroveil reference build`."
)


def population_caveats(reference: Reference, population: str) -> list[str]:
    """Say what is wrong with using these constants for a cohort of this kind.

    It looks at what the study declares, never at the cohort.

    Parameters
    ----------
    reference : Reference
        The constants.
    population : {"adults", "children", "elderly", "sleep", "mixed"}
        What the study declares.

    Returns
    -------
    list of str
        Sentences for a reader; empty where the reference stands for this population. What
        holds for every cohort stands in ``reference.caveats``.

    Raises
    ------
    StudyError
        If there is no such population.
    """
    if population not in _DIFFERENCES:
        raise StudyError([
            StudyMistake(
                "input.population", f"one of {', '.join(POPULATIONS)}", repr(population),
                "Say which kind of people or recordings the cohort consists of.",
            )
        ])  # fmt: skip
    if population in reference.provenance.covers:
        return []
    who = reference.provenance
    return [
        f"The public constants {reference.title!r} rest on {who.n_people} people: "
        f"{who.population}.",
        _DIFFERENCES[population],
        _CONSEQUENCE,
    ]
