"""neuroveil: share what is in EEG recordings without exposing a patient.

From recordings to a certificate in Python::

    from pathlib import Path
    import neuroveil

    study = neuroveil.load_study(Path("study.toml"))
    released = neuroveil.release_study(study)
    print(released.certificate.verdict)
    print(neuroveil.verify(released.folder).sentence)

Names are imported when they are used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neuroveil.errors import NeuroveilError
    from neuroveil.ledger import Ledger
    from neuroveil.pipeline.check import check_study
    from neuroveil.pipeline.extract import extract_study
    from neuroveil.pipeline.release import release_study
    from neuroveil.privacy import ProtectSettings, protect
    from neuroveil.privacy.verify import verify
    from neuroveil.study import Study, load_study

__all__ = [
    "Ledger",
    "NeuroveilError",
    "ProtectSettings",
    "Study",
    "check_study",
    "extract_study",
    "load_study",
    "protect",
    "release_study",
    "verify",
]

_HOMES = {
    "Ledger": "ledger",
    "NeuroveilError": "errors",
    "ProtectSettings": "privacy",
    "Study": "study",
    "check_study": "pipeline.check",
    "extract_study": "pipeline.extract",
    "load_study": "study",
    "protect": "privacy",
    "release_study": "pipeline.release",
    "verify": "privacy.verify",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
