"""A plan, a hospital that answers for it, and the folders of a coordinator and a node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuroveil.deploy.federated.hospital import Part, write_hospital
from neuroveil.deploy.federated.operate.coordinator import CoordinatorFolder, create_coordinator
from neuroveil.deploy.federated.operate.hospital import HospitalFolder, create_hospital
from neuroveil.deploy.federated.plan import (
    FederationPlan,
    InputSpec,
    ModelSpec,
    PrivacyTerms,
    Seat,
    TrainingSpec,
)

N_PATIENTS = 30


@pytest.fixture(scope="session")
def plan() -> FederationPlan:
    return FederationPlan(
        seats=tuple(Seat(name, N_PATIENTS) for name in ("North", "South", "West")),
        inputs=InputSpec("sha256:" + "0" * 64, "none", 3),
        model=ModelSpec("logistic", 4),
        training=TrainingSpec(rounds=2),
        privacy=PrivacyTerms("dp_sgd", 1.0, 1e-5, 1.0),
        minimum_hospitals=2,
    )


@pytest.fixture
def make_plan(plan) -> Callable[..., FederationPlan]:
    """The plan with other values in some places."""

    def make(privacy: dict[str, Any] | None = None, **changed: Any) -> FederationPlan:
        return replace(plan, privacy=replace(plan.privacy, **(privacy or {})), **changed)

    return make


@pytest.fixture
def seat(tmp_path, plan) -> Path:
    """Folder that a hospital answers from."""
    generator = np.random.default_rng(4)
    rows = generator.uniform(-1, 1, (N_PATIENTS, plan.inputs.components))
    part = Part(rows, rows[:, 0] > 0)
    return write_hospital(tmp_path / "seat", plan, "North", {"train": part}, {"test": True}).folder


@pytest.fixture
def coordinator(tmp_path) -> CoordinatorFolder:
    return create_coordinator(tmp_path / "coordinator", ("127.0.0.1",), {"port": 8444})


@pytest.fixture
def hospital(tmp_path, coordinator, seat) -> HospitalFolder:
    settings = {"coordinator": "127.0.0.1:8444", "seat": str(seat)}
    policy = {"allowed_apps": ["0" * 64], "minimum_hospitals": 2}
    create_hospital(tmp_path / "hospital", coordinator.tls.authority, settings, policy)
    return HospitalFolder(tmp_path / "hospital")
