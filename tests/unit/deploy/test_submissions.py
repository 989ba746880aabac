"""The life of a submission on the server, without the network in between."""

import json
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from neuroveil.deploy.manifest import (
    FILE_NAMES,
    Manifest,
    ManifestFile,
    manifest_from_json,
    manifest_of,
)
from neuroveil.deploy.receipt import RECEIPT, holds
from neuroveil.deploy.server import audit_log
from neuroveil.deploy.server.admission import misfits
from neuroveil.deploy.server.hospitals import add_hospital
from neuroveil.deploy.server.overview import overview, overview_page
from neuroveil.deploy.server.refusals import Refusal
from neuroveil.deploy.server.settings import FILE, load_settings
from neuroveil.deploy.server.setup import server_key
from neuroveil.deploy.server.store import Store
from neuroveil.deploy.server.submissions import Submissions
from neuroveil.errors import CertificateError, StudyError
from neuroveil.keys import create_key
from neuroveil.types.certificate import certificate_from_json, digest

pytestmark = pytest.mark.slow


def announce(manifest):
    return {"content_id": manifest.content_id, "manifest": manifest.to_json()}


def send(submissions, hospital, folder, manifest):
    submissions.create(hospital, announce(manifest))
    for file in manifest.files:
        data = (folder / file.name).read_bytes()
        submissions.receive(hospital, manifest.content_id, file.name, 0, data)


def code_of(function, *arguments) -> str:
    with pytest.raises(Refusal) as refusal:
        function(*arguments)
    return refusal.value.code


def test_a_release_that_holds_is_accepted_once(submissions, hospital, site, manifest, database):
    send(submissions, hospital, site.release, manifest)
    first = submissions.complete(hospital, manifest.content_id)
    assert first["state"] == "accepted"
    assert holds(first["receipt"], RECEIPT)
    assert first == submissions.complete(hospital, manifest.content_id)
    assert first == submissions.create(hospital, announce(manifest))
    log = audit_log.export(database, site.key)
    assert [entry["event"] for entry in log["entries"]] == ["hospital.added", "submission.accepted"]
    assert log["entries"][1]["number"] == first["receipt"]["audit_number"]
    assert log["head"] == first["receipt"]["audit_hash"]


def test_what_is_kept_is_what_was_sent(submissions, hospital, site, manifest, settings):
    send(submissions, hospital, site.release, manifest)
    submissions.complete(hospital, manifest.content_id)
    kept = {digest(path.read_bytes()) for path in (settings.root / "content").glob("*/*")}
    assert kept == {file.digest for file in manifest.files}
    assert not list((settings.root / "uploads").glob("*/*"))


def test_a_forged_certificate_is_refused_with_the_broken_link(
    submissions, hospital, site, tmp_path, database
):
    folder = shutil.copytree(site.release, tmp_path / "forged")
    document = json.loads((folder / "certificate.json").read_text())
    document["chain"]["mechanism"]["noise_scale"]["value"] *= 0.5
    (folder / "certificate.json").write_text(json.dumps(document))
    manifest = manifest_of(folder)
    send(submissions, hospital, folder, manifest)
    with pytest.raises(Refusal) as refusal:
        submissions.complete(hospital, manifest.content_id)
    assert refusal.value.code == "broken_certificate"
    assert {"mechanism", "signature"} <= set(refusal.value.extra["links"])
    entry = audit_log.export(database, site.key)["entries"][-1]
    assert entry["event"] == "submission.refused"
    assert "mechanism" in entry["links"]
    assert submissions.states() == {"receiving": 0, "accepted": 0, "refused": 1}


def test_a_damaged_parquet_file_is_refused_and_hurts_nobody(submissions, hospital, site, tmp_path):
    folder = shutil.copytree(site.release, tmp_path / "damaged")
    (folder / "table.parquet").write_bytes(b"PAR1" + b"\xff" * 5000 + b"PAR1")
    document = json.loads((folder / "certificate.json").read_text())
    document["release"]["table.parquet"] = digest((folder / "table.parquet").read_bytes())
    (folder / "certificate.json").write_text(json.dumps(document))
    manifest = manifest_of(folder)
    send(submissions, hospital, folder, manifest)
    with pytest.raises(Refusal) as refusal:
        submissions.complete(hospital, manifest.content_id)
    assert "release" in refusal.value.extra["links"]


def test_a_release_signed_by_another_hospital_is_refused(
    submissions, database, site, manifest, tmp_path
):
    """Nobody can submit, and so take the place of, what another hospital has released."""
    thief = add_hospital(database, "South", create_key(tmp_path / "south.key").public_key)
    send(submissions, thief, site.release, manifest)
    with pytest.raises(Refusal) as refusal:
        submissions.complete(thief, manifest.content_id)
    assert refusal.value.extra["links"] == ["signature"]


def test_hospitals_do_not_see_each_other(submissions, hospital, database, manifest, tmp_path):
    other = add_hospital(database, "South", create_key(tmp_path / "south.key").public_key)
    submissions.create(hospital, announce(manifest))
    assert code_of(submissions.status, other, manifest.content_id) == "not_found"
    place = (other, manifest.content_id, "table.csv", 0, b"x")
    assert code_of(submissions.receive, *place) == "not_found"


def test_chunks_go_on_from_each_other(submissions, hospital, site, manifest):
    data = (site.release / "table.csv").read_bytes()
    submissions.create(hospital, announce(manifest))

    def receive(offset, chunk):
        return submissions.receive(hospital, manifest.content_id, "table.csv", offset, chunk)

    assert receive(0, data[:100]) == {"received": 100}
    for offset in (0, 99, 101, len(data)):  # sent twice, or in another order
        with pytest.raises(Refusal) as refusal:
            receive(offset, data[offset : offset + 100])
        assert refusal.value.code == "wrong_offset"
        assert refusal.value.extra == {"received": 100}
    assert code_of(receive, 100, data) == "too_large"
    assert code_of(submissions.complete, hospital, manifest.content_id) == "incomplete"
    assert receive(100, data[100:]) == {"received": len(data)}


def test_another_content_than_announced_is_to_be_sent_again(submissions, hospital, site, manifest):
    send(submissions, hospital, site.release, manifest)
    upload = f"{hospital.key_id}-{manifest.content_id}"
    wrong = manifest.file("table.csv")
    part = submissions._store._part(upload, wrong)
    part.write_bytes(bytes(wrong.size))  # what a power cut can leave
    assert code_of(submissions.complete, hospital, manifest.content_id) == "content_mismatch"
    assert submissions.status(hospital, manifest.content_id)["received"]["table.csv"] == 0
    data = (site.release / "table.csv").read_bytes()
    submissions.receive(hospital, manifest.content_id, "table.csv", 0, data)
    assert submissions.complete(hospital, manifest.content_id)["state"] == "accepted"


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "notes.txt", "", "table.csv\0", "TABLE.CSV", "a/table.csv", "."]
)
def test_names_that_no_release_has(submissions, hospital, manifest, name):
    document = announce(manifest)
    document["manifest"]["files"][name] = {"size": 1, "digest": "sha256:" + "0" * 64}
    assert code_of(submissions.create, hospital, document) == "bad_request"
    submissions.create(hospital, announce(manifest))
    place = (hospital, manifest.content_id, name, 0, b"x")
    assert code_of(submissions.receive, *place) == "not_found"


@pytest.mark.parametrize("content_id", ["..", "../x", "0" * 63, "' OR 1=1 --", "A" * 64])
def test_content_ids_that_are_none(submissions, hospital, content_id):
    assert code_of(submissions.complete, hospital, content_id) == "not_found"
    assert code_of(submissions.status, hospital, content_id) == "not_found"


@pytest.mark.parametrize(
    "facts",
    [
        None, [], 3, {"size": 1}, {"size": -1, "digest": "sha256:" + "0" * 64},
        {"size": True, "digest": "sha256:" + "0" * 64}, {"size": 1.0, "digest": "x"},
        {"size": 1, "digest": "sha256:" + "0" * 63}, {"size": 1, "digest": None},
    ],
)  # fmt: skip
def test_manifests_that_are_none(manifest, facts):
    document = manifest.to_json()
    assert manifest_from_json(document) == manifest
    document["files"]["table.csv"] = facts
    assert manifest_from_json(document) is None


def test_a_manifest_has_to_be_what_its_name_says(submissions, hospital, manifest):
    document = announce(manifest) | {"content_id": "0" * 64}
    assert code_of(submissions.create, hospital, document) == "content_mismatch"


def test_limits_of_size_room_and_number(settings, database, hospital, make_site, manifest):
    def limited(**limits):
        changed = settings.limits.model_copy(update=limits)
        changed_settings = settings.model_copy(update={"limits": changed})
        return Submissions(changed_settings, database, server_key(settings.root))

    big = manifest.to_json()
    big["files"]["table.csv"]["size"] = 2 << 20
    too_big = announce(manifest_from_json(big))
    assert code_of(limited(file_mib=1).create, hospital, too_big) == "too_large"
    assert code_of(limited(submission_mib=1).create, hospital, too_big) == "too_large"
    assert code_of(limited(free_mib=1 << 40).create, hospital, announce(manifest)) == "no_room"
    one = limited(open_uploads=1)
    one.create(hospital, announce(manifest))
    one.create(hospital, announce(manifest))
    assert code_of(one.create, hospital, too_big) == "too_many_uploads"


def test_a_full_disk_leaves_what_was_acknowledged(tmp_path, manifest):
    """A limit on file sizes stands for the full disk: the kernel refuses in the same place."""
    code = """
import resource, sys
from pathlib import Path
from neuroveil.deploy.manifest import ManifestFile
from neuroveil.deploy.server.refusals import Refusal
from neuroveil.deploy.server.store import Store
store, file = Store(Path(sys.argv[1]), 0), ManifestFile("table.csv", 10000, "sha256:" + "0" * 64)
store.append("u", file, 0, bytes(3000))
resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
try:
    store.append("u", file, 3000, bytes(3000))
except Refusal as refusal:
    print(refusal.code, refusal.status, store.received("u", file))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["no_room", "507", "3000"]


def test_hospitals_keep_the_same_bytes_at_the_same_moment(settings):
    """As when their schemas are equal; those that come second link nothing, and lose nothing."""
    store, n_hospitals, n_rounds = Store(settings.root, 0), 8, 20
    contents = [b"a schema of round %d" % number for number in range(n_rounds)]
    gate = threading.Barrier(n_hospitals)

    def keep(upload: str) -> None:
        for content in contents:
            file = ManifestFile("certificate.json", len(content), digest(content))
            store.append(upload, file, 0, content)
            gate.wait(60)
            store.keep(upload, Manifest((file,)))
            store.forget(upload)

    with ThreadPoolExecutor(n_hospitals) as pool:
        list(pool.map(keep, "abcdefgh"))
    kept = [path.read_bytes() for path in (settings.root / "content").glob("*/*")]
    assert sorted(kept) == sorted(contents)


def test_an_examination_beyond_its_limits_is_refused(settings, database, hospital, site, manifest):
    limits = settings.limits.model_copy(update={"examination_mib": 40})
    small = Submissions(
        settings.model_copy(update={"limits": limits}), database, server_key(settings.root)
    )
    send(small, hospital, site.release, manifest)
    assert code_of(small.complete, hospital, manifest.content_id) == "examination_failed"


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"columns_digest": "sha256:" + "0" * 64}, "domain.columns_digest"),
        ({"reference_digest": "sha256:" + "0" * 64}, "preprocessing.scaling"),
        ({"features_digest": "sha256:" + "0" * 64}, "preprocessing.features"),
        ({"smallest_n_patients": 13}, "domain.n"),
        ({"largest_epsilon": 0.99}, "guarantee.epsilon"),
    ],
)
def test_a_release_has_to_fit_the_study(settings, site, change, name):
    document = json.loads((site.release / "certificate.json").read_text())
    certificate = certificate_from_json(document)
    assert misfits(certificate, settings.study) == []
    assert misfits(certificate, settings.study.model_copy(update=change)) == [name]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE deploy_audit SET body = '{}'",
        "DELETE FROM deploy_audit WHERE number = 0",
    ],
)
def test_the_audit_log_cannot_be_changed_and_a_change_is_found(database, hospital, site, statement):
    with pytest.raises(Refusal), database.writing() as connection:
        connection.exec_driver_sql(statement)
    with database.writing() as connection:  # somebody who removes the guard first
        audit_log.append(connection, "test", {})
        for event in ("update", "delete"):
            connection.exec_driver_sql(f"DROP TRIGGER deploy_audit_no_{event}")
        connection.exec_driver_sql(statement)
    with pytest.raises(CertificateError, match="entry 0"):
        audit_log.export(database, site.key)


def test_the_overview_counts_and_escapes(submissions, hospital, database, site, settings, manifest):
    add_hospital(database, "<script>", "ab" * 32)
    send(submissions, hospital, site.release, manifest)
    submissions.complete(hospital, manifest.content_id)
    document = overview(database, settings.study)
    assert (document["n_releases"], document["n_patients"]) == (1, 12)
    north = next(each for each in document["hospitals"] if each["name"] == "North")
    assert north["epsilon_spent"] == pytest.approx(1.0)
    page = overview_page(document)
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_a_hospital_is_registered_once(database, hospital, site):
    for name, key in (("North", "ab" * 32), ("Other", site.key.public_key), (" ", "cd" * 32)):
        with pytest.raises(StudyError):
            add_hospital(database, name, key)


def test_settings_report_all_mistakes_and_stay_on_this_machine(settings):
    file = settings.root / FILE
    text = file.read_text()
    file.write_text(text.replace("[listen]", '[listen]\nhost = "0.0.0.0"'))
    with pytest.raises(StudyError, match="beyond_this_machine"):
        load_settings(settings.root)
    file.write_text(text.replace('name = "test"', "name = 3") + "\n[limits]\nchunk_mib = 0\n")
    with pytest.raises(StudyError) as error:
        load_settings(settings.root)
    assert {mistake.where for mistake in error.value.mistakes} == {"study.name", "limits.chunk_mib"}


def test_the_fixed_list_holds_what_a_release_holds(manifest):
    assert {file.name for file in manifest.files} <= FILE_NAMES
