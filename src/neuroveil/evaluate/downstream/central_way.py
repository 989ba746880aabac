"""What a trusted curator shares about all patients together, simulated one draw at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from neuroveil.evaluate.downstream.private_moments import (
    Judgement,
    discriminant,
    learn_from_synthetic,
    release_moments,
)
from neuroveil.evaluate.downstream.private_training import (
    TrainingSpec,
    probabilities,
    train_privately,
)
from neuroveil.evaluate.downstream.scores import Labels
from neuroveil.privacy.central.mean_covariance import MeanCovariance
from neuroveil.privacy.central.moment_spec import MomentSpec
from neuroveil.privacy.public_model import public_model
from neuroveil.types.recording import FloatArray
from neuroveil.types.scaling import Scaling
from neuroveil.types.sharing import WayFacts


@dataclass(frozen=True)
class CentralWay:
    """A trusted curator shares something about all patients together, and no rows.

    Parameters
    ----------
    facts : WayFacts
        What it is; its key says what is shared: ``"private_training"`` (a trained model),
        ``"private_moments"`` (mean and covariance) or ``"synthetic_table"``.
    epsilon, delta : float
        Guarantee for row and label of one patient together.
    components : int
        Number k of public components that enter.
    """

    facts: WayFacts
    epsilon: float
    delta: float
    components: int

    @property
    def row_norm(self) -> float:
        """Largest L2 norm of a whitened row: its typical length, sqrt(k) (no unit)."""
        return float(np.sqrt(self.components))

    def coordinates(self, rows: FloatArray, scaling: Scaling) -> FloatArray:
        """Take scaled rows along the first public components, each with public variance 1.

        Parameters
        ----------
        rows : ndarray of float64, shape (n, n_features)
            Scaled rows (no unit).
        scaling : Scaling
            Constants of the columns.

        Returns
        -------
        ndarray of float64, shape (n, k)
            Whitened coordinates (no unit); the first k columns without a public covariance.
        """
        model = public_model(scaling)
        if model is None:
            return rows[:, : self.components]
        spread = np.sqrt(np.maximum(model.spectrum[: self.components], 1e-12))
        return np.asarray(rows @ model.basis(self.components) / spread)

    def teach(self, rows: FloatArray, labels: Labels, seed: int) -> Judgement:
        """Simulate what the curator does with the training patients.

        Parameters
        ----------
        rows : ndarray of float64, shape (n_train, k)
            From :meth:`coordinates`.
        labels : ndarray of bool, shape (n_train,)
            True for the positive class.
        seed : int
            Seed of the simulated noise.

        Returns
        -------
        callable
            From clear coordinates to the probability of the positive class.
        """
        norm = self.row_norm
        if self.facts.key == "private_training":
            training = TrainingSpec(self.epsilon, self.delta, norm)
            weights = train_privately(rows, labels, training, seed)
            return lambda shown: probabilities(weights, shown, norm)
        spec = MomentSpec(
            self.epsilon, self.delta, float(np.sqrt(2)) * norm, self.components + 1, labels.size
        )
        released = release_moments(rows, labels, _moments(spec), norm, seed)
        if self.facts.key == "private_moments":
            return discriminant(released, norm)
        return learn_from_synthetic(released, norm, seed)


@lru_cache(maxsize=16)
def _moments(spec: MomentSpec) -> MeanCovariance:
    return MeanCovariance(spec)


def central_components(n_patients: int, n_columns: int) -> int:
    """Choose how many public components a curator works with, from public numbers alone.

    Parameters
    ----------
    n_patients : int
        Roster size n.
    n_columns : int
        Number of columns.

    Returns
    -------
    int
        sqrt(n), rounded, at least 4: noise grows with every component, and what can be learned
        of one grows with n.
    """
    return min(n_columns, max(4, round(math.sqrt(n_patients))))
