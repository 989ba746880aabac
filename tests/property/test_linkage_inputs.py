"""Whatever stands in a file: it is read, or refused in words. Nothing else happens."""

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from neuroveil.errors import LinkageError, StudyError
from neuroveil.linkage.encode import check_patient_list
from neuroveil.linkage.encoded_list import EncodedList, MadeWith, read_encoded, write_encoded
from neuroveil.linkage.keystore import load_keystore
from neuroveil.linkage.patient_list import read_patient_list
from neuroveil.linkage.schema import LinkageSchema
from neuroveil.linkage.wrapping import read_wrapped

SCHEMA = LinkageSchema.model_validate(
    {
        "name": "trial",
        "identifier": {"column": "number", "scheme": "own", "pattern": "[0-9]+"},
        "field": [{"name": "surname", "kind": "name"}, {"name": "born", "kind": "date"}],
    }
)
HEADER = "patient,number,surname,born\n"
documents = st.recursive(
    st.none() | st.integers() | st.text(max_size=9),
    lambda inner: st.dictionaries(st.text(max_size=9), inner, max_size=4),
)
cells = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("inputs")


def read_or_refuse(file: Path) -> None:
    try:
        checked = check_patient_list(read_patient_list(file, SCHEMA), SCHEMA)
    except LinkageError:
        return
    assert checked.numbers is not None
    assert len(checked.patients) == len(checked.numbers) == len(checked.fields["born"])


@given(st.binary(max_size=300))
@example(b"\xef\xbb\xbf")
@example(b"patient,number,surname,born\r\n\r\n")
def test_any_bytes_as_a_patient_list(folder, data):
    (folder / "bytes.csv").write_bytes(data)
    read_or_refuse(folder / "bytes.csv")


@given(st.lists(st.lists(cells, min_size=3, max_size=5), max_size=6))
@example([["P", "1", "A", "1970-01-01"]])
def test_any_rows_below_a_good_header(folder, rows):
    text = HEADER + "\n".join(",".join(row) for row in rows)
    (folder / "rows.csv").write_text(text, encoding="utf-8")
    read_or_refuse(folder / "rows.csv")


@given(st.integers(0, 2000), st.integers(1, 255))
def test_a_changed_byte_of_an_encoded_list(folder, place, change):
    """Parquet has no checksum here, so a changed bit of an encoding can be read; it is no crash."""
    file = folder / "encoded.parquet"
    if not file.exists():
        ids = tuple(f"v1:{'0' * 32}:{n:064x}" for n in range(3))
        write_encoded(file, EncodedList(MadeWith("0" * 64, 1, "0" * 32), None, ids))
    data = bytearray(file.read_bytes())
    data[place % len(data)] ^= change
    (folder / "changed.parquet").write_bytes(bytes(data))
    with contextlib.suppress(LinkageError):
        assert read_encoded(folder / "changed.parquet").n_records >= 0


@given(documents)
def test_any_json_as_a_keystore(folder, document):
    file = folder / "keystore"
    head = {"format": "neuroveil-linkage-keystore"}
    for whole in (document, {**head, "kdf": document, "cipher": document}):
        file.write_text(json.dumps(whole))
        file.chmod(0o600)
        with pytest.raises(StudyError):
            load_keystore(file, "a long phrase")
        assert read_wrapped(file) == whole
