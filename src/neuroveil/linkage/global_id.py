"""The name that a patient has at every hospital of a project, and that nobody can read back.

GlobalID = HMAC-SHA256(K, Encode(PatientID)), written ``v{encoding}:{key id}:{mac}``. It is
computed inside the hospital: a central service that computed it would see patient numbers.
Whoever holds the linkage key can compute the GlobalID of every possible number and so read all
of them back; that is why the coordinator never holds it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from neuroveil.errors import LinkageError
from neuroveil.linkage.identifiers import ENCODING_VERSION
from neuroveil.linkage.key_service import KeyService

_FORM = re.compile(r"v([1-9][0-9]{0,3}):([0-9a-f]{32}):([0-9a-f]{64})")


@dataclass(frozen=True)
class GlobalId:
    """A GlobalID in its parts.

    Parameters
    ----------
    encoding_version : int
        Version of ``Encode``.
    key_id : str
        Public name of the linkage key, 32 hexadecimal digits.
    mac : str
        HMAC-SHA256, 64 hexadecimal digits.
    """

    encoding_version: int
    key_id: str
    mac: str

    def __str__(self) -> str:
        return f"v{self.encoding_version}:{self.key_id}:{self.mac}"


def global_ids(encoded: Sequence[bytes], service: KeyService) -> list[str]:
    """Compute the GlobalIDs of patients.

    Parameters
    ----------
    encoded : sequence of bytes
        Patient numbers as :func:`~neuroveil.linkage.identifiers.encode_identifier` gives them.
    service : KeyService
        Computes inside the hospital.

    Returns
    -------
    list of str
        In the same order.

    Raises
    ------
    LinkageError
        If a message is no encoded number, or the service refuses.
    """
    macs = service.macs(encoded)
    return [str(GlobalId(ENCODING_VERSION, service.key_id, mac.hex())) for mac in macs]


def parse_global_id(text: object, role: str) -> GlobalId:
    """Read a GlobalID.

    Parameters
    ----------
    text : object
        ``v{encoding}:{key id}:{mac}``.
    role : str
        What it is and where, for errors.

    Returns
    -------
    GlobalId
        Its parts.

    Raises
    ------
    LinkageError
        If it has another form.
    """
    found = _FORM.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise LinkageError(
            role, "a GlobalID, v{encoding}:{key id}:{mac}", "another form",
            "Check that the column holds GlobalIDs.",
        )  # fmt: skip
    return GlobalId(int(found[1]), found[2], found[3])
