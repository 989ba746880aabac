"""Taking eye movements out of the EEG by linear regression on eye channels.

For every EEG channel the weights ``b`` minimise the sum over time of ``(x - E b)²``, where ``x``
is the filtered EEG and ``E`` the filtered eye channels, both before any re-referencing; then
``E b`` is taken away (Gratton, Coles & Donchin 1983, Electroencephalogr. Clin. Neurophysiol. 55,
without their separate treatment of blinks). Hops in which the channel or an eye channel is
flagged are left out of the fit. An eye channel that is flagged in most hops is not used.
"""

from __future__ import annotations

import numpy as np

from neuroveil.signal.blocks import BlockFilter, FilteredBlock
from neuroveil.signal.plan import ExtractionPlan
from neuroveil.signal.survey import RawSurvey
from neuroveil.types.recording import FloatArray, QualityFinding, SignalArray

SMALLEST_POWER_UV2 = 1e-6
"""Mean square below which an eye channel carries nothing to regress on, in µV²."""
SMALLEST_SHARE = 1e-5
"""Share of the largest eigenvalue below which eye channels count as repeating each other."""


def usable_eye_channels(
    plan: ExtractionPlan, survey: RawSurvey
) -> tuple[tuple[int, ...], list[QualityFinding]]:
    """Choose the eye channels to regress on.

    Parameters
    ----------
    plan : ExtractionPlan
        The extraction.
    survey : RawSurvey
        Flags of the raw samples.

    Returns
    -------
    rows : tuple of int
        Rows of the recording's sources; empty where regression is off or has nothing.
    findings : list of QualityFinding
        Codes ``"eog_regression"`` and ``"eog_unusable"``.
    """
    names = plan.recording.eog_names
    if not (plan.settings.eog_regression and names and plan.n_windows):
        return (), []
    flagged = (survey.hop_flags[plan.n_eeg :] != 0).mean(axis=1)
    is_usable = flagged <= plan.settings.rejection.bad_channel_fraction
    findings = [
        QualityFinding("eog_unusable", "Eye channel not used for regression: too few good "
                       "samples.", name)
        for name, usable in zip(names, is_usable, strict=True) if not usable
    ]  # fmt: skip
    rows = tuple(plan.n_eeg + int(index) for index in np.flatnonzero(is_usable))
    if rows:
        message = "Eye movements were regressed out with this many eye channels."
        findings.append(QualityFinding("eog_regression", message, count=len(rows)))
    return rows, findings


def fit_eog(
    plan: ExtractionPlan, blocks: BlockFilter, survey: RawSurvey, rows: tuple[int, ...]
) -> FloatArray:
    """Fit the regression weights in one pass over the recording.

    Parameters
    ----------
    plan : ExtractionPlan
        The extraction.
    blocks : BlockFilter
        Gives the filtered signal.
    survey : RawSurvey
        Flags of the raw samples.
    rows : tuple of int
        Eye channels to use.

    Returns
    -------
    ndarray of float64, shape (n_eeg_channels, n_eye_channels)
        Weights (no unit); zero where nothing could be fitted.
    """
    eye = list(rows)
    within = np.zeros((plan.n_eeg, len(eye), len(eye)))
    across = np.zeros((plan.n_eeg, len(eye)))
    n_times = np.zeros(plan.n_eeg)
    for block in blocks.filtered_blocks(plan.n_eeg + len(plan.recording.eog_names)):
        hops = _by_hop(block, plan.grid.hop)
        flags = survey.hop_flags[:, block.first_hop : block.first_hop + block.n_new_hops]
        is_good = (flags[: plan.n_eeg] == 0) & (flags[eye] == 0).all(axis=0)
        eyes = hops[:, eye]
        eye_products = (eyes @ eyes.swapaxes(1, 2)).astype(np.float64)
        products = (hops[:, : plan.n_eeg] @ eyes.swapaxes(1, 2)).astype(np.float64)
        within += np.tensordot(is_good, eye_products, axes=(1, 0))
        across += np.einsum("ch,hck->ck", is_good, products)
        n_times += is_good.sum(axis=1) * plan.grid.hop
    return _solve(within, across, n_times)


def _by_hop(block: FilteredBlock, hop: int) -> SignalArray:
    """Cut the new hops of a block out, shape (n_hops, n_channels, hop)."""
    values = block.values[:, : block.n_new_hops * hop]
    return values.reshape(values.shape[0], block.n_new_hops, hop).swapaxes(0, 1)


def _solve(within: FloatArray, across: FloatArray, n_times: FloatArray) -> FloatArray:
    scale = np.maximum(n_times, 1.0)
    values, vectors = np.linalg.eigh(within / scale[:, None, None])
    floor = np.maximum(SMALLEST_POWER_UV2, SMALLEST_SHARE * values[:, -1:])
    inverse = np.divide(1.0, values, where=values > floor, out=np.zeros_like(values))
    projected = np.einsum("cke,ck->ce", vectors, across / scale[:, None])
    return np.asarray(np.einsum("cke,ce->ck", vectors, inverse * projected))


def subtract_eog(
    values: SignalArray, n_eeg: int, rows: tuple[int, ...], weights: FloatArray
) -> SignalArray:
    """Take eye movements out of filtered EEG.

    Parameters
    ----------
    values : ndarray of float32, shape (n_channels, n_times)
        Filtered signal in microvolts, EEG first.
    n_eeg : int
        Number of EEG channels.
    rows : tuple of int
        Eye channels.
    weights : ndarray of float64, shape (n_eeg_channels, n_eye_channels)
        From :func:`fit_eog`.

    Returns
    -------
    ndarray of float32, shape (n_eeg_channels, n_times)
        EEG in microvolts.
    """
    eeg = values[:n_eeg]
    if not rows:
        return eeg
    movement = np.einsum("ce,et->ct", weights.astype(np.float32), values[list(rows)])
    return np.asarray(eeg - movement, dtype=np.float32)
