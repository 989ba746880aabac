"""Public specification of a release of mean and second moment."""

from __future__ import annotations

from dataclasses import dataclass

from neuroveil.errors import ChainError
from neuroveil.privacy.validate import (
    check_clip_norm,
    check_delta,
    check_dimension,
    check_epsilon,
)

DEFAULT_MEAN_SHARE = 0.2
"""Share of the budget for the mean; the rest is for the second moment."""

LARGEST_MEAN_SHARE = 0.8
LARGEST_N = 1 << 24
LARGEST_DIMENSION = 4096


@dataclass(frozen=True)
class MomentSpec:
    """Public specification of a release of mean and second moment.

    Parameters
    ----------
    epsilon, delta : float
        Guarantee for both together; ``delta`` above 0.
    clip_norm : float
        Largest L2 norm C of a scaled row (no unit).
    dimension : int
        Number d of columns.
    n_patients : int
        Roster size n, public.
    mean_share : float
        Share of the budget for the mean, as a part of the squared sensitivity-to-noise ratio
        (of zero-concentrated privacy loss); 0 leaves the mean out.

    Raises
    ------
    ChainError
        If a parameter is out of its range.
    """

    epsilon: float
    delta: float
    clip_norm: float
    dimension: int
    n_patients: int
    mean_share: float = DEFAULT_MEAN_SHARE

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_delta(self.delta)
        check_clip_norm(self.clip_norm)
        check_dimension(self.dimension)
        check_dimension(self.n_patients, "adjacency.n_roster")
        for name, value, largest in (
            ("domain.dimension", self.dimension, LARGEST_DIMENSION),
            ("adjacency.n_roster", self.n_patients, LARGEST_N),
        ):
            if value > largest:
                raise ChainError(
                    name, f"at most {largest}", f"{value}",
                    "Release fewer columns, or a part of the roster at a time.",
                )  # fmt: skip
        share = self.mean_share
        is_number = isinstance(share, int | float) and not isinstance(share, bool)
        if not is_number or not 0 <= share <= LARGEST_MEAN_SHARE:
            raise ChainError(
                "mechanism.mean_share", f"a share from 0 to {LARGEST_MEAN_SHARE}", f"{share!r}",
                "The second moment needs most of the budget; 0.2 suits most studies.",
            )  # fmt: skip

    @property
    def n_coordinates(self) -> int:
        """Number of noisy integers: the upper triangle, and the mean where it is released."""
        triangle = self.dimension * (self.dimension + 1) // 2
        return triangle + (self.dimension if self.mean_share else 0)
