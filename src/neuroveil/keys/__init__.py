"""The site's signing key: made once, kept in one file, used to sign certificates.

A signature lets a reader who has the site's public key tell the site's certificates from all
others. It says who vouches, not that anything is right: that is what verification is for.
"""

from __future__ import annotations

from neuroveil.keys.files import create_key, is_encrypted, load_key
from neuroveil.keys.passphrases import (
    PASSPHRASE_FILE,
    PASSPHRASE_VARIABLE,
    find_passphrase,
    find_secret,
)
from neuroveil.keys.site_key import SiteKey, sign

__all__ = [
    "PASSPHRASE_FILE",
    "PASSPHRASE_VARIABLE",
    "SiteKey",
    "create_key",
    "find_passphrase",
    "find_secret",
    "is_encrypted",
    "load_key",
    "sign",
]
