"""Quantiles of every column over all patients, for scaling where no public reference fits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from neuroveil.errors import ChainError
from neuroveil.privacy.bounds import IntArray, check_rows
from neuroveil.privacy.central.exponential import UNIFORM_BITS, choose, step_weights
from neuroveil.privacy.central.noisy_quantiles import NoisyQuantiles, QuantileDraws
from neuroveil.privacy.central.quantile_budget import QuantileBudget
from neuroveil.privacy.central.quantile_spec import MEDIAN, QuantileSpec
from neuroveil.privacy.randomness import RandomSource
from neuroveil.types.recording import FloatArray


@dataclass(frozen=True)
class DpQuantiles:
    """Quantiles by exponential mechanisms over a public grid.

    A candidate's distance from a quantile is counted in ranks, which one replaced patient
    changes by at most 1. Each quantile alone is purely epsilon_each-private; see
    :class:`~neuroveil.privacy.central.quantile_budget.QuantileBudget` for all together.

    Parameters
    ----------
    spec : QuantileSpec
        Public specification.

    References
    ----------
    McSherry and Talwar 2007; Smith 2011 for quantiles.
    """

    spec: QuantileSpec

    @cached_property
    def budget(self) -> QuantileBudget:
        """Epsilon of one quantile and of all."""
        return QuantileBudget(self.spec)

    def draw(self, source: RandomSource) -> QuantileDraws:
        """Draw the randomness, without looking at the table.

        Parameters
        ----------
        source : RandomSource
            Where the randomness comes from.

        Returns
        -------
        QuantileDraws
            One number for each column and quantile.
        """
        limit, width = 1 << UNIFORM_BITS, self.spec.draws_per_column
        uniforms = (
            tuple(source.below(limit) for _ in range(width)) for _ in range(self.spec.dimension)
        )
        return QuantileDraws(tuple(uniforms), source.facts)

    def apply(self, rows: FloatArray, draws: QuantileDraws) -> NoisyQuantiles:
        """Choose the quantiles of each column; deterministic once draws are given.

        Parameters
        ----------
        rows : ndarray of float64, shape (n_patients, dimension)
            Rows on the axis of the grid (no unit), finite, one for each patient on the roster.
        draws : QuantileDraws
            From :meth:`draw`.

        Returns
        -------
        NoisyQuantiles
            What may be published.

        Raises
        ------
        ChainError
            If a shape is wrong or a value is not finite.
        """
        check_rows(rows, self.spec.dimension)
        spec = self.spec
        widths = {len(uniforms) for uniforms in draws.uniforms}
        found = (rows.shape[0], len(draws.uniforms), *widths)
        if found != (spec.n_patients, spec.dimension, spec.draws_per_column):
            raise ChainError(
                "rows and draws", f"{spec.n_patients} rows, and {spec.draws_per_column} draws for "
                f"each of {spec.dimension} columns", f"{found}",
                "Give one row for every patient on the roster, and draws of this mechanism.",
            )  # fmt: skip
        weights = step_weights(self.budget.epsilon_each, spec.n_patients)
        released = [
            self._release_column(rows[:, column], weights, uniforms)
            for column, uniforms in enumerate(draws.uniforms)
        ]
        count = len(spec.probabilities)
        table = np.array(released)
        deviations = table[:, count].copy() if spec.absolute_deviation else None
        # Quantiles in increasing order: post-processing.
        return NoisyQuantiles(np.sort(table[:, :count], axis=1), deviations, spec)

    def misses(self, values: FloatArray, candidates: FloatArray, probability: float) -> IntArray:
        """Count by how many ranks each candidate misses a quantile.

        Parameters
        ----------
        values : ndarray of float64, shape (n_patients,)
            One column.
        candidates : ndarray of float64, shape (points,)
            Public grid.
        probability : float
            Which quantile.

        Returns
        -------
        ndarray of int64, shape (points,)
            Ranks, exact; replacing one value changes each entry by at most 1.
        """
        ordered = np.sort(values)
        below = np.searchsorted(ordered, candidates, side="left")
        not_above = np.searchsorted(ordered, candidates, side="right")
        least, most = self.budget.rank_target(probability)
        ranks: IntArray = np.maximum(0, np.maximum(least - not_above, below - most))
        return ranks

    def _release_column(
        self, values: FloatArray, weights: list[int], uniforms: tuple[int, ...]
    ) -> list[float]:
        spec = self.spec
        released = []
        for probability, uniform in zip(spec.probabilities, uniforms, strict=False):
            steps = self.misses(values, spec.candidates, probability)
            released.append(float(spec.candidates[choose(steps.tolist(), weights, uniform)]))
        if spec.absolute_deviation:
            median = released[spec.probabilities.index(MEDIAN)]
            steps = self.misses(np.abs(values - median), spec.distances, MEDIAN)
            released.append(float(spec.distances[choose(steps.tolist(), weights, uniforms[-1])]))
        return released
