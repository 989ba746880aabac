"""The codebook that serves best after shuffling: close codewords and epsilon_0 together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context
from functools import cached_property

from neuroveil.privacy.amplification.blanket import blanket_delta, check_batch
from neuroveil.privacy.amplification.search import safe_crossing
from neuroveil.privacy.codebook.design import (
    DEFAULT_BUDGET,
    CodebookDesign,
    best_top,
    choose_codebook,
)
from neuroveil.privacy.validate import EPSILON_RANGE, check_delta, check_epsilon

_ROUNDED_DOWN = Context(prec=5, rounding=ROUND_FLOOR)
_WIDTH = 5e-5
_LOG_TOP_WIDTH = 0.02
_SMALLEST_MSE = 1e-12  # in one column the error may round to 0


@dataclass(frozen=True)
class ShuffledDesign:
    """A codebook and the guarantee that its messages have after shuffling.

    Parameters
    ----------
    design : CodebookDesign
        Sizes of the codebook; its epsilon is the local one, epsilon_0, of a row alone.
    epsilon, delta : float
        Central guarantee of the shuffled batch.
    n_batch : int
        Number n of rows that are shuffled together.
    """

    design: CodebookDesign
    epsilon: float
    delta: float
    n_batch: int

    @property
    def share(self) -> float:
        """K / N, the share of close codewords (no unit)."""
        return self.design.top / self.design.size

    @cached_property
    def delta_bound(self) -> float:
        """Upper bound of the delta that the shuffled batch really has at ``epsilon``."""
        return blanket_delta(self.epsilon, self.design.epsilon, self.share, self.n_batch)

    @property
    def holds(self) -> bool:
        """Whether the bound supports the central guarantee."""
        return self.delta_bound <= self.delta


def local_epsilon_for(epsilon: float, delta: float, share: float, n_batch: int) -> float:
    """Give the largest epsilon_0 of a row whose shuffled batch keeps a central guarantee.

    Parameters
    ----------
    epsilon, delta : float
        Central guarantee.
    share : float
        K / N, above 0 and at most 1/2 (no unit).
    n_batch : int
        Number n of rows that are shuffled together.

    Returns
    -------
    float
        Epsilon_0, at least ``epsilon``, with five digits where it is larger. The privacy
        blanket's bound was evaluated at it and is at most ``delta``.

    Raises
    ------
    ChainError
        If a parameter is out of range.
    """
    check_epsilon(epsilon)
    check_delta(delta)
    check_batch(n_batch)

    def bound(log_epsilon: float) -> float:
        return blanket_delta(epsilon, max(epsilon, math.exp(log_epsilon)), share, n_batch)

    # Far beyond this the blanket holds less than one row of the batch and hides nothing.
    most = min(EPSILON_RANGE[1], epsilon + math.log(n_batch / share) + 3)
    safe, unsafe = math.log(epsilon), math.log(most)
    found = safe_crossing(bound, safe=safe, unsafe=unsafe, delta=delta, width=_WIDTH)
    rounded = float(_ROUNDED_DOWN.create_decimal(math.exp(found)))
    if rounded <= epsilon or blanket_delta(epsilon, rounded, share, n_batch) > delta:
        return epsilon
    return rounded


def choose_shuffled_codebook(
    epsilon: float, delta: float, n_batch: int, dimension: int, budget: int = DEFAULT_BUDGET
) -> ShuffledDesign:
    """Choose the codebook of least predicted error for a guarantee after shuffling.

    Parameters
    ----------
    epsilon, delta : float
        Central guarantee of the shuffled batch.
    n_batch : int
        Number n of rows that are shuffled together; of each hospital's own batch where
        hospitals shuffle on their own.
    dimension : int
        Number d of columns.
    budget : int
        Largest number of codewords, see
        :func:`~neuroveil.privacy.codebook.design.choose_codebook`.

    Returns
    -------
    ShuffledDesign
        Its bound was evaluated and holds. The number of close codewords is chosen for the
        shuffled guarantee, not for that of a row alone.

    Raises
    ------
    ChainError
        If a parameter is out of range.
    """
    size = choose_codebook(epsilon, dimension, budget).size
    design = _best_design((epsilon, delta, n_batch), dimension, size)
    needed = choose_codebook(design.epsilon, dimension, budget).size
    if needed > size:
        design = _best_design((epsilon, delta, n_batch), dimension, needed)
    return ShuffledDesign(design, epsilon, delta, n_batch)


def _best_design(guarantee: tuple[float, float, int], dimension: int, size: int) -> CodebookDesign:
    """Choose the number of close codewords for a codebook of a given size."""
    from scipy.optimize import minimize_scalar

    # Without any amplification the local guarantee is the central one.
    tried = {0: best_top(guarantee[0], dimension, size)}

    def loss(log_top: float) -> float:
        top = min(max(1, round(math.exp(log_top))), size // 2)
        if top not in tried:
            epsilon, delta, n_batch = guarantee
            local = local_epsilon_for(epsilon, delta, top / size, n_batch)
            tried[top] = CodebookDesign(local, dimension, size, top)
        return math.log(max(tried[top].mse_over_clip_norm_squared, _SMALLEST_MSE))

    minimize_scalar(
        loss, bounds=(0.0, math.log(size / 2)), method="bounded",
        options={"xatol": _LOG_TOP_WIDTH},
    )  # fmt: skip
    return min(tried.values(), key=lambda each: each.mse_over_clip_norm_squared)
