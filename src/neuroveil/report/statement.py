"""The plain-language statement that goes with a release."""

from __future__ import annotations

import re

from neuroveil.report.facts import Facts
from neuroveil.report.limits import CHECKING, not_protected
from neuroveil.report.links import chain_links
from neuroveil.report.promise import Promise, cost, promise, trust
from neuroveil.report.text import markdown
from neuroveil.types.certificate import Certificate

_LIST_ITEM = re.compile(r"(- |\d\. )\*?")


def statement(certificate: Certificate) -> str:
    """Write ``STATEMENT.md``: the promise for somebody who reads nothing else.

    Parameters
    ----------
    certificate : Certificate
        The certificate of the release.

    Returns
    -------
    str
        Markdown. The first sentence is the promise, or says that there is none and why; the
        certificate's verdict stands in it word for word; the last line is ``Chain: sha256:…``
        with the certificate's chain digest.
    """
    facts = Facts(certificate)
    words = promise(certificate)
    sections = [
        ("What was promised", _promised(words)),
        ("What it rests on" if words.holds else "The chain, and where it breaks", _chain(facts)),
        ("Whom you have to trust", [markdown(line) for line in trust(facts)]),
        ("What is not protected", [
            f"- **{limit.title}.** {markdown(limit.sentence)}" for limit in not_protected(facts)
        ]),
        ("What is left in the table", [markdown(line) for line in cost(facts)]),
        ("How to check it", list(CHECKING)),
        ("The verdict of the certificate, word for word", [_as_it_stands(certificate.verdict)]),
    ]  # fmt: skip
    lines = ["# Privacy statement", "", markdown(words.headline), ""]
    for title, paragraphs in sections:
        lines += [f"## {title}", ""]
        for paragraph in paragraphs:
            lines += [paragraph] if _LIST_ITEM.match(paragraph) else [paragraph, ""]
        lines += [""] if lines[-1] else []
    return "\n".join([*lines, f"Chain: {certificate.chain_digest}", ""])


def _promised(words: Promise) -> list[str]:
    if words.holds:
        return [markdown(line) for line in words.odds]
    reasons = [f"- {markdown(reason)}" for reason in words.reasons]
    return [
        "Nothing is promised. The certificate records how the table was made, so that anyone "
        "can see why:",
        *(reasons or ["- The certificate gives no reason."]),
    ]


def _as_it_stands(text: str) -> str:
    """One line that Markdown leaves alone; verification looks for it."""
    return f"    {text}"


def _chain(facts: Facts) -> list[str]:
    lines = []
    for place, link in enumerate(chain_links(facts), start=1):
        broken = f" **Broken: {markdown(link.broken)}**" if link.broken else ""
        lines.append(f"{place}. **{link.title}.** {markdown(link.sentence)}{broken}")
    return lines
