"""The public numbers that a plan rests on."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from neuroveil.errors import StudyError, StudyMistake
from neuroveil.privacy.choice import RowWishes
from neuroveil.privacy.public_model import PublicModel, public_model
from neuroveil.privacy.settings import TrustModel
from neuroveil.privacy.validate import (
    check_clip_norm,
    check_delta,
    check_dimension,
    check_epsilon,
)
from neuroveil.types.scaling import Scaling

TRUST_ORDER: tuple[TrustModel, ...] = ("local", "shuffled", "central")
"""Trust models from the one that trusts nobody to the one that trusts most."""


@dataclass(frozen=True, eq=False)
class PlanQuestion:
    """What a plan is asked for. Public numbers only.

    Parameters
    ----------
    scaling : Scaling
        Columns with their constants; of these, the public covariance counts.
    n_patients : int
        Roster size.
    epsilons : tuple of float
        One plan each.
    delta : float
        For releases that need one; with 0 only pure guarantees are left.
    clip_norm : float
        Largest L2 norm of a scaled row (no unit).
    trust_model : {"local", "shuffled", "central"}
        How much trust there is.
    effect_size : float
        Difference between two groups in standard deviations within a group (no unit), for the
        forecast of areas under the curve.
    prior : float
        An attacker's belief in the truth before the release.
    largest_codebook : int, optional
        Largest number of codewords of privunit; none for what is affordable.
    fresh_per_row : bool
        Whether every row has a codebook of its own.
    spent_beside : tuple of float
        Epsilon and delta that a release spends on constants of scaling; what is said of attackers
        counts them in.

    Raises
    ------
    StudyError
        If effect size or prior make no sense, or there is no epsilon.
    ChainError
        If another number is out of its range.
    """

    scaling: Scaling
    n_patients: int
    epsilons: tuple[float, ...]
    delta: float
    clip_norm: float = 2.0
    trust_model: TrustModel = "local"
    effect_size: float = 0.8
    prior: float = 0.5
    largest_codebook: int | None = None
    fresh_per_row: bool = False
    spent_beside: tuple[float, float] = (0.0, 0.0)
    model: PublicModel | None = field(init=False)

    def __post_init__(self) -> None:
        check_dimension(self.n_patients, "adjacency.n_roster")
        check_clip_norm(self.clip_norm)
        for epsilon in self.epsilons:
            check_epsilon(epsilon)
        if self.delta != 0:
            check_delta(self.delta)
        mistakes = [
            StudyMistake(f"plan.{name}", expected, found, remedy)
            for name, is_fine, expected, found, remedy in (
                ("epsilon", bool(self.epsilons), "at least one", "none", "Give an epsilon."),
                ("effect_size", math.isfinite(self.effect_size) and self.effect_size > 0,
                 "a number above 0", f"{self.effect_size:g}", "0.8 is called a large effect."),
                ("prior", 0 < self.prior < 1, "a probability between 0 and 1", f"{self.prior:g}",
                 "0.5 stands for an attacker who knows nothing yet."),
                ("trust_model", self.trust_model in TRUST_ORDER, " or ".join(TRUST_ORDER),
                 f"{self.trust_model!r}", "Say whom the patients trust."),
            )
            if not is_fine
        ]  # fmt: skip
        if mistakes:
            raise StudyError(mistakes)
        object.__setattr__(self, "model", public_model(self.scaling))

    @property
    def dimension(self) -> int:
        """Number d of columns."""
        return len(self.scaling.columns)

    @property
    def is_covered(self) -> bool:
        """Whether the public reference covers every column."""
        return self.model is not None and not any(self.scaling.fallback)

    def wishes(
        self, mechanism: str, epsilon: float, trust_model: TrustModel, *, projected: bool
    ) -> RowWishes:
        """Say what a study would ask for.

        Parameters
        ----------
        mechanism : str
            Name of a row mechanism.
        epsilon : float
            Epsilon in the trust model.
        trust_model : {"local", "shuffled"}
            Whom the guarantee holds towards.
        projected : bool
            Whether rows are projected on public components.

        Returns
        -------
        RowWishes
            For :func:`neuroveil.privacy.choice.choose_rows`.
        """
        return RowWishes(
            mechanism, epsilon, self.delta, self.clip_norm,
            trust_model=trust_model,
            projection="public_pca" if projected else "none",
            largest_codebook=self.largest_codebook,
            fresh_per_row=self.fresh_per_row,
        )  # fmt: skip
