"""The certificate: every link of the derivation as data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from neuroveil.errors import CertificateError

Status = Literal["proven", "measured", "assumed"]

SCHEMA = "neuroveil-certificate"
SCHEMA_VERSION = 2

LINKS: tuple[str, ...] = (
    "unit", "adjacency", "domain", "preprocessing", "bound", "sensitivity", "mechanism",
    "aggregates", "sampler", "guarantee", "amplification", "accountant", "composition", "model",
    "postprocessing", "utility", "software",
)  # fmt: skip
"""The links of the chain, in the order of the derivation; a link without facts is left out."""


@dataclass(frozen=True)
class Fact:
    """One fact of the chain.

    Parameters
    ----------
    value : JSON value
        The fact itself.
    status : {"proven", "measured", "assumed"}
        Whether it follows from other facts, was read off this run, or is taken on trust.
    source : str
        Where it comes from: a theorem, a setting of the study, a library.
    formula : str, optional
        How it follows from the facts in ``rests_on``, as plain text.
    rests_on : tuple of str
        Dotted names of the facts that it follows from.
    """

    value: Any
    status: Status
    source: str
    formula: str | None = None
    rests_on: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Give the fact as plain data.

        Returns
        -------
        dict
            Keys ``value``, ``status``, ``source``, ``formula``, ``rests_on``.
        """
        return {
            "value": self.value,
            "status": self.status,
            "source": self.source,
            "formula": self.formula,
            "rests_on": list(self.rests_on),
        }


Chain = Mapping[str, Mapping[str, Fact]]


def canonical_json(document: object) -> bytes:
    """Serialise to the one spelling that digests are taken over.

    Parameters
    ----------
    document : JSON value
        Plain data without NaN or infinity.

    Returns
    -------
    bytes
        UTF-8, keys sorted, no white space.
    """
    text = json.dumps(
        document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode()


def digest(data: bytes) -> str:
    """Digest of public bytes, as ``sha256:<hex>``.

    Parameters
    ----------
    data : bytes
        Public content.

    Returns
    -------
    str
        ``"sha256:"`` and 64 hexadecimal digits.
    """
    return "sha256:" + hashlib.sha256(data).hexdigest()


@dataclass(frozen=True)
class Certificate:
    """What was promised, and everything it follows from.

    Parameters
    ----------
    formal_guarantee : bool
        Whether the chain supports an end-to-end guarantee.
    verdict : str
        One sentence in plain English.
    blocking_reasons : tuple of str
        Why there is no guarantee, where there is none.
    chain : mapping of str to mapping of str to Fact
        The facts, by link (:data:`LINKS`) and name.
    release : mapping of str to str
        Digest of every file of the release folder by file name; empty until written.
    previous_hash : str, optional
        Digest of the certificate that this one follows, see :attr:`whole_digest`.
    signature : mapping of str to str, optional
        ``algorithm``, ``public_key`` and ``value``, see :mod:`neuroveil.keys`.
    """

    formal_guarantee: bool
    verdict: str
    blocking_reasons: tuple[str, ...]
    chain: Chain
    release: Mapping[str, str] = field(default_factory=dict)
    previous_hash: str | None = None
    signature: Mapping[str, str] | None = None

    def value(self, name: str) -> Any:
        """Look a fact's value up by its dotted name.

        Parameters
        ----------
        name : str
            ``"link.field"``, for example ``"bound.clip_norm"``.

        Returns
        -------
        JSON value
            The fact's value.

        Raises
        ------
        KeyError
            If the chain has no such fact.
        """
        link, _, fact = name.partition(".")
        return self.chain[link][fact].value

    def bound_to(self, files: Mapping[str, str]) -> Certificate:
        """Give the same certificate bound to the files of a release folder, not signed.

        Parameters
        ----------
        files : mapping of str to str
            Digest by file name.

        Returns
        -------
        Certificate
            A copy with ``release`` filled in.
        """
        return replace(self, release=dict(files), signature=None)

    @property
    def signed_bytes(self) -> bytes:
        """What a signature is over: the canonical JSON of everything but the signature."""
        document = self.to_json()
        del document["signature"]
        return canonical_json(document)

    @property
    def whole_digest(self) -> str:
        """Digest over all of it, signature included; the next certificate repeats it."""
        return digest(canonical_json(self.to_json()))

    @property
    def chain_digest(self) -> str:
        """Digest over guarantee, verdict, reasons and chain, without file digests.

        The data dictionary and the statement carry it, so that a certificate cannot be
        exchanged under a release.
        """
        document = self.to_json()
        for key in ("release", "previous_hash", "signature"):
            del document[key]
        return digest(canonical_json(document))

    def to_json(self) -> dict[str, Any]:
        """Give the certificate as plain data, as it is written to ``certificate.json``.

        Returns
        -------
        dict
            Keys ``schema``, ``schema_version``, ``formal_guarantee``, ``verdict``,
            ``blocking_reasons``, ``chain``, ``release``, ``previous_hash``, ``signature``.
        """
        return {
            "schema": SCHEMA,
            "schema_version": SCHEMA_VERSION,
            "formal_guarantee": self.formal_guarantee,
            "verdict": self.verdict,
            "blocking_reasons": list(self.blocking_reasons),
            "chain": {
                link: {name: fact.to_json() for name, fact in facts.items()}
                for link, facts in self.chain.items()
            },
            "release": dict(self.release),
            "previous_hash": self.previous_hash,
            "signature": None if self.signature is None else dict(self.signature),
        }


def certificate_from_json(document: Any) -> Certificate:
    """Read a certificate back from plain data, without judging it.

    Parameters
    ----------
    document : JSON value
        As written by :meth:`Certificate.to_json`.

    Returns
    -------
    Certificate
        For rendering; :func:`neuroveil.privacy.verify.verify` judges.

    Raises
    ------
    CertificateError
        If it is not a certificate of this version.
    """
    try:
        if (document["schema"], document["schema_version"]) != (SCHEMA, SCHEMA_VERSION):
            raise KeyError
        chain = {
            str(link): {
                str(name): Fact(
                    fact["value"], fact["status"], fact["source"], fact["formula"],
                    tuple(fact["rests_on"]),
                )
                for name, fact in facts.items()
            }
            for link, facts in document["chain"].items()
        }  # fmt: skip
        return Certificate(
            formal_guarantee=document["formal_guarantee"],
            verdict=document["verdict"],
            blocking_reasons=tuple(document["blocking_reasons"]),
            chain=chain,
            release=dict(document["release"]),
            previous_hash=document["previous_hash"],
            signature=None if document["signature"] is None else dict(document["signature"]),
        )
    except (KeyError, TypeError, AttributeError, ValueError):
        raise CertificateError(
            "certificate", f"a {SCHEMA} of version {SCHEMA_VERSION}", "something else",
            "Name a release folder, or the certificate.json in it.",
        ) from None  # fmt: skip
