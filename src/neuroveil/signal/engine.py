"""The extraction engine: one recording in, sums of window features out, in flat memory.

A recording is read in blocks of about two minutes, up to four times: raw, to find gaps, flat
stretches and clipping; filtered, to fit the eye channels, where there are some; filtered, to
judge amplitudes; filtered, to compute the features. Without rejection and eye channels once is
enough. Signals are float32; sums over windows are float64. Memory grows with the recording by
one or two bytes a channel and window, and by nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from neuroveil.signal.availability import missing_features
from neuroveil.signal.blocks import BlockFilter, UnmappedGapsError
from neuroveil.signal.eog import fit_eog, subtract_eog, usable_eye_channels
from neuroveil.signal.features import WindowFeatures
from neuroveil.signal.plan import ExtractionPlan, plan_extraction
from neuroveil.signal.quality import Decision, Mask, amplitude_flags, decide, windows_from_hops
from neuroveil.signal.settings import SignalSettings
from neuroveil.signal.survey import RawSurvey, survey_recording
from neuroveil.types.catalogue import FEATURE_NAMES
from neuroveil.types.recording import (
    FloatArray,
    QualityFinding,
    Recording,
    RecordingFeatures,
    SignalArray,
)

Progress = Callable[[float], None]

_SAMPLES_AT_ONCE = 2**18


def extract_features(
    recording: Recording,
    settings: SignalSettings,
    progress: Progress | None = None,
    block_seconds: float | None = None,
) -> RecordingFeatures:
    """Compute the window features of one recording, summed over the windows that are kept.

    Parameters
    ----------
    recording : Recording
        Signal in microvolts, in memory or read when asked.
    settings : SignalSettings
        What to compute.
    progress : callable, optional
        Called now and then with the share that is done, from 0 to 1, never falling.
    block_seconds : float, optional
        Length of a block in seconds. Results do not depend on it, memory does; by default
        about two minutes, less for many channels or high rates.

    Returns
    -------
    RecordingFeatures
        Sums, counts and findings. Counts are zero for features that the recording's rate or
        hardware filters cut, for bad channels, and for a recording shorter than a window.

    Raises
    ------
    RecordingError
        If the preset does not accept the sampling rate, or the recording is malformed.
    """
    plan = plan_extraction(recording, settings, block_seconds)
    report = _MonotoneProgress(progress)
    try:
        survey = survey_recording(plan) if settings.rejection.enabled else RawSurvey.skipped(plan)
        return _Extraction(plan, survey, report).run()
    except UnmappedGapsError:
        return _Extraction(plan, survey_recording(plan), report).run()


class _MonotoneProgress:
    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._done = 0.0

    def __call__(self, share: float) -> None:
        self._done = max(self._done, share)
        if self._progress is not None:
            self._progress(self._done)


@dataclass(eq=False)
class _Extraction:
    """The filtered passes over one recording."""

    plan: ExtractionPlan
    survey: RawSurvey
    report: _MonotoneProgress

    def __post_init__(self) -> None:
        self._blocks = BlockFilter(self.plan, self.survey.gaps)
        self._eye_rows, self._findings = usable_eye_channels(self.plan, self.survey)
        self._weights: FloatArray = np.zeros((self.plan.n_eeg, len(self._eye_rows)))

    def run(self) -> RecordingFeatures:
        plan = self.plan
        if self._eye_rows:
            self._weights = fit_eog(plan, self._blocks, self.survey, self._eye_rows)
        flags = windows_from_hops(plan, self.survey.hop_flags[: plan.n_eeg])
        judges = plan.settings.rejection.enabled
        if judges:
            for window, eeg in self._eeg_blocks(0.0, 0.4):
                found = amplitude_flags(plan, eeg)
                flags[:, window : window + found.shape[1]] |= found
        eyes = windows_from_hops(plan, self.survey.hop_flags[list(self._eye_rows)])
        decision = decide(plan, flags, (eyes != 0).any(axis=0))
        sums = np.zeros((plan.n_eeg, len(FEATURE_NAMES)))
        compute = WindowFeatures(plan.grid)
        for window, eeg in self._eeg_blocks(0.4 if judges else 0.0, 1.0):
            n_windows = eeg.shape[1] // plan.grid.hop - plan.grid.hops_per_window + 1
            kept = decision.kept[:, window : window + n_windows]
            for stretch, weights in self._referenced(eeg, kept):
                _add_features(sums, compute, stretch, weights)
        self.report(1.0)
        return self._result(sums, decision)

    def _eeg_blocks(self, begin: float, end: float) -> Iterator[tuple[int, SignalArray]]:
        plan = self.plan
        rows = plan.n_eeg + (len(plan.recording.eog_names) if self._eye_rows else 0)
        for block in self._blocks.filtered_blocks(rows):
            eeg = subtract_eog(block.values, plan.n_eeg, self._eye_rows, self._weights)
            yield block.first_window, eeg
            done = (block.first_window + block.n_windows) / plan.n_windows
            self.report(begin + (end - begin) * done)

    def _referenced(self, eeg: SignalArray, kept: Mask) -> Iterator[tuple[SignalArray, Mask]]:
        """Cut a block into runs of windows that share one average reference."""
        if not self.plan.rereferences:
            yield eeg, kept
            return
        hop, more = self.plan.grid.hop, self.plan.grid.hops_per_window - 1
        changes = np.flatnonzero((kept[:, 1:] != kept[:, :-1]).any(axis=0)) + 1
        edges = [0, *changes.tolist(), kept.shape[1]]
        for first, last in pairwise(edges):
            members = kept[:, first]
            if members.any():
                stretch = eeg[:, first * hop : (last + more) * hop]
                shares = (members / members.sum()).astype(np.float32)
                mean = np.einsum("c,ct->t", shares, stretch)
                yield stretch - mean, kept[:, first:last]

    def _result(self, sums: FloatArray, decision: Decision) -> RecordingFeatures:
        plan = self.plan
        names = plan.settings.features
        missing, findings = missing_features(names, plan.recording)
        columns = [FEATURE_NAMES.index(name) for name in names]
        is_present = ~np.array(missing, dtype=bool)
        counts = decision.kept.sum(axis=1, dtype=np.int64)[:, None] * is_present
        return RecordingFeatures(
            ch_names=plan.recording.ch_names,
            features=names,
            sums=sums[:, columns] * is_present,
            counts=counts.astype(np.int64),
            n_windows=plan.n_windows,
            n_windows_kept=int(decision.kept.any(axis=0).sum()),
            seconds=plan.recording.seconds,
            findings=(
                *plan.recording.findings,
                *_length_findings(plan),
                *findings,
                *self._findings,
                *decision.findings,
            ),
        )


def _add_features(
    sums: FloatArray, compute: WindowFeatures, signal: SignalArray, kept: Mask
) -> None:
    """Add the features of kept windows, a few channels at a time so that they fit the cache."""
    rows = np.flatnonzero(kept.any(axis=1))
    at_once = max(1, _SAMPLES_AT_ONCE // max(1, signal.shape[1]))
    for start in range(0, len(rows), at_once):
        chosen = rows[start : start + at_once]
        values = compute(signal[chosen])
        sums[chosen] += np.einsum("cwf,cw->cf", values, kept[chosen].astype(np.float64))


def _length_findings(plan: ExtractionPlan) -> list[QualityFinding]:
    short = sum(count == 0 for count in plan.windows)
    if plan.n_windows == 0:
        message = "The recording has no stretch as long as one window; it gives no features."
        return [QualityFinding("too_short", message, count=short)]
    if short:
        message = "Stretches shorter than one window were left out."
        return [QualityFinding("short_segment", message, count=short)]
    return []
