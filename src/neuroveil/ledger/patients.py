"""Recognising the same patient in two studies, without writing down who it is.

A roster key is turned into a keyed digest (HMAC-SHA256). The key lies beside the ledger, in a
file that only its owner can read; without it a digest cannot be guessed. Digests stay in the
ledger: they stand in no certificate, export or message.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path

from neuroveil.errors import BudgetError
from neuroveil.ledger.entries import hash_text, tampered

_KEY_BYTES = 32
_DIGEST = re.compile(r"[0-9a-f]{32}\Z")
_CHECK_LABEL = "neuroveil ledger: check of the key\n"
_PATIENT_LABEL = "neuroveil ledger: patient\n"


def make_key(file: Path) -> bytes:
    """Draw a ledger's secret key and write it, or load the one that is there.

    Parameters
    ----------
    file : Path
        Key file; made readable for its owner only.

    Returns
    -------
    bytes
        32 secret bytes.

    Raises
    ------
    BudgetError
        If a file is there that holds no key.
    """
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(secrets.token_bytes(_KEY_BYTES))
                stream.flush()
                os.fsync(stream.fileno())
            publish(draft, file)
        finally:
            draft.unlink(missing_ok=True)
    return load_key(file)


def publish(draft: Path, file: Path) -> bool:
    """Give a finished file its name, durably; one that appeared meanwhile stays.

    Parameters
    ----------
    draft : Path
        The finished file, in the same folder.
    file : Path
        Its name.

    Returns
    -------
    bool
        Whether the name was free.
    """
    try:
        file.hardlink_to(draft)
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links
        if file.exists():
            return False
        draft.rename(file)
    if hasattr(os, "O_DIRECTORY"):  # a name is durable once its folder is flushed
        folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    return True


def load_key(file: Path | None, check: str | None = None) -> bytes:
    """Load a ledger's secret key.

    Parameters
    ----------
    file : Path, optional
        Key file; none where nobody said where it is.
    check : str, optional
        What :func:`key_check` gave when the ledger was started.

    Returns
    -------
    bytes
        32 secret bytes.

    Raises
    ------
    BudgetError
        If there is no key, or it is another ledger's.
    """
    try:
        key = file.read_bytes() if file else b""
    except OSError:
        key = b""
    if len(key) != _KEY_BYTES or (check is not None and key_check(key) != check):
        raise BudgetError(
            "ledger key", "the key file that was made with this ledger",
            "another one" if key else "none that can be read",
            "Restore it from a backup, or name it with --key-file: without it patients cannot "
            "be recognised.",
        )  # fmt: skip
    return key


def key_check(key: bytes) -> str:
    """Make a value that tells whether a key is the right one, and nothing else about it.

    Parameters
    ----------
    key : bytes
        Secret key.

    Returns
    -------
    str
        32 hexadecimal digits.
    """
    return _keyed(key, _CHECK_LABEL)


def patient_digests(key: bytes, roster_keys: Iterable[str]) -> tuple[str, ...]:
    """Digest roster keys, one by one and in order.

    Two spellings of a key that differ in case, surrounding spaces or Unicode form are taken
    for the same patient: that can only make a patient's spend larger.

    Parameters
    ----------
    key : bytes
        Secret key.
    roster_keys : iterable of str
        Patient keys. Private.

    Returns
    -------
    tuple of str
        32 hexadecimal digits each.
    """
    return tuple(
        _keyed(key, _PATIENT_LABEL + unicodedata.normalize("NFKC", text).casefold().strip())
        for text in roster_keys
    )


def _keyed(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode(), "sha256").hexdigest()[:32]


def roster_text(digests: Iterable[str]) -> str:
    """Write a set of patients down: sorted, each once, one a line.

    Parameters
    ----------
    digests : iterable of str
        From :func:`patient_digests`.

    Returns
    -------
    str
        The list; its hash is what entries refer to.

    Raises
    ------
    BudgetError
        If one of them is no digest, for example a roster key itself.
    """
    patients = sorted(set(digests))
    if not all(_DIGEST.match(patient) for patient in patients):
        raise BudgetError(
            "charge.patients", "keyed digests", "something else",
            "Make them with Ledger.patient_digests; roster keys do not belong in a ledger.",
        )  # fmt: skip
    return "\n".join(patients)


def check_rosters(stored: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """Check lists of patients against the hashes that entries know them by.

    Parameters
    ----------
    stored : mapping of str to str
        Text by hash, as they stand in the database.

    Returns
    -------
    dict of str to frozenset of str
        Patients by hash.

    Raises
    ------
    BudgetError
        If a list was changed.
    """
    for name, text in stored.items():
        if not isinstance(text, str) or hash_text(text) != name:
            raise tampered("a list of patients does not match its hash")
    return {name: frozenset(text.split("\n")) for name, text in stored.items()}
