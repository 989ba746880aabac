"""How fast records are encoded, compared, and found among very many.

Two lists of made-up people, one in ten in both, written down with mistakes the second time.
Encodes 10,000 records; compares 10,000 x 10,000 encodings of 1024 bits three ways (ours, a
product of matrices, and one row at a time); and finds the same people in two long lists by
blocking, with the recall that was reached beside the one that was planned::

    python benchmarks/linkage.py               # 100,000 x 100,000, some minutes
    python benchmarks/linkage.py --million     # 1,000,000 x 1,000,000
    python benchmarks/linkage.py --quick       # 2,000 and 10,000, under a minute
    python benchmarks/linkage.py --json        # one object on stdout, for machines

``--folder`` keeps finished tables, so that an interrupted run goes on where it stopped. Seconds
are given by the clock and of processor time: on a busy machine the second is the one to compare.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from neuroveil.linkage.blocking import blocked_pairs, plan_blocking
from neuroveil.linkage.bloom import FieldKeys, encode_records
from neuroveil.linkage.dice import bit_counts, pairs_from
from neuroveil.linkage.schema import LinkageSchema
from neuroveil.linkage.thresholds import learn_thresholds
from neuroveil.simulate import simulate_patient_list, written_elsewhere
from neuroveil.study.validation import validated

FIELDS = [
    {"name": "given_name", "kind": "name", "typical_grams": 7.0},
    {"name": "surname", "kind": "name", "typical_grams": 8.0},
    {"name": "birth_date", "kind": "date", "weight": 1.5, "typical_grams": 9.0},
    {"name": "postcode", "kind": "postcode", "typical_grams": 5.0},
]
SCHEMA: LinkageSchema = validated(LinkageSchema, {"name": "benchmark", "field": FIELDS})
# No secret, so that a run that goes on makes the same encodings; nobody in the lists exists.
KEYS = FieldKeys({field.name: field.name.encode().ljust(32) for field in SCHEMA.field})
RECALL = 0.99


def timed(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Run something once; give its result and its seconds."""
    wall, processor = time.perf_counter(), time.process_time()
    result = work()
    seconds = {
        "wall": round(time.perf_counter() - wall, 2),
        "processor": round(time.process_time() - processor, 2),
    }
    return result, seconds


def two_lists(n_records: int, seed: int) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Two lists of the same length; the first tenth of both are the same people."""
    rng = np.random.default_rng(seed)
    left, right = (simulate_patient_list(n_records, rng) for _ in range(2))
    n_shared = n_records // 10
    again = written_elsewhere({name: values[:n_shared] for name, values in left.items()}, rng, 0.2)
    return left, {name: again[name] + values[n_shared:] for name, values in right.items()}


def encoded(people: dict[str, list[str]]) -> np.ndarray:
    """Encode one list."""
    return encode_records(people, SCHEMA, KEYS)


def by_matrices(left: np.ndarray, right: np.ndarray, lowest: float) -> int:
    """Count pairs by products of matrices of 32-bit floats, a stripe at a time."""
    unpacked = np.unpackbits(right, axis=1).T.astype(np.float32)
    counts = bit_counts(left), bit_counts(right)
    found = 0
    for start in range(0, len(left), 512):
        rows = np.unpackbits(left[start : start + 512], axis=1).astype(np.float32)
        sums = counts[0][start : start + 512, None] + counts[1][None, :]
        found += int((2 * (rows @ unpacked) >= (lowest - 1e-12) * sums).sum())
    return found


def row_by_row(left: np.ndarray, right: np.ndarray, lowest: float) -> int:
    """Count pairs in the simplest way that numpy has."""
    counts = bit_counts(right)
    found = 0
    for row in left:
        shared = np.bitwise_count(right & row).sum(axis=1, dtype=np.int64)
        found += int(
            (2 * shared >= (lowest - 1e-12) * (counts + np.bitwise_count(row).sum())).sum()
        )
    return found


def comparison(n_records: int) -> dict[str, Any]:
    """Encode and compare two lists completely, and learn a threshold."""
    lists = two_lists(n_records, 1)
    left, seconds = timed(lambda: encoded(lists[0]))
    right = encoded(lists[1])
    same = np.arange(n_records // 10)
    learned = learn_thresholds(left, right, (same, same), "benchmark")
    lowest = learned.section.threshold
    pairs, ours = timed(lambda: pairs_from(left, right, lowest))
    matrices, blas = timed(lambda: by_matrices(left, right, lowest))
    simple, naive = timed(lambda: row_by_row(left, right, lowest))
    assert len(pairs) == matrices == simple
    return {
        "records": n_records, "encode": seconds, "compare": ours,
        "compare_by_matrices": blas, "compare_row_by_row": naive, "pairs": len(pairs),
        "threshold": lowest, "f1": round(learned.accuracy.f1, 4),
    }  # fmt: skip


def blocking(n_records: int, lowest: float, folder: Path | None) -> dict[str, Any]:
    """Find the same people in two long lists."""
    lists = two_lists(n_records, 2)
    (left, right), encode = timed(lambda: tuple(map(encoded, lists)))
    plan, _ = timed(lambda: plan_blocking(left, right, lowest, RECALL))
    print(f"{plan.n_tables} tables of {plan.n_places} places", file=sys.stderr)

    def progress(done: int, total: int) -> None:
        print(f"\rtable {done} of {total}", end="", file=sys.stderr)

    pairs, seconds = timed(lambda: blocked_pairs(left, right, plan, folder, progress))
    print(file=sys.stderr)
    n_shared = n_records // 10
    counts = bit_counts(left[:n_shared]) + bit_counts(right[:n_shared])
    shared = np.bitwise_count(left[:n_shared] & right[:n_shared]).sum(axis=1, dtype=np.int64)
    alike = 2 * shared >= lowest * counts
    is_same = (pairs.left == pairs.right) & (pairs.left < n_shared)
    found = np.zeros(n_shared, dtype=bool)
    found[pairs.left[is_same]] = True
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {
        "records": n_records, "places": plan.n_places, "tables": plan.n_tables,
        "planned_recall": round(plan.recall, 4), "lowest": lowest,
        "reached_recall": round(float(found[alike].mean()), 4), "pairs": len(pairs),
        "encode_both": encode, "find": seconds, "peak_gib": round(peak, 2),
    }  # fmt: skip


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--million", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    compared = comparison(2_000 if options.quick else 10_000)
    n_records = 10_000 if options.quick else 1_000_000 if options.million else 100_000
    found = blocking(n_records, compared["threshold"], options.folder)
    result = {"cores": os.cpu_count(), "all_pairs": compared, "blocking": found}
    print(json.dumps(result, indent=None if options.json else 2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
