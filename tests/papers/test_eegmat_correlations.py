"""What is left of seventeen real people, with the public constants of seven others.

The study's own choices are used: how many public components are kept follows from the public
covariance, n and epsilon. Every figure is a mean over simulated draws, each with a codebook of
its own, against the clipped rows on all 190 columns.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from neuroveil.pipeline.extract import extract_study
from neuroveil.pipeline.promise import protect_settings, study_scaling
from neuroveil.privacy import ProtectSettings, scale_rows, simulate
from neuroveil.privacy.plan import plan_rows
from neuroveil.privacy.settings import Postprocessing
from neuroveil.study import load_study
from neuroveil.types.recording import FloatArray
from neuroveil.types.scaling import Scaling
from neuroveil.types.table import FeatureTable

pytestmark = pytest.mark.slow

LEAST = {1.0: 0.2, 2.0: 0.31, 5.0: 0.48, 10.0: 0.60, 20.0: 0.70}
"""Issue: .48/.60/.70 at epsilon = 5/10/20, and above .17 at 1; a prototype reached .31 at 2."""


@pytest.fixture(scope="module")
def cohort(project_root: Path, eegmat: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of the cohort: automatic mechanism, public components."""
    folder = tmp_path_factory.mktemp("eegmat")
    text = (project_root / "examples" / "eegmat" / "study.toml").read_text()
    lines = [
        f'folder = "{eegmat}"' if line.startswith("folder = ") else line
        for line in text.splitlines()
        if not line.startswith("mechanism = ")
    ]
    chosen = 'mechanism = "auto"\nprojection = "auto"\nlargest_codebook = 32768'
    (folder / "study.toml").write_text(
        "\n".join(lines).replace("[privacy]", f"[privacy]\n{chosen}")
    )
    return folder


@pytest.fixture(scope="module")
def extracted(cohort: Path) -> tuple[FeatureTable, Scaling]:
    study = load_study(cohort)
    table = extract_study(study, 2).table
    return table, study_scaling(study, table)


def correlation(one: FloatArray, other: FloatArray) -> float:
    return float(np.corrcoef(one.ravel(), other.ravel())[0, 1])


def centred(rows: FloatArray) -> FloatArray:
    return np.asarray(rows - rows.mean(axis=0))


def figures(
    table: FeatureTable, scaling: Scaling, settings: ProtectSettings, n_draws: int = 400
) -> FloatArray:
    """Mean correlation; with the cohort mean removed; and both with rows exchanged."""
    plan = plan_rows(settings, scaling, table.n_patients)
    truth, exchange = plan.clipped(scale_rows(table, scaling)), np.random.default_rng(1)
    found = []
    for draw in simulate(table, scaling, settings, seed=2, n_draws=n_draws):
        estimate, _ = plan.estimates(draw.values)
        other = truth[exchange.permutation(table.n_patients)]
        found.append((
            correlation(estimate, truth), correlation(centred(estimate), centred(truth)),
            correlation(estimate, other), correlation(centred(estimate), centred(other)),
        ))  # fmt: skip
    return np.mean(found, axis=0)


@pytest.mark.parametrize("epsilon", LEAST)
def test_what_is_left_of_real_people(
    cohort: Path, extracted: tuple[FeatureTable, Scaling], epsilon: float
) -> None:
    """400 draws; a single draw strays by .12 at epsilon = 1 and by .01 at 20 (seeded)."""
    table, scaling = extracted
    study = load_study(cohort, {"privacy.epsilon": epsilon})
    settings = protect_settings(study, table.n_patients)
    assert (table.n_patients, table.n_features, settings.mechanism) == (17, 190, "privunit")
    plain, individual, exchanged, control = figures(table, scaling, settings)
    print(f"{epsilon:g}: {plain:.3f}, centred {individual:.3f}, exchanged {exchanged:.3f}")
    assert plain >= LEAST[epsilon]
    assert individual >= plain - 0.01  # it is the person that survives, not the cohort's mean
    assert abs(exchanged) < 0.1
    assert abs(control) < 0.05


@pytest.mark.parametrize(("epsilon", "gaussian"), [(5.0, 0.04), (10.0, 0.07), (20.0, 0.12)])
def test_the_papers_gaussian_leaves_almost_nothing_of_them(
    extracted: tuple[FeatureTable, Scaling], epsilon: float, gaussian: float
) -> None:
    """MECHANISMS section 2: .04/.07/.12 without projection and estimate. 100 draws."""
    table, scaling = extracted
    bare = Postprocessing("none", inverse_scaling=False)
    settings = replace(ProtectSettings("gaussian", epsilon, 1e-5, 2.0), postprocessing=bare)
    assert figures(table, scaling, settings, 100)[0] == pytest.approx(gaussian, abs=0.012)
