"""Both databases: several workers at once, and what is left of a crash."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from neuroveil.deploy.manifest import manifest_of
from neuroveil.deploy.server import audit_log
from neuroveil.deploy.server.database import Database
from neuroveil.deploy.server.hospitals import Hospital, add_hospital
from neuroveil.deploy.server.refusals import Refusal
from neuroveil.deploy.server.setup import server_key
from neuroveil.deploy.server.store import Store
from neuroveil.deploy.server.submissions import Submissions
from neuroveil.errors import MachineError, StudyError
from neuroveil.keys import create_key

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Workers:
    """Two workers on one database and one disk, as two processes would be."""

    databases: tuple[Database, Database]
    submissions: tuple[Submissions, Submissions]
    hospital: Hospital


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def location(request, settings) -> Path | str:
    if request.param == "sqlite":
        return settings.database_location
    server = request.getfixturevalue("postgresql")
    return server.url(request.getfixturevalue("new_schema"))


@pytest.fixture
def workers(location, settings, site) -> Workers:
    first, second = Database(location), Database(location)
    first.create()
    second.create()
    hospital = add_hospital(first, "North", site.key.public_key)
    key = server_key(settings.root)
    both = Submissions(settings, first, key), Submissions(settings, second, key)
    return Workers((first, second), both, hospital)


def together(*calls: Callable[[], object]) -> list[object]:
    """Run calls in threads that start at one moment; a refusal is a result, too."""
    gate = threading.Barrier(len(calls))

    def run(call: Callable[[], object]) -> object:
        gate.wait()
        try:
            return call()
        except Refusal as refusal:
            return refusal.code

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def test_two_workers_accept_a_release_once(workers, site, manifest):
    first, second = workers.submissions
    document = {"content_id": manifest.content_id, "manifest": manifest.to_json()}
    arguments = (workers.hospital, manifest.content_id)
    created = together(*[lambda s=s: s.create(workers.hospital, document) for s in (first, second)])
    assert created[0] == created[1]
    for file in manifest.files:
        data = (site.release / file.name).read_bytes()
        chunk = (*arguments, file.name, 0, data)
        ways = [partial(each.receive, *chunk) for each in (first, second)]
        assert sorted(map(str, together(*ways))) == sorted(
            ["wrong_offset", str({"received": file.size})]
        )
    receipts = together(*[lambda s=s: s.complete(*arguments) for s in (first, second)])
    assert receipts[0] == receipts[1]
    log = audit_log.export(workers.databases[0], site.key)["entries"]
    assert [entry["event"] for entry in log] == ["hospital.added", "submission.accepted"]


def test_entries_of_several_writers_make_one_chain(workers, site):
    def write(database: Database) -> None:
        for _ in range(5):
            with database.writing() as connection:
                audit_log.append(connection, "test", {})

    together(*[lambda d=d: write(d) for d in workers.databases * 2])
    assert len(audit_log.export(workers.databases[0], site.key)["entries"]) == 21


def test_a_crash_between_files_and_entry_is_made_good(workers, site, manifest, monkeypatch):
    """Killed when the files were kept and nothing was written down: asking again accepts."""
    first, second = workers.submissions
    first.create(
        workers.hospital, {"content_id": manifest.content_id, "manifest": manifest.to_json()}
    )
    for file in manifest.files:
        data = (site.release / file.name).read_bytes()
        first.receive(workers.hospital, manifest.content_id, file.name, 0, data)

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(first, "_accept", crash)
    with pytest.raises(KeyboardInterrupt):
        first.complete(workers.hospital, manifest.content_id)
    assert second.status(workers.hospital, manifest.content_id)["state"] == "receiving"
    assert second.complete(workers.hospital, manifest.content_id)["state"] == "accepted"


@pytest.mark.slow
def test_old_entries_cannot_be_changed_on_a_server_either(postgresql, new_schema, site):
    import psycopg

    database = Database(postgresql.url(new_schema))
    database.create()
    add_hospital(database, "North", site.key.public_key)
    for statement in ("UPDATE deploy_audit SET body = ''", "DELETE FROM deploy_audit"):
        with pytest.raises(psycopg.errors.RaiseException, match="append-only"):
            postgresql.run(new_schema, statement)


def test_a_database_that_is_gone_and_comes_back(tmp_path, site):
    file = tmp_path / "place" / "server.sqlite"
    file.parent.mkdir()
    database = Database(file)
    database.create()
    add_hospital(database, "North", site.key.public_key)
    away = shutil.move(file.parent, tmp_path / "away")
    with pytest.raises(Refusal) as refusal:
        audit_log.export(database, site.key)
    assert refusal.value.code == "database_unavailable"
    with pytest.raises(MachineError):
        Database(file).create()
    shutil.move(away, file.parent)
    assert audit_log.export(database, site.key)["entries"]


@pytest.mark.slow
def test_a_server_that_does_not_answer_is_a_refusal(tmp_path):
    nobody = Database("postgresql+psycopg://owner@127.0.0.1:1/postgres")
    with pytest.raises(Refusal) as refusal, nobody.reading():
        pass
    assert (refusal.value.code, refusal.value.status) == ("database_unavailable", 503)
    with pytest.raises(StudyError):
        Database("postgresql+psycopg//no url")


def test_uploads_that_nobody_finished_are_forgotten(settings, database, hospital, make_site):
    limits = settings.limits.model_copy(update={"open_uploads": 1, "upload_days": 1e-9})
    forgetful = Submissions(
        settings.model_copy(update={"limits": limits}), database, server_key(settings.root)
    )
    for epsilon in (1.0, 0.5):
        manifest = manifest_of(make_site(epsilon).release)
        forgetful.create(
            hospital, {"content_id": manifest.content_id, "manifest": manifest.to_json()}
        )
    assert forgetful.states() == {"receiving": 1, "accepted": 0, "refused": 0}


def test_an_old_upload_that_goes_on_is_not_forgotten(settings, database, hospital, make_site):
    """Another worker is taking a chunk of it at this moment."""
    limits = settings.limits.model_copy(update={"open_uploads": 1, "upload_days": 1e-9})
    forgetful = Submissions(
        settings.model_copy(update={"limits": limits}), database, server_key(settings.root)
    )
    old, new = (
        {"content_id": manifest.content_id, "manifest": manifest.to_json()}
        for manifest in (manifest_of(make_site(epsilon).release) for epsilon in (1.0, 0.5))
    )
    forgetful.create(hospital, old)
    other = Store(settings.root, 0)
    with other.locked(f"{hospital.key_id}-{old['content_id']}"):
        with pytest.raises(Refusal) as refusal:
            forgetful.create(hospital, new)
        assert refusal.value.code == "too_many_uploads"
    assert forgetful.status(hospital, old["content_id"])["state"] == "receiving"
    assert forgetful.create(hospital, new)["state"] == "receiving"
    assert forgetful.states() == {"receiving": 1, "accepted": 0, "refused": 0}


def test_copies_of_a_killed_server_are_cleared(tmp_path, manifest):
    store = Store(tmp_path, 0)
    with pytest.raises(Refusal), store.assembled("u", manifest):
        pass
    assert not list((tmp_path / "uploads").iterdir())
    (tmp_path / "uploads" / "examination-left" / "release").mkdir(parents=True)
    store.clear()
    assert not list((tmp_path / "uploads").iterdir())


def test_a_key_that_was_registered_twice_in_one_moment(workers, tmp_path):
    key = create_key(tmp_path / "new.key").public_key
    calls = [lambda d=d: add_hospital(d, "South", key) for d in workers.databases]
    with pytest.raises(StudyError):
        together(*calls)
