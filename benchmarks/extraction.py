"""The extraction engine against the straightforward notebook way, on one long recording.

Builds a recording (33 channels, 500 Hz, 30 min, EDF), then runs both ways in turn, each in a
process of its own: the notebook way of the paper (MNE-Python's FIR filter, scipy's filtfilt
notch, average reference, scipy.signal.welch a window and channel at a time, numpy features), and
neuroveil's engine with the same settings (preset ``paper``, rejection off). Prints medians,
ratios (of processor time too, which a busy machine changes less), peaks of memory, the largest
relative difference of the 363 features, and how the engine's time grows over many recordings on
all cores.

A zero crossing is there or not: where a sample lies on the mean of its window, the rounding of
either way decides, and one crossing more or less changes that channel's mean rate by 1e-5 (30
minutes) or 1e-4 (3 minutes) at a stroke. So the number of crossings that only one way counts is
stated, and the largest difference of the other features beside that of all::

    python benchmarks/extraction.py            # a few minutes
    python benchmarks/extraction.py --quick    # a 3-minute recording, under a minute
    python benchmarks/extraction.py --json     # one object on stdout, for machines
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

SFREQ = 500
CHANNELS = (
    "Fp1", "Fp2", "F7", "F3", "Fz", "F4", "F8", "FC5", "FC1", "FC2", "FC6",
    "T7", "C3", "Cz", "C4", "T8", "CP5", "CP1", "CP2", "CP6", "P7", "P3",
    "Pz", "P4", "P8", "PO3", "POz", "PO4", "O1", "Oz", "O2", "FCz", "CPz",
)  # fmt: skip
ZERO_CROSSINGS = 3
"""Its place among the features."""

BANDS = ((0.5, 4), (4, 8), (8, 13), (13, 30), (30, 45), (45, 70))


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    minutes: int
    repeats: int
    cohort: tuple[int, ...]


FULL = Size(minutes=30, repeats=3, cohort=(1, 10, 100))
QUICK = Size(minutes=3, repeats=2, cohort=(1, 4, 16))


def build_recording(path: Path, minutes: int) -> None:
    """Write noise with a 1/f spectrum, an alpha rhythm and mains as EDF."""
    import numpy as np
    from edfio import Edf, EdfSignal

    rng = np.random.default_rng(363)
    n_times = minutes * 60 * SFREQ
    times = np.arange(n_times) / SFREQ
    slope = 1 / np.sqrt(np.maximum(np.fft.rfftfreq(n_times, 1 / SFREQ), 0.5))
    signals = []
    for name in CHANNELS:
        spectrum = np.fft.rfft(rng.standard_normal(n_times)) * slope
        values = np.fft.irfft(spectrum, n_times)
        values *= 12 / values.std()
        values += 8 * np.sin(2 * np.pi * (10 * times + 0.3 * np.sin(0.2 * np.pi * times)))
        values += 5 * np.sin(2 * np.pi * 50 * times + rng.uniform(0, 6))
        signal = EdfSignal(
            values, SFREQ, label=f"EEG {name}", physical_dimension="uV", physical_range=(-400, 400)
        )
        signals.append(signal)
    Edf(signals).write(path)


def notebook_way(path: Path) -> tuple[Any, float]:
    """Features as a notebook computes them, shape (33, 11), and seconds without imports."""
    import mne
    import numpy as np
    from scipy import signal

    start = time.perf_counter()
    raw = mne.io.read_raw_edf(path, preload=True, verbose="error")
    raw.filter(0.5, 70.0, fir_design="firwin", verbose="error")
    data = raw.get_data() * 1e6
    b, a = signal.iirnotch(50.0, 30.0, fs=SFREQ)
    # with the default padding of 9 samples the notch rings at both ends of the recording
    data = signal.filtfilt(b, a, data, axis=1, padlen=3 * SFREQ)
    data = data - data.mean(axis=0)
    features = np.zeros((len(data), 11))
    starts = range(0, data.shape[1] - 2 * SFREQ + 1, SFREQ)
    for begin in starts:
        for channel in range(len(data)):
            features[channel] += notebook_window(data[channel, begin : begin + 2 * SFREQ])
    return features / len(starts), time.perf_counter() - start


def notebook_window(x: Any) -> Any:
    """The eleven features of one window of one channel."""
    import numpy as np
    from scipy import signal

    frequencies, density = signal.welch(
        x, fs=SFREQ, window="hann", nperseg=256, noverlap=128, nfft=256, detrend="constant"
    )
    centred = x - np.mean(x)
    features = [
        np.sum(np.abs(np.diff(x))) / 2.0,
        np.sqrt(np.mean(x**2)),
        np.var(x),
        np.sum((centred[1:] >= 0) != (centred[:-1] >= 0)) / 2.0,
    ]
    width = frequencies[1] - frequencies[0]
    for low, high in BANDS:
        features.append(np.sum(density[(frequencies >= low) & (frequencies < high)]) * width)
    inside = (frequencies >= 0.5) & (frequencies < 70)
    summed = np.cumsum(density[inside])
    features.append(frequencies[inside][np.searchsorted(summed, 0.95 * summed[-1])])
    return np.array(features)


def engine_way(path: Path) -> tuple[Any, float]:
    """Features as neuroveil computes them, shape (33, 11), and seconds without imports."""
    from neuroveil.recordings import ReadOptions, opened_recording
    from neuroveil.signal import RejectionSettings, SignalSettings
    from neuroveil.signal.engine import extract_features

    start = time.perf_counter()
    settings = SignalSettings(preset="paper", rejection=RejectionSettings(enabled=False))
    with opened_recording(path, ReadOptions(channels=CHANNELS)) as recording:
        found = extract_features(recording, settings)
    return found.sums / found.counts, time.perf_counter() - start


WAYS = {"notebook": notebook_way, "engine": engine_way}


def run_as_child(way: str, path: Path, output: Path) -> None:
    """Compute, save the features, and print what only this process knows."""
    import numpy as np

    features, seconds = WAYS[way](path)
    np.save(output, features)
    used = resource.getrusage(resource.RUSAGE_SELF)
    report = {
        "compute_seconds": seconds,
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "peak_mb": peak_megabytes(),
    }
    print(json.dumps(report))


def peak_megabytes() -> float:
    """Largest resident memory of this process, in MiB."""
    try:
        # getrusage would count the process that started this one
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(way: str, path: Path, output: Path) -> dict[str, float]:
    """Run one way in a new process; seconds of the whole process and of the computation."""
    start = time.perf_counter()
    child = subprocess.run(
        [sys.executable, __file__, "--child", way, str(path), str(output)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    seconds = time.perf_counter() - start
    return {"process_seconds": seconds, **json.loads(child.stdout)}


def extract_again(path: str) -> float:
    """Extract one recording in a worker; gives its seconds."""
    return engine_way(Path(path))[1]


def scaling(path: Path, cohort: tuple[int, ...]) -> list[dict[str, float]]:
    """Seconds for more and more recordings, one process a core."""
    workers = os.cpu_count() or 1
    line = []
    for count in cohort:
        start = time.perf_counter()
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            list(pool.map(extract_again, [str(path)] * count))
        seconds = time.perf_counter() - start
        line.append(
            {"recordings": count, "seconds": seconds, "seconds_a_recording": seconds / count}
        )
    return line


def compare(folder: Path, size: Size) -> dict[str, Any]:
    """Build the recording and measure everything."""
    import numpy as np

    path = folder / "recording.edf"
    say(f"building {len(CHANNELS)} channels, {SFREQ} Hz, {size.minutes} min")
    build_recording(path, size.minutes)
    runs: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    for repeat in range(size.repeats):
        for way in WAYS:
            runs[way].append(measure(way, path, folder / f"{way}.npy"))
            seconds = runs[way][-1]["process_seconds"]
            say(f"run {repeat + 1} of {size.repeats}, {way}: {seconds:.2f} s")
    medians = {
        (way, key): statistics.median(run[key] for run in runs[way])
        for way in WAYS
        for key in ("process_seconds", "compute_seconds", "cpu_seconds")
    }
    ours, theirs = (np.load(folder / f"{way}.npy") for way in ("engine", "notebook"))
    return {
        "ratio_process": medians["notebook", "process_seconds"]
        / medians["engine", "process_seconds"],
        "ratio_compute": medians["notebook", "compute_seconds"]
        / medians["engine", "compute_seconds"],
        "ratio_cpu": medians["notebook", "cpu_seconds"] / medians["engine", "cpu_seconds"],
        "peak_mb": max(run["peak_mb"] for run in runs["engine"]),
        "peer_peak_mb": max(run["peak_mb"] for run in runs["notebook"]),
        **agreement(ours, theirs, size.minutes),
        "n_features": int(ours.size),
        "process_seconds": medians["engine", "process_seconds"],
        "compute_seconds": medians["engine", "compute_seconds"],
        "cpu_seconds": medians["engine", "cpu_seconds"],
        "peer_cpu_seconds": medians["notebook", "cpu_seconds"],
        "peer_process_seconds": medians["notebook", "process_seconds"],
        "peer_compute_seconds": medians["notebook", "compute_seconds"],
        "recording": {"n_channels": len(CHANNELS), "sfreq": SFREQ, "minutes": size.minutes,
                      "megabytes": path.stat().st_size / 1e6},
        "repeats": size.repeats,
        "cores": os.cpu_count(),
        "scaling": scaling(path, size.cohort),
    }  # fmt: skip


def agreement(ours: Any, theirs: Any, minutes: int) -> dict[str, float]:
    """How far the features of both ways lie apart, shape (33, 11) each."""
    import numpy as np

    relative = np.abs(ours / theirs - 1)
    n_windows = minutes * 60 - 1
    # means of crossings a second over windows of two seconds
    counts = 2 * n_windows * np.stack([ours, theirs])[:, :, ZERO_CROSSINGS]
    return {
        "max_relative_error": float(relative.max()),
        "max_relative_error_of_measures": float(np.delete(relative, ZERO_CROSSINGS, 1).max()),
        "crossings_that_differ": int(np.abs(np.diff(counts, axis=0)).sum().round()),
        "n_crossings": int(counts[1].sum().round()),
    }


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def describe(result: dict[str, Any]) -> str:
    """The result in words."""
    lines = [
        f"notebook way   {result['peer_process_seconds']:8.2f} s as a process, "
        f"{result['peer_compute_seconds']:8.2f} s without imports, "
        f"peak {result['peer_peak_mb']:6.0f} MB",
        f"engine         {result['process_seconds']:8.2f} s as a process, "
        f"{result['compute_seconds']:8.2f} s without imports, peak {result['peak_mb']:6.0f} MB",
        f"ratio          {result['ratio_process']:8.1f} as a process, "
        f"{result['ratio_compute']:8.1f} without imports, {result['ratio_cpu']:.1f} in processor "
        f"time (medians of {result['repeats']})",
        f"largest relative difference of {result['n_features']} features: "
        f"{result['max_relative_error']:.1e}; without zero crossings "
        f"{result['max_relative_error_of_measures']:.1e}",
        f"zero crossings that one way counts and the other does not: "
        f"{result['crossings_that_differ']} of {result['n_crossings']} (a sample on the mean of "
        "its window falls to either side by rounding)",
    ]
    lines += [
        f"{point['recordings']:4d} recordings on {result['cores']} cores: "
        f"{point['seconds']:7.2f} s, {point['seconds_a_recording']:.2f} s each"
        for point in result["scaling"]
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quick", action="store_true", help="a 3-minute recording")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        way, path, output = arguments.child
        run_as_child(way, Path(path), Path(output))
        return
    with tempfile.TemporaryDirectory() as folder:
        result = compare(Path(folder), QUICK if arguments.quick else FULL)
    print(json.dumps(result) if arguments.json else describe(result))


if __name__ == "__main__":
    main()
