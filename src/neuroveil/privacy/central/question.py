"""The public conditions under which a release is chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from neuroveil.errors import ChainError
from neuroveil.privacy.central.spectrum import check_spectrum
from neuroveil.privacy.validate import (
    check_clip_norm,
    check_delta,
    check_dimension,
    check_epsilon,
)
from neuroveil.types.recording import FloatArray

TrustModel = Literal["local", "shuffled", "central"]


@dataclass(frozen=True, eq=False)
class ReleaseQuestion:
    """Public conditions under which the release is chosen.

    Parameters
    ----------
    spectrum : ndarray of float64, shape (dimension,)
        Public eigenvalues of the covariance of scaled columns (no unit).
    n_patients : int
        Roster size, public.
    epsilon, delta : float
        Guarantee; with ``delta = 0`` only mechanisms with a pure guarantee are left.
    clip_norm : float
        Largest L2 norm of a scaled row (no unit).
    trust : {"local", "shuffled", "central"}
        Who is trusted: nobody, somebody who shuffles rows, or somebody who sees them.
    row_epsilon : float, optional
        Epsilon of a single row that shuffling brings down to ``epsilon``, for mechanisms with
        a pure guarantee; only under ``"shuffled"``.

    Raises
    ------
    ChainError
        If a value is out of its range.
    """

    spectrum: FloatArray
    n_patients: int
    epsilon: float
    delta: float
    clip_norm: float
    trust: TrustModel
    row_epsilon: float | None = None

    def __post_init__(self) -> None:
        check_spectrum(self.spectrum)
        check_dimension(self.n_patients, "adjacency.n_roster")
        check_epsilon(self.epsilon)
        if self.delta != 0:
            check_delta(self.delta)
        check_clip_norm(self.clip_norm)
        if self.trust not in ("local", "shuffled", "central"):
            raise ChainError(
                "model.trust", "local, shuffled or central", f"{self.trust!r}",
                "State who is trusted with what.",
            )  # fmt: skip
        if self.row_epsilon is None:
            return
        check_epsilon(self.row_epsilon, "model.row_epsilon")
        if self.trust != "shuffled" or self.row_epsilon < self.epsilon:
            raise ChainError(
                "model.row_epsilon", "an epsilon of at least the whole, under trust = shuffled",
                f"{self.row_epsilon!r} under {self.trust}",
                "Only a trusted shuffler makes a row's epsilon smaller.",
            )  # fmt: skip
