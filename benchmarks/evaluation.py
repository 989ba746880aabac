"""How long the whole evaluation takes: classifiers on every way of sharing, and error figures.

For simulated rows with the public covariance of the built-in reference and a class difference,
17, 200 and 2000 patients::

    python benchmarks/evaluation.py            # about half an hour on two cores
    python benchmarks/evaluation.py --quick    # 17 patients, two rounds, under a minute
    python benchmarks/evaluation.py --json     # one object on stdout, for machines

The peer is the check as the paper did it: leave one out with a multilayer perceptron, for as many
tables and rounds, without controls and other classifiers. A few of its folds are timed, from which
the time of a round follows, since every fold takes as long as any other.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from neuroveil.evaluate import intrinsic_utility
from neuroveil.evaluate.downstream.models import MODELS, multilayer_perceptron
from neuroveil.evaluate.downstream.units import Cohort
from neuroveil.evaluate.downstream.ways import RowWay
from neuroveil.pipeline.evaluation import (
    Prepared,
    plan_evaluation,
    run_evaluation,
)
from neuroveil.pipeline.evaluation_wishes import EvaluationWishes
from neuroveil.privacy.mechanisms.contract import MechanismSpec
from neuroveil.privacy.mechanisms.registry import make_mechanism
from neuroveil.reference import default_reference
from neuroveil.simulate import simulate_rows
from neuroveil.study import study_for_bids
from neuroveil.types.catalogue import FEATURE_NAMES, STANDARD_CHANNELS, columns_for
from neuroveil.types.scaling import Scaling
from neuroveil.types.sharing import LabelCounts

SIZES = (17, 200, 2000)
EPSILON = 5.0
POSITIVE_SHARE = 5 / 17
EFFECT = 0.5
SHIFTED_COMPONENTS = 10
INTRINSIC_EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
TIMED_FOLDS = 4


def scaling() -> Scaling:
    """Public constants without high gamma, as behind a 45 Hz filter."""
    names = tuple(name for name in FEATURE_NAMES if name != "high_gamma_power")
    return default_reference("harmonised").scaling_for(columns_for(STANDARD_CHANNELS, names))


def cohort(n_patients: int, constants: Scaling, seed: int = 1) -> Cohort:
    """Rows of people who do not exist, with a class difference along public components."""
    generator = np.random.default_rng(seed)
    rows = simulate_rows(n_patients, constants, seed)
    labels = np.zeros(n_patients, dtype=bool)
    labels[: max(2, round(POSITIVE_SHARE * n_patients))] = True
    values, vectors = np.linalg.eigh(constants.covariance)
    largest = slice(-1, -1 - SHIFTED_COMPONENTS, -1)
    signs = generator.choice([-1.0, 1.0], SHIFTED_COMPONENTS)
    rows[labels] += EFFECT * vectors[:, largest] @ (signs * np.sqrt(values[largest]))
    return Cohort(rows, labels, constants)


def evaluate(people: Cohort, wishes: EvaluationWishes, n_workers: int) -> dict[str, Any]:
    """Run the whole comparison from nothing, then once more from what was kept."""
    n = people.labels.size
    with tempfile.TemporaryDirectory() as folder:
        study = study_for_bids(Path(folder), Path(folder) / "out", {"privacy.epsilon": EPSILON})
        start = time.monotonic()
        promise, ways, units = plan_evaluation(study, n, people.scaling, wishes)
        counts = LabelCounts("label", "simulated", int(people.labels.sum()),
                             int((~people.labels).sum()), 0)  # fmt: skip
        prepared = Prepared(people, counts, promise, ways, units)
        seconds, spent = [], cpu_seconds()
        table = run_evaluation(study, prepared, n_workers)
        seconds.append(time.monotonic() - start)
        spent = cpu_seconds() - spent
        start = time.monotonic()
        run_evaluation(study, prepared, n_workers)
        seconds.append(time.monotonic() - start)
    n_tables = sum(isinstance(way, RowWay) for way in ways)
    peer = leave_one_out_seconds(people)
    return {
        "n_patients": n,
        "n_features": people.rows.shape[1],
        "epsilon": EPSILON,
        "n_workers": n_workers,
        "rounds": table.n_rounds,
        "units_of_work": len(units),
        "seconds": round(seconds[0], 1),
        "cpu_seconds": round(spent, 1),
        "seconds_when_resumed": round(seconds[1], 2),
        "peak_megabytes": round(peak_megabytes(), 1),
        "peer_cpu_seconds": round(peer * n_tables * table.n_rounds, 1),
        "peer_folds_timed": TIMED_FOLDS,
        "verdict": table.verdict,
        "auc": {
            result.way.key: {
                "model": result.model,
                "mean": round(result.new_people.performance.auc.mean, 3),
                "low": round(result.new_people.performance.auc.low, 3),
                "high": round(result.new_people.performance.auc.high, 3),
                "control": round(result.new_people.control.auc.mean, 3),
            }
            for result in table.ranked
        },
    }


def leave_one_out_seconds(people: Cohort) -> float:
    """Seconds of one round of the paper's check on one table, from the median fold."""
    n, folds = people.labels.size, []
    for left_out in np.linspace(0, n - 1, TIMED_FOLDS).astype(int):
        others = np.arange(n) != left_out
        start = time.process_time()
        multilayer_perceptron(people.rows[others], people.labels[others], 0)
        folds.append(time.process_time() - start)
    return statistics.median(folds) * n


def intrinsic(constants: Scaling, epsilons: tuple[float, ...]) -> dict[str, Any]:
    """Time error figures of every mechanism: 20 draws at n = 17 for each epsilon."""
    rows, d = simulate_rows(17, constants, 2), len(constants.columns)
    start = time.monotonic()
    for name in ("gaussian", "privunit", "laplace", "paper_laplace"):
        for epsilon in epsilons:
            delta = 1e-5 if name == "gaussian" else 0.0
            mechanism = make_mechanism(MechanismSpec(name, epsilon, delta, 2.0, "l2", d))
            intrinsic_utility(rows, mechanism, constants, n_draws=20)
    return {"epsilons": list(epsilons), "n_draws": 20, "n_patients": 17,
            "seconds": round(time.monotonic() - start, 1)}  # fmt: skip


def cpu_seconds() -> float:
    """Processor time of this process and of its finished children."""
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in usage)


def peak_megabytes() -> float:
    """Largest memory of one process so far."""
    return max(
        resource.getrusage(who).ru_maxrss
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    ) / (1 << 10)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one object on stdout")
    parser.add_argument("--quick", action="store_true", help="17 patients only, under a minute")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of patients")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    constants = scaling()
    wishes = EvaluationWishes(
        models=("logistic", "noise_aware") if options.quick else tuple(MODELS),
        n_rounds=2 if options.quick else None,
    )
    results = []
    for n in (17,) if options.quick else options.sizes:
        results.append(evaluate(cohort(n, constants), wishes, options.workers))
        print(f"n = {n}: {results[-1]['seconds']} s", file=sys.stderr, flush=True)
    epsilons = (1.0,) if options.quick else INTRINSIC_EPSILONS
    document = {"evaluation": results, "intrinsic": intrinsic(constants, epsilons)}
    if options.json:
        print(json.dumps(document, ensure_ascii=False, indent=1))
        return 0
    for each in results:
        print(
            f"n = {each['n_patients']}: {each['seconds']} s on {each['n_workers']} cores "
            f"({each['cpu_seconds']} s of processor time, {each['units_of_work']} units), again "
            f"{each['seconds_when_resumed']} s; leave-one-out as in the paper "
            f"{each['peer_cpu_seconds']} s of processor time. {each['verdict']}"
        )
    print(f"Error figures of all mechanisms: {document['intrinsic']['seconds']} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
