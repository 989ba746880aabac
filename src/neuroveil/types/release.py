"""What may be published, and what may not although it looks the same."""

from __future__ import annotations

from dataclasses import dataclass, field

from neuroveil.errors import ChainError
from neuroveil.types.catalogue import Column
from neuroveil.types.certificate import Certificate
from neuroveil.types.charge import Charge
from neuroveil.types.recording import FloatArray
from neuroveil.types.scaling import Scaling


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """A protected table with its certificate. Made by ``privacy.protect`` only.

    Rows stand in random order and carry no identifier.

    Parameters
    ----------
    columns : tuple of Column
        What each column is.
    values : ndarray of float64, shape (n_patients, n_features)
        Protected values on the scaled axis (no unit), multiples of the noise grid.
    labels : dict of str to tuple of str
        Label columns that were protected, or that the study leaves unprotected on purpose.
    scaling : Scaling
        Constants that lead back to the features' units; public unless the certificate
        says otherwise.
    certificate : Certificate
        The chain.
    charge : Charge
        The spend that paid for it; must have been consumed.

    Raises
    ------
    ChainError
        If no spent charge stands behind it, or shapes disagree.
    """

    columns: tuple[Column, ...]
    values: FloatArray
    labels: dict[str, tuple[str, ...]]
    scaling: Scaling
    certificate: Certificate
    charge: Charge = field(repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.charge, Charge) or not self.charge.is_consumed:
            raise ChainError(
                "release", "a charge that was spent on it", "none",
                "Make releases with neuroveil.privacy.protect.",
            )  # fmt: skip
        if self.values.shape != (self.charge.request.n_patients, len(self.columns)):
            raise ChainError(
                "release", "the shape that was charged for", f"shape {self.values.shape}",
                "Make releases with neuroveil.privacy.protect.",
            )  # fmt: skip

    def __repr__(self) -> str:
        n, d = self.values.shape
        return f"Release({n} rows x {d} columns, guarantee={self.certificate.formal_guarantee})"


@dataclass(frozen=True, eq=False, repr=False)
class Simulation:
    """A draw of a mechanism for evaluation. Not private: no writer accepts it.

    Parameters
    ----------
    values : ndarray of float64, shape (n_patients, n_features)
        Noisy scaled values, in the order of the input rows.
    clipped : ndarray of float64, shape (n_patients, n_features)
        What the noise was added to.
    certificate : Certificate
        The chain, with ``formal_guarantee`` false and the reason.
    """

    values: FloatArray
    clipped: FloatArray
    certificate: Certificate

    def __repr__(self) -> str:
        n, d = self.values.shape
        return f"Simulation({n} rows x {d} columns, NOT PRIVATE)"
