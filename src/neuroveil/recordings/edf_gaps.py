"""Gaps in interrupted EDF+D and BDF+D recordings.

Every data record of the plus formats carries its own start time in the first time-stamped
annotation list (TAL) of the first annotation signal (EDF+ specification, section 2.2.4). The
times are seconds since the start; no date or annotation text is read.
"""

from __future__ import annotations

import re
from typing import BinaryIO

from neuroveil.recordings.edf_header import EdfHeader
from neuroveil.recordings.options import ReadOptions

_ONSET = re.compile(rb"\x00*([+-]\d{1,12}(?:\.\d{0,12})?)(?:\x15[\d.]*)?\x14")

TOLERANCE_SAMPLES = 1.0
"""Records that are displaced by no more than this belong together, in samples."""


def gap_free_runs(
    file: BinaryIO, header: EdfHeader, n_records: int, options: ReadOptions
) -> tuple[tuple[int, int], ...]:
    """Split the records of an interrupted recording into runs without a gap.

    A record without a readable time makes a run of its own, so that no window can reach
    across an unknown distance.

    Parameters
    ----------
    file : binary file
        The open file.
    header : EdfHeader
        Its layout.
    n_records : int
        Records to look at.
    options : ReadOptions
        For the role in errors.

    Returns
    -------
    tuple of (int, int)
        First record and the one behind the last, in file order.

    Raises
    ------
    RecordingError
        If the file has no annotation signal or no record duration to tell gaps by.
    """
    timekeeper = next((i for i, s in enumerate(header.signals) if s.is_annotation), None)
    if timekeeper is None or header.record_seconds == 0:
        raise options.refusal(
            "an interrupted recording (EDF+D) with the time of every record",
            "no annotation signal" if timekeeper is None else "no record duration",
            "Export the recording again, as EDF+C in pieces without gaps.", code="gaps_unknown",
        )  # fmt: skip
    skipped = sum(signal.n_samples for signal in header.signals[:timekeeper])
    position = header.header_bytes + skipped * header.sample_bytes
    length = min(header.signals[timekeeper].n_samples * header.sample_bytes, 64)
    rates = (signal.n_samples for signal in header.signals if not signal.is_annotation)
    fastest = max(rates, default=0)
    tolerance = TOLERANCE_SAMPLES * header.record_seconds / max(1, fastest)
    runs: list[tuple[int, int]] = []
    begin, previous = 0, None
    for record in range(n_records):
        file.seek(position + record * header.record_bytes)
        match = _ONSET.match(file.read(length))
        onset = float(match.group(1)) if match else None
        if record and not _follows(previous, onset, header.record_seconds, tolerance):
            runs.append((begin, record))
            begin = record
        previous = onset
    return (*runs, (begin, n_records))


def _follows(
    previous: float | None, onset: float | None, duration: float, tolerance: float
) -> bool:
    """Whether a record starts where the one before it ended."""
    if previous is None or onset is None:
        return False
    return abs(onset - previous - duration) <= tolerance
