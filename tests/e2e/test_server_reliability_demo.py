"""``neuroveil demo --consortium``: three hospitals, a server, a broken line, one release."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.slow


def test_the_consortium_in_one_command(neuroveil, tmp_path):
    """From recordings to a release that is verified; one hospital is killed on the way."""
    answer = neuroveil("demo", tmp_path / "demo", "--consortium", "--json")
    assert answer.code == 0, answer.err
    assert answer.json["verified"]
    assert (answer.json["n_records"], answer.json["n_patients"]) == (26, 24)
    assert "is killed" in answer.err
    release = tmp_path / "demo" / "release"
    chain = json.loads((release / "certificate.json").read_text())["chain"]
    assert chain["unit"]["dedup"]["value"] == "linked_pool"
    assert chain["domain"]["n"]["value"] == 24
    log = [
        json.loads(line)
        for line in (tmp_path / "demo" / "server.log").read_text().splitlines()
        if line.startswith("{")
    ]
    # The chunk that was on its way when West was killed is all that was ever refused.
    assert {line["code"] for line in log if line.get("code")} <= {"incomplete", "slow_request"}
    assert not [line for line in log if line["event"] == "bug"]
    again = neuroveil("demo", tmp_path / "demo", "--consortium")
    assert again.code == 2
    shown = neuroveil("demo", tmp_path / "other", "--consortium", "--dry-run", "--json")
    assert (shown.code, shown.json["written"]) == (0, False)
    assert not (tmp_path / "other").exists()
