"""Who may do what, in which order, and what no request can lower."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import pytest

from neuroveil.deploy.pseudonymised import features_bytes, roster_bytes
from neuroveil.deploy.server.consortium.deletion import delete_due
from neuroveil.deploy.server.database import Database
from neuroveil.deploy.server.hospitals import add_hospital
from neuroveil.deploy.server.people import add_person, remove_person
from neuroveil.deploy.server.refusals import Refusal
from neuroveil.errors import StudyError
from neuroveil.keys import create_key
from neuroveil.types.certificate import digest

pytestmark = pytest.mark.slow  # the world takes a few seconds to be made


def refused(call: Callable[..., object], *arguments: Any, **more: Any) -> str:
    with pytest.raises(Refusal) as caught:
        call(*arguments, **more)
    return caught.value.code


EVERYBODY = {"North", "North admin", "investigator", "reviewer", "auditor"}


@pytest.mark.parametrize(
    ("action", "who_may"),
    [
        ("propose", {"investigator"}), ("approve", {"North admin"}), ("send", {"North"}),
        ("request", {"investigator"}), ("review", {"reviewer"}),
        ("end", {"investigator", "North admin"}), ("fetch", EVERYBODY - {"auditor"}),
    ],
)  # fmt: skip
def test_each_role_may_do_its_own_part_and_no_more(world_at, action, who_may):
    world = world_at("complete")
    studies, uploads, releases = world.studies, world.uploads, world.releases
    calls = {
        "propose": lambda party: studies.propose(party, {}),
        "approve": lambda party: studies.decide(party, "six", {}),
        "send": lambda party: uploads.begin(party, "six", {}),
        "request": lambda party: releases.request(party, "six", {}),
        "review": lambda party: releases.review(party, "six", "0", {}),
        "end": lambda party: studies.abandon(party, "none"),
        "fetch": lambda party: releases.files(party, "six", "0"),
    }
    allowed = {who for who in EVERYBODY if refused(calls[action], world.party(who)) != "forbidden"}
    assert allowed == who_may


def test_a_proposal_asks_for_no_less_than_the_server(world_at):
    world = world_at("new")
    assert refused(world.propose, smallest_n_patients=19) == "too_few"
    assert refused(world.propose, hospitals=["North"]) == "too_few"
    assert refused(world.propose, hospitals=["North", "East"]) == "bad_request"
    world.propose(smallest_n_patients=30)
    assert world.status()["smallest_n_patients"] == 30
    world.propose(smallest_n_patients=30)  # the same again
    assert refused(world.propose, smallest_n_patients=31) == "already_submitted"
    assert world.events().count("study.proposed") == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"columns": []}, {"columns": ["Cz__variance", "Cz__variance"]}, {"columns": ["../../x"]},
        {"reference": {}}, {"policy": "keep_newest"}, {"clip_norm": -1.0}, {"signal": 3},
        {"title": "two\nlines"}, {"title": "\ud800"}, {"signal": {"x": float("inf")}},
        {"unknown": 1}, {"hospitals": ["North", "North"]},
    ],
)  # fmt: skip
def test_a_proposal_that_is_not_sound_is_refused(world_at, changes):
    world = world_at("new")
    assert refused(world.propose, **changes) in ("bad_request", "too_few")


@pytest.mark.parametrize("name", ["../key", "A", "", "x" * 41, "a b", 3, None, "-a"])
def test_names_of_studies_are_never_paths(world_at, name):
    world = world_at("new")
    document = {"study": name, "proposal": world.proposal}
    assert refused(world.studies.propose, world.party("investigator"), document) == "bad_request"


def test_a_site_that_has_not_approved_blocks_all(world_at):
    world = world_at("new")
    world.propose()
    world.approve("North")
    content = roster_bytes(world.rosters["North"])
    assert refused(world.send, "North", "roster", content) == "wrong_state"
    world.approve("South")
    assert world.status()["state"] == "collecting"
    assert world.send("North", "roster", content)["state"] == "accepted"


def test_one_site_that_declines_ends_the_study(world_at):
    world = world_at("new")
    world.propose()
    world.approve("North", approve=False)
    assert world.status()["state"] == "declined"
    assert refused(world.approve, "South") == "wrong_state"


def test_an_approval_is_of_the_proposal_that_was_seen(world_at):
    world = world_at("new")
    world.propose()
    other = {"proposal": f"sha256:{'0' * 64}", "approve": True}
    call = world.studies.decide
    assert refused(call, world.party("North admin"), "six", other) == "content_mismatch"


def test_no_feature_is_taken_before_the_rosters_are_linked(world_at):
    world = world_at("collecting")
    rows = features_bytes(world.table_of("North"), world.rosters["North"])
    assert refused(world.send, "North", "features", rows) == "wrong_state"
    world.send("North", "roster", roster_bytes(world.rosters["North"]))
    assert world.status()["linked"] is None
    world.send("South", "roster", roster_bytes(world.rosters["South"]))
    for who in ("investigator", "North", "South admin", "reviewer"):
        assert world.status(who)["linked"] == {"n_patients": 23, "n_hospitals": 2}
    assert world.status("auditor")["linked"]["n_records"] == 24
    assert world.send("North", "features", rows)["state"] == "accepted"


def test_too_few_people_end_a_study_and_their_pseudonyms_go(world_at):
    world = world_at("collecting", smallest_n_patients=24)  # 24 lines of 23 people
    for site in world.sites:
        world.send(site, "roster", roster_bytes(world.rosters[site]))
    assert world.status()["state"] == "too_few"
    assert delete_due(world.database, world.settings.trusted) == ["six"]
    assert not world.status()["holds_rows"]
    assert world.events()[-2:] == ["study.too_few", "rows.deleted"]
    rows = features_bytes(world.table_of("North"), world.rosters["North"])
    assert refused(world.send, "North", "features", rows) == "wrong_state"


def test_others_do_not_see_that_there_is_a_study(world_at, tmp_path):
    world = world_at("complete")
    public_key = create_key(tmp_path / "other.key").public_key
    other = add_person(world.database, "other", "principal_investigator", public_key)
    with pytest.raises(Refusal, match="none of this name"):
        world.releases.request(other, "six", {"epsilon": 1.0, "mechanism": "auto"})


def test_a_hospital_sees_of_others_only_whether_they_have_sent(world_at):
    north, south = world_at("complete").status("North")["hospitals"]
    assert set(north["roster"]) == {"state", "received", "size"}
    assert set(south["roster"]) == {"state"}


def test_a_removed_person_is_unknown(world_at):
    world = world_at("new")
    remove_person(world.database, "reviewer")
    with pytest.raises(AssertionError):
        world.party("reviewer")
    with pytest.raises(StudyError):
        remove_person(world.database, "reviewer")


def test_one_key_has_one_role_and_only_administrators_a_hospital(world_at, tmp_path):
    world = world_at("new")
    taken = (world.root.parent / "reviewer.pub").read_text()
    fresh = create_key(tmp_path / "fresh.key").public_key
    wrong = [
        ("again", "auditor", taken, None), ("reviewer", "auditor", fresh, None),
        ("new", "reviewer", fresh, "North"), ("new", "site_administrator", fresh, None),
        ("new", "site_administrator", fresh, "East"), (" ", "auditor", fresh, None),
    ]  # fmt: skip
    for name, role, public_key, hospital in wrong:
        with pytest.raises(StudyError):
            add_person(world.database, name, role, public_key, hospital)
    with pytest.raises(StudyError):
        add_hospital(world.database, "East", taken)


def test_an_abandoned_study_keeps_no_rows(world_at):
    world = world_at("complete")
    assert delete_due(world.database, world.settings.trusted) == []
    world.studies.abandon(world.party("South admin"), "six")
    assert delete_due(world.database, world.settings.trusted) == ["six"]
    assert not world.status()["holds_rows"]
    assert refused(world.request) == "wrong_state"


def test_a_worker_that_was_overtaken_writes_no_second_deletion_down(world_at, monkeypatch):
    world = world_at("complete")
    world.studies.abandon(world.party("South admin"), "six")
    slow, trusted = Database(world.settings.database_location), world.settings.trusted
    look = slow.reading

    @contextmanager
    def overtaken():
        with look() as connection:
            yield connection
        assert delete_due(world.database, trusted) == ["six"]

    monkeypatch.setattr(slow, "reading", overtaken)
    assert delete_due(slow, trusted) == []
    assert world.events().count("rows.deleted") == 1


def test_what_was_begun_for_a_study_that_ended_is_refused(world_at):
    world = world_at("collecting")
    content, north = roster_bytes(world.rosters["North"]), world.party("North")
    document = {"kind": "roster", "size": len(content), "digest": digest(content),
                "terms": world.terms}  # fmt: skip
    world.uploads.begin(north, "six", document)
    world.uploads.receive(north, "six", "roster", 0, content)
    world.studies.abandon(world.party("North admin"), "six")
    assert delete_due(world.database, world.settings.trusted) == ["six"]
    assert refused(world.uploads.complete, north, "six", "roster") == "wrong_state"
    assert refused(world.uploads.receive, north, "six", "roster", 0, b"x") == "wrong_state"


def test_a_study_that_nobody_releases_expires(world_at):
    world = world_at("complete", unreleased_days=1e-9)
    assert delete_due(world.database, world.settings.trusted) == ["six"]
    assert world.status()["state"] == "expired"
    assert world.events()[-2:] == ["study.expired", "rows.deleted"]
