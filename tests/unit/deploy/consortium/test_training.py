"""A study with a label: what hospitals send, and a model that is trained and paid for."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa

from neuroveil.deploy.federated.verify import verify_training
from neuroveil.deploy.manifest import TRAINING_FILES
from neuroveil.deploy.pseudonymised import features_bytes, read_features, roster_bytes
from neuroveil.deploy.server.consortium.cohort import cohort_rows, labels_of_people
from neuroveil.deploy.server.consortium.proposal import read_proposal
from neuroveil.deploy.server.refusals import Refusal
from neuroveil.deploy.server.tables import JOB
from neuroveil.errors import FederationError, RecordingError

pytestmark = pytest.mark.slow  # the world takes a few seconds to be made

LABEL = {"label": "diagnosis", "rule": "values", "positive": ["epilepsy"]}
LABELS = np.array([1, 0, 1, 0, 1, 0, 1, 0, 1, 0, -1, 1], dtype=np.int8)

DYING = """
import os, sys
from pathlib import Path
from neuroveil.deploy.federated import central
from neuroveil.deploy.server.consortium import promises, worker
from neuroveil.deploy.server.consortium.vault import open_vault
from neuroveil.deploy.server.database import Database
from neuroveil.deploy.server.settings import load_settings
from neuroveil.deploy.server.setup import server_key

folder, point = Path(sys.argv[1]), sys.argv[2]
settings = load_settings(folder)
step, taken = central.noisy_units, []

def die(*arguments, **options):
    os._exit(9)

def second(*arguments, **options):
    taken.append(1)
    return step(*arguments, **options) if len(taken) < 2 else die()

if point == "second step":
    central.noisy_units = second
else:
    setattr(promises, point, die)
database = Database(settings.database_location)
worker.Worker(settings, database, open_vault(settings), server_key(folder)).work_once()
"""


def refused(call, *arguments, **more) -> Refusal:
    with pytest.raises(Refusal) as caught:
        call(*arguments, **more)
    return caught.value


@pytest.fixture
def collecting(world_at):
    """A study with a label, approved by all sites."""
    world = world_at("new")
    world.propose(label=LABEL)
    world.approve(*world.sites)
    return world


@pytest.fixture(scope="module")
def sent(templates, tmp_path_factory):
    """Folder of a server to which all hospitals have sent rosters, rows and labels."""
    place = tmp_path_factory.mktemp("labelled") / "world"
    shutil.copytree(templates["new"], place)
    world = templates["make"](place / "server")
    world.propose(label=LABEL)
    world.approve(*world.sites)
    terms = world.status()["terms"]
    for site in world.sites:
        world.send(site, "roster", roster_bytes(world.rosters[site]), terms=terms)
    for site in world.sites:
        rows = features_bytes(world.table_of(site), world.rosters[site], LABELS)
        world.send(site, "features", rows, terms=terms)
    return place


@pytest.fixture
def complete(sent, templates, tmp_path):
    """A copy of that server."""
    shutil.copytree(sent, tmp_path / "world")
    return templates["make"](tmp_path / "world" / "server")


def test_a_model_is_trained_once_and_paid_for(complete):
    world = complete
    asked = world.request(mechanism="dp_training")
    assert "balanced accuracy" in asked["forecast"]
    assert (asked["mechanism"], asked["trust_model"]) == ("dp_training", "central")
    assert (asked["n_columns"], asked["n_parameters"]) == (len(world.columns), 5)
    assert world.spends() == []
    release = world.review()
    assert world.worker.work_once()
    assert not world.worker.work_once()
    status = world.status()
    assert (status["state"], status["holds_rows"]) == ("published", False)
    (spend,) = world.spends()
    assert (spend["mechanism"], spend["epsilon"], spend["n_patients"]) == ("dp_training", "1", 23)
    folder = world.settings.releases / release
    assert {each.name for each in folder.iterdir()} == TRAINING_FILES
    assert verify_training(folder, world.key.public_key).outcome == "holds"
    result = json.loads((folder / "result.json").read_bytes())
    assert result["plan_digest"] == asked["plan"]
    assert result["chain"]["unit"]["dedup"]["value"] == "linked_pool"
    content = b"".join(each.read_bytes() for each in folder.iterdir())
    assert not [each for site in world.sites for each in world.rosters[site]
                if each.rpartition(":")[2].encode() in content]  # fmt: skip
    listed = world.releases.files(world.party("North"), "six", release)
    assert set(listed["files"]) == TRAINING_FILES
    model = world.releases.read(world.party("North"), "six", release, "model.safetensors", 0)
    assert model == (folder / "model.safetensors").read_bytes()


def test_a_model_sees_as_many_components_as_were_asked_for(complete):
    world = complete
    for wrong in (0, -1, 5, 10**30):
        refusal = refused(world.request, mechanism="dp_training", components=wrong)
        assert refusal.code == "not_releasable"
    for wrong in (True, 2.0, "2", [2]):
        refusal = refused(world.request, mechanism="dp_training", components=wrong)
        assert refusal.code == "bad_request"
    assert refused(world.request, components=2).code == "not_releasable"  # a table's own choice
    asked = world.request(mechanism="dp_training", components=2)
    assert (asked["n_columns"], asked["n_parameters"]) == (4, 3)
    world.review()
    assert world.worker.work_once()
    assert world.status()["state"] == "published"


def test_a_table_of_a_study_with_a_label_holds_no_label(complete):
    asked = complete.request(mechanism="auto")
    assert "dp_training" in asked["forecast"]
    assert "plan" not in asked
    release = complete.review()
    assert complete.worker.work_once()
    folder = complete.settings.releases / release
    assert "diagnosis" not in "".join(each.read_text(errors="replace") for each in folder.iterdir())


def test_without_a_label_there_is_nothing_to_learn(world_at):
    refusal = refused(world_at("complete").request, mechanism="dp_training")
    assert refusal.code == "not_releasable"
    assert "--with-label" in refusal.remedy


def test_a_server_without_the_packages_says_so_before_anybody_reviews(complete, monkeypatch):
    absent = FederationError("installation", "the package opacus", "none", "Install the extra.")

    def missing(*_: object) -> None:
        raise absent

    monkeypatch.setattr("neuroveil.deploy.federated.central.require", missing)
    refusal = refused(complete.request, mechanism="dp_training")
    assert (refusal.code, refusal.expected) == ("not_releasable", "the package opacus")
    assert complete.spends() == []
    asked = complete.request(mechanism="auto")  # a table needs none of them
    assert "this server cannot do" in asked["forecast"]


def test_a_hospital_that_means_another_label_or_none_is_told_so(collecting):
    world = collecting
    terms, roster = world.status()["terms"], roster_bytes(world.rosters["North"])
    assert world.status()["label"] == LABEL
    for other in (world.terms, {**terms, "label_digest": "sha256:" + "0" * 64}):
        refusal = refused(world.send, "North", "roster", roster, terms=other)
        assert (refusal.code, refusal.extra) == ("incompatible", {"settings": ["label_digest"]})
        assert ("--with-label" in refusal.remedy) == ("label_digest" not in other)


def test_a_proposal_without_a_label_is_what_it_was(world_at):
    plain = read_proposal(world_at("new").proposal)
    assert "label" not in plain.text.plain
    assert "label_digest" not in plain.terms
    assert world_at("complete").status()["label"] is None


@pytest.mark.parametrize(
    "label", [{}, {"label": "x"}, {"rule": "keywords"}, {"label": "x", "positive": []}, "x", 3,
              {**LABEL, "more": 1}, {"label": "x", "positive": ["y"], "terms": ["z"]}],
)  # fmt: skip
def test_a_label_that_says_too_little_or_too_much_is_refused(world_at, label):
    assert refused(world_at("new").propose, label=label).code == "bad_request"


def packed(table: pa.Table) -> bytes:
    stream = io.BytesIO()
    pq.write_table(
        table, stream, compression="none", use_dictionary=False, store_schema=False,
        write_statistics=False,
    )  # fmt: skip
    return stream.getvalue()


@pytest.mark.parametrize(
    "labels", [pa.array([2] * 12, pa.int8()), pa.array([1] * 12, pa.int64()),
               pa.array([1.0] * 12), pa.array(["CANARY7f3a"] * 12), pa.array([True] * 12),
               pa.array([None, *[1] * 11], pa.int8())],
)  # fmt: skip
def test_labels_that_are_none_are_refused(world_at, labels):
    world = world_at("new")
    table, ids = world.table_of("North"), world.rosters["North"]
    good = features_bytes(table, ids, LABELS)
    assert np.array_equal(read_features(good, world.columns, 12, has_label=True).labels, LABELS)
    bad = pq.read_table(io.BytesIO(good))
    bad = bad.set_column(bad.schema.get_field_index("label"), "label", labels)
    with pytest.raises(RecordingError) as refusal:
        read_features(packed(bad), world.columns, 12, has_label=True)
    assert "CANARY" not in str(refusal.value)


def test_a_label_that_is_missing_or_was_not_asked_for_is_refused(world_at):
    world = world_at("new")
    table, ids = world.table_of("North"), world.rosters["North"]
    for labels, has_label in ((None, True), (LABELS, False)):
        with pytest.raises(RecordingError):
            read_features(features_bytes(table, ids, labels), world.columns, 12, has_label)


def test_a_label_that_contradicts_another_is_unknown():
    person = np.array([0, 0, 1, 1, 2, 2, 3, 3, 4])
    labels = np.array([1, 0, 1, -1, -1, 0, 1, 1, -1], dtype=np.int8)
    assert labels_of_people(person, labels, 5).tolist() == [-1, 1, 0, 1, -1]


def test_labels_stay_with_their_people(world_at):
    """South sends its rows in another order than its roster; one person is in both hospitals."""
    world = world_at("new")
    proposal = read_proposal({**world.proposal, "label": LABEL})
    rosters = [roster_bytes(world.rosters[site]) for site in world.sites]
    south = world.table_of("South")
    back = type(south)(
        south.patients, south.columns, south.values[::-1], south.n_windows, south.seconds
    )
    features = [
        features_bytes(world.table_of("North"), world.rosters["North"], LABELS),
        features_bytes(back, world.rosters["South"][::-1], LABELS[::-1]),
    ]
    table, labels = cohort_rows(proposal, rosters, features, 12)
    # North's last patient (1) is South's first one (1).
    assert labels.tolist() == [*LABELS, *LABELS[1:]]
    assert np.allclose(table.values[12:], south.values[1:])


@pytest.mark.parametrize(
    ("point", "n_spends_after", "outcome"),
    [
        ("second step", 1, "failed"),
        pytest.param("rehearse_training", 0, "published", marks=pytest.mark.long),
        pytest.param("publish_folder", 1, "failed", marks=pytest.mark.long),
    ],
)
def test_a_worker_killed_in_training_never_draws_twice(complete, point, n_spends_after, outcome):
    world = complete
    world.request(mechanism="dp_training")
    world.review()
    died = subprocess.run([sys.executable, "-c", DYING, str(world.root), point], check=False)
    assert died.returncode == 9
    assert len(world.spends()) == n_spends_after
    with world.database.writing() as connection:
        connection.execute(sa.update(JOB).values(lease=0.0))
    assert world.worker.work_once()
    assert len(world.spends()) == 1
    assert world.status()["releases"][0]["state"] == outcome


def test_a_model_that_was_changed_is_not_published(complete, monkeypatch):
    """Whoever can write to the folder in between is found before anybody can fetch it."""
    world = complete
    world.request(mechanism="dp_training")
    release = world.review()
    from neuroveil.deploy.server.consortium import promises

    publish = promises.publish_folder

    def changed(draft, target):
        publish(draft, target)
        model = target / "model.safetensors"
        content = bytearray(model.read_bytes())
        content[-1] ^= 1
        model.write_bytes(content)

    monkeypatch.setattr(promises, "publish_folder", changed)
    assert world.worker.work_once()
    assert world.status()["releases"][0]["state"] == "failed"
    call = (world.releases.files, world.party("North"), "six", release)
    assert refused(*call).code == "wrong_state"
