"""What is learnt of real people: sex, the row itself, and who is alone with something.

The seventeen cohort patients of eegmat at rest, 190 columns, with the public constants of seven
others. Three of the seventeen are men, so that little can be said of sex; it is said how little.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from neuroveil.audit.table.additive import AdditiveChannel
from neuroveil.audit.table.attributes import attack_attributes
from neuroveil.audit.table.codewords import CodewordChannel
from neuroveil.audit.table.effort import Effort
from neuroveil.audit.table.frame import Attribute, AuditFrame, Claim, make_targets
from neuroveil.audit.table.reconstruction import attack_reconstruction
from neuroveil.audit.table.singling_out import attack_singling_out
from neuroveil.pipeline.extract import extract_study
from neuroveil.pipeline.promise import named_reference, protect_settings
from neuroveil.privacy.mechanisms.additive import AdditiveMechanism
from neuroveil.privacy.mechanisms.privunit import PrivUnit
from neuroveil.privacy.plan import plan_rows
from neuroveil.privacy.randomness import SimulationRandomness
from neuroveil.study import load_study
from neuroveil.types.table import FeatureTable

EFFORT = Effort("test", n_trials=100, n_links=3400, n_bootstraps=300, cells=2_000_000_000)

pytestmark = [pytest.mark.slow, pytest.mark.long]


@pytest.fixture(scope="module")
def study_folder(
    project_root: Path, eegmat: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The example study on rest recordings alone, with the mechanism that fits best."""
    text = (project_root / "examples" / "eegmat" / "study.toml").read_text()
    lines = [
        f'folder = "{eegmat}"' if line.startswith("folder = ") else line
        for line in text.splitlines()
        if not line.startswith("mechanism = ")
    ]
    privacy = '[privacy]\nmechanism = "auto"\nprojection = "auto"\nlargest_codebook = 32768'
    text = "\n".join(lines).replace("[privacy]", privacy)
    folder = tmp_path_factory.mktemp("rest")
    text = text.replace("[signal]", 'sessions = ["1"]\n\n[signal]', 1)
    (folder / "study.toml").write_text(text)
    return folder


@pytest.fixture(scope="module")
def table(study_folder: Path) -> FeatureTable:
    return extract_study(load_study(study_folder), 2).table


def frame_of(folder: Path, table: FeatureTable, name: str, epsilon: float) -> AuditFrame:
    study = load_study(folder, {"privacy.epsilon": epsilon})
    settings = protect_settings(study, table.n_patients)
    if name == "gaussian":
        settings = replace(settings, mechanism=name, delta=1e-5, projection=None)
    scaling = named_reference(study).scaling_for(table.columns)
    plan = plan_rows(settings, scaling, table.n_patients).renewed(SimulationRandomness(1))
    mechanism = plan.mechanism
    assert isinstance(mechanism, AdditiveMechanism | PrivUnit)
    channel = (
        CodewordChannel(mechanism, plan.basis)
        if isinstance(mechanism, PrivUnit)
        else AdditiveChannel(mechanism, plan.basis)
    )
    claim = Claim(epsilon, settings.delta, "local")
    return AuditFrame(table, None, make_targets(table, None, scaling, channel, claim))


def sexes(eegmat: Path, table: FeatureTable) -> Attribute:
    with (eegmat / "subject-info.csv").open(encoding="utf-8") as file:
        known = {row["Subject"][-2:]: row["Gender"] for row in csv.DictReader(file)}
    return Attribute("sex", tuple(known[patient[-2:]] for patient in table.patients))


def measured(frame: AuditFrame, place: int) -> dict[str, Any]:
    target, found = frame.targets[place], {}
    for run in (attack_attributes, attack_reconstruction, attack_singling_out):
        result = run(frame, target, EFFORT)
        found[result.attack] = {"verdict": result.verdict} | {
            figure.name: {
                name: None if value is None else round(value, 3)
                for name in ("value", "low", "high", "control", "smallest_detectable")
                for value in [getattr(figure, name)]
            }
            for figure in result.figures
        }
    return found


def test_sex_rows_and_singling_out(
    study_folder: Path,
    eegmat: Path,
    table: FeatureTable,
    write_down: Callable[[str, Mapping[str, Any]], Path],
) -> None:
    """Raw, ours, the paper's Gaussian and its Laplace, at three epsilons."""
    sex = sexes(eegmat, table)
    found: dict[str, Any] = {}
    for epsilon in (1.0, 5.0, 20.0):
        for name, key, place in (
            ("raw", "gaussian", 1), ("ours", "auto", 0), ("gaussian", "gaussian", 0),
            ("paper_laplace", "gaussian", 2),
        ):  # fmt: skip
            label = name if name == "raw" else f"{name}, epsilon = {epsilon:g}"
            if label not in found:
                frame = replace(frame_of(study_folder, table, key, epsilon), attribute=sex)
                found[label] = measured(frame, place)
    write_down("eegmat-attributes", {"men": sex.values.count("M"), "targets": found})
    assert found["raw"]["reconstruction"]["r_squared"]["value"] == pytest.approx(1.0)
    assert found["ours, epsilon = 1"]["reconstruction"]["verdict"] == "no_attack_succeeded"
    for each in found.values():
        assert abs(each["attributes"]["auc"]["control"] - 0.5) < 0.1
