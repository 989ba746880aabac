"""One default cohort for all tests of this room."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from neuroveil.simulate import CohortSpec, CohortTruth, SessionTruth, simulate_cohort
from neuroveil.simulate.bids import recording_path
from neuroveil.types.catalogue import STANDARD_CHANNELS
from neuroveil.types.recording import FloatArray

SMALL = CohortSpec(n_patients=4, n_sessions=2, seconds=12.0, seed=3)


class Cohort:
    """A cohort on disk with its truth and the spectra of its recordings."""

    def __init__(self, folder: Path, truth: CohortTruth) -> None:
        self.folder = folder
        self.truth = truth
        self._spectra: dict[Path, tuple[FloatArray, FloatArray]] = {}

    def path(self, session: SessionTruth) -> Path:
        return recording_path(self.folder, session)

    def signals(self, session: SessionTruth) -> FloatArray:
        """All channels in µV, shape (n_channels, n_times)."""
        import mne

        raw = mne.io.read_raw_edf(self.path(session), preload=True, verbose="error")
        return np.asarray(raw.get_data() * 1e6)

    def spectra(self, session: SessionTruth) -> tuple[FloatArray, FloatArray]:
        """Frequencies in Hz and densities in µV²/Hz of the 19 channels, 4-s segments."""
        from scipy.signal import welch

        path = self.path(session)
        if path not in self._spectra:
            eeg = self.signals(session)[: len(STANDARD_CHANNELS)]
            self._spectra[path] = welch(eeg, session.sfreq, nperseg=4 * session.sfreq)
        return self._spectra[path]


@pytest.fixture(scope="session")
def cohort(tmp_path_factory: pytest.TempPathFactory) -> Cohort:
    """The default cohort: 24 patients over 2 hospitals with 2 sessions each."""
    folder = tmp_path_factory.mktemp("simulate") / "cohort"
    return Cohort(folder, simulate_cohort(folder))


@pytest.fixture(scope="session")
def band_powers(cohort: Cohort) -> FloatArray:
    """Log10 band powers, shape (n_sessions, 19, 5), of delta, theta, alpha, beta and gamma."""
    bands = [(0.5, 4), (4, 8), (8, 13), (13, 30), (30, 45)]
    rows = []
    for session in cohort.truth.sessions:
        frequencies, densities = cohort.spectra(session)
        power = [
            densities[:, (frequencies >= low) & (frequencies < high)].sum(axis=1) * frequencies[1]
            for low, high in bands
        ]
        # A flat channel has no power at all; a millionth of a µV² keeps its logarithm finite.
        rows.append(np.log10(np.array(power).T + 1e-6))
    return np.array(rows)


@pytest.fixture(scope="session")
def small_spec() -> CohortSpec:
    """A cohort that is made in a moment."""
    return SMALL
