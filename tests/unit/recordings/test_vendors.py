"""Recorders' own formats, on minimal files of our own writers."""

from __future__ import annotations

import collections
import struct
import sys

import numpy as np
import pytest

from neuroveil.errors import MachineError, RecordingError
from neuroveil.recordings import ReadOptions, inspect_recording, opened_recording

N_TIMES = 3000


@pytest.fixture
def eeg():
    return np.random.default_rng(11).normal(0, 20, (3, N_TIMES))


@pytest.fixture
def two(eeg):
    """Two channels only: where the file's names are numbers."""
    return eeg[:2]


def close(read, wanted, step=0.1):
    np.testing.assert_allclose(read, wanted, atol=0.51 * step, rtol=1e-5)


QUICK = ["persyst", "micromed"]
FORMATS = [
    *QUICK,
    *(
        pytest.param(name, marks=pytest.mark.slow)  # mne takes seconds to load
        for name in ("gdf", "neuroscan", "nicolet", "nihon_kohden")
    ),
]


@pytest.mark.parametrize("kind", FORMATS)
def test_values_names_and_rate(files, tmp_path, read_all, eeg, kind):
    recording, read = read_all(files.WRITERS[kind](tmp_path, eeg))
    assert (recording.ch_names, recording.sfreq) == (("Fp1", "T7"), 250.0)
    assert len(recording.segments) == 1
    close(read, eeg[:2])


@pytest.mark.parametrize("kind", FORMATS)
def test_no_name_comes_out(files, tmp_path, canary, eeg, kind):
    found = inspect_recording(files.WRITERS[kind](tmp_path, eeg), ReadOptions())
    assert canary not in repr(found)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("keep", [0.0, 0.02, 0.3])
def test_a_file_that_is_cut_off_is_refused_or_shorter(files, tmp_path, read_all, eeg, kind, keep):
    path = files.WRITERS[kind](tmp_path, eeg)
    for part in (path, path.with_suffix(".dat")):
        if part.is_file():
            data = part.read_bytes()
            part.write_bytes(data[: int(len(data) * keep)])
    try:
        _, read = read_all(path)
    except RecordingError:
        return
    assert kind in ("persyst", "micromed")  # these count their samples by the file's length
    assert 0 < read.shape[1] < N_TIMES
    close(read, eeg[:2, : read.shape[1]])


@pytest.mark.parametrize("seconds", [(3600.0, 3604.0), (86_398.0, 2.0)])
def test_persyst_without_gap(files, tmp_path, read_all, eeg, seconds):
    path = files.write_persyst(tmp_path, eeg, times=((0, seconds[0]), (1000, seconds[1])))
    assert len(read_all(path)[0].segments) == 1


def test_a_gap_of_persyst(files, tmp_path, read_all, eeg):
    path = files.write_persyst(tmp_path, eeg, times=((0, 3600.0), (1000, 3664.0)), kind=7)
    recording, read = read_all(path)
    assert [s.n_times for s in recording.segments] == [1000, 2000]
    close(read, eeg[:2])


def test_persyst_as_mne_reads_it(files, tmp_path, read_all, eeg):
    import mne

    path = files.write_persyst(tmp_path, eeg)
    path.write_text(path.read_text().replace("C:\\somewhere\\", ""))
    raw = mne.io.read_raw_persyst(path, verbose="CRITICAL")
    np.testing.assert_allclose(read_all(path)[1], raw.get_data(["FP1", "T3"]) * 1e6, rtol=1e-5)


def test_persyst_needs_its_samples_and_a_header(files, tmp_path, read_all, eeg):
    path = files.write_persyst(tmp_path, eeg, patient="")
    close(read_all(path)[1], eeg[:2])
    (tmp_path / "a.dat").rename(tmp_path / "b.dat")
    with pytest.raises(RecordingError, match="the same folder"):
        read_all(path)
    path.write_text(path.read_text().replace("Calibration=0.1", "Calibration=nan"))
    with pytest.raises(RecordingError, match="a Persyst header"):
        read_all(path)


def test_units_of_micromed(files, tmp_path, read_all, eeg):
    close(read_all(files.write_micromed(tmp_path, eeg, unit=-1), unit_override="uV")[1], eeg[:2])
    with pytest.raises(RecordingError, match="a unit of voltage"):
        read_all(files.write_micromed(tmp_path, eeg, unit=77))
    with pytest.raises(RecordingError, match="typical amplitude"):
        read_all(files.write_micromed(tmp_path, eeg, unit=1))


def test_gaps_of_micromed(files, tmp_path, read_all, eeg):
    path = files.write_micromed(tmp_path, eeg, gaps=((5, 0), (9000, 1200)))
    recording, read = read_all(path)
    assert [s.n_times for s in recording.segments] == [1200, 1800]
    close(read, eeg[:2])


def test_micromed_as_neo_reads_it(files, tmp_path, read_all, eeg):
    neo = pytest.importorskip("neo.rawio")
    path = files.write_micromed(tmp_path, eeg)
    reader = neo.MicromedRawIO(str(path))
    reader.parse_header()
    chunk = reader.get_analogsignal_chunk(0, 0, 0, N_TIMES, stream_index=0)
    theirs = reader.rescale_signal_raw_to_float(chunk, "float64", stream_index=0)
    np.testing.assert_allclose(read_all(path)[1], theirs[:, :2].T, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "unit"),
    [("1.25", "uV"), ("1.25", "mV"), ("1.25", "nV"), ("2.20", 4275), ("2.20", 4274),
     ("2.20", 4276)],
)  # fmt: skip
def test_units_of_gdf(files, tmp_path, read_all, eeg, version, unit):
    """Values of a size that the unit makes EEG; mne takes mV and nV of GDF for volts."""
    path = files.write_gdf(tmp_path, eeg, unit=unit, version=version)
    if unit in ("uV", 4275):
        close(read_all(path)[1], eeg[:2])
    else:
        with pytest.raises(RecordingError, match="typical amplitude"):
            read_all(path)


@pytest.mark.slow
@pytest.mark.parametrize(("version", "unit"), [("1.25", ""), ("1.25", "bits"), ("2.20", 512)])
def test_unknown_units_of_gdf(files, tmp_path, read_all, eeg, version, unit):
    path = files.write_gdf(tmp_path, eeg, unit=unit, version=version)
    with pytest.raises(RecordingError, match="a unit of voltage"):
        read_all(path)
    close(read_all(path, unit="uV")[1], eeg[:2])


@pytest.mark.slow
def test_segments_and_rates_of_gdf(files, tmp_path, read_all, eeg):
    path = files.write_gdf(tmp_path, eeg, segments=(1, 1001))
    assert [s.n_times for s in read_all(path)[0].segments] == [1000, 2000]


@pytest.mark.slow
def test_signals_of_gdf_with_other_rates(files, tmp_path, read_all, codes, eeg):
    """mne brings all signals to the fastest rate; EEG is taken only where that is its own."""
    recording, read = read_all(files.write_gdf(tmp_path, eeg, samples=(250, 250, 125)))
    assert (recording.ch_names, recording.sfreq) == (("Fp1", "T7"), 250.0)
    close(read, eeg[:2])
    recording, read = read_all(files.write_gdf(tmp_path, eeg, samples=(250, 125, 125)))
    assert recording.ch_names == ("Fp1",)
    assert "unusable_channel" in codes(recording)
    close(read, eeg[:1])
    with pytest.raises(RecordingError, match="the EEG is the fastest"):
        read_all(files.write_gdf(tmp_path, eeg, samples=(250, 250, 500)))


@pytest.mark.slow
def test_neuroscan_with_32_bits(files, tmp_path, read_all, eeg):
    close(read_all(files.write_neuroscan(tmp_path, eeg, "<i4"))[1], eeg[:2])


@pytest.mark.slow
@pytest.mark.parametrize("version", [2, 4])
def test_egi_needs_names_and_knows_its_unit(files, tmp_path, read_all, two, version):
    path = files.write_egi(tmp_path, two, version)
    with pytest.raises(RecordingError, match="EEG channels of the montage"):
        read_all(path)
    recording, read = read_all(path, file_channels=("Cz", "O1"))
    assert set(recording.ch_names) == {"Cz", "O1"}
    order = [("Cz", "O1").index(name) for name in recording.ch_names]
    close(read, two[order])


@pytest.mark.slow
def test_blocks_of_nihon_kohden_are_apart(files, tmp_path, read_all, eeg):
    path = files.write_nihon_kohden(tmp_path, eeg, blocks=(1025, 1975))
    recording, read = read_all(path)
    assert [s.n_times for s in recording.segments] == [1025, 1975]
    close(read, eeg[:2])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not tell the spellings apart")
def test_names_of_nihon_kohden_in_small_letters_and_absent(files, tmp_path, read_all, codes, eeg):
    path = files.write_nihon_kohden(tmp_path, eeg, names="a.21e")
    assert read_all(path)[0].ch_names == ("Fp1", "T7")
    (tmp_path / "a.21e").unlink()
    recording, _ = read_all(path)
    assert recording.ch_names == ("F3", "F4", "C3")  # places 2 to 4 of the factory's names
    assert "factory_names" in codes(recording)


def test_a_brain_vision_signal_is_no_recording_of_its_own(tmp_path):
    from neuroveil.recordings.formats import may_be_recording

    (tmp_path / "a.vhdr").write_text("x")
    assert not may_be_recording(tmp_path / "a.eeg")
    assert may_be_recording(tmp_path / "b.eeg")
    assert not may_be_recording(tmp_path / "a.dat")
    (tmp_path / "c.dap").write_text("x")
    assert may_be_recording(tmp_path / "c.dat")


def test_a_library_that_is_not_there_is_named_by_its_extra(tmp_path, monkeypatch):
    from neuroveil.recordings.readers import READERS, open_directly

    monkeypatch.setitem(READERS, "ant", ("ANT Neuro", "no_such_module", "open"))
    with pytest.raises(RecordingError, match="extra 'formats'") as caught:
        open_directly("ant", tmp_path / "a.cnt", ReadOptions())
    assert caught.value.code == "library_missing"


def test_nothing_stays_behind(files, tmp_path, read_all, eeg, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    path = files.write_micromed(tmp_path, eeg)
    read_all(path)
    assert [p.name for p in tmp_path.iterdir()] == ["a.TRC"]


def test_a_file_that_claims_to_be_endless(tmp_path, read_all, eeg):
    """An HDF5 array that was never filled: a petabyte of nothing in two kilobytes."""
    import h5py

    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("data", (3, 10**13), "f4", chunks=(3, 1000))
        file["labels"], file["fs"], file["unit"] = ["Fp1", "Cz", "O1"], 250.0, "uV"
    with pytest.raises(RecordingError, match="unfolds"):
        read_all(path)


def test_time_on_the_clock_is_the_machines(files, tmp_path, read_all, eeg, monkeypatch):
    """It may be short because of other files, so it says nothing about this one."""
    monkeypatch.setattr("neuroveil.recordings.apart.MAX_SECONDS", 0.01)
    with pytest.raises(MachineError, match="took too long"):
        read_all(files.write_micromed(tmp_path, eeg))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of processor time")
def test_processor_time_is_the_files(files, tmp_path, monkeypatch):
    """A reader that is kept busy hits its limit, whatever else the machine does."""
    monkeypatch.setattr("neuroveil.recordings.apart.MAX_CPU_SECONDS", 1)
    path = files.write_micromed(tmp_path, np.random.default_rng(11).normal(0, 20, (3, 200_000)))
    with opened_recording(path, ReadOptions()) as recording:
        (segment,) = recording.segments
        with pytest.raises(RecordingError, match="too much time") as caught:
            collections.deque((segment.read(0, segment.n_times) for _ in range(5000)), maxlen=0)
    assert caught.value.code == "reader_failed"


def test_a_header_of_another_type(files, tmp_path, read_all, eeg):
    path = files.write_micromed(tmp_path, eeg)
    data = bytearray(path.read_bytes())
    data[175] = 2
    path.write_bytes(bytes(data))
    with pytest.raises(RecordingError, match="header type 4"):
        read_all(path)
    data[175] = 4
    struct.pack_into("<I", data, 138, 1 << 31)
    path.write_bytes(bytes(data))
    with pytest.raises(RecordingError, match="fits its file"):
        read_all(path)
