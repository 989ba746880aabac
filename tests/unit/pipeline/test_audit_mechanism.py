"""The audit of a mechanism as a whole: targets, files, going on, verdict."""

from __future__ import annotations

import json
import math
import stat
from dataclasses import replace

import numpy as np
import pytest

from neuroveil.errors import ChainError, StudyError
from neuroveil.pipeline import audit_mechanism as whole
from neuroveil.pipeline.audit_claim import Claim
from neuroveil.pipeline.audit_files import (
    RESULTS,
    UNFINISHED,
    AuditFolder,
    result_from_json,
    settings_key,
)
from neuroveil.pipeline.audit_mechanism import ATTACKS, AuditSizes, audit_mechanism, planned
from neuroveil.pipeline.audit_targets import (
    target_by_name,
    target_from_certificate,
    target_from_command,
    target_from_function,
)
from neuroveil.pipeline.release_folder import write_release
from neuroveil.types.audit import AttackResult, AuditCurve, AuditFigure

SMALL = AuditSizes(100, 1000, 1, 400, 20, 1)
CLAIM = Claim(1.0, 1e-5, 4, 2.0)
RESULT = AttackResult(
    "replay", "Replay", "?", "x", "weak", "Moved.",
    (AuditFigure("moved", "Moved", 1.0, 1.0, math.inf, 0.95, 3, theory=0.5),),
    (AuditCurve("c", "C", "x", "y", (0.0, 1.0), (math.inf, 1.0)),), ("None.",), {"n": 1},
)  # fmt: skip


@pytest.fixture
def careless(tmp_path):
    """A function that uses the same noise every time."""
    file = tmp_path / "careless.py"
    file.write_text(
        "import numpy as np\n"
        "def same(rows, seed):\n"
        "    return rows + np.random.default_rng(1).normal(0, 9, rows.shape)\n"
    )
    return f"{file}:same"


@pytest.mark.slow
def test_one_of_ours_goes_through_every_attack(tmp_path):
    audit = audit_mechanism(target_by_name("gaussian", CLAIM), SMALL, tmp_path / "audit")
    assert [result.attack for result in audit.results] == list(ATTACKS)
    assert audit.skipped == ()
    assert audit.exit_code == {"violated": 4, "not_testable": 5}.get(audit.verdict, 0)
    written = json.loads((tmp_path / "audit" / RESULTS).read_text())
    assert written["verdict"] == audit.verdict
    assert written["claim"]["epsilon"] == 1.0
    assert "Internal" in written["notice"]
    names = {path.name for path in (tmp_path / "audit").iterdir()}
    assert names == {RESULTS, "index.html", *(f"{name}.html" for name in ATTACKS)}


def test_everything_is_written_for_its_owner_alone(tmp_path):
    audit_mechanism(target_by_name("gaussian", CLAIM), SMALL, tmp_path / "a", ("replay",))
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "a").iterdir()} == {0o600}


def test_a_careless_function_is_violated_and_ends_with_4(tmp_path, careless):
    target = target_from_function(careless, replace(CLAIM, dimension=2))
    audit = audit_mechanism(target, SMALL, tmp_path / "a", ("randomness", "replay"))
    assert (audit.verdict, audit.exit_code) == ("violated", 4)


def test_nothing_testable_ends_with_5(tmp_path):
    target = target_by_name("gaussian", replace(CLAIM, epsilon=30.0))
    audit = audit_mechanism(target, SMALL, tmp_path / "a", ("last_bits",))
    assert (audit.verdict, audit.exit_code) == ("not_testable", 5)


@pytest.mark.slow
def test_an_interrupted_run_goes_on(tmp_path, monkeypatch):
    target = target_by_name("laplace", replace(CLAIM, delta=0.0))
    wanted = ("replay", "noise_scale", "randomness")

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(whole, "audit_randomness", stop)
    with pytest.raises(KeyboardInterrupt):
        audit_mechanism(target, SMALL, tmp_path / "a", wanted)
    unfinished = json.loads((tmp_path / "a" / UNFINISHED).read_text())
    assert list(unfinished["results"]) == ["replay", "noise_scale"]
    monkeypatch.undo()
    monkeypatch.setattr(whole, "audit_replay", stop)  # it must not run again
    audit = audit_mechanism(target, SMALL, tmp_path / "a", wanted)
    assert [result.attack for result in audit.results] == list(wanted)
    assert not (tmp_path / "a" / UNFINISHED).exists()


def test_another_audit_takes_nothing_up(tmp_path):
    AuditFolder(tmp_path, settings_key({"epsilon": 1})).keep({"replay": RESULT})
    assert AuditFolder(tmp_path, settings_key({"epsilon": 1})).done().keys() == {"replay"}
    assert AuditFolder(tmp_path, settings_key({"epsilon": 2})).done() == {}
    (tmp_path / UNFINISHED).write_text("[")
    assert AuditFolder(tmp_path, settings_key({"epsilon": 1})).done() == {}


def test_code_that_was_changed_is_another_target(tmp_path):
    file = tmp_path / "noise.py"
    keys = []
    for text in ("def add(rows): return rows\n", "def add(rows): return rows + 1\n"):
        file.write_text(text)
        keys.append(settings_key(target_from_function(f"{file}:add", CLAIM).key))
        keys.append(settings_key(target_from_command(f"python {file}", CLAIM).key))
    assert len(set(keys)) == 4


def test_pages_of_an_earlier_audit_go_and_other_files_stay(tmp_path):
    (tmp_path / "mine.html").write_text("x")
    folder = AuditFolder(tmp_path, "key")
    folder.finish({}, {"index.html": "a", "replay.html": "b"})
    folder.finish({}, {"index.html": "a", "timing.html": "c"})
    pages = sorted(path.name for path in tmp_path.glob("*.html"))
    assert pages == ["index.html", "mine.html", "timing.html"]


def test_results_are_read_back_as_they_were():
    read = result_from_json(json.loads(json.dumps(RESULT.to_json())))
    assert read.figures == RESULT.figures
    assert read.limits == RESULT.limits
    assert math.isnan(read.curves[0].y[0])
    assert read.curves[0].y[1] == 1.0


def test_what_a_target_does_not_allow_is_said(careless):
    program = target_from_command("cat", CLAIM)
    names, skipped = planned(program)
    assert names == ("randomness", "last_bits", "black_box")
    assert set(skipped) == {"replay", "noise_scale", "timing"}
    with_seed = target_from_function(careless, CLAIM)
    assert "replay" in planned(with_seed)[0]
    assert planned(with_seed, ("noise_scale",)) == (
        (), {"noise_scale": "the law of its noise is not stated"},
    )  # fmt: skip


def test_nothing_to_run_is_refused(tmp_path):
    with pytest.raises(StudyError, match="--only"):
        audit_mechanism(target_from_command("cat", CLAIM), SMALL, tmp_path, ("timing",))


def test_a_subject_that_releases_nan_is_a_mistake_and_no_broken_claim(tmp_path):
    file = tmp_path / "bad.py"
    file.write_text("def release(rows):\n    return rows * float('nan')\n")
    target = target_from_function(f"{file}:release", CLAIM)
    with pytest.raises(StudyError, match="finite"):
        audit_mechanism(target, SMALL, tmp_path / "a", ("randomness",))


@pytest.mark.parametrize("one", [{"noise": "gaussian"}, {"noise_scale": 3.0}])
def test_half_a_law_is_refused(one):
    with pytest.raises(StudyError, match="together"):
        replace(CLAIM, **one).facts("x")


@pytest.mark.parametrize("change", [{"epsilon": -1.0}, {"delta": 1.0}, {"clip_norm": math.nan}])
def test_claims_out_of_range_are_refused(change):
    with pytest.raises(ChainError):
        replace(CLAIM, **change).facts("x")


def test_the_mechanism_of_a_certificate_is_the_released_one(release, tmp_path):
    write_release(release, tmp_path / "release")
    target = target_from_certificate(tmp_path / "release")
    facts = target.subject.facts
    assert (facts.name, facts.epsilon, facts.delta) == ("gaussian", 1.0, 1e-5)
    assert facts.dimension == release.values.shape[1]
    stated = release.certificate.value("mechanism.noise_std")
    assert facts.law.scale == stated
    spread = np.std(target.subject.run(np.zeros((1, facts.dimension)), 400, None))
    assert spread == pytest.approx(stated, rel=0.1)
