"""A whole study on a server whose database and ledger are on PostgreSQL."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from neuroveil.deploy.pseudonymised import features_bytes, roster_bytes
from neuroveil.deploy.server.database import HOSPITAL, Database
from neuroveil.deploy.server.setup import create_trusted
from neuroveil.deploy.server.tables import PERSON
from neuroveil.privacy.verify import verify

pytestmark = pytest.mark.slow  # the world takes a few seconds to be made


@pytest.fixture
def world(world_at, postgresql, new_schema):
    """The server at the beginning, moved to PostgreSQL with everybody's keys."""
    world = world_at("new")
    url = postgresql.url(new_schema)
    before, after = Database(world.root / "server.sqlite"), Database(url)
    after.create()
    with before.reading() as old, after.writing() as new:
        for table in (HOSPITAL, PERSON):
            rows = [dict(row) for row in old.execute(sa.select(table)).mappings()]
            assert rows
            new.execute(table.insert(), rows)
    file = world.root / "server.toml"
    file.write_text(f'database = "{url}"\n{file.read_text()}')
    for name in ("server.sqlite", "ledger.sqlite"):
        (world.root / name).unlink()
    create_trusted(world.settings)
    return world


def test_a_whole_study_from_proposal_to_deleted_rows(world):
    world.propose()
    world.approve(*world.sites)
    for site in world.sites:
        assert world.send(site, "roster", roster_bytes(world.rosters[site]))["state"] == "accepted"
    rows = {site: features_bytes(world.table_of(site), world.rosters[site]) for site in world.sites}
    for site, content in rows.items():
        world.send(site, "features", content)
        world.send(site, "features", content)  # the same once more gets the same receipt
    world.request()
    release = world.review()
    assert world.worker.work_once()
    assert not world.worker.work_once()
    status = world.status()
    assert (status["state"], status["holds_rows"]) == ("published", False)
    assert [each["n_patients"] for each in world.spends()] == [world.n_people]
    folder = world.settings.releases / release
    assert verify(folder, world.key.public_key).outcome == "holds"
    name = "certificate.json"
    whole = world.releases.read(world.party("South"), "six", release, name, 0)
    assert whole == (folder / name).read_bytes()
    events = world.events()
    assert events.count("release.charged") == 1
    assert events[-1] == "rows.deleted"
    assert not list(world.root.glob("*.sqlite"))
