"""What an entry can say: the opening with the site's limit, further limits, and spends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from neuroveil.ledger.amounts import read_amount, read_count
from neuroveil.types.budget import AccountingEvent, Amount, Rule, Scope
from neuroveil.types.charge import ChargeRequest

FORMAT = 1
"""Version of the ledger's format; version 0 is read by :mod:`neuroveil.ledger.upgrade`."""


@dataclass(frozen=True)
class Opening:
    """The first entry: the limit for everything on the ledger, and how it counts.

    Parameters
    ----------
    epsilon, delta : Fraction
        What may be spent on any patient over all releases, exact.
    rule : {"basic", "pld"}
        How spends add up.
    key_check : str, optional
        Present where roster keys are patient numbers of the whole site. Tells whether a file
        of patient keys is this ledger's, and nothing else.
    upgraded_from : str, optional
        Hash of the newest entry of the ledger of format 0 that this one goes on with.
    """

    epsilon: Fraction
    delta: Fraction
    rule: Rule = "basic"
    key_check: str | None = None
    upgraded_from: str | None = None


@dataclass(frozen=True)
class Limit:
    """A further limit, for one study or for one set of patients.

    Parameters
    ----------
    scope : Scope
        What it holds for.
    epsilon, delta : Fraction
        What may be spent, exact.
    roster : str, optional
        Digest of the list of members, for a set of patients.
    """

    scope: Scope
    epsilon: Fraction
    delta: Fraction
    roster: str | None = None


@dataclass(frozen=True)
class Spend:
    """One release.

    Parameters
    ----------
    events : tuple of AccountingEvent
        What was released.
    mechanism : str
        Name of the row mechanism.
    n_patients, dimension : int
        Size of the release.
    columns_digest : str
        Digest of the released column names.
    scopes : tuple of Scope
        Studies that it belongs to.
    roster : str, optional
        Digest of the list of its patients. None: it counts for every patient.
    """

    events: tuple[AccountingEvent, ...]
    mechanism: str
    n_patients: int
    dimension: int
    columns_digest: str
    scopes: tuple[Scope, ...] = ()
    roster: str | None = None

    @property
    def amount(self) -> Amount:
        """Epsilon and delta, added up."""
        return add_up(self.events)


Content = Opening | Limit | Spend
_TEXTS = ("mechanism", "columns_digest", "roster", "key_check", "upgraded_from")
Kind = Literal["opening", "limit", "spend"]
_KINDS: dict[type[Content], Kind] = {Opening: "opening", Limit: "limit", Spend: "spend"}


def add_up(events: tuple[AccountingEvent, ...]) -> Amount:
    """Add epsilons and deltas (basic composition), which is valid for every mechanism.

    Parameters
    ----------
    events : tuple of AccountingEvent
        What was released.

    Returns
    -------
    tuple of Fraction
        Epsilon and delta, exact.
    """
    return (
        sum((event.epsilon for event in events), Fraction()),
        sum((event.delta for event in events), Fraction()),
    )


def spend_of(request: ChargeRequest, roster: str | None) -> Spend:
    """Put a request into the words of the ledger.

    Parameters
    ----------
    request : ChargeRequest
        What is spent.
    roster : str, optional
        Digest of the list of its patients.

    Returns
    -------
    Spend
        The content of the new entry.
    """
    return Spend(
        events=request.parts, mechanism=request.mechanism, n_patients=request.n_patients,
        dimension=request.dimension, columns_digest=request.columns_digest,
        scopes=tuple(sorted(set(request.scopes))), roster=roster,
    )  # fmt: skip


def kind_of(content: Content) -> Kind:
    """Name what a content is.

    Parameters
    ----------
    content : Opening or Limit or Spend
        What an entry says.

    Returns
    -------
    {"opening", "limit", "spend"}
        As it stands in the entry.
    """
    return _KINDS[type(content)]


def encode(content: Content) -> dict[str, Any]:
    """Write a content as plain data: exact numbers as text.

    Parameters
    ----------
    content : Opening or Limit or Spend
        What an entry says.

    Returns
    -------
    dict
        For canonical JSON.
    """
    if isinstance(content, Spend):
        plain = dict(vars(content))
        plain["events"] = [_encode_event(event) for event in content.events]
        plain["scopes"] = [str(scope) for scope in content.scopes]
        return plain
    plain = {**vars(content), "epsilon": str(content.epsilon), "delta": str(content.delta)}
    if isinstance(content, Limit):
        return {**plain, "scope": str(content.scope)}
    return {**plain, "format": FORMAT}


def _encode_event(event: AccountingEvent) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "mechanism": event.mechanism, "epsilon": str(event.epsilon), "delta": str(event.delta),
    }  # fmt: skip
    if event.noise_multiplier is not None and event.integer_scale is not None:
        plain["noise_multiplier"] = event.noise_multiplier.hex()
        plain["integer_scale"] = event.integer_scale.hex()
        plain["dimension"] = event.dimension
    return plain


def decode(kind: str, plain: Mapping[str, Any]) -> Content:
    """Read a content back.

    Parameters
    ----------
    kind : str
        What it should be.
    plain : mapping
        From :func:`encode`; anything else ends in one of the errors below.

    Returns
    -------
    Opening or Limit or Spend
        The content. Whether it is written exactly like that is for the caller to check.

    Raises
    ------
    ValueError
        If the kind is unknown, or numbers cannot be read. Missing fields end in a
        ``LookupError`` or ``TypeError``, senseless amounts in a ``BudgetError``.
    """
    fields = dict(plain)
    if any(type(fields.get(name)) not in (str, type(None)) for name in _TEXTS):
        raise ValueError("no text")
    if kind == "spend":
        for name in ("n_patients", "dimension"):
            fields[name] = read_count(fields[name])
        events = tuple(_decode_event(event) for event in fields.pop("events"))
        scopes = tuple(Scope.parse(text) for text in fields.pop("scopes"))
        if not events:
            raise ValueError("a spend of nothing")
        return Spend(events=events, scopes=scopes, **fields)
    fields["epsilon"], fields["delta"] = _limit_amount(fields)
    if kind == "limit":
        return Limit(scope=Scope.parse(fields.pop("scope")), **fields)
    if kind == "opening" and fields.pop("format") == FORMAT and fields["rule"] in ("basic", "pld"):
        return Opening(**fields)
    raise ValueError("no entry of this format")


def _limit_amount(fields: Mapping[str, Any]) -> Amount:
    epsilon, delta = read_amount(fields["epsilon"]), read_amount(fields["delta"])
    if epsilon <= 0 or not 0 <= delta < 1:
        raise ValueError("no limit")
    return epsilon, delta


def _decode_event(plain: Mapping[str, Any]) -> AccountingEvent:
    fields = dict(plain)
    for name in ("epsilon", "delta"):
        fields[name] = read_amount(fields[name])
    for name in ("noise_multiplier", "integer_scale"):
        if name in fields:
            fields[name] = float.fromhex(fields[name])
    if "dimension" in fields:
        fields["dimension"] = read_count(fields["dimension"])
    if not isinstance(fields["mechanism"], str):
        raise ValueError("no mechanism")
    return AccountingEvent(**fields)
