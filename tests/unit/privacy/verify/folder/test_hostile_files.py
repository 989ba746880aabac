"""Files that nobody vouches for, in a folder whose digests all fit: found or read, no crash."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuroveil.privacy.verify import verify

STEPS = [
    ("wiener", {"noise_variance": 3.0}), ("projection_back", {"components": 4}),
    ("inverse_scaling", {"log10_columns": 3}),
]  # fmt: skip
SMALL = {"columns": [f"c{i}" for i in range(9)], "n": 4, "components": 4, "steps": STEPS}
FILES = (
    "table.csv", "table.json", "messages.csv", "table_estimated.csv", "table_estimated.json",
    "public_inputs.json", "STATEMENT.md",
)  # fmt: skip
SNIPPETS = (
    b"", b"\x00", b"\xff\xfe", b'"', b",", b"\n", b"\r", b"1e999", b"-1e-400", b"nan", b"0x1p3",
    b"[" * 60, b"{}", b"null", b"1" * 500, b"9" * 5000, "é".encode(), b"seed,number", b"0x1.8p+0",
)  # fmt: skip


@pytest.fixture
def folder(press: Any) -> Path:
    made: Path = press.release(mechanism="privunit", **SMALL)[0]
    return made


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(data=st.data())
def test_spoiled_bytes_end_in_a_verdict(
    data: Any, folder: Path, workshop: Any, tmp_path_factory: Any
) -> None:
    """Pieces cut out of a file and others put in, with its digest renewed."""
    copy = tmp_path_factory.mktemp("copy") / "release"
    shutil.copytree(folder, copy)
    name = data.draw(st.sampled_from(FILES))
    original = (copy / name).read_bytes()
    spoiled = original
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(spoiled)))
        end = min(len(spoiled), start + data.draw(st.sampled_from([0, 1, 2, 10, 1000])))
        spoiled = spoiled[:start] + data.draw(st.sampled_from(SNIPPETS)) + spoiled[end:]
    (copy / name).write_bytes(spoiled)
    document = json.loads((copy / "certificate.json").read_text(encoding="utf-8"))
    document["release"][name] = workshop.digest(spoiled)
    (copy / "certificate.json").write_text(json.dumps(document), encoding="utf-8")
    result = verify(copy)
    assert result.exit_code in {0, 4}
    assert json.dumps(result.as_dict(), allow_nan=False)
    if name == "table.csv" and _values(spoiled) != _values(original):
        assert result.exit_code == 4


def _values(data: bytes) -> list[list[float | str]] | None:
    """What a table holds, where it can be read at all."""
    try:
        lines = data.decode().split("\n")
        return [[float(cell) for cell in line.split(",")] for line in lines[1:] if line]
    except (UnicodeDecodeError, ValueError):
        return None


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"a,b\n1,2\n", b"\x00" * 50])
def test_file_replaced_by_another(press: Any, folder: Path, name: str, data: bytes) -> None:
    document = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    press.rewrite(folder, document, name, data.decode())
    assert verify(folder).broken_links == ("release",)
