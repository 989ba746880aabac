"""The attacks of ``neuroveil audit`` beside those of anonymeter, on the same simulated tables.

Anonymeter (Giomi et al. 2023) measures three risks of synthetic data. It needs other versions of
numpy and pandas, so it gets a virtual environment of its own, made with pip the first time::

    python benchmarks/anonymeter_comparison.py                      # a minute, and pip once
    python benchmarks/anonymeter_comparison.py --environment DIR    # keep the environment there
    python benchmarks/anonymeter_comparison.py --write              # into docs/measured

Half of the simulated people are released, the others are the control, for both. Prints one JSON
object. Where anonymeter cannot be installed, it says so and prints ours alone.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import venv
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from neuroveil.audit.table.additive import AdditiveChannel
from neuroveil.audit.table.attributes import attack_attributes
from neuroveil.audit.table.effort import Effort
from neuroveil.audit.table.frame import Attribute, AuditFrame, Claim, Target, make_targets
from neuroveil.audit.table.linkage import attack_linkage
from neuroveil.audit.table.membership import attack_membership
from neuroveil.audit.table.predicates import row_predicates
from neuroveil.audit.table.reconstruction import attack_reconstruction
from neuroveil.audit.table.singling_out import attack_singling_out
from neuroveil.privacy.mechanisms.additive import AdditiveMechanism
from neuroveil.privacy.mechanisms.contract import MechanismSpec
from neuroveil.privacy.mechanisms.registry import make_mechanism
from neuroveil.types.audit import AttackResult
from neuroveil.types.catalogue import FEATURE_NAMES, columns_for
from neuroveil.types.recording import FloatArray
from neuroveil.types.scaling import Scaling
from neuroveil.types.table import FeatureTable

VERSION = "1.1.0"
N_PEOPLE, N_COLUMNS, RANK, SEED = 200, 100, 20, 1
EFFORT = Effort("comparison", n_trials=4000, n_links=4000, n_bootstraps=200, cells=2_000_000_000)
PLACE = Path(__file__).parents[1] / "docs" / "measured" / "anonymeter-comparison.json"
CASES: tuple[tuple[str, str, float], ...] = (
    ("unprotected", "gaussian", 1.0),
    ("paper_laplace, epsilon = 5", "paper_laplace", 5.0),
    ("gaussian, epsilon = 20", "gaussian", 20.0),
    ("gaussian, epsilon = 1", "gaussian", 1.0),
)
ATTACKS = {
    "membership": (attack_membership, ("auc",)),
    "linkage": (attack_linkage, ("rank_1",)),
    "reconstruction": (attack_reconstruction, ("r_squared",)),
    "attributes": (attack_attributes, ("auc", "auc_from_released")),
    "singling_out": (attack_singling_out, ("excess_rows", "excess_columns")),
}


def people(seed: int) -> tuple[FloatArray, FloatArray]:
    """Correlated rows, as features of an EEG are, and a label that shifts some of them."""
    generator = np.random.default_rng(seed)
    shape = np.random.default_rng(0).normal(size=(RANK, N_COLUMNS)) / np.sqrt(RANK)
    labels = np.arange(N_PEOPLE) % 2
    factors = generator.normal(size=(N_PEOPLE, RANK))
    factors[:, 0] += 3.0 * labels
    return factors @ shape + 0.5 * generator.normal(size=(N_PEOPLE, N_COLUMNS)), labels


def frame_of(rows: FloatArray, labels: FloatArray, name: str, epsilon: float) -> AuditFrame:
    channels = tuple(f"E{number}" for number in range(1 + N_COLUMNS // len(FEATURE_NAMES)))
    columns = columns_for(channels, FEATURE_NAMES)[:N_COLUMNS]
    powers = np.array([column.scale == "log10" for column in columns])
    table = FeatureTable(
        tuple(f"simulated {number}" for number in range(N_PEOPLE)), columns,
        np.where(powers, 10.0**rows, rows), np.full(N_PEOPLE, 60), np.full(N_PEOPLE, 61.0),
    )  # fmt: skip
    scaling = Scaling(columns, np.zeros(N_COLUMNS), np.ones(N_COLUMNS), "public", "simulated",
                      (False,) * N_COLUMNS)  # fmt: skip
    delta = 1e-5 if name == "gaussian" else 0.0
    mechanism = make_mechanism(MechanismSpec(name, epsilon, delta, 2.0, "l2", N_COLUMNS))
    assert isinstance(mechanism, AdditiveMechanism)
    channel = AdditiveChannel(mechanism)
    targets = make_targets(table, None, scaling, channel, Claim(epsilon, delta, "local"))
    attribute = Attribute("label", tuple(str(each) for each in labels.tolist()))
    return replace(AuditFrame(table, None, targets), attribute=attribute)


def target_of(frame: AuditFrame, case: str) -> Target:
    return frame.targets[1 if case == "unprotected" else 0]


def ours(frame: AuditFrame, target: Target) -> dict[str, Any]:
    return {
        name: plain(run(frame, target, EFFORT, None), figures)
        for name, (run, figures) in ATTACKS.items()
    }


def plain(result: AttackResult, names: tuple[str, ...]) -> dict[str, Any]:
    found = {each.name: each for each in result.figures if each.name in names}
    return {"verdict": result.verdict} | {
        name: {
            "value": round(each.value, 3),
            "interval": [round(each.low, 3), round(each.high, 3)],
            "control": None if each.control is None else round(each.control, 3),
        }
        for name, each in found.items()
    }


def strangers() -> tuple[dict[str, FloatArray], dict[str, Any]]:
    """Release other people's rows as they are: nobody of the table is in it."""
    rows, labels = people(SEED)
    others, other_labels = people(SEED + 1)
    half = N_PEOPLE // 2
    rates = [
        float((row_predicates(others[:half], 0.0).matches(side).sum(axis=0) == 1).mean())
        for side in (rows[:half], rows[half:])
    ]
    found = {"rate_rows": round(rates[0], 3), "control": round(rates[1], 3)}
    return halves(rows, labels, others[:half], other_labels), {"singling_out": found}


def halves(
    rows: FloatArray, labels: FloatArray, released: FloatArray, of: FloatArray | None = None
) -> dict[str, FloatArray]:
    """What anonymeter is given; released rows stand in random order, as in a release."""
    half = N_PEOPLE // 2
    order = np.random.default_rng(SEED).permutation(half)
    return {
        "original": rows[:half], "original_labels": labels[:half],
        "control": rows[half:], "control_labels": labels[half:],
        "released": released[order], "released_labels": (labels if of is None else of)[order],
    }  # fmt: skip


def case_of(case: str, name: str, epsilon: float) -> tuple[dict[str, FloatArray], dict[str, Any]]:
    rows, labels = people(SEED)
    frame = frame_of(rows, labels, name, epsilon)
    target = target_of(frame, case)
    candidates = target.candidates
    drawn = candidates.draw(np.arange(N_PEOPLE // 2), EFFORT.source("anonymeter"))
    released = target.row_channel.values(drawn)
    return halves(candidates.rows, labels, released), ours(frame, target)


def environment(folder: Path) -> tuple[Path | None, str]:
    """Make the environment where there is none; give its Python, or why there is none."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    asked = [str(python), "-m", "pip", "install", "--quiet", f"anonymeter=={VERSION}"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return None, lines[-1] if lines else "pip failed"
    return python, ""


def theirs(python: Path, arrays: dict[str, FloatArray]) -> dict[str, Any]:
    side = Path(__file__).with_name("anonymeter_side.py")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "case.npz"
        np.savez(file, **arrays)
        done = subprocess.run([str(python), str(side), str(file)], capture_output=True, text=True,
                              check=False)  # fmt: skip
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1]}
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def compare(folder: Path) -> dict[str, Any]:
    python, reason = environment(folder)
    document: dict[str, Any] = {
        "command": "python benchmarks/anonymeter_comparison.py --write",
        "people": N_PEOPLE, "released": N_PEOPLE // 2, "columns": N_COLUMNS,
        "anonymeter": VERSION if python else f"not installed: {reason}", "cases": {},
    }  # fmt: skip
    made = {case: (case, name, epsilon) for case, name, epsilon in CASES}
    for case in (*made, "other people"):
        print(f"{case} ...", file=sys.stderr)
        arrays, found = strangers() if case == "other people" else case_of(*made[case])
        entry = {"ours": found}
        if python:
            entry["anonymeter"] = theirs(python, arrays)
        document["cases"][case] = entry
    return document


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--environment", type=Path, help="folder of anonymeter's environment")
    parser.add_argument("--write", action="store_true", help="write into docs/measured")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        document = compare(arguments.environment or Path(temporary) / "environment")
    text = json.dumps(document, indent=2)
    print(text)
    if arguments.write:
        if document["anonymeter"] != VERSION:
            sys.exit("Nothing is written without anonymeter's side.")
        PLACE.write_text(text + "\n")


if __name__ == "__main__":
    main()
