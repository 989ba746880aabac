"""Which windows and channels are kept.

Everything is decided on the recording itself, before the average reference is taken:

1. raw hops are flagged as missing, flat or clipped (:mod:`neuroveil.signal.survey`), and a
   window carries the flags of its hops;
2. on filtered signal, after eye movements were regressed out where that is done, a window is
   flagged on a channel by its peak-to-peak amplitude: too large, or too small (disconnected);
3. a flagged window is left out on its channel; a channel with too many of them is bad and left
   out altogether; a window that is left out on too many good channels is left out on all;
4. a window in which an eye channel that is regressed out is flagged itself is left out on all
   channels, because eye movements cannot be taken out of it;
5. the average reference of a window is the mean of the channels that keep this window. A
   window that would keep fewer than two is left out, because one channel minus itself is zero.

With rejection switched off only missing samples are flagged, and steps 4 and 5 stay.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from neuroveil.signal.plan import ExtractionPlan
from neuroveil.signal.survey import AMPLITUDE, CLIPPED, DISCONNECTED, FLAT, MISSING, Flags
from neuroveil.types.recording import QualityFinding, SignalArray

Mask = npt.NDArray[np.bool_]

SMALLEST_REFERENCE = 2
"""Fewest channels that an average reference is taken over."""

_TOO_MANY = "Windows were left out on all channels, because most channels left them out."
_EYE_FAULT = "Windows were left out on all channels, because an eye channel failed in them."
_ONE_CHANNEL = "Windows were left out: one channel is no average reference."

_REASONS = (
    (MISSING, "missing_samples", "samples that are no numbers"),
    (FLAT, "flat", "a flat signal"),
    (CLIPPED, "clipped", "clipping"),
    (DISCONNECTED, "disconnected", "mains or drift only"),
    (AMPLITUDE, "noisy", "too large an amplitude"),
)


@dataclass(frozen=True, eq=False)
class Decision:
    """What is kept of a recording.

    Parameters
    ----------
    kept : ndarray of bool, shape (n_eeg_channels, n_windows)
        True where a channel keeps a window.
    findings : tuple of QualityFinding
        Bad channels and counts of windows that were left out.
    """

    kept: Mask
    findings: tuple[QualityFinding, ...]


def windows_from_hops(plan: ExtractionPlan, hop_flags: Flags) -> Flags:
    """Give each window the flags of its hops.

    Parameters
    ----------
    plan : ExtractionPlan
        The extraction.
    hop_flags : ndarray of uint8, shape (n_channels, n_hops)
        Flags of the whole recording.

    Returns
    -------
    ndarray of uint8, shape (n_channels, n_windows)
        Flags of the windows.
    """
    flags = np.zeros((hop_flags.shape[0], plan.n_windows), dtype=np.uint8)
    for segment, n_windows in enumerate(plan.windows):
        first_hop, first = plan.first_hop_of(segment), plan.first_window_of(segment)
        for shift in range(plan.grid.hops_per_window):
            start = first_hop + shift
            flags[:, first : first + n_windows] |= hop_flags[:, start : start + n_windows]
    return flags


def amplitude_flags(plan: ExtractionPlan, eeg: SignalArray) -> Flags:
    """Flag windows by the amplitude of the filtered signal.

    Parameters
    ----------
    plan : ExtractionPlan
        The extraction.
    eeg : ndarray of float32, shape (n_eeg_channels, n_times)
        Filtered EEG in microvolts, the samples of consecutive windows.

    Returns
    -------
    ndarray of uint8, shape (n_eeg_channels, n_windows)
        ``AMPLITUDE``, ``DISCONNECTED`` or 0.
    """
    hops = eeg.reshape(eeg.shape[0], eeg.shape[1] // plan.grid.hop, plan.grid.hop)
    count = plan.grid.hops_per_window
    high = sliding_window_view(hops.max(axis=-1), count, axis=-1).max(axis=-1)
    low = sliding_window_view(hops.min(axis=-1), count, axis=-1).min(axis=-1)
    flags = np.zeros(high.shape, dtype=np.uint8)
    flags[high - low > plan.settings.rejection.amplitude_uv] = AMPLITUDE
    flags[high - low < plan.settings.rejection.flat_uv] = DISCONNECTED
    return flags


def decide(plan: ExtractionPlan, flags: Flags, eye_is_flagged: Mask) -> Decision:
    """Turn the flags of all windows into what is kept.

    Parameters
    ----------
    plan : ExtractionPlan
        The extraction.
    flags : ndarray of uint8, shape (n_eeg_channels, n_windows)
        Flags from raw and filtered signal.
    eye_is_flagged : ndarray of bool, shape (n_windows,)
        True where an eye channel in use is flagged.

    Returns
    -------
    Decision
        What is kept, and what is to be told about it.
    """
    rejection = plan.settings.rejection
    kept = flags == 0
    if kept.size == 0:
        return Decision(kept, ())
    is_bad = (~kept).mean(axis=1) > rejection.bad_channel_fraction
    findings = _channel_findings(plan, flags, is_bad)
    kept[is_bad] = False
    if rejection.enabled and not is_bad.all():
        left_out = (~kept[~is_bad]).mean(axis=0) > rejection.bad_window_fraction
        findings += _leave_out(kept, left_out, "rejected_windows_all_channels", _TOO_MANY)
    findings += _leave_out(kept, eye_is_flagged, "eog_faults", _EYE_FAULT)
    if plan.rereferences:
        is_thin = kept.sum(axis=0) < SMALLEST_REFERENCE
        findings += _leave_out(kept, is_thin, "too_few_reference_channels", _ONE_CHANNEL)
    return Decision(kept, tuple(findings))


def _channel_findings(plan: ExtractionPlan, flags: Flags, is_bad: Mask) -> list[QualityFinding]:
    findings = []
    for row in np.flatnonzero((flags != 0).any(axis=1)):
        counts = {name: int(((flags[row] & bit) != 0).sum()) for bit, name, _ in _REASONS}
        told = {name: words for _, name, words in _REASONS if counts[name]}
        reasons = ", ".join(f"{words} in {counts[name]}" for name, words in told.items())
        total = int((flags[row] != 0).sum())
        code = f"{max(told, key=counts.__getitem__)}_channel" if is_bad[row] else "rejected_windows"
        outcome = "The channel is not used" if is_bad[row] else "Windows were left out"
        message = f"{outcome}: {reasons} of {flags.shape[1]} windows."
        findings.append(QualityFinding(code, message, plan.recording.ch_names[row], total))
    return findings


def _leave_out(kept: Mask, windows: Mask, code: str, message: str) -> list[QualityFinding]:
    """Leave windows out on all channels, and say how many that were."""
    count = int((windows & kept.any(axis=0)).sum())
    kept[:, windows] = False
    return [QualityFinding(code, message, count=count)] if count else []
