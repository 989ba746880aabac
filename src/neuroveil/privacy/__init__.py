"""Subject-level differential privacy for rows: from a private table to a release.

Read it in this order: :mod:`~neuroveil.privacy.bounds` (what one patient can contribute),
:mod:`~neuroveil.privacy.calibration` (how much noise a guarantee needs),
:mod:`~neuroveil.privacy.integer_noise` (what integers cost),
:mod:`~neuroveil.privacy.sampling` (where noise comes from),
:mod:`~neuroveil.privacy.mechanisms` (how they come together),
:mod:`~neuroveil.privacy.chain` (what is claimed) and
:mod:`~neuroveil.privacy.protection` (the only way to a release).
:mod:`~neuroveil.privacy.verify` checks a certificate and shares no code with any of them.

Names are loaded when they are used, so that verifying a certificate needs no numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neuroveil.privacy.labels import LabelPolicy
    from neuroveil.privacy.mechanisms.contract import MechanismSpec, RowMechanism
    from neuroveil.privacy.mechanisms.registry import make_mechanism
    from neuroveil.privacy.protection import check_release, protect
    from neuroveil.privacy.releasing import check_any, release_any
    from neuroveil.privacy.scaling import private_statistics_scaling, scale_rows
    from neuroveil.privacy.settings import ProtectSettings, charge_request
    from neuroveil.privacy.simulation import rehearse, simulate

__all__ = [
    "LabelPolicy",
    "MechanismSpec",
    "ProtectSettings",
    "RowMechanism",
    "charge_request",
    "check_any",
    "check_release",
    "make_mechanism",
    "private_statistics_scaling",
    "protect",
    "rehearse",
    "release_any",
    "scale_rows",
    "simulate",
]

_HOMES = {
    "LabelPolicy": "labels",
    "MechanismSpec": "mechanisms.contract",
    "ProtectSettings": "settings",
    "RowMechanism": "mechanisms.contract",
    "charge_request": "settings",
    "check_any": "releasing",
    "check_release": "protection",
    "make_mechanism": "mechanisms.registry",
    "private_statistics_scaling": "scaling",
    "protect": "protection",
    "rehearse": "simulation",
    "release_any": "releasing",
    "scale_rows": "scaling",
    "simulate": "simulation",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
