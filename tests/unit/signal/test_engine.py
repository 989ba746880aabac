"""How the engine reads: any source, any length, flat memory, few imports."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field

import numpy as np
import pytest

from neuroveil.errors import RecordingError
from neuroveil.signal import RejectionSettings, SignalSettings, extract_features
from neuroveil.types.recording import ArraySource, QualityFinding, Recording

OFF = SignalSettings(rejection=RejectionSettings(enabled=False))


@dataclass
class Watched:
    """A source that remembers what it was asked for."""

    values: np.ndarray
    asked: list[tuple[int, int]] = field(default_factory=list)

    @property
    def n_channels(self):
        return self.values.shape[0]

    @property
    def n_times(self):
        return self.values.shape[1]

    def read(self, start, stop):
        assert 0 <= start <= stop <= self.n_times
        self.asked.append((start, stop))
        return self.values[:, start:stop]


@pytest.mark.parametrize("n_times", [0, 1, 2, 100, 511])
@pytest.mark.parametrize("settings", [SignalSettings(), OFF, SignalSettings(preset="paper")])
def test_a_recording_shorter_than_a_window_gives_nothing(make_recording, n_times, settings):
    found = extract_features(make_recording([np.ones((3, n_times))], 256.0), settings)
    assert found.counts.shape == (3, 11)
    assert (found.counts == 0).all()
    assert found.n_windows == found.n_windows_kept == 0
    assert "too_short" in [finding.code for finding in found.findings]


def test_no_segment_and_no_channel_give_nothing():
    nothing = extract_features(Recording(("Fp1",), (), 256.0, ()), SignalSettings())
    assert (nothing.counts == 0).all()
    source = ArraySource(np.zeros((0, 5000), dtype=np.float32))
    for settings in (SignalSettings(), OFF):
        empty = extract_features(Recording((), (), 256.0, (source,)), settings)
        assert empty.sums.shape == (0, 11)
        assert empty.n_windows == 18
        assert empty.n_windows_kept == 0


def test_windows_never_cross_segments(noise, make_recording):
    values = noise(1, 3, 10.0, 256.0)
    parts = [values[:, :700], values[:, 700:1100], values[:, 1100:]]
    found = extract_features(make_recording(parts, 256.0), SignalSettings())
    assert found.n_windows == 1 + 0 + 4
    assert ("short_segment", 1) in [(each.code, each.count) for each in found.findings]


def test_findings_of_the_reader_come_first(noise, make_recording):
    told = QualityFinding("unit_guessed", "Something the reader noticed.")
    recording = make_recording([noise(1, 3, 10.0, 256.0)], 256.0, findings=(told,))
    assert extract_features(recording, SignalSettings()).findings == (told,)


def test_a_long_recording_is_read_in_pieces(noise):
    source = Watched(noise(1, 2, 300.0, 250.0).astype(np.float32))
    recording = Recording(("Cz", "Pz"), (), 250.0, (source,))
    extract_features(recording, OFF, block_seconds=20.0)
    longest = max(stop - start for start, stop in source.asked)
    assert longest <= 40 * 250
    assert len(source.asked) >= 10


def test_progress_rises_to_one(noise, make_recording):
    values = noise(1, 3, 100.0, 256.0)
    values[0, 20_000] = np.nan
    for settings in (SignalSettings(), OFF):
        seen: list[float] = []
        extract_features(make_recording([values], 256.0), settings, seen.append, 20.0)
        assert seen == sorted(seen)
        assert len(seen) > 5
        assert seen[-1] == 1.0


def test_a_source_that_gives_less_than_it_promised_is_refused(noise):
    class Short(Watched):
        def read(self, start, stop):
            return self.values[:, start : max(start, stop - 5)]

    recording = Recording(("Cz", "Pz"), (), 256.0, (Short(noise(1, 2, 10.0, 256.0)),))
    with pytest.raises(RecordingError, match="shorter than its header"):
        extract_features(recording, SignalSettings())


def test_a_segment_with_other_channels_is_refused(noise):
    source = ArraySource(noise(1, 3, 10.0, 256.0).astype(np.float32))
    with pytest.raises(RecordingError, match="2 channels in every segment"):
        extract_features(Recording(("Cz", "Pz"), (), 256.0, (source,)), SignalSettings())


def test_the_recording_is_left_as_it_was(noise):
    values = noise(1, 3, 30.0, 256.0).astype(np.float32)
    values[0, 3000:3100] = np.nan
    before = values.copy()
    values.setflags(write=False)
    extract_features(Recording(("Cz", "Pz"), ("EOG",), 256.0, (ArraySource(values),)), OFF)
    np.testing.assert_array_equal(values, before)


def in_a_new_process(script: str) -> str:
    """Run a script with one thread and give what it prints."""
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True, text=True, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    return result.stdout.strip()


def test_extraction_imports_numpy_and_scipy_fft_only():
    """What scipy.fft loads by itself differs: from SciPy 1.18 on, scipy.linalg belongs to it."""
    loaded = in_a_new_process("""
        import sys
        import numpy as np
        import scipy.fft
        before = set(sys.modules)
        from neuroveil.signal import SignalSettings, extract_features
        from neuroveil.types.recording import ArraySource, Recording
        values = np.random.default_rng(0).standard_normal((3, 5000)).astype(np.float32)
        extract_features(Recording(("a", "b"), ("e",), 500.0, (ArraySource(values),)),
                         SignalSettings())
        heavy = ("scipy.signal", "scipy.stats", "scipy.linalg", "scipy.sparse", "pandas", "mne",
                 "matplotlib", "pydantic", "sklearn")
        print([name for name in heavy if name in sys.modules and name not in before])
    """)
    assert loaded == "[]"


def test_settings_do_not_load_the_engine():
    loaded = in_a_new_process("""
        import sys
        import neuroveil.signal.settings
        print([name for name in ("numpy.fft", "scipy", "scipy.fft") if name in sys.modules])
    """)
    assert loaded == "[]"


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak memory from /proc")
def test_memory_does_not_grow_with_the_recording():
    """A recording made up while it is read: six hours of 33 channels at 500 Hz."""
    script = """
        import re
        from pathlib import Path
        import numpy as np
        from neuroveil.signal import SignalSettings, extract_features
        from neuroveil.types.recording import Recording

        class Endless:
            n_channels = 33
            n_times = 500 * 60 * {minutes}
            noise = np.random.default_rng(0).standard_normal((33, 2**17), dtype=np.float32)
            def read(self, start, stop):
                first = start % 60_000
                return self.noise[:, first : first + stop - start] * np.float32(10)

        recording = Recording(tuple(str(i) for i in range(33)), (), 500.0, (Endless(),))
        extract_features(recording, SignalSettings())
        # unlike getrusage this leaves the memory of the process out that started this one
        print(int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024)
    """
    short, long = (float(in_a_new_process(script.format(minutes=each))) for each in (10, 360))
    assert long < 200
    assert long - short < 20
