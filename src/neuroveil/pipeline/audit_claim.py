"""A claim of privacy as it is stated on the command line, about somebody else's code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from neuroveil.audit.mechanism.laws import AdditiveLaw
from neuroveil.audit.subject import SubjectFacts
from neuroveil.errors import StudyError, StudyMistake
from neuroveil.privacy.bounds import Norm


@dataclass(frozen=True)
class Claim:
    """A claim from the command line.

    Parameters
    ----------
    epsilon, delta : float
        For one patient under replace-one.
    dimension : int
        Columns of a row.
    clip_norm : float
        Largest norm of a row (no unit).
    norm : {"l2", "l1"}
        Norm that is clipped.
    noise : {"gaussian", "laplace"}, optional
        Law of the noise, where it is stated.
    noise_scale : float, optional
        Its standard deviation or Laplace scale b.
    """

    epsilon: float
    delta: float = 0.0
    dimension: int = 1
    clip_norm: float = 1.0
    norm: Norm = "l2"
    noise: Literal["gaussian", "laplace"] | None = None
    noise_scale: float | None = None

    def facts(self, name: str) -> SubjectFacts:
        """Give the claim as a subject states it.

        Parameters
        ----------
        name : str
            Name for a reader.

        Returns
        -------
        SubjectFacts
            With the law of the noise, where both its kind and its scale are stated.

        Raises
        ------
        StudyError
            If only one of them is stated.
        ChainError
            If a number is out of range.
        """
        if (self.noise is None) != (self.noise_scale is None):
            raise StudyError([StudyMistake(
                "--noise and --noise-scale", "both or none", "one of them",
                "State the law and the scale of the noise together.",
            )])  # fmt: skip
        law = None
        if self.noise is not None and self.noise_scale is not None:
            law = AdditiveLaw(self.noise, self.noise_scale)
        return SubjectFacts(
            name, self.epsilon, self.delta, self.dimension, self.clip_norm, self.norm, law
        )
