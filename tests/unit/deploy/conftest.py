"""A signed release, a server's folder with terms that it fits, and the services on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from neuroveil.deploy.manifest import Manifest, manifest_of
from neuroveil.deploy.server.database import Database
from neuroveil.deploy.server.hospitals import Hospital, add_hospital
from neuroveil.deploy.server.settings import ServerSettings
from neuroveil.deploy.server.setup import create_server, server_key
from neuroveil.deploy.server.submissions import Submissions
from neuroveil.keys import SiteKey, create_key
from neuroveil.ledger import Ledger
from neuroveil.pipeline.release_folder import write_release
from neuroveil.privacy import ProtectSettings, charge_request, protect
from neuroveil.privacy.settings import columns_digest
from neuroveil.reference import default_reference
from neuroveil.types.catalogue import columns_for
from neuroveil.types.certificate import canonical_json, digest
from neuroveil.types.table import FeatureTable

COLUMNS = columns_for(("Cz", "Pz"), ("variance", "line_length"))


@dataclass(frozen=True)
class Site:
    """A hospital with its key and a release."""

    key: SiteKey
    key_file: Path
    release: Path


@pytest.fixture(scope="session")
def make_site(tmp_path_factory) -> Callable[..., Site]:
    """A hospital that has released 12 made-up patients."""

    def make(epsilon: float = 1.0, n_patients: int = 12) -> Site:
        place = tmp_path_factory.mktemp("site")
        key = create_key(place / "site.key")
        settings = ProtectSettings("gaussian", epsilon, 1e-5, 2.0)
        table = FeatureTable(
            patients=tuple(map(str, range(n_patients))), columns=COLUMNS,
            values=np.exp(np.random.default_rng(8).normal(size=(n_patients, len(COLUMNS)))),
            n_windows=np.full(n_patients, 60), seconds=np.full(n_patients, 61.0),
        )  # fmt: skip
        ledger = Ledger.create(place / "ledger.sqlite", Fraction(20), Fraction(1, 100))
        charge = ledger.reserve(charge_request(settings, COLUMNS, n_patients))
        scaling = default_reference("harmonised").scaling_for(COLUMNS)
        write_release(protect(table, scaling, settings, charge), place / "release", key)
        return Site(key, place / "site.key", place / "release")

    return make


@pytest.fixture(scope="session")
def site(make_site) -> Site:
    return make_site()


@pytest.fixture(scope="session")
def manifest(site) -> Manifest:
    return manifest_of(site.release)


@pytest.fixture(scope="session")
def terms() -> dict[str, object]:
    scaling = default_reference("harmonised").scaling_for(COLUMNS)
    return {
        "name": "test", "columns_digest": columns_digest(COLUMNS), "reference": scaling.name,
        "reference_digest": scaling.digest, "features_digest": digest(canonical_json({})),
    }  # fmt: skip


@pytest.fixture
def settings(tmp_path, terms) -> ServerSettings:
    return create_server(tmp_path / "server", terms, ("127.0.0.1",), {"port": 8443}).settings


@pytest.fixture
def database(settings) -> Database:
    return Database(settings.database_location)


@pytest.fixture
def hospital(database, site) -> Hospital:
    return add_hospital(database, "North", site.key.public_key)


@pytest.fixture
def submissions(settings, database) -> Submissions:
    return Submissions(settings, database, server_key(settings.root))
