"""What a release of mean and covariance leaves: measured, drawn on the internal page."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from neuroveil.types.utility import Estimate


@dataclass(frozen=True)
class MomentUtility:
    """Utility of released moments over repeated draws. Internal: it rests on private rows.

    Everything is compared with the moments of the clipped rows themselves. A figure that is not
    defined, such as a correlation of a single entry, is ``None``.

    Parameters
    ----------
    n_patients, n_features, n_draws : int
        Rows, columns, and draws of noise. None of the draws is the released one.
    seed : int
        Seed of the simulated noise.
    covariance_correlation : Estimate, optional
        Pearson correlation over the entries of the covariance, each once.
    covariance_correlation_permuted : Estimate, optional
        Control: the same with the columns of the true covariance exchanged.
    covariance_rmse : Estimate
        Root mean square error of an entry of the covariance (no unit).
    mean_rmse : Estimate
        Root mean square error of an entry of the mean row (no unit).
    marginal_distance : Estimate
        Largest difference between the distribution functions of synthetic and clipped values of
        a column (Kolmogorov and Smirnov), averaged over columns.
    marginal_distance_without_noise : Estimate
        Control: the same for synthetic rows from the true moments, what the normal shape costs.
    n_directions : Estimate
        Number of directions that stand out of the noise.
    zeros_covariance_rmse, zeros_mean_rmse : float
        The same errors for moments of zeros (no unit).
    clipped_fraction : float
        Fraction of rows that clipping shortened.
    """

    INTERNAL: ClassVar[bool] = True

    n_patients: int
    n_features: int
    n_draws: int
    seed: int
    covariance_correlation: Estimate | None
    covariance_correlation_permuted: Estimate | None
    covariance_rmse: Estimate
    mean_rmse: Estimate
    marginal_distance: Estimate
    marginal_distance_without_noise: Estimate
    n_directions: Estimate
    zeros_covariance_rmse: float
    zeros_mean_rmse: float
    clipped_fraction: float

    def to_json(self) -> dict[str, Any]:
        """Give the result as plain data, marked internal.

        Returns
        -------
        dict
            The fields by name, and ``"internal": True``.
        """
        return {"internal": self.INTERNAL, **asdict(self)}
