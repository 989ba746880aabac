"""What a learner is given: rows as they are shared, and the same people's rows without noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuroveil.evaluate.downstream.scores import Labels
from neuroveil.types.recording import FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Rows:
    """Rows in the two forms that learners take. Private unless they were released.

    Parameters
    ----------
    values : ndarray of float64, shape (n, n_columns)
        Rows on the scaled axis (no unit), after public post-processing where there is any.
    coordinates : ndarray of float64, shape (n, m)
        The same people before post-processing, along public components where there are any
        (no unit).
    noise_variance : float
        Mean square error of a coordinate (no unit); 0 without noise.
    """

    values: FloatArray
    coordinates: FloatArray
    noise_variance: float

    def take(self, chosen: np.ndarray) -> Rows:
        """Choose rows.

        Parameters
        ----------
        chosen : ndarray of int64 or bool, shape (n_chosen,) or (n,)
            Positions, or true where a row is chosen.

        Returns
        -------
        Rows
            Those rows.
        """
        return Rows(self.values[chosen], self.coordinates[chosen], self.noise_variance)


@dataclass(frozen=True, eq=False, repr=False)
class Shared:
    """One simulated draw of a way to share rows, with what it is judged on. Private.

    Parameters
    ----------
    learned : Rows
        What a recipient gets, one row a patient.
    clear : Rows
        The same people's rows after the same public steps without noise: a new patient whose
        row stays where the patient is.
    labels : ndarray of bool, shape (n,)
        What a recipient gets as labels.
    variances : ndarray of float64, shape (m,), optional
        Public variances of clear rows along the coordinates (no unit); none without a public
        covariance.
    keep_probability : float
        With which probability a label that goes along is the true one; 1 where labels go along
        as they are.
    """

    learned: Rows
    clear: Rows
    labels: Labels
    variances: FloatArray | None
    keep_probability: float = 1.0


@dataclass(frozen=True, eq=False, repr=False)
class Lesson:
    """What is learned from.

    Parameters
    ----------
    rows : Rows
        Training rows.
    labels : ndarray of bool, shape (n_train,)
        Their labels; both classes present.
    variances : ndarray of float64, shape (m,), optional
        Public variances of clear rows along the coordinates (no unit).
    """

    rows: Rows
    labels: Labels
    variances: FloatArray | None

    def part(self, chosen: np.ndarray) -> Lesson:
        """Learn from some of the rows only.

        Parameters
        ----------
        chosen : ndarray of int64, shape (n_chosen,)
            Positions.

        Returns
        -------
        Lesson
            Those rows and labels.
        """
        return Lesson(self.rows.take(chosen), self.labels[chosen], self.variances)
