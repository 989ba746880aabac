"""What a study is: public terms that hospitals approve before they send anything."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from neuroveil.deploy.server.refusals import Refusal
from neuroveil.deploy.server.settings import ServerSettings
from neuroveil.errors import NeuroveilError
from neuroveil.study.evaluation import EvaluationSettings
from neuroveil.study.section import PositiveFloat, Section, Text
from neuroveil.study.validation import validated
from neuroveil.types.catalogue import Column, column_from_name
from neuroveil.types.certificate import canonical_json, digest
from neuroveil.types.scaling import Scaling

NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
"""Names of studies: small letters, digits and hyphens, at most 40."""

_MOST_COLUMNS = 20_000
_MOST_TEXT = 2_000
_MOST_HOSPITALS = 500


class ProposalText(Section):
    """A proposal as plain data."""

    title: Text
    hospitals: list[Text]
    policy: Literal["pool", "keep_longest", "hospital_order"]
    columns: list[Text]
    signal: dict[str, Any]
    reference: dict[str, Any]
    clip_norm: PositiveFloat
    smallest_n_patients: int | None = None
    label: EvaluationSettings | None = None

    @property
    def plain(self) -> dict[str, Any]:
        """Plain data; a proposal without a label says nothing of one."""
        whole = self.model_dump(exclude={"label"})
        if self.label is None:
            return whole
        return {**whole, "label": self.label.model_dump(mode="json", exclude_none=True)}


@dataclass(frozen=True, eq=False)
class Proposal:
    """A checked proposal.

    Parameters
    ----------
    text : ProposalText
        As it was proposed.
    columns : tuple of Column
        Features of the study, in order.
    scaling : Scaling
        Public constants of exactly these columns.
    """

    text: ProposalText
    columns: tuple[Column, ...]
    scaling: Scaling

    @property
    def terms(self) -> dict[str, str]:
        """Digests of columns, reference and signal settings, which each hospital states too."""
        from neuroveil.privacy.settings import columns_digest

        terms = {
            "columns_digest": columns_digest(self.columns),
            "reference_digest": self.scaling.digest,
            "features_digest": digest(canonical_json(self.text.signal)),
        }
        label = self.text.plain.get("label")
        return terms if label is None else {**terms, "label_digest": digest(canonical_json(label))}

    @property
    def has_label(self) -> bool:
        """Whether hospitals send what a model learns."""
        return self.text.label is not None

    def smallest_n(self, settings: ServerSettings) -> int:
        """Give the smallest number of people, after duplicates, about whom this study releases.

        Parameters
        ----------
        settings : ServerSettings
            A proposal can ask for more than the server does, and never for less.

        Returns
        -------
        int
            The larger of the two.
        """
        return max(
            settings.require_trusted().smallest_n_patients, self.text.smallest_n_patients or 0
        )


def read_proposal(document: Any) -> Proposal:
    """Check a proposal.

    Parameters
    ----------
    document : JSON value
        From a principal investigator.

    Returns
    -------
    Proposal
        Sound in itself.

    Raises
    ------
    Refusal
        Code ``bad_request``, naming the part that is wrong.
    """
    from neuroveil.reference.checks import reference_from_json

    if not isinstance(document, dict):
        raise _bad("proposal", "an object")
    try:
        text = validated(ProposalText, document)
        columns = _columns(text.columns)
        scaling = reference_from_json(text.reference).scaling_for(columns)
        canonical_json(text.plain)
    except NeuroveilError as error:
        raise _bad(f"proposal: {error.where}", error.expected) from None
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise _bad("proposal", "plain data") from None
    n_hospitals = len(text.hospitals)
    if len(set(text.hospitals)) != n_hospitals or not 1 <= n_hospitals <= _MOST_HOSPITALS:
        raise _bad("proposal: hospitals", "names of hospitals, each once")
    if len(text.title) > _MOST_TEXT or not text.title.isprintable():
        raise _bad("proposal: title", "one line of text")
    if text.label is not None and (text.label.label is None or text.label.mistakes()):
        raise _bad("proposal: label", "a column of the rosters, and what makes somebody positive")
    return Proposal(text, columns, scaling)


def require_name(name: Any) -> str:
    """Refuse what is no name of a study; nothing else ever becomes a part of an address.

    Parameters
    ----------
    name : JSON value
        As sent.

    Returns
    -------
    str
        The same.

    Raises
    ------
    Refusal
        Code ``bad_request``.
    """
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise _bad("study", "a name of small letters, digits and hyphens, at most 40")
    return name


def _columns(names: list[str]) -> tuple[Column, ...]:
    columns = [column_from_name(name) for name in names]
    found = tuple(column for column in columns if column is not None)
    is_sound = 1 <= len(names) <= _MOST_COLUMNS and len(found) == len(names)
    if not is_sound or len(set(names)) != len(names) or max(map(len, names)) > _MOST_TEXT:
        raise _bad("proposal: columns", "names CHANNEL__feature of the catalogue, each once")
    return found


def _bad(where: str, expected: str) -> Refusal:
    return Refusal(
        "bad_request", f"{where}: {expected}", "something else", "Use `neuroveil consortium`."
    )
