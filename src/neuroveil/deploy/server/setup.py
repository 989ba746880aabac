"""A new server: its folder, keys, identity, terms from a study, and the database."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuroveil.deploy.server.database import Database
from neuroveil.deploy.server.settings import FILE, ServerSettings, Terms, Trusted, load_settings
from neuroveil.deploy.tls import create_identity
from neuroveil.errors import StudyError, StudyMistake
from neuroveil.keys import SiteKey, create_key, load_key
from neuroveil.study import Study
from neuroveil.study.validation import validated
from neuroveil.types.certificate import canonical_json, digest

KEY_FILE = "server.key"
PASSWORD_FILE = "overview.password"


@dataclass(frozen=True)
class NewServer:
    """What :func:`create_server` made.

    Parameters
    ----------
    settings : ServerSettings
        As written.
    public_key : str
        What receipts are signed with, 64 hexadecimal digits.
    """

    settings: ServerSettings
    public_key: str


def terms_of(study: Study, name: str) -> dict[str, Any]:
    """Work out what all releases of a study have in common.

    Parameters
    ----------
    study : Study
        The study file that hospitals use, too. No recording is looked at.
    name : str
        What the study is called.

    Returns
    -------
    dict
        For the section ``[study]`` of ``server.toml``.
    """
    # Only a new server needs them; one that starts should be quick.
    from neuroveil.pipeline.promise import named_reference
    from neuroveil.pipeline.settings import signal_settings, study_columns
    from neuroveil.privacy.settings import columns_digest

    columns = study_columns(study)
    scaling = named_reference(study).scaling_for(columns)
    return {
        "name": name,
        "columns_digest": columns_digest(columns),
        "reference": scaling.name,
        "reference_digest": scaling.digest,
        "features_digest": digest(canonical_json(signal_settings(study).public_params())),
    }


def create_server(
    folder: Path,
    terms: dict[str, Any],
    hosts: tuple[str, ...],
    listen: dict[str, Any],
    trusted: dict[str, Any] | None = None,
) -> NewServer:
    """Make a server's folder.

    Parameters
    ----------
    folder : Path
        New or empty.
    terms : dict
        From :func:`terms_of`, with further settings of the section.
    hosts : tuple of str
        Names and addresses for the server's certificate.
    listen : dict
        The section ``[listen]``.
    trusted : dict, optional
        The section ``[trusted]``, for a server that protects rows for all hospitals: it gets a
        ledger with this budget, and a key service for rows at rest.

    Returns
    -------
    NewServer
        Ready to run.

    Raises
    ------
    StudyError
        If the folder is in use, or a setting is wrong.
    """
    import tomli_w

    Terms.model_validate(terms)
    if trusted is not None:
        validated(Trusted, trusted)
    if folder.exists() and any(folder.iterdir()):
        raise StudyError([StudyMistake(
            "server folder", "a new or empty folder", "one with files in it",
            "Name another folder; a server's keys are never overwritten.",
        )])  # fmt: skip
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    create_identity(folder, hosts)
    key = create_key(folder / KEY_FILE)
    number = os.open(folder / PASSWORD_FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(number, "w", encoding="ascii") as stream:  # noqa: PTH123
        stream.write(secrets.token_urlsafe(24) + "\n")
    sections = {"study": terms, "listen": listen}
    if trusted is not None:
        sections["trusted"] = trusted
    (folder / FILE).write_text(tomli_w.dumps(sections), encoding="utf-8")
    settings = load_settings(folder)
    Database(settings.database_location).create()
    if trusted is not None:
        create_trusted(settings)
    return NewServer(settings, key.public_key)


def create_trusted(settings: ServerSettings) -> None:
    """Start the ledger and the embedded key service that the settings ask for.

    Parameters
    ----------
    settings : ServerSettings
        With the section ``[trusted]``. A server that starts never does this: a ledger that has
        gone must not begin anew.
    """
    from neuroveil.deploy.server.consortium.vault import create_data_keystore
    from neuroveil.ledger import Ledger
    from neuroveil.pipeline.budget import exact

    trusted = settings.require_trusted()
    if not Ledger.exists(settings.ledger_location):
        Ledger.create(settings.ledger_location, exact(trusted.epsilon), exact(trusted.delta))
    place = settings.root / trusted.key_service
    if place.suffix != ".toml" and not place.exists():
        create_data_keystore(place)


def server_key(folder: Path) -> SiteKey:
    """Open the key that signs receipts.

    Parameters
    ----------
    folder : Path
        The server's folder.

    Returns
    -------
    SiteKey
        The key.
    """
    return load_key(folder / KEY_FILE)


def overview_password(folder: Path) -> str:
    """Read the password of overview and metrics.

    Parameters
    ----------
    folder : Path
        The server's folder.

    Returns
    -------
    str
        The password.

    Raises
    ------
    StudyError
        If there is none.
    """
    try:
        text = (folder / PASSWORD_FILE).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        text = ""
    if not text:
        raise StudyError([StudyMistake(
            PASSWORD_FILE, "a file with a password", "none", "Write one, with mode 600."
        )])  # fmt: skip
    return text
