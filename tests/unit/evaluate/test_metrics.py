"""Figures of one draw against plain, slow formulas."""

from __future__ import annotations

import numpy as np
import pytest

from neuroveil.evaluate.metrics import (
    FIGURES,
    band_change,
    column_groups,
    draw_figures,
    exchange_rows,
    prepare_reference,
)
from neuroveil.types.catalogue import columns_for

COLUMNS = columns_for(("Fp1", "Cz", "O2"), ("line_length", "alpha_power"))


@pytest.fixture
def rows():
    generator = np.random.default_rng(1)
    reference = generator.normal(size=(9, 6)) * 0.3 + np.linspace(-2, 5, 6)
    return reference, reference + generator.normal(size=(9, 6)), exchange_rows(9, generator)


def figures(reference, noisy, order):
    groups = column_groups(COLUMNS)
    table = draw_figures(prepare_reference(reference), noisy, order, groups)
    return dict(zip(FIGURES, table.T, strict=True)), groups


def test_groups_are_overall_then_features_then_channels():
    groups = column_groups(COLUMNS)
    assert groups.features == ("line_length", "alpha_power")
    assert groups.channels == ("Fp1", "Cz", "O2")
    assert groups.membership.sum(1).tolist() == [6, 3, 3, 2, 2, 2]


@pytest.mark.parametrize(
    ("group", "cells"),
    [(0, slice(None)), (1, [0, 2, 4]), (2, [1, 3, 5]), (3, [0, 1]), (5, [4, 5])],
)
def test_every_figure_equals_its_definition(rows, group, cells):
    reference, noisy, order = rows
    table, _ = figures(reference, noisy, order)
    x, y, swapped = reference[:, cells], noisy[:, cells], reference[order][:, cells]

    def pearson(a, b):
        return np.corrcoef(a.ravel(), b.ravel())[0, 1]

    def centred(a):
        return a - a.mean(0)

    expected = {
        "rmse": np.sqrt(np.mean((y - x) ** 2)),
        "mae": np.mean(np.abs(y - x)),
        "correlation": pearson(x, y),
        "correlation_permuted": pearson(swapped, y),
        "correlation_centred": pearson(centred(x), centred(y)),
        "correlation_centred_permuted": pearson(centred(swapped), centred(y)),
        "snr_db": 10 * np.log10(np.sum(x**2) / np.sum((y - x) ** 2)),
    }
    for name, value in expected.items():
        assert table[name][group] == pytest.approx(value, rel=1e-10), name


def test_correlations_survive_a_large_common_offset(rows):
    reference, noisy, order = rows
    near, _ = figures(reference, noisy, order)
    far, _ = figures(reference + 1e6, noisy + 1e6, order)
    for name in FIGURES[2:6]:
        np.testing.assert_allclose(far[name], near[name], atol=1e-7)


def test_undefined_figures_are_nan_and_not_a_number_like_zero(rows):
    _, noisy, order = rows
    table, _ = figures(np.zeros((9, 6)), noisy, order)
    for name in FIGURES[2:]:
        assert np.isnan(table[name]).all(), name
    assert np.isfinite(table["rmse"]).all()


def test_one_patient_has_no_individual_correlation(rows):
    reference, noisy, _ = rows
    table, _ = figures(reference[:1], noisy[:1], np.array([0]))
    assert np.isfinite(table["correlation"]).all()
    assert np.isnan(table["correlation_centred"]).all()


@pytest.mark.parametrize("n_rows", [2, 3, 17, 100])
def test_the_control_pairs_no_row_with_itself(n_rows):
    for seed in range(20):
        order = exchange_rows(n_rows, np.random.default_rng(seed))
        assert sorted(order) == list(range(n_rows))
        assert not np.any(order == np.arange(n_rows))


def test_band_change_is_a_difference_of_log10_power():
    centre, spread = np.array([1.0, 2.0]), np.array([0.5, 0.25])
    power = np.array([[10.0, 100.0], [20.0, 50.0]])
    other = np.array([[100.0, 100.0], [20.0, 5.0]])
    scaled = [(np.log10(values) - centre) / spread for values in (power, other)]
    np.testing.assert_allclose(band_change(*scaled, spread), [0.5, 0.5])
