"""The cohort that the paper's tables are computed on: 17 rows, 5 of them positive."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuroveil.errors import RecordingError
from neuroveil.evaluate.downstream.scores import Labels, check_labels
from neuroveil.evaluate.reproduction.printed import N_CHANNEL_FEATURES, N_PATIENTS, N_POSITIVE
from neuroveil.simulate import spectrum_basis, spectrum_rows
from neuroveil.types.catalogue import FEATURE_NAMES, STANDARD_CHANNELS, columns_for
from neuroveil.types.recording import FloatArray
from neuroveil.types.reproduction import CohortFacts
from neuroveil.types.scaling import Scaling

MORE_CHANNELS: tuple[str, ...] = (
    "Fpz", "Oz", "FC1", "FC2", "FC5", "FC6", "CP1", "CP2", "CP5", "CP6", "FT9", "FT10", "TP9",
    "TP10",
)  # fmt: skip
"""With the 19 of the 10-20 system they make 33, as many as the paper has. It names none."""

DECAY = 1.5
"""Eigenvalue j of made-up rows is proportional to j^-1.5: a few patterns carry most."""

CLASS_DISTANCE, CLASS_DIRECTIONS = 2.0, 3
"""Made-up positives are shifted by 2 standard deviations in all, shared evenly by the three
largest patterns. Somebody who knew all of this could tell them apart with an AUC of 0.92; the
paper's classifier, which sees 16 of 17, reaches a balanced accuracy of 0.7 on average over
cohorts, about what the paper has, and anything from 0.4 to 0.9 on a single one."""


@dataclass(frozen=True, eq=False, repr=False)
class ReproductionCohort:
    """Rows with labels. Private, unless nobody in it exists.

    Parameters
    ----------
    facts : CohortFacts
        What may be said about it.
    scaled : ndarray of float64, shape (n_patients, n_features)
        Rows on the public scale, before clipping (no unit).
    scaling : Scaling
        Constants of the columns.
    positive : ndarray of bool, shape (n_patients,)
        True for the positive class.
    """

    facts: CohortFacts
    scaled: FloatArray
    scaling: Scaling
    positive: Labels


def simulated_cohort(seed: int) -> ReproductionCohort:
    """Draw 17 people who do not exist, over as many columns as the paper has.

    The public covariance of their scaling is exactly that of the population that they are
    drawn from: a public reference as good as it can get.

    Parameters
    ----------
    seed : int
        Seed, not negative.

    Returns
    -------
    ReproductionCohort
        363 columns; the last 5 rows are positive.
    """
    channels = STANDARD_CHANNELS + MORE_CHANNELS
    columns = columns_for(channels, FEATURE_NAMES)
    d = len(columns)
    assert d == len(channels) * N_CHANNEL_FEATURES
    eigenvalues, basis = spectrum_basis(d, DECAY, seed)
    rows = spectrum_rows(N_PATIENTS, d, DECAY, seed)
    positive = np.arange(N_PATIENTS) >= N_PATIENTS - N_POSITIVE
    leading = slice(0, CLASS_DIRECTIONS)
    shift = basis[:, leading] @ np.sqrt(eigenvalues[leading] / CLASS_DIRECTIONS) * CLASS_DISTANCE
    scaling = Scaling(
        columns, np.zeros(d), np.ones(d), "public", "population of the simulation v1",
        (False,) * d, (basis * eigenvalues) @ basis.T,
    )  # fmt: skip
    description = (
        f"{N_PATIENTS} made-up people, {N_POSITIVE} of them positive, on {len(channels)} channels "
        f"x {N_CHANNEL_FEATURES} features (seed {seed}); the public covariance is exactly right"
    )
    facts = CohortFacts("simulated", description, N_PATIENTS, N_POSITIVE, d, False)
    return ReproductionCohort(facts, rows + positive[:, None] * shift, scaling, positive)


def first_of_each(positive: Labels) -> np.ndarray:
    """Take as many patients of each class as the paper has, in the order of the roster.

    Parameters
    ----------
    positive : ndarray of bool, shape (n_patients,)
        True for the positive class.

    Returns
    -------
    ndarray of int64, shape (17,)
        Rows to keep: the first 12 negative and the first 5 positive, in roster order.

    Raises
    ------
    RecordingError
        If there are fewer.
    """
    chosen = np.concatenate([
        np.flatnonzero(~positive)[: N_PATIENTS - N_POSITIVE], np.flatnonzero(positive)[:N_POSITIVE],
    ])  # fmt: skip
    if chosen.size != N_PATIENTS:
        raise RecordingError(
            "labels", f"at least {N_PATIENTS - N_POSITIVE} negative and {N_POSITIVE} positive "
            "patients, as in the paper", "fewer",
            "Name another --label or --positive, or use the simulated cohort.",
        )  # fmt: skip
    return np.sort(chosen)


def cohort_of_rows(
    scaled: FloatArray, positive: Labels, scaling: Scaling, name: str, description: str
) -> ReproductionCohort:
    """Make a cohort of rows of real people. Internal.

    Parameters
    ----------
    scaled : ndarray of float64, shape (n_patients, n_features)
        Rows on the public scale, before clipping (no unit).
    positive : ndarray of bool, shape (n_patients,)
        True for the positive class.
    scaling : Scaling
        Constants of the columns.
    name : {"eegmat", "study"}
        Kind of cohort.
    description : str
        In a sentence, without anything about a single patient.

    Returns
    -------
    ReproductionCohort
        The first 12 negative and 5 positive patients.

    Raises
    ------
    RecordingError
        If there are fewer, or rows and labels do not fit.
    """
    check_labels(scaled, positive)
    kept = first_of_each(positive)
    facts = CohortFacts(name, description, N_PATIENTS, N_POSITIVE, scaled.shape[1], True)
    return ReproductionCohort(facts, scaled[kept], scaling, positive[kept])
