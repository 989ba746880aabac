"""Areas under the curve from pairs of patients that one model has scored."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from neuroveil.types.recording import FloatArray


@dataclass(eq=False, repr=False)
class PairTally:
    """Counts which of two patients was scored higher, over many test folds.

    Column 0 of the labels is the truth, and its pairs are kept apart so that patients can be
    drawn again; the other columns are permuted labels, of which totals do.

    Parameters
    ----------
    labels : ndarray of bool, shape (n_patients, n_classes, 1 + n_permutations)
        Whether a patient belongs to a class.
    """

    labels: np.ndarray
    wins: npt.NDArray[np.float32] = field(init=False)
    pairs: npt.NDArray[np.float32] = field(init=False)
    total_wins: FloatArray = field(init=False)
    total_pairs: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        n, n_classes, n_columns = self.labels.shape
        # Halves are exact as float32, and thousands of patients make many pairs.
        self.wins = np.zeros((n_classes, n, n), dtype=np.float32)
        self.pairs = np.zeros((n_classes, n, n), dtype=np.float32)
        self.total_wins = np.zeros((n_classes, n_columns))
        self.total_pairs = np.zeros((n_classes, n_columns))

    def add(self, tested: np.ndarray, scores: FloatArray) -> None:
        """Count the pairs of one test fold.

        Parameters
        ----------
        tested : ndarray of int64, shape (n_tested,)
            Patients of the fold.
        scores : ndarray of float64, shape (n_tested, n_classes, 1 + n_permutations)
            Scores of one model a column.
        """
        from scipy.stats import rankdata

        labels = self.labels[tested]
        n_inside = labels.sum(axis=0)
        ranks = rankdata(scores, axis=0)
        self.total_wins += (ranks * labels).sum(axis=0) - n_inside * (n_inside + 1) / 2
        self.total_pairs += n_inside * (tested.size - n_inside)
        for number in range(labels.shape[1]):
            truth, score = labels[:, number, 0], scores[:, number, 0]
            inside, outside = tested[truth], tested[~truth]
            steps = score[truth][:, None] - score[~truth][None, :]
            self.wins[number][np.ix_(inside, outside)] += (1 + np.sign(steps)) / 2
            self.pairs[number][np.ix_(inside, outside)] += 1

    @property
    def area(self) -> float:
        """Area under the curve of the true labels, mean over classes."""
        return float(self._areas()[0])

    @property
    def permuted(self) -> FloatArray:
        """Areas of the permuted labels, shape (n_permutations,)."""
        return self._areas()[1:]

    def resampled(self, weights: FloatArray) -> FloatArray:
        """Give the area in tables of patients drawn again.

        Parameters
        ----------
        weights : ndarray of float64, shape (n_tables, n_patients)
            How often each patient counts.

        Returns
        -------
        ndarray of float64, shape (n_found,)
            Mean over classes; tables in which a class is empty are left out.
        """
        found = [
            np.einsum("bi,bi->b", weights @ counts, weights)
            for both in zip(self.wins, self.pairs, strict=True)
            for counts in both
        ]
        with np.errstate(invalid="ignore", divide="ignore"):
            areas: FloatArray = np.mean(np.array(found[::2]) / np.array(found[1::2]), axis=0)
        return areas[np.isfinite(areas)]

    def _areas(self) -> FloatArray:
        with np.errstate(invalid="ignore", divide="ignore"):
            areas: FloatArray = np.nanmean(self.total_wins / self.total_pairs, axis=0)
        return areas
