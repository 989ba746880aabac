"""The Gaussian mechanism, by the analytic calibration, on integers."""

from __future__ import annotations

import math
from functools import cached_property

from neuroveil.privacy.calibration import gaussian_epsilon
from neuroveil.privacy.integer_noise import GaussianCalibration, Slack, calibrate_gaussian
from neuroveil.privacy.mechanisms import links
from neuroveil.privacy.mechanisms.additive import AdditiveMechanism
from neuroveil.privacy.mechanisms.contract import Draws, RowGuarantee
from neuroveil.privacy.randomness import RandomSource
from neuroveil.types.certificate import Fact


class Gaussian(AdditiveMechanism):
    """Discrete Gaussian noise under L2 clipping; (epsilon, delta).

    Parameters
    ----------
    spec : MechanismSpec
        ``norm = "l2"``, ``delta`` above 0.

    Raises
    ------
    ChainError
        If the specification cannot be calibrated, ``delta = 0`` included.

    References
    ----------
    Balle and Wang 2018, Theorem 8; Canonne, Kamath and Steinke 2020 for the sampler.
    """

    consumes_norm = "l2"
    distribution = "discrete_gaussian"

    @cached_property
    def calibration(self) -> GaussianCalibration:
        """Noise scale, grid and the price of integers."""
        spec = self.spec
        return calibrate_gaussian(
            self.clip, self.sensitivity, spec.epsilon, spec.delta, spec.dimension
        )

    @property
    def slack(self) -> Slack:
        """The price of integers, at the calibrated scale."""
        return self.calibration.slack

    @property
    def noise_scale(self) -> float:
        """Standard deviation sigma, on the scaled axis (no unit)."""
        return self.calibration.noise_scale

    @property
    def noise_std(self) -> float:
        """Standard deviation sigma, on the scaled axis (no unit)."""
        return self.calibration.noise_scale

    @property
    def mean_absolute_noise(self) -> float:
        """Mean absolute noise sqrt(2 / pi) sigma, on the scaled axis (no unit)."""
        return math.sqrt(2 / math.pi) * self.noise_std

    @property
    def grid_log2(self) -> int:
        """Binary logarithm of the grid's step."""
        return self.calibration.grid_log2

    @property
    def scale_fact(self) -> Fact:
        """The noise scale with its derivation."""
        return links.gaussian_scale(self.noise_scale)

    @cached_property
    def guarantee(self) -> RowGuarantee:
        """(epsilon, delta) for one row."""
        supported = gaussian_epsilon(
            self.sensitivity, self.noise_scale, self.slack.delta_calibrated
        )
        proof = (
            "Balle and Wang 2018, Theorem 8, for continuous noise; discrete noise by "
            "Poisson summation and Jensen's inequality"
        )
        return RowGuarantee("approximate_dp", self.spec.epsilon, self.spec.delta, supported, proof)

    def draw(self, n_patients: int, source: RandomSource) -> Draws:
        """Draw discrete Gaussian noise for a table, without looking at it.

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
        return Draws(source.discrete_gaussian(self.integer_scale, shape), source.facts)
