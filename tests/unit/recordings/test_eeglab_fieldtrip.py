"""EEGLAB datasets and FieldTrip raw data."""

from __future__ import annotations

import h5py
import numpy as np
import pytest
import scipy.io

from neuroveil.errors import RecordingError

N_TIMES = 6000

pytestmark = pytest.mark.usefixtures("here")


@pytest.fixture
def eeg():
    return np.random.default_rng(6).normal(0, 20, (3, N_TIMES)).astype(np.float32)


def dataset(eeg, data=None, trials=1, **more):
    locations = np.zeros(3, dtype=[("labels", object), ("type", object)])
    locations["labels"] = ["Fp1", "Fp2", "O1"]
    locations["type"] = ["EEG", "EEG", "EOG"]
    return {
        "data": eeg if data is None else data, "srate": 250.0, "nbchan": 3.0,
        "pnts": float(N_TIMES // trials), "trials": float(trials), "chanlocs": locations,
        "subject": "CANARY", "event": np.zeros(0),
    } | more  # fmt: skip


def events(*latencies):
    table = np.zeros(len(latencies), dtype=[("type", object), ("latency", object)])
    table["type"], table["latency"] = ["boundary"] * len(latencies), list(latencies)
    return table


@pytest.mark.slow
@pytest.mark.parametrize("struct", [True, False])
def test_continuous_with_and_without_the_struct(apart, tmp_path, read_all, eeg, struct):
    path = tmp_path / "a.set"
    scipy.io.savemat(path, {"EEG": dataset(eeg)} if struct else dataset(eeg))
    recording, read = read_all(path)
    assert (recording.ch_names, recording.sfreq) == (("Fp1", "Fp2"), 250.0)
    assert recording.eog_names == ("EOG1",)
    np.testing.assert_array_equal(read, eeg)


def test_signal_in_its_own_file(tmp_path, read_all, eeg):
    eeg.T.astype("<f4").tofile(tmp_path / "renamed.fdt")
    path = tmp_path / "renamed.set"
    scipy.io.savemat(path, {"EEG": dataset(eeg, "old name.fdt")})
    np.testing.assert_array_equal(read_all(path)[1], eeg)
    (tmp_path / "renamed.fdt").write_bytes(b"\x00" * 100)
    with pytest.raises(RecordingError, match="another size"):
        read_all(path)
    (tmp_path / "renamed.fdt").unlink()
    with pytest.raises(RecordingError, match="in the same folder"):
        read_all(path)


def test_the_signals_file_must_lie_beside_the_dataset(tmp_path, read_all, eeg):
    inner = tmp_path / "inner"
    inner.mkdir()
    eeg.T.astype("<f4").tofile(tmp_path / "outside.fdt")
    scipy.io.savemat(inner / "a.set", {"EEG": dataset(eeg, "../outside.fdt")})
    with pytest.raises(RecordingError, match="in the same folder"):
        read_all(inner / "a.set")


@pytest.mark.parametrize("inside", [True, False])
def test_epochs_are_segments(tmp_path, read_all, eeg, inside):
    epochs = np.stack(np.split(eeg, 4, axis=1), axis=2)
    if not inside:
        eeg.T.astype("<f4").tofile(tmp_path / "a.fdt")
    path = tmp_path / "a.set"
    scipy.io.savemat(path, {"EEG": dataset(eeg, epochs if inside else "a.fdt", trials=4)})
    recording, read = read_all(path)
    assert [s.n_times for s in recording.segments] == [1500] * 4
    np.testing.assert_array_equal(read, eeg)


def test_boundaries_cut(tmp_path, read_all, eeg):
    path = tmp_path / "a.set"
    scipy.io.savemat(path, {"EEG": dataset(eeg, event=events(0.5, 1000.5, 4000.5))})
    recording, read = read_all(path)
    assert [s.n_times for s in recording.segments] == [1000, 3000, 2000]
    np.testing.assert_array_equal(read, eeg)


def test_a_dataset_of_matlab_7_3(tmp_path, read_all, eeg):
    """Struct arrays are groups of references there, and matrices stand columns first."""
    path = tmp_path / "a.set"
    with h5py.File(path, "w") as file:
        root = file.create_group("EEG")
        root.attrs["MATLAB_class"] = np.bytes_("struct")

        def put(group, name, values, kind="double"):
            item = group.create_dataset(name, data=values)
            item.attrs["MATLAB_class"] = np.bytes_(kind)
            return item

        def put_fields(group, name, items):
            cells = np.array([[item.ref] for item in items], dtype=h5py.ref_dtype)
            group.create_dataset(name, data=cells)

        put(root, "data", eeg.T, "single")
        for name, value in {"srate": 250.0, "nbchan": 3.0, "pnts": N_TIMES, "trials": 1.0}.items():
            put(root, name, np.array([[float(value)]]))
        references = file.create_group("#refs#")
        text = {
            word: put(references, word, np.array([[ord(c)] for c in word], np.uint16), "char")
            for word in ("Fp1", "T3", "ECG", "boundary")
        }
        put_fields(root.create_group("chanlocs"), "labels", [text[n] for n in ("Fp1", "T3", "ECG")])
        event = root.create_group("event")
        put_fields(event, "type", [text["boundary"]] * 2)
        times = [put(references, f"t{i}", np.array([[t]])) for i, t in enumerate((10.5, 5000.5))]
        put_fields(event, "latency", times)
    recording, read = read_all(path)
    assert recording.ch_names == ("Fp1", "T7")
    assert [s.n_times for s in recording.segments] == [10, 4990, 1000]
    np.testing.assert_array_equal(read, eeg[:2])


def test_a_struct_that_contradicts_itself(tmp_path, read_all, eeg):
    path = tmp_path / "a.set"
    scipy.io.savemat(path, {"EEG": dataset(eeg, nbchan=4.0)})
    with pytest.raises(RecordingError, match="another size"):
        read_all(path)
    scipy.io.savemat(path, {"EEG": dataset(eeg, chanlocs=np.zeros(0))})
    with pytest.raises(RecordingError, match="3 channel labels"):
        read_all(path)


def fieldtrip(trials, unit=True, rate=True):
    cells = np.empty((1, len(trials)), object)
    times = np.empty((1, len(trials)), object)
    for i, trial in enumerate(trials):
        cells[0, i], times[0, i] = trial, np.arange(trial.shape[1])[None] / 250.0
    labels = np.array([["Fp1"], ["T3"], ["ECG"]], dtype=object)
    raw = {"trial": cells, "time": times, "label": labels}
    if rate:
        raw["fsample"] = 250.0
    if unit:
        raw["hdr"] = {"label": labels, "chanunit": np.array([["uV"]] * 3, dtype=object)}
    return {"ft": raw}


@pytest.mark.parametrize("cuts", [[], [1000, 4000]])
def test_trials_are_segments(tmp_path, read_all, eeg, cuts):
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, fieldtrip(np.split(eeg, cuts, axis=1)))
    recording, read = read_all(path)
    assert (recording.ch_names, recording.sfreq) == (("Fp1", "T7"), 250.0)
    assert len(recording.segments) == len(cuts) + 1
    np.testing.assert_array_equal(read, eeg[:2])


def test_the_rate_may_be_in_the_time_axis_but_the_unit_is_not_guessed(tmp_path, read_all, eeg):
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, fieldtrip([eeg], unit=False, rate=False))
    with pytest.raises(RecordingError, match="a unit of voltage"):
        read_all(path)
    assert read_all(path, unit="uV")[0].sfreq == 250.0


def test_trials_without_a_row_a_label(tmp_path, read_all, eeg):
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, fieldtrip([eeg[:2]]))
    with pytest.raises(RecordingError, match="one row a label"):
        read_all(path)
