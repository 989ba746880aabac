"""MAT (5 and 7.3) and HDF5 files: what is the signal, which axis, which unit."""

from __future__ import annotations

import struct
import sys
import zlib

import h5py
import numpy as np
import pytest
import scipy.io

from neuroveil.errors import RecordingError
from neuroveil.recordings import ReadOptions, inspect_recording, opened_recording
from neuroveil.recordings.readers import open_directly

pytestmark = pytest.mark.usefixtures("here")

NAMES = ["EEG Fp1-REF", "EEG T3-REF", "ECG"]
N_TIMES = 6000


@pytest.fixture
def eeg():
    return np.random.default_rng(5).normal(0, 20, (3, N_TIMES))


def cell(texts):
    return np.array(texts, dtype=object)


def put_char(group, name, text):
    item = group.create_dataset(name, data=np.array([[ord(c)] for c in text], np.uint16))
    item.attrs["MATLAB_class"] = np.bytes_("char")
    return item


def put_double(group, name, values):
    item = group.create_dataset(name, data=np.atleast_2d(np.asarray(values)).T)
    item.attrs["MATLAB_class"] = np.bytes_("double")
    return item


def put_cell(file, group, name, texts):
    references = file.require_group("#refs#")
    items = [put_char(references, f"{name}{i}", text) for i, text in enumerate(texts)]
    cells = np.array([[item.ref] for item in items], dtype=h5py.ref_dtype)
    group.create_dataset(name, data=cells).attrs["MATLAB_class"] = np.bytes_("cell")


def write_mat5(path, variables):
    scipy.io.savemat(path, variables, do_compression=True)


def write_mat73(path, variables):
    """Write as MATLAB does: columns first, text as numbers, cells as references."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, value in variables.items():
            if isinstance(value, str):
                put_char(file, name, value)
            elif isinstance(value, np.ndarray) and value.dtype == object:
                put_cell(file, file, name, list(value))
            else:
                put_double(file, name, value)
    with path.open("r+b") as stream:
        stream.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")


def write_h5(path, variables):
    with h5py.File(path, "w") as file:
        for name, value in variables.items():
            if isinstance(value, np.ndarray) and value.dtype == object:
                file.create_dataset(name, data=list(value), dtype=h5py.string_dtype())
            else:
                file[name] = value


WRITERS = {"mat": write_mat5, "73.mat": write_mat73, "h5": write_h5}


@pytest.fixture(params=["mat", "73.mat", "h5"])
def write(request, tmp_path):
    def write(variables):
        path = tmp_path / f"a.{request.param}"
        WRITERS[request.param](path, variables)
        return path

    return write


KEYS = [
    {"data": 0, "fs": 1, "labels": 2, "unit": 3}, {"EEG": 0, "srate": 1, "chans": 2, "units": 3},
    {"X": 0, "sfreq": 1, "ch_names": 2, "ch_units": 3},
    {"signal": 0, "Fs": 1, "channels": 2, "unit": 3},
    {"RawData": 0, "SamplingRate": 1, "Channel_Names": 2, "Units": 3},
    {"patient7": 0, "sampling_frequency": 1, "electrodes": 2, "unit": 3},
]  # fmt: skip


@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("turned", [False, True])
def test_any_sensible_key_and_either_orientation(write, read_all, eeg, keys, turned):
    values = [eeg.T if turned else eeg, 250.0, cell(NAMES), "uV"]
    recording, read = read_all(write({key: values[i] for key, i in keys.items()}))
    assert recording.ch_names == ("Fp1", "T7")
    assert recording.sfreq == 250.0
    np.testing.assert_allclose(read, eeg[:2], rtol=1e-6)


def test_stretches_equal_the_whole(apart, write, eeg):
    path = write({"data": eeg, "fs": 250.0, "labels": cell(NAMES), "unit": "uV"})
    with opened_recording(path, ReadOptions()) as recording:
        for start, stop in [(0, 1), (17, 4000), (5999, 6000), (5, 5)]:
            read = recording.segments[0].read(start, stop)
            np.testing.assert_allclose(read, eeg[:2, start:stop], rtol=1e-6)


def test_volts(write, read_all, eeg):
    path = write({"data": eeg * 1e-6, "fs": 250.0, "labels": cell(NAMES), "unit": "V"})
    np.testing.assert_allclose(read_all(path)[1], eeg[:2], rtol=1e-6)


@pytest.mark.parametrize(
    ("without", "words", "options"),
    [("unit", "a unit of voltage", {"unit": "uV"}), ("fs", "a sampling rate", {"sfreq": 250.0}),
     ("labels", "names of the channels", {"file_channels": tuple(NAMES)})],
)  # fmt: skip
def test_what_a_file_does_not_state_the_study_must(write, read_all, eeg, without, words, options):
    variables = {"data": eeg, "fs": 250.0, "labels": cell(NAMES), "unit": "uV"}
    del variables[without]
    path = write(variables)
    with pytest.raises(RecordingError, match=words):
        read_all(path)
    recording, read = read_all(path, **options)
    assert (recording.ch_names, recording.sfreq) == (("Fp1", "T7"), 250.0)
    np.testing.assert_allclose(read, eeg[:2], rtol=1e-6)


def test_volts_taken_for_microvolts_are_refused(write, read_all, eeg):
    path = write({"data": eeg * 1e-6, "fs": 250.0, "labels": cell(NAMES)})
    with pytest.raises(RecordingError, match="typical amplitude"):
        read_all(path, unit="uV")


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"data": np.ones((2, 6000)), "labels": cell(NAMES)}, "neither axis"),
        ({"data": np.ones((3, 3)), "labels": cell(NAMES)}, "both axes"),
        ({"data": np.ones((3, 600)), "eeg": np.ones((3, 600)), "labels": cell(NAMES)},
         "2 that could be"),
        ({"data": np.ones((3, 600)), "labels": cell(NAMES), "fs": 250.0, "srate": 500.0},
         "2 that differ"),
        ({"fs": 250.0, "labels": cell(NAMES)}, "none in the file"),
        ({"data": np.ones((3, 600)), "labels": cell(NAMES), "unit": cell(["uV", "uV"]),
          "fs": 250.0}, "one unit, or 3"),
    ],
)  # fmt: skip
def test_nothing_is_guessed(write, read_all, variables, words):
    with pytest.raises(RecordingError, match=words):
        read_all(write(variables), unit="uV")


def test_integers_with_a_gain(write, read_all, eeg):
    counts = np.round(eeg / 0.1).astype(np.int16)
    variables = {"data": counts, "fs": 250.0, "labels": cell(NAMES), "unit": "uV"}
    for gain in (0.1, np.array([0.1, 0.1, 0.5])):
        read = read_all(write(variables | {"gain": gain}))[1]
        np.testing.assert_allclose(read, counts[:2] * 0.1, rtol=1e-6)
    with pytest.raises(RecordingError, match="other than zero"):
        read_all(write(variables | {"gain": np.array([0.1, 0.0, 0.5])}))


def test_a_gain_beside_physical_values_is_not_applied_twice(write, read_all, codes, eeg):
    variables = {"data": eeg, "fs": 250.0, "labels": cell(NAMES), "unit": "uV", "gain": 24.0}
    recording, read = read_all(write(variables))
    np.testing.assert_allclose(read, eeg[:2], rtol=1e-6)
    assert codes(recording) == {"gain_not_applied"}


def test_one_channel(write, read_all, eeg):
    path = write({"data": eeg[:1], "fs": 250.0, "label": "EEG Cz", "unit": "uV"})
    np.testing.assert_allclose(read_all(path)[1], eeg[:1], rtol=1e-6)


def test_struct_fields_of_mat5(tmp_path, read_all, eeg):
    path = tmp_path / "a.mat"
    struct = {"recording": {"data": eeg, "info": {"fs": 250.0}, "name": "CANARY",
                            "channels": {"name": cell(NAMES)}, "units": "uV"}}  # fmt: skip
    scipy.io.savemat(path, struct)
    assert read_all(path)[0].ch_names == ("Fp1", "T7")


def test_char_arrays_with_padding(tmp_path, read_all, eeg):
    path = tmp_path / "a.mat"
    rows = np.array(["Fp1 ", "T3  ", "ECG "])
    scipy.io.savemat(path, {"data": eeg, "fs": 250, "labels": rows, "unit": "uV"})
    assert read_all(path)[0].ch_names == ("Fp1", "T7")


PADDED = [np.array([b"Fp1\x00\x00\x00", b"T3    ", b"ECG"], "S6"), ["Fp1  ", " T3", "ECG"]]


@pytest.mark.parametrize("labels", PADDED)
def test_padded_labels_of_hdf5(tmp_path, read_all, eeg, labels):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["data"], file["labels"], file["fs"], file["unit"] = eeg, labels, 250.0, "uV"
    assert read_all(path)[0].ch_names == ("Fp1", "T7")


def test_char_matrices_of_matlab_7_3(tmp_path, read_all, eeg):
    path = tmp_path / "a.mat"
    rows = ["Fp1 ", "T3  ", "ECG\x00"]
    with h5py.File(path, "w") as file:
        put_double(file, "data", eeg)
        put_double(file, "fs", 250.0)
        put_char(file, "unit", "uV")
        codes = np.array([[ord(letter) for letter in row] for row in rows], np.uint16).T
        file.create_dataset("labels", data=codes).attrs["MATLAB_class"] = np.bytes_("char")
    assert read_all(path)[0].ch_names == ("Fp1", "T7")


def test_struct_arrays_of_mat5(tmp_path, read_all, eeg):
    """One struct a channel, with names and units."""
    channels = np.zeros(3, dtype=[("name", object), ("unit", object)])
    channels["name"], channels["unit"] = NAMES, ["uV", "uV", "mV"]
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, {"eeg": {"data": eeg, "fs": 250.0, "channels": channels}})
    recording, read = read_all(path)
    assert recording.ch_names == ("Fp1", "T7")
    np.testing.assert_allclose(read, eeg[:2], rtol=1e-6)


def test_16_bit_samples_of_matlab_7_3_with_a_gain_a_channel(tmp_path, read_all, eeg):
    path = tmp_path / "a.mat"
    counts = np.round(eeg / 0.1).astype(np.int16)
    write_mat73(path, {"labels": cell(NAMES), "fs": 250.0, "unit": "uV",
                       "gain": np.array([0.1, 0.2, 0.5])})  # fmt: skip
    with h5py.File(path, "a") as file:
        file.create_dataset("data", data=counts.T).attrs["MATLAB_class"] = np.bytes_("int16")
    np.testing.assert_allclose(read_all(path)[1], counts[:2] * [[0.1], [0.2]], rtol=1e-6)


def test_one_text_with_commas(tmp_path, read_all, eeg):
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, {"data": eeg, "fs": 250, "labels": "Fp1, T3, ECG", "unit": "uV"})
    assert read_all(path)[0].ch_names == ("Fp1", "T7")


@pytest.mark.slow
@pytest.mark.parametrize("version", ["v7", "v7.3"])
@pytest.mark.parametrize("shape", [(3, 1), (1, 3)])
def test_matlab_strings(apart, tmp_path, read_all, eeg, version, shape):
    matio = pytest.importorskip("matio")
    path = tmp_path / "a.mat"
    texts = np.array(NAMES, np.dtypes.StringDType()).reshape(shape)
    unit = np.array(["uV"], np.dtypes.StringDType())
    matio.save_to_mat(
        str(path), {"data": eeg, "fs": 250.0, "labels": texts, "unit": unit}, version=version
    )
    recording, read = read_all(path)
    assert recording.ch_names == ("Fp1", "T7")
    np.testing.assert_allclose(read, eeg[:2], rtol=1e-6)


@pytest.mark.parametrize("installed", [True, False])
def test_matlab_strings_that_make_no_sense_are_refused_with_a_way_out(
    tmp_path, read_all, eeg, monkeypatch, installed
):
    path = tmp_path / "a.mat"
    with h5py.File(path, "w") as file:
        put_double(file, "data", eeg)
        put_double(file, "fs", 250.0)
        file.create_group("#subsystem#")
        names = file.create_dataset("labels", data=np.array([[1, 2, 3, 4, 5, 6]], np.uint32))
        names.attrs["MATLAB_class"] = np.bytes_("string")
    if not installed:
        monkeypatch.setitem(sys.modules, "matio", None)
    with pytest.raises(RecordingError, match="cellstr"):
        open_directly("hdf5", path, ReadOptions(unit="uV"))


@pytest.mark.parametrize("kind", [np.bytes_, str])
def test_hdf5_attributes(tmp_path, read_all, eeg, kind):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        group = file.create_group("session/one")
        data = group.create_dataset("eeg", data=eeg.T, chunks=(500, 3), compression="gzip")
        data.attrs["sampling_rate"], data.attrs["unit"] = 250, kind("uV")
        group.attrs["ch_names"] = [kind(name) for name in NAMES]
    recording, read = read_all(path)
    assert (recording.ch_names, recording.sfreq) == (("Fp1", "T7"), 250.0)
    np.testing.assert_allclose(read, eeg[:2], rtol=1e-6)


def test_hdf5_does_not_follow_links_out_of_the_file(tmp_path, read_all, eeg):
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["data"] = eeg
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["data"] = h5py.ExternalLink("other.h5", "/data")
        file["labels"], file["fs"], file["unit"] = NAMES, 250.0, "uV"
    with pytest.raises(RecordingError, match="none in the file"):
        read_all(tmp_path / "a.h5")


def test_the_signal_of_hdf5_is_not_loaded_to_look_at_it(apart, write, eeg):
    found = inspect_recording(
        write({"data": eeg, "fs": 250.0, "labels": cell(NAMES), "unit": "uV"}), ReadOptions()
    )
    assert (found.seconds, found.n_file_channels) == (24.0, 3)
    assert found.file_format in {"MATLAB", "MATLAB 7.3", "HDF5"}


@pytest.mark.parametrize("name", ["a.mat", "a.h5", "a.set"])
@pytest.mark.parametrize(
    "start",
    [b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM", b"\x89HDF\r\n\x1a\n", b"PK\x03\x04"],
)
def test_damaged_files_are_refused(apart, tmp_path, read_all, canary, name, start):
    path = tmp_path / name
    path.write_bytes(start + canary.encode() * 100)
    with pytest.raises(RecordingError) as caught:
        read_all(path)
    assert canary not in str(caught.value)


@pytest.mark.slow
def test_a_file_that_crashes_its_reader_costs_that_file_only(apart, tmp_path, read_all, eeg):
    """Overwritten sizes and types; some kill scipy 1.17 by a segmentation fault."""
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, {"data": eeg, "fs": 250.0, "labels": cell(NAMES), "unit": "uV"})
    good = path.read_bytes()
    refused = 0
    for position in range(136, 200, 8):
        path.write_bytes(good[:position] + b"\xff\xff\xff\x7f" + good[position + 4 :])
        try:
            read_all(path)
        except RecordingError:
            refused += 1
    assert refused > 2


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of address space")
def test_a_small_file_that_unfolds_to_gigabytes_hits_the_limit(
    apart, tmp_path, read_all, monkeypatch
):
    """600 MB of zeros in a file of 3 MB, against a limit of 700 MB with the reader itself."""
    n = 600_000_000
    body = struct.pack("<8I", 6, 8, 6, 0, 5, 8, 3, n // 3) + struct.pack("<HH4s", 1, 4, b"data")
    body += struct.pack("<2I", 2, n)  # stored as bytes
    packer = zlib.compressobj(1)
    packed = packer.compress(struct.pack("<2I", 14, len(body) + n) + body)
    packed += b"".join(packer.compress(bytes(n // 100)) for _ in range(100)) + packer.flush()
    path = tmp_path / "a.mat"
    path.write_bytes(
        b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + struct.pack("<2I", 15, len(packed))
        + packed
    )  # fmt: skip
    assert path.stat().st_size < 4_000_000
    monkeypatch.setattr("neuroveil.recordings.apart.MAX_BYTES", 700 << 20)
    with pytest.raises(RecordingError, match="MemoryError"):
        read_all(path, file_channels=("Fp1", "Fp2", "Cz"), sfreq=250.0, unit="uV")
