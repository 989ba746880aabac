"""Numbers and foreign strings as words."""

from __future__ import annotations

import json
import math
import re
from typing import Any

_MARKDOWN = re.compile(r"([\\`\[\]<>&])")


def number(value: object, digits: int = 6) -> str:
    """Write a number for a reader.

    Parameters
    ----------
    value : object
        A number; anything else is written as it is.
    digits : int
        Significant digits.

    Returns
    -------
    str
        For example ``"14.9225"``, ``"0.00001"``, ``"2.1 × 10^-25"``, ``"20,208"``, and
        ``"not stated"`` for None.
    """
    if value is None:
        return "not stated"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) and abs(value) < 10**15:
        return f"{value:,}" if abs(value) >= 10**4 else str(value)
    text = f"{value:.{digits}g}"
    if "e" not in text:
        return text
    if 1 <= abs(value) < 10**15:
        return f"{float(text):,.0f}"
    significand, _, power = text.partition("e")
    if -9 <= int(power) < 0:
        return f"{value:.{-int(power) + len(significand.replace('.', '').lstrip('-')) - 1}f}"
    return f"{significand} × 10^{int(power)}"


def norm(name: object) -> str:
    """Name a norm as the field writes it.

    Parameters
    ----------
    name : object
        ``"l1"``, ``"l2"`` or None.

    Returns
    -------
    str
        ``"L1"``, ``"L2"``, or that it is not stated.
    """
    return "a norm that is not stated" if name is None else str(name).upper()


def factor(exponent: float) -> str:
    """Write e to a power as a factor that a person can picture.

    Parameters
    ----------
    exponent : float
        For example epsilon.

    Returns
    -------
    str
        For example ``"2.72"``, ``"148"``, ``"22,026"``, ``"485 million"``.
    """
    if exponent > 35:
        return f"10 to the power of {math.floor(exponent / math.log(10))}"
    value = math.exp(exponent)
    if value < 10:
        return f"{value:.2f}"
    for size, word in ((1e12, "million million"), (1e9, "thousand million"), (1e6, "million")):
        if value >= size:
            return f"{value / size:.3g} {word}"
    return f"{value:,.0f}"


def posterior(prior: float, epsilon: float) -> float:
    """Give the highest probability that a guess can reach under pure epsilon.

    Parameters
    ----------
    prior : float
        Probability of the guess before the release, between 0 and 1.
    epsilon : float
        Bound on the logarithm of the change of its odds.

    Returns
    -------
    float
        Probability: prior odds times e^epsilon, turned back into a probability.
    """
    return 1 / (1 + (1 - prior) / prior * math.exp(-epsilon))


def percent(share: float) -> str:
    """Write a probability as a percentage that never rounds to certainty.

    Parameters
    ----------
    share : float
        Between 0 and 1.

    Returns
    -------
    str
        For example ``"73 %"``, ``"2.7 %"``, ``"more than 99.9 %"``.
    """
    if 0.999 < share < 1:
        return "more than 99.9 %"
    digits = 3 if share >= 0.99 else 2
    return f"{100 * share:.{digits}g} %"


def one_in(chance: float) -> str:
    """Write a small probability as one in so many, never smaller than it is.

    Parameters
    ----------
    chance : float
        Between 0 and 1, not 0.

    Returns
    -------
    str
        For example ``"1 in 100,000"``.
    """
    cases = math.floor(1 / chance * (1 + 1e-12))
    return f"1 in {cases:,}" if cases < 10**12 else f"1 in 10 to the power of {len(str(cases)) - 1}"


def markdown(text: object) -> str:
    """Make a string from elsewhere harmless in Markdown: one line, no markup, no HTML.

    Parameters
    ----------
    text : object
        A name, reason or verdict from a certificate.

    Returns
    -------
    str
        The same words.
    """
    return _MARKDOWN.sub(r"\\\1", " ".join(str(text).split()))


def fact_value(value: Any) -> str:
    """Write a fact's value as it stands in the certificate.

    Parameters
    ----------
    value : JSON value
        Of a :class:`~neuroveil.types.certificate.Fact`.

    Returns
    -------
    str
        Text as it is, everything else as JSON.
    """
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def listing(words: list[str]) -> str:
    """Join words with commas and "and".

    Parameters
    ----------
    words : list of str
        At least one.

    Returns
    -------
    str
        For example ``"age, sex and diagnosis"``.
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
