"""What a hospital computes in a round: steps on its own rows, with the noise of the plan.

Gradients are clipped for each patient and put on a grid of integers, where their norm is checked
exactly; noise is drawn on the same grid by the sampler that releases use. So the sensitivity of a
sum is exactly twice the clipping norm, whatever floating point does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuroveil.deploy.federated.hospital import Hospital, Part
from neuroveil.deploy.federated.models import (
    Arrays,
    flatten,
    logits_of,
    mean_gradient,
    parameter_shapes,
    patient_gradients,
    unflatten,
)
from neuroveil.deploy.federated.noise import NoiseTerms
from neuroveil.deploy.federated.plan import FederationPlan
from neuroveil.errors import ChainError
from neuroveil.privacy.bounds import ClipL2, IntArray
from neuroveil.privacy.grid import quantise
from neuroveil.privacy.randomness import RandomSource, SimulationRandomness
from neuroveil.privacy.sampling import SystemRandomness
from neuroveil.types.recording import FloatArray

_SAMPLING_BITS = 53
N_BINS = 500
"""Bins of the predicted probability from 0 to 1, in which calls are counted."""


def noise_source(hospital: Hospital, attempt: int) -> RandomSource:
    """Say where a hospital's noise comes from.

    Parameters
    ----------
    hospital : Hospital
        Who answers.
    attempt : int
        Number of the exchange.

    Returns
    -------
    RandomSource
        The operating system's generator; in a simulation a seeded one, which protects nobody.
    """
    plan = hospital.plan
    if not plan.simulation or plan.seed is None:
        return SystemRandomness()
    place = [seat.name for seat in plan.seats].index(hospital.name)
    return SimulationRandomness(
        int(np.random.SeedSequence([plan.seed, place, attempt]).generate_state(1, np.uint64)[0])
    )


def train_locally(
    hospital: Hospital, arrays: Arrays, attempt: int, part: Part | None = None
) -> Arrays:
    """Take the steps of a round and give the hospital's own model.

    Parameters
    ----------
    hospital : Hospital
        Who trains; ``dp_sgd``, ``local_features`` or ``none``.
    arrays : dict of str to ndarray of float64, in the shapes of the plan
        The common model.
    attempt : int
        Number of the exchange.
    part : Part, optional
        Rows that train; default: the hospital's.

    Returns
    -------
    dict of str to ndarray of float64, in the shapes of the plan
        Model after the local steps.
    """
    plan, shapes = hospital.plan, parameter_shapes(hospital.plan)
    rows = part or hospital.part("train")
    start = flatten(arrays, shapes)
    source = noise_source(hospital, attempt) if hospital.noise is not None else None
    vector = start.copy()
    for _ in range(plan.training.local_steps):
        current = unflatten(vector, shapes)
        if hospital.noise is None or source is None:
            gradient = mean_gradient(plan, current, rows.inputs, rows.labels)
        else:
            sampled = _sampled(rows, plan.privacy.sampling_rate, source)
            total = noisy_sum(plan, current, sampled, hospital.noise, source)
            # Divided by what is expected: how many were really drawn is not told.
            gradient = total / (plan.privacy.sampling_rate * hospital.n_patients)
        pull = plan.training.proximal * (vector - start)
        vector = vector - plan.training.learning_rate * (
            gradient + plan.training.penalty * vector + pull
        )
    return unflatten(vector, shapes)


def noisy_sum(
    plan: FederationPlan, arrays: Arrays, rows: Part, noise: NoiseTerms, source: RandomSource
) -> FloatArray:
    """Sum clipped gradients and add integer noise.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed.
    arrays : dict of str to ndarray of float64, in the shapes of the plan
        The model.
    rows : Part
        Patients that take part in this step. Private.
    noise : NoiseTerms
        How much noise.
    source : RandomSource
        Where it comes from.

    Returns
    -------
    ndarray of float64, shape (n_parameters,)
        Noisy sum (no unit).
    """
    return np.ldexp(
        noisy_units(plan, arrays, rows, noise, source).astype(np.float64), noise.grid_log2
    )


def noisy_units(
    plan: FederationPlan, arrays: Arrays, rows: Part, noise: NoiseTerms, source: RandomSource
) -> IntArray:
    """Sum clipped gradients and add noise, as integers in units of the grid.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed.
    arrays : dict of str to ndarray of float64, in the shapes of the plan
        The model.
    rows : Part
        Patients that take part. Private.
    noise : NoiseTerms
        How much noise.
    source : RandomSource
        Where it comes from.

    Returns
    -------
    ndarray of int64, shape (n_parameters,)
        Noisy sum. A gradient that is not finite counts as 0.
    """
    total = source.discrete_gaussian(noise.integer_scale, (1, plan.n_parameters))[0]
    if rows.labels.size == 0:
        return np.asarray(total)
    gradients = patient_gradients(plan, arrays, rows.inputs, rows.labels)
    # A huge model makes some rows overflow and others not: a failure would tell, without noise.
    gradients[~np.isfinite(gradients).all(axis=1)] = 0.0
    clip = ClipL2(plan.privacy.gradient_norm)
    units: IntArray = quantise(gradients, clip, noise.grid_log2, plan.n_parameters)
    return np.asarray(units.sum(axis=0) + total)


def step_along(plan: FederationPlan, noise: NoiseTerms, arrays: Arrays, units: IntArray) -> Arrays:
    """Take a step along a noisy sum of all patients' clipped gradients.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed.
    noise : NoiseTerms
        With the step of the grid.
    arrays : dict of str to ndarray of float64, in the shapes of the plan
        The common model.
    units : ndarray of int64, shape (n_parameters,)
        The noisy sum, in units of the grid.

    Returns
    -------
    dict of str to ndarray of float64, in the shapes of the plan
        The next common model.
    """
    shapes, spec = parameter_shapes(plan), plan.training
    gradient = np.ldexp(units.astype(np.float64), noise.grid_log2) / plan.n_patients
    vector = flatten(arrays, shapes)
    return unflatten(vector - spec.learning_rate * (gradient + spec.penalty * vector), shapes)


def _sampled(rows: Part, rate: float, source: RandomSource) -> Part:
    """Let every patient take part with probability ``rate`` at most, each on their own."""
    if rate == 1.0:
        return rows
    limit = int(rate * (1 << _SAMPLING_BITS))  # rounded down: the account is for the larger one
    drawn = [source.below(1 << _SAMPLING_BITS) < limit for _ in range(rows.labels.size)]
    chosen = np.flatnonzero(drawn)
    return Part(rows.inputs[chosen], rows.labels[chosen])


@dataclass(frozen=True, eq=False)
class Calls:
    """What a model said about patients, counted. Private where the patients are.

    Parameters
    ----------
    positive, negative : ndarray of int64, shape (n_bins,)
        Patients of either class by predicted probability of the positive class.
    loss : float
        Mean logistic loss (nat).
    """

    positive: IntArray
    negative: IntArray
    loss: float

    @property
    def n(self) -> int:
        """Number of patients."""
        return int(self.positive.sum() + self.negative.sum())


def judge(plan: FederationPlan, arrays: Arrays, rows: Part) -> Calls:
    """Count what a model says about patients.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed.
    arrays : dict of str to ndarray of float64, in the shapes of the plan
        The model.
    rows : Part
        Patients that judge.

    Returns
    -------
    Calls
        Counts; for no patients all 0.

    Raises
    ------
    ChainError
        If the model says something that is no number.
    """
    if rows.labels.size == 0:
        nobody = np.zeros(N_BINS, dtype=np.int64)
        return Calls(nobody, nobody.copy(), 0.0)
    logits = logits_of(plan, arrays, rows.inputs)
    if not bool(np.isfinite(logits).all()):
        raise ChainError("model", "finite predictions", "others", "Lower federation.learning_rate.")
    likely = 0.5 * (1 + np.tanh(logits / 2))
    place = np.minimum((likely * N_BINS).astype(np.int64), N_BINS - 1)
    signed = np.where(rows.labels, logits, -logits)
    return Calls(
        np.bincount(place[rows.labels], minlength=N_BINS),
        np.bincount(place[~rows.labels], minlength=N_BINS),
        float(np.logaddexp(0.0, -signed).mean()),
    )
