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

For classifiers: balanced accuracy on 2000 new people, of classes two public standard deviations
apart. Each draw has people and noise of its own; every way trains on the same people.
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

from neuroveil.deploy.federated.central import central_plan
from neuroveil.deploy.federated.cohort import Roster, made_up
from neuroveil.deploy.federated.direct import train_directly
from neuroveil.deploy.federated.figures import judged
from neuroveil.deploy.federated.hospital import Part
from neuroveil.deploy.federated.inputs import model_inputs
from neuroveil.deploy.federated.local import judge
from neuroveil.deploy.federated.models import Arrays
from neuroveil.deploy.federated.plan import FederationPlan
from neuroveil.deploy.federated.specs import Seat
from neuroveil.evaluate.draws import simulated_draw
from neuroveil.evaluate.intervals import estimate
from neuroveil.privacy import ProtectSettings
from neuroveil.privacy.central.covariance import estimate_covariance
from neuroveil.privacy.central.plan import plan_moments
from neuroveil.privacy.choice import RowWishes, choose_rows
from neuroveil.privacy.plan import plan_rows
from neuroveil.privacy.randomness import SimulationRandomness
from neuroveil.privacy.settings import MEAN_COVARIANCE, TrustModel
from neuroveil.reference import default_reference
from neuroveil.simulate import simulate_rows
from neuroveil.study.promise import largest_delta
from neuroveil.types.catalogue import STANDARD_CHANNELS, columns_for
from neuroveil.types.recording import FloatArray
from neuroveil.types.scaling import Scaling

N_HOSPITALS, N_EACH, CLIP_NORM, SEED = 6, 50, 2.0, 8
N_ALL = N_HOSPITALS * N_EACH
SEPARATION, N_NEW = 2.0, 2000
EPSILONS = (1.0, 2.0, 4.0)
PLACE = Path(__file__).parents[1] / "docs" / "measured" / "scenarios.json"


def row_settings(trust: TrustModel, epsilon: float, n: int, scaling: Scaling) -> ProtectSettings:
    """The planner's choice of rows in a trust model, for a table of n rows."""
    wishes = RowWishes("auto", epsilon, largest_delta(n), CLIP_NORM, trust_model=trust)
    choice = choose_rows(wishes, scaling, n)
    return ProtectSettings(
        choice.mechanism, epsilon, choice.delta, CLIP_NORM, trust_model=trust,
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
    return interval(np.array(values))


def interval(values: FloatArray) -> dict[str, float]:
    """Mean over draws with its 95 % interval."""
    found = estimate(values)
    assert found is not None
    return {"mean": found.mean, "low": found.low, "high": found.high}


def _entries(array: FloatArray) -> FloatArray:
    """All cells of a table; of a covariance, each entry once."""
    is_square = array.shape[0] == array.shape[1]
    return array[np.triu_indices(len(array))] if is_square else array.ravel()


def trained(plan: FederationPlan, people: list[Roster], scaling: Scaling) -> Arrays:
    """A model by the plan, of one group of people for each of its seats."""
    parts = {
        seat.name: Part(model_inputs(each.rows, scaling, plan.inputs), each.labels)
        for seat, each in zip(plan.seats, people, strict=True)
    }
    return train_directly(plan, parts)


def accuracy(plan: FederationPlan, arrays: Arrays, new: Roster, scaling: Scaling) -> float:
    """Balanced accuracy on people who did not train."""
    calls = judge(plan, arrays, Part(model_inputs(new.rows, scaling, plan.inputs), new.labels))
    found = judged(calls.positive, calls.negative, calls.loss).balanced_accuracy
    assert found is not None
    return found.mean


def training_plans(epsilon: float, scaling: Scaling) -> dict[str, FederationPlan]:
    """By one hospital alone, by all that share updates only, and by a server with all rows.

    All see the public components that one hospital alone would choose, so that they differ in
    where noise enters and in nothing else; the server's own choice stands beside it.
    """
    home, chosen = (
        central_plan(scaling, n, epsilon, largest_delta(N_ALL), "linked_pool")
        for n in (N_EACH, N_ALL)
    )
    server = replace(chosen, inputs=home.inputs, privacy=home.privacy)
    apart = replace(
        server, seats=tuple(Seat(f"h{number}", N_EACH) for number in range(N_HOSPITALS)),
        privacy=replace(server.privacy, setting="dp_sgd"), duplicates="apart", minimum_hospitals=3,
    )  # fmt: skip
    return {"home": home, "apart": apart, "server": server, "chosen": chosen}


def training(epsilon: float, scaling: Scaling, n_draws: int) -> dict[str, dict[str, float]]:
    """Classifiers that are trained in every way on the same people, at one epsilon."""
    plans = training_plans(epsilon, scaling)
    scores: dict[str, list[float]] = {}
    for draw in range(n_draws):
        for name, value in one_draw(plans, scaling, draw).items():
            scores.setdefault(name, []).append(value)
    return {name: interval(np.array(values)) for name, values in scores.items()}


def one_draw(plans: dict[str, FederationPlan], scaling: Scaling, draw: int) -> dict[str, float]:
    """Balanced accuracy of every way, with people and noise of this draw."""
    groups = [made_up(scaling, N_EACH, SEPARATION, (draw, n)) for n in range(N_HOSPITALS)]
    new = made_up(scaling, N_NEW, SEPARATION, (draw, N_HOSPITALS))
    everybody = Roster(*(
        np.concatenate([getattr(group, field) for group in groups])
        for field in ("rows", "labels", "known")
    ))  # fmt: skip
    seeds = range(draw * (N_HOSPITALS + 1), (draw + 1) * (N_HOSPITALS + 1))
    home, apart, server, chosen = (
        replace(plans[each], simulation=True, seed=seeds[-1])
        for each in ("home", "apart", "server", "chosen")
    )
    alone = [
        trained(replace(home, seed=seed), [group], scaling)
        for seed, group in zip(seeds, groups, strict=False)  # the last seed is everybody's
    ]
    averaged = {name: np.mean([each[name] for each in alone], axis=0) for name in alone[0]}
    each_alone = [accuracy(home, each, new, scaling) for each in alone]
    return {
        "at home, a model of each hospital": float(np.mean(each_alone)),
        "at home, the mean of these models": accuracy(home, averaged, new, scaling),
        "federated, noise at every hospital": accuracy(
            apart, trained(apart, groups, scaling), new, scaling
        ),
        "server, of all": accuracy(server, trained(server, [everybody], scaling), new, scaling),
        "server, with its own choice of components": accuracy(
            chosen, trained(chosen, [everybody], scaling), new, scaling
        ),
    }


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
    classifiers = {f"{each:g}": training(each, scaling, n_draws) for each in epsilons}
    document = {
        "command": "python benchmarks/scenarios.py --write",
        "commit": subprocess.run(
            ["git", "rev-parse", "HEAD"], check=True, capture_output=True, text=True
        ).stdout.strip(),
        "n_hospitals": N_HOSPITALS, "n_patients": N_ALL, "n_columns": len(columns),
        "clip_norm": CLIP_NORM, "delta": largest_delta(N_ALL), "n_draws": n_draws, "seed": SEED,
        "by_epsilon": results, "separation": SEPARATION, "n_new": N_NEW, "training": classifiers,
    }  # fmt: skip
    if options.write:
        PLACE.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if options.json:
        json.dump(document, sys.stdout)
        return
    for epsilon, found in results.items():
        for what, by_way in {**found, "classifier": classifiers[epsilon]}.items():
            for name, figure in by_way.items():
                between = f"[{figure['low']:.3f}, {figure['high']:.3f}]"
                print(f"epsilon {epsilon:4} {what:20} {name:36} {figure['mean']:.3f} {between}")


if __name__ == "__main__":
    main()
