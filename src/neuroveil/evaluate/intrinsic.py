"""Intrinsic utility: what noise leaves of the rows, over repeated simulated draws.

The draws come from a seeded simulation source. None of them is ever released, and the
error of the released table itself is never computed: it would be private.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from neuroveil.errors import ChainError, StudyError, StudyMistake
from neuroveil.evaluate.draws import simulated_draw
from neuroveil.evaluate.metrics import exchange_rows
from neuroveil.evaluate.tally import Tally
from neuroveil.privacy.mechanisms.contract import RowMechanism
from neuroveil.privacy.plan import RowPlan
from neuroveil.privacy.randomness import SimulationRandomness
from neuroveil.types.recording import FloatArray
from neuroveil.types.scaling import Scaling
from neuroveil.types.utility import UtilityResult

SMALLEST_N_DRAWS = 20
"""Fewer draws give intervals that nobody should rely on."""

Progress = Callable[[int, int], None]
"""Called after every draw with the number of draws done and to do."""


def intrinsic_utility(
    scaled: FloatArray,
    mechanism: RowMechanism | RowPlan,
    scaling: Scaling,
    *,
    n_draws: int = SMALLEST_N_DRAWS,
    seed: int = 0,
    progress: Progress | None = None,
) -> UtilityResult:
    """Measure errors, correlations and spectral distortion over simulated draws of noise.

    Every figure is taken twice: against the clipped rows, and against the scaled rows before
    clipping. Where public rules make an estimate of what is released, the estimate is
    measured. Memory does not grow with the number of draws.

    Parameters
    ----------
    scaled : ndarray of float64, shape (n_patients, n_features)
        Scaled rows before clipping (no unit), finite. Private.
    mechanism : RowMechanism or RowPlan
        What bounds and randomises the rows, with or without what goes around it. Every draw
        has its own codebook, where the mechanism has one, and every row where it is a large one,
        see :func:`~neuroveil.evaluate.draws.simulated_draw`.
    scaling : Scaling
        The columns, and the spread that leads back to log10(power).
    n_draws : int
        Number of draws, at least 20.
    seed : int
        Seed of the simulated noise; not negative.
    progress : callable, optional
        Called after every draw with the number done and the number to do.

    Returns
    -------
    UtilityResult
        Means with 95 % intervals over the draws, overall, by feature and by channel.
        Internal.

    Raises
    ------
    StudyError
        If there are fewer than 20 draws, or the seed is negative.
    ChainError
        If rows, mechanism and scaling do not have the same columns, or a value is not
        finite.
    """
    _check(scaled, scaling, n_draws, seed)
    plan = mechanism if isinstance(mechanism, RowPlan) else RowPlan(mechanism)
    rows_int = plan.bound(scaled)
    clipped = plan.clipped(scaled)
    tally = Tally(scaled, clipped, scaling)
    noise, exchange = SimulationRandomness(seed), np.random.default_rng([seed, n_draws])
    for done in range(1, n_draws + 1):
        noisy = simulated_draw(plan.mechanism, rows_int, noise)
        tally.add(plan.estimates(noisy), exchange_rows(scaled.shape[0], exchange))
        if progress is not None:
            progress(done, n_draws)
    return UtilityResult(
        mechanism=plan.spec.name,
        n_patients=scaled.shape[0],
        n_features=scaled.shape[1],
        n_draws=n_draws,
        seed=seed,
        overall=tally.overall(),
        by_feature=tally.by_feature(),
        by_channel=tally.by_channel(),
        bands=tally.bands(),
        zeros_rmse=float(np.sqrt(np.square(clipped).mean())),
        zeros_mae=float(np.abs(clipped).mean()),
        clipped_fraction=_clipped_fraction(scaled, plan),
    )


def _clipped_fraction(scaled: FloatArray, plan: RowPlan) -> float:
    order = 2 if plan.spec.norm == "l2" else 1
    coordinates = scaled if plan.basis is None else scaled @ plan.basis
    lengths = np.linalg.norm(coordinates, ord=order, axis=1)
    return float((lengths > plan.spec.clip_norm).mean())


def _check(scaled: FloatArray, scaling: Scaling, n_draws: int, seed: int) -> None:
    mistakes = []
    if n_draws < SMALLEST_N_DRAWS:
        mistakes.append(StudyMistake(
            "n_draws", f"at least {SMALLEST_N_DRAWS}", f"{n_draws}",
            "A single draw says little about what the next one does; take more.",
        ))  # fmt: skip
    if seed < 0:
        mistakes.append(StudyMistake("seed", "0 or more", f"{seed}", "Choose another seed."))
    if mistakes:
        raise StudyError(mistakes)
    if scaled.ndim != 2 or scaled.shape[1] != len(scaling.columns):
        raise ChainError(
            "rows", f"one value for each of {len(scaling.columns)} columns",
            f"shape {scaled.shape}", "Evaluate the rows that these constants have scaled.",
        )  # fmt: skip
