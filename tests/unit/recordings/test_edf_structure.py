"""EDF and BDF files as odd as clinics make them: each is read right or refused clearly."""

from __future__ import annotations

import numpy as np
import pytest

from neuroveil.errors import RecordingError
from neuroveil.recordings import ReadOptions, inspect_recording, opened_recording

FP1 = ("Fp1",)


@pytest.fixture
def fp1(signal):
    return signal("EEG Fp1-REF", 1280)


def cut(n):
    return lambda data: data[:-n]


@pytest.mark.parametrize(("kind", "suffix"), [("EDF", "edf"), ("BDF", "bdf"), ("EDF", "rec")])
def test_values_come_back_in_microvolts(signal, write_edf, read_all, codes, kind, suffix):
    channels = [signal("EEG Fp1", 1280), signal("EEG T3", 1280), signal("ECG", 1280)]
    recording, values = read_all(write_edf(channels, kind=kind, name=f"a.{suffix}"))
    assert recording.ch_names == ("Fp1", "T7")
    assert recording.sfreq == 256.0
    assert values.dtype == np.float32
    np.testing.assert_allclose(values, [c.values for c in channels[:2]], atol=0.051)
    assert codes(recording) == set()
    assert sum(f.code == "missing_channel" for f in recording.findings) == 17


def test_bdf_keeps_24_bits(signal, write_edf, read_all):
    steps = np.arange(-640, 640) * 12345.0
    channel = signal("Fp1", steps * 1e-4, physical=(-800, 800),
                     digital=(-8388608, 8388607))  # fmt: skip
    _, values = read_all(write_edf([channel], kind="BDF"), channels=FP1)
    np.testing.assert_allclose(values[0], steps * 1e-4, rtol=3e-7, atol=1e-4)


@pytest.mark.parametrize(
    "case",
    [("-1", "record_count_unknown", 5), ("0", "record_count_unknown", 5), ("9", "truncated", 5),
     ("3", "data_beyond_end", 3), ("5", None, 5)],
)  # fmt: skip
def test_wrong_record_counts(fp1, write_edf, read_all, codes, case):
    declared, code, n_records = case
    path = write_edf([fp1], header={"n_records": declared.encode()})
    recording, values = read_all(path, channels=FP1)
    assert values.shape[1] == 256 * n_records
    assert codes(recording) == ({code} if code else set())


def test_a_file_cut_inside_a_record_loses_that_record_only(fp1, write_edf, read_all, codes):
    recording, values = read_all(write_edf([fp1], change=cut(100)), channels=FP1)
    assert values.shape[1] == 1024
    assert codes(recording) == {"truncated"}


@pytest.mark.parametrize(
    ("seconds", "samples", "sfreq"),
    [("0.999", 256, 256 / 0.999), ("2", 512, 256.0), ("100", 640, 6.4), ("1", 173, 173.0),
     ("0,5", 128, 256.0), ("23.6", 4097, 4097 / 23.6), (".25", 64, 256.0), ("1E0", 256, 256.0)],
)  # fmt: skip
def test_record_durations_and_odd_rates(signal, write_edf, read_all, seconds, samples, sfreq):
    n = samples * max(1, 1280 // samples)
    recording, values = read_all(
        write_edf([signal("Cz", n)], samples=samples, record_seconds=seconds), channels=("Cz",)
    )
    assert recording.sfreq == pytest.approx(sfreq, rel=1e-12)
    assert values.shape[1] == n


def test_without_record_duration_the_study_gives_the_rate(fp1, write_edf, read_all):
    path = write_edf([fp1], record_seconds="0")
    with pytest.raises(RecordingError, match="sampling rate"):
        read_all(path, channels=FP1)
    assert read_all(path, channels=FP1, sfreq=256.0)[0].sfreq == 256.0


def test_signals_at_other_rates_leave_the_eeg_alone(signal, write_edf, read_all, codes):
    channels = [signal("SpO2", 5), signal("EEG Fp1", 1280), signal("ECG", 2560),
                signal("EEG Fp2", 1280), signal("EOG L", 2560)]  # fmt: skip
    recording, values = read_all(write_edf(channels, samples=[1, 256, 512, 256, 512]))
    assert recording.sfreq == 256.0
    assert recording.ch_names == ("Fp1", "Fp2")
    assert codes(recording) == {"eye_channel_left_out"}
    np.testing.assert_allclose(values[1], channels[3].values, atol=0.051)


def test_the_odd_one_out_among_eeg_channels_is_left_out(signal, write_edf, read_all, codes):
    channels = [signal("Fp1", 1280), signal("Fp2", 1280), signal("Cz", 640)]
    recording, _ = read_all(write_edf(channels, samples=[256, 256, 128]))
    assert recording.ch_names == ("Fp1", "Fp2")
    assert codes(recording) == {"different_rates"}


def test_eye_channels_stand_behind_the_eeg(signal, write_edf, read_all):
    channels = [signal("EOG Left", 1280), signal("Fp1", 1280), signal("LOC", 1280)]
    recording, values = read_all(write_edf(channels))
    assert recording.eog_names == ("EOG1", "LOC")
    np.testing.assert_allclose(values[1], channels[0].values, atol=0.051)


def test_one_record_as_long_as_the_recording(signal, write_edf, read_all):
    channels = [
        signal(name, 300_000) for name in ("Fp1", "Fp2", "F3", "F4", "C3", "C4", "Cz", "Fz")
    ]
    path = write_edf(channels, samples=300_000, record_seconds="1000")
    recording, values = read_all(path)
    order = [
        ("Fp1", "Fp2", "F3", "F4", "C3", "C4", "Cz", "Fz").index(n) for n in recording.ch_names
    ]
    np.testing.assert_allclose(values, [channels[i].values for i in order], atol=0.051)
    with opened_recording(path, ReadOptions()) as recording:
        np.testing.assert_array_equal(recording.segments[0].read(1234, 5678), values[:, 1234:5678])


def test_any_stretch_equals_the_same_stretch_of_the_whole(signal, write_edf, read_all):
    path = write_edf([signal("Fp1", 1280), signal("Fp2", 1280)])
    _, whole = read_all(path)
    with opened_recording(path, ReadOptions()) as recording:
        segment = recording.segments[0]
        for start, stop in [(0, 1), (255, 257), (256, 512), (100, 1280), (7, 7), (1279, 1280)]:
            np.testing.assert_array_equal(segment.read(start, stop), whole[:, start:stop])
        for start, stop in [(-1, 5), (5, 4), (0, 1281)]:
            with pytest.raises(IndexError):
                segment.read(start, stop)


def test_three_hundred_channels(signal, write_edf, read_all):
    channels = [signal(f"X{i}", 512) for i in range(298)] + [signal("Cz", 512), signal("Pz", 512)]
    recording, _ = read_all(write_edf(channels))
    assert recording.ch_names == ("Cz", "Pz")


def test_the_first_usable_of_two_equal_labels_is_read(signal, write_edf, read_all, codes):
    channels = [signal("T8-P8", 1280), signal("-", 1280), signal("-", 1280),
                signal("T8-P8", np.zeros(1280))]  # fmt: skip
    recording, values = read_all(
        write_edf(channels), channels=("T8-P8", "FT9-FT10"), montage="bipolar"
    )
    assert recording.ch_names == ("T8-P8",)
    assert recording.montage == "bipolar"
    assert codes(recording) == {"duplicate_channel"}
    np.testing.assert_allclose(values[0], channels[0].values, atol=0.051)


def test_bipolar_files_are_refused_by_name_for_a_referential_montage(signal, write_edf, read_all):
    path = write_edf([signal("FP1-F7", 1280), signal("F7-T7", 1280), signal("ECG", 1280)])
    with pytest.raises(RecordingError, match=r"bipolar recording \(2 pairs"):
        read_all(path)
    with pytest.raises(RecordingError, match="1 are referential"):
        read_all(write_edf([signal("F7", 1280)]), channels=("F7-T7",), montage="bipolar")


def test_the_narrowest_stated_filters_count_and_the_study_may_know_better(
    signal, write_edf, read_all
):
    path = write_edf([
        signal("Fp1", 1280, prefiltering="HP:0.1Hz LP:70Hz"),
        signal("Fp2", 1280, prefiltering="HP:0.5Hz LP:45Hz"),
        signal("ECG", 1280, prefiltering="HP:5Hz LP:20Hz"),
    ])  # fmt: skip
    recording, _ = read_all(path)
    assert (recording.highpass_hz, recording.lowpass_hz) == (0.5, 45.0)
    recording, _ = read_all(path, highpass_hz=1.0, lowpass_hz=30.0)
    assert (recording.highpass_hz, recording.lowpass_hz) == (1.0, 30.0)


def test_mixed_references_are_noticed(signal, write_edf, read_all, codes):
    path = write_edf([signal("Fp1-REF", 1280), signal("Fp2-LE", 1280)])
    assert codes(read_all(path)[0]) == {"mixed_references"}


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda d: b"", "empty file"),
        (lambda d: d[:200], "a file of 200 bytes"),
        (lambda d: d[:300], "ends before"),
        (lambda d: d[:512], "at least one complete data record"),
        (lambda d: b"<!DOCTYPE html><html>" + b" " * 4000, "another kind"),
        (lambda d: b"\xd0\xcf\x11\xe0" + d, "another kind"),
        (lambda d: d[:184] + b"9999    " + d[192:], "9999 bytes stated"),
        (lambda d: d[:252] + b"0   " + d[256:], "0 signals"),
        (lambda d: d[:252] + b"-1  " + d[256:], "-1 signals"),
        (lambda d: d[:252] + b"ab  " + d[256:], "number of signals"),
        (lambda d: d[:236] + b"many    " + d[244:], "number of data records"),
        (lambda d: d[:472] + b"-256    " + d[480:], "negative"),
        (lambda d: d[:472] + b"0       " + d[480:], "signals with samples"),
    ],
)
def test_what_cannot_be_read_right_is_refused(fp1, write_edf, read_all, spoil, words):
    with pytest.raises(RecordingError, match=words) as caught:
        read_all(write_edf([fp1], change=spoil), channels=FP1, role="recording 3 of 41")
    assert caught.value.where == "recording 3 of 41"


def test_only_annotations_is_no_recording(write_edf, read_all):
    path = write_edf([], onsets=["+0", "+1", "+2"], variant="+C")
    with pytest.raises(RecordingError, match="none usable among 1 channels"):
        read_all(path)


def test_a_file_that_shrinks_while_it_is_read(fp1, write_edf):
    path = write_edf([fp1])
    with opened_recording(path, ReadOptions(channels=FP1)) as recording:
        path.write_bytes(path.read_bytes()[:700])
        with pytest.raises(RecordingError, match="EOFError"):
            recording.segments[0].read(1024, 1280)


def test_a_missing_file_is_named_by_its_role_only(tmp_path):
    with pytest.raises(RecordingError) as caught:
        inspect_recording(tmp_path / "surname.edf", ReadOptions(role="recording 1 of 2"))
    assert "surname" not in str(caught.value)
    assert "FileNotFoundError" in str(caught.value)


def test_the_summary_says_what_an_extraction_would_find(signal, write_edf):
    path = write_edf([signal("Fp1", 1280), signal("ECG", 1280), signal("HEOG", 1280)])
    found = inspect_recording(path, ReadOptions(channels=("Fp1", "Cz")))
    assert found.file_format == "EDF"
    assert (found.n_file_channels, found.ch_names, found.missing) == (3, ("Fp1",), ("Cz",))
    assert (found.sfreq, found.seconds, found.n_segments) == (256.0, 5.0, 1)
    assert found.eog_names == ("HEOG",)
