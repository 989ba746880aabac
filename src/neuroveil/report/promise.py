"""The promise in words: what it says, what it rests on, what it is worth, what it leaves."""

from __future__ import annotations

import math
from dataclasses import dataclass

from neuroveil.report import central
from neuroveil.report.facts import Facts, broken_links, reasons
from neuroveil.report.text import factor, number, one_in, percent, posterior
from neuroveil.types.certificate import Certificate

_PRIORS = (0.01, 0.1, 0.5)
_WEAK_EPSILON = 10.0
_USELESS_EPSILON = 2.0


@dataclass(frozen=True)
class Guess:
    """What a guess about one patient can become.

    Parameters
    ----------
    before, after : float
        Probability of the guess before the release, and the highest it can reach.
    """

    before: float
    after: float

    @property
    def words(self) -> tuple[str, str]:
        """Both as percentages."""
        return percent(self.before), percent(self.after)


@dataclass(frozen=True)
class Promise:
    """The promise of a certificate in words.

    Parameters
    ----------
    holds : bool
        Whether there is a guarantee that nothing in the certificate contradicts.
    headline : str
        One sentence.
    reasons : tuple of str
        Why there is no guarantee.
    odds : tuple of str
        Sentences on epsilon and delta.
    guesses : tuple of Guess
        Examples; empty without a guarantee.
    """

    holds: bool
    headline: str
    reasons: tuple[str, ...]
    odds: tuple[str, ...]
    guesses: tuple[Guess, ...]


def promise(certificate: Certificate) -> Promise:
    """Put a certificate's promise into words.

    Parameters
    ----------
    certificate : Certificate
        The certificate.

    Returns
    -------
    Promise
        Headline, reasons, odds and examples.
    """
    facts = Facts(certificate)
    epsilon, delta = facts.figure("guarantee.epsilon"), facts.figure("guarantee.delta")
    broken = broken_links(facts)
    if epsilon is None or delta is None or epsilon < 0 or not 0 <= delta < 1:
        broken.setdefault("guarantee", "Epsilon and delta are not stated, or are no such numbers.")
        return _no_promise(facts, broken)
    if not certificate.formal_guarantee or broken:
        return _no_promise(facts, broken)
    towards = (
        "To everybody but whoever shuffled its rows, seeing" if facts.is_shuffled else "Seeing"
    )
    if facts.is_central or facts.scaling_is_paid:
        towards = "To everybody but whoever computed it, seeing"
    what = "release" if facts.is_central else "table"
    headline = (
        f"{towards} this {what} changes the odds between any two guesses about one patient's row "
        f"by at most a factor of {factor(epsilon)} (ε = {number(epsilon)})"
        f"{_exception(delta)}."
    )
    guesses = tuple(Guess(prior, posterior(prior, epsilon)) for prior in _PRIORS)
    return Promise(True, headline, (), _odds(epsilon, delta), guesses)


def _no_promise(facts: Facts, broken: dict[str, str]) -> Promise:
    epsilon, delta = number(facts.get("guarantee.epsilon")), number(facts.get("guarantee.delta"))
    why = tuple(words for _, words in reasons(facts.certificate)) or tuple(broken.values())
    headline = (
        f"There is no differential-privacy guarantee for this table at ε = {epsilon}, "
        f"δ = {delta}: {_inside(why[0]) if why else 'the certificate claims none'}."
    )
    if facts.certificate.formal_guarantee:
        why = ("The certificate claims a guarantee and contradicts itself.", *why)
    return Promise(False, headline, why, (), ())


def _inside(sentence: str) -> str:
    """A sentence as the end of another one."""
    words = sentence.rstrip(".")
    return words[:1].lower() + words[1:] if words[1:2].islower() else words


def _exception(delta: float) -> str:
    if delta == 0:
        return ", without exception (δ = 0)"
    return f", apart from a slack of at most {one_in(delta)} (δ = {number(delta)})"


def _odds(epsilon: float, delta: float) -> tuple[str, ...]:
    before, after = Guess(0.5, posterior(0.5, epsilon)).words
    sentences = [
        f"Think of someone who knows everything about a patient except which of two rows is "
        f"theirs, and who reads the whole table. ε = {number(epsilon)} means that the odds of "
        f"that guess can rise or fall by at most a factor of {factor(epsilon)}, which is e to "
        f"the power of ε. A guess at {before} can become at most {after}.",
        "This holds whatever else that person knows now or learns later, and whatever is "
        "computed from the table.",
    ]
    if delta == 0:
        sentences.append("δ = 0: the bound holds without exception.")
    else:
        sentences.append(
            f"δ = {number(delta)} is a slack on top: the probability of anything that may be "
            f"seen in the table can go beyond that factor by at most {one_in(delta)}."
        )
    if epsilon > _WEAK_EPSILON:
        sentences.append(
            f"This is a weak promise: at ε = {number(epsilon)} the bound leaves room for near "
            f"certainty. For health data values above 10 are commonly not considered enough."
        )
    return tuple(sentences)


def trust(facts: Facts) -> tuple[str, ...]:
    """Say who has to be trusted.

    Parameters
    ----------
    facts : Facts
        The certificate.

    Returns
    -------
    tuple of str
        Sentences.
    """
    if not facts.certificate.formal_guarantee or broken_links(facts):
        return (
            "Without a guarantee, everyone who may receive the table has to be trusted with it, "
            "as with the recordings themselves.",
        )
    sentences = []
    if facts.get("model.trust") == "local":
        sentences.append(
            "The trust model is local: each row gets its noise on its own, where the "
            "recordings are. Nobody who receives the table has to be trusted."
        )
    elif facts.is_central:
        sentences.append(central.TRUST)
    elif facts.scaling_is_paid:
        sentences.append(
            "The trust model is central: each row gets its noise on its own, but centre and "
            "spread of the columns were computed from all rows together. Whoever did that is "
            "trusted."
        )
    elif facts.is_shuffled:
        sentences.append(
            "The trust model is shuffled: each row is randomised on its own, and then all rows "
            "are put in random order. Whoever does that is trusted; towards that person each row "
            f"has the weaker promise ε = {number(facts.epsilon_promised)}."
        )
    elif facts.get("model.trust") is not None:
        sentences.append(f"The trust model is: {facts.get('model.trust')}.")
    if facts.get("model.who_is_trusted") is not None:
        sentences.append(f"Who is trusted, in the certificate's words: {_trusted(facts)}")
    sentences += _people(str(facts.get("unit.dedup")))
    return tuple(sentences)


_POLICIES = {
    "pool": "their recordings are pooled into one row",
    "keep_longest": "only the longest of their rows is kept",
    "keep_newest": "only the newest of their rows is kept",
    "hospital_order": "only the row of the hospital that comes first in a fixed order is kept",
}


def _people(dedup: str) -> list[str]:
    """Say how it is known that each person stands in the table once."""
    if dedup == "roster_key":
        return [
            "The roster is trusted to list each person once: two keys are taken to be two people."
        ]
    policy, together, _ = dedup.removeprefix("linked_").partition("_undecided_together")
    if policy not in _POLICIES:
        return []
    sentence = (
        "People who stood on the roster under several keys were looked for by linkage: "
        f"{_POLICIES[policy]}. The number of rows is the number of people after that."
    )
    if together:
        sentence += (
            " Where nobody could decide whether two keys are one person, they were put together "
            "as if they were, so that nobody has two rows."
        )
    return [sentence]


def _trusted(facts: Facts) -> str:
    words = str(facts.get("model.who_is_trusted")).strip()
    return words if words.endswith(".") else words + "."


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
    if facts.is_central:
        return central.cost(facts)
    sentences = [_judgement(facts)]
    std, typical = facts.cell_error, typical_cell(facts)
    if std is not None and typical:
        at_most = "at most " if facts.get("bound.norm") == "l1" else ""
        error = (
            f"A value of the protected table is off by {number(std, 4)}"
            if facts.has_codewords
            else f"The noise in each cell has a standard deviation of {number(std, 4)}"
        )
        sentences.append(
            f"In a row that fills its cap, cells have a typical size of {at_most}"
            f"{number(typical, 3)} (root mean square, without unit). {error}, "
            f"{_times(std / typical)}."
        )
    correlation = facts.part("utility.predicted", "correlation")
    snr_db = facts.part("utility.predicted", "snr_db")
    if isinstance(correlation, int | float) and isinstance(snr_db, int | float):
        sentences.append(
            f"The predicted correlation between protected and true cells is "
            f"{number(correlation, 2)} (1 would be perfect, 0 is none), and the predicted "
            f"signal-to-noise ratio is {round(snr_db, 1) + 0.0:.1f} dB. Both are upper ends: rows "
            f"shorter than the cap keep less."
        )
    estimated = facts.part("utility.estimate", "correlation")
    if isinstance(estimated, int | float):
        sentences.append(
            f"The file table_estimated.csv holds an estimate in the features' own units that "
            f"public rules make of the protected table. Over people like those of the public "
            f"reference it is predicted to correlate {number(estimated, 2)} with true values. "
            f"Where noise is large it stays close to the public centre."
        )
    return tuple(sentences)


def _times(ratio: float) -> str:
    if ratio >= 1.5:
        return f"{number(ratio, 3 if ratio >= 10 else 2)} times as much"
    return f"which is {percent(ratio)} of that" if ratio < 1 else "about as much"


def _judgement(facts: Facts) -> str:
    epsilon = facts.figure("guarantee.epsilon_supported") or facts.figure("guarantee.epsilon")
    if epsilon is not None and epsilon <= _USELESS_EPSILON:
        return (
            "At ε = 2 or below no release of single rows is useful, and this one is not either: "
            "do not read anything into one patient's row. Use it to test software and "
            "procedures; for science at this ε, ask for averages over many patients, released "
            "under differential privacy."
        )
    correlation = facts.correlation
    if correlation is not None and correlation < 0.3:
        return (
            "A single row remains mostly noise: do not read anything into one patient's row. "
            "Only patterns shared by many patients can be recovered from it."
        )
    return (
        "Part of the pattern of a row survives. Check on simulated data whether that is enough "
        "for your analysis before you rely on it."
    )


def typical_cell(facts: Facts) -> float | None:
    """Root mean square over the cells of a row that fills its cap, where that is known.

    Parameters
    ----------
    facts : Facts
        The certificate.

    Returns
    -------
    float or None
        Clip norm over the square root of the dimension, without unit. Under an L1 cap this
        is an upper bound.
    """
    cap, dimension = facts.figure("bound.clip_norm"), facts.coordinates
    if cap is None or cap <= 0 or dimension is None or dimension < 1:
        return None
    return cap / math.sqrt(dimension)
