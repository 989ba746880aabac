"""The first look at a recording, on raw samples: gaps, flat stretches, clipping."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from neuroveil.signal.blocks import read_checked
from neuroveil.signal.gaps import Gap, GapFinder
from neuroveil.signal.plan import ExtractionPlan
from neuroveil.signal.settings import RejectionSettings
from neuroveil.types.recording import SignalArray

Flags = npt.NDArray[np.uint8]

MISSING = 1
"""Flag: samples that are no numbers."""
FLAT = 2
"""Flag: raw signal without variation."""
CLIPPED = 4
"""Flag: raw signal held at the channel's extreme value."""
DISCONNECTED = 8
"""Flag: nothing left after filtering, although the raw signal varies."""
AMPLITUDE = 16
"""Flag: filtered signal beyond the amplitude limit."""

_HOPS_A_CHUNK = 64


@dataclass(frozen=True, eq=False)
class RawSurvey:
    """What raw samples tell about a recording.

    Parameters
    ----------
    hop_flags : ndarray of uint8, shape (n_channels, n_hops)
        Union of flags for every hop of the recording, EEG first, then EOG.
    gaps : list of list of Gap, optional
        Gaps by segment; None where nobody has looked.
    """

    hop_flags: Flags
    gaps: list[list[Gap]] | None

    @staticmethod
    def skipped(plan: ExtractionPlan) -> RawSurvey:
        """Stand for a survey that is not needed: nothing flagged, gaps unknown.

        Parameters
        ----------
        plan : ExtractionPlan
            The extraction.

        Returns
        -------
        RawSurvey
            Without any flag.
        """
        n_rows = plan.n_eeg + len(plan.recording.eog_names)
        return RawSurvey(np.zeros((n_rows, plan.n_hops), dtype=np.uint8), None)


def survey_recording(plan: ExtractionPlan) -> RawSurvey:
    """Read a recording once and flag its hops.

    Parameters
    ----------
    plan : ExtractionPlan
        The extraction; with rejection switched off only missing samples are flagged.

    Returns
    -------
    RawSurvey
        Flags and gaps.
    """
    survey = RawSurvey.skipped(plan)
    extremes = _Extremes(survey.hop_flags, plan.settings.rejection)
    gaps = [_survey_segment(plan, segment, extremes) for segment in range(len(plan.windows))]
    extremes.flag_clipping()
    return RawSurvey(survey.hop_flags, gaps)


def _survey_segment(plan: ExtractionPlan, segment: int, extremes: _Extremes) -> list[Gap]:
    source = plan.recording.segments[segment]
    n_hops, first_hop = plan.hops_of(segment), plan.first_hop_of(segment)
    finder = GapFinder(source.n_channels)
    for hop in range(0, n_hops, _HOPS_A_CHUNK):
        last = min(n_hops, hop + _HOPS_A_CHUNK)
        starts = [
            plan.chain.conversion.first_sample_in(index * plan.grid.hop)
            for index in range(hop, last + 1)
        ]
        # what follows the last whole window has no flags, but the filters read it
        stop = source.n_times if last == n_hops else starts[-1]
        values = read_checked(source, starts[0], stop)
        finder.add(starts[0], values)
        bounds = np.array(starts) - starts[0]
        extremes.add(first_hop + hop, values, bounds)
    return finder.close()


class _Extremes:
    """Keeps the smallest and largest value of every channel, and who sits on them.

    A hop can only be clipped at the recording's extreme if it reaches the extreme so far;
    only such hops are counted and remembered, so memory does not grow with the signal.
    """

    def __init__(self, hop_flags: Flags, rejection: RejectionSettings) -> None:
        self._flags = hop_flags
        self._rejection = rejection
        n_rows = hop_flags.shape[0]
        # by sign: largest value of the signal, and of the signal upside down
        self._largest = {sign: np.full(n_rows, -np.inf, dtype=np.float32) for sign in (1, -1)}
        self._held: list[tuple[int, int, int, float]] = []

    def add(self, first_hop: int, values: SignalArray, bounds: npt.NDArray[np.intp]) -> None:
        inside = values[:, : bounds[-1]]
        high = np.maximum.reduceat(inside, bounds[:-1], axis=1)
        low = np.minimum.reduceat(inside, bounds[:-1], axis=1)
        flags = self._flags[:, first_hop : first_hop + high.shape[1]]
        flags[~(np.isfinite(high) & np.isfinite(low))] |= MISSING
        if not self._rejection.enabled:
            return
        is_number = flags == 0
        spread = np.subtract(high, low, where=is_number, out=np.full_like(high, np.inf))
        flags[spread < self._rejection.flat_uv] |= FLAT
        for sign, peaks in ((1, high), (-1, -low)):
            peaks[~is_number] = -np.inf
            so_far = np.maximum.accumulate(
                np.concatenate([self._largest[sign][:, None], peaks], axis=1), axis=1
            )
            self._largest[sign] = so_far[:, -1]
            for row, hop in np.argwhere((peaks >= so_far[:, 1:]) & (flags == 0)).tolist():
                peak = float(peaks[row, hop])
                is_there = values[row, bounds[hop] : bounds[hop + 1]] == sign * peak
                stays = is_there[:-2] & is_there[1:-1] & is_there[2:]
                if np.mean(stays) >= self._rejection.clipping_fraction:
                    self._held.append((sign, row, first_hop + hop, peak))

    def flag_clipping(self) -> None:
        for sign, row, hop, peak in self._held:
            if peak == self._largest[sign][row]:
                self._flags[row, hop] |= CLIPPED
