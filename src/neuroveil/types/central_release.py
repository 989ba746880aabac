"""Statistics of all patients together that may be published."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from neuroveil.errors import ChainError
from neuroveil.types.catalogue import Column
from neuroveil.types.certificate import Certificate
from neuroveil.types.charge import Charge
from neuroveil.types.recording import FloatArray
from neuroveil.types.scaling import Scaling


@dataclass(frozen=True, eq=False, repr=False)
class CentralRelease:
    """Noisy moments with their certificate. Made by ``protect_central`` only.

    Parameters
    ----------
    columns : tuple of Column
        The feature columns that the release is about.
    total : ndarray of int64, shape (n_features,)
        Sum of rows with noise, in units of the grid.
    products : ndarray of int64, shape (n_features, n_features)
        Sum of x x^T with noise, symmetric, in units of the squared grid.
    mean : ndarray of float64, shape (n_features,)
        Mean row that a public rule makes of them, on the scaled axis (no unit).
    covariance : ndarray of float64, shape (n_features, n_features)
        Covariance that a public rule makes of them, on the scaled axis (no unit).
    synthetic : ndarray of float64, shape (n_patients, n_features)
        Rows of people who do not exist, drawn from both; in the columns' units where the
        constants are public, on the scaled axis elsewhere.
    scaling : Scaling
        Constants that lead back to the features' units.
    certificate : Certificate
        The chain.
    charge : Charge
        The spend that paid for it; must have been consumed.

    Raises
    ------
    ChainError
        If no spent charge stands behind exactly these sums, or shapes disagree.
    """

    columns: tuple[Column, ...]
    total: NDArray[np.int64]
    products: NDArray[np.int64]
    mean: FloatArray
    covariance: FloatArray
    synthetic: FloatArray
    scaling: Scaling
    certificate: Certificate
    charge: Charge = field(repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.charge, Charge) or not self.charge.is_consumed:
            raise ChainError(
                "release", "a charge that was spent on it", "none",
                "Make releases with neuroveil.privacy.protect.",
            )  # fmt: skip
        if not self.charge.paid_for(released_bytes(self.total, self.products)):
            raise ChainError(
                "release", "the sums that the charge has paid for", "other sums",
                "Make releases with neuroveil.privacy.protect.",
            )  # fmt: skip
        request, d = self.charge.request, len(self.columns)
        found = [each.shape for each in (
            self.total, self.products, self.mean, self.covariance, self.synthetic,
        )]  # fmt: skip
        right = [(d,), (d, d), (d,), (d, d), (request.n_patients, d)]
        if found != right or request.dimension != d:
            raise ChainError(
                "release", "the shapes that were charged for", f"shapes {found}",
                "Make releases with neuroveil.privacy.protect.",
            )  # fmt: skip

    @property
    def values(self) -> FloatArray:
        """The synthetic table, the largest thing that is written."""
        return self.synthetic

    def __repr__(self) -> str:
        n, d = self.synthetic.shape
        guarantee = self.certificate.formal_guarantee
        return f"CentralRelease({d} columns of {n} patients, guarantee={guarantee})"


def released_bytes(total: NDArray[np.int64], products: NDArray[np.int64]) -> bytes:
    """Put released sums into bytes, for the charge that has paid for them.

    Parameters
    ----------
    total : ndarray of int64, shape (n_features,)
        Sum of rows with noise.
    products : ndarray of int64, shape (n_features, n_features)
        Sum of x x^T with noise.

    Returns
    -------
    bytes
        Both, one after the other.
    """
    return total.tobytes() + products.tobytes()
