"""Which channels or features could be left out, and what that would gain or lose.

Fewer columns leave more of the clipping norm, and so of the signal, to each of the others. What
is left out is not all lost: it can be estimated from what is released, by the public covariance,
at no cost. Both are in the forecast, and neither needs a private value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from neuroveil.evaluate.planning.forecast import released_power
from neuroveil.evaluate.planning.question import PlanQuestion
from neuroveil.privacy.plan import row_mechanism
from neuroveil.privacy.prediction import ReleasedPower
from neuroveil.privacy.public_model import PublicModel
from neuroveil.privacy.settings import ProtectSettings
from neuroveil.types.planning import Drop
from neuroveil.types.recording import FloatArray

Mask = npt.NDArray[np.bool_]
Kind = Literal["channel", "feature"]


def list_drops(
    settings: ProtectSettings,
    question: PlanQuestion,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[Drop, ...]:
    """Forecast what leaving out each channel and each feature would change.

    Parameters
    ----------
    settings : ProtectSettings
        A release of rows.
    question : PlanQuestion
        Public numbers.
    progress : callable
        Called with the number done and to do.

    Returns
    -------
    tuple of Drop
        From the largest gain over all columns to the largest loss; empty without a public
        covariance, and where there is one channel and one feature.

    Raises
    ------
    ChainError
        If the release cannot be calibrated.
    """
    if question.model is None:
        return ()
    forecaster = _Forecaster(settings, question, question.model.covariance, {})
    everything = np.ones(question.dimension, dtype=np.bool_)
    before = forecaster.explained(everything)
    candidates = list(_candidates(question))
    found = []
    for done, (kind, name, dropped) in enumerate(candidates, start=1):
        after = forecaster.explained(~dropped)
        correlation = forecaster.correlation
        found.append(Drop(
            kind, name, int(dropped.sum()),
            kept_before=correlation(before, ~dropped), kept_after=correlation(after, ~dropped),
            recovered=correlation(after, dropped),
            all_before=correlation(before, everything), all_after=correlation(after, everything),
        ))  # fmt: skip
        progress(done, len(candidates))
    return tuple(sorted(found, key=lambda drop: -drop.all_after))


@dataclass(frozen=True, eq=False)
class _Forecaster:
    settings: ProtectSettings
    question: PlanQuestion
    covariance: FloatArray
    powers: dict[int, ReleasedPower]

    def explained(self, kept: Mask) -> FloatArray:
        """Variance of every column that the best linear estimate explains.

        With S the kept columns, V the public basis of Cov(x_S), z what is released in it:
        Cov(x, z_i) = (Cov(x, x_S) V)_i E[y_i x_i] / l_i, since x depends on z through x_S alone
        and coordinates are symmetric. The estimate explains the square over E[z_i^2], summed.
        """
        model = PublicModel(self.covariance[np.ix_(kept, kept)])
        m = self._components(model.dimension)
        moments = model.moments(m, self.question.clip_norm)
        released = self._power(model.dimension).of(moments.bounded)
        with_row = self.covariance[:, kept] @ model.basis(m)
        spectrum = model.spectrum[:m]
        slope = np.divide(moments.with_row, spectrum, out=np.zeros(m), where=spectrum > 0)
        explained: FloatArray = np.square(with_row * slope) @ (1 / released)
        return explained

    def correlation(self, explained: FloatArray, columns: Mask) -> float:
        """Correlation of estimated and unclipped cells over some columns."""
        whole = float(np.diag(self.covariance)[columns].sum())
        return float(np.sqrt(explained[columns].sum() / whole))

    def _components(self, dimension: int) -> int:
        wanted = self.settings.projection
        return dimension if wanted is None else min(wanted.components, dimension)

    def _power(self, dimension: int) -> ReleasedPower:
        m = self._components(dimension)
        if m not in self.powers:
            projection = self.settings.projection
            shorter = replace(
                self.settings, projection=projection and replace(projection, components=m)
            )
            mechanism, _ = row_mechanism(shorter, dimension, self.question.n_patients)
            self.powers[m] = released_power(mechanism)
        return self.powers[m]


def _candidates(question: PlanQuestion) -> Iterator[tuple[Kind, str, Mask]]:
    columns = question.scaling.columns
    kinds: tuple[Kind, ...] = ("channel", "feature")
    for kind in kinds:
        names = [getattr(column, kind) for column in columns]
        different = dict.fromkeys(names)
        for name in different if len(different) > 1 else ():
            yield kind, name, np.array([other == name for other in names])
