"""Requests, reviews, one draw of noise for one charge, and workers that die at any moment."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from fractions import Fraction

import numpy as np
import pytest
import sqlalchemy as sa

from neuroveil.deploy.manifest import manifest_of
from neuroveil.deploy.pseudonymised import features_bytes, roster_bytes
from neuroveil.deploy.server.consortium.cohort import cohort_rows
from neuroveil.deploy.server.consortium.jobs import Jobs, LostClaimError
from neuroveil.deploy.server.consortium.promises import Wish, promise
from neuroveil.deploy.server.consortium.proposal import read_proposal
from neuroveil.deploy.server.database import Database
from neuroveil.deploy.server.refusals import Refusal
from neuroveil.deploy.server.tables import JOB, RELEASE, STUDY
from neuroveil.errors import BudgetError
from neuroveil.ledger import Ledger
from neuroveil.pipeline.budget import exact
from neuroveil.privacy.verify import verify

DYING = """
import os, sys
from pathlib import Path
from neuroveil.deploy.server.consortium import promises, worker
from neuroveil.deploy.server.consortium.jobs import Jobs
from neuroveil.deploy.server.consortium.vault import open_vault
from neuroveil.deploy.server.database import Database
from neuroveil.deploy.server.settings import load_settings
from neuroveil.deploy.server.setup import server_key

folder, point = Path(sys.argv[1]), sys.argv[2]
settings = load_settings(folder)

def die(*arguments, **options):
    os._exit(9)

if point == "publish":
    Jobs.publish = die
else:
    setattr(promises, point, die)
database = Database(settings.database_location)
worker.Worker(settings, database, open_vault(settings), server_key(folder)).work_once()
"""

pytestmark = pytest.mark.slow  # the world takes a few seconds to be made


def refused(call, *arguments, **more) -> str:
    with pytest.raises(Refusal) as caught:
        call(*arguments, **more)
    return caught.value.code


def let_claims_expire(world) -> None:
    with world.database.writing() as connection:
        connection.execute(JOB.update().values(lease=0.0))


def test_one_charge_one_release_and_then_no_rows(world_at):
    world = world_at("complete")
    asked = world.request(mechanism="auto")
    assert "should leave most" in asked["forecast"]
    assert world.spends() == []
    release = world.review()
    assert world.worker.work_once()
    assert not world.worker.work_once()
    status = world.status()
    assert (status["state"], status["holds_rows"]) == ("published", False)
    folder = world.settings.releases / release
    assert verify(folder, world.key.public_key).outcome == "holds"
    assert [(each["epsilon"], each["n_patients"]) for each in world.spends()] == [("1", 23)]
    assert asked["trust_model"] == status["releases"][0]["trust_model"]
    party, name = world.party("South"), "certificate.json"
    whole = world.releases.read(party, "six", release, name, 0)
    assert whole == (folder / name).read_bytes()
    assert world.releases.files(party, "six", release)["files"].keys() == {
        file.name for file in manifest_of(folder).files
    }
    assert refused(world.releases.read, party, "six", release, "../server.key", 0) == "not_found"
    assert refused(world.request) == "wrong_state"


def test_shuffled_rows_say_what_they_are(world_at):
    world = world_at("complete")
    assert world.request(mechanism="privunit")["trust_model"] == "shuffled"
    release = world.review()
    world.worker.work_once()
    result = verify(world.settings.releases / release, world.key.public_key)
    assert result.outcome == "holds"
    text = (world.settings.releases / release / "certificate.json").read_text()
    assert '"linked_pool"' in text
    assert '"shuffled"' in text


@pytest.mark.parametrize(
    "wish",
    [
        {"epsilon": 11.0}, {"epsilon": 2.6}, {"delta": 1e-4}, {"delta": 0.0},
    ],
)  # fmt: skip
def test_what_cannot_be_kept_or_paid_is_refused_before_review(world_at, wish):
    assert refused(world_at("complete").request, **wish) == "not_releasable"


@pytest.mark.parametrize(
    "wish",
    [{"epsilon": 0}, {"epsilon": 10**400}, {"delta": -(10**400)},
     {"epsilon": "1"}, {"epsilon": float("nan")}, {"mechanism": "gaussian"},
     {"epsilon": True}, {"delta": "x"}],
)  # fmt: skip
def test_requests_that_are_none_are_refused(world_at, wish):
    assert refused(world_at("complete").request, **wish) == "bad_request"


def test_a_review_is_by_another_person_of_the_very_request(world_at):
    world = world_at("complete")
    world.request()
    assert refused(world.request) == "wrong_state"  # one at a time
    assert refused(world.review, "investigator") == "forbidden"
    release = world.status()["releases"][0]["release"]
    other = {"request": "sha256:0", "approve": True}
    call = world.releases.review
    assert refused(call, world.party("reviewer"), "six", release, other) == "content_mismatch"
    # Should one key ever have both roles, it still cannot review its own request.
    with world.database.writing() as connection:
        reviewer = world.party("reviewer").key_id
        connection.execute(RELEASE.update().values(requested_by=reviewer))
    assert refused(world.review) == "forbidden"


def test_a_study_that_was_ended_after_the_request_is_not_released(world_at):
    """A hospital that withdraws before the review is heard."""
    world = world_at("complete")
    world.request()
    world.studies.abandon(world.party("South admin"), "six")
    assert refused(world.review) == "wrong_state"
    assert world.worker.work_once() is False
    assert world.status()["state"] == "abandoned"
    assert world.spends() == []


def test_a_hospital_can_withdraw_until_the_review_and_not_after(world_at):
    world = world_at("complete")
    world.request()
    world.studies.abandon(world.party("North admin"), "six")
    assert refused(world.review) == "wrong_state"
    assert not world.worker.work_once()
    assert not world.status()["holds_rows"]
    assert world.spends() == []
    world = world_at("complete")
    world.request()
    world.review()
    admin = world.party("North admin")
    assert refused(world.studies.abandon, admin, "six") == "wrong_state"


def test_settings_that_no_certificate_can_hold_spend_nothing(world_at):
    world = world_at("complete")
    text = json.dumps({**world.proposal, "signal": {"line_frequency_hz": 10**30}})
    with world.database.writing() as connection:
        connection.execute(STUDY.update().values(proposal=text))
    world.request()
    world.review()
    world.worker.work_once()
    assert world.status()["releases"][0]["outcome"]["ledger_entry"] is None
    assert world.spends() == []


def test_a_declined_request_spends_nothing_and_another_may_follow(world_at):
    world = world_at("complete")
    world.request()
    world.review(approve=False)
    assert not world.worker.work_once()
    assert world.status()["releases"][0]["state"] == "declined"
    assert world.spends() == []
    world.request(epsilon=0.5)


@pytest.mark.parametrize(
    ("point", "n_spends_after", "outcome"),
    [("check_any", 0, "published"), ("release_any", 1, "failed"), ("publish", 1, "published")],
)
def test_a_worker_killed_at_any_moment_never_draws_twice(world_at, point, n_spends_after, outcome):
    """Killed before the charge, between charge and release, and before it is published."""
    world = world_at("complete")
    world.request()
    release = world.review()
    died = subprocess.run([sys.executable, "-c", DYING, str(world.root), point], check=False)
    assert died.returncode == 9
    assert len(world.spends()) == n_spends_after
    folder = world.settings.releases / release
    before = manifest_of(folder) if folder.exists() else None
    assert world.jobs.claim() is None  # the claim of the dead still holds
    let_claims_expire(world)
    assert world.worker.work_once()
    assert world.status()["releases"][0]["state"] == outcome
    assert len(world.spends()) == 1
    if before is not None:
        assert manifest_of(folder) == before
    if outcome == "failed":
        assert not folder.exists()
        assert world.status()["holds_rows"]
        world.request()
        world.review()
        world.worker.work_once()
        assert world.status()["state"] == "published"
        assert len(world.spends()) == 2


def test_a_worker_that_has_lost_its_claim_does_not_charge(world_at):
    world = world_at("complete")
    world.request()
    world.review()
    slow = world.jobs.claim()
    assert slow is not None
    assert world.jobs.claim() is None
    let_claims_expire(world)
    quick = world.jobs.claim()
    assert quick is not None
    proposal = read_proposal(world.proposal)
    wish = Wish(1.0, None, "mean_covariance")
    request = promise(proposal, wish, world.n_people, slow.release).request
    with pytest.raises(LostClaimError):
        world.jobs.charge(slow, world.ledger, request)
    assert world.spends() == []
    world.jobs.charge(quick, world.ledger, request)
    with pytest.raises(LostClaimError):
        world.jobs.charge(quick, world.ledger, request)  # not twice under one name either
    with pytest.raises(LostClaimError):
        world.jobs.publish(slow, {})
    assert len(world.spends()) == 1


def test_a_ledger_that_was_exchanged_is_noticed(world_at):
    """An old copy would give spent budget back."""
    world = world_at("complete")
    file = world.settings.ledger_location
    before = file.read_bytes()
    for _ in range(2):
        world.request()
        world.review()
        job = world.jobs.claim()
        proposal = read_proposal(world.proposal)
        wish = Wish(1.0, None, "mean_covariance")
        request = promise(proposal, wish, world.n_people, job.release).request
        if world.spends():
            file.write_bytes(before)
            with pytest.raises(BudgetError, match="replaced"):
                world.jobs.charge(job, Ledger(file), request)
            return
        world.jobs.charge(job, world.ledger, request)
        world.jobs.fail(job, {})


@pytest.mark.parametrize("kind", ["", "roster\x00", "../x", "release"])
def test_kinds_and_names_that_are_none_are_not_found(world_at, kind):
    world = world_at("complete")
    north = world.party("North")
    assert refused(world.uploads.receive, north, "six", kind, 0, b"x") == "not_found"
    assert refused(world.uploads.complete, north, "six", kind) == "not_found"
    assert refused(world.releases.files, north, "six", f"{kind}\x00") == "not_found"


def test_a_claim_is_renewed_while_its_job_runs(world_at):
    world = world_at("complete", lease_seconds=0.2)
    world.request()
    world.review()
    job = world.jobs.claim()
    with world.jobs.renewed(job):
        deadline = time.monotonic() + 60
        with world.database.reading() as connection:
            first = connection.execute(sa.select(JOB.c.lease)).scalar()
        while time.monotonic() < deadline:
            with world.database.reading() as connection:
                if connection.execute(sa.select(JOB.c.lease)).scalar() > first:
                    break
            time.sleep(0.05)
        else:
            raise AssertionError("the lease was not renewed")


def test_a_bug_in_a_job_fails_it_without_words_of_the_bug(world_at, monkeypatch, capsys):
    world = world_at("complete")
    world.request()
    world.review()

    def broken(*_: object) -> None:
        raise ValueError("CANARY7f3a")

    monkeypatch.setattr("neuroveil.deploy.server.consortium.worker.cohort_rows", broken)
    world.worker.work_once()
    status = world.status()
    assert status["releases"][0]["state"] == "failed"
    assert "CANARY" not in f"{status}{capsys.readouterr()}{world.events()}"
    assert world.spends() == []


def test_each_policy_leaves_one_row_a_person(world_at):
    world = world_at("new")
    tables = [world.table_of(site) for site in world.sites]
    rosters = [roster_bytes(world.rosters[site]) for site in world.sites]
    features = [
        features_bytes(table, world.rosters[site])
        for table, site in zip(tables, world.sites, strict=True)
    ]
    rows = {}
    for policy in ("pool", "hospital_order"):
        proposal = read_proposal({**world.proposal, "policy": policy})
        table, labels = cohort_rows(proposal, rosters, features, 12)
        assert set(labels) == {-1}  # none were asked for
        assert table.n_patients == world.n_people
        assert not [key for key in table.patients if "v1:" in key]
        rows[policy] = table.values[11]  # North's last patient is South's first one
    assert np.allclose(rows["pool"], (tables[0].values[11] + tables[1].values[0]) / 2)
    assert np.array_equal(rows["hospital_order"], tables[0].values[11])


def test_two_servers_on_one_postgresql_cannot_overspend(world_at, postgresql, new_schema):
    """Eight jobs of epsilon 1 race on two connections for a budget of 2.5."""
    url = postgresql.url(new_schema)
    databases = Database(url), Database(url)
    for database in databases:
        database.create()
    Ledger.create(url, exact(2.5), exact(1e-3))
    names = [f"{number:032x}" for number in range(8)]
    with databases[0].writing() as connection:
        for name in names:
            connection.execute(RELEASE.insert().values(
                release=name, study="six", state="approved", requested=0.0, requested_by="",
                request="{}", request_digest="",
            ))  # fmt: skip
            connection.execute(
                JOB.insert().values(release=name, created=0.0, state="waiting", lease=0.0)
            )
    proposal = read_proposal(world_at("new").proposal)
    wish = Wish(1.0, None, "mean_covariance")
    outcomes: list[str] = []

    def race(database: Database) -> None:
        jobs, ledger = Jobs(database, 60.0), Ledger(url)
        while (job := jobs.claim()) is not None:
            try:
                jobs.charge(job, ledger, promise(proposal, wish, 23, job.release).request)
                outcomes.append(job.release)
            except BudgetError:
                outcomes.append("refused")

    threads = [threading.Thread(target=race, args=(each,)) for each in databases]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes).count("refused") == 6
    assert len(set(outcomes)) == 3
    spent = [each for each in Ledger(url).export() if each["kind"] == "spend"]
    assert sum(Fraction(each["epsilon"]) for each in spent) == 2
