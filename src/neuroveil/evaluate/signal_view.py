"""What sharing does to scalp maps, spectra, features and the order of patients.

Everything is on the columns' own scale: log10 of power, or the feature's unit. What is compared
is what a reader of the release would take for a patient's features (the estimate in feature
units, where there is one) with the features as they were extracted.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from neuroveil.errors import ChainError
from neuroveil.evaluate.intervals import estimate
from neuroveil.evaluate.intrinsic import SMALLEST_N_DRAWS
from neuroveil.evaluate.metrics import exchange_rows
from neuroveil.privacy.plan import RowPlan
from neuroveil.privacy.randomness import SimulationRandomness
from neuroveil.types.catalogue import Column, feature_spec
from neuroveil.types.recording import FloatArray
from neuroveil.types.scaling import Scaling
from neuroveil.types.signal_view import BandMap, FeatureChange, SignalView, SpectrumBand
from neuroveil.types.utility import Estimate

_DECIBEL = 10.0


def view_signal(
    scaled: FloatArray,
    plan: RowPlan,
    scaling: Scaling,
    *,
    n_draws: int = SMALLEST_N_DRAWS,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> SignalView:
    """Measure what a way of protecting rows does to features as an EEG reader knows them.

    Parameters
    ----------
    scaled : ndarray of float64, shape (n_patients, n_features)
        Scaled rows before clipping (no unit), finite; at least two. Private.
    plan : RowPlan
        How rows are protected and estimated.
    scaling : Scaling
        Constants that lead back to the columns' scale.
    n_draws : int
        Number of simulated draws, at least 20.
    seed : int
        Seed of the simulated noise.
    progress : callable, optional
        Called after every draw with the number done and the number to do.

    Returns
    -------
    SignalView
        Internal.

    Raises
    ------
    ChainError
        If there are too few rows or draws, or rows and constants do not fit.
    """
    n = scaled.shape[0]
    if n < 2 or n_draws < SMALLEST_N_DRAWS or scaled.shape[1] != len(scaling.columns):
        raise ChainError(
            "rows", f"at least 2 rows of {len(scaling.columns)} columns and at least "
            f"{SMALLEST_N_DRAWS} draws", f"shape {scaled.shape} and {n_draws} draws",
            "Give scaled rows, and take more draws.",
        )  # fmt: skip
    changes = _Changes(scaled, scaling)
    rows_int, source = plan.bound(scaled), SimulationRandomness(seed)
    exchange = np.random.default_rng([seed, n_draws])
    for done in range(1, n_draws + 1):
        drawn = plan.mechanism.renewed(source)
        noisy = drawn.apply(rows_int, drawn.draw(n, source))
        changes.add(plan.estimates(noisy)[1], exchange_rows(n, exchange))
        if progress is not None:
            progress(done, n_draws)
    return SignalView(
        mechanism=plan.spec.name,
        n_patients=n,
        n_draws=n_draws,
        seed=seed,
        channels=changes.channels,
        maps=changes.maps(),
        spectrum=changes.spectrum(),
        features=changes.features(),
    )


class _Changes:
    """Adds draws up; memory does not grow with their number."""

    def __init__(self, scaled: FloatArray, scaling: Scaling) -> None:
        self._columns = scaling.columns
        self._centre, self._spread = scaling.centre, scaling.spread
        self._before = self._features(scaled)
        self._ranks = _ranks(scaled)
        self._after: FloatArray | None = None
        self._squares = np.zeros(scaled.shape[1])
        self._by_draw: list[FloatArray] = []
        self.channels = tuple(dict.fromkeys(column.channel for column in scaling.columns))
        self._names = tuple(dict.fromkeys(column.feature for column in scaling.columns))
        self._bands = [name for name in self._names if feature_spec(name).band_hz is not None]

    def add(self, drawn: FloatArray, exchange: np.ndarray) -> None:
        """Take one draw of estimated rows, and an order of patients for the control."""
        after = self._features(drawn)
        if self._after is None:
            self._after = after
        error = after - self._before
        self._squares += np.square(error).mean(axis=0)
        ranks = _ranks(drawn)
        self._by_draw.append(np.stack([
            error.mean(axis=0), np.square(error).mean(axis=0),
            _rank_correlation(self._ranks, ranks), _rank_correlation(self._ranks[exchange], ranks),
        ]))  # fmt: skip

    def maps(self) -> tuple[BandMap, ...]:
        """Maps of the bands, with the channels that have every band."""
        assert self._after is not None
        error = np.sqrt(self._squares / len(self._by_draw))
        return tuple(
            BandMap(
                feature=name,
                label=feature_spec(name).label,
                before=_floats(self._before[:, place].mean(axis=0)),
                after=_floats(self._after[:, place].mean(axis=0)),
                error=_floats(error[place]),
            )
            for name in self._bands
            for place in [self._places(name)]
        )

    def spectrum(self) -> tuple[SpectrumBand, ...]:
        """Mean power density of each band."""
        assert self._after is not None
        steps = []
        for name in self._bands:
            band = feature_spec(name).band_hz
            assert band is not None
            width = float(np.log10(band[1] - band[0]))
            place = self._places(name)
            before, after = (
                _DECIBEL * (rows[:, place] - width) for rows in (self._before, self._after)
            )
            steps.append(
                SpectrumBand(
                    *band, float(before.mean()), float(after.mean()),
                    _spread(before), _spread(after),
                )
            )  # fmt: skip
        return tuple(sorted(steps, key=lambda step: step.low_hz))

    def features(self) -> tuple[FeatureChange, ...]:
        """Bias, error and order, by feature."""
        figures = np.stack(self._by_draw)
        return tuple(self._feature(name, figures) for name in self._names)

    def _feature(self, name: str, figures: FloatArray) -> FeatureChange:
        place, spec = self._places(name), feature_spec(name)
        bias, squares, rank, control = figures[:, :, place].transpose(1, 0, 2)
        return FeatureChange(
            feature=name,
            label=spec.label,
            unit="decades" if spec.scale == "log10" else spec.unit,
            bias=_defined(bias.mean(axis=1)),
            error=_defined(np.sqrt(squares.mean(axis=1))),
            patient_spread=_spread(self._before[:, place]),
            rank=estimate(rank.mean(axis=1)),
            rank_control=estimate(control.mean(axis=1)),
        )

    def _features(self, rows: FloatArray) -> FloatArray:
        return np.asarray(self._centre + self._spread * rows)

    def _places(self, name: str) -> list[int]:
        by_channel = {_key(column): place for place, column in enumerate(self._columns)}
        return [
            by_channel[(channel, name)]
            for channel in self.channels
            if (channel, name) in by_channel
        ]


def _key(column: Column) -> tuple[str, str]:
    return column.channel, column.feature


def _floats(values: FloatArray) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


def _spread(rows: FloatArray) -> float:
    return float(rows.std(axis=0, ddof=1).mean())


def _ranks(rows: FloatArray) -> FloatArray:
    """Ranks of patients in every column, centred; ties share a rank."""
    from scipy.stats import rankdata

    ranks = np.asarray(rankdata(rows, axis=0), dtype=np.float64)
    return np.asarray(ranks - ranks.mean(axis=0))


def _rank_correlation(one: FloatArray, other: FloatArray) -> FloatArray:
    """Spearman correlation in every column; not a number where a column is constant."""
    scale = np.sqrt(np.square(one).sum(axis=0) * np.square(other).sum(axis=0))
    products = (one * other).sum(axis=0)
    return np.asarray(np.divide(products, scale, out=np.full_like(scale, np.nan), where=scale > 0))


def _defined(draws: FloatArray) -> Estimate:
    result = estimate(draws)
    assert result is not None  # changes of finite rows are always defined
    return result
