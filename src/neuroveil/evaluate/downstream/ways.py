"""Ways of sharing a cohort with a classifier in mind, simulated one draw at a time.

Rows that are protected one by one (with their labels as they are, as in the paper, or with
labels under the same guarantee), rows and labels that a trusted shuffler mixes, and three things
that a trusted curator may give away instead of rows. Every choice here follows from public
numbers: n, the number of columns, epsilon, delta and the public covariance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256

import numpy as np

from neuroveil.evaluate.downstream.central_way import CentralWay
from neuroveil.evaluate.downstream.rows import Rows, Shared
from neuroveil.evaluate.downstream.scores import Labels
from neuroveil.privacy.labels import LabelPolicy, keep_weight, randomise
from neuroveil.privacy.plan import RowPlan, plan_rows
from neuroveil.privacy.public_model import public_model
from neuroveil.privacy.randomness import SimulationRandomness
from neuroveil.privacy.settings import ProtectSettings
from neuroveil.types.recording import FloatArray
from neuroveil.types.scaling import Scaling
from neuroveil.types.sharing import WayFacts

_CATEGORIES = ("negative", "positive")
_OTHER = 1 << 32


@dataclass(frozen=True)
class RowWay:
    """Rows are shared, one a patient.

    Parameters
    ----------
    facts : WayFacts
        What it is.
    settings : ProtectSettings, optional
        How rows are protected; none for rows as they are.
    label_epsilon : float, optional
        What randomised response spends on the label; none for labels as they are.
    """

    facts: WayFacts
    settings: ProtectSettings | None = None
    label_epsilon: float | None = None

    def share(self, rows: FloatArray, labels: Labels, scaling: Scaling, seed: int) -> Shared:
        """Simulate one draw of what is shared.

        Parameters
        ----------
        rows : ndarray of float64, shape (n, n_features)
            Scaled rows before clipping (no unit), finite. Private.
        labels : ndarray of bool, shape (n,)
            True for the positive class. Private.
        scaling : Scaling
            Constants of the columns.
        seed : int
            Seed of the simulated noise.

        Returns
        -------
        Shared
            Private, since the clear rows go along for judging.

        Raises
        ------
        ChainError
            If the mechanism cannot be calibrated.
        """
        source = SimulationRandomness(seed)
        given, keep = labels, 1.0
        if self.label_epsilon is not None:
            policy = LabelPolicy("label", "randomised_response", _CATEGORIES, self.label_epsilon)
            drawn = randomise([_CATEGORIES[int(label)] for label in labels], policy, source)
            given = np.array([category == _CATEGORIES[1] for category in drawn])
            weight = keep_weight(self.label_epsilon)
            keep = weight / (weight + _OTHER)
        if self.settings is None:
            return _as_they_are(rows, given, scaling)
        plan = _plan(self.settings, scaling, rows.shape[0])
        return _protected(plan, rows, given, keep, source)


def _as_they_are(rows: FloatArray, labels: Labels, scaling: Scaling) -> Shared:
    model = public_model(scaling)
    if model is None:
        clear = Rows(rows, rows, 0.0)
        return Shared(clear, clear, labels, None)
    clear = Rows(rows, rows @ model.basis(model.dimension), 0.0)
    return Shared(clear, clear, labels, model.spectrum)


def _protected(
    plan: RowPlan, rows: FloatArray, labels: Labels, keep: float, source: SimulationRandomness
) -> Shared:
    bounded = plan.bound(rows)
    mechanism = plan.mechanism.renewed(source)
    noisy = mechanism.apply(bounded, mechanism.draw(rows.shape[0], source))
    clear = plan.mechanism.to_scaled(bounded)
    learned = plan.estimates(noisy)[0]
    seen = clear if plan.basis is None else clear @ plan.basis.T
    variances = None if plan.moments is None else plan.moments.bounded
    if variances is not None and plan.basis is None and plan.model is not None:
        basis = plan.model.basis(plan.spec.dimension)
        noisy, clear = noisy @ basis, clear @ basis
    return Shared(
        Rows(learned, noisy, plan.noise_variance), Rows(seen, clear, 0.0), labels, variances, keep
    )


@dataclass(frozen=True)
class _Question:
    """What a plan follows from; equal questions have equal identities."""

    identity: str
    settings: ProtectSettings = field(compare=False)
    scaling: Scaling = field(compare=False)
    n_patients: int = field(compare=False)


@lru_cache(maxsize=8)
def _answered(question: _Question) -> RowPlan:
    return plan_rows(question.settings, question.scaling, question.n_patients)


def _plan(settings: ProtectSettings, scaling: Scaling, n_patients: int) -> RowPlan:
    """Plan once for many draws: choosing a codebook takes longer than drawing from it."""
    covariance = b"" if scaling.covariance is None else scaling.covariance.tobytes()
    identity = f"{settings!r} {scaling.digest} {sha256(covariance).hexdigest()} {n_patients}"
    return _answered(_Question(identity, settings, scaling, n_patients))


Way = RowWay | CentralWay
"""Anything that can be judged."""


def label_epsilon(epsilon: float) -> float:
    """Share epsilon out between row and label, from public numbers alone.

    What a class difference is worth falls by the factor tanh(e / 2) when labels are drawn with
    epsilon e, and grows about in proportion to the epsilon of the rows.

    Parameters
    ----------
    epsilon : float
        For row and label together.

    Returns
    -------
    float
        The label's part: where the product of both is largest, in hundredths of epsilon.
    """
    shares = np.arange(1, 100) / 100
    worth = np.tanh(shares * epsilon / 2) * (1 - shares)
    return float(shares[int(np.argmax(worth))] * epsilon)
