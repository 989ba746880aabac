"""From a public specification to a mechanism."""

from __future__ import annotations

from collections.abc import Callable

from neuroveil.errors import ChainError
from neuroveil.privacy.mechanisms.contract import MechanismSpec, RowMechanism
from neuroveil.privacy.mechanisms.gaussian import Gaussian
from neuroveil.privacy.mechanisms.laplace import Laplace, PaperLaplace
from neuroveil.privacy.mechanisms.privunit import make_privunit

_MECHANISMS: dict[str, Callable[[MechanismSpec], RowMechanism]] = {
    "gaussian": Gaussian,
    "laplace": Laplace,
    "paper_laplace": PaperLaplace,
    "privunit": make_privunit,
}

MECHANISM_NAMES: tuple[str, ...] = tuple(_MECHANISMS)
"""Names that a study may give."""


def make_mechanism(spec: MechanismSpec) -> RowMechanism:
    """Calibrate the mechanism that a specification names.

    Parameters
    ----------
    spec : MechanismSpec
        The public specification.

    Returns
    -------
    RowMechanism
        Calibrated and ready to draw.

    Raises
    ------
    ChainError
        If there is no such mechanism, or it cannot be calibrated.
    """
    if spec.name not in _MECHANISMS:
        raise ChainError(
            "privacy.mechanism", " or ".join(MECHANISM_NAMES), f"{spec.name!r}",
            "Name one of these mechanisms.",
        )  # fmt: skip
    return _MECHANISMS[spec.name](spec)
