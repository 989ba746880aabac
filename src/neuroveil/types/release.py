"""What may be published, and what may not although it looks the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from neuroveil.errors import ChainError
from neuroveil.types.catalogue import Column
from neuroveil.types.certificate import Certificate
from neuroveil.types.charge import Charge
from neuroveil.types.codewords import Messages
from neuroveil.types.recording import FloatArray
from neuroveil.types.scaling import Scaling


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """What public rules make of released values. It costs nothing: anybody can repeat it.

    Parameters
    ----------
    values : ndarray of float64, shape (n_patients, n_features)
        Features in their columns' units, in the order of the released rows.
    public_inputs : mapping
        Public constants that the rules use, as plain data.
    """

    values: FloatArray
    public_inputs: Mapping[str, Any]


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """A protected table with its certificate. Made by ``privacy.protect`` only.

    Rows stand in random order and carry no identifier.

    Parameters
    ----------
    columns : tuple of Column
        The feature columns that the release is about.
    values : ndarray of float64, shape (n_patients, m)
        What the mechanism gave, on the scaled axis (no unit): multiples of the noise grid or
        decoded codewords; in the feature columns, or in public components.
    labels : dict of str to tuple of str
        Label columns that were protected, or that the study leaves unprotected on purpose.
    scaling : Scaling
        Constants that lead back to the features' units; public unless the certificate
        says otherwise.
    certificate : Certificate
        The chain.
    charge : Charge
        The spend that paid for it; must have been consumed.
    messages : Messages, optional
        Which codeword each row is, for mechanisms that release codewords.
    estimate : Estimate, optional
        What public rules make of the values.

    Raises
    ------
    ChainError
        If no spent charge stands behind exactly these values, or shapes disagree.
    """

    columns: tuple[Column, ...]
    values: FloatArray
    labels: dict[str, tuple[str, ...]]
    scaling: Scaling
    certificate: Certificate
    charge: Charge = field(repr=False)
    messages: Messages | None = None
    estimate: Estimate | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.charge, Charge) or not self.charge.is_consumed:
            raise ChainError(
                "release", "a charge that was spent on it", "none",
                "Make releases with neuroveil.privacy.protect.",
            )  # fmt: skip
        if not self.charge.paid_for(self.values.tobytes()):
            raise ChainError(
                "release", "the values that the charge has paid for", "other values",
                "Make releases with neuroveil.privacy.protect.",
            )  # fmt: skip
        request, m = self.charge.request, self.certificate.value("bound.dimension")
        shapes = [self.values.shape, (request.n_patients, len(self.columns))]
        if self.estimate is not None:
            shapes.append(self.estimate.values.shape)
        fits = shapes[0] == (request.n_patients, m) and len({*shapes[1:]}) == 1
        if not fits or request.dimension != len(self.columns):
            raise ChainError(
                "release", "the shape that was charged for", f"shape {self.values.shape}",
                "Make releases with neuroveil.privacy.protect.",
            )  # fmt: skip

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the columns of the protected table: features, or public components."""
        if self.certificate.value("preprocessing.projection") is None:
            return tuple(column.name for column in self.columns)
        return tuple(f"component_{number}" for number in range(1, self.values.shape[1] + 1))

    def __repr__(self) -> str:
        n, d = self.values.shape
        return f"Release({n} rows x {d} columns, guarantee={self.certificate.formal_guarantee})"


@dataclass(frozen=True, eq=False, repr=False)
class Simulation:
    """A draw of a mechanism for evaluation. Not private: no writer accepts it.

    Parameters
    ----------
    values : ndarray of float64, shape (n_patients, m)
        What the mechanism gave, in the order of the input rows.
    clipped : ndarray of float64, shape (n_patients, m)
        What was randomised.
    certificate : Certificate
        The chain, with ``formal_guarantee`` false and the reason.
    estimated : ndarray of float64, shape (n_patients, n_features), optional
        What public rules make of the values, in the columns' units.
    """

    values: FloatArray
    clipped: FloatArray
    certificate: Certificate
    estimated: FloatArray | None = None

    def __repr__(self) -> str:
        n, d = self.values.shape
        return f"Simulation({n} rows x {d} columns, NOT PRIVATE)"
