"""Charts as parts of a page."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from xml.etree import ElementTree

import matplotlib as mpl
import pytest

from neuroveil.report.charts import band_distortion, individual_correlation, signal_and_noise

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def charts(utility):
    return {
        "signal": signal_and_noise(0.105, 14.9),
        "by-feature": individual_correlation(utility.by_feature, "feature"),
        "by-channel": individual_correlation(utility.by_channel, "channel"),
        "bands": band_distortion(utility.bands),
    }


def test_charts_are_well_formed_with_title_and_description_first(charts):
    for name, chart in charts.items():
        root = ElementTree.fromstring(chart)
        assert root.tag == f"{SVG}svg"
        assert [child.tag for child in root][:2] == [f"{SVG}title", f"{SVG}desc"]
        assert root.get("aria-labelledby") == f"{name}-title {name}-text"
        assert all(text.text and text.text.strip() for text in list(root)[:2])


def test_charts_bring_no_prologue_no_metadata_and_no_page_wide_style(charts):
    for name, chart in charts.items():
        assert chart.startswith("<svg")
        assert "metadata" not in chart
        assert set(re.findall(r'"(http[^"]*)"', chart)) == {
            "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink",
        }  # fmt: skip
        assert f"#{name} *{{stroke" in chart
        assert not re.search(r">\s*\*\{", chart)


def test_descriptions_hold_the_figures(charts):
    assert "Typical true value 0.105, noise 14.9" in charts["signal"]
    assert "alpha power (8-13 Hz) 3.4" in charts["bands"]
    assert "line length 0.005" in charts["by-feature"]


def test_settings_of_the_person_who_runs_it_change_nothing(utility):
    plain = band_distortion(utility.bands)
    with mpl.rc_context({"font.size": 30, "svg.hashsalt": "x", "axes.facecolor": "red"}):
        assert band_distortion(utility.bands) == plain
        assert mpl.rcParams["font.size"] == 30


def test_undefined_figures_long_names_and_dollars_are_drawn_without_a_warning(utility):
    group = utility.by_channel[0]
    undefined = replace(
        group, label="$" + "x" * 300,
        against_clipped=replace(group.against_clipped, correlation_centred=None,
                                correlation_centred_permuted=None),
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chart = individual_correlation((undefined,), "channel")
        mixed = individual_correlation((undefined, group), "channel")
    assert "not defined" in chart
    assert "$xxx" in mixed


def test_a_signal_larger_than_the_noise_is_drawn_too():
    assert "noise 0.001" in signal_and_noise(2.0, 0.001)
