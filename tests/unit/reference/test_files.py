"""Reference files: round trip, every wrong field named, names and versions."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuroveil.errors import StudyError
from neuroveil.reference import (
    Reference,
    default_reference,
    list_references,
    load_reference,
    save_reference,
)
from neuroveil.types.catalogue import STANDARD_CHANNELS

BUILT_IN = ("eegmat-rest7-harmonised v1", "eegmat-rest7-paper v1")


@pytest.fixture
def saved(tmp_path: Path, reference: Reference) -> Path:
    path = tmp_path / "made_up_v1.json"
    save_reference(reference, path)
    return path


def test_round_trip(saved: Path, reference: Reference) -> None:
    found = load_reference(saved)
    assert found.to_json() == reference.to_json()
    assert found.digest == reference.digest
    assert load_reference(str(saved)).digest == reference.digest


def test_rows_of_a_matrix_stand_on_a_line(saved: Path, reference: Reference) -> None:
    lines = saved.read_text(encoding="utf-8").splitlines()
    row = json.dumps(reference.centre[0].tolist())
    assert any(line.strip().rstrip(",") == row for line in lines)


def test_text_that_looks_like_numbers_is_kept(tmp_path: Path, reference: Reference) -> None:
    odd = replace(reference, caveats=("[  1,   2  ]", "line\nbreak [\n 3,\n 4\n ]"))
    save_reference(odd, tmp_path / "odd.json")
    assert load_reference(tmp_path / "odd.json").caveats == odd.caveats


def test_saving_again_changes_nothing_and_other_content_is_refused(
    saved: Path, reference: Reference
) -> None:
    before = saved.read_bytes()
    save_reference(reference, saved)
    with pytest.raises(StudyError, match="new version"):
        save_reference(replace(reference, caveats=("Other.",)), saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_reference_that_could_not_be_read_again_is_not_written(
    tmp_path: Path, reference: Reference
) -> None:
    unnamed = replace(reference, name="Made Up")
    with pytest.raises(StudyError, match=r"reference\.name"):
        save_reference(unnamed, tmp_path / "file.json")
    assert not list(tmp_path.iterdir())


def test_caveats_may_be_left_out(tmp_path: Path, reference: Reference) -> None:
    save_reference(replace(reference, caveats=()), tmp_path / "file.json")
    assert load_reference(tmp_path / "file.json").caveats == ()


def test_digest_does_not_depend_on_software_but_on_all_else(reference: Reference) -> None:
    provenance = replace(reference.provenance, software={"numpy": "99"})
    assert replace(reference, provenance=provenance).digest == reference.digest
    changes: list[dict[str, Any]] = [
        {"name": "other"}, {"version": "2"}, {"preset": "paper"},
        {"centre": reference.centre + 1e-6}, {"spread": reference.spread * 1.001},
        {"channel_covariance": np.eye(4)}, {"feature_covariance": np.eye(3)},
        {"caveats": ("None.",)}, {"estimator": {}},
        {"provenance": replace(reference.provenance, n_people=70)},
    ]  # fmt: skip
    digests = {replace(reference, **change).digest for change in changes}
    assert len(digests | {reference.digest}) == len(changes) + 1


def set_key(*path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = value

    return change


def at(key: str, row: int, column: int, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        document[key][row][column] = value

    return change


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("schema", set_key("schema", value="something-else")),
        ("schema_version", set_key("schema_version", value=2)),
        ("name", set_key("name", value="Not Allowed")),
        ("name", set_key("name", value=7)),
        ("version", set_key("version", value="1.0")),
        ("version", set_key("version", value=1)),
        ("preset", set_key("preset", value="fast")),
        ("preset", set_key("preset", value=["paper"])),
        ("digest", set_key("digest", value="sha256:0")),
        ("caveats", set_key("caveats", value="none")),
        ("estimator", set_key("estimator", value=[])),
        ("channels", set_key("channels", value=["Fz", "Fz", "Pz", "O1"])),
        ("channels", set_key("channels", value=[])),
        ("channels", set_key("channels", value=["Fz", 1, "Pz", "O1"])),
        ("features", set_key("features", value=["alpha_power", "gamma_power", "other"])),
        ("scales", set_key("scales", value=["linear", "log10", "linear"])),
        ("units", set_key("units", value=["V²", "µV²", "Hz"])),
        ("provenance", set_key("provenance", value={})),
        ("provenance.licence", set_key("provenance", "licence", value="")),
        ("provenance.covers", set_key("provenance", "covers", value=["everybody"])),
        ("provenance.n_people", set_key("provenance", "n_people", value=0)),
        ("provenance.n_recordings", set_key("provenance", "n_recordings", value=True)),
        ("provenance.settings", set_key("provenance", "settings", value=None)),
        ("provenance.software", set_key("provenance", "software", value={"numpy": 2})),
        ("centre", set_key("centre", value=[[1.0] * 3] * 3)),
        ("centre", set_key("centre", value=[[1.0] * 3, [1.0] * 2, [1.0] * 3, [1.0] * 3])),
        ("centre", at("centre", 1, 1, "1.0")),
        ("centre", at("centre", 1, 1, None)),
        ("centre", at("centre", 1, 1, True)),
        ("centre", at("centre", 1, 1, 10**400)),
        ("spread", at("spread", 0, 2, 0.0)),
        ("spread", at("spread", 0, 2, -1.0)),
        ("spread", at("spread", 0, 2, 1e-306)),
        ("centre", at("centre", 0, 2, -1e300)),
        ("channel_covariance", at("channel_covariance", 0, 1, 0.123)),
        ("channel_covariance", at("channel_covariance", 2, 2, 1.5)),
        ("feature_covariance", set_key("feature_covariance", value=[[1.0] * 3] * 3)),
        ("feature_covariance", set_key("feature_covariance", value=[[1.0, 0.0], [0.0, 1.0]])),
        ("file", set_key("extra", value=1)),
    ],
)
def test_every_wrong_field_is_named(
    saved: Path, field: str, change: Callable[[dict[str, Any]], None]
) -> None:
    document = json.loads(saved.read_text(encoding="utf-8"))
    change(document)
    saved.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(StudyError) as refusal:
        load_reference(saved)
    assert f"reference.{field}" in {mistake.where for mistake in refusal.value.mistakes}


def test_every_missing_key_is_named(saved: Path) -> None:
    whole = json.loads(saved.read_text(encoding="utf-8"))
    for key in whole:
        document = copy.deepcopy(whole)
        del document[key]
        saved.write_text(json.dumps(document), encoding="utf-8")
        with pytest.raises(StudyError) as refusal:
            load_reference(saved)
        assert [mistake.where for mistake in refusal.value.mistakes] == [f"reference.{key}"]


def test_constants_changed_within_reason_break_the_digest(saved: Path) -> None:
    text = saved.read_text(encoding="utf-8")
    document = json.loads(text)
    at("centre", 0, 0, document["centre"][0][0] + 0.001)(document)
    saved.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(StudyError, match=r"reference\.digest"):
        load_reference(saved)


@pytest.mark.parametrize(
    "content",
    [b"", b"no json", b"[]", b"\xff\xfe", b'{"schema": NaN}', b"[" * 100_000,
     b'{"schema": "a", "schema": "b"}'],
    ids=["empty", "words", "list", "bytes", "nan", "deep", "twice"],
)  # fmt: skip
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(content)
    with pytest.raises(StudyError):
        load_reference(path)


def test_absent_file_is_refused_without_its_path(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="FileNotFoundError") as refusal:
        load_reference(tmp_path / "secret_name.json")
    assert "secret_name" not in str(refusal.value)


def test_unknown_name_is_refused_with_the_choices() -> None:
    with pytest.raises(StudyError, match="eegmat-rest7-harmonised v1"):
        load_reference("no-such-reference")


def test_only_json_files_are_written(tmp_path: Path, reference: Reference) -> None:
    with pytest.raises(StudyError, match=r"\.json"):
        save_reference(reference, tmp_path / "reference.txt")


def test_built_in_references_are_listed() -> None:
    assert list_references() == BUILT_IN


@pytest.mark.parametrize("title", BUILT_IN)
def test_built_in_references_load_by_every_spelling(title: str) -> None:
    digest = load_reference(title).digest
    name, _, _ = title.partition(" ")
    for spelling in (name, name.replace("-", "_"), f"{name.replace('-', '_')}_v1", title.upper()):
        assert load_reference(spelling).digest == digest


@pytest.mark.parametrize("preset", ["harmonised", "paper"])
def test_built_in_references_are_what_they_should_be(preset: str) -> None:
    reference = default_reference(preset)
    assert reference.title == f"eegmat-rest7-{preset} v1"
    assert reference.preset == preset
    assert reference.channels == STANDARD_CHANNELS
    assert len(reference.features) == 10
    assert "high_gamma_power" not in reference.features
    provenance = reference.provenance
    assert (provenance.n_people, provenance.n_recordings) == (7, 14)
    assert "ODC" in provenance.licence
    assert "Zyma" in provenance.citation
    assert provenance.settings["signal"]["preset"] == preset
    assert {"neuroveil", "numpy", "scipy"} <= set(provenance.software)
    assert any("seven healthy students aged 16 to 22" in each for each in reference.caveats)
    for factor in (reference.channel_covariance, reference.feature_covariance):
        assert np.linalg.cond(factor) < 1000


def test_there_is_no_default_for_another_preset() -> None:
    with pytest.raises(StudyError, match=r"signal\.preset"):
        default_reference("fast")
