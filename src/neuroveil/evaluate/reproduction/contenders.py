"""Every way of protecting rows that is compared, each at the epsilon that is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from neuroveil.errors import StudyError, StudyMistake
from neuroveil.evaluate.reproduction.printed import DELTA
from neuroveil.privacy.public_model import public_model
from neuroveil.privacy.settings import MEAN_COVARIANCE
from neuroveil.types.reproduction import TRUSTS_NOBODY
from neuroveil.types.scaling import Scaling


@dataclass(frozen=True)
class Contender:
    """A mechanism with what goes around it.

    Parameters
    ----------
    name, label : str
        Short name, and name for a reader.
    mechanism : str
        What randomises.
    trust_model : {"local", "shuffled", "central"}
        Whom the guarantee holds towards.
    trust : str
        Who has to be trusted, in words.
    uses_public_model : bool
        Whether rows pass through public components and are estimated with a public covariance.
    """

    name: str
    label: str
    mechanism: str
    trust_model: Literal["local", "shuffled", "central"] = "local"
    trust: str = TRUSTS_NOBODY
    uses_public_model: bool = False

    @property
    def is_central(self) -> bool:
        """Whether no rows are released, only what is true of all together."""
        return self.trust_model == "central"

    @property
    def delta(self) -> float:
        """What it spends of delta."""
        pure = self.mechanism in ("laplace", "paper_laplace", "privunit")
        return 0.0 if pure and self.trust_model == "local" else DELTA


CONTENDERS: tuple[Contender, ...] = (
    Contender("gaussian", "Gaussian (the paper's)", "gaussian"),
    Contender("paper_laplace", "Laplace, the paper's scale", "paper_laplace"),
    Contender("laplace", "Laplace, formal scale", "laplace"),
    Contender("privunit", "PrivUnit", "privunit"),
    Contender("gaussian_public", "public components + Gaussian + Wiener", "gaussian",
              uses_public_model=True),
    Contender("privunit_public", "public components + PrivUnit + Wiener", "privunit",
              uses_public_model=True),
    Contender("privunit_shuffled", "public components + PrivUnit + Wiener, shuffled", "privunit",
              "shuffled", "whoever shuffles", uses_public_model=True),
    Contender("mean_covariance", "mean and covariance", MEAN_COVARIANCE, "central",
              "whoever holds all rows"),
)  # fmt: skip
"""In the order of the tables. The first two are the paper's."""

PAPERS: tuple[str, ...] = ("gaussian", "paper_laplace")


def contender(name: str) -> Contender:
    """Look one up.

    Parameters
    ----------
    name : str
        Its short name.

    Returns
    -------
    Contender
        From :data:`CONTENDERS`.

    Raises
    ------
    KeyError
        If there is none of that name.
    """
    return {each.name: each for each in CONTENDERS}[name]


def contenders_for(which: str, scaling: Scaling) -> tuple[Contender, ...]:
    """List what can be compared on a cohort.

    Parameters
    ----------
    which : {"paper", "all"}
        The paper's two mechanisms, or all.
    scaling : Scaling
        Constants of the columns.

    Returns
    -------
    tuple of Contender
        Without those that need a public covariance of every column, where there is none.

    Raises
    ------
    StudyError
        If ``which`` is neither.
    """
    if which == "paper":
        return tuple(contender(name) for name in PAPERS)
    if which != "all":
        raise StudyError([StudyMistake(
            "--mechanisms", "'paper' or 'all'", repr(which), "Choose one of these.",
        )])  # fmt: skip
    is_covered = public_model(scaling) is not None and not any(scaling.fallback)
    return tuple(each for each in CONTENDERS if is_covered or not each.uses_public_model)
