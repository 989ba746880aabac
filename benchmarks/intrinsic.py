"""How long intrinsic figures take: 20 draws, six epsilons, every mechanism, without reading EEG.

Rows of 363 columns are drawn from a public power-law spectrum, at n = 17, 200 and 2000. Every
release that ``neuroveil plan`` lists for rows is measured, the ones in public components and the
shuffled ones included; choosing and calibrating them is timed apart from the draws. Settings are
spread over as many processes as asked for::

    python benchmarks/intrinsic.py                   # n = 17 on two processes
    python benchmarks/intrinsic.py --n 17 200 2000   # minutes
    python benchmarks/intrinsic.py --quick           # n = 17, two epsilons
    python benchmarks/intrinsic.py --json            # one object on stdout

The share of draws that is made without a codebook is printed too; see
``neuroveil.evaluate.draws``.
"""

from __future__ import annotations

import argparse
import functools
import json
import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from neuroveil.evaluate import intrinsic_utility
from neuroveil.evaluate.draws import makes_codebook
from neuroveil.evaluate.planning import PlanQuestion
from neuroveil.evaluate.planning.options import Option, offered_options
from neuroveil.pipeline.planning import PLANNED_EPSILONS, Size, public_scaling
from neuroveil.privacy.mechanisms.privunit import PrivUnit
from neuroveil.privacy.plan import plan_rows
from neuroveil.simulate import simulate_rows

N_DRAWS, DECAY, DELTA = 20, 1.5, 1e-5
SEED = 1


@functools.lru_cache(maxsize=1)
def question(n_patients: int) -> PlanQuestion:
    """33 channels x 11 features under a power-law spectrum, as in the paper's size."""
    scaling = public_scaling(Size(33, 11), None, DECAY)
    return PlanQuestion(scaling, n_patients, PLANNED_EPSILONS, DELTA, trust_model="shuffled")


def measured(task: tuple[int, float, Option]) -> dict[str, Any]:
    """Plan and measure one release."""
    n_patients, epsilon, option = task
    asked = question(n_patients)
    start = time.perf_counter()
    plan = plan_rows(option.settings(asked, epsilon), asked.scaling, n_patients)
    planned = time.perf_counter()
    rows = simulate_rows(n_patients, asked.scaling, SEED)
    result = intrinsic_utility(rows, plan, asked.scaling, n_draws=N_DRAWS, seed=SEED)
    mechanism, made = plan.mechanism, True
    if isinstance(mechanism, PrivUnit):
        made = makes_codebook(mechanism.design, n_patients)
    correlation = result.overall.against_clipped.correlation
    return {
        "n": n_patients, "epsilon": epsilon, "release": option.label(plan.spec.dimension),
        "correlation": None if correlation is None else round(correlation.mean, 4),
        "planning_seconds": round(planned - start, 3),
        "draw_seconds": round(time.perf_counter() - planned, 3),
        "codebooks_made": made,
    }  # fmt: skip


def run(n_patients: int, epsilons: tuple[float, ...], workers: int) -> dict[str, Any]:
    """Measure every release at every epsilon, the slowest first."""
    options = offered_options(question(n_patients))
    tasks = [(n_patients, epsilon, option) for epsilon in reversed(epsilons) for option in options]
    start = time.perf_counter()
    with ProcessPoolExecutor(workers) as pool:
        rows = []
        for row in pool.map(measured, tasks):
            rows.append(row)
            print(f"n = {n_patients}: {len(rows)} of {len(tasks)}", file=sys.stderr)
    seconds = time.perf_counter() - start
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"n = {n_patients}: {seconds:.1f} s", file=sys.stderr)
    return {
        "n": n_patients, "draws": N_DRAWS, "epsilons": list(epsilons), "releases": len(options),
        "workers": workers, "seconds": round(seconds, 1),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        "planning_seconds": round(sum(row["planning_seconds"] for row in rows), 1),
        "draw_seconds": round(sum(row["draw_seconds"] for row in rows), 1),
        "rows": rows,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, nargs="+", default=[17])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="n = 17, two epsilons")
    parser.add_argument("--json", action="store_true", help="one object on stdout")
    options = parser.parse_args()
    epsilons = (1.0, 20.0) if options.quick else PLANNED_EPSILONS
    runs = [run(n, epsilons, options.workers) for n in ([17] if options.quick else options.n)]
    if options.json:
        print(json.dumps({"command": " ".join(sys.argv), "runs": runs}))
        return
    for result in runs:
        for row in result["rows"]:
            print(f"{row['epsilon']:5g}  {row['release']:48}  {row['correlation']:7}  "
                  f"{row['planning_seconds']:7.2f} s planning  {row['draw_seconds']:7.2f} s draws"
                  f"{'' if row['codebooks_made'] else '  (no codebooks)'}")  # fmt: skip
        print(f"n = {result['n']}: {result['seconds']} s on {result['workers']} processes, "
              f"{result['cpu_seconds']} s of CPU time so far")  # fmt: skip


if __name__ == "__main__":
    main()
