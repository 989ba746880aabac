"""A certificate as its readers need it: facts that may be missing, and which links break.

The report repeats no proof; that is what ``neuroveil verify`` does. It only refuses to show
a promise above facts that openly contradict it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from neuroveil.report.text import norm, number
from neuroveil.types.certificate import LINKS, Certificate

_FACTORS = {"replace_one": 2, "add_or_remove_one": 1}
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Facts:
    """Reads a certificate's facts by dotted name.

    Parameters
    ----------
    certificate : Certificate
        The certificate.
    """

    certificate: Certificate

    def get(self, name: str) -> Any:
        """Look a fact's value up.

        Parameters
        ----------
        name : str
            ``"link.field"``.

        Returns
        -------
        JSON value
            ``None`` where the certificate does not state it.
        """
        link, _, field = name.partition(".")
        fact = self.certificate.chain.get(link, {}).get(field)
        return None if fact is None else fact.value

    def figure(self, name: str) -> float | None:
        """Look a number up.

        Parameters
        ----------
        name : str
            ``"link.field"``.

        Returns
        -------
        float or None
            ``None`` where the certificate states no finite number.
        """
        value = self.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return float(value) if math.isfinite(value) else None

    def part(self, name: str, key: str) -> Any:
        """Look one entry of a fact up that is an object, such as ``utility.predicted``.

        Parameters
        ----------
        name : str
            ``"link.field"``.
        key : str
            Name of the entry.

        Returns
        -------
        JSON value
            ``None`` where it is not stated.
        """
        value = self.get(name)
        return value.get(key) if isinstance(value, dict) else None

    @property
    def is_shuffled(self) -> bool:
        """Whether the promise leaves out whoever shuffles the rows."""
        return bool(self.get("model.trust") == "shuffled")

    @property
    def is_central(self) -> bool:
        """Whether statistics of all patients are released, and no rows."""
        return bool(self.get("mechanism.name") == "mean_covariance")

    @property
    def has_codewords(self) -> bool:
        """Whether rows are replaced by codewords instead of getting noise."""
        return bool(self.get("mechanism.name") == "privunit")

    @property
    def epsilon_promised(self) -> float | None:
        """What the mechanism has to support for a row on its own.

        Without a shuffler that is epsilon of the rows, and no more than the total.
        """
        names = ["mechanism.epsilon"]
        if not self.is_shuffled:
            names += ["guarantee.epsilon_rows", "guarantee.epsilon"]
        stated = [self.figure(name) for name in names]
        return min((value for value in stated if value is not None), default=None)

    @property
    def close_chance(self) -> float | None:
        """Chance of one of the close codewords, where rows are replaced by codewords."""
        numerator, slash, denominator = str(self.get("mechanism.top_probability")).partition("/")
        if not slash or not (numerator.isdecimal() and denominator.isdecimal()):
            return None
        # A chance below 1 that rounds to 1 is still no certainty.
        return min(1 - 1e-9, int(numerator) / int(denominator)) if int(denominator) else None

    @property
    def coordinates(self) -> float | None:
        """Number of values that stand for a row in the protected table."""
        stated = self.figure("bound.dimension")
        return self.figure("domain.dimension") if stated is None else stated

    @property
    def cell_error(self) -> float | None:
        """How far a value of the protected table is off (root mean square, no unit)."""
        if not self.has_codewords:
            return self.figure("mechanism.noise_std")
        rmse = self.part("utility.predicted", "rmse")
        return float(rmse) if isinstance(rmse, int | float) else None

    @property
    def correlation(self) -> float | None:
        """Predicted correlation of the best public reading of the table with true values."""
        stated = [
            self.part(name, "correlation") for name in ("utility.predicted", "utility.estimate")
        ]
        return max((float(v) for v in stated if isinstance(v, int | float)), default=None)

    @property
    def scaling_is_private(self) -> bool:
        """Whether centre and spread come from the patients without being paid for."""
        return bool(self.part("preprocessing.scaling", "fitted_on") == "private")

    @property
    def scaling_is_paid(self) -> bool:
        """Whether centre and spread come from the patients, under a budget of their own."""
        return bool(self.part("preprocessing.scaling", "fitted_on") == "dp")


_SHOWN_AT = {
    "unit": "unit", "adjacency": "adjacency", "domain": "dimension", "preprocessing": "scaling",
    "bound": "bound", "sensitivity": "sensitivity", "mechanism": "noise", "sampler": "noise",
}  # fmt: skip
"""Where the picture shows a broken link of the certificate; all others: at the promise."""


def reasons(certificate: Certificate) -> tuple[tuple[str, str], ...]:
    """Split the blocking reasons into link and words.

    Parameters
    ----------
    certificate : Certificate
        The certificate; each of its reasons starts with a link and a colon.

    Returns
    -------
    tuple of (str, str)
        Link of the certificate (``""`` where none is named) and reason, as a sentence.
    """
    found = []
    for reason in certificate.blocking_reasons:
        link, colon, words = reason.partition(":")
        if not colon or link not in LINKS:
            link, words = "", reason
        found.append((link, _as_sentence(words)))
    return tuple(found)


_NOT_YET = {"sampler", "composition"}
"""Links that a rehearsal leaves open on purpose: simulated noise, and nothing paid."""


def as_planned(certificate: Certificate) -> Certificate:
    """Give the certificate that a rehearsed release would have.

    Parameters
    ----------
    certificate : Certificate
        Of a rehearsal.

    Returns
    -------
    Certificate
        With a guarantee, where only simulated noise and the missing payment stand against
        it; unchanged where anything else does.
    """
    links = {link for link, _ in reasons(certificate)}
    if certificate.formal_guarantee or not links or not links <= _NOT_YET:
        return certificate
    sampler = dict(certificate.chain.get("sampler", {}))
    if "seeded" in sampler:
        sampler["seeded"] = replace(sampler["seeded"], value=False)
    chain = {**certificate.chain, "sampler": sampler}
    return replace(certificate, formal_guarantee=True, blocking_reasons=(), chain=chain)


def _as_sentence(words: str) -> str:
    words = words.strip()
    return words[:1].upper() + words[1:] + ("" if words.endswith(".") else ".")


def broken_links(facts: Facts) -> dict[str, str]:
    """Say which links do not hold, by the names of :mod:`neuroveil.report.links`.

    Parameters
    ----------
    facts : Facts
        The certificate.

    Returns
    -------
    dict of str to str
        What is wrong, in words, by link: the certificate's own reasons first, then facts
        that contradict its promise. Empty where nothing is wrong.
    """
    found: dict[str, str] = {}
    for link, words in reasons(facts.certificate):
        found.setdefault(_SHOWN_AT.get(link, "guarantee"), words)
    for key, contradiction in _CONTRADICTIONS.items():
        contradicted = contradiction(facts)
        if contradicted is not None:
            found.setdefault(key, contradicted)
    return found


def _adjacency(facts: Facts) -> str | None:
    relation, stated = facts.get("adjacency.relation"), facts.figure("adjacency.factor")
    needed = _FACTORS.get(str(relation))
    if needed is None or stated is None or stated >= needed:
        return None
    return f"The factor for this comparison is {needed}, not {number(stated)}."


def _scaling(facts: Facts) -> str | None:
    if not facts.scaling_is_private:
        return None
    return "Computed from the patients themselves, outside the budget."


def _sensitivity(facts: Facts) -> str | None:
    stated = facts.figure("sensitivity.sum" if facts.is_central else "sensitivity.value")
    factor, cap = facts.figure("adjacency.factor"), facts.figure("bound.clip_norm")
    if stated is None or factor is None or cap is None:
        return None
    needed = factor * cap
    if (facts.get("sensitivity.norm"), facts.get("bound.norm")) == ("l1", "l2"):
        needed *= math.sqrt(facts.coordinates or 1)
    if stated >= needed * (1 - _TOLERANCE):
        return None
    return f"The cap allows a change of {number(needed)}, not {number(stated)}."


def _mechanism(facts: Facts) -> str | None:
    needs, got = facts.get("mechanism.consumes_norm"), facts.get("sensitivity.norm")
    if needs is None or got is None or needs == got:
        return None
    return f"This noise needs a change measured in {norm(needs)}, but was given {norm(got)}."


def _noise(facts: Facts) -> str | None:
    supported, promised = facts.figure("guarantee.epsilon_supported"), facts.epsilon_promised
    if supported is not None and promised is not None and supported > promised * (1 + _TOLERANCE):
        return (
            f"Too little: this noise supports ε = {number(supported, 4)}, not {number(promised)}."
        )
    excess = _excess(facts)
    if excess is not None:
        return excess
    if facts.get("sampler.seeded") is True:
        return "Drawn from a seed: whoever knows the seed can take the noise off again."
    return None


def _excess(facts: Facts) -> str | None:
    """What shuffling fails to hide, by the certificate's own figures."""
    bound, delta = facts.figure("amplification.delta_bound"), facts.figure("guarantee.delta")
    if not facts.is_shuffled or (bound is not None and delta is not None and bound <= delta):
        return None
    return "Shuffling is not shown to hide enough for the stated ε and δ."


_CONTRADICTIONS: dict[str, Callable[[Facts], str | None]] = {
    "adjacency": _adjacency,
    "scaling": _scaling,
    "sensitivity": _sensitivity,
    "mechanism": _mechanism,
    "noise": _noise,
}
