"""``neuroveil audit mechanism`` on a study, as a process: no recording is read."""

from __future__ import annotations

import json
import stat

import pytest

pytestmark = pytest.mark.slow

PRIVATE = '\n[reference]\nscaling = "private_statistics"\nacknowledge_no_guarantee = true\n'


def test_a_study_keeps_its_claim_and_scaling_by_its_own_patients_does_not(neuroveil, study):
    cohort = study.parent / "cohort"
    for recording in cohort.rglob("*.edf"):
        recording.write_bytes(b"")  # the roster stays; whoever reads a signal fails
    replay = ("audit", "mechanism", study, "--only", "replay", "--quick", "--json")
    kept = neuroveil(*replay)
    assert (kept.code, kept.json["verdict"]) == (0, "no_attack_succeeded")
    study.write_text(study.read_text() + PRIVATE)
    broken = neuroveil(*replay)
    assert (broken.code, broken.json["verdict"]) == (4, "violated")
    moved = {each["name"]: each for each in broken.json["results"][0]["figures"]}["moved"]
    assert moved["value"] == pytest.approx(2 * (2 * 6) ** 0.5)  # C sqrt(2 (n + 1)) for n = 5
    assert moved["theory"] == 4.0
    folder = study.parent / "internal" / "audit-mechanism"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert json.loads((folder / "audit.json").read_text())["verdict"] == "violated"
    assert not (study.parent / "ledger.sqlite").exists()
