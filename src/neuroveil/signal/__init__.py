"""From microvolts to window features: filters, spectra, artefacts, and the engine.

``settings`` says what a study may choose, ``plan`` cuts a recording into windows and blocks,
``survey`` looks at raw samples, ``blocks`` reads and filters, ``eog`` regresses eye movements
out, ``quality`` decides what is kept, ``features`` and ``spectra`` measure, ``availability``
knows what a recording cannot give, and ``engine`` joins them. Needs numpy and scipy.fft only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuroveil.signal.settings import RejectionSettings, SignalSettings

if TYPE_CHECKING:
    from neuroveil.signal.engine import extract_features

__all__ = ["RejectionSettings", "SignalSettings", "extract_features"]


def __getattr__(name: str) -> object:
    """Import the engine when it is asked for, so that settings stay light."""
    if name == "extract_features":
        from neuroveil.signal.engine import extract_features

        return extract_features
    raise AttributeError(name)
