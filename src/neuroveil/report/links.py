"""The chain as nine links in plain words, for the picture and for the statement."""

from __future__ import annotations

from dataclasses import dataclass

from neuroveil.report import central
from neuroveil.report.facts import Facts, broken_links
from neuroveil.report.text import norm, number, percent

_COMPARED = {
    "replace_one": "replace one patient",
    "add_or_remove_one": "add or remove one patient",
}
NOISE_NAMES = {
    "gaussian": "Gaussian",
    "laplace": "Laplace",
    "paper_laplace": "Laplace (as published)",
    "privunit": "codewords",
    "mean_covariance": "Gaussian",
}
"""Kinds of noise for a reader, by the mechanism's name."""


@dataclass(frozen=True)
class Link:
    """One link of the chain.

    Parameters
    ----------
    key : str
        Short name.
    title : str
        What the link settles.
    value : str
        The answer, short enough for the picture.
    detail : str
        How it follows, short enough for the picture.
    sentence : str
        The same for a reader, with numbers.
    broken : str or None
        What is wrong with it, if something is.
    """

    key: str
    title: str
    value: str
    detail: str
    sentence: str
    broken: str | None


def chain_links(facts: Facts) -> tuple[Link, ...]:
    """Give the links in the order of the derivation.

    Parameters
    ----------
    facts : Facts
        The certificate.

    Returns
    -------
    tuple of Link
        Adjacency, unit, scaling, bound, dimension, sensitivity, mechanism, noise, promise.
    """
    broken = broken_links(facts)
    makers = {
        "adjacency": _adjacency, "unit": _unit, "scaling": _scaling, "bound": _bound,
        "dimension": _dimension, "sensitivity": _sensitivity, "mechanism": _mechanism,
        "noise": _noise, "guarantee": _guarantee,
    }  # fmt: skip
    if broken or not facts.certificate.formal_guarantee:
        broken.setdefault("guarantee", "Does not follow from this chain.")
    if facts.is_central:
        makers |= {
            "dimension": central.dimension, "sensitivity": central.sensitivity,
            "mechanism": central.mechanism, "noise": central.noise,
        }  # fmt: skip
    return tuple(Link(key, *make(facts), broken.get(key)) for key, make in makers.items())


Words = tuple[str, str, str, str]


def _adjacency(facts: Facts) -> Words:
    relation = facts.get("adjacency.relation")
    factor = number(facts.get("adjacency.factor"))
    compared = _COMPARED.get(str(relation), str(relation))
    sentence = (
        f"Two tables are compared that differ in one patient only ({compared}). "
        f"Replacing takes one row out and puts another in, hence a factor of {factor}."
        if relation == "replace_one"
        else f"Two tables are compared that differ in one patient only ({compared}), hence "
        f"a factor of {factor}."
    )
    return "Which tables are compared", compared, f"factor {factor}", sentence


def _unit(facts: Facts) -> Words:
    rows = number(facts.get("unit.rows_per_unit_max"))
    entity = str(facts.get("unit.entity") or "not stated")
    sentence = (
        f"What is protected is one whole {entity}: all recordings of a {entity} are pooled, "
        f"so that each has at most {rows} row{'s' if rows != '1' else ''} in the table."
    )
    return "Who is protected", f"one {entity}", f"at most {rows} row each", sentence


def _scaling(facts: Facts) -> Words:
    title = "How columns are made comparable"
    if facts.scaling_is_private:
        sentence = (
            "Every column is centred and scaled with statistics of the very patients who are "
            "to be protected. These statistics carry information about each of them, and no "
            "budget pays for it."
        )
        return title, "the patients' own statistics", "no budget paid", sentence
    if facts.scaling_is_paid:
        epsilon, delta = (
            number(facts.part("preprocessing.scaling", key)) for key in ("epsilon", "delta")
        )
        spent = f"ε = {epsilon}, δ = {delta}"
        sentence = (
            "Every column is centred and scaled with its median and spread over these very "
            "patients. Both were drawn at random from public candidates, so that no patient "
            f"decides; that cost {spent}, which is part of the promise. Whoever drew them saw all "
            "rows."
        )
        return title, "drawn from the patients", spent, sentence
    sentence = (
        "Every column is centred and scaled with public constants that were fixed beforehand; "
        "no statistic of these patients enters, so this step reveals nothing."
    )
    components = facts.part("preprocessing.projection", "params")
    if isinstance(components, dict):
        parts = components.get("components")
        kept = "largest public component, a fixed sum" if parts == 1 else (
            f"{number(parts)} largest public components, fixed sums"
        )  # fmt: skip
        sentence += (
            f" Each row is then described by its {kept} of its columns known beforehand; the "
            f"rest of the row is left out."
        )
    return title, "public constants", "reveals nothing", sentence


def _bound(facts: Facts) -> Words:
    cap, in_norm = number(facts.get("bound.clip_norm")), norm(facts.get("bound.norm"))
    sentence = (
        f"A row whose length ({in_norm}) exceeds {cap} is shortened to {cap}: no patient, however "
        f"unusual, can count for more."
    )
    return "Cap on one row", f"length ≤ {cap}", f"measured in {in_norm}", sentence


def _dimension(facts: Facts) -> Words:
    columns = number(facts.get("domain.dimension"))
    kept = number(facts.coordinates)
    sentence = (
        f"A row has {columns} columns, because the study lists them. Under Laplace noise every "
        f"further column makes the same ε dearer; under Gaussian noise and with codewords the "
        f"total error grows."
    )
    if kept != columns:
        several = "" if kept == "1" else "s"
        sentence += f" The protected table keeps {kept} public component{several} of each row."
        return "Length of a row", f"{kept} component{several}", f"of {columns} columns", sentence
    return "Length of a row", f"{columns} columns", "listed by the study", sentence


def _sensitivity(facts: Facts) -> Words:
    if facts.has_codewords:
        sentence = (
            "The proof needs no such amount. However far two rows are apart, a codeword has one "
            "of the same two chances from either."
        )
        return "Largest possible change", "not needed", "two chances only", sentence
    value, in_norm = number(facts.get("sensitivity.value")), norm(facts.get("sensitivity.norm"))
    factor, cap = number(facts.get("adjacency.factor")), number(facts.get("bound.clip_norm"))
    detail = f"{factor} × {cap}, in {in_norm}"
    if facts.get("sensitivity.norm") == "l1" and facts.get("bound.norm") == "l2":
        detail = f"{factor} × √{number(facts.get('domain.dimension'))} × {cap}, in {in_norm}"
    sentence = (
        f"So exchanging one patient moves the whole table by at most {value} ({detail}). This "
        f"is the sensitivity, the amount that noise has to hide."
    )
    if facts.scaling_is_private:
        sentence = (
            f"Were the scaling fixed, exchanging one patient would move the whole table by at "
            f"most {value} ({detail}). But the scaling moves too, and other rows with it, so "
            f"this sensitivity is too small."
        )
    return "Largest possible change", f"Δ = {value}", detail, sentence


def _mechanism(facts: Facts) -> Words:
    if facts.has_codewords:
        return _codewords(facts)
    name = str(facts.get("mechanism.name") or "not stated")
    kind, in_norm = NOISE_NAMES.get(name, name), norm(facts.get("mechanism.consumes_norm"))
    library = facts.get("sampler.library")
    drawn = f", drawn by {library}" if library else ""
    exact = " in exact integer arithmetic" if facts.get("sampler.exact") is True else ""
    sentence = (
        f"To every cell of the table noise of the {kind} kind is added{drawn}{exact}. Its "
        f"proof needs the sensitivity in {in_norm}."
    )
    return "Kind of noise", kind, f"needs Δ in {in_norm}", sentence


def _codewords(facts: Facts) -> Words:
    size, top = (number(facts.get(f"mechanism.codebook_{name}")) for name in ("size", "top"))
    chance = "not stated" if facts.close_chance is None else percent(facts.close_chance)
    sentence = (
        f"No noise is added. Each row is replaced by one of {size} public codewords, which are "
        f"random directions drawn before any row was looked at: with a chance of {chance} one "
        f"of the {top} that are closest to the row, otherwise any of the others. Which one it "
        f"is, is drawn exactly, in whole numbers."
    )
    return "Kind of noise", "public codewords", f"{size}, of which {top} close", sentence


def _odds(facts: Facts) -> Words:
    promised, error = number(facts.epsilon_promised), number(facts.cell_error, 4)
    sentence = (
        f"A codeword is at most e to the power of {promised} times as likely from one row as from "
        f"any other. Read as values, codewords are off by {error} in each cell (root mean square)."
    )
    return "Amount of noise", f"odds e^{promised}", f"error {error} a cell", sentence


def _noise(facts: Facts) -> Words:
    if facts.has_codewords:
        return _odds(facts)
    scale = facts.get("mechanism.noise_scale")
    symbol = "σ" if facts.get("mechanism.name") == "gaussian" else "b"
    std = number(facts.get("mechanism.noise_std"), 4)
    sentence = (
        f"The noise in every cell has scale {symbol} = {number(scale)}, which is a standard "
        f"deviation of {std}; it is the least that the promised ε asks for, rounded up."
    )
    supported, promised = facts.figure("guarantee.epsilon_supported"), facts.epsilon_promised
    if supported is not None and promised is not None and supported > promised * (1 + 1e-9):
        sentence = (
            f"The noise in every cell has scale {symbol} = {number(scale)}, which is a standard "
            f"deviation of {std}. That supports ε = {number(supported, 4)} and not the "
            f"ε = {number(promised)} that it is called by."
        )
    return "Amount of noise", f"{symbol} = {number(scale)}", f"standard deviation {std}", sentence


def _guarantee(facts: Facts) -> Words:
    epsilon, delta = number(facts.get("guarantee.epsilon")), number(facts.get("guarantee.delta"))
    sentence = f"From all of this together follows ε = {epsilon} with δ = {delta}."
    if facts.is_shuffled:
        batch, alone = number(facts.get("amplification.batch")), number(facts.epsilon_promised)
        sentence = (
            f"A row on its own has ε = {alone}. {batch} of them are released in random order, so "
            f"each hides among the others: towards everybody who does not know the order before "
            f"shuffling this makes ε = {epsilon} with δ = {delta}."
        )
    if not facts.certificate.formal_guarantee or broken_links(facts):
        sentence = (
            f"From this chain the stated ε = {epsilon} with δ = {delta} does not follow, "
            f"because of the links marked as broken or the reasons given."
        )
    labels = facts.figure("guarantee.epsilon_labels")
    if labels:
        rows = number(facts.get("guarantee.epsilon_rows"))
        sentence += f" It is {rows} for the rows and {number(labels)} for the labels."
    return "What is promised", f"ε = {epsilon}", f"δ = {delta}", sentence
