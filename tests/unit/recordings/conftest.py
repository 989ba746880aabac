"""A small EDF and BDF writer that can be told to write what clinics write."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from neuroveil.recordings import ReadOptions, opened_recording, opening
from neuroveil.recordings.readers import open_directly
from neuroveil.types import recording as types

CANARY = "CANARYNAME7F3A"
"""Stands in every header field that may hold a name; must never come out again."""


@dataclass
class Signal:
    """One signal to write; values are physical, one row of samples."""

    label: str | bytes
    values: np.ndarray
    unit: str | bytes = "uV"
    physical: tuple[Any, Any] = (-3276.8, 3276.7)
    digital: tuple[Any, Any] = (-32768, 32767)
    prefiltering: str = ""


@dataclass
class EdfPlan:
    """A file to write; everything in ``header`` replaces a field of the fixed header."""

    signals: list[Signal]
    samples: int | list[int] = 256
    record_seconds: str = "1"
    kind: str = "EDF"
    variant: str = ""
    onsets: list[str] | None = None
    header: dict[str, bytes] = field(default_factory=dict)


def _pad(value: Any, width: int) -> bytes:
    data = value if isinstance(value, bytes) else str(value).encode("latin-1")
    return data[:width].ljust(width)


def _calibration(signal: Signal) -> tuple[float, float]:
    """Gain and offset as the header states them, 1 and 0 where that makes no sense."""
    try:
        low, high, bottom, top = (
            float(_pad(v, 8).decode().replace(",", "."))
            for v in (*signal.physical, *signal.digital)
        )
        gain = (high - low) / (top - bottom)
        return (gain, low - gain * bottom) if abs(gain) > 0 else (1.0, 0.0)
    except (ValueError, ZeroDivisionError):
        return 1.0, 0.0


def _digital(signal: Signal) -> np.ndarray:
    gain, offset = _calibration(signal)
    with np.errstate(invalid="ignore"):  # calibrations that are damaged on purpose
        return np.round((np.asarray(signal.values, float) - offset) / gain).astype(np.int64)


def _encode(samples: np.ndarray, kind: str) -> bytes:
    if kind == "EDF":
        return samples.astype("<i2").tobytes()
    return samples.astype("<i4").reshape(-1, 1).view(np.uint8).reshape(-1, 4)[:, :3].tobytes()


def edf_bytes(plan: EdfPlan) -> bytes:
    """Write a plan to bytes."""
    width = 2 if plan.kind == "EDF" else 3
    counts = plan.samples if isinstance(plan.samples, list) else [plan.samples] * len(plan.signals)
    n_records = len(plan.signals[0].values) // counts[0] if plan.signals else 3
    digital = [_digital(s) for s in plan.signals]
    rows = [(s, n) for s, n in zip(plan.signals, counts, strict=True)]
    if plan.onsets is not None:
        n_records = len(plan.onsets)
        rows.append(
            (Signal(f"{plan.kind} Annotations", np.zeros(0), "", (-1, 1), (-32768, 32767)), 60)
        )
    fixed = {
        "version": b"0       " if plan.kind == "EDF" else b"\xffBIOSEMI",
        "patient": f"X X 01-JAN-1970 {CANARY}".encode(),
        "recording": f"Startdate 01-MRZ-2019 {CANARY}".encode(),
        "date": b"31.02.19",
        "time": b"99.99.99",
        "header_bytes": str(256 * (1 + len(rows))).encode(),
        "reserved": f"{plan.kind}{plan.variant}".encode() if plan.variant else b"",
        "n_records": str(n_records).encode(),
        "record_seconds": plan.record_seconds.encode(),
        "n_signals": str(len(rows)).encode(),
    } | plan.header
    widths = (8, 80, 80, 8, 8, 8, 44, 8, 8, 4)
    data = b"".join(_pad(v, w) for v, w in zip(fixed.values(), widths, strict=True))
    columns = (
        (16, lambda s, n: s.label),
        (80, lambda s, n: CANARY),
        (8, lambda s, n: s.unit),
        (8, lambda s, n: s.physical[0]),
        (8, lambda s, n: s.physical[1]),
        (8, lambda s, n: s.digital[0]),
        (8, lambda s, n: s.digital[1]),
        (80, lambda s, n: s.prefiltering),
        (8, lambda s, n: n),
        (32, lambda s, n: CANARY),
    )
    for size, value in columns:
        data += b"".join(_pad(value(s, n), size) for s, n in rows)
    for record in range(n_records):
        for samples, count in zip(digital, counts, strict=True):
            data += _encode(samples[record * count : (record + 1) * count], plan.kind)
        if plan.onsets is not None:
            onset = plan.onsets[record]
            text = f"{onset}\x14\x14\x00{onset}\x14{CANARY}\x14\x00" if onset else "?"
            data += text.encode().ljust(60 * width, b"\x00")
    return data


def noise(n_times: int, seed: int = 0, amplitude: float = 20.0) -> np.ndarray:
    """A signal like EEG in size, in microvolts."""
    return np.random.default_rng(seed).normal(0, amplitude, n_times)


@pytest.fixture(scope="session")
def files() -> ModuleType:
    """The writers of recorders' own formats."""
    name = "neuroveil_vendor_files"
    if name not in sys.modules:
        path = Path(__file__).with_name("vendor_files.py")
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.fixture
def canary() -> str:
    return CANARY


@pytest.fixture
def signal() -> Callable[..., Signal]:
    """Make a signal: label, then number of samples or values."""

    def make(label: str | bytes, values: Any = 1280, **more: Any) -> Signal:
        values = noise(values, seed=len(label)) if isinstance(values, int) else values
        return Signal(label, np.asarray(values, float), **more)

    return make


@pytest.fixture
def write_edf(tmp_path: Path) -> Callable[..., Path]:
    """Write signals to an EDF file and give its path; ``change`` may spoil the bytes."""

    def write(
        signals: list[Signal], *, change: Any = None, name: str = "a.edf", **plan: Any
    ) -> Path:
        data = edf_bytes(EdfPlan(signals, **plan))
        path = tmp_path / name
        path.write_bytes(change(data) if change else data)
        return path

    return write


@pytest.fixture
def read_all() -> Callable[..., tuple[types.Recording, np.ndarray]]:
    """Open a file, read everything, and give the recording with its values."""

    def read(path: Path, **options: Any) -> tuple[types.Recording, np.ndarray]:
        with opened_recording(path, ReadOptions(**options)) as recording:
            values = [segment.read(0, segment.n_times) for segment in recording.segments]
        return recording, np.concatenate(values, axis=1)

    return read


@pytest.fixture
def here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read all formats in this process, unless a test asks for `apart`.

    What a file says does not depend on the process, and a new one takes half a second.
    """
    if "apart" not in request.fixturenames:
        monkeypatch.setattr(opening, "open_apart", open_directly)


@pytest.fixture
def apart() -> None:
    """Read as everybody does: formats of others in a process of their own."""


@pytest.fixture
def codes() -> Callable[[types.Recording], set[str]]:
    """Codes of a recording's findings, without those about absent channels."""
    return lambda recording: {f.code for f in recording.findings} - {"missing_channel"}
