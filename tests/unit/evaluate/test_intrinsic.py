"""Intrinsic utility with the real mechanisms and simulated noise."""

from __future__ import annotations

import json
import math
import time
import tracemalloc

import numpy as np
import pytest

from neuroveil.errors import ChainError, StudyError
from neuroveil.evaluate import intrinsic_utility
from neuroveil.types.scaling import Scaling


def test_gaussian_errors_follow_from_sigma(scaled, mechanism, scaling):
    """RMSE is sigma and MAE sigma √(2/π); 20 draws of 6171 cells leave errors of 0.2 %."""
    result = intrinsic_utility(scaled, mechanism("gaussian", 1.0), scaling)
    sigma = 14.92252654
    figures = result.overall.against_clipped
    assert figures.rmse.mean == pytest.approx(sigma, rel=0.01)
    assert figures.mae.mean == pytest.approx(sigma * math.sqrt(2 / math.pi), rel=0.01)
    assert figures.snr_db.mean == pytest.approx(20 * math.log10(2 / math.sqrt(363) / sigma),
                                                abs=0.1)  # fmt: skip
    assert result.zeros_rmse == pytest.approx(2 / math.sqrt(363), rel=1e-6)
    assert result.clipped_fraction == 1.0
    assert (result.n_patients, result.n_features, result.n_draws) == (17, 363, 20)


def test_interval_is_narrower_than_one_draw_by_the_root_of_their_number(scaled, mechanism, scaling):
    rmse = intrinsic_utility(scaled, mechanism("gaussian", 1.0), scaling).overall
    rmse = rmse.against_clipped.rmse
    # 2.0930241 is the 97.5 % point of Student's t with 19 degrees of freedom.
    half = 2.0930241 * rmse.one_draw / math.sqrt(20)
    assert rmse.high - rmse.mean == pytest.approx(half, rel=1e-6)
    # A draw's RMSE has a relative standard error of 1/√(2·6171).
    assert rmse.one_draw / rmse.mean == pytest.approx(1 / math.sqrt(2 * 6171), rel=0.6)


def test_clipping_is_a_loss_that_only_the_unclipped_side_shows(scaled, mechanism, scaling):
    result = intrinsic_utility(scaled, mechanism("gaussian", 1e3), scaling)
    clipped, unclipped = result.overall.against_clipped, result.overall.against_unclipped
    assert unclipped.rmse.mean > 5 * clipped.rmse.mean
    assert unclipped.correlation.mean > 0.5  # clipping keeps directions


def test_the_control_tells_the_individual_from_what_all_share(scaled, mechanism, scaling):
    """At a huge epsilon rows are clear, and exchanged rows still share the cohort mean."""
    figures = intrinsic_utility(scaled, mechanism("gaussian", 1e3), scaling).overall
    figures = figures.against_clipped
    assert figures.correlation.mean > 0.6
    assert 0.3 < figures.correlation_permuted.mean < figures.correlation.mean
    assert figures.correlation_centred.mean > 0.5
    assert abs(
        figures.correlation_centred_permuted.mean + figures.correlation_centred.mean / 16
    ) < (0.02)


def test_groups_cover_the_columns(scaled, mechanism, scaling):
    result = intrinsic_utility(scaled, mechanism("laplace", 20.0), scaling)
    assert len(result.by_feature) == 11
    assert len(result.by_channel) == 33
    for groups in (result.by_feature, result.by_channel):
        squares = [group.against_clipped.rmse.mean**2 for group in groups]
        overall = result.overall.against_clipped.rmse.mean
        assert math.sqrt(np.mean(squares)) == pytest.approx(overall, rel=5e-3)


def test_band_distortion_is_the_mean_absolute_noise_times_the_spread(scaled, mechanism, scaling):
    result = intrinsic_utility(scaled, mechanism("gaussian", 1.0), scaling)
    assert [band.feature for band in result.bands] == [
        f"{band}_power" for band in ("delta", "theta", "alpha", "beta", "gamma", "high_gamma")
    ]
    for band in result.bands:
        spread = np.mean([s for c, s in zip(scaling.columns, scaling.spread, strict=True)
                          if c.feature == band.feature])  # fmt: skip
        expected = 14.92252654 * math.sqrt(2 / math.pi) * spread
        assert band.against_clipped.mean == pytest.approx(expected, rel=0.03)
        assert band.patient_spread == pytest.approx(0.7 * spread, rel=0.15)


def test_same_seed_same_result_and_other_seed_another(scaled, mechanism, scaling):
    gaussian = mechanism("gaussian", 1.0)
    first = intrinsic_utility(scaled, gaussian, scaling, seed=3)
    assert intrinsic_utility(scaled, gaussian, scaling, seed=3) == first
    assert intrinsic_utility(scaled, gaussian, scaling, seed=4).overall != first.overall


def test_result_is_marked_internal_and_is_plain_json(scaled, mechanism, scaling):
    result = intrinsic_utility(scaled[:1], mechanism("gaussian", 1.0), scaling)
    document = result.to_json()
    assert document["internal"] is True
    assert document["overall"]["against_clipped"]["correlation_centred"] is None
    assert document["bands"][0]["patient_spread"] is None
    json.dumps(document, allow_nan=False)


def test_progress_is_told_after_every_draw(scaled, mechanism, scaling):
    seen = []
    intrinsic_utility(scaled, mechanism("gaussian", 1.0), scaling, n_draws=21,
                      progress=lambda done, total: seen.append((done, total)))  # fmt: skip
    assert seen == [(i, 21) for i in range(1, 22)]


def test_too_few_draws_and_a_bad_seed_are_refused_together(scaled, mechanism, scaling):
    with pytest.raises(StudyError) as caught:
        intrinsic_utility(scaled, mechanism("gaussian", 1.0), scaling, n_draws=19, seed=-1)
    assert [mistake.where for mistake in caught.value.mistakes] == ["n_draws", "seed"]


def test_rows_of_other_columns_are_refused(scaled, mechanism, scaling):
    few = Scaling(scaling.columns[:5], np.zeros(5), np.ones(5), "public", "x", (False,) * 5)
    with pytest.raises(ChainError, match="each of 5 columns"):
        intrinsic_utility(scaled, mechanism("gaussian", 1.0), few)
    scaled[3, 4] = np.nan
    with pytest.raises(ChainError, match="finite"):
        intrinsic_utility(scaled, mechanism("gaussian", 1.0), scaling)


@pytest.mark.alone
def test_twenty_draws_of_the_papers_table_take_well_under_two_seconds(scaled, mechanism, scaling):
    gaussian = mechanism("gaussian", 1.0)
    start = time.process_time()
    intrinsic_utility(scaled, gaussian, scaling)
    assert time.process_time() - start < 1.0


@pytest.mark.alone
def test_memory_does_not_grow_with_the_number_of_draws(scaled, mechanism, scaling):
    gaussian = mechanism("gaussian", 1.0)
    intrinsic_utility(scaled, gaussian, scaling)
    peaks = []
    for n_draws in (20, 100):
        tracemalloc.start()
        intrinsic_utility(scaled, gaussian, scaling, n_draws=n_draws)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # 80 more draws keep 45 groups x 7 figures x 2 sides each: under 0.5 MB; a table is 49 kB.
    assert peaks[1] < peaks[0] + 80 * 45 * 7 * 2 * 8 * 2.5
