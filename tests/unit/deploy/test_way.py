"""What a study file says of the way to a server: asked last, and no part of what is promised."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from neuroveil.cli.app import run
from neuroveil.deploy.hospital.pseudonymise import study_terms
from neuroveil.deploy.hospital.way import Way, study_beside, way_to_server
from neuroveil.errors import StudyError
from neuroveil.pipeline.settings import settings_digest
from neuroveil.study import load_study

SERVER = """\
[server]
address = "https://server.example:8443"
key = "keys/site.key"
ca = "ca.pem"
server_key = "server.pub"
study = "sleep-2027"
encoded = "encoded"
"""


@pytest.fixture
def beside(tmp_path) -> Path:
    """A folder with a study file beside its release folder."""
    (tmp_path / "release").mkdir()
    (tmp_path / "study.toml").write_text(SERVER)
    return tmp_path


def test_each_setting_comes_from_the_first_place_that_states_it(beside):
    study = load_study(beside)
    assert way_to_server({}, study) == Way(
        "https://server.example:8443", beside / "keys" / "site.key", beside / "ca.pem",
        beside / "server.pub", "sleep-2027", beside / "encoded",
    )  # fmt: skip
    stated = {"address": "https://other.example", "key": Path("a.key"), "ca": None}
    way = way_to_server(stated, study)
    assert (way.address, way.key, way.ca) == (
        "https://other.example", Path("a.key"), beside / "ca.pem",
    )  # fmt: skip
    assert way_to_server({"key": None}, None) == Way()


def test_a_release_folder_is_found_only_by_the_study_that_names_it(beside):
    found = study_beside(beside / "release")
    assert found is not None
    assert found.server is not None
    (beside / "copy").mkdir()
    assert study_beside(beside / "copy") is None
    assert study_beside(beside) is None
    (beside / "study.toml").write_text('[server]\naddress = "http://server.example"')
    with pytest.raises(StudyError, match=r"server\.address"):
        study_beside(beside / "release")


def test_studies_with_and_without_a_server_are_the_same_study(beside, tmp_path):
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "study.toml").write_text("")
    with_server, without = load_study(beside), load_study(tmp_path / "plain")
    assert study_terms(with_server) == study_terms(without)
    assert settings_digest(with_server) == settings_digest(without)


@pytest.mark.slow
def test_a_dry_run_says_where_a_release_would_go(site, tmp_path, monkeypatch, capsys):
    study = tmp_path / "other.toml"
    study.write_text(SERVER)

    def goal(*words: object) -> object:
        assert run(["submit", str(site.release), "--dry-run", "--json", *map(str, words)]) == 0
        return json.loads(capsys.readouterr().out)["to"]

    monkeypatch.delenv("NEUROVEIL_SERVER", raising=False)
    assert goal() is None
    assert goal("--study-file", study) == "https://server.example:8443"
    monkeypatch.setenv("NEUROVEIL_SERVER", "https://variable.example")
    assert goal("--study-file", study) == "https://variable.example"
    assert goal("--study-file", study, "--to", "https://option.example") == "https://option.example"
    assert SERVER.encode() not in b"".join(path.read_bytes() for path in site.release.iterdir())
