"""``[server]``: the way to a coordinator's server; nothing of it is a part of what is promised."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from neuroveil.errors import StudyMistake
from neuroveil.study.section import Section, SectionMistakes, Text


def is_server_address(url: str) -> bool:
    """Tell whether a text says where a server is, and nothing else.

    Parameters
    ----------
    url : str
        Any text.

    Returns
    -------
    bool
        True for ``https://HOST`` and ``https://HOST:PORT``.
    """
    try:
        parts = urlsplit(url)
        is_place = parts.scheme == "https" and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    more = parts.path.strip("/") or parts.query or parts.fragment or parts.username
    return is_place and not more


def _address(url: str) -> str:
    # What was found is not repeated: a password may stand in it.
    if not is_server_address(url):
        raise SectionMistakes([StudyMistake(
            "server.address", "an address like 'https://server.example:8443'", "another text",
            "Write https://, the host and, unless it is 443, the port.",
        )])  # fmt: skip
    return url


class ServerSettings(Section):
    """Where ``neuroveil submit`` sends to, and with which files; options and variables come first.

    ``key`` is this hospital's key, ``ca`` the certificate of the server's own authority,
    ``server_key`` a file with the server's public key. ``study`` is what a trusted server calls
    the study, and ``encoded`` the folder that ``neuroveil link encode`` wrote. ``with_label``
    sends the label under ``[evaluation]`` with the rows, which the study there must declare.
    None of it enters a certificate or a cache.
    """

    address: Annotated[str, AfterValidator(_address)] | None = None
    key: Text | None = None
    ca: Text | None = None
    server_key: Text | None = None
    study: Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$")] | None = None
    encoded: Text | None = None
    with_label: bool | None = None
