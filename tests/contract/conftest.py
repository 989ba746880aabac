"""Real releases through the real ledger, and a forger's tools."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from neuroveil.keys import create_key
from neuroveil.ledger import Ledger
from neuroveil.pipeline.release_folder import write_release
from neuroveil.privacy import LabelPolicy, ProtectSettings, charge_request, release_any
from neuroveil.privacy.central.dp_scaling import ScalingBudget
from neuroveil.privacy.settings import Postprocessing, Projection
from neuroveil.reference import default_reference
from neuroveil.types.catalogue import FEATURE_NAMES, STANDARD_CHANNELS, columns_for
from neuroveil.types.table import FeatureTable

# Number of patients and channels: small is quick to verify, medium shows a factor of 2 in the
# noise, large the difference between Gaussian and Laplace noise of the same size, and long the
# rows themselves where the noise is small.
SIZES = {
    "small": (4, ("Cz",)),
    "medium": (24, ("Fp1", "Cz", "O2")),
    "large": (60, STANDARD_CHANNELS),
    "long": (200, ("Cz",)),
}
LABELS = (
    LabelPolicy("diagnosis", "randomised_response", ("control", "epilepsy"), 0.5),
    LabelPolicy("sex", "unprotected"),
)

HANDS = (
    LabelPolicy("hand", "randomised_response", ("right", "left"), 6.0),
    LabelPolicy("site", "unprotected"),
)

# The built-in reference ends below high gamma, and projection needs one that covers all.
FEATURES = tuple(name for name in FEATURE_NAMES if not name.startswith("high_gamma"))

DRAWN: dict[str, Any] = {
    "trust_model": "central", "scaling_budget": ScalingBudget(300.0, 5e-6),
}  # fmt: skip

RECIPES: dict[str, ProtectSettings] = {
    "gaussian": ProtectSettings("gaussian", 1.0, 1e-5, 2.0),
    "gaussian 0.5": ProtectSettings("gaussian", 0.5, 1e-6, 2.0),
    "gaussian 20": ProtectSettings("gaussian", 20.0, 1e-5, 2.0),
    "gaussian 50": ProtectSettings("gaussian", 50.0, 1e-5, 2.0),
    "laplace": ProtectSettings("laplace", 1.0, 0.0, 2.0),
    "laplace l1": ProtectSettings("laplace", 2.0, 0.0, 4.0, norm="l1"),
    "labels": ProtectSettings("gaussian", 1.0, 1e-5, 2.0, labels=LABELS),
    "uneven": ProtectSettings("gaussian", 1.0, 1e-5, 2.0, labels=HANDS),
    "bare": ProtectSettings(
        "gaussian", 1.0, 1e-5, 2.0, postprocessing=Postprocessing("none", inverse_scaling=False)
    ),
    "signed": ProtectSettings("gaussian", 1.0, 1e-5, 2.0),
    "privunit": ProtectSettings("privunit", 5.0, 0.0, 2.0),
    "central": ProtectSettings("mean_covariance", 1.0, 1e-5, 2.0, trust_model="central"),
    "central 20": ProtectSettings("mean_covariance", 20.0, 1e-5, 2.0, trust_model="central"),
    "drawn": ProtectSettings("gaussian", 1.0, 5e-6, 2.0, **DRAWN),
    "drawn codewords": ProtectSettings("privunit", 5.0, 0.0, 2.0, **DRAWN),
    "drawn central": ProtectSettings("mean_covariance", 1.0, 5e-6, 2.0, **DRAWN),
    "shuffled": ProtectSettings(
        "privunit", 2.0, 1e-5, 2.0, trust_model="shuffled", projection=Projection(4)
    ),
}


def _load(name: str) -> ModuleType:
    """A helper module beside this file, under a name of its own."""
    full = f"contract_{name}"
    if full not in sys.modules:
        path = Path(__file__).with_name(f"{name}.py")
        spec = importlib.util.spec_from_file_location(full, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[full] = module
        spec.loader.exec_module(module)
    return sys.modules[full]


@pytest.fixture(scope="session")
def forger() -> ModuleType:
    return _load("forger")


@pytest.fixture(scope="session")
def arithmetic() -> ModuleType:
    return _load("forger_arithmetic")


@pytest.fixture(scope="session")
def moments_arithmetic() -> ModuleType:
    return _load("forger_moments")


@pytest.fixture(scope="session")
def excuses() -> ModuleType:
    return _load("excuses")


@pytest.fixture(scope="session")
def court() -> ModuleType:
    return _load("court")


@pytest.fixture(scope="session")
def mutations() -> ModuleType:
    return _load("mutations")


def cohort(n_patients: int, channels: tuple[str, ...]) -> FeatureTable:
    """A made-up private table with two attributes."""
    columns = columns_for(channels, FEATURES)
    values = 10 ** np.random.default_rng(71).normal(1, 0.3, (n_patients, len(columns)))
    return FeatureTable(
        patients=tuple(f"key-{number}" for number in range(n_patients)),
        columns=columns, values=values,
        n_windows=np.full(n_patients, 30), seconds=np.full(n_patients, 31.0),
        attributes={
            "diagnosis": tuple(("control", "epilepsy")[i % 2] for i in range(n_patients)),
            "sex": tuple(("female", "male")[i // 2 % 2] for i in range(n_patients)),
            "hand": ("right",) * n_patients,
            "site": ("north",) * n_patients,
        },
    )  # fmt: skip


@pytest.fixture(scope="session")
def make_release(
    tmp_path_factory: pytest.TempPathFactory, forger: ModuleType
) -> Callable[..., Any]:
    """Make a release as the product does, and give the folder."""

    def make(
        settings: ProtectSettings,
        n_patients: int,
        channels: tuple[str, ...],
        earlier: int = 0,
        *,
        signed: bool = False,
    ) -> Any:
        place = tmp_path_factory.mktemp("release")
        table = cohort(n_patients, channels)
        ledger = Ledger.create(place / "ledger.sqlite", Fraction(500), Fraction(1, 1000))
        request = charge_request(settings, table.columns, table.n_patients)
        for _ in range(earlier):
            ledger.reserve(request)
        scaling = default_reference("harmonised").scaling_for(table.columns)
        release = release_any(table, scaling, settings, ledger.reserve(request))
        key = create_key(place / "key.pem") if signed else None
        write_release(release, place / "release", key)
        return forger.Folder.read(place / "release")

    return make


@pytest.fixture(scope="session")
def releases(make_release: Callable[..., Any], arithmetic: ModuleType) -> Callable[..., Any]:
    """The releases of RECIPES, each made once, when it is first asked for."""
    made: dict[tuple[str, str], Any] = {}

    def get(name: str, size: str) -> Any:
        key = (name, size)
        if key not in made:
            made[key] = make_release(
                RECIPES[name], *SIZES[size], 2 if name == "labels" else 0, signed=name == "signed"
            )
            arithmetic.learn(made[key].document)
        return made[key].copy()

    return get


@pytest.fixture
def trial(
    tmp_path: Path, court: ModuleType, forger: ModuleType, mutations: ModuleType,
    excuses: ModuleType,
) -> Callable[..., dict[str, list[str]]]:  # fmt: skip
    """Verify chosen mutants of a release; give what went wrong and which excuses were used."""

    def run(honest: Any, reach: str, chosen: Callable[[Any], bool]) -> dict[str, list[str]]:
        bench = court.Court(honest, reach, (forger, excuses), tmp_path / "forged")
        for mutant in mutations.mutants(honest.document, forger.Twice):
            if chosen(mutant):
                bench.judge(mutant)
        assert bench.judged > 100
        return bench.records

    return run
