"""Windows of equal length that overlap by whole hops."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class WindowGrid:
    """Windows of equal length, a whole number of hops each.

    Parameters
    ----------
    hop : int
        Samples between the starts of windows.
    hops_per_window : int
        Hops that fill a window.
    sfreq : float
        Rate of these samples, in Hz.
    """

    hop: int
    hops_per_window: int
    sfreq: float

    @property
    def window(self) -> int:
        """Samples in a window."""
        return self.hop * self.hops_per_window

    @property
    def window_seconds(self) -> float:
        """Length of a window, in seconds."""
        return self.window / self.sfreq

    def count(self, n_times: int) -> int:
        """Count the whole windows in a stretch.

        Parameters
        ----------
        n_times : int
            Samples.

        Returns
        -------
        int
            Windows; 0 where the stretch is shorter than one.
        """
        return max(0, n_times // self.hop - self.hops_per_window + 1)
