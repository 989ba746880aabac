"""The releases that a trust model allows, as settings that a release could be made with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from neuroveil.evaluate.planning.question import TRUST_ORDER, PlanQuestion
from neuroveil.privacy.choice import choose_rows
from neuroveil.privacy.settings import (
    MEAN_COVARIANCE,
    Postprocessing,
    ProtectSettings,
    TrustModel,
)
from neuroveil.types.planning import Form

_LOCAL_MECHANISMS = ("privunit", "gaussian", "laplace")
_PLAIN = Postprocessing(shrinkage="none", inverse_scaling=False)
_ROW_FORMS: tuple[Form, ...] = ("plain", "shrunk", "public_basis")
_JUSTIFICATION = "a plan, which releases nothing"


@dataclass(frozen=True)
class Option:
    """One way to release.

    Parameters
    ----------
    mechanism : str
        Name of the mechanism.
    form : {"plain", "shrunk", "public_basis", "aggregate"}
        What stands around it.
    trust_model : {"local", "shuffled", "central"}
        Who has to be trusted.
    """

    mechanism: str
    form: Form
    trust_model: TrustModel

    def label(self, components: int | None = None) -> str:
        """Name the release for a reader.

        Parameters
        ----------
        components : int, optional
            Number of public components, where it is known.

        Returns
        -------
        str
            Such as ``"shuffled privunit rows in 12 public components"``.
        """
        if self.form == "aggregate":
            return "mean and covariance of all patients"
        name = f"{self.mechanism} rows"
        if self.trust_model == "shuffled":
            name = f"shuffled {name}"
        if self.form == "plain":
            return name
        if self.form == "shrunk":
            return f"{name} with public shrinkage"
        number = "" if components is None else f"{components} "
        return f"{name} in {number}public component{'' if components == 1 else 's'}"

    def settings(self, question: PlanQuestion, epsilon: float) -> ProtectSettings:
        """Give the settings of this release, with all choices made as a release makes them.

        Parameters
        ----------
        question : PlanQuestion
            Public numbers.
        epsilon : float
            Epsilon in the trust model.

        Returns
        -------
        ProtectSettings
            For :func:`neuroveil.privacy.plan.plan_rows` and the ledger.

        Raises
        ------
        ChainError
            If nothing can be calibrated.
        """
        if self.form == "aggregate":
            return ProtectSettings(
                self.mechanism, epsilon, question.delta, question.clip_norm,
                trust_model=self.trust_model, delta_justification=_JUSTIFICATION,
            )  # fmt: skip
        wishes = question.wishes(
            self.mechanism, epsilon, self.trust_model, projected=self.form == "public_basis"
        )
        choice = choose_rows(wishes, question.scaling, question.n_patients)
        return ProtectSettings(
            self.mechanism, epsilon, choice.delta, question.clip_norm,
            trust_model=self.trust_model,
            projection=choice.projection,
            postprocessing=_PLAIN if self.form == "plain" else Postprocessing(),
            codebook=choice.codebook,
            delta_justification=_JUSTIFICATION,
        )  # fmt: skip


def offered_options(question: PlanQuestion) -> tuple[Option, ...]:
    """List the releases that trust, delta and the public reference allow.

    Parameters
    ----------
    question : PlanQuestion
        Public numbers.

    Returns
    -------
    tuple of Option
        Those that need less trust than there is are listed too.
    """
    allowed = TRUST_ORDER[: TRUST_ORDER.index(question.trust_model) + 1]
    return tuple(option for trust in allowed for option in _OFFERS[trust](question))


def _forms(question: PlanQuestion) -> Iterator[Form]:
    """Shrinkage needs a public covariance, a projection one that covers every column."""
    for form in _ROW_FORMS:
        needs_model, needs_cover = form == "shrunk", form == "public_basis"
        if (needs_model and question.model is None) or (needs_cover and not question.is_covered):
            continue
        yield form


def _local(question: PlanQuestion) -> Iterator[Option]:
    for mechanism in _LOCAL_MECHANISMS:
        if mechanism == "gaussian" and question.delta == 0:
            continue
        for form in _forms(question):
            yield Option(mechanism, form, "local")


def _shuffled(question: PlanQuestion) -> Iterator[Option]:
    if question.delta > 0:
        for form in _forms(question):
            yield Option("privunit", form, "shuffled")


def _central(question: PlanQuestion) -> Iterator[Option]:
    if question.delta > 0:
        yield Option(MEAN_COVARIANCE, "aggregate", "central")


_OFFERS: dict[TrustModel, Callable[[PlanQuestion], Iterator[Option]]] = {
    "local": _local,
    "shuffled": _shuffled,
    "central": _central,
}
"""What each trust model adds; a new trust model is one more entry here and in ``TRUST_ORDER``."""
