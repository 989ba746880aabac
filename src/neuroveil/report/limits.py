"""What a release does not protect, how to check it, and what its words mean."""

from __future__ import annotations

from dataclasses import dataclass

from neuroveil.report.facts import Facts
from neuroveil.report.text import listing, number

_SEVEN_ADULTS = "eegmat-rest7"


@dataclass(frozen=True)
class Limit:
    """Something that the promise does not cover.

    Parameters
    ----------
    title : str
        A few words.
    sentence : str
        What follows from it.
    """

    title: str
    sentence: str


def not_protected(facts: Facts) -> tuple[Limit, ...]:
    """List what the promise does not cover.

    Parameters
    ----------
    facts : Facts
        The certificate.

    Returns
    -------
    tuple of Limit
        The most important first.
    """
    limits = [*_labels(facts), _shape(facts), _population(), _groups(facts), _further(facts)]
    return (*limits, _elsewhere(), *_reference(facts))


def _labels(facts: Facts) -> list[Limit]:
    limits = []
    unprotected = _entries(facts, "domain.unprotected")
    if unprotected:
        columns, one = _columns([str(name) for name in unprotected])
        limits.append(Limit(
            "Label columns as they are",
            f"{columns} {'stands' if one else 'stand'} in the table unchanged, without any "
            f"protection.",
        ))  # fmt: skip
    labels = [label for label in _entries(facts, "domain.labels") if isinstance(label, dict)]
    if labels:
        columns, one = _columns([str(label.get("name")) for label in labels])
        limits.append(Limit(
            "Label columns are partly random",
            f"{columns} {'is' if one else 'are'} protected by randomised response: some entries "
            f"were replaced at random, and their share of ε is part of the promise.",
        ))  # fmt: skip
    return limits


def _entries(facts: Facts, name: str) -> list[object]:
    value = facts.get(name)
    return list(value) if isinstance(value, list | tuple) else []


def _columns(names: list[str]) -> tuple[str, bool]:
    one = len(names) == 1
    return f"The column{'' if one else 's'} {listing(names)}", one


def _shape(facts: Facts) -> Limit:
    rows, columns = number(facts.get("domain.n")), number(facts.get("domain.dimension"))
    dictionary = "synthetic.json" if facts.is_central else "table.json"
    return Limit(
        "The form of the table",
        f"That it has {rows} rows and {columns} feature columns, and which columns these are, "
        f"is public ({dictionary} lists them). All of it was fixed by the roster and the study, "
        f"not by what the recordings hold.",
    )


def _population() -> Limit:
    return Limit(
        "Facts about people in general",
        "What is true of many patients, for example that a drug slows the alpha rhythm, can "
        "still be learned, and can then be applied to anyone, whether they took part or not.",
    )


def _groups(facts: Facts) -> Limit:
    epsilon = facts.figure("guarantee.epsilon")
    pair = ""
    if facts.certificate.formal_guarantee and epsilon is not None:
        pair = f"; for two people together ε is {number(2 * epsilon)}"
    return Limit(
        "Groups, and people listed twice",
        f"The promise is made to each patient singly{pair}. A person who stands on the roster "
        f"under two keys counts as two.",
    )


def _further(facts: Facts) -> Limit:
    left = facts.part("composition.remaining", "epsilon")
    room = ""
    if isinstance(left, int | float) and left >= 0:
        room = f" Of the site's budget ε = {number(left)} is left."
    return Limit(
        "Other releases",
        f"Every further release about the same patients adds its ε to this one.{room} Releases "
        f"of other sites about the same people are not counted here.",
    )


def _elsewhere() -> Limit:
    return Limit(
        "The recordings themselves",
        "They stay where they are, and the promise says nothing about how they are kept. "
        "Internal reports rest on true values and must stay with them.",
    )


def _reference(facts: Facts) -> list[Limit]:
    params = facts.part("preprocessing.scaling", "params")
    sentences = []
    if _SEVEN_ADULTS in str(params):
        sentences.append(
            "The public constants come from recordings of seven healthy young adults. They fit "
            "children, elderly people, sleep and severe illness less well; that costs "
            "usefulness, never privacy."
        )
    outside = params.get("n_fallback_columns") if isinstance(params, dict) else None
    if outside:
        sentences.append(
            f"{number(outside)} columns are not covered by these recordings and take general "
            f"constants instead."
        )
    return [Limit("Fit of the public constants", " ".join(sentences))] if sentences else []


CHECKING: tuple[str, ...] = (
    "Run `neuroveil verify RELEASE_DIR`, where RELEASE_DIR is the folder with certificate.json. "
    "It needs nothing else: no recordings, no private table, no network.",
    "It recomputes every number of the chain with code of its own that shares nothing with the "
    "code that made the release, and compares the digest of every file.",
    "It ends with exit code 0 if the promise holds, 4 if it does not (naming the broken link), "
    "and 5 if something cannot be checked from what is stated.",
)
"""How to check a release, in sentences."""

GLOSSARY: tuple[tuple[str, str], ...] = (
    ("ε (epsilon)", "The promise as a number: the odds of a guess about one patient change by at "
     "most e to the power of ε. Smaller is more private; 0 would mean that nothing is revealed."),
    ("δ (delta)", "A slack on top of ε: by so much may a probability go beyond the bound. 0 "
     "means no slack."),
    ("Neighbouring tables", "Two tables that differ in one patient only. The promise says that "
     "nobody can tell them apart much better than by guessing."),
    ("L1 and L2 norm", "Two ways to measure the length of a row: the sum of its absolute values, "
     "and the square root of the sum of its squares. A chain breaks where they are mixed up."),
    ("Clipping", "Shortening a row that is longer than the cap, without changing its direction."),
    ("Sensitivity (Δ)", "The most by which the whole table can move if one patient is exchanged."),
    ("Standard deviation (σ)", "The usual size of the noise in one cell; b is the scale of "
     "Laplace noise, whose standard deviation is 1.41 times as large."),
    ("RMSE, MAE", "Root mean square error and mean absolute error: how far protected cells are "
     "from the true ones, on the scaled axis without unit."),
    ("Correlation", "How well protected cells follow the true ones: 1 perfectly, 0 not at all."),
    ("Signal-to-noise ratio (SNR)", "Strength of the true values against that of the noise, in "
     "decibels. 0 dB is equal; each 10 dB below means ten times more noise."),
    ("Roster", "The list of patients, fixed before any signal is read."),
    ("Certificate", "The file certificate.json: every step of the derivation as data."),
)  # fmt: skip
"""Terms and what they mean here."""
