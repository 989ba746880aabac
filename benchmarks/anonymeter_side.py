"""Run anonymeter's three evaluators on one case; used by anonymeter_comparison.py.

This file runs in an environment of its own and imports nothing of neuroveil. It takes the path of
an ``.npz`` file with ``original``, ``control``, ``released`` and a label for each of their rows,
and prints one JSON object.
"""

from __future__ import annotations

import json
import random
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator

SECRET, SEED = "attribute", 1


def table(arrays: Any, name: str) -> pd.DataFrame:
    frame = pd.DataFrame(arrays[name], columns=[f"c{i}" for i in range(arrays[name].shape[1])])
    frame[SECRET] = np.where(arrays[f"{name}_labels"] == 1, "a", "b")
    return frame


def figures(evaluator: Any) -> dict[str, Any]:
    """Risk with and without the control, as the library defines them."""
    found = evaluator.results()
    rates = {
        name: round(float(getattr(found, f"{name}_rate").value), 3)
        for name in ("attack", "baseline", "control")
    }
    risk = evaluator.risk()
    return {
        "risk": round(float(risk.value), 3),
        "interval": [round(float(each), 3) for each in risk.ci],
        "rates": rates,
        "risk_against_baseline": round(float((found.attack_rate.value - found.baseline_rate.value)
                                             / max(1e-9, 1 - found.baseline_rate.value)), 3),
    }  # fmt: skip


def tried(run: Any) -> dict[str, Any]:
    try:
        return figures(run())
    except (RuntimeError, ValueError) as error:
        return {"failed": f"{type(error).__name__}: {error}"}


def evaluate(path: str) -> dict[str, Any]:
    arrays = np.load(path)
    original, control, released = (table(arrays, each) for each in ("original", "control",
                                                                    "released"))  # fmt: skip
    columns = [name for name in original.columns if name != SECRET]
    n = len(original)
    parts = [name.drop(columns=SECRET) for name in (original, released, control)]

    def singling_out(mode: str) -> Any:
        return SinglingOutEvaluator(
            *parts[:2], n_attacks=n, n_cols=3, control=parts[2], max_attempts=20_000, seed=SEED
        ).evaluate(mode=mode)

    def linkability() -> Any:
        return LinkabilityEvaluator(
            original, released, (columns[::2], columns[1::2]), n, 1, control
        ).evaluate(n_jobs=1)

    def inference() -> Any:
        return InferenceEvaluator(original, released, columns, SECRET, False, n, control).evaluate(
            n_jobs=1
        )

    return {
        "singling_out_univariate": tried(lambda: singling_out("univariate")),
        "singling_out_multivariate": tried(lambda: singling_out("multivariate")),
        "linkability": tried(linkability),
        "inference": tried(inference),
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.random.seed(SEED)  # the library draws from the global state
    random.seed(SEED)
    print(json.dumps(evaluate(sys.argv[1])))
