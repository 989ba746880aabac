"""From the study to the promise: how epsilon and delta are split, and what is left out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from neuroveil.errors import StudyError
from neuroveil.pipeline.promise import protect_settings, scaling_budget
from neuroveil.pipeline.release import check_delta
from neuroveil.study import Study, load_study

Write = Callable[[str, str], Study]
N = 2000
HALF = 1 / N**2 / 2

FRAME = """\
[input]
layout = "bids"
folder = "cohort"

[montage]
channels = ["Cz"]

[features]
names = ["alpha_power", "variance"]

[privacy]
epsilon = 5.0
{privacy}

[reference]
{reference}
"""


@pytest.fixture(name="write")
def fixture_write(tmp_path: Path) -> Write:
    def write(privacy: str, reference: str = "") -> Study:
        (tmp_path / "study.toml").write_text(FRAME.format(privacy=privacy, reference=reference))
        return load_study(tmp_path)

    return write


DRAWN = 'scaling = "dp_quantiles"\nepsilon = 1.0\n'
CENTRAL = 'trust_model = "central"\nmechanism = "{}"\n'


@pytest.mark.parametrize(
    ("privacy", "reference", "rows", "scaling"),
    [
        (CENTRAL.format("gaussian"), DRAWN, HALF, HALF),
        (CENTRAL.format("mean_covariance"), DRAWN, HALF, HALF),
        (CENTRAL.format("privunit"), DRAWN, 0.0, 0.0),
        (CENTRAL.format("privunit"), DRAWN + "delta = 1e-8", 0.0, 1e-8),
        (CENTRAL.format("gaussian"), DRAWN + "delta = 0", 2 * HALF, 0.0),
        (CENTRAL.format("gaussian") + "delta = 2e-7", DRAWN, 2e-7, 2 * HALF - 2e-7),
        (CENTRAL.format("gaussian") + "delta = 1e-8", DRAWN, 1e-8, 1e-8),
    ],
)
def test_delta_is_shared_by_rows_and_constants(
    write: Write, privacy: str, reference: str, rows: float, scaling: float
) -> None:
    study = write(privacy, reference)
    settings = protect_settings(study, N)
    assert settings.scaling_budget == scaling_budget(study, N)
    assert settings.scaling_budget is not None
    assert settings.delta == pytest.approx(rows)
    assert settings.scaling_budget.delta == pytest.approx(scaling, rel=1e-8)
    assert settings.trust_model == "central"
    assert settings.epsilon_total == 6
    check_delta(settings, N)
    assert "predicted to be off by" in settings.choice


def test_delta_above_the_limit_counts_both(write: Write) -> None:
    settings = protect_settings(write(CENTRAL.format("gaussian"), DRAWN + "delta = 2e-7"), N)
    with pytest.raises(StudyError, match=r"privacy\.delta"):
        check_delta(settings, N)


def test_auto_leaves_out_what_would_spend_a_large_delta(write: Write) -> None:
    """Nothing that it chooses spends delta, so nothing is refused."""
    settings = protect_settings(write('mechanism = "auto"\ndelta = 1e-3'), 17)
    assert settings.mechanism in ("privunit", "laplace")
    assert settings.delta == 0
    assert "left out" in settings.choice
    check_delta(settings, 17)
    settings = protect_settings(write('mechanism = "gaussian"\ndelta = 1e-3'), 17)
    with pytest.raises(StudyError, match=r"privacy\.delta"):
        check_delta(settings, 17)
