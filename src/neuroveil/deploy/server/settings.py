"""``server.toml``: what a server accepts, and within which limits."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from neuroveil.errors import StudyError, StudyMistake
from neuroveil.study.section import Delta, PositiveFloat, Section, Text
from neuroveil.study.validation import read_toml, validated

FILE = "server.toml"

Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=1)]
TrustModel = Literal["local", "shuffled", "central"]


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Terms(Section):
    """``[study]``: what every release has to have in common, and what no request can lower."""

    name: Text
    columns_digest: Digest
    reference: Text
    reference_digest: Digest
    features_digest: Digest
    smallest_n_patients: Count = 10
    largest_epsilon: PositiveFloat = 10.0
    signed_by_hospital: bool = True


class Limits(Section):
    """``[limits]``: sizes, times and counts; beyond them a request is refused."""

    chunk_mib: Count = 4
    file_mib: Count = 512
    submission_mib: Count = 1024
    open_uploads: Count = 4
    upload_days: PositiveFloat = 14.0
    connections: Count = 200
    bodies_mib: Count = 512
    header_seconds: PositiveFloat = 10.0
    body_seconds: PositiveFloat = 60.0
    examination_seconds: Count = 600
    examination_mib: Count = 4096
    examinations_at_once: Count = 2
    free_mib: Annotated[int, Field(ge=0)] = 64


class Trusted(Section):
    """``[trusted]``: what holds for studies whose rows this server protects for all hospitals.

    Budget and smallest counts are the server's: no study and no request can change them.
    """

    epsilon: PositiveFloat
    delta: Delta
    smallest_n_patients: Count = 20
    smallest_n_hospitals: Annotated[int, Field(ge=2)] = 2
    largest_n_rows: Count = 100_000
    keep_rows_days: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    unreleased_days: PositiveFloat = 180.0
    lease_seconds: PositiveFloat = 60.0
    key_service: Text = "data.keystore"


class Listen(Section):
    """``[listen]``: where the server is reached."""

    host: Text = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8443
    workers: Count = 1
    client_ca: Text | None = None
    beyond_this_machine: bool = False

    def mistakes(self) -> list[StudyMistake]:
        """List violated rules that involve more than one field.

        Returns
        -------
        list of StudyMistake
            Empty where the section is consistent.
        """
        if self.beyond_this_machine or _is_loopback(self.host):
            return []
        return [StudyMistake(
            "listen.host", "an address of this machine only", "one that others can reach",
            "Set beyond_this_machine = true if hospitals are to connect directly.",
        )]  # fmt: skip


class ServerSettings(Section):
    """All of ``server.toml``, with the folder that it lies in."""

    study: Terms
    limits: Limits = Limits()
    listen: Listen = Listen()
    trusted: Trusted | None = None
    database: Text = "sqlite"
    root: Path

    @property
    def database_location(self) -> Path | str:
        """A SQLite file in the server's folder, or the URL of a PostgreSQL database."""
        return self.root / "server.sqlite" if self.database == "sqlite" else self.database

    @property
    def ledger_location(self) -> Path | str:
        """The budget of all studies: beside the database, or inside it."""
        return self.root / "ledger.sqlite" if self.database == "sqlite" else self.database

    @property
    def releases(self) -> Path:
        """Folder of the releases that this server has made."""
        return self.root / "releases"

    def require_trusted(self) -> Trusted:
        """Give the settings of studies that the server protects.

        Returns
        -------
        Trusted
            The section.

        Raises
        ------
        StudyError
            If this server only receives releases.
        """
        if self.trusted is None:
            raise StudyError([StudyMistake(
                "trusted", "a server that protects rows for all hospitals", "one that does not",
                "Make one with `neuroveil serve init --trusted`.",
            )])  # fmt: skip
        return self.trusted

    def mistakes(self) -> list[StudyMistake]:
        """List violated rules that involve more than one field.

        Returns
        -------
        list of StudyMistake
            Empty where the settings are consistent.
        """
        if self.database == "sqlite" or self.database.startswith("postgresql"):
            return []
        return [StudyMistake(
            "database", "'sqlite', or a URL postgresql+psycopg://…", "another kind of database",
            "Correct it, or leave it out for SQLite.",
        )]  # fmt: skip


def load_settings(folder: Path) -> ServerSettings:
    """Read a server's settings.

    Parameters
    ----------
    folder : Path
        The server's folder.

    Returns
    -------
    ServerSettings
        Checked.

    Raises
    ------
    StudyError
        With all mistakes of the file at once.
    """
    document = read_toml(folder / FILE, FILE, "Make one with `neuroveil serve init`.")
    document.pop("root", None)
    return validated(ServerSettings, {**document, "root": folder}, hidden=("root",))
