"""Linkage of real people: rest recordings are released, task recordings are held by an attacker.

The seventeen cohort patients of eegmat, 190 columns, with the public constants of seven others.
The attacker extracts the task recordings as the release does, or, as another hospital, with other
electrodes, another sampling rate and another line filter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuroveil.audit.table.additive import AdditiveChannel
from neuroveil.audit.table.channels import Channel
from neuroveil.audit.table.codewords import CodewordChannel
from neuroveil.audit.table.effort import Effort
from neuroveil.audit.table.frame import AuditFrame, Claim, make_targets
from neuroveil.audit.table.linkage import attack_linkage
from neuroveil.audit.table.trained_models import (
    TrainingData,
    attack_trained_model,
    sklearn_trainer,
)
from neuroveil.pipeline.audit_inputs import read_feature_table
from neuroveil.pipeline.extract import extract_study
from neuroveil.pipeline.internal_files import write_extraction
from neuroveil.pipeline.promise import named_reference, protect_settings
from neuroveil.privacy import scale_rows
from neuroveil.privacy.mechanisms.additive import AdditiveMechanism
from neuroveil.privacy.mechanisms.privunit import PrivUnit
from neuroveil.privacy.plan import plan_rows
from neuroveil.privacy.randomness import SimulationRandomness
from neuroveil.study import load_study
from neuroveil.types.audit import AttackResult
from neuroveil.types.scaling import Scaling
from neuroveil.types.table import FeatureTable

OTHER_MONTAGE = ("Fp1", "Fp2", "F7", "F8", "C3", "C4", "T7", "T8", "O1", "O2")
QUICK = Effort("test", n_trials=100, n_links=1700, n_bootstraps=100, cells=2_000_000_000)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def sessions(
    project_root: Path, eegmat: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """Feature tables of rest, of task, and of task in another hospital; and the study."""
    text = (project_root / "examples" / "eegmat" / "study.toml").read_text()
    lines = [
        f'folder = "{eegmat}"' if line.startswith("folder = ") else line
        for line in text.splitlines()
        if not line.startswith("mechanism = ")
    ]
    privacy = '[privacy]\nmechanism = "auto"\nprojection = "auto"\nlargest_codebook = 32768'
    text = "\n".join(lines).replace("[privacy]", privacy)
    montage = f"[montage]\nchannels = {list(OTHER_MONTAGE)}\n".replace("'", '"')
    elsewhere = text.replace('preset = "harmonised"', 'preset = "paper"').replace(
        "line_frequency_hz = 50", "line_frequency_hz = 60"
    )
    studies = {
        "rest": text.replace("[signal]", 'sessions = ["1"]\n\n[signal]', 1),
        "task": text.replace("[signal]", 'sessions = ["2"]\n\n[signal]', 1),
        "elsewhere": elsewhere.replace("[signal]", f'sessions = ["2"]\n\n{montage}\n[signal]', 1)
        + '\n[reference]\nname = "eegmat-rest7-paper v1"\n',
    }
    found: dict[str, Any] = {}
    for name, content in studies.items():
        folder = tmp_path_factory.mktemp(name)
        (folder / "study.toml").write_text(content)
        study = load_study(folder)
        write_extraction(study, extract_study(study, 2), 0.0)
        found[name] = study.path(study.output.internal) / "features.parquet"
        if name == "rest":
            found["study"] = folder
    columns = extract_study(load_study(found["study"]), 1).table.columns
    for name in studies:
        role = "reference" if name == "elsewhere" else "table"
        found[name] = read_feature_table(found[name], columns, role)
    return found


def channel_of(
    folder: Path, table: FeatureTable, name: str, epsilon: float
) -> tuple[Channel, Scaling, Claim]:
    """What a study's own choices, or the paper's Gaussian, come to at an epsilon."""
    study = load_study(folder, {"privacy.epsilon": epsilon})
    settings = protect_settings(study, table.n_patients)
    if name == "gaussian":
        settings = replace(settings, mechanism=name, delta=1e-5, projection=None)
    scaling = named_reference(study).scaling_for(table.columns)
    plan = plan_rows(settings, scaling, table.n_patients).renewed(SimulationRandomness(1))
    claim = Claim(epsilon, settings.delta, "local")
    if isinstance(plan.mechanism, PrivUnit):
        return CodewordChannel(plan.mechanism, plan.basis), scaling, claim
    assert isinstance(plan.mechanism, AdditiveMechanism)
    return AdditiveChannel(plan.mechanism, plan.basis), scaling, claim


def linkage(
    sessions: Mapping[str, Any], name: str, epsilon: float, reference: str, target: int = 0
) -> AttackResult:
    """Link rest recordings, released by a mechanism, to another table of the same people."""
    table = sessions["rest"]
    other = None if reference == "rest" else sessions[reference]
    channel, scaling, claim = channel_of(sessions["study"], table, name, epsilon)
    frame = AuditFrame(table, other, make_targets(table, other, scaling, channel, claim))
    return attack_linkage(frame, frame.targets[target], QUICK)


def rank_one(*args: Any) -> float:
    return linkage(*args).figure("rank_1").value


def test_people_are_recognised_without_protection(sessions: dict[str, Any]) -> None:
    """Nearest neighbour on scaled rows: chance is .059, and the control stays there."""
    result = linkage(sessions, "gaussian", 1.0, "task", 1)
    print("raw, rest to task:", result.figure("rank_1").value, result.figure("assignment").value)
    assert result.figure("rank_1").value >= 0.5
    assert result.figure("rank_1").control == pytest.approx(1 / 17, abs=0.03)
    assert result.verdict == "weak"


def test_another_hospital_recognises_fewer(sessions: dict[str, Any]) -> None:
    """Ten electrodes, 500 Hz and a filter at 60 Hz: missing columns take the public centre."""
    elsewhere = sessions["elsewhere"]
    n_other = sum(column.channel not in OTHER_MONTAGE for column in elsewhere.columns)
    assert np.isnan(elsewhere.values).all(axis=0).sum() == n_other == 90
    here = rank_one(sessions, "gaussian", 1.0, "task", 1)
    there = rank_one(sessions, "gaussian", 1.0, "elsewhere", 1)
    print("raw, rest to task in another hospital:", there)
    assert there <= here


def test_at_epsilon_1_nobody_is_recognised_by_another_session(sessions: dict[str, Any]) -> None:
    for name in ("gaussian", "auto"):
        result = linkage(sessions, name, 1.0, "task")
        print(name, result.figure("rank_1").value)
        assert result.figure("rank_1").low < 1 / 17 + 0.05
        assert result.verdict == "no_attack_succeeded"


def test_more_noise_recognises_fewer(sessions: dict[str, Any]) -> None:
    """100 seeded draws with a codebook each; a rate is measured to about .05."""
    rates = [rank_one(sessions, "auto", epsilon, "task") for epsilon in (20.0, 5.0, 1.0)]
    print("ours, rest to task:", rates)
    assert rates[0] > rates[2] + 0.05
    assert (np.diff(rates) <= 0.05).all()


@pytest.mark.long
def test_a_model_of_rest_and_task_gives_its_training_set_away(
    sessions: dict[str, Any], write_down: Callable[[str, Mapping[str, Any]], Path]
) -> None:
    """LiRA on logistic regression of rest against task: two rows a patient, 65 models."""
    from sklearn.linear_model import LogisticRegression

    scaling = named_reference(load_study(sessions["study"])).scaling_for(sessions["rest"].columns)
    rows = np.concatenate([scale_rows(sessions[name], scaling) for name in ("rest", "task")])
    data = TrainingData(rows, np.repeat([0, 1], 17), np.tile(np.arange(17), 2))
    figures = {}
    for name, strength in (("weak penalty", 100.0), ("strong penalty", 1e-4)):
        train = sklearn_trainer(lambda c=strength: LogisticRegression(C=c, max_iter=2000))
        result = attack_trained_model(data, train)
        figures[name] = {"verdict": result.verdict, **_plain(result, "auc")}
    write_down("eegmat-trained-model", figures)
    assert figures["weak penalty"]["value"] > 0.8
    assert figures["strong penalty"]["value"] < figures["weak penalty"]["value"]


@pytest.mark.long
def test_every_epsilon(
    sessions: dict[str, Any], write_down: Callable[[str, Mapping[str, Any]], Path]
) -> None:
    """Rest to the same rest rows, to task, and to task elsewhere, raw and at each epsilon."""
    references = ("rest", "task", "elsewhere")
    table: dict[str, Any] = {
        "raw": {each: _plain(linkage(sessions, "gaussian", 1.0, each, 1)) for each in references}
    }
    for epsilon in (0.5, 1.0, 2.0, 5.0, 10.0, 20.0):
        for name, key, target in (
            ("ours", "auto", 0), ("gaussian", "gaussian", 0), ("paper_laplace", "gaussian", 2),
        ):  # fmt: skip
            table[f"{name}, epsilon = {epsilon:g}"] = {
                each: _plain(linkage(sessions, key, epsilon, each, target)) for each in references
            }
    write_down("eegmat-linkage", {"chance": 1 / 17, "rank_1": table})
    assert table["raw"]["rest"]["value"] == 1.0
    assert table["ours, epsilon = 0.5"]["task"]["value"] < 0.15


def _plain(result: AttackResult, name: str = "rank_1") -> dict[str, float]:
    figure = result.figure(name)
    return {name: round(getattr(figure, name), 3) for name in ("value", "low", "high", "control")}
