"""Maps, spectra, features and ranks before and after."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from neuroveil.errors import ChainError
from neuroveil.evaluate.signal_view import view_signal
from neuroveil.privacy import ProtectSettings
from neuroveil.privacy.plan import RowPlan, plan_rows
from neuroveil.types.catalogue import STANDARD_CHANNELS, columns_for
from neuroveil.types.scaling import Scaling

FEATURES = ("variance", "zero_crossing_rate", "delta_power", "alpha_power")


@pytest.fixture
def constants():
    """Public constants of 76 columns with a centre and a spread of their own."""
    columns = columns_for(STANDARD_CHANNELS, FEATURES)
    d = len(columns)
    return Scaling(columns, np.linspace(-1, 1, d), np.linspace(0.2, 0.4, d), "public", "test v1",
                   (False,) * d)  # fmt: skip


@pytest.fixture
def short_rows():
    """Rows that no clip reaches, so that without noise nothing changes."""
    return np.random.default_rng(0).normal(0, 0.05, (9, 76))


def view(rows, constants, epsilon, clip_norm=2.0, **options):
    settings = ProtectSettings("laplace", epsilon, 0.0, clip_norm)
    plan = plan_rows(settings, constants, rows.shape[0])
    assert isinstance(plan, RowPlan)
    return view_signal(rows, plan, constants, **options)


def test_with_the_least_noise_there_is_everything_is_much_as_before(short_rows, constants):
    """At epsilon = 1000 and with the smallest clip noise is a quarter of what patients differ."""
    seen = view(short_rows, constants, 1000.0, clip_norm=0.6)
    features = constants.centre + constants.spread * short_rows
    for each in seen.maps:
        place = [c.feature == each.feature for c in constants.columns]
        assert each.before == pytest.approx(features[:, place].mean(axis=0))
        assert each.after == pytest.approx(each.before, abs=0.02)
        assert max(each.error) < 0.01
    for each in seen.features:
        assert each.rank.mean > 0.85
        assert abs(each.rank_control.mean) < 0.35
        assert abs(each.bias.mean) < 1e-3
    for step in seen.spectrum:
        assert step.after_db == pytest.approx(step.before_db, abs=0.05)


def test_noise_shows_in_the_size_that_was_calibrated(short_rows, constants):
    """Laplace noise of scale b has a root mean square of sqrt(2) b on the scaled axis."""
    seen = view(short_rows, constants, 1.0)
    b = 2 * np.sqrt(76) * 2.0 / 1.0
    for each in seen.features:
        place = [c.feature == each.feature for c in constants.columns]
        expected = np.sqrt(2) * b * np.sqrt(np.square(constants.spread[place]).mean())
        assert each.error.mean == pytest.approx(expected, rel=0.1)
        assert abs(each.rank.mean) < 0.3
        assert each.unit == ("Hz" if each.feature == "zero_crossing_rate" else "decades")


def test_band_density_is_power_over_width(short_rows, constants):
    seen = view(short_rows * 0, constants, 1.0)
    by_name = {each.feature: each for each in seen.maps}
    widths = {"delta_power": 3.5, "alpha_power": 5.0}
    for step, name in zip(seen.spectrum, widths, strict=True):
        power = np.mean(by_name[name].before)
        assert step.before_db == pytest.approx(10 * (power - np.log10(widths[name])))
        assert step.before_spread_db == pytest.approx(0, abs=1e-9)
    assert [step.low_hz for step in seen.spectrum] == [0.5, 8.0]


def test_an_order_of_equal_patients_is_not_defined(short_rows, constants):
    assert all(each.rank is None for each in view(short_rows * 0, constants, 1.0).features)


def test_the_result_is_plain_data_and_repeatable(short_rows, constants):
    first, again = (view(short_rows, constants, 5.0, seed=3) for _ in range(2))
    document = json.loads(json.dumps(first.to_json(), allow_nan=False))
    assert document["internal"] is True
    assert document == json.loads(json.dumps(again.to_json()))
    assert view(short_rows, constants, 5.0, seed=4) != first


def test_too_few_rows_or_draws_are_refused(short_rows, constants):
    with pytest.raises(ChainError, match="at least 20 draws"):
        view(short_rows, constants, 1.0, n_draws=19)
    with pytest.raises(ChainError, match="at least 2 rows"):
        view(short_rows[:1], constants, 1.0)
    shorter = replace(
        constants, columns=constants.columns[1:], centre=constants.centre[1:],
        spread=constants.spread[1:], fallback=constants.fallback[1:],
    )  # fmt: skip
    plan = plan_rows(ProtectSettings("laplace", 1.0, 0.0, 2.0), constants, 9)
    with pytest.raises(ChainError, match="rows of 75 columns"):
        view_signal(short_rows, plan, shorter)
