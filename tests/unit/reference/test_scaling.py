"""From a reference to the constants of a study's columns, with fallbacks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from neuroveil.errors import StudyError
from neuroveil.reference import Reference, general_constants, load_reference, population_caveats
from neuroveil.types.catalogue import FEATURE_NAMES, STANDARD_CHANNELS, Column, columns_for


def test_columns_take_their_own_constants_in_any_order(reference: Reference) -> None:
    columns = (
        Column("O1", "zero_crossing_rate"),
        Column("Fz", "alpha_power"),
        Column("Cz", "gamma_power"),
    )
    scaling = reference.scaling_for(columns)
    assert scaling.columns == columns
    np.testing.assert_array_equal(
        scaling.centre, [reference.centre[3, 2], reference.centre[0, 0], reference.centre[1, 1]]
    )
    np.testing.assert_array_equal(
        scaling.spread, [reference.spread[3, 2], reference.spread[0, 0], reference.spread[1, 1]]
    )
    assert scaling.fitted_on == "public"
    assert scaling.name == "made-up v1"
    assert scaling.fallback == (False, False, False)


def test_covariance_of_all_columns_is_the_kronecker_product(reference: Reference) -> None:
    scaling = reference.scaling_for(columns_for(reference.channels, reference.features))
    product = np.kron(reference.channel_covariance, reference.feature_covariance)
    np.testing.assert_allclose(scaling.covariance, product)


def test_reordered_columns_reorder_the_covariance(reference: Reference) -> None:
    columns = columns_for(reference.channels, reference.features)
    order = np.random.default_rng(0).permutation(len(columns))[:7]
    whole = reference.scaling_for(columns)
    part = reference.scaling_for(tuple(columns[index] for index in order))
    np.testing.assert_array_equal(part.centre, whole.centre[order])
    assert whole.covariance is not None
    np.testing.assert_array_equal(part.covariance, whole.covariance[np.ix_(order, order)])


def test_channel_outside_takes_the_mean_with_a_wider_spread(reference: Reference) -> None:
    scaling = reference.scaling_for((Column("Fpz", "alpha_power"),))
    centres, spreads = reference.centre[:, 0], reference.spread[:, 0]
    assert scaling.centre[0] == pytest.approx(centres.mean())
    assert scaling.spread[0] == pytest.approx(
        math.sqrt(np.mean(spreads**2) + np.mean((centres - centres.mean()) ** 2))
    )
    assert scaling.spread[0] > np.median(spreads)
    assert scaling.fallback == (True,)


def test_high_gamma_follows_gamma_along_the_power_law(reference: Reference) -> None:
    """With 1 / f^1.5: log10 of (45^-.5 - 70^-.5) / (30^-.5 - 45^-.5) = -0.0546."""
    scaling = reference.scaling_for((Column("Cz", "high_gamma_power"),))
    assert scaling.centre[0] - reference.centre[1, 1] == pytest.approx(-0.0546, abs=1e-4)
    # Exponents 0 and 3: log10(25 / 15) and log10((45^-2 - 70^-2) / (30^-2 - 45^-2)).
    flat, steep = math.log10(25 / 15), math.log10((45**-2 - 70**-2) / (30**-2 - 45**-2))
    assert scaling.spread[0] == pytest.approx(
        math.hypot(reference.spread[1, 1], (flat - steep) / 4)
    )
    assert scaling.fallback == (True,)


def test_other_features_take_general_constants(reference: Reference) -> None:
    for channel in ("Cz", "Fpz"):
        scaling = reference.scaling_for((Column(channel, "delta_power"),))
        assert (scaling.centre[0], scaling.spread[0]) == general_constants("delta_power")
        assert scaling.fallback == (True,)


def test_columns_outside_are_independent_with_variance_one(reference: Reference) -> None:
    columns = (
        Column("Cz", "alpha_power"),
        Column("Fpz", "alpha_power"),
        Column("Pz", "alpha_power"),
        Column("Pz", "delta_power"),
    )
    covariance = reference.scaling_for(columns).covariance
    assert covariance is not None
    expected = np.eye(4)
    expected[0, 2] = expected[2, 0] = reference.channel_covariance[1, 2]
    np.testing.assert_array_equal(covariance, expected)


def test_every_column_of_the_catalogue_gets_constants(reference: Reference) -> None:
    channels = (*STANDARD_CHANNELS, "Fpz", "F7-T7")
    scaling = reference.scaling_for(columns_for(channels, FEATURE_NAMES))
    assert np.isfinite(scaling.centre).all()
    assert (scaling.spread > 0).all()
    assert scaling.covariance is not None
    assert np.linalg.eigvalsh(scaling.covariance)[0] > 1e-6


def test_general_constants_agree_with_a_simulated_power_law() -> None:
    """Each centre against the feature of a Gaussian process with density 1 / f^1.5."""
    rng = np.random.default_rng(0)
    sfreq, n_times = 1024, 1024 * 256
    frequencies = np.fft.rfftfreq(n_times, 1 / sfreq)
    inside = (frequencies >= 0.5) & (frequencies < 70)
    power = np.where(inside, np.maximum(frequencies, 0.5) ** -1.5, 0.0)
    power *= 100.0 / power.sum()
    noise = rng.standard_normal((2, len(power)))
    spectrum = n_times * np.sqrt(power) / 2 * (noise[0] + 1j * noise[1])
    signal = np.fft.irfft(spectrum, n_times)
    bands = {"delta_power": (0.5, 4), "alpha_power": (8, 13), "high_gamma_power": (45, 70)}
    measured = {
        "root_mean_square": math.log10(signal.std()),
        "variance": math.log10(signal.var()),
        "line_length": math.log10(np.abs(np.diff(signal)).mean() * sfreq),
        "zero_crossing_rate": np.count_nonzero(np.diff(np.signbit(signal))) / (n_times / sfreq),
    }
    share = np.cumsum(power) / power.sum()
    measured["spectral_edge_frequency_95"] = frequencies[np.searchsorted(share, 0.95)]
    for name, (low, high) in bands.items():
        within = (frequencies >= low) & (frequencies < high)
        measured[name] = math.log10(2 * (np.abs(spectrum[within]) ** 2).sum() / n_times**2)
    for name, value in measured.items():
        centre, _ = general_constants(name)
        assert centre == pytest.approx(value, abs=0.04 if abs(value) < 5 else 0.6), name


@pytest.mark.parametrize("feature", FEATURE_NAMES)
def test_general_constants_are_near_the_built_in_reference(feature: str) -> None:
    """The assumptions are not far from what public people show: within two of their spreads."""
    measured = load_reference("eegmat-rest7-harmonised")
    if feature not in measured.features:
        assert feature == "high_gamma_power"
        return
    centre, spread = general_constants(feature)
    typical = measured.centre[:, measured.features.index(feature)].mean()
    assert abs(typical - centre) < 2 * spread + 0.1


@pytest.mark.parametrize(
    "columns",
    [(), (Column("Cz", "alpha_power"),) * 2, (Column("Cz", "no_such_feature"),)],
    ids=["none", "twice", "unknown"],
)
def test_bad_columns_are_refused(reference: Reference, columns: tuple[Column, ...]) -> None:
    with pytest.raises(StudyError, match=r"features\.names"):
        reference.scaling_for(columns)


def test_adults_need_no_warning(reference: Reference) -> None:
    assert population_caveats(reference, "adults") == []


@pytest.mark.parametrize("population", ["children", "elderly", "sleep", "mixed"])
def test_others_are_told_whom_the_constants_rest_on(population: str) -> None:
    text = " ".join(population_caveats(load_reference("eegmat-rest7-harmonised"), population))
    assert "7 people" in text
    assert "healthy students" in text
    assert "awake" in text
    assert "guarantee does not depend on it" in text


def test_unknown_population_is_refused(reference: Reference) -> None:
    with pytest.raises(StudyError, match=r"input\.population"):
        population_caveats(reference, "cats")
