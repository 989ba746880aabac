"""Counts of randomised labels: honest ones raise no alarm, impossible ones do."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuroveil.privacy.verify.document import read_certificate
from neuroveil.privacy.verify.label_counts import FALSE_ALARM, check_label_counts, is_possible


def drawn(truth: list[int], epsilon: float, k: int, generator: Any) -> Counter[str]:
    """k-ary randomised response, by its definition."""
    keep = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
    kept = generator.random(len(truth)) < keep
    others = generator.integers(1, k, len(truth))
    values = np.where(kept, truth, (np.array(truth) + others) % k)
    return Counter(str(value) for value in values)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 2.0, 8.0])
@pytest.mark.parametrize("k", [2, 3, 12])
@pytest.mark.parametrize("n", [1, 17, 300])
def test_honest_labels_raise_no_alarm(epsilon: float, k: int, n: int) -> None:
    """100 seeds and three kinds of cohorts each; an alarm at 1e-7 would be a defect."""
    for seed in range(100):
        generator = np.random.default_rng(seed)
        for truth in ([0] * n, list(range(k)) * (n // k + 1), [seed % k] * (n - 1) + [0]):
            count = drawn(truth[:n], epsilon, k, generator)
            assert is_possible(count, epsilon, k, FALSE_ALARM)


@pytest.mark.parametrize(
    ("count", "epsilon", "k"),
    [
        ({"a": 60}, 0.1, 2),                    # 60 times the same at one in two: 2^-60
        ({"a": 180, "b": 20}, 0.5, 2),          # at most 62 % are possible
        ({"a": 150, "b": 150}, 0.1, 3),         # a third category that never came up
        ({"a": 2000, "b": 500, "c": 500}, 0.3, 3),
    ],
)  # fmt: skip
def test_labels_that_the_stated_epsilon_cannot_give(
    count: dict[str, int], epsilon: float, k: int
) -> None:
    assert not is_possible(Counter(count), epsilon, k, FALSE_ALARM)
    assert is_possible(Counter(count), 20.0, k, FALSE_ALARM)


@pytest.mark.parametrize("epsilon", [1e-12, 1e6])
@pytest.mark.parametrize("k", [2, 10**9])
def test_extreme_claims_do_not_crash(epsilon: float, k: int) -> None:
    assert isinstance(is_possible(Counter(a=5, b=1), epsilon, k, FALSE_ALARM), bool)


def test_table_of_a_certificate(workshop: Any, tmp_path: Path) -> None:
    """The check itself: unprotected labels sold as protected are found where they are uneven."""
    label = {"name": "sex", "policy": "randomised_response", "n_categories": 2, "epsilon": 0.1}
    document = workshop.certificate(labels=[label], n=80)
    (tmp_path / "certificate.json").write_bytes(workshop.canonical(document))
    statement = read_certificate(tmp_path / "certificate.json")
    for values, outcome in ((["f", "m"] * 40, "holds"), (["f"] * 78 + ["m"] * 2, "broken")):
        lines = ["x,sex", *(f"0.5,{value}" for value in values)]
        (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
        (check,) = check_label_counts(statement, tmp_path / "table.csv", ["x", "sex"])
        assert (check.id, check.outcome) == ("release.labels", outcome)
    (check,) = check_label_counts(statement, tmp_path / "table.csv", ["x", "y"])
    assert check.outcome == "broken"


def test_nothing_to_check_without_labels(workshop: Any, tmp_path: Path) -> None:
    (tmp_path / "certificate.json").write_bytes(workshop.canonical(workshop.certificate()))
    statement = read_certificate(tmp_path / "certificate.json")
    assert list(check_label_counts(statement, tmp_path / "table.csv", [])) == []
