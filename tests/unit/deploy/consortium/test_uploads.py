"""What hospitals send: in pieces, once, sealed, and refused by name without content."""

from __future__ import annotations

import io
import json
import math
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa

from neuroveil.deploy.pseudonymised import (
    features_bytes,
    read_features,
    read_roster,
    roster_bytes,
)
from neuroveil.deploy.receipt import RECEIPT, holds
from neuroveil.deploy.server.consortium.uploads import read_content
from neuroveil.deploy.server.consortium.vault import open_vault
from neuroveil.deploy.server.refusals import Refusal
from neuroveil.deploy.server.tables import CHUNK, DATA_KEY, UPLOAD
from neuroveil.errors import MachineError, RecordingError, StudyError
from neuroveil.types.certificate import digest

pytestmark = pytest.mark.slow  # the world takes a few seconds to be made


def test_a_replay_changes_nothing_and_another_content_is_a_conflict(world_at):
    world = world_at("collecting")
    content = roster_bytes(world.rosters["North"])
    first = world.send("North", "roster", content)
    assert world.send("North", "roster", content) == first
    assert holds(first["receipt"], RECEIPT, world.key.public_key)
    assert first["receipt"]["digest"] == digest(content)
    assert world.events().count("roster.accepted") == 1
    with pytest.raises(Refusal) as caught:
        world.send("North", "roster", roster_bytes(world.rosters["North"][:-1]))
    assert caught.value.status == 409


def test_an_upload_goes_on_where_it_stopped(world_at):
    world = world_at("collecting")
    content, north = roster_bytes(world.rosters["North"]), world.party("North")
    document = {"kind": "roster", "size": len(content), "digest": digest(content),
                "terms": world.terms}  # fmt: skip
    world.uploads.begin(north, "six", document)
    world.uploads.receive(north, "six", "roster", 0, content[:100])
    assert world.uploads.begin(north, "six", document)["received"] == 100
    with pytest.raises(Refusal) as caught:
        world.uploads.receive(north, "six", "roster", 0, content[:100])
    assert (caught.value.code, caught.value.extra) == ("wrong_offset", {"received": 100})
    with pytest.raises(Refusal, match="all bytes"):
        world.uploads.complete(north, "six", "roster")
    with pytest.raises(Refusal, match="as many bytes"):
        world.uploads.receive(north, "six", "roster", 100, content)
    world.uploads.receive(north, "six", "roster", 100, content[100:])
    assert world.uploads.complete(north, "six", "roster")["state"] == "accepted"


def test_what_was_begun_is_replaced_by_another_content(world_at):
    world = world_at("collecting")
    wrong, content = b"x" * 50, roster_bytes(world.rosters["North"])
    document = {"kind": "roster", "size": 50, "digest": digest(wrong), "terms": world.terms}
    world.uploads.begin(world.party("North"), "six", document)
    world.uploads.receive(world.party("North"), "six", "roster", 0, wrong[:20])
    assert world.send("North", "roster", content)["state"] == "accepted"


def test_other_settings_than_the_studys_are_named(world_at):
    world = world_at("collecting")
    terms = {**world.terms, "reference_digest": "another", "features_digest": "another"}
    with pytest.raises(Refusal) as caught:
        world.send("North", "roster", roster_bytes(world.rosters["North"]), terms=terms)
    assert caught.value.extra == {"settings": ["reference_digest", "features_digest"]}


def test_two_linkage_keys_in_one_study_are_refused(world_at):
    world = world_at("collecting")
    world.send("North", "roster", roster_bytes(world.rosters["North"]))
    other = [world.global_id(number, "b") for number in range(12)]
    with pytest.raises(Refusal) as caught:
        world.send("South", "roster", roster_bytes(other))
    assert caught.value.extra == {"settings": ["linkage_key"]}


def test_rows_of_other_patients_than_the_rosters_are_refused_and_forgotten(world_at):
    world = world_at("collecting")
    for site in world.sites:
        world.send(site, "roster", roster_bytes(world.rosters[site]))
    rows = features_bytes(world.table_of("North"), world.rosters["South"])
    with pytest.raises(Refusal) as caught:
        world.send("North", "features", rows)
    assert caught.value.code == "malformed_rows"
    assert "closed roster" in str(caught.value)
    assert world.status()["hospitals"][0]["features"] == {"state": "missing"}
    assert world.events()[-1] == "rows.refused"


def test_nothing_at_rest_is_in_the_clear(world_at):
    world = world_at("complete")
    disk = world.everything()
    with world.database.reading() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(CHUNK)).scalar() == 8
    pseudonyms = [each.rpartition(":")[2] for ids in world.rosters.values() for each in ids]
    words = [*pseudonyms, *map(bytes.hex, map(bytes.fromhex, pseudonyms))]
    assert not [word for word in words if word.encode() in disk]
    for site in world.sites:
        for number in world.table_of(site).values.ravel():
            assert np.float64(number).tobytes() not in disk
        rows = features_bytes(world.table_of(site), world.rosters[site])
        assert digest(rows).removeprefix("sha256:").encode() not in disk


def test_sealed_rows_cannot_be_changed_moved_or_read_with_another_key(world_at):
    world = world_at("complete")
    of_north = (CHUNK.c.hospital == world.party("North").key_id) & (CHUNK.c.kind == "roster")
    with world.database.reading() as connection:
        upload = connection.execute(
            sa.select(UPLOAD).where(
                (UPLOAD.c.hospital == world.party("North").key_id) & (UPLOAD.c.kind == "roster")
            )
        ).one()
        assert read_content(connection, world.vault, upload)[:4] == b"PAR1"
    with world.database.writing() as connection:
        chunks = connection.execute(sa.select(CHUNK.c.position, CHUNK.c.sealed).where(of_north))
        (_, first), (there, _) = sorted(chunks.all())
        here = of_north & (CHUNK.c.position == there)
        connection.execute(CHUNK.update().where(here).values(sealed=first))
    with world.database.reading() as connection, pytest.raises(MachineError):
        read_content(connection, world.vault, upload)
    with world.database.writing() as connection:
        connection.execute(DATA_KEY.delete())
    with world.database.reading() as connection, pytest.raises(MachineError):
        read_content(connection, world.vault, upload)


def packed(table: pa.Table, **options: object) -> bytes:
    stream = io.BytesIO()
    plain = {"compression": "none", "use_dictionary": False, "store_schema": False}
    pq.write_table(table, stream, **{**plain, **options})
    return stream.getvalue()


def test_malformed_rows_are_refused_without_their_content(world_at):
    world = world_at("new")
    ids, columns = world.rosters["North"], world.columns
    good = features_bytes(world.table_of("North"), ids)
    table = pq.read_table(io.BytesIO(good))
    assert read_features(good, columns, 12).global_ids == tuple(ids)

    def changed(name: str, values: list[object]) -> bytes:
        place = table.schema.get_field_index(name)
        return packed(table.set_column(place, name, pa.array(values)))

    feature, secret = columns[0].name, "CANARY7f3a"
    wrong = [
        b"", b"PAR1", good[:-9], secret.encode(), packed(table, compression="gzip"),
        packed(table, use_dictionary=True), packed(table.drop_columns([feature])),
        packed(table.append_column("name", pa.array([secret] * 12))),
        packed(table.select(table.column_names[::-1])), packed(table.slice(0, 0)),
        changed(feature, [math.inf] * 12), changed(feature, [None] * 12),
        changed(feature, [1e308] * 12), changed(feature, [-1e101] * 12),
        changed(feature, [secret] * 12), changed("global_id", [secret] * 12),
        changed("global_id", [ids[0]] * 12), changed("n_windows", [-1] * 12),
        changed("seconds", [math.nan] * 12), changed("seconds", [1e308] * 12),
        packed(pa.concat_tables([table, table])),
    ]  # fmt: skip
    for number, content in enumerate(wrong):
        with pytest.raises(RecordingError) as caught:
            read_features(content, columns, 12)
        assert secret not in str(caught.value), number
        assert ids[0] not in str(caught.value), number


def test_a_small_file_that_unfolds_to_a_large_one_is_not_unfolded(world_at):
    world = world_at("new")
    long = packed(pa.table({"global_id": pa.array(["x" * 100_000] * 300)}), use_dictionary=True)
    assert len(long) < 200_000
    with pytest.raises(RecordingError, match="packed"):
        read_roster(long, world.settings.trusted.largest_n_rows)


def test_without_the_passphrase_of_the_key_service_nothing_is_read(world_at, monkeypatch, tmp_path):
    world = world_at("complete")
    assert (world.root / "data.passphrase").stat().st_mode & 0o077 == 0
    moved = (world.root / "data.passphrase").rename(tmp_path / "elsewhere")
    with pytest.raises(StudyError, match="passphrase"):
        open_vault(world.settings)
    monkeypatch.setenv("NEUROVEIL_KEY_PASSPHRASE_FILE", str(moved))
    vault = open_vault(world.settings)
    with world.database.reading() as connection:
        upload = connection.execute(sa.select(UPLOAD)).first()
        assert read_content(connection, vault, upload)[:4] == b"PAR1"


ENDING = """
import atexit
from neuroveil.deploy.server.consortium.examine_rows import main

atexit.register(print, "late")
main(["4096", "600"])
"""


def test_the_process_that_reads_rows_ends_at_once():
    """At the interpreter's own end, threads of Arrow's can abort it (seen in 1 of 50 runs)."""
    content = roster_bytes([f"v1:{'a' * 32}:{'b' * 64}"])
    head = json.dumps({"largest": 1, "roster": 0, "columns": []}).encode()
    done = subprocess.run(
        [sys.executable, "-c", ENDING], input=head + b"\n" + content, capture_output=True,
        check=True,
    )  # fmt: skip
    assert done.stdout == b"{}\n"
