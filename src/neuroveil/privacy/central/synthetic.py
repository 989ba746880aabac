"""A table of people who do not exist, drawn from a released mean and covariance.

It is post-processing of the release: it costs nothing, and the randomness that it takes
protects nobody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from neuroveil.errors import ChainError
from neuroveil.privacy.central.covariance import CovarianceEstimate
from neuroveil.privacy.randomness import RandomSource
from neuroveil.types.recording import FloatArray

LARGEST_N_ROWS = 10_000_000
_SEED_BITS = 128


@dataclass(frozen=True, eq=False, repr=False)
class SyntheticTable:
    """Rows drawn from a normal distribution. No row belongs to a patient.

    Parameters
    ----------
    values : ndarray of float64, shape (n_rows, dimension)
        Rows on the scaled axis (no unit).
    """

    values: FloatArray
    LABEL: ClassVar[str] = "synthetic"

    def __repr__(self) -> str:
        n_rows, dimension = self.values.shape
        return f"SyntheticTable({n_rows} rows x {dimension} columns, {self.LABEL})"


def synthetic_table(
    estimate: CovarianceEstimate, n_rows: int, source: RandomSource
) -> SyntheticTable:
    """Draw rows from the normal distribution of a released mean and covariance.

    Parameters
    ----------
    estimate : CovarianceEstimate
        Made of a release.
    n_rows : int
        Number of rows, any public number.
    source : RandomSource
        Where the randomness comes from.

    Returns
    -------
    SyntheticTable
        Rows of shape (n_rows, dimension). Unlike patients' rows they are not clipped, so that
        their covariance is that of the estimate.

    Raises
    ------
    ChainError
        If the number of rows is out of range.
    """
    is_number = isinstance(n_rows, int) and not isinstance(n_rows, bool)
    if not is_number or not 1 <= n_rows <= LARGEST_N_ROWS:
        raise ChainError(
            "synthetic.n_rows", f"a whole number from 1 to {LARGEST_N_ROWS}", f"{n_rows!r}",
            "Ask for a table of an ordinary size.",
        )  # fmt: skip
    generator = np.random.default_rng(source.below(1 << _SEED_BITS))
    normal = generator.standard_normal((n_rows, estimate.mean.size))
    normal *= np.sqrt(estimate.eigenvalues)
    return SyntheticTable(estimate.mean + normal @ estimate.vectors.T)
