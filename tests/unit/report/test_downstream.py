"""The internal page of an evaluation, its charts and the places of electrodes."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from neuroveil.report.downstream import area_chart, evaluation_report, guarantee
from neuroveil.report.electrodes import positions
from neuroveil.report.signal_charts import band_maps, mean_spectrum
from neuroveil.types.catalogue import STANDARD_CHANNELS
from neuroveil.types.downstream import (
    Calibration,
    CalibrationBin,
    ConfusionMatrix,
    Difference,
    Figure,
    Performance,
)
from neuroveil.types.sharing import (
    Check,
    Control,
    LabelCounts,
    PaperCheck,
    SharingTable,
    WayFacts,
    WayResult,
)
from neuroveil.types.signal_view import BandMap, FeatureChange, SignalView, SpectrumBand
from neuroveil.types.utility import Estimate


def figure(mean):
    return Figure(mean, mean - 0.1, min(1.0, mean + 0.1), 0.05)


def check(area, difference):
    some = figure(0.6)
    calibration = Calibration(0.2, 0.21, 0.3, 0.29, 0.05, (CalibrationBin(17, 0.3, 0.29),))
    measured = Performance(
        figure(area), some, some, some, some, some, None, some, figure(0.7), calibration
    )
    return Check(measured, Control(figure(0.5), some), difference)


@pytest.fixture
def table():
    facts = [
        WayFacts("unprotected", "the <unprotected> table", "As it is.", "everybody",
                 None, None, False),
        WayFacts("rows", "rows, best mechanism", "Privunit.", "nobody", 5.0, 0.0, False),
        WayFacts("private_training", "a trained model", "Gradients.", "curator", 5.0, 1e-5, True),
    ]  # fmt: skip
    areas, difference = (0.9, 0.55, 0.7), Difference(-0.2, -0.3, -0.1)
    results = tuple(
        WayResult(
            way, "mlp", "perceptron", check(area, None), check(area, difference),
            PaperCheck(figure(0.6), figure(0.6), figure(0.6), (0.05, 0.4)),
        )
        for way, area in zip(facts, areas, strict=True)
    )  # fmt: skip
    counts = LabelCounts("report", "positive: a $term", 5, 12, 2, {"negated": 3})
    return SharingTable(counts, 17, 190, 5.0, 1e-5, 10, 1, ConfusionMatrix(12, 0, 5, 0), results)


@pytest.fixture
def view():
    zero = Estimate(0.0, -0.1, 0.1, 0.05)
    maps = tuple(
        BandMap(name, f"{name} power (1-2 Hz)", tuple(np.linspace(0, 1, 19)),
                tuple(np.linspace(1, 0, 19)), tuple(np.full(19, 0.3)))
        for name in ("delta", "alpha")
    )  # fmt: skip
    spectrum = (SpectrumBand(0.5, 4, 10, 9, 2, 4), SpectrumBand(8, 13, 5, 6, 2, 4))
    features = (FeatureChange("variance", "variance", "decades", zero, zero, 0.3, zero, None),)
    return SignalView("gaussian", 17, 20, 0, STANDARD_CHANNELS, maps, spectrum, features)


def test_the_page_is_marked_internal_and_asks_for_nothing_else(table, view):
    page = evaluation_report(table, view)
    assert "INTERNAL - NOT FOR PUBLICATION" in page
    assert "Do not choose a release by this page" in page
    assert not re.search(r"(?:src|href)=\"(?!#)", page)
    assert "the &lt;unprotected&gt; table" in page
    assert "<unprotected>" not in page
    assert page == evaluation_report(table, view)


def test_the_page_shows_controls_gaps_and_the_review_list(table, view):
    page = evaluation_report(table, view)
    for words in (
        table.verdict, "every term is negated: called negative", "+0.10", "0.200 / 0.210",
        "threshold of 0.05 to 0.40 chosen on all", "ε = 5, δ = 0.00001, row and label",
        "not defined",
    ):  # fmt: skip
        assert words in page, words
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([\w-]+)"', page)) <= set(ids)


def test_the_page_without_a_look_at_the_signal(table):
    page = evaluation_report(table, None)
    assert 'id="signal"' not in page
    assert "band-maps" not in page


def test_the_verdict_ranks_what_protects_row_and_label(table):
    assert "a trained model (0.70" in table.verdict
    assert [result.way.key for result in table.ranked] == [
        "unprotected", "private_training", "rows",
    ]  # fmt: skip
    chance = replace(table, results=tuple(
        replace(result, new_people=check(0.55, None)) for result in table.results
    ))  # fmt: skip
    assert "nothing can be said about what protection takes away" in chance.verdict
    assert "no way is told from guessing" in chance.verdict


def test_guarantees_in_few_words(table):
    words = [guarantee(result.way) for result in table.results]
    assert words == ["none", "ε = 5, row only", "ε = 5, δ = 0.00001, row and label"]


def test_charts_say_in_words_what_they_show(table, view):
    assert "a trained model 0.7" in area_chart(table.ranked)
    maps, spectrum = band_maps(view), mean_spectrum(view.spectrum)
    assert "from 0 to 1 before, from 0 to 1 after" in maps
    assert "0.5 to 4 Hz: 10 before, 9 after" in spectrum
    for drawn in (maps, spectrum):
        assert drawn.startswith("<svg")
        assert 'role="img"' in drawn
    assert len(maps) < 800_000


def test_maps_need_channels_whose_place_is_known(view):
    assert band_maps(replace(view, channels=("E1", *STANDARD_CHANNELS[:18]))) is not None
    assert band_maps(replace(view, channels=tuple(f"Fp1-F{i}" for i in range(19)))) is None
    assert band_maps(replace(view, maps=())) is None
    assert mean_spectrum(()) is None


def test_electrodes_sit_where_the_10_20_system_puts_them():
    places = positions()
    assert set(STANDARD_CHANNELS) <= set(places)
    assert len(places) == len(set(places.values()))
    assert places["Cz"] == (0.0, 0.0)
    assert places["Fpz"] == pytest.approx((0, 0.8), abs=1e-12)
    assert places["T8"] == pytest.approx((0.8, 0), abs=1e-12)
    assert places["T9"] == pytest.approx((-1, 0), abs=1e-12)
    assert places["C3"] == pytest.approx((-0.4, 0), abs=1e-12)
    for left, right in (("Fp1", "Fp2"), ("P9", "P10"), ("FC5", "FC6"), ("O1", "O2")):
        assert places[left] == pytest.approx((-places[right][0], places[right][1]))
    assert places["F3"][1] > places["FC3"][1] > places["C3"][1] > places["CP3"][1]
    assert places["F7"][0] < places["F5"][0] < places["F3"][0] < places["F1"][0] < 0
