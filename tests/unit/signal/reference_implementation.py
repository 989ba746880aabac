"""The features of a recording, slow and obvious: one window, one channel at a time.

It shares no code with the product. The band-pass comes from MNE-Python, the notch, resampling
and spectra from scipy.signal, everything in float64 over the whole segment at once.
"""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import mne
import numpy as np
from scipy import signal

from neuroveil.types.catalogue import FEATURE_NAMES

PADDING_SECONDS = 12
BANDS = {"delta_power": (0.5, 4), "theta_power": (4, 8), "alpha_power": (8, 13),
         "beta_power": (13, 30), "gamma_power": (30, 45), "high_gamma_power": (45, 70)}  # fmt: skip


def reference_features(recording, settings):
    """Sums (n_channels, 11) and counts (n_channels,) over the windows that are kept."""
    n_eeg = len(recording.ch_names)
    prepared = [
        prepare_segment(source.read(0, source.n_times), recording.sfreq, settings)
        for source in recording.segments
    ]
    prepared = [segment for segment in prepared if segment is not None]
    flags = flag_raw(prepared, n_eeg, settings)
    eyes = []
    if recording.eog_names and settings.eog_regression:
        eyes = regress_eog(prepared, flags, n_eeg, settings)
    windows = [
        (segment, start)
        for segment in prepared
        for start in range(0, segment.filtered.shape[1] - segment.window + 1, segment.hop)
    ]
    is_good = judge_windows(windows, flags, n_eeg, eyes, settings)
    sums = np.zeros((n_eeg, len(FEATURE_NAMES)))
    rereferences = settings.average_reference and recording.montage == "referential"
    for index, (segment, start) in enumerate(windows):
        chunk = segment.filtered[:n_eeg, start : start + segment.window]
        members = is_good[:, index]
        if rereferences:
            if members.sum() < 2:
                is_good[:, index] = False
                continue
            chunk = chunk - chunk[members].mean(axis=0)
        for channel in np.flatnonzero(members):
            sums[channel] += one_window(chunk[channel], segment.sfreq)
    return sums, is_good.sum(axis=1)


def one_window(x, sfreq):
    """The eleven features of one window, in the catalogue's order."""
    seconds = len(x) / sfreq
    centred = x - x.mean()
    frequencies, density = signal.welch(
        x, fs=sfreq, window="hann", nperseg=256, noverlap=128, nfft=256,
        detrend="constant", scaling="density",
    )  # fmt: skip
    features = {
        "line_length": np.abs(np.diff(x)).sum() / seconds,
        "root_mean_square": np.sqrt(np.mean(x**2)),
        "variance": np.var(x),
        "zero_crossing_rate": np.sum((centred[1:] >= 0) != (centred[:-1] >= 0)) / seconds,
    }
    for name, (low, high) in BANDS.items():
        inside = (frequencies >= low) & (frequencies < high)
        features[name] = density[inside].sum() * frequencies[1]
    inside = (frequencies >= 0.5) & (frequencies < 70)
    summed = np.cumsum(density[inside])
    edge = np.flatnonzero(summed >= 0.95 * summed[-1])[0]
    features["spectral_edge_frequency_95"] = frequencies[inside][edge]
    return np.array([features[name] for name in FEATURE_NAMES])


def prepare_segment(raw, sfreq_in, settings):
    """Bridge gaps, continue at the edges, resample, filter; None if shorter than a window."""
    raw = raw.astype(np.float64)
    n_in = raw.shape[1]
    ratio = Fraction(1) if settings.preset == "paper" else Fraction(str(sfreq_in)) / 256
    n_out = int(n_in / ratio)
    sfreq = float(sfreq_in / ratio)
    hops = round(1 / (1 - settings.overlap))
    hop = round(settings.window_seconds * sfreq / hops)
    if n_out < hop * hops:
        return None
    is_number = np.isfinite(raw)
    bridged = np.stack([bridge(row) for row in raw])
    # a whole number of samples on both sides of the change of rate
    padding_out = int(PADDING_SECONDS * sfreq) // ratio.denominator * ratio.denominator
    padding_in = int(padding_out * ratio)
    more = -(n_in + 2 * padding_in) % ratio.numerator
    padded = np.pad(bridged, ((0, 0), (padding_in, padding_in + more)), "reflect",
                    reflect_type="odd")  # fmt: skip
    if ratio != 1:
        padded = signal.resample(
            padded, int(padded.shape[1] / ratio), axis=1, window=taper_for(sfreq_in, padded)
        )
    taps = mne.filter.create_filter(None, sfreq, 0.5, 70.0, verbose="error")
    padded = signal.fftconvolve(padded, taps[None], mode="same", axes=1)
    b, a = signal.iirnotch(settings.line_frequency_hz, 30.0, fs=sfreq)
    padded = signal.filtfilt(b, a, padded, axis=1)
    return SimpleNamespace(
        raw=raw, is_number=is_number, ratio=ratio, sfreq=sfreq, hop=hop, window=hop * hops,
        filtered=padded[:, padding_out : padding_out + n_out],
    )  # fmt: skip


def taper_for(sfreq_in, padded):
    """Raised cosine up to the lower Nyquist frequency, for scipy's resample."""
    frequencies = np.abs(np.fft.fftfreq(padded.shape[1], 1 / sfreq_in))
    stop = min(sfreq_in, 256.0) / 2
    start = min(87.5, 0.9 * stop)
    share = np.clip((frequencies - start) / (stop - start), 0, 1)
    return 0.5 * (1 + np.cos(np.pi * share))


def bridge(samples):
    """Replace samples that are no numbers by straight lines."""
    good = np.flatnonzero(np.isfinite(samples))
    if len(good) == 0:
        return np.zeros_like(samples)
    return np.interp(np.arange(len(samples)), good, samples[good])


def hop_samples(segment, hop):
    """Raw samples whose time lies in a hop."""
    times = np.arange(segment.raw.shape[1])
    first, last = hop * segment.hop, (hop + 1) * segment.hop
    scaled = times * segment.ratio.denominator
    return np.flatnonzero(
        (scaled >= first * segment.ratio.numerator) & (scaled < last * segment.ratio.numerator)
    )


def flag_raw(prepared, n_eeg, settings):
    """For each segment, whether each hop of each channel (EEG and EOG) is bad when raw."""
    rejection = settings.rejection
    hops = [
        [segment.raw[:, hop_samples(segment, hop)]
         for hop in range(segment.filtered.shape[1] // segment.hop)]
        for segment in prepared
    ]  # fmt: skip
    if not prepared:
        return []
    bad = [np.zeros((len(parts[0]), len(parts)), dtype=bool) for parts in hops]
    for channel in range(len(hops[0][0])):
        samples = [part[channel] for parts in hops for part in parts]
        usable = [part for part in samples if np.isfinite(part).all()]
        top = max((part.max() for part in usable), default=0)
        bottom = min((part.min() for part in usable), default=0)
        for which, parts in enumerate(hops):
            for hop, part in enumerate(parts):
                bad[which][channel, hop] = hop_is_bad(part[channel], top, bottom, rejection)
    return bad


def hop_is_bad(samples, top, bottom, rejection):
    if not np.isfinite(samples).all():
        return True
    if not rejection.enabled:
        return False
    neighbours = zip(samples[:-2], samples[1:-1], samples[2:], strict=True)
    at_top, at_bottom = np.mean(
        [(a == b == c == top, a == b == c == bottom) for a, b, c in neighbours], axis=0
    )
    is_flat = samples.max() - samples.min() < rejection.flat_uv
    return is_flat or max(at_top, at_bottom) >= rejection.clipping_fraction


def regress_eog(prepared, flags, n_eeg, settings):
    """Least squares on all good hops at once, then subtraction, in place."""
    flagged = np.mean(np.concatenate([each[n_eeg:] for each in flags], axis=1), axis=1)
    eyes = n_eeg + np.flatnonzero(flagged <= settings.rejection.bad_channel_fraction)
    if len(eyes) == 0:
        return []
    for channel in range(n_eeg):
        target, regressors = [], []
        for segment, bad in zip(prepared, flags, strict=True):
            for hop in range(bad.shape[1]):
                if not bad[channel, hop] and not bad[eyes, hop].any():
                    span = slice(hop * segment.hop, (hop + 1) * segment.hop)
                    target.append(segment.filtered[channel, span])
                    regressors.append(segment.filtered[eyes, span])
        if target:
            design = np.concatenate(regressors, axis=1).T
            weights = np.linalg.lstsq(design, np.concatenate(target), rcond=None)[0]
            for segment in prepared:
                segment.filtered[channel] -= weights @ segment.filtered[eyes]
    return list(eyes)


def judge_windows(windows, flags, n_eeg, eyes, settings):
    """Whether each channel keeps each window, before the average reference."""
    rejection = settings.rejection
    good = np.ones((n_eeg, len(windows)), dtype=bool)
    eyes_fail = np.zeros(len(windows), dtype=bool)
    order = {id(segment): index for index, (segment, _) in enumerate(windows)}
    numbers = {key: rank for rank, key in enumerate(dict.fromkeys(order))}
    for index, (segment, start) in enumerate(windows):
        bad = flags[numbers[id(segment)]]
        hops = range(start // segment.hop, (start + segment.window) // segment.hop)
        eyes_fail[index] = bad[np.ix_(eyes, hops)].any() if eyes else False
        for channel in range(n_eeg):
            chunk = segment.filtered[channel, start : start + segment.window]
            size = chunk.max() - chunk.min()
            good[channel, index] = not bad[channel, list(hops)].any()
            if rejection.enabled and not rejection.flat_uv <= size <= rejection.amplitude_uv:
                good[channel, index] = False
    bad_channels = np.mean(~good, axis=1) > rejection.bad_channel_fraction
    good[bad_channels] = False
    if rejection.enabled and not bad_channels.all():
        share = np.mean(~good[~bad_channels], axis=0)
        good[:, share > rejection.bad_window_fraction] = False
    good[:, eyes_fail] = False
    return good
