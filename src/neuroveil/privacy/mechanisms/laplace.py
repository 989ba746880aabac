"""The Laplace mechanism on integers, and the paper's under-noised form of it."""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from functools import cached_property

from neuroveil.errors import ChainError
from neuroveil.privacy.calibration import laplace_scale
from neuroveil.privacy.exact import float_up
from neuroveil.privacy.grid import choose_grid_log2
from neuroveil.privacy.mechanisms import links
from neuroveil.privacy.mechanisms.additive import AdditiveMechanism
from neuroveil.privacy.mechanisms.contract import Draws, RowGuarantee
from neuroveil.privacy.randomness import RandomSource
from neuroveil.types.certificate import Fact


class _LaplaceNoise(AdditiveMechanism):
    """What a correct and an under-noised Laplace mechanism have in common."""

    consumes_norm = "l1"
    distribution = "discrete_laplace"

    @property
    @abstractmethod
    def consumed(self) -> float:
        """The sensitivity that the noise scale is made of, on the scaled axis (no unit)."""

    @cached_property
    def noise_scale(self) -> float:
        """Laplace scale b, on the scaled axis (no unit)."""
        if self.spec.delta != 0:
            raise ChainError(
                "privacy.delta", f"0 for {self.spec.name}", f"{self.spec.delta!r}",
                "Leave delta out: this mechanism's claim is pure epsilon.",
            )  # fmt: skip
        return laplace_scale(self.consumed, self.spec.epsilon)

    @property
    def noise_std(self) -> float:
        """Standard deviation sqrt(2) b, on the scaled axis (no unit)."""
        return math.sqrt(2) * self.noise_scale

    @property
    def mean_absolute_noise(self) -> float:
        """Mean absolute noise b, on the scaled axis (no unit)."""
        return self.noise_scale

    @property
    def grid_log2(self) -> int:
        """Binary logarithm of the grid's step."""
        return choose_grid_log2(self.noise_scale, self.spec.clip_norm)

    @property
    def epsilon_supported(self) -> float:
        """Pure epsilon that the noise really supports, rounded up."""
        return float_up(Fraction(self.sensitivity) / Fraction(self.noise_scale))

    def draw(self, n_patients: int, source: RandomSource) -> Draws:
        """Draw discrete Laplace noise for a table, without looking at it.

        Parameters
        ----------
        n_patients : int
            Number of rows.
        source : RandomSource
            Where the randomness comes from.

        Returns
        -------
        Draws
            Integers of shape (n_patients, dimension), in units of the grid.
        """
        shape = (n_patients, self.spec.dimension)
        return Draws(source.discrete_laplace(self.integer_scale, shape), source.facts)


class Laplace(_LaplaceNoise):
    """Discrete Laplace noise calibrated to the L1 sensitivity; pure epsilon.

    Discrete Laplace noise of integer scale t is epsilon-DP for integer rows at most
    epsilon t apart in L1. Rows on the grid are at most floor(sensitivity / grid) apart, so
    the continuous scale in units of the grid is enough and integers cost nothing.

    Parameters
    ----------
    spec : MechanismSpec
        L2 clipping (sensitivity 2 sqrt(d) C) or L1 clipping (2 C1), ``delta = 0``.

    Raises
    ------
    ChainError
        If the specification cannot be calibrated.

    References
    ----------
    Dwork, McSherry, Nissim and Smith 2006, Theorem 1; Ghosh, Roughgarden and Sundararajan
    2009 for the discrete form.
    """

    norms = ("l2", "l1")

    @property
    def consumed(self) -> float:
        """The L1 sensitivity, on the scaled axis (no unit)."""
        return self.sensitivity

    @property
    def scale_fact(self) -> Fact:
        """The noise scale with its derivation."""
        return links.laplace_scale(self.noise_scale)

    @property
    def guarantee(self) -> RowGuarantee:
        """Pure epsilon for one row."""
        proof = (
            "Dwork, McSherry, Nissim and Smith 2006, Theorem 1, on integers "
            "(Ghosh, Roughgarden and Sundararajan 2009)"
        )
        return RowGuarantee("pure_dp", self.spec.epsilon, 0.0, self.epsilon_supported, proof)


class PaperLaplace(_LaplaceNoise):
    """The paper's Laplace noise, b = 2C / epsilon. Not epsilon-DP; for comparison only.

    Laplace noise consumes the L1 sensitivity, which under L2 clipping is 2 sqrt(d) C. Noise
    scaled to the L2 sensitivity 2C supports sqrt(d) epsilon, and no less: two rows with
    equal entries of opposite sign attain it.

    Parameters
    ----------
    spec : MechanismSpec
        L2 clipping, ``delta = 0``.

    Raises
    ------
    ChainError
        If the specification cannot be calibrated.
    """

    @property
    def consumed(self) -> float:
        """The L2 sensitivity that the paper used, 2C, on the scaled axis (no unit)."""
        return self.clip.sensitivity("replace_one", "l2", self.spec.dimension)

    @property
    def scale_fact(self) -> Fact:
        """The noise scale, as the paper derived it."""
        return links.paper_scale(self.noise_scale)

    @property
    def guarantee(self) -> RowGuarantee:
        """What was asked for, and the sqrt(d) times larger epsilon that the noise supports."""
        proof = "none: an L2 sensitivity was given to a mechanism that consumes an L1 sensitivity"
        return RowGuarantee("pure_dp", self.spec.epsilon, 0.0, self.epsilon_supported, proof)
