"""Read certificates (JSON) and claims (TOML) from files that nobody vouches for."""

from __future__ import annotations

import difflib
import hashlib
import json
import math
import stat
import tomllib
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from neuroveil.errors import CertificateError
from neuroveil.privacy.verify.rulebook import FACT_NAMES, claim_mistake
from neuroveil.privacy.verify.statement import Printed, Statement

MAX_BYTES = 10_000_000
MAX_DEPTH = 32
_MAX_NUMBER_CHARACTERS = 400
_LARGEST_INTEGER = 2**63


def canonical_digest(document: object) -> str:
    """Digest over the canonical JSON of plain data.

    Parameters
    ----------
    document : JSON value
        Plain data without NaN or infinity.

    Returns
    -------
    str
        ``"sha256:"`` and 64 hexadecimal digits.
    """
    text = json.dumps(
        document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def read_bytes(path: Path, role: str, most: int = MAX_BYTES) -> bytes:
    """Read a small regular file.

    Parameters
    ----------
    path : Path
        The file.
    role : str
        What the file is, for messages.
    most : int
        Largest size in bytes.

    Returns
    -------
    bytes
        Its content.

    Raises
    ------
    CertificateError
        If it is missing, no regular file, a symbolic link, or larger than that.
    """
    too_large = _refusal(role, f"at most {most // 10**6} MB", "a larger file")
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):
            raise _refusal(role, "a regular file", "something else, for example a link")
        if status.st_size > most:
            raise too_large
        with path.open("rb") as stream:
            data = stream.read(most + 1)
    except OSError as error:
        raise _refusal(role, "a file that can be read", error.strerror or "none") from None
    if len(data) > most:
        raise too_large
    return data


def load_json(data: bytes, role: str) -> dict[str, Any]:
    """Parse one JSON object strictly.

    Parameters
    ----------
    data : bytes
        UTF-8 text.
    role : str
        What the file is, for messages.

    Returns
    -------
    dict
        The object. No key occurs twice, every number is finite, nothing is nested deeper
        than 32 levels.

    Raises
    ------
    CertificateError
        If it is anything else.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise _refusal(role, "every key once", "a key that occurs twice")
        return found

    def constant(_: str) -> Any:
        raise _refusal(role, "finite numbers", "NaN or infinity")

    def number(text: str) -> float:
        value = float(text) if len(text) <= _MAX_NUMBER_CHARACTERS else math.inf
        return value if math.isfinite(value) else constant(text)

    def integer(text: str) -> int:
        value = int(text) if len(text) <= _MAX_NUMBER_CHARACTERS else _LARGEST_INTEGER
        if abs(value) >= _LARGEST_INTEGER:
            raise _refusal(role, "integers of 64 bits", "a larger one")
        return value

    try:
        document = json.loads(
            data.decode(), object_pairs_hook=unique, parse_constant=constant,
            parse_float=number, parse_int=integer,
        )  # fmt: skip
    except (ValueError, RecursionError):
        raise _refusal(role, "JSON in UTF-8", "something that is not") from None
    if not isinstance(document, dict):
        raise _refusal(role, "a JSON object", "another JSON value")
    _refuse_odd_content(document, role)
    return document


def _refuse_odd_content(document: object, role: str) -> None:
    """Refuse deep nesting and text that has no UTF-8 form (lone surrogates)."""
    pending: list[tuple[object, int]] = [(document, 1)]
    while pending:
        value, depth = pending.pop()
        if depth > MAX_DEPTH:
            raise _refusal(role, f"at most {MAX_DEPTH} levels", "deeper nesting")
        if isinstance(value, dict):
            texts, children = list(value), list(value.values())
        elif isinstance(value, list):
            texts, children = [], value
        else:
            texts, children = [value] if isinstance(value, str) else [], []
        if any(map(_has_surrogate, texts)):
            raise _refusal(role, "text that has a UTF-8 form", "half a character")
        pending.extend([(child, depth + 1) for child in children])


def _has_surrogate(text: str) -> bool:
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def read_certificate(path: Path) -> Statement:
    """Read a certificate.

    Parameters
    ----------
    path : Path
        ``certificate.json``.

    Returns
    -------
    Statement
        With the value of every fact that has one, and the document as it is.

    Raises
    ------
    CertificateError
        If the file is not one strict JSON object.
    """
    document = load_json(read_bytes(path, "certificate"), "certificate")
    chain = document.get("chain")
    facts = {
        f"{link}.{name}": fact["value"]
        for link, entries in (chain.items() if isinstance(chain, dict) else ())
        if isinstance(entries, dict)
        for name, fact in entries.items()
        if isinstance(fact, dict) and "value" in fact
    }
    return Statement("certificate", "certificate", facts, document)


def read_claim(path: Path) -> Statement:
    """Read somebody's claim.

    Parameters
    ----------
    path : Path
        A TOML file, see the certificate's documentation.

    Returns
    -------
    Statement
        With the value of every fact that the claim states.

    Raises
    ------
    CertificateError
        If the file is not TOML, or states something under a name or with a type that no
        certificate has: a misspelt fact would otherwise be overlooked in silence.
    """
    try:
        document = tomllib.loads(read_bytes(path, "claim").decode(), parse_float=_printed)
    except (ValueError, RecursionError):
        raise _refusal("claim", "TOML in UTF-8", "something that is not") from None
    head = document.pop("claim", {})
    title = head.get("title", "claim") if isinstance(head, Mapping) else "claim"
    facts: dict[str, Any] = {}
    for link, entries in document.items():
        if not isinstance(entries, Mapping):
            raise _unknown(link)
        facts.update({f"{link}.{name}": value for name, value in entries.items()})
    for name, value in facts.items():
        if name not in FACT_NAMES:
            raise _unknown(name)
        expected = claim_mistake(name, value)
        if expected:
            raise _refusal(f"claim, {name}", expected, "something else")
    title = title if isinstance(title, str) else "claim"
    return Statement("claim", "".join(filter(str.isprintable, title))[:200], facts)


def _printed(text: str) -> Printed:
    """Read a TOML float without rounding, and remember its last printed digit."""
    digits = text.replace("_", "").lower()
    mantissa, _, exponent = digits.partition("e")
    power = int(exponent or "0") if len(exponent) <= 4 else 10**6
    if mantissa.lstrip("+-") in {"inf", "nan"} or abs(power) > _MAX_NUMBER_CHARACTERS:
        raise _refusal("claim", "finite numbers", "NaN, infinity or a number beyond all use")
    decimals = len(mantissa.partition(".")[2])
    unit = Fraction(10) ** (power - decimals)
    return Printed(Fraction(mantissa) * Fraction(10) ** power, unit / 2)


def _unknown(name: str) -> CertificateError:
    """A name that no certificate has, with the nearest that one does have."""
    near = difflib.get_close_matches(name[:80], FACT_NAMES, n=1)
    return CertificateError(
        "claim", "the names of links and facts that a certificate has",
        "a name that it does not have",
        f"Did you mean {near[0]}?" if near else "See the page on certificates for the names.",
    )  # fmt: skip


def _refusal(role: str, expected: str, found: str) -> CertificateError:
    return CertificateError(
        role, expected, found, "Ask for the original file; this one cannot be verified."
    )
