"""Statistical claims on files that the public release wrote, for every mechanism.

All rows of the table are alike, so that their random order says nothing, and codewords come
from a codebook a row, so that rows are independent of each other.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from neuroveil.ledger import Ledger
from neuroveil.pipeline.release_folder import write_release
from neuroveil.privacy import ProtectSettings, charge_request, protect, scale_rows, simulate
from neuroveil.privacy.codebook.vectors import Codebook
from neuroveil.privacy.mechanisms.contract import CodebookOptions
from neuroveil.privacy.plan import RowPlan, plan_rows
from neuroveil.privacy.settings import Projection
from neuroveil.types.catalogue import FEATURE_NAMES, columns_for
from neuroveil.types.recording import FloatArray
from neuroveil.types.scaling import Scaling
from neuroveil.types.table import FeatureTable

N = 400
COLUMNS = columns_for(("Fp1", "O2"), FEATURE_NAMES)
PLACES = np.arange(len(COLUMNS))
SCALING = Scaling(
    COLUMNS, np.zeros(len(COLUMNS)), np.ones(len(COLUMNS)), "public", "test v1",
    (False,) * len(COLUMNS), 0.8 ** np.abs(PLACES[:, None] - PLACES),
)  # fmt: skip
ROW = np.exp(np.random.default_rng(2).normal(size=len(COLUMNS)))
TABLE = FeatureTable(
    patients=tuple(map(str, range(N))), columns=COLUMNS, values=np.tile(ROW, (N, 1)),
    n_windows=np.ones(N, dtype=np.int64), seconds=np.ones(N),
)  # fmt: skip
FRESH = CodebookOptions(4096, fresh_per_row=True)
PRIVUNIT = ProtectSettings("privunit", 4.0, 0.0, 2.0, codebook=FRESH)
CASES = {
    "gaussian": ProtectSettings("gaussian", 4.0, 1e-6, 2.0),
    "laplace": ProtectSettings("laplace", 4.0, 0.0, 2.0),
    "laplace in l1": ProtectSettings("laplace", 4.0, 0.0, 2.0, "l1"),
    "privunit": PRIVUNIT,
    "privunit projected": replace(PRIVUNIT, projection=Projection(3)),
    "privunit shuffled": replace(
        PRIVUNIT, epsilon=1.0, delta=1e-6, trust_model="shuffled", projection=Projection(3)
    ),
    "gaussian projected": ProtectSettings("gaussian", 4.0, 1e-6, 2.0, projection=Projection(3)),
}
FALSE_ALARM = 1e-7


@dataclass(frozen=True, eq=False)
class Written:
    """A release as it lies on disk, and the plan behind it."""

    settings: ProtectSettings
    folder: Path
    plan: RowPlan
    value: dict[str, Any]

    def read(self, name: str) -> FloatArray:
        frame = pd.read_csv(self.folder / name)
        return np.asarray(frame.to_numpy(dtype=np.float64))


@pytest.fixture(scope="module", params=CASES)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Written:
    settings, folder = CASES[request.param], tmp_path_factory.mktemp("files")
    ledger = Ledger.create(folder / "ledger.sqlite", Fraction(10), Fraction(1, 10))
    charge = ledger.reserve(charge_request(settings, COLUMNS, N))
    write_release(protect(TABLE, SCALING, settings, charge), folder / "release")
    document = json.loads((folder / "release" / "certificate.json").read_text())
    value = {
        f"{link}.{name}": fact["value"]
        for link, facts in document["chain"].items()
        for name, fact in facts.items()
    }
    return Written(settings, folder / "release", plan_rows(settings, SCALING, N), value)


def test_simulated_values_match_the_files(written: Written) -> None:
    """Two-sample tests along the row, in one coordinate and on the estimate."""
    (simulation,) = simulate(TABLE, SCALING, written.settings, seed=5)
    released, direction = written.read("table.csv"), simulation.clipped[0]
    pairs = [
        (released @ direction, simulation.values @ direction),
        (released[:, 1], simulation.values[:, 1]),
    ]
    if simulation.estimated is not None:
        estimated = written.read("table_estimated.csv")
        pairs += [(estimated[:, j], simulation.estimated[:, j]) for j in (0, 3)]
    for one, other in pairs:
        assert stats.ks_2samp(one, other).pvalue > FALSE_ALARM


def test_the_error_is_the_predicted_one(written: Written) -> None:
    """Mean of the rows and squared error over 400 rows, within 6 standard errors."""
    truth = written.plan.mechanism.to_scaled(written.plan.bound(scale_rows(TABLE, SCALING)))
    errors = written.read("table.csv") - truth
    squares = np.square(errors).mean(axis=1)
    predicted = written.value["utility.predicted"]["rmse"] ** 2
    assert abs(squares.mean() - predicted) < 6 * squares.std() / np.sqrt(N) + 0.02 * predicted
    along = errors @ truth[0] / np.linalg.norm(truth[0])
    assert abs(along.mean()) < 6 * along.std() / np.sqrt(N)


def test_floats_of_the_files_tell_nothing_in_their_bits(written: Written) -> None:
    """MECHANISMS section 3: multiples of the grid with even and odd ones, or codewords."""
    values = written.read("table.csv")
    if written.settings.mechanism != "privunit":
        units = np.ldexp(values, -written.value["bound.grid_log2"])
        assert (units == np.rint(units)).all()
        assert (np.abs(units) < 2.0**53).all()
        odd = int((units.astype(np.int64) & 1).sum())
        assert stats.binomtest(odd, units.size).pvalue > FALSE_ALARM
        return
    messages = pd.read_csv(written.folder / "messages.csv", dtype={"seed": str})
    assert messages["seed"].nunique() == N
    size, m = written.value["mechanism.codebook_size"], values.shape[1]
    for seed, number, row in zip(messages["seed"], messages["number"], values, strict=True):
        codeword = Codebook(bytes.fromhex(seed), size, m + 1).vectors(np.array([number]))[0, :m]
        assert row.tobytes() == (codeword * written.value["mechanism.decoding_scale"]).tobytes()


def test_both_spellings_of_a_table_hold_the_same_bits(written: Written) -> None:
    for csv in sorted(written.folder.glob("table*.csv")):
        parquet = pd.read_parquet(csv.with_suffix(".parquet")).to_numpy(dtype=np.float64)
        assert written.read(csv.name).tobytes() == np.ascontiguousarray(parquet).tobytes()
