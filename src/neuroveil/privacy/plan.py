"""How rows are treated on their way out: the public plan of a release.

Scaled rows are projected on a public basis (where the study asks for it), bounded and
randomised by one mechanism, shuffled, and post-processed by public rules. All of this is fixed
by public settings, public constants and the number of patients, before any row is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from neuroveil.errors import ChainError
from neuroveil.privacy.bounds import ClipL1, ClipL2, IntArray
from neuroveil.privacy.mechanisms.contract import Draws, MechanismSpec, RowMechanism
from neuroveil.privacy.mechanisms.privunit import PrivUnit
from neuroveil.privacy.mechanisms.registry import make_mechanism
from neuroveil.privacy.postprocessing import (
    Clamp,
    InverseScaling,
    JamesStein,
    ProjectionBack,
    Step,
    Unclipping,
    Wiener,
    basis_rows,
    take_steps,
)
from neuroveil.privacy.public_model import Moments, PublicModel, public_model
from neuroveil.privacy.randomness import RandomSource, SamplerFacts
from neuroveil.privacy.validate import check_delta, check_dimension
from neuroveil.types.codewords import Messages
from neuroveil.types.recording import FloatArray
from neuroveil.types.scaling import Scaling

if TYPE_CHECKING:
    from neuroveil.privacy.amplification.tuning import ShuffledDesign
    from neuroveil.privacy.settings import ProtectSettings


@dataclass(frozen=True, eq=False)
class RowPlan:
    """Everything public about how rows become a release.

    Parameters
    ----------
    mechanism : RowMechanism
        The calibrated mechanism, for m coordinates.
    shuffled : ShuffledDesign, optional
        Central guarantee of the shuffled batch; none in the local model.
    model : PublicModel, optional
        What public data say about rows.
    is_projected : bool
        Whether rows are projected on the public basis before they are bounded.
    steps : tuple of Step
        Post-processing, in order.
    """

    mechanism: RowMechanism
    shuffled: ShuffledDesign | None = None
    model: PublicModel | None = None
    is_projected: bool = False
    steps: tuple[Step, ...] = ()

    @property
    def spec(self) -> MechanismSpec:
        """Specification of the mechanism."""
        return self.mechanism.spec

    @cached_property
    def basis(self) -> FloatArray | None:
        """Public basis of shape (n_features, m); none where rows are not projected."""
        if not self.is_projected or self.model is None:
            return None
        return self.model.basis(self.spec.dimension)

    @property
    def noise_variance(self) -> float:
        """Mean square error of a released coordinate, on the scaled axis (no unit)."""
        return self.mechanism.predict().rmse ** 2

    @cached_property
    def moments(self) -> Moments | None:
        """Moments of public rows after projection and bounding; none without a model."""
        if self.model is None or self.spec.norm != "l2":
            return None
        return self.model.moments(self.spec.dimension, self.spec.clip_norm)

    @property
    def predicted_correlation(self) -> float | None:
        """Predicted correlation of estimated and bounded rows; none without a Wiener step."""
        if self.moments is None or not any(isinstance(step, Wiener) for step in self.steps):
            return None
        return self.moments.correlation(self.noise_variance)

    def sampler(self, source: RandomSource) -> SamplerFacts:
        """Say who draws.

        Parameters
        ----------
        source : RandomSource
            Where the randomness comes from.

        Returns
        -------
        SamplerFacts
            For the certificate.
        """
        uniform = self.mechanism.event.family == "two_valued"
        return source.uniform_facts if uniform else source.facts

    def renewed(self, source: RandomSource) -> RowPlan:
        """Give the same plan with public randomness drawn anew, for one release.

        Parameters
        ----------
        source : RandomSource
            Where the randomness comes from.

        Returns
        -------
        RowPlan
            With its own codebook, where the mechanism has one.
        """
        return replace(self, mechanism=self.mechanism.renewed(source))

    def bound(self, rows: FloatArray) -> IntArray:
        """Project scaled rows, clip them and put them on the grid.

        Parameters
        ----------
        rows : ndarray of float64, shape (n_patients, n_features)
            Scaled rows (no unit), finite.

        Returns
        -------
        ndarray of int64, shape (n_patients, m)
            In units of the grid, within the clipping norm exactly.

        Raises
        ------
        ChainError
            If the shape is wrong or a value is not finite.
        """
        if self.basis is None:
            return self.mechanism.bound(rows)
        if rows.ndim != 2 or rows.shape[1] != self.basis.shape[0]:
            raise ChainError(
                "rows", f"{self.basis.shape[0]} columns", f"shape {rows.shape}",
                "Use the public reference that was made for these columns.",
            )  # fmt: skip
        return self.mechanism.bound(rows @ self.basis)

    def clipped(self, rows: FloatArray) -> FloatArray:
        """Clip scaled rows as they stand: what a release without noise could be compared with.

        Parameters
        ----------
        rows : ndarray of float64, shape (n_patients, n_features)
            Scaled rows (no unit), finite.

        Returns
        -------
        ndarray of float64, shape (n_patients, n_features)
            Rows within the clipping norm, not projected.
        """
        if not self.is_projected:
            return self.mechanism.to_scaled(self.mechanism.bound(rows))
        norm = self.spec.clip_norm
        return (ClipL1(norm) if self.spec.norm == "l1" else ClipL2(norm)).apply(rows)

    def messages(self, rows_int: IntArray, draws: Draws) -> Messages | None:
        """Say which codewords are released, where the mechanism releases codewords.

        Parameters
        ----------
        rows_int : ndarray of int64, shape (n_patients, m)
            From :meth:`bound`.
        draws : Draws
            From the mechanism.

        Returns
        -------
        Messages or None
            In the order of the rows.
        """
        if not isinstance(self.mechanism, PrivUnit):
            return None
        return self.mechanism.messages(rows_int, draws)

    def estimates(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Estimate rows on the scaled axis from released values.

        Parameters
        ----------
        values : ndarray of float64, shape (n_patients, m)
            What the mechanism gave.

        Returns
        -------
        bounded, whole : ndarray of float64, shape (n_patients, n_features)
            Estimates of the clipped rows and of the rows before clipping (no unit). Both are
            the values themselves where there is no post-processing.
        """
        on_axis = [step for step in self.steps if not isinstance(step, InverseScaling)]
        bounded = [step for step in on_axis if not isinstance(step, Unclipping | Clamp)]
        return take_steps(bounded, values), take_steps(on_axis, values)

    def public_inputs(self, columns: tuple[str, ...]) -> Mapping[str, Any] | None:
        """Give the public constants of projection and post-processing.

        Parameters
        ----------
        columns : tuple of str
            Names of the feature columns.

        Returns
        -------
        mapping or None
            For ``public_inputs.json``; none where nothing needs one.
        """
        if not self.steps and self.basis is None:
            return None
        inputs: dict[str, Any] = {"columns": list(columns)}
        if self.basis is not None:
            inputs["basis"] = basis_rows(self.basis)
        for step in self.steps:
            inputs.update(step.inputs)
        return inputs


def plan_rows(settings: ProtectSettings, scaling: Scaling, n_patients: int) -> RowPlan:
    """Plan a release from public settings and constants.

    Parameters
    ----------
    settings : ProtectSettings
        Public settings of the release.
    scaling : Scaling
        Constants of the columns; only their public covariance is used.
    n_patients : int
        Roster size, public.

    Returns
    -------
    RowPlan
        With a codebook for planning; :meth:`RowPlan.renewed` draws one for a release.

    Raises
    ------
    ChainError
        If the mechanism cannot be calibrated, or rows are to be projected without a public
        reference that covers every column.
    """
    if settings.scaling_budget is not None and scaling.fitted_on != "dp":
        raise ChainError(
            "preprocessing.scaling", "constants that were drawn under their budget",
            f"{scaling.fitted_on} ones", "Draw them first, or leave the budget out.",
        )  # fmt: skip
    model = public_model(scaling)
    if settings.projection is not None:
        check_coverage(scaling)
    mechanism, shuffled = row_mechanism(settings, len(scaling.columns), n_patients)
    plan = RowPlan(mechanism, shuffled, model, settings.projection is not None)
    return replace(plan, steps=_steps(plan, settings, scaling))


def check_coverage(scaling: Scaling) -> None:
    """Refuse a projection on a reference that does not cover every column.

    Parameters
    ----------
    scaling : Scaling
        Constants of the columns.

    Raises
    ------
    ChainError
        If the constants are private, have no covariance, or stand in for the reference in
        some columns.
    """
    outside = sum(scaling.fallback)
    if public_model(scaling) is None or outside:
        raise ChainError(
            "privacy.projection", "a public reference with a covariance for every column",
            f"{outside} columns outside the reference" if outside else "none",
            "Release only columns that the reference covers, build a reference that covers "
            "all, or set projection = 'none'.",
        )  # fmt: skip


def row_mechanism(
    settings: ProtectSettings, n_columns: int, n_patients: int
) -> tuple[RowMechanism, ShuffledDesign | None]:
    """Calibrate the mechanism of a release.

    Parameters
    ----------
    settings : ProtectSettings
        Public settings of the release.
    n_columns : int
        Number d of feature columns.
    n_patients : int
        Roster size, public: the batch that is shuffled together.

    Returns
    -------
    RowMechanism
        For as many coordinates as are kept.
    ShuffledDesign or None
        The central guarantee, in the shuffled model.

    Raises
    ------
    ChainError
        If it cannot be calibrated.
    """
    spec = settings.spec(n_columns)
    if settings.trust_model != "shuffled":
        return make_mechanism(spec), None
    _check_shuffled(settings)
    check_dimension(spec.dimension)
    design = shuffled_design(
        settings.epsilon, settings.delta, n_patients, spec.dimension, spec.codebook.largest
    )
    local = replace(spec, epsilon=design.design.epsilon, delta=0.0)
    planned = make_mechanism(local)
    assert isinstance(planned, PrivUnit)
    return replace(planned, design=design.design), design


@lru_cache(maxsize=64)
def shuffled_design(
    epsilon: float, delta: float, n_patients: int, dimension: int, largest: int
) -> ShuffledDesign:
    """Choose a codebook for the shuffled model, once for the same public numbers.

    Parameters
    ----------
    epsilon, delta : float
        Central guarantee.
    n_patients : int
        Rows that are shuffled together.
    dimension : int
        Number m of coordinates.
    largest : int
        Largest number of codewords.

    Returns
    -------
    ShuffledDesign
        See :func:`~neuroveil.privacy.amplification.tuning.choose_shuffled_codebook`.
    """
    from neuroveil.privacy.amplification.tuning import choose_shuffled_codebook

    return choose_shuffled_codebook(epsilon, delta, n_patients, dimension, largest)


def _check_shuffled(settings: ProtectSettings) -> None:
    if settings.mechanism != "privunit":
        raise ChainError(
            "privacy.mechanism", "privunit in the shuffled model", f"{settings.mechanism}",
            "Set mechanism = 'privunit', or trust_model = 'local'.",
        )  # fmt: skip
    check_delta(settings.delta)
    if settings.labels:
        raise ChainError(
            "labels", "none in the shuffled model", f"{len(settings.labels)} label columns",
            "A label beside a row shrinks the batch that it hides in to its own group: leave "
            "labels out, or set trust_model = 'local'.",
        )  # fmt: skip


def _steps(plan: RowPlan, settings: ProtectSettings, scaling: Scaling) -> tuple[Step, ...]:
    """Put the post-processing of a study together, in its one order."""
    wanted = settings.postprocessing
    if not scaling.is_published or not (wanted.inverse_scaling or plan.is_projected):
        return ()
    steps: list[Step] = []
    if wanted.shrinkage == "wiener" and plan.moments is not None and plan.model is not None:
        basis = None if plan.is_projected else plan.model.basis(plan.spec.dimension)
        steps.append(Wiener(basis, plan.moments.bounded, plan.noise_variance))
    elif wanted.shrinkage == "james_stein":
        steps.append(JamesStein(plan.noise_variance))
    if not steps and not plan.is_projected:
        return ()
    if plan.basis is not None:
        steps.append(ProjectionBack(plan.basis))
    if plan.moments is not None:
        steps.append(Unclipping(plan.moments.unclipping_factor))
    if wanted.clamp is not None:
        steps.append(Clamp(wanted.clamp))
    log10 = np.array([column.scale == "log10" for column in scaling.columns])
    steps.append(InverseScaling(scaling.centre, scaling.spread, log10))
    return tuple(steps)
