"""The seventeen real patients, from EDF to report, with the study file of the example."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytestmark = pytest.mark.slow


@pytest.fixture
def study(eegmat, project_root, tmp_path) -> Path:
    text = (project_root / "examples" / "eegmat" / "study.toml").read_text()
    text, n = re.subn(r'(?m)^folder = ".*"', f'folder = "{eegmat}"', text)
    assert n == 1
    (tmp_path / "study.toml").write_text(text)
    return tmp_path / "study.toml"


def test_seventeen_real_patients_end_to_end(neuroveil, study):
    check = neuroveil("check", study, "--json").json
    assert (check["n_patients"], check["n_usable"]) == (17, 34)
    assert check["sampling_rates"] == {"500": 34}

    release = neuroveil("release", study, "--json")
    assert release.code == 0, release.err
    assert release.json["formal_guarantee"] is True
    assert (release.json["n"], release.json["dimension"]) == (17, 190)
    assert release.json["summary"]["missing_cells"] == 0

    folder = study.parent / "release"
    assert neuroveil("verify", folder).code == 0
    table = pd.read_csv(folder / "table.csv")
    noise = json.loads((folder / "certificate.json").read_text())["chain"]["mechanism"]
    # 3,230 cells: the standard deviation has a relative standard error of 1.3 %.
    spread = float(table.to_numpy().std())
    assert spread == pytest.approx(noise["noise_std"]["value"], rel=0.07)

    published = b"".join(file.read_bytes() for file in folder.iterdir())
    for secret in (b"Subject0", b"Subject1", b"NeuroCom", b"JAN-1990"):
        assert secret not in published


def test_heart_and_ear_channels_never_enter(neuroveil, study, eegmat):
    """The 19 channels of the montage are read; ECG and A2-A1 are not among them."""
    neuroveil("extract", study)
    columns = pd.read_parquet(study.parent / "internal" / "features.parquet").columns
    channels = {name.partition("__")[0] for name in columns if "__" in name}
    assert len(channels) == 19
    assert not channels & {"ECG", "A2-A1", "A1", "A2"}


def test_identities_in_headers_change_nothing_and_go_nowhere(neuroveil, study, eegmat, tmp_path):
    """Sex, number and birth date of the headers contradict the list; only the list counts."""
    secret = b"X99 M 29-FEB-1904 Canary_Surname"
    tables = []
    for name, patient in (("as they are", None), ("renamed", secret)):
        place = tmp_path / name
        place.mkdir()
        for file in sorted(eegmat.glob("Subject0[01]_?.edf")):
            data = file.read_bytes()
            if patient is not None:
                assert data[8:88].strip() not in (
                    b"",
                    b"X X X X",
                )  # there is an identity to unlearn
                data = data[:8] + patient.ljust(80) + data[88:]
            (place / file.name).write_bytes(data)
        text = re.sub(r'(?m)^folder = ".*"', f'folder = "{place}"', study.read_text())
        text = re.sub(r"(?s)^patients = \[.*?\]", "", text, flags=re.M)
        (place / "study.toml").write_text(text)
        assert neuroveil("extract", place / "study.toml").code == 0
        tables.append(pd.read_parquet(place / "internal" / "features.parquet"))
        inside = b"".join(f.read_bytes() for f in (place / "internal").rglob("*") if f.is_file())
        for words in (b"Canary_Surname", b"1904", b"NeuroCom"):
            assert words not in inside
    pd.testing.assert_frame_equal(*tables)
    assert not {"sex", "birthday"} & {name.lower() for name in tables[0].columns}


def test_check_finds_what_is_true_of_these_files(neuroveil, study):
    """All 21 signals are seen, the montage's 19 are used, and a filter is suggested."""
    text = study.read_text()
    study.write_text(re.sub(r"(?m)^(high|low)pass_hz = .*$", "", text))
    report = neuroveil("check", study, "--json").json
    assert not [problem for problem in report["problems"] if problem["blocking"]]
    assert not [p for p in report["problems"] if p["code"] == "missing_channel"]
    suggested = {entry["setting"]: entry["value"] for entry in report["suggestions"]}
    assert suggested["input.lowpass_hz"] == 45.0
    said = neuroveil("check", study)
    assert "input.lowpass_hz = 45" in said.out
    assert "checking recordings: 34 of 34" in said.err


def test_killed_extraction_goes_on_where_it_stopped(neuroveil, study):
    command = [sys.executable, "-m", "neuroveil", "extract", str(study), "--workers", "1", "-q"]
    process = subprocess.Popen(command, start_new_session=True)
    cache = study.parent / "internal" / "cache"
    deadline = time.monotonic() + 120
    while len(list(cache.glob("*.npz"))) < 5 and time.monotonic() < deadline:
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    finished = len(list(cache.glob("*.npz")))
    assert 5 <= finished < 34
    again = neuroveil("extract", study, "--json").json["summary"]
    assert again["recordings_reused"] == finished
    assert again["recordings_computed"] == 34 - finished
    first = pd.read_parquet(study.parent / "internal" / "features.parquet")
    neuroveil("extract", study)
    pd.testing.assert_frame_equal(
        first, pd.read_parquet(study.parent / "internal" / "features.parquet")
    )


@pytest.mark.alone
def test_release_of_the_real_patients_fits_in_a_small_machine(neuroveil, study):
    """Peak memory of any process stays below 600 MB (the libraries alone take most of it)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert neuroveil("release", study).code == 0
    peak_mb = max(before, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1024
    assert peak_mb < 600


def test_the_cohort_is_not_the_reference(project_root):
    """The people of the example are not those that the public constants rest on."""
    from neuroveil.pipeline.reference import EEGMAT_PEOPLE

    text = (project_root / "examples" / "eegmat" / "study.toml").read_text()
    cohort = set(re.findall(r'"(Subject\d\d)"', text))
    assert len(cohort) == 17
    assert not cohort & set(EEGMAT_PEOPLE)


def test_private_scaling_moves_other_rows_and_public_scaling_does_not(eegmat, study):
    """Exchanging one real patient leaves every other row alone only under public constants."""
    from dataclasses import replace

    from neuroveil.pipeline.extract import extract_study
    from neuroveil.privacy import private_statistics_scaling, scale_rows
    from neuroveil.reference import default_reference
    from neuroveil.study import load_study

    table = extract_study(load_study(study)).table
    values = table.values.copy()
    values[0] *= 100.0
    neighbour = replace(table, values=values)
    public = default_reference("harmonised").scaling_for(table.columns)
    assert np.array_equal(scale_rows(table, public)[1:], scale_rows(neighbour, public)[1:])
    moved = scale_rows(table, private_statistics_scaling(table)) - scale_rows(
        neighbour, private_statistics_scaling(neighbour)
    )
    assert np.abs(moved[1:]).max() > 0.01
