"""The parts of a plan: hospitals, inputs, model, training, and where privacy enters. Public."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from neuroveil.study.federation import Setting

PlanSetting = Literal[Setting, "central"]
"""Where privacy enters: as a study can say, or at a server that holds all hospitals' rows."""

Duplicates = Literal["apart", "linked_pool", "linked_keep_longest", "linked_hospital_order"]
"""What became of people whom several hospitals know: nothing, or one row by a policy."""

LabelPolicyName = Literal["randomised_response", "unprotected", "with_the_row"]


@dataclass(frozen=True)
class Seat:
    """A hospital of the federation.

    Parameters
    ----------
    name : str
        Public name.
    n_patients : int
        Patients that train; public, since adjacency is replace-one.
    """

    name: str
    n_patients: int


@dataclass(frozen=True)
class InputSpec:
    """How a patient's row becomes what a model is shown, by public constants alone.

    Parameters
    ----------
    columns_digest : str
        Digest of the feature columns.
    reference : str
        Name of the public reference that scales them.
    components : int
        Number k of public components that enter.
    """

    columns_digest: str
    reference: str
    components: int

    @property
    def row_norm(self) -> float:
        """Largest L2 norm of an input: its typical length, sqrt(k) (no unit)."""
        return math.sqrt(self.components)


@dataclass(frozen=True)
class ModelSpec:
    """The model that is trained.

    Parameters
    ----------
    kind : {"logistic", "mlp"}
        Logistic regression, or one hidden layer of rectified linear units.
    hidden : int
        Width of the hidden layer; not used for logistic regression.
    """

    kind: Literal["logistic", "mlp"]
    hidden: int

    def n_parameters(self, n_inputs: int) -> int:
        """Count parameters.

        Parameters
        ----------
        n_inputs : int
            Number of inputs.

        Returns
        -------
        int
            Weights and biases.
        """
        if self.kind == "logistic":
            return n_inputs + 1
        return (n_inputs + 1) * self.hidden + self.hidden + 1


@dataclass(frozen=True)
class TrainingSpec:
    """Rounds, steps, and how updates come together.

    Parameters
    ----------
    rounds, retries : int
        Rounds of training, and how many may be asked for once more; privacy pays for both.
    local_steps : int
        Steps at a hospital in a round.
    learning_rate, penalty, proximal : float
        Step size, L2 penalty on weights and biases, and FedProx' pull towards the common model.
    aggregation : {"mean", "median", "trimmed_mean"}
        How updates become one.
    trimmed : int
        Updates left out at either end of a trimmed mean.
    stopping : {"fixed_rounds", "validation"}
        Whether the best model on validation rows is kept, and training stops two rounds later.
    test_share : float
        Share of a hospital's patients that judge and never train, from 0 to below 1.
    """

    rounds: int
    retries: int = 0
    local_steps: int = 1
    learning_rate: float = 1.0
    penalty: float = 0.05
    proximal: float = 0.0
    aggregation: Literal["mean", "median", "trimmed_mean"] = "mean"
    trimmed: int = 1
    stopping: Literal["fixed_rounds", "validation"] = "fixed_rounds"
    test_share: float = 0.0

    @property
    def attempts(self) -> int:
        """Answers that a hospital gives at most."""
        return self.rounds + self.retries


@dataclass(frozen=True)
class PrivacyTerms:
    """Where privacy enters, and the guarantee for one patient's row and label.

    Parameters
    ----------
    setting : {"local_features", "dp_sgd", "distributed", "none", "central"}
        Rows protected at home; noise in every step at every hospital; shares of noise under secure
        aggregation; nothing; noise in every step at a server that holds all rows.
    epsilon, delta : float
        Guarantee over the whole run; of no meaning for ``none``.
    gradient_norm : float
        Norm that a patient's gradient is clipped to (no unit).
    sampling_rate : float
        With which probability a patient takes part in a step.
    max_dropouts, max_colluding : int
        Hospitals that may drop out, and that may collude with the coordinator.
    secure_aggregation : bool
        Whether updates are masked; always so for ``distributed``.
    labels : {"randomised_response", "unprotected", "with_the_row"}
        What protects the label; ``with_the_row`` where one guarantee covers both.
    label_epsilon : float
        What of epsilon randomised response spends; 0 otherwise.
    """

    setting: PlanSetting
    epsilon: float
    delta: float
    gradient_norm: float
    sampling_rate: float = 1.0
    max_dropouts: int = 1
    max_colluding: int = 1
    secure_aggregation: bool = False
    labels: LabelPolicyName = "with_the_row"
    label_epsilon: float = 0.0

    @property
    def is_masked(self) -> bool:
        """Whether the coordinator sees sums of updates only."""
        return self.secure_aggregation or self.setting == "distributed"
