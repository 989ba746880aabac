"""The coordinator's folder: settings, identity, operator's token, registered hospitals."""

from __future__ import annotations

import ipaddress
import json
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from neuroveil.deploy.federated.operate.files import (
    exchange,
    new_folder,
    read_file,
    read_secret,
    write_secret,
)
from neuroveil.deploy.federated.operate.node_key import public_key_text
from neuroveil.deploy.tls import TLSFiles, create_identity, tls_files
from neuroveil.errors import FederationError, StudyError, StudyMistake
from neuroveil.study.section import Section, Text
from neuroveil.study.validation import read_toml, validated

FILE = "coordinator.toml"

Port = Annotated[int, Field(ge=1, le=65535)]


class CoordinatorSettings(Section):
    """``coordinator.toml``: where hospitals reach the coordinator, and where Flower's state lies.

    ``database`` is ``"file"``, which outlives the process, or ``"memory"``, which is quicker with
    many hospitals. A training resumes in either case: its rounds and the hospitals' keys are kept
    in files of their own.
    """

    host: Text = "127.0.0.1"
    port: Port = 8444
    beyond_this_machine: bool = False
    database: Literal["file", "memory"] = "file"

    @property
    def own_address(self) -> str:
        """Where processes of this machine reach the SuperLink, as host:port."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"

    def mistakes(self) -> list[StudyMistake]:
        """List violated rules that involve more than one field.

        Returns
        -------
        list of StudyMistake
            Empty where the settings are consistent.
        """
        if self.beyond_this_machine or _is_loopback(self.host):
            return []
        return [StudyMistake(
            "host", "an address of this machine only", "one that others can reach",
            "Set beyond_this_machine = true if hospitals are to connect directly.",
        )]  # fmt: skip


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(frozen=True)
class CoordinatorFolder:
    """Where a coordinator keeps what.

    Parameters
    ----------
    root : Path
        The folder.
    """

    root: Path

    @property
    def tls(self) -> TLSFiles:
        """Certificate of the authority, and the server's certificate and key."""
        return tls_files(self.root)

    @property
    def executor_secret(self) -> Path:
        """File with the secret between SuperLink and SuperExec."""
        return self.root / "executor.secret"

    @property
    def database(self) -> Path:
        """Flower's state: nodes, runs, messages that are under way."""
        return self.root / "state.sqlite"

    @property
    def flower_home(self) -> Path:
        """Flower's own files."""
        return self.root / "flower"

    @property
    def runs(self) -> Path:
        """One folder a training, with its progress and its last finished round."""
        return self.root / "runs"

    @property
    def log(self) -> Path:
        """What the processes say."""
        return self.root / "coordinator.log"

    def generation(self) -> str:
        """Say which start of the SuperLink this is; a run does not outlive the one it began in.

        Returns
        -------
        str
            Empty before the first start.
        """
        try:
            return (self.root / "generation").read_text(encoding="ascii")
        except FileNotFoundError:
            return ""

    def next_generation(self) -> None:
        """Begin a new one; called by the SuperLink when it starts."""
        exchange(self.root / "generation", secrets.token_hex(8))

    def settings(self) -> CoordinatorSettings:
        """Read ``coordinator.toml``.

        Returns
        -------
        CoordinatorSettings
            Checked.

        Raises
        ------
        StudyError
            With all mistakes of the file at once.
        """
        document = read_toml(
            self.root / FILE, FILE, "Make one with `neuroveil federate coordinator init`."
        )
        return validated(CoordinatorSettings, document)

    def token(self) -> str:
        """Read the operator's token.

        Returns
        -------
        str
            What opens the SuperLink's Control interface.
        """
        path = self.root / "operator.token"
        return read_secret(path, "the operator's token").decode("ascii", "replace").strip()

    def hospitals(self) -> dict[str, str]:
        """Read who is registered.

        Returns
        -------
        dict of str to str
            Public key in OpenSSH's form by the hospital's name.

        Raises
        ------
        FederationError
            If the list cannot be understood.
        """
        path = self.root / "hospitals.json"
        content = read_file(path, "the list of hospitals")
        try:
            found: dict[str, str] = json.loads(content)
            if not all(key.startswith("ecdsa-sha2-nistp384 ") for key in found.values()):
                raise ValueError
        except (ValueError, AttributeError, RecursionError):
            raise FederationError(
                "list of hospitals", "a key in OpenSSH's form by name", "something else",
                "Restore hospitals.json from a copy, or add the hospitals anew to an empty {}.",
            ) from None  # fmt: skip
        return found

    def add_hospital(self, name: str, public_key: str) -> str:
        """Register a hospital; a running coordinator takes it up within seconds.

        Parameters
        ----------
        name : str
            What reports call it.
        public_key : str
            Content of its ``node.pub``.

        Returns
        -------
        str
            The key as registered.

        Raises
        ------
        StudyError
            If it is no such key.
        FederationError
            If name or key is registered already.
        """
        key, known = public_key_text(public_key), self.hospitals()
        if name in known or key in known.values():
            raise FederationError(
                "hospital", "a name and a key that are both new", "one that is registered",
                "Remove the other one first, or ask the hospital for its own key.",
            )  # fmt: skip
        self._write_hospitals({**known, name: key})
        return key

    def remove_hospital(self, name: str) -> None:
        """Refuse a hospital's node from now on.

        Parameters
        ----------
        name : str
            As registered.

        Raises
        ------
        FederationError
            If there is none of this name.
        """
        known = self.hospitals()
        if name not in known:
            raise FederationError(
                "hospital", "a registered name", "another",
                "See the names with `neuroveil federate coordinator hospitals`.",
            )  # fmt: skip
        self._write_hospitals({each: key for each, key in known.items() if each != name})

    def _write_hospitals(self, known: dict[str, str]) -> None:
        exchange(self.root / "hospitals.json", json.dumps(known, indent=1) + "\n")


def create_coordinator(
    folder: Path, hosts: tuple[str, ...], listen: dict[str, Any]
) -> CoordinatorFolder:
    """Make a coordinator's folder.

    Parameters
    ----------
    folder : Path
        New or empty.
    hosts : tuple of str
        Names and addresses for the server's certificate.
    listen : dict
        Content of ``coordinator.toml``.

    Returns
    -------
    CoordinatorFolder
        Ready to start; no hospital is registered yet.

    Raises
    ------
    StudyError
        If the folder is in use, or a setting is wrong.
    """
    import tomli_w

    settings = validated(CoordinatorSettings, listen)
    own = settings.own_address.rsplit(":", 1)[0].strip("[]")
    if own not in hosts:
        raise StudyError([StudyMistake(
            "--host", "the address that the coordinator listens on among the certificate's", own,
            "Add it with --host: the coordinator's own processes connect to it, too.",
        )])  # fmt: skip
    new_folder(folder, "coordinator")
    place = CoordinatorFolder(folder)
    create_identity(folder, hosts)
    write_secret(folder / "operator.token", secrets.token_urlsafe(32).encode() + b"\n")
    write_secret(place.executor_secret, secrets.token_bytes(32))
    place._write_hospitals({})
    for each in (place.flower_home, place.runs):
        each.mkdir(mode=0o700)
    (folder / FILE).write_text(tomli_w.dumps(settings.model_dump()), encoding="utf-8")
    return place
