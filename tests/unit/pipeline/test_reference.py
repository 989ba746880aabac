"""The built-in references are what their recipe makes of the public recordings."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from neuroveil.errors import RecordingError, StudyError
from neuroveil.pipeline.reference import (
    EEGMAT_PEOPLE,
    build_eegmat_reference,
    build_reference_from_recordings,
)
from neuroveil.recordings import ReadOptions, roster_from_bids
from neuroveil.reference import (
    Provenance,
    ReferenceDescription,
    default_reference,
    load_reference,
    save_reference,
)
from neuroveil.reference.files import reference_bytes
from neuroveil.signal import SignalSettings
from neuroveil.simulate import CohortSpec, simulate_cohort
from neuroveil.types.catalogue import FEATURE_NAMES, STANDARD_CHANNELS, columns_for

DESCRIPTION = ReferenceDescription(
    name="made-up",
    version="1",
    preset="harmonised",
    provenance=Provenance(
        "made-up people", "1", "none", "CC0", "none is asked for", "none",
        "people who do not exist", ("adults",), "one a person", 0, 0, (), {}, {},
    ),
    caveats=(),
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["harmonised", "paper"])
def test_built_in_reference_can_be_made_again(preset: str, eegmat: Path) -> None:
    built = build_eegmat_reference(eegmat, preset)
    shipped = default_reference(preset)
    # Constants are rounded to six decimals, so another processor may flip the last one.
    for name in ("centre", "spread", "channel_covariance", "feature_covariance"):
        np.testing.assert_allclose(
            getattr(built, name), getattr(shipped, name), rtol=0, atol=1.1e-6, err_msg=name
        )
    own_weights = built.estimator["spread_own_weight"], shipped.estimator["spread_own_weight"]
    np.testing.assert_allclose(*own_weights, rtol=0, atol=1.1e-6)
    # Everything else is the same, apart from software versions.
    numbers = ("centre", "spread", "channel_covariance", "feature_covariance", "estimator")
    same = {name: getattr(shipped, name) for name in numbers}
    provenance = replace(built.provenance, software=shipped.provenance.software)
    assert reference_bytes(replace(built, provenance=provenance, **same)) == (
        reference_bytes(shipped)
    )


@pytest.mark.parametrize("preset", ["harmonised", "paper"])
def test_built_in_file_is_spelled_as_it_would_be_written(preset: str) -> None:
    shipped = files("neuroveil.reference") / "data" / f"eegmat_rest7_{preset}_v1.json"
    assert shipped.read_bytes() == reference_bytes(default_reference(preset))


def test_reference_people_are_none_of_the_cohort() -> None:
    cohort = {f"Subject{number:02d}" for number in range(17)}
    assert len(set(EEGMAT_PEOPLE)) == 7
    assert not cohort & set(EEGMAT_PEOPLE)


def test_a_recording_that_is_missing_is_refused_by_its_number(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="recording 1 of 14"):
        build_eegmat_reference(tmp_path, "paper")


def test_unknown_preset_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError):
        build_eegmat_reference(tmp_path, "fast")


def test_preset_of_description_and_settings_must_agree(tmp_path: Path) -> None:
    simulate_cohort(tmp_path / "people", CohortSpec(n_patients=3, n_sessions=1, seconds=10.0))
    roster = roster_from_bids(tmp_path / "people")
    with pytest.raises(StudyError, match=r"reference\.preset"):
        build_reference_from_recordings(
            roster, ReadOptions(), SignalSettings(preset="paper"), DESCRIPTION
        )


def test_reference_from_a_folder_of_recordings(tmp_path: Path) -> None:
    """Five made-up people from files to a reference, with every feature of the catalogue."""
    spec = CohortSpec(n_patients=5, n_sessions=2, seconds=20.0, epilepsy_share=0.0, seed=1)
    truth = simulate_cohort(tmp_path / "people", spec)
    calls: list[tuple[int, int, str]] = []
    reference = build_reference_from_recordings(
        roster_from_bids(tmp_path / "people"),
        ReadOptions(),
        SignalSettings(),
        DESCRIPTION,
        lambda *call: calls.append(call),
    )
    assert reference.channels == STANDARD_CHANNELS
    assert reference.features == FEATURE_NAMES
    assert reference.provenance.n_people == 5
    assert reference.provenance.n_recordings == 10
    assert reference.provenance.settings["signal"] == SignalSettings().public_params()
    assert [call[:2] for call in calls] == [(done, 10) for done in range(1, 11)]
    alpha = reference.centre[:, FEATURE_NAMES.index("alpha_power")]
    assert alpha[STANDARD_CHANNELS.index("O1")] > alpha[STANDARD_CHANNELS.index("Fz")]
    planted = np.median([np.log10(p.signature.alpha_power) for p in truth.patients])
    # The average reference takes up to two thirds of a rhythm that many channels share.
    assert -0.6 < alpha[STANDARD_CHANNELS.index("O1")] - planted < 0.1
    save_reference(reference, tmp_path / "made_up.json")
    loaded = load_reference(tmp_path / "made_up.json")
    scaling = loaded.scaling_for(columns_for(STANDARD_CHANNELS, FEATURE_NAMES))
    assert not any(scaling.fallback)
