"""A hospital's folder: settings, node key, policy, decisions."""

from __future__ import annotations

import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from neuroveil.deploy.federated.operate.files import new_folder, write_secret
from neuroveil.deploy.federated.operate.node_key import create_node_key
from neuroveil.deploy.federated.operate.policy import FILE as POLICY_FILE
from neuroveil.deploy.federated.operate.policy import SitePolicy
from neuroveil.errors import StudyError, StudyMistake
from neuroveil.study.section import Section, Text
from neuroveil.study.validation import read_toml, validated

FILE = "hospital.toml"


class HospitalSettings(Section):
    """``hospital.toml``: where the coordinator is, and which folder answers it.

    ``seat`` is the private folder with rows, plan and count of answers. A node that is silent for
    twice ``heartbeat_seconds`` counts as gone; until then nobody else may come with its key, so a
    node that was killed is back after that time. Only the heartbeat is told to the coordinator.
    """

    coordinator: Annotated[str, Field(pattern=r"^[^/\s]+:[0-9]{1,5}$")]
    seat: Text
    heartbeat_seconds: Annotated[int, Field(ge=10, le=600)] = 30


@dataclass(frozen=True)
class HospitalFolder:
    """Where a hospital's node keeps what.

    Parameters
    ----------
    root : Path
        The folder.
    """

    root: Path

    @property
    def private_key(self) -> Path:
        """The node's private key."""
        return self.root / "node.key"

    @property
    def public_key(self) -> Path:
        """The half that the coordinator gets."""
        return self.root / "node.pub"

    @property
    def authority(self) -> Path:
        """Certificate of the coordinator's authority."""
        return self.root / "ca.pem"

    @property
    def executor_secret(self) -> Path:
        """File with the secret between SuperNode and SuperExec."""
        return self.root / "executor.secret"

    @property
    def flower_home(self) -> Path:
        """Flower's own files."""
        return self.root / "flower"

    @property
    def log(self) -> Path:
        """What the processes say."""
        return self.root / "hospital.log"

    def settings(self) -> HospitalSettings:
        """Read ``hospital.toml``.

        Returns
        -------
        HospitalSettings
            Checked.

        Raises
        ------
        StudyError
            With all mistakes of the file at once.
        """
        document = read_toml(
            self.root / FILE, FILE, "Make one with `neuroveil federate hospital init`."
        )
        return validated(HospitalSettings, document)


def create_hospital(
    folder: Path, authority: Path, settings: dict[str, Any], policy: dict[str, Any]
) -> str:
    """Make a hospital's folder.

    Parameters
    ----------
    folder : Path
        New or empty.
    authority : Path
        The coordinator's ``ca.pem``.
    settings : dict
        Content of ``hospital.toml``; the path of the seat becomes absolute.
    policy : dict
        Content of ``policy.toml``.

    Returns
    -------
    str
        The node's public key, for the coordinator.

    Raises
    ------
    StudyError
        If the folder is in use, or something is wrong with a setting or the certificate.
    """
    import tomli_w

    seat = str(Path(settings["seat"]).resolve())
    checked = validated(HospitalSettings, {**settings, "seat": seat})
    validated(SitePolicy, policy)
    _require_certificate(authority)
    new_folder(folder, "hospital")
    place = HospitalFolder(folder)
    shutil.copyfile(authority, place.authority)
    write_secret(place.executor_secret, secrets.token_bytes(32))
    place.flower_home.mkdir(mode=0o700)
    write_secret(folder / FILE, tomli_w.dumps(checked.model_dump()).encode())
    write_secret(folder / POLICY_FILE, tomli_w.dumps(policy).encode())
    return create_node_key(place.private_key, place.public_key)


def _require_certificate(file: Path) -> None:
    from neuroveil.deploy.tls import days_left

    try:
        days = days_left(file.read_bytes())
    except (OSError, ValueError):
        days = -1.0
    if days < 0:
        raise StudyError([StudyMistake(
            "--ca", "the coordinator's ca.pem, still valid", "none",
            "Ask the coordinator for its file ca.pem.",
        )])  # fmt: skip
