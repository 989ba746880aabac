"""What would leave a hospital for a trusted server, and what comes back from it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from neuroveil.deploy.hospital.connection import Answer
from neuroveil.deploy.hospital.consortium import ConsortiumClient
from neuroveil.deploy.hospital.pseudonymise import RowsToSend, global_ids_of
from neuroveil.deploy.manifest import manifest_of
from neuroveil.deploy.pseudonymised import features_bytes, roster_bytes
from neuroveil.errors import CertificateError, LinkageError, StudyError
from neuroveil.linkage.encoded_list import EncodedList, MadeWith, write_encoded
from neuroveil.linkage.identifiers import ENCODING_VERSION
from neuroveil.types.catalogue import columns_for
from neuroveil.types.table import FeatureTable

KEY = "a" * 32
IDS = tuple(f"v{ENCODING_VERSION}:{KEY}:{number:064x}" for number in range(4))
CANARY = "CANARY7f3a"
PATIENTS = tuple(f"sub-{CANARY}{number}" for number in range(4))


@pytest.fixture
def encoded(tmp_path) -> Path:
    """What ``neuroveil link encode`` wrote; the list is in another order than the roster."""
    write(tmp_path, IDS)
    return tmp_path


def write(folder: Path, ids: tuple[str, ...]) -> None:
    made_with = MadeWith("sha256:0", ENCODING_VERSION, KEY)
    (folder / "encoded.parquet").unlink(missing_ok=True)
    write_encoded(folder / "encoded.parquet", EncodedList(made_with, None, ids))
    lines = [f"{patient},{row}" for row, patient in enumerate(PATIENTS)]
    (folder / "local-map.csv").write_text("\n".join(["patient,row", *lines]) + "\n")


def test_global_ids_are_found_by_the_local_map(encoded):
    assert global_ids_of(encoded, PATIENTS[::-1]) == IDS[::-1]


def test_patients_without_a_global_id_or_with_one_of_another_are_refused(encoded):
    with pytest.raises(LinkageError, match="1 patients without one"):
        global_ids_of(encoded, (*PATIENTS, "sub-new"))
    write(encoded, (*IDS[:3], ""))
    with pytest.raises(LinkageError, match="1 patients without one"):
        global_ids_of(encoded, PATIENTS)
    write(encoded, (*IDS[:3], IDS[0]))
    with pytest.raises(LinkageError, match="1 GlobalIDs that repeat") as caught:
        global_ids_of(encoded, PATIENTS)
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "patient,row\n", "patient,row\nx,9\n", "patient,row\nx,one\n", "a,b\n1,2\n"]
)
def test_a_map_of_another_list_is_refused(encoded, text):
    (encoded / "local-map.csv").write_text(text)
    with pytest.raises(LinkageError):
        global_ids_of(encoded, PATIENTS)


def test_no_key_and_no_attribute_of_a_patient_is_in_what_is_sent():
    columns = columns_for(("Cz",), ("variance", "line_length"))
    table = FeatureTable(
        PATIENTS, columns, np.ones((4, 2)), np.full(4, 60), np.full(4, 61.0),
        {"diagnosis": (f"{CANARY} epilepsy",) * 4}, {"software": CANARY},
    )  # fmt: skip
    sent = features_bytes(table, IDS) + roster_bytes(IDS)
    assert CANARY.encode() not in sent
    assert all(each.encode() in sent for each in IDS), "the search would find what is there"


def test_a_dry_run_names_every_field_and_byte():
    content = roster_bytes(IDS)
    shown = RowsToSend("roster", content, ("global_id",), 4, {"columns_digest": "x"}).as_dict()
    assert (shown["bytes"], shown["rows"]) == (len(content), 4)
    assert [each["name"] for each in shown["fields"]] == ["global_id"]
    assert shown["announcement"]["terms"] == {"columns_digest": "x"}


class Server:
    """Answers as a server would that has published a release; ``change`` lies."""

    def __init__(self, folder: Path, change: str = "") -> None:
        self.folder, self.change = folder, change

    def ask(self, method: str, target: str, body: bytes = b"", slow: bool = False) -> Answer:
        parts = urlsplit(target)
        name = Path(parts.path).name
        if name == "six":
            return Answer(200, {"releases": [{"release": "0" * 32, "request": "sha256:0"}]})
        if name == "files":
            return Answer(200, {**manifest_of(self.folder).to_json(), "chunk_bytes": 1000})
        offset = int(parse_qs(parts.query)["offset"][0])
        content = (self.folder / name).read_bytes()[offset : offset + 100_000]
        if name == self.change:
            content = bytes([content[0] ^ 1]) + content[1:]
        return Answer(200, {}, content)


@pytest.mark.slow
def test_a_release_is_fetched_whole_and_verified(site, tmp_path):
    client = ConsortiumClient(Server(site.release))  # type: ignore[arg-type]
    assert client.fetch("six", tmp_path / "out", site.key.public_key).startswith("Holds")
    for file in site.release.iterdir():
        assert (tmp_path / "out" / file.name).read_bytes() == file.read_bytes()
    with pytest.raises(StudyError):
        client.fetch("six", tmp_path / "out")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["table.csv", "certificate.json"])
def test_a_server_that_lies_leaves_nothing_behind(site, tmp_path, name):
    client = ConsortiumClient(Server(site.release, change=name))  # type: ignore[arg-type]
    with pytest.raises(CertificateError):
        client.fetch("six", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_release_that_another_key_has_signed_is_refused(site, tmp_path):
    client = ConsortiumClient(Server(site.release))  # type: ignore[arg-type]
    with pytest.raises(CertificateError):
        client.fetch("six", tmp_path / "out", "0" * 64)
    assert list(tmp_path.iterdir()) == []
