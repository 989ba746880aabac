"""The header of EDF, EDF+, BDF and BDF+ files.

Follows Kemp et al. 1992 (EDF), Kemp & Olivan 2003 (EDF+) and BioSemi's description of BDF.
Only what the signals need is read: patient, recording and date fields are skipped and never
decoded, so nothing of them can reach a result.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import BinaryIO

from neuroveil.recordings.options import ReadOptions

FIXED_BYTES = SIGNAL_BYTES = 256
MAX_SIGNALS = 9999
MIN_GAIN, MAX_GAIN = 1e-20, 1e20
"""Gains outside this range are damage, and would leave the range of float32."""

_FIELDS: tuple[tuple[str, int], ...] = (
    ("label", 16), ("transducer", 80), ("unit", 8), ("physical_min", 8), ("physical_max", 8),
    ("digital_min", 8), ("digital_max", 8), ("prefiltering", 80), ("n_samples", 8),
    ("reserved", 32),
)  # fmt: skip

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_REMEDY = "Export the recording again as EDF+; a header like this is read by luck or not at all."


@dataclass(frozen=True)
class EdfSignal:
    """One signal of the header.

    Parameters
    ----------
    label : str
        Private: never in a message.
    unit : bytes
        Physical dimension as it stands, for the encodings of the micro sign.
    n_samples : int
        Samples in a data record.
    gain, offset : float or None
        Physical value = gain x digital value + offset; None where the calibration is
        impossible.
    prefiltering : str
        The prefiltering field.
    """

    label: str
    unit: bytes
    n_samples: int
    gain: float | None
    offset: float | None
    prefiltering: str

    @property
    def is_annotation(self) -> bool:
        """Whether it holds time-stamped annotation lists instead of a signal."""
        return self.label in ("EDF Annotations", "BDF Annotations")


@dataclass(frozen=True)
class EdfHeader:
    """What the header says about the layout of the file.

    Parameters
    ----------
    file_format : str
        ``"EDF"``, ``"EDF+C"``, ``"EDF+D"``, ``"BDF"``, ``"BDF+C"`` or ``"BDF+D"``.
    sample_bytes : int
        2 for EDF, 3 for BDF.
    n_records : int
        As declared: -1 if unknown.
    record_seconds : float
        Length of a data record in seconds; 0 if the header gives none.
    signals : tuple of EdfSignal
        In the file's order.
    decimal_comma : bool
        Whether a number was written with a comma.
    """

    file_format: str
    sample_bytes: int
    n_records: int
    record_seconds: float
    signals: tuple[EdfSignal, ...]
    decimal_comma: bool

    @property
    def header_bytes(self) -> int:
        """Length of the header."""
        return FIXED_BYTES + SIGNAL_BYTES * len(self.signals)

    @property
    def record_samples(self) -> int:
        """Samples of all signals in a data record."""
        return sum(signal.n_samples for signal in self.signals)

    @cached_property
    def first_samples(self) -> tuple[int, ...]:
        """Position of every signal in a data record, in samples."""
        return tuple(accumulate((s.n_samples for s in self.signals[:-1]), initial=0))

    @property
    def record_bytes(self) -> int:
        """Length of a data record in bytes."""
        return self.record_samples * self.sample_bytes


def read_edf_header(file: BinaryIO, options: ReadOptions) -> EdfHeader:
    """Read the header of an EDF or BDF file.

    Parameters
    ----------
    file : binary file
        Positioned anywhere.
    options : ReadOptions
        For the role in errors.

    Returns
    -------
    EdfHeader
        Layout and signals.

    Raises
    ------
    RecordingError
        If the layout of the file cannot be known from the header.
    """
    file.seek(0)
    fixed = file.read(FIXED_BYTES)
    family = _family(fixed, options)
    n_signals = _count(fixed[252:256], "number of signals", options)
    if not 1 <= n_signals <= MAX_SIGNALS:
        raise options.refusal(
            "an EDF or BDF file with signals",
            f"{n_signals} signals in the header",
            _REMEDY,
            code="damaged",
        )
    declared = _count(fixed[184:192], "header length", options)
    if declared != FIXED_BYTES + SIGNAL_BYTES * n_signals:
        raise options.refusal(
            f"a header of {FIXED_BYTES + SIGNAL_BYTES * n_signals} bytes for {n_signals} signals",
            f"{declared} bytes stated", _REMEDY, code="damaged",
        )  # fmt: skip
    table = file.read(SIGNAL_BYTES * n_signals)
    if len(table) < SIGNAL_BYTES * n_signals:
        raise options.refusal(
            f"descriptions of {n_signals} signals",
            "a file that ends before",
            _REMEDY,
            code="damaged",
        )
    seconds = _number(fixed[244:252])
    columns = _columns(table, n_signals)
    signals = tuple(
        _signal({name: column[i] for name, column in columns.items()}, options)
        for i in range(n_signals)
    )
    numeric = ("physical_min", "physical_max", "digital_min", "digital_max")
    return EdfHeader(
        file_format=family + _variant(fixed, family), sample_bytes=3 if family == "BDF" else 2,
        n_records=_count(fixed[236:244], "number of data records", options),
        record_seconds=seconds if seconds is not None and seconds > 0 else 0.0,
        signals=signals,
        decimal_comma=any(b"," in field for name in numeric for field in columns[name]),
    )  # fmt: skip


def _family(fixed: bytes, options: ReadOptions) -> str:
    """Tell EDF from BDF by the first eight bytes."""
    if len(fixed) < FIXED_BYTES:
        raise options.refusal(
            "an EDF or BDF header of at least 256 bytes",
            f"a file of {len(fixed)} bytes",
            _REMEDY,
            code="damaged",
        )
    if fixed[:8] == b"\xffBIOSEMI":
        return "BDF"
    if fixed[:1] == b"0" and not fixed[1:8].strip(b" \x00"):
        return "EDF"
    raise options.refusal(
        "an EDF or BDF file", "a file of another kind",
        "The name may have been changed, or a web page was saved in its place. " + _REMEDY,
        code="unknown_format",
    )  # fmt: skip


def _variant(fixed: bytes, family: str) -> str:
    """``+C`` or ``+D`` for the plus formats, else nothing."""
    for variant in ("+C", "+D"):
        if fixed[192:197] == f"{family}{variant}".encode():
            return variant
    return ""


def _columns(table: bytes, n_signals: int) -> dict[str, list[bytes]]:
    """Cut the table of signals, which is stored field by field."""
    columns: dict[str, list[bytes]] = {}
    start = 0
    for name, width in _FIELDS:
        columns[name] = [
            table[start + i * width : start + (i + 1) * width] for i in range(n_signals)
        ]
        start += width * n_signals
    return columns


def _signal(field: dict[str, bytes], options: ReadOptions) -> EdfSignal:
    """Understand the fields of one signal."""
    n_samples = _count(field["n_samples"], "number of samples of a signal", options)
    if n_samples < 0:
        raise options.refusal(
            "samples in every signal", "a negative number of samples", _REMEDY, code="damaged"
        )
    gain, offset = _calibration(field)
    return EdfSignal(
        label=_text(field["label"]), unit=field["unit"], n_samples=n_samples, gain=gain,
        offset=offset, prefiltering=_text(field["prefiltering"]),
    )  # fmt: skip


def _calibration(field: dict[str, bytes]) -> tuple[float | None, float | None]:
    """Gain and offset from the physical and digital extremes (EDF, point 8).

    The physical minimum may exceed the maximum (inverted polarity); the digital maximum must
    exceed the minimum, and neither range may be empty.
    """
    low, high = _number(field["physical_min"]), _number(field["physical_max"])
    bottom, top = _number(field["digital_min"]), _number(field["digital_max"])
    if low is None or high is None or bottom is None or top is None:
        return None, None
    if top <= bottom or high == low:
        return None, None
    gain = (high - low) / (top - bottom)
    offset = low - gain * bottom
    if not (MIN_GAIN <= abs(gain) <= MAX_GAIN and abs(offset) <= MAX_GAIN):
        return None, None
    return gain, offset


def _text(field: bytes) -> str:
    """Decode a text field; Latin-1 never fails, and labels that matter are ASCII."""
    return field.decode("latin-1").replace("\x00", " ").strip()


def _number(field: bytes) -> float | None:
    """Read a number in plain or exponent notation, with a point or a comma."""
    text = _text(field).replace(",", ".")
    return float(text) if _NUMBER.fullmatch(text) else None


def _count(field: bytes, what: str, options: ReadOptions) -> int:
    """Read a whole number, or refuse the file."""
    text = _text(field)
    if not re.fullmatch(r"[+-]?\d+", text, re.ASCII):
        raise options.refusal(
            f"a whole number as the {what}",
            "something else in the EDF or BDF header",
            _REMEDY,
            code="damaged",
        )
    return int(text)
