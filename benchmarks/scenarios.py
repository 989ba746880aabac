"""What a trusted server leaves more than hospitals that each protect at home, at the same epsilon.

Six hospitals with 50 patients each, the same 300 made-up people for every way, 19 channels and
ten features. Each way is the one that the planner chooses within its trust model, and noise is
drawn anew 60 times, on the same people::

    python benchmarks/scenarios.py            # prints a table; some minutes
    python benchmarks/scenarios.py --quick    # under a minute, fewer draws and epsilons
    python benchmarks/scenarios.py --write    # into docs/measured/scenarios.json

For ways that release rows: how well estimated rows correlate with each patient's own clipped
row. For ways that release mean and covariance: how well the covariance that a reader can work
out correlates with that of the 300 people. The two are about different things.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from neuroveil.evaluate.draws import simulated_draw
from neuroveil.evaluate.intervals import estimate
from neuroveil.privacy import ProtectSettings
from neuroveil.privacy.central.covariance import estimate_covariance
from neuroveil.privacy.central.plan import plan_moments
from neuroveil.privacy.choice import RowWishes, choose_rows
from neuroveil.privacy.plan import plan_rows
from neuroveil.privacy.randomness import SimulationRandomness
from neuroveil.privacy.settings import MEAN_COVARIANCE
from neuroveil.reference import default_reference
from neuroveil.simulate import simulate_rows
from neuroveil.study.promise import largest_delta
from neuroveil.types.catalogue import STANDARD_CHANNELS, columns_for
from neuroveil.types.recording import FloatArray
from neuroveil.types.scaling import Scaling

N_HOSPITALS, N_EACH, CLIP_NORM, SEED = 6, 50, 2.0, 8
N_ALL = N_HOSPITALS * N_EACH
EPSILONS = (1.0, 2.0, 4.0)
PLACE = Path(__file__).parents[1] / "docs" / "measured" / "scenarios.json"


def row_settings(trust: str, epsilon: float, n: int, scaling: Scaling) -> ProtectSettings:
    """The planner's choice of rows in a trust model, for a table of n rows."""
    wishes = RowWishes("auto", epsilon, largest_delta(n), CLIP_NORM, trust_model=trust)  # type: ignore[arg-type]
    choice = choose_rows(wishes, scaling, n)
    return ProtectSettings(
        choice.mechanism, epsilon, choice.delta, CLIP_NORM, trust_model=trust,  # type: ignore[arg-type]
        projection=choice.projection, codebook=choice.codebook,
    )  # fmt: skip


def row_draws(
    tables: list[FloatArray], settings: ProtectSettings, scaling: Scaling, n_draws: int
) -> Iterator[FloatArray]:
    """Each table protected on its own; all of them put together by the reader."""
    plans = [plan_rows(settings, scaling, len(table)) for table in tables]
    source = SimulationRandomness(SEED)
    bound = [plan.bound(table) for plan, table in zip(plans, tables, strict=True)]
    for _ in range(n_draws):
        yield np.concatenate([
            plan.estimates(simulated_draw(plan.mechanism, rows, source))[0]
            for plan, rows in zip(plans, bound, strict=True)
        ])  # fmt: skip


def moment_draws(tables: list[FloatArray], epsilon: float, n_draws: int) -> Iterator[FloatArray]:
    """Mean and covariance of each table; the reader pools them."""
    source = SimulationRandomness(SEED)
    plans = []
    for table in tables:
        settings = ProtectSettings(
            MEAN_COVARIANCE, epsilon, largest_delta(len(table)), CLIP_NORM, trust_model="central"
        )
        plans.append(plan_moments(settings, table.shape[1], len(table)))
    bound = [plan.mechanism.bound(table) for plan, table in zip(plans, tables, strict=True)]
    for _ in range(n_draws):
        found = [
            estimate_covariance(plan.mechanism.apply(rows, plan.mechanism.draw(source)))
            for plan, rows in zip(plans, bound, strict=True)
        ]
        means = np.array([each.mean for each in found])
        within = np.mean([each.covariance for each in found], axis=0)
        yield within + np.cov(means.T, bias=True) if len(found) > 1 else within


def measured(draws: Iterator[FloatArray], truth: FloatArray) -> dict[str, float]:
    """Mean correlation over draws with its 95 % interval."""
    true = _entries(truth)
    values = [np.corrcoef(_entries(each), true)[0, 1] for each in draws]
    found = estimate(np.array(values))
    assert found is not None
    return {"mean": found.mean, "low": found.low, "high": found.high}


def _entries(array: FloatArray) -> FloatArray:
    """All cells of a table; of a covariance, each entry once."""
    is_square = array.shape[0] == array.shape[1]
    return array[np.triu_indices(len(array))] if is_square else array.ravel()


def ways(epsilon: float, scaling: Scaling, rows: FloatArray, n_draws: int) -> dict[str, Any]:
    """Every way of protecting the same people at one epsilon."""
    homes, together = list(np.split(rows, N_HOSPITALS)), [rows]
    local = row_settings("local", epsilon, N_EACH, scaling)
    home = row_settings("shuffled", epsilon, N_EACH, scaling)
    server = row_settings("shuffled", epsilon, N_ALL, scaling)
    rows_drawn = {
        "at home, each row on its own": row_draws(homes, local, scaling, n_draws),
        "at home, shuffled by the hospital": row_draws(homes, home, scaling, n_draws),
        "server, each row on its own": row_draws(together, local, scaling, n_draws),
        "server, shuffled": row_draws(together, server, scaling, n_draws),
    }
    moments = {
        "at home, of each hospital": moment_draws(homes, epsilon, n_draws),
        "server, of all": moment_draws(together, epsilon, n_draws),
    }
    clipped = plan_rows(replace(local, projection=None), scaling, N_ALL).clipped(rows)
    covariance = np.cov(clipped.T, bias=True)
    return {
        "rows": {name: measured(each, clipped) for name, each in rows_drawn.items()},
        "mean and covariance": {
            name: measured(each, covariance) for name, each in moments.items()
        },
    }  # fmt: skip


def main() -> None:
    """Measure, and print or write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one object on stdout")
    parser.add_argument("--quick", action="store_true", help="under a minute")
    parser.add_argument("--write", action="store_true", help=f"into {PLACE.name}")
    options = parser.parse_args()
    reference = default_reference("harmonised")
    columns = columns_for(STANDARD_CHANNELS, reference.features)
    scaling = reference.scaling_for(columns)
    rows = np.asarray(simulate_rows(N_ALL, scaling, SEED))
    n_draws, epsilons = (8, (1.0,)) if options.quick else (60, EPSILONS)
    results = {f"{each:g}": ways(each, scaling, rows, n_draws) for each in epsilons}
    document = {
        "command": "python benchmarks/scenarios.py --write",
        "commit": subprocess.run(
            ["git", "rev-parse", "HEAD"], check=True, capture_output=True, text=True
        ).stdout.strip(),
        "n_hospitals": N_HOSPITALS, "n_patients": N_ALL, "n_columns": len(columns),
        "clip_norm": CLIP_NORM, "delta": largest_delta(N_ALL), "n_draws": n_draws, "seed": SEED,
        "by_epsilon": results,
    }  # fmt: skip
    if options.write:
        PLACE.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if options.json:
        json.dump(document, sys.stdout)
        return
    for epsilon, found in results.items():
        for what, by_way in found.items():
            for name, figure in by_way.items():
                interval = f"[{figure['low']:.3f}, {figure['high']:.3f}]"
                print(f"epsilon {epsilon:4} {what:20} {name:36} {figure['mean']:.3f} {interval}")


if __name__ == "__main__":
    main()
