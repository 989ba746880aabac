"""Settings: what is accepted, what is refused, and what a certificate says of them."""

from __future__ import annotations

import json
import pickle

import pytest

from neuroveil.errors import StudyError
from neuroveil.signal import RejectionSettings, SignalSettings
from neuroveil.types.catalogue import FEATURE_NAMES


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("preset", "fast"), ("preset", 1), ("line_frequency_hz", 55), ("line_frequency_hz", True),
        ("window_seconds", 0.0), ("window_seconds", float("nan")), ("window_seconds", 0.9),
        ("window_seconds", "2"), ("overlap", 0.3), ("overlap", 1.0), ("average_reference", 1),
        ("eog_regression", None), ("features", ()), ("features", ("alpha",)),
        ("features", ("variance", "variance")),
    ],
)  # fmt: skip
def test_a_wrong_setting_is_refused_by_name(field, value):
    with pytest.raises(StudyError) as refusal:
        SignalSettings(**{field: value})
    assert [mistake.where for mistake in refusal.value.mistakes] == [f"signal.{field}"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("enabled", "yes"), ("amplitude_uv", 0.0), ("amplitude_uv", float("inf")),
        ("amplitude_uv", -5.0), ("flat_uv", True), ("flat_uv", 300.0),
        ("clipping_fraction", 1.01), ("bad_channel_fraction", 0.0), ("bad_window_fraction", "half"),
    ],
)  # fmt: skip
def test_a_wrong_limit_is_refused_by_name(field, value):
    with pytest.raises(StudyError) as refusal:
        RejectionSettings(**{field: value})
    assert [each.where for each in refusal.value.mistakes] == [f"signal.rejection.{field}"]


def test_all_mistakes_are_told_at_once():
    with pytest.raises(StudyError) as refusal:
        SignalSettings(preset="x", overlap=2, features=("nothing",))
    assert len(refusal.value.mistakes) == 3


def test_a_window_must_hold_a_segment():
    assert SignalSettings(window_seconds=1.0).window_seconds == 1.0
    with pytest.raises(StudyError, match=r"at least 1\.28 s"):
        SignalSettings(preset="paper", window_seconds=1.2)


def test_public_params_are_plain_and_tell_settings_apart():
    base = SignalSettings()
    text = json.dumps(base.public_params(), sort_keys=True)
    assert json.loads(text) == base.public_params()
    assert json.dumps(SignalSettings(line_frequency_hz=50).public_params(), sort_keys=True) == text
    others = [
        SignalSettings(preset="paper"),
        SignalSettings(line_frequency_hz=60.0),
        SignalSettings(window_seconds=4.0),
        SignalSettings(overlap=0.75),
        SignalSettings(features=FEATURE_NAMES[:3]),
        SignalSettings(average_reference=False),
        SignalSettings(eog_regression=False),
        SignalSettings(rejection=RejectionSettings(enabled=False)),
        SignalSettings(rejection=RejectionSettings(amplitude_uv=150.0)),
        SignalSettings(rejection=RejectionSettings(flat_uv=0.1)),
        SignalSettings(rejection=RejectionSettings(clipping_fraction=0.1)),
        SignalSettings(rejection=RejectionSettings(bad_channel_fraction=0.3)),
        SignalSettings(rejection=RejectionSettings(bad_window_fraction=0.3)),
    ]
    texts = {json.dumps(each.public_params(), sort_keys=True) for each in others}
    assert len(texts) == len(others)
    assert text not in texts


def test_settings_travel_to_other_processes():
    settings = SignalSettings(preset="paper", rejection=RejectionSettings(flat_uv=0.2))
    assert pickle.loads(pickle.dumps(settings)) == settings
