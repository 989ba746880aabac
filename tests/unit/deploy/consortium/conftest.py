"""A trusted server with two hospitals and one study, to be copied at every step of its life."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuroveil.deploy.pseudonymised import features_bytes, roster_bytes
from neuroveil.deploy.server.audit_log import export
from neuroveil.deploy.server.consortium.jobs import Jobs
from neuroveil.deploy.server.consortium.proposal import read_proposal
from neuroveil.deploy.server.consortium.releases import Releases
from neuroveil.deploy.server.consortium.status import status_of
from neuroveil.deploy.server.consortium.studies import Studies
from neuroveil.deploy.server.consortium.uploads import Uploads
from neuroveil.deploy.server.consortium.vault import open_vault
from neuroveil.deploy.server.consortium.worker import Worker
from neuroveil.deploy.server.database import Database
from neuroveil.deploy.server.hospitals import add_hospital
from neuroveil.deploy.server.people import Party, add_person, find_party
from neuroveil.deploy.server.settings import ServerSettings, load_settings
from neuroveil.deploy.server.setup import create_server, server_key
from neuroveil.deploy.wire import key_id
from neuroveil.keys import create_key, sealing
from neuroveil.ledger import Ledger
from neuroveil.privacy.settings import columns_digest
from neuroveil.reference import default_reference
from neuroveil.types.catalogue import columns_for
from neuroveil.types.certificate import digest
from neuroveil.types.table import FeatureTable

COLUMNS = columns_for(("Cz", "Pz"), ("variance", "line_length"))
REFERENCE = default_reference("harmonised")
SITES = ("North", "South")
PEOPLE = {
    "North admin": ("site_administrator", "North"),
    "South admin": ("site_administrator", "South"),
    "investigator": ("principal_investigator", None),
    "reviewer": ("reviewer", None),
    "auditor": ("auditor", None),
}
PROPOSAL: dict[str, Any] = {
    "title": "Variance at two channels", "hospitals": list(SITES), "policy": "pool",
    "columns": [column.name for column in COLUMNS], "signal": {"preset": "harmonised"},
    "reference": REFERENCE.to_json() | {"digest": REFERENCE.digest}, "clip_norm": 2.0,
    "smallest_n_patients": None,
}  # fmt: skip
TERMS = read_proposal(PROPOSAL).terms


def global_id(number: int, key: str = "a") -> str:
    return f"v1:{key * 32}:{digest(str(number).encode()).removeprefix('sha256:')}"


ROSTERS = {
    "North": [global_id(number) for number in range(12)],
    "South": [global_id(number) for number in range(11, 23)],  # one of them is in North, too
}
N_PEOPLE = 23


def table_of(site: str) -> FeatureTable:
    generator = np.random.default_rng(len(site) + ord(site[0]))
    return FeatureTable(
        tuple(map(str, range(12))), COLUMNS, np.exp(generator.normal(size=(12, len(COLUMNS)))),
        np.full(12, 60), np.full(12, 61.0),
    )  # fmt: skip


@dataclass
class World:
    """A server's folder, and everybody's way to it without a network."""

    root: Path
    changes: dict[str, Any] = field(default_factory=dict)

    sites = SITES
    columns = COLUMNS
    n_people = N_PEOPLE
    rosters = ROSTERS
    terms = TERMS
    proposal = PROPOSAL

    @staticmethod
    def global_id(number: int, key: str = "a") -> str:
        return global_id(number, key)

    @staticmethod
    def table_of(site: str) -> FeatureTable:
        return table_of(site)

    @cached_property
    def settings(self) -> ServerSettings:
        loaded = load_settings(self.root)
        changed = loaded.trusted.model_copy(update=self.changes)
        return loaded.model_copy(update={"trusted": changed})

    @cached_property
    def database(self) -> Database:
        return Database(self.settings.database_location)

    @cached_property
    def vault(self):
        return open_vault(self.settings)

    @cached_property
    def key(self):
        return server_key(self.root)

    @cached_property
    def ledger(self) -> Ledger:
        return Ledger(self.settings.ledger_location)

    @property
    def studies(self) -> Studies:
        return Studies(self.settings, self.database)

    @property
    def uploads(self) -> Uploads:
        return Uploads(self.settings, self.database, self.vault, self.key)

    @property
    def releases(self) -> Releases:
        return Releases(self.settings, self.database)

    @property
    def worker(self) -> Worker:
        return Worker(self.settings, self.database, self.vault, self.key)

    @property
    def jobs(self) -> Jobs:
        return Jobs(self.database, self.settings.trusted.lease_seconds)

    def party(self, who: str) -> Party:
        public_key = (self.root.parent / f"{who}.pub").read_text()
        found = find_party(self.database, key_id(public_key))
        assert found is not None
        return found

    def status(self, who: str = "investigator") -> dict[str, Any]:
        return status_of(self.settings, self.database, self.party(who), "six")

    def propose(self, **changes: Any) -> None:
        document = {"study": "six", "proposal": {**PROPOSAL, **changes}}
        self.studies.propose(self.party("investigator"), document)

    def approve(self, *sites: str, approve: bool = True) -> None:
        for site in sites:
            document = {"proposal": self.status()["proposal"], "approve": approve}
            self.studies.decide(self.party(f"{site} admin"), "six", document)

    def send(self, site: str, kind: str, content: bytes, **changes: Any) -> dict[str, Any]:
        document = {"kind": kind, "size": len(content), "digest": digest(content), "terms": TERMS}
        party = self.party(site)
        answer = self.uploads.begin(party, "six", document | changes)
        if answer["state"] == "receiving":
            half = len(content) // 2
            for offset, data in ((0, content[:half]), (half, content[half:])):
                self.uploads.receive(party, "six", kind, offset, data)
            answer = self.uploads.complete(party, "six", kind)
        return answer

    def request(self, **wish: Any) -> dict[str, Any]:
        document = {"epsilon": 1.0, "mechanism": "mean_covariance", "delta": None} | wish
        return self.releases.request(self.party("investigator"), "six", document)

    def review(self, who: str = "reviewer", approve: bool = True) -> str:
        asked = self.status()["releases"][-1]
        document = {"request": asked["request"], "approve": approve}
        self.releases.review(self.party(who), "six", asked["release"], document)
        return str(asked["release"])

    def spends(self) -> list[dict[str, Any]]:
        return [each for each in self.ledger.export() if each["kind"] == "spend"]

    def events(self) -> list[str]:
        return [each["event"] for each in export(self.database, self.key)["entries"]]

    def everything(self) -> bytes:
        files = [path for path in self.root.rglob("*") if path.is_file()]
        return b"".join(path.read_bytes() for path in files)


@pytest.fixture(scope="session")
def templates(tmp_path_factory) -> dict[str, Any]:
    """Folders of a server before a study, and with a study that is collecting and complete.

    ``make`` opens a copy of one.
    """
    place = tmp_path_factory.mktemp("trusted") / "world"
    place.mkdir()
    scaling = REFERENCE.scaling_for(COLUMNS)
    terms = {
        "name": "test", "columns_digest": columns_digest(COLUMNS), "reference": scaling.name,
        "reference_digest": scaling.digest, "features_digest": f"sha256:{'0' * 64}",
    }  # fmt: skip
    trusted = {"epsilon": 2.5, "delta": 1e-3, "smallest_n_patients": 20}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sealing, "SCRYPT_COST", 1 << 10)
        patch.delenv("NEUROVEIL_KEY_PASSPHRASE", raising=False)
        create_server(place / "server", terms, ("127.0.0.1",), {"port": 8443}, trusted)
    world = World(place / "server")
    for who in (*SITES, *PEOPLE):
        public_key = create_key(place / f"{who}.key").public_key
        (place / f"{who}.pub").write_text(public_key)
        if who in SITES:
            add_hospital(world.database, who, public_key)
        else:
            role, site = PEOPLE[who]
            add_person(world.database, who, role, public_key, site)  # type: ignore[arg-type]
    found: dict[str, Any] = {"make": World}
    found["new"] = Path(shutil.copytree(place, place.with_name("new")))
    world.propose()
    world.approve(*SITES)
    found["collecting"] = Path(shutil.copytree(place, place.with_name("collecting")))
    for site in SITES:
        world.send(site, "roster", roster_bytes(ROSTERS[site]))
    for site in SITES:
        world.send(site, "features", features_bytes(table_of(site), ROSTERS[site]))
    found["complete"] = Path(shutil.copytree(place, place.with_name("complete")))
    return found


@pytest.fixture
def world_at(templates, tmp_path) -> Callable[..., World]:
    """A copy of the server at one step of a study's life."""

    def copy(step: str, **settings: Any) -> World:
        place = tmp_path / f"world-{len(list(tmp_path.iterdir()))}"
        shutil.copytree(templates[step], place)
        return World(place / "server", changes=settings)

    return copy
