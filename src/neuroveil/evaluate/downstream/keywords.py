"""Labels from free-text reports by key words, with negation. No text leaves this module.

The paper calls a patient positive whose report has one of three terms, and does not look at what
stands around it: "no epileptic seizure" counts like "epileptic seizure". Here a term is negated,
uncertain or affirmed by what stands in the same sentence before and after it, in the manner of
NegEx. Whatever is not plainly affirmed or plainly absent is counted for a look by a person.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

PAPER_TERMS: tuple[str, ...] = ("epileptic seizure", "ictal EEG pattern", "ictal EEG activity")
"""Terms that make a patient positive in the paper."""

PAPER_NEUTRAL_TERMS: tuple[str, ...] = ("epileptiform interictal activity", "abnormal interictal")
"""Terms that by themselves do not, in the paper."""

Reason = Literal["negated", "uncertain", "contradictory", "neutral_term_only", "empty"]
"""Why a person should look: the terms are all negated, none is certain, some are affirmed and
others negated, there is only a neutral term, or there is no text."""

_SENTENCE = re.compile(r"[.;!\n]+(?=\s|$)|\n")
_TURN = re.compile(r"\b(?:but|however|although|though|except|whereas|yet|while)\b")
_NEGATION = (
    r"\b(?:no|not|non|without|never|neither|nor|denies|denied|negative for|free of|absence of|"
    r"absent|lack of|rather than|exclud\w+|ruled out|rule out)\b"
)
_BEFORE = re.compile(_NEGATION + r"[^,]{0,60}$")
_BEFORE_A_LIST = re.compile(_NEGATION + r".{0,120}$")
_AFTER = re.compile(
    r"^\s*:\s*(?:none|no|nil|negative)\b|"
    r"^[^,:]{0,40}\b(?:not (?:seen|recorded|present|observed|found|detected|noted|registered)|"
    r"absent|unlikely|(?:was|were|is|are|been) (?:excluded|ruled out)|never)\b"
)
_MAYBE_BEFORE = re.compile(
    r"\b(?:possible|possibly|probable|probably|suspect\w*|suspicio\w+|question of|query|"
    r"maybe|may|might|history|differential\w*|cannot exclude|"
    r"not (?:be )?exclude|versus|vs)\b[^,]{0,60}$|\?\s*$"
)
_MAYBE_AFTER = re.compile(
    r"^[^,:]{0,40}(?:\?|\b(?:possible|suspected|uncertain|cannot be (?:excluded|ruled out)|"
    r"not (?:be )?(?:excluded|ruled out)|to be (?:excluded|confirmed))\b)"
)


@dataclass(frozen=True)
class KeywordRule:
    """Terms that decide. Public.

    Parameters
    ----------
    terms : tuple of str
        A patient is positive where one of them is affirmed; whole words, any case, with or
        without a plural s.
    neutral_terms : tuple of str
        Terms that say nothing by themselves.
    """

    terms: tuple[str, ...] = PAPER_TERMS
    neutral_terms: tuple[str, ...] = PAPER_NEUTRAL_TERMS


@dataclass(frozen=True, repr=False)
class KeywordLabels:
    """What the rule made of reports. Private, and without any of their text.

    Parameters
    ----------
    labels : tuple of bool or None
        One entry a report; ``None`` where it leaves the class open.
    reasons : tuple of Reason or None
        Why a person should look at a report, where one should.
    n_differs_from_paper : int
        Reports that the paper's rule, which ignores negation, would call positive and this one
        does not.
    """

    labels: tuple[bool | None, ...]
    reasons: tuple[Reason | None, ...]
    n_differs_from_paper: int

    @property
    def review(self) -> dict[str, int]:
        """How many reports need a look, by reason."""
        counted = Counter(reason for reason in self.reasons if reason is not None)
        return {str(reason): n for reason, n in sorted(counted.items())}


def label_reports(reports: Sequence[str], rule: KeywordRule) -> KeywordLabels:
    """Label reports by key words.

    Parameters
    ----------
    reports : sequence of str
        Free text, one a patient. Private.
    rule : KeywordRule
        Terms.

    Returns
    -------
    KeywordLabels
        Labels, reasons for a look, and in how many reports negation made a difference.

    References
    ----------
    Section 4.3 of the paper for the terms; Chapman et al. 2001 (NegEx) for negation.
    """
    found = [_label(report, rule) for report in reports]
    terms = _pattern(rule.terms)
    by_paper = [bool(terms.search(_plain(report))) for report in reports]
    differs = sum(
        paper and label is not True for paper, (label, _) in zip(by_paper, found, strict=True)
    )
    return KeywordLabels(
        tuple(label for label, _ in found), tuple(reason for _, reason in found), differs
    )


def _label(report: str, rule: KeywordRule) -> tuple[bool | None, Reason | None]:
    text = _plain(report)
    if not text.strip():
        return None, "empty"
    terms, neutral = _pattern(rule.terms), _pattern(rule.neutral_terms)
    spoken = Counter(
        _polarity(clause, match)
        for sentence in _SENTENCE.split(text)
        for clause in _TURN.split(neutral.sub(" ", sentence))
        for match in terms.finditer(clause)
    )
    if spoken["affirmed"]:
        return True, "contradictory" if spoken["negated"] else None
    if spoken["uncertain"]:
        return None, "uncertain"
    if spoken["negated"]:
        return False, "negated"
    return False, "neutral_term_only" if neutral.search(text) else None


def _polarity(clause: str, match: re.Match[str]) -> str:
    before, after = clause[: match.start()], clause[match.end() :]
    if _MAYBE_BEFORE.search(before) or _MAYBE_AFTER.search(after):
        return "uncertain"
    if _BEFORE.search(before) or _AFTER.search(after):
        return "negated"
    # "Without spikes, seizures or ..." and "No spikes, one seizure" look alike.
    return "uncertain" if _BEFORE_A_LIST.search(before) else "affirmed"


def _pattern(terms: Sequence[str]) -> re.Pattern[str]:
    """Whole words, so that "interictal EEG activity" has no "ictal EEG activity" in it."""
    options = "|".join(re.escape(_plain(term).strip()) for term in terms)
    return re.compile(rf"\b(?:{options})s?\b" if options else r"(?!)")


def _plain(text: str) -> str:
    """One case, one kind of blank within a line, hyphens as blanks."""
    lowered = re.sub(r"[\-\u2010-\u2015_]", " ", text.casefold())
    return re.sub(r"[^\S\n]+", " ", lowered)
