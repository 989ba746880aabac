"""Where privacy may enter a federated training: balanced accuracy of each setting, at one epsilon.

Six hospitals with fifty made-up patients each, epsilon = 1, against training in one place without
protection; and a whole federation of twenty hospitals in Flower's simulation::

    python benchmarks/federated.py --json            # some minutes
    python benchmarks/federated.py --quick --json    # under a minute: fewer seeds, no simulation
    python benchmarks/federated.py --write           # into docs/measured

Patients are drawn from the public reference, their classes two standard deviations apart. Prints
one JSON object; intervals are 95 % over seeds, each with patients, noise and split of its own.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from neuroveil.deploy.federated.compare import Compared, compare_settings
from neuroveil.deploy.federated.plan import plan_from_study
from neuroveil.deploy.federated.simulate import Engine, simulate_federation
from neuroveil.pipeline.promise import planning_scaling
from neuroveil.study import Study, load_study

PLACE = Path(__file__).parents[1] / "docs" / "measured" / "federated.json"
EPSILONS, SEEDS, SEPARATION = (1.0, 5.0), 20, 2.0
QUICK_SEEDS = 3
SIMULATED = 20

_STUDY = """
[input]
folder = "none"
[privacy]
epsilon = {epsilon}
delta = 1e-5
[federation]
setting = "{setting}"
simulation = true
seed = 1
rounds = {rounds}
sampling_rate = {rate}
hospitals = [{hospitals}]
"""


def study(folder: Path, epsilon: float, n_hospitals: int, **changed: Any) -> Study:
    hospitals = ", ".join(f'{{name = "h{number}", patients = 50}}' for number in range(n_hospitals))
    settings = {"setting": "dp_sgd", "rounds": 4, "rate": 0.5} | changed
    text = _STUDY.format(epsilon=epsilon, hospitals=hospitals, **settings)
    (folder / "study.toml").write_text(text)
    return load_study(folder)


def settings_table(n_seeds: int) -> dict[str, Any]:
    table = {}
    for epsilon in EPSILONS:
        with tempfile.TemporaryDirectory() as place:
            asked = study(Path(place), epsilon, 6)
        rows: tuple[Compared, ...] = compare_settings(
            plan_from_study(asked), planning_scaling(asked), SEPARATION, n_seeds,
            lambda done, total, what: print(f"{what}: {done} of {total}", file=sys.stderr),
        )  # fmt: skip
        table[f"{epsilon:g}"] = [row.to_json() for row in rows]
    return table


def simulation(engine: Engine) -> dict[str, Any]:
    """Twenty hospitals in Flower's simulation, under masks."""
    with tempfile.TemporaryDirectory() as place:
        asked = study(Path(place), 1.0, SIMULATED, setting="distributed", rounds=3, rate=1.0)
        start = time.monotonic()
        result = simulate_federation(asked, audit=False, engine=engine).result
        seconds = time.monotonic() - start
    rounds, pooled = result.chain["rounds"], result.pooled
    assert pooled is not None
    assert pooled.balanced_accuracy is not None
    return {
        "engine": engine, "hospitals": SIMULATED, "patients": 50 * SIMULATED,
        "setting": "distributed",
        "epsilon": 1.0, "seconds": round(seconds, 1),
        "seconds_a_round": [each["seconds"] for each in rounds],
        "bytes_a_round": [each["bytes_sent"] + each["bytes_received"] for each in rounds],
        "hospitals_in": [len(each["hospitals_in"]) for each in rounds],
        "balanced_accuracy": pooled.to_json()["balanced_accuracy"],
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="accepted; output is JSON always")
    parser.add_argument("--quick", action="store_true", help="fewer seeds, no simulation")
    parser.add_argument("--write", action="store_true", help=f"write {PLACE.name}")
    parser.add_argument(
        "--engine", choices=["ray", "process"], default="ray", help="of the simulation"
    )
    options = parser.parse_args()
    root = Path(__file__).parents[1]
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=root, capture_output=True, text=True,
        check=False,
    ).stdout.strip()  # fmt: skip
    start = time.monotonic()
    n_seeds = QUICK_SEEDS if options.quick else SEEDS
    document = {
        "command": " ".join(["python", "benchmarks/federated.py", *sys.argv[1:]]),
        "commit": commit, "python": platform.python_version(), "hospitals": 6,
        "patients_a_hospital": 50, "seeds": n_seeds, "separation": SEPARATION,
        "settings": settings_table(n_seeds),
        "simulation": None if options.quick else simulation(options.engine),
        "seconds": round(time.monotonic() - start, 1),
    }  # fmt: skip
    text = json.dumps(document, indent=2)
    print(text)
    if options.write:
        PLACE.write_text(text + "\n")


if __name__ == "__main__":
    main()
