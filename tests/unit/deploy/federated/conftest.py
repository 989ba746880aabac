"""Hospitals of made-up numbers, and runs of them in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuroveil.deploy.federated.hospital import Part, write_hospital
from neuroveil.deploy.federated.plan import FederationPlan, write_plan
from neuroveil.deploy.federated.specs import (
    InputSpec,
    ModelSpec,
    PrivacyTerms,
    Seat,
    TrainingSpec,
)

SIZES = (12, 7, 20, 9, 15)
K = 3


@pytest.fixture
def make_plan() -> Callable[..., FederationPlan]:
    """Makes a plan of five hospitals; settings of its parts by name."""

    def make(setting: str = "none", **changed: Any) -> FederationPlan:
        parts = {
            "training": TrainingSpec(rounds=2, penalty=0.01),
            "privacy": PrivacyTerms(setting, 1.0, 1e-5, gradient_norm=1.0),
            "model": ModelSpec("logistic", 4),
        }
        own: dict[str, Any] = {}
        for name, value in changed.items():
            owner = next((part for part in parts if name in parts[part].__dataclass_fields__), None)
            if owner is None:
                own[name] = value
            else:
                parts[owner] = replace(parts[owner], **{name: value})
        sizes = own.pop("sizes", SIZES)
        return FederationPlan(
            seats=tuple(Seat(f"h{number}", n) for number, n in enumerate(sizes)),
            inputs=own.pop("inputs", InputSpec("sha256:columns", "reference", K)),
            minimum_hospitals=own.pop("minimum_hospitals", 3),
            **{"simulation": True, "seed": 7, "enrol_seconds": 0.01, **parts, **own},
        )

    return make


def part_of(n: int, seed: int) -> Part:
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 2 == 0
    inputs = rng.standard_normal((n, K)) + labels[:, None]
    return Part(inputs / np.maximum(1, np.linalg.norm(inputs, axis=1) / K**0.5)[:, None], labels)


@pytest.fixture
def make_parts() -> Callable[[FederationPlan], dict[str, Part]]:
    """Makes the training rows of every hospital of a plan."""

    def make(plan: FederationPlan) -> dict[str, Part]:
        return {seat.name: part_of(seat.n_patients, i) for i, seat in enumerate(plan.seats)}

    return make


@pytest.fixture
def make_folders(tmp_path: Path, make_parts) -> Callable[..., tuple[Path, dict[str, Path]]]:
    """Writes the coordinator's folder and one for each hospital."""

    def make(plan: FederationPlan, place: str = "run") -> tuple[Path, dict[str, Path]]:
        root = tmp_path / place
        coordinator = root / "coordinator"
        coordinator.mkdir(parents=True)
        write_plan(plan, coordinator)
        hospitals = {}
        for name, train in make_parts(plan).items():
            parts = {"train": train}
            if plan.training.test_share:
                parts["test"] = part_of(10, len(hospitals) + 100)
            if plan.training.stopping == "validation":
                parts["validation"] = part_of(6, len(hospitals) + 200)
                parts["train"] = Part(train.inputs[6:], train.labels[6:])
            folder = root / name
            write_hospital(folder, plan, name, parts, {"simulation": True})
            hospitals[name] = folder
        return coordinator, hospitals

    return make
