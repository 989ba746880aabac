"""Words for releases of mean and covariance: what is true of all patients together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuroveil.report.text import number

if TYPE_CHECKING:
    from neuroveil.report.facts import Facts

Words = tuple[str, str, str, str]

_USELESS, _FAIR = 0.3, 0.8

TRUST = (
    "The trust model is central: somebody computes the statistics from all rows as they are, and "
    "noise is added to the result. Whoever does that is trusted; nobody who receives the result "
    "has to be."
)
"""Who has to be trusted, in words."""


def dimension(facts: Facts) -> Words:
    """Put the length of a row into words.

    Parameters
    ----------
    facts : Facts
        The certificate.

    Returns
    -------
    tuple of str
        Title, value, detail, sentence.
    """
    columns = number(facts.get("domain.dimension"))
    entries = number(facts.get("mechanism.n_coordinates"))
    sentence = (
        f"A row has {columns} columns, because the study lists them. Their sums and the sums of "
        f"all their products are released, {entries} numbers. No row is."
    )
    return "What is released", f"{entries} sums", f"of {columns} columns", sentence


def sensitivity(facts: Facts) -> Words:
    """Put the sensitivity into words.

    Parameters
    ----------
    facts : Facts
        The certificate.

    Returns
    -------
    tuple of str
        Title, value, detail, sentence.
    """
    total, products = (
        number(facts.get(f"sensitivity.{name}"), 4) for name in ("sum", "second_moment")
    )
    sentence = (
        f"Exchanging one patient moves the sum of rows by at most {total} and the sum of products "
        f"by at most {products}, and never both as far: opposite rows have the same products. "
        f"In units of the noise scale both together move by at most "
        f"{number(facts.get('sensitivity.value'), 4)}."
    )
    return "Largest possible change", f"Δ = {total}, {products}", "sum, products", sentence


def mechanism(facts: Facts) -> Words:
    """Put the kind of noise into words.

    Parameters
    ----------
    facts : Facts
        The certificate.

    Returns
    -------
    tuple of str
        Title, value, detail, sentence.
    """
    library = facts.get("sampler.library")
    drawn = f", drawn by {library} in exact integer arithmetic" if library else ""
    sentence = (
        f"Gaussian noise is added to the sums of all rows{drawn}. Mean, covariance and the "
        f"synthetic table are made of these noisy sums alone, which costs nothing more."
    )
    return "Kind of noise", "Gaussian, on sums", "all patients together", sentence


def noise(facts: Facts) -> Words:
    """Put the amount of noise into words.

    Parameters
    ----------
    facts : Facts
        The certificate.

    Returns
    -------
    tuple of str
        Title, value, detail, sentence.
    """
    mean, covariance = _errors(facts)
    sentence = (
        f"Divided by the number of patients, the noise in an entry of the mean has a standard "
        f"deviation of {mean}, and in an entry of the covariance {covariance} (scaled, without "
        f"unit). It is the least that the promised ε asks for, rounded up."
    )
    return "Amount of noise", f"{mean} in a mean", f"{covariance} in a covariance", sentence


def _errors(facts: Facts) -> tuple[str, str]:
    stated = (facts.part("utility.predicted", f"{name}_rmse") for name in ("mean", "covariance"))
    mean, covariance = (number(value, 3) for value in stated)
    return mean, covariance


def cost(facts: Facts) -> tuple[str, ...]:
    """Say what the noise leaves, from public numbers alone.

    Parameters
    ----------
    facts : Facts
        The certificate.

    Returns
    -------
    tuple of str
        Sentences; the first one is the judgement.
    """
    mean, covariance = _errors(facts)
    correlation = facts.part("utility.estimate", "correlation")
    return (
        _judgement(correlation),
        f"Noise puts each entry of the mean off by about {mean}, and each entry of the covariance "
        f"by about {covariance}, before both are cleaned by public rules (root mean square, "
        f"scaled, without unit).",
        "The rows of the synthetic table belong to people who do not exist. They are drawn from "
        "the released mean and covariance and hold nothing more: no single patient, no outlier, "
        "no shape of a distribution beyond its mean and covariance.",
    )


def _judgement(correlation: object) -> str:
    if not isinstance(correlation, int | float):
        return (
            "What is left of mean and covariance cannot be predicted without a public covariance. "
            "Compare the sizes below with the effects that you look for."
        )
    words = (
        f"Over people like those of the public reference, the released covariance is predicted to "
        f"correlate {number(correlation, 2)} with the cohort's own. "
    )
    if correlation < _USELESS:
        return words + "That is too little to be of use: more patients or a larger ε are needed."
    if correlation < _FAIR:
        return words + "The strongest patterns shared by many patients survive, weaker ones do not."
    return words + "Patterns shared by many patients survive."


def key_figures(facts: Facts) -> list[tuple[str, str]]:
    """Give the last of the figures at the top of the page.

    Parameters
    ----------
    facts : Facts
        The certificate.

    Returns
    -------
    list of (str, str)
        Name and value.
    """
    kept = number(facts.part("utility.estimate", "correlation"), 2)
    return [("error in a mean", _errors(facts)[0]), ("correlation of covariances", kept)]
