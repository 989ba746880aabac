"""A plan for a study, or for a few public numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuroveil.errors import StudyError, StudyMistake
from neuroveil.evaluate.planning import PlanQuestion
from neuroveil.evaluate.planning.options import offered_options
from neuroveil.pipeline.budget import budget_standing
from neuroveil.pipeline.promise import named_reference, planning_scaling, scaling_budget
from neuroveil.pipeline.settings import find_roster, require_epsilon
from neuroveil.privacy import charge_request
from neuroveil.privacy.central.dp_scaling import planned_scaling
from neuroveil.privacy.validate import check_dimension, largest_delta
from neuroveil.reference import default_reference, load_reference, population_caveats
from neuroveil.simulate import spectrum_basis
from neuroveil.study import Study
from neuroveil.types.catalogue import FEATURE_NAMES, STANDARD_CHANNELS, Column, columns_for
from neuroveil.types.scaling import Scaling

PLANNED_EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
"""What is planned for where nobody names an epsilon."""

_BASIS_SEED = 1  # the direction of a made-up basis changes no forecast but the grand mean's


@dataclass(frozen=True)
class Size:
    """Columns, by names or by numbers.

    Parameters
    ----------
    channels, features : tuple of str or int
        Names, or how many: of channels those of the 10-20 system come first, of features those
        that the reference covers.
    columns : int, optional
        Number of columns about which nothing else is known; channels and features are then left
        out of account.
    """

    channels: tuple[str, ...] | int = 19
    features: tuple[str, ...] | int = 10
    columns: int | None = None

    @property
    def label(self) -> str:
        """Such as ``"33 x 11"``."""
        if self.columns is not None:
            return f"{self.columns} columns"
        return f"{_count(self.channels)} x {_count(self.features)}"

    def listed(self, covered: tuple[str, ...] = ()) -> tuple[Column, ...]:
        """List the columns.

        Parameters
        ----------
        covered : tuple of str
            Features that come first where only their number is given.

        Returns
        -------
        tuple of Column
            Channels without a name are called E1, E2 and so on.

        Raises
        ------
        StudyError
            If there are more features than the catalogue has.
        ChainError
            If a number is not a positive one.
        """
        if self.columns is not None:
            check_dimension(self.columns, "plan.columns")
            return columns_for(_unnamed(0, self.columns), FEATURE_NAMES[:1])
        return columns_for(self._channels(), self._features(covered))

    def _channels(self) -> tuple[str, ...]:
        if not isinstance(self.channels, int):
            return self.channels
        check_dimension(self.channels, "plan.channels")
        standard = STANDARD_CHANNELS[: self.channels]
        return (*standard, *_unnamed(len(standard), self.channels))

    def _features(self, covered: tuple[str, ...]) -> tuple[str, ...]:
        if not isinstance(self.features, int):
            return self.features
        check_dimension(self.features, "plan.features")
        if self.features > len(FEATURE_NAMES):
            raise StudyError([StudyMistake(
                "plan.features", f"at most {len(FEATURE_NAMES)}, the features of the catalogue",
                f"{self.features}", "Give the number of columns instead (--columns).",
            )])  # fmt: skip
        first = dict.fromkeys((*covered, *FEATURE_NAMES))
        return tuple(first)[: self.features]


def _unnamed(start: int, stop: int) -> tuple[str, ...]:
    return tuple(f"E{number + 1}" for number in range(start, stop))


def _count(names: tuple[str, ...] | int) -> int:
    return names if isinstance(names, int) else len(names)


def public_scaling(size: Size, reference: str | None, decay: float | None) -> Scaling:
    """Give public constants for columns, without any study.

    Parameters
    ----------
    size : Size
        The columns.
    reference : str, optional
        Name or file of a public reference; the built-in one by default.
    decay : float, optional
        Instead of a reference: eigenvalue j of the covariance is taken to be proportional to
        j^-decay.

    Returns
    -------
    Scaling
        With a public covariance.

    Raises
    ------
    StudyError
        If there is no such reference, or a name or the decay makes no sense.
    """
    chosen = default_reference("harmonised") if reference is None else load_reference(reference)
    columns = size.listed(chosen.features)
    if decay is None:
        return chosen.scaling_for(columns)
    d = len(columns)
    eigenvalues, basis = spectrum_basis(d, decay, _BASIS_SEED)
    return Scaling(
        columns, np.zeros(d), np.ones(d), "public", f"assumed spectrum j^-{decay:g}",
        (False,) * d, (basis * eigenvalues) @ basis.T,
    )  # fmt: skip


def default_delta(n_patients: int) -> float:
    """Give the delta that a plan uses where nobody names one.

    Parameters
    ----------
    n_patients : int
        Roster size.

    Returns
    -------
    float
        min(1/n², 1e-5), which needs no reason in writing.
    """
    return largest_delta(max(n_patients, 1))


def study_question(
    study: Study, epsilons: tuple[float, ...] = (), n_patients: int | None = None
) -> PlanQuestion:
    """Ask for a plan with a study's public numbers. No signal is read.

    Parameters
    ----------
    study : Study
        Checked settings.
    epsilons : tuple of float
        Instead of the study's own.
    n_patients : int, optional
        Instead of the roster's.

    Returns
    -------
    PlanQuestion
        For :func:`neuroveil.evaluate.planning.plan_release`.

    Raises
    ------
    StudyError
        If no epsilon is named, there is no such reference, or rows are to be clipped in L1.
    RecordingError
        If patients and files do not fit together.
    """
    privacy = study.privacy
    if privacy.norm != "l2":
        raise StudyError([StudyMistake(
            "privacy.norm", "'l2' for a plan", f"{privacy.norm!r}",
            "Plan with norm = 'l2'; `neuroveil release --rehearse` shows what an L1 clip leaves.",
        )])  # fmt: skip
    n = find_roster(study).n_patients if n_patients is None else n_patients
    drawn = scaling_budget(study, n)
    scaling = planning_scaling(study)
    if drawn is not None:
        scaling = planned_scaling(named_reference(study).scaling_for(scaling.columns))
    return PlanQuestion(
        scaling=scaling,
        n_patients=n,
        epsilons=epsilons or (require_epsilon(study),),
        delta=_delta_of_rows(study, n),
        clip_norm=privacy.clip_norm,
        trust_model=privacy.trust_model,
        largest_codebook=privacy.largest_codebook,
        fresh_per_row=privacy.codebook_per_row,
        spent_beside=(0.0, 0.0) if drawn is None else (drawn.epsilon, drawn.delta),
    )


def _delta_of_rows(study: Study, n_patients: int) -> float:
    """As set; else the largest without a reason, or half of it beside drawn constants."""
    if study.privacy.delta is not None:
        return study.privacy.delta
    shared = study.reference.scaling == "dp_quantiles" and study.reference.delta != 0
    return default_delta(n_patients) * (0.5 if shared else 1.0)


def study_caveats(study: Study) -> tuple[str, ...]:
    """Say whom the study's public reference does not stand for.

    Parameters
    ----------
    study : Study
        Checked settings.

    Returns
    -------
    tuple of str
        Empty where the reference stands for the study's patients.

    Raises
    ------
    StudyError
        If there is no such reference.
    """
    reference = study.reference
    if reference.scaling == "dp_quantiles":
        return (
            f"Constants of scaling are drawn from the cohort and spend epsilon = "
            f"{reference.epsilon:g} on top of the epsilon of a row or of sums. What is said of "
            "attackers counts that in; forecasts of what is left take the constants as exact.",
        )
    if reference.scaling != "public_reference":
        return ()
    if study.input.population is None:
        return (
            "The study does not say who its patients are; set input.population, so that the fit "
            "of the public reference can be judged.",
        )
    return tuple(population_caveats(named_reference(study), study.input.population))


def left_in_ledger(study: Study, question: PlanQuestion) -> tuple[float, float] | None:
    """Look up what a release could still spend, without starting or changing the ledger.

    Parameters
    ----------
    study : Study
        Checked settings.
    question : PlanQuestion
        Of the study's own roster.

    Returns
    -------
    tuple of float or None
        Epsilon and delta; the budget where there is no ledger yet, and None where there is
        neither.

    Raises
    ------
    BudgetError
        If a ledger exists and cannot be trusted.
    """
    option = offered_options(question)[0]
    settings = option.settings(question, min(question.epsilons))
    request = charge_request(settings, question.scaling.columns, question.n_patients)
    standing = budget_standing(study, request)
    if standing is not None:
        epsilon, delta = standing.left_before
        return float(epsilon), float(delta)
    budget = study.privacy.budget
    return None if budget is None else (budget.epsilon, budget.delta)
