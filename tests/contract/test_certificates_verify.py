"""Certificates of the release path against the verification that shares no code with it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from neuroveil.ledger import Ledger
from neuroveil.privacy import LabelPolicy, ProtectSettings, charge_request, protect, simulate
from neuroveil.privacy.mechanisms.contract import CodebookOptions
from neuroveil.privacy.settings import Postprocessing, Projection
from neuroveil.privacy.verify import verify
from neuroveil.types.catalogue import FEATURE_NAMES, columns_for
from neuroveil.types.certificate import Certificate, canonical_json
from neuroveil.types.scaling import Scaling
from neuroveil.types.table import FeatureTable

COLUMNS = columns_for(("Fp1", "Cz", "O2"), FEATURE_NAMES)
LABELS = (
    LabelPolicy("sex", "randomised_response", ("female", "male"), 0.3),
    LabelPolicy("diagnosis", "unprotected"),
)
TABLE = FeatureTable(
    patients=("a", "b", "c"),
    columns=COLUMNS,
    values=np.exp(np.random.default_rng(0).normal(size=(3, len(COLUMNS)))),
    n_windows=np.ones(3, dtype=np.int64),
    seconds=np.ones(3),
    attributes={"sex": ("female", "male", ""), "diagnosis": ("x", "y", "z")},
)
PLACES = np.arange(len(COLUMNS))
SCALING = Scaling(
    COLUMNS, np.zeros(len(COLUMNS)), np.ones(len(COLUMNS)), "public", "test v1",
    (False,) * len(COLUMNS), 0.8 ** np.abs(PLACES[:, None] - PLACES),
)  # fmt: skip
PRIVUNIT = ProtectSettings("privunit", 5.0, 0.0, 2.0, codebook=CodebookOptions(1 << 14))


def exit_code(certificate: Certificate, folder: Path) -> int:
    path = folder / "certificate.json"
    path.write_bytes(canonical_json(certificate.to_json()))
    return verify(path).exit_code


@pytest.mark.parametrize("labels", [(), LABELS], ids=["rows only", "with labels"])
@pytest.mark.parametrize(
    "settings",
    [
        ProtectSettings("gaussian", 1.0, 1e-5, 2.0),
        ProtectSettings("gaussian", 0.3, 1e-6, 0.1),
        ProtectSettings("gaussian", 1e-6, 1e-17, 2.0),
        ProtectSettings("gaussian", 1e-6, 0.1, 1e-6, delta_justification="the end of the range"),
        ProtectSettings("gaussian", 20.0, 1e-12, 1e6),
        ProtectSettings("gaussian", 45.0, 1e-5, 2.0),
        ProtectSettings("gaussian", 1000.0, 1e-17, 2.0),
        ProtectSettings("laplace", 1.0, 0.0, 2.0),
        ProtectSettings("laplace", 0.1, 0.0, 0.3, "l1"),
        ProtectSettings("laplace", 1e-6, 0.0, 1 / 3),
        ProtectSettings("laplace", 1000.0, 0.0, 2.0),
        ProtectSettings("laplace", 5.0, 0.0, 2.0, postprocessing=Postprocessing("james_stein")),
        ProtectSettings("gaussian", 5.0, 1e-5, 2.0, projection=Projection(7)),
        ProtectSettings("gaussian", 5.0, 1e-5, 2.0, postprocessing=Postprocessing("none", False)),
        PRIVUNIT,
        replace(PRIVUNIT, epsilon=1e-6, clip_norm=1e-6),
        replace(PRIVUNIT, epsilon=1000.0, clip_norm=1e6),
        replace(PRIVUNIT, epsilon=1.0, projection=Projection(1)),
        replace(PRIVUNIT, epsilon=10.0, projection=Projection(33)),
        replace(PRIVUNIT, projection=Projection(5), postprocessing=Postprocessing(clamp=3.0)),
        replace(PRIVUNIT, codebook=CodebookOptions(4096, fresh_per_row=True)),
    ],
    ids=lambda settings: f"{settings.mechanism}-{settings.epsilon}-{settings.clip_norm}",
)
def test_releases_hold(
    settings: ProtectSettings, labels: tuple[LabelPolicy, ...], tmp_path: Path
) -> None:
    settings = replace(settings, labels=labels)
    ledger = Ledger.create(tmp_path / "ledger.sqlite", Fraction(3000), Fraction(1, 2))
    request = charge_request(settings, COLUMNS, 3)
    ledger.reserve(request)  # an earlier release
    certificate = protect(TABLE, SCALING, settings, ledger.reserve(request)).certificate
    assert certificate.formal_guarantee
    assert exit_code(certificate, tmp_path) == 0


@pytest.mark.slow
@pytest.mark.parametrize("projection", [None, Projection(1), Projection(5)])
@pytest.mark.parametrize(("n", "epsilon"), [(1, 1.0), (40, 0.5), (40, 8.0)])
def test_shuffled_releases_hold(
    n: int, epsilon: float, projection: Projection | None, tmp_path: Path
) -> None:
    """A batch of one hides nothing; forty rows hide little at a large epsilon."""
    settings = replace(
        PRIVUNIT, epsilon=epsilon, delta=1e-6, trust_model="shuffled", projection=projection
    )
    table = FeatureTable(
        patients=tuple(map(str, range(n))), columns=COLUMNS,
        values=np.exp(np.random.default_rng(1).normal(size=(n, len(COLUMNS)))),
        n_windows=np.ones(n, dtype=np.int64), seconds=np.ones(n),
    )  # fmt: skip
    ledger = Ledger.create(tmp_path / "ledger.sqlite", Fraction(3000), Fraction(1, 2))
    charge = ledger.reserve(charge_request(settings, COLUMNS, n))
    certificate = protect(table, SCALING, settings, charge).certificate
    assert (charge.request.epsilon, charge.request.delta) == (Fraction(epsilon), Fraction("1e-6"))
    local = certificate.value("amplification.epsilon_local")
    assert local == epsilon if n == 1 else local >= epsilon
    assert exit_code(certificate, tmp_path) == 0


@pytest.mark.parametrize(("name", "delta"), [("gaussian", 1e-5), ("paper_laplace", 0.0)])
def test_simulations_do_not_hold(name: str, delta: float, tmp_path: Path) -> None:
    settings = ProtectSettings(name, 1.0, delta, 2.0)
    simulation = next(simulate(TABLE, SCALING, settings, seed=1))
    assert exit_code(simulation.certificate, tmp_path) == 4
