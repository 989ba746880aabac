"""Flower and PyTorch, loaded where they are used, with everything that calls home switched off."""

from __future__ import annotations

import importlib
import importlib.util
import os
from types import ModuleType

from neuroveil.errors import FederationError

_QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
}
_EXTRAS = {
    "flwr": "federated", "ray": "federated", "httpx": "federated",
    "torch": "torch", "opacus": "torch", "safetensors": "torch",
}  # fmt: skip
_TO_TRAIN = ("flwr", "httpx", "torch", "opacus", "safetensors")  # Ray is for simulations


def quiet_environment() -> dict[str, str]:
    """Give the variables that keep Flower and Ray from calling home.

    Returns
    -------
    dict of str to str
        For the environment of every process that loads either of them.
    """
    return dict(_QUIET)


def require(*names: str) -> tuple[ModuleType, ...]:
    """Load modules of the extras ``federated`` and ``torch``.

    Parameters
    ----------
    *names : str
        Modules, for example ``"flwr.app"``.

    Returns
    -------
    tuple of module
        In the same order.

    Raises
    ------
    FederationError
        If an extra is not installed, with its name.
    """
    os.environ.update(_QUIET)  # read by Flower when it is imported
    try:
        return tuple(importlib.import_module(name) for name in names)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _EXTRAS:
            raise
        raise _absent(missing) from None


def require_installed() -> None:
    """Make sure that all is there that hospitals train with, without loading it.

    A service would otherwise start, and fail at the first message that needs a package.

    Raises
    ------
    FederationError
        If a package of the extras is not installed, with the name of the extra.
    """
    for name in _TO_TRAIN:
        if importlib.util.find_spec(name) is None:
            raise _absent(name)


def _absent(package: str) -> FederationError:
    return FederationError(
        "installation", f"the package {package}", "none",
        f"Install the extras that hospitals train with: "
        f"pip install 'neuroveil[federated,torch]'; {package} is part of {_EXTRAS[package]!r}.",
    )  # fmt: skip
