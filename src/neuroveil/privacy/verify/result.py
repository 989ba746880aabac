"""What verification found: frozen checks, and the verdict over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Outcome = Literal["holds", "broken", "unchecked"]
Scope = Literal["release", "certificate", "claim", "training"]

LINKS: tuple[str, ...] = (
    "document", "unit", "adjacency", "domain", "preprocessing", "bound", "sensitivity",
    "mechanism", "aggregates", "sampler", "guarantee", "amplification", "accountant",
    "composition", "model", "postprocessing", "utility", "software", "verdict", "release",
    "signature",
)  # fmt: skip
"""Where a check can belong: the links of the chain in the order of the derivation, with
``document`` (the file as such) before them and ``verdict`` (the conclusion), ``release``
(the files that are released) and ``signature`` after them."""

EXIT_CODES: dict[Outcome, int] = {"holds": 0, "broken": 4, "unchecked": 5}


@dataclass(frozen=True)
class Check:
    """One thing that was checked.

    Parameters
    ----------
    id : str
        Dotted name, for example ``"mechanism.noise_scale"``; usually that of a fact.
    link : str
        One of :data:`LINKS`.
    outcome : {"holds", "broken", "unchecked"}
        What came out.
    sentence : str
        The finding in plain English.
    stated, recomputed : JSON value
        What the document says, and what it should say; ``None`` where there is no number.
    source : str
        Theorem, equation or rule that the check applies.
    """

    id: str
    link: str
    outcome: Outcome
    sentence: str
    stated: Any = None
    recomputed: Any = None
    source: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Give the check as plain data.

        Returns
        -------
        dict
            Keys ``id``, ``link``, ``outcome``, ``sentence``, ``stated``, ``recomputed``
            and ``source``.
        """
        return {
            "id": self.id,
            "link": self.link,
            "outcome": self.outcome,
            "sentence": self.sentence,
            "stated": self.stated,
            "recomputed": self.recomputed,
            "source": self.source,
        }


@dataclass(frozen=True)
class VerificationResult:
    """Every check, and what follows from all of them together.

    Parameters
    ----------
    scope : {"release", "certificate", "claim", "training"}
        What was verified: a release folder, a certificate alone, a claim, or the folder of a
        federated training.
    title : str
        What the document calls itself.
    checks : tuple of Check
        In the order of the derivation.
    notes : tuple of str
        What verification does not look at, in plain English.
    """

    scope: Scope
    title: str
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()

    @property
    def links(self) -> dict[str, Outcome]:
        """Outcome of every link that was looked at; broken beats unchecked beats holds."""
        return {
            link: _worst([check.outcome for check in self.checks if check.link == link])
            for link in LINKS
            if any(check.link == link for check in self.checks)
        }

    @property
    def broken_links(self) -> tuple[str, ...]:
        """Names of the links that do not hold."""
        return tuple(link for link, outcome in self.links.items() if outcome == "broken")

    @property
    def unchecked_links(self) -> tuple[str, ...]:
        """Names of the links that cannot be checked from what is stated."""
        return tuple(link for link, outcome in self.links.items() if outcome == "unchecked")

    @property
    def outcome(self) -> Outcome:
        """The verdict over all checks."""
        return _worst([check.outcome for check in self.checks])

    @property
    def exit_code(self) -> int:
        """0 where everything holds, 4 where a link is broken, 5 where one is unchecked."""
        return EXIT_CODES[self.outcome]

    @property
    def sentence(self) -> str:
        """The verdict in one sentence of plain English."""
        if self.outcome == "broken":
            return f"Does not hold. Broken: {', '.join(self.broken_links)}."
        if self.outcome == "unchecked":
            names = ", ".join(self.unchecked_links)
            return f"Cannot be checked from what is stated. Open: {names}."
        return "Holds. Every number was derived again from what is stated."

    def as_dict(self) -> dict[str, Any]:
        """Give the result as plain data, for ``--json``.

        Returns
        -------
        dict
            Keys ``scope``, ``title``, ``outcome``, ``exit_code``, ``sentence``, ``links``,
            ``broken_links``, ``unchecked_links``, ``checks`` and ``notes``.
        """
        return {
            "scope": self.scope,
            "title": self.title,
            "outcome": self.outcome,
            "exit_code": self.exit_code,
            "sentence": self.sentence,
            "links": dict(self.links),
            "broken_links": list(self.broken_links),
            "unchecked_links": list(self.unchecked_links),
            "checks": [check.as_dict() for check in self.checks],
            "notes": list(self.notes),
        }


def _worst(outcomes: list[Outcome]) -> Outcome:
    """Broken beats unchecked beats holds; nothing checked at all is unchecked."""
    if "broken" in outcomes:
        return "broken"
    if "unchecked" in outcomes or not outcomes:
        return "unchecked"
    return "holds"
