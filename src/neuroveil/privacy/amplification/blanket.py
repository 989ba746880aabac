"""The privacy blanket of the k-closest codebook mechanism (Balle, Bell, Gascón, Nissim 2019).

Write q = K / N for the share of close codewords. Every codeword has at least the chance
(1 - p) / (N - K) from every row, so with probability gamma = 1 / (e^epsilon_0 q + 1 - q) a
row's message is a uniform codeword, whatever the row: the blanket. By their Lemma 5.3, n shuffled
rows satisfy delta(epsilon) <= E[(L_1 + … + L_n)_+] / n, where L_i is 0 outside the blanket and
otherwise the difference of the two rows' likelihoods at a uniform codeword, in units of the
smaller one. For two rows that share no close codeword this is

=============================  ===================
value of L                     probability
=============================  ===================
e^epsilon_0 - e^epsilon        gamma q
1 - e^(epsilon_0 + epsilon)    gamma q
1 - e^epsilon                  gamma (1 - 2 q)
0                              1 - gamma
=============================  ===================

**Why no other pair is worse.** A codeword that is close to both rows has the value
e^epsilon_0 (1 - e^epsilon), one that is close to neither 1 - e^epsilon. Making the first close
to one row only, and the second close to the other, puts e^epsilon_0 - e^epsilon and
1 - e^(epsilon_0 + epsilon) in their place: the same sum, the same weights, further apart. That is
larger in the convex order, which sums of independent values keep, and (x)_+ is convex. With
q <= 1/2 every overlap can be resolved so.

**Rounding of p** makes the real likelihood ratio slightly smaller than e^epsilon_0. Such a
mechanism is that of epsilon_0 with some messages replaced by uniform codewords afterwards, each
by its own coin, which may happen as well after shuffling; so the bound covers it. It covers a
fresh codebook for every row in the same way: the blanket is then a uniform seed and a uniform
codeword, and the two rows' sets are compared within one codebook.

**Why the computed value is never too small.** Every step errs upward.

1. Values of L are raised by a relative 1e-13, which covers their rounding (that of
   epsilon_0 + epsilon, up to 600, counts most), and values below -n a, where a is the positive
   one, are raised to -n a: a sum with such a value is not positive before or after.
2. Each value is split between the two grid points around it with the same mean. By Jensen's
   inequality (x)_+ can only grow. A share of 1e-8 more goes to the upper point: positions are
   below 2^24, so their rounding, at most 2e-9, cannot lower the mean.
3. Under the tilted weights w exp(t l) / M(t), with t such that the sum has mean 0,
   E[(S)_+] = M(t)^n E_t[S exp(-t S); S > 0]. All terms are positive and of ordinary size, so
   small deltas lose no digits.
4. The n-fold convolution is one discrete Fourier transform on a window. Mass below the window
   comes back at positive sums, which raises the result. Mass above it, about exp(-60), is
   bounded by Chernoff's inequality for the values on the grid; it counts at most
   min(1 / (e t), n a) and is added.
5. Floating point: with u = 2^-53, each coefficient F of the transform of one row's
   distribution is a sum of at most seven products, off by 24 u at most (14 u for angles up to
   2 pi, the rest for adding). Its n-th power by repeated squaring adds 4.5 n u |F|^n; together
   at most 32 n u (2 |F|^n + 2^(1 - n)). The inverse transform adds at most 8 u log2(points) in
   the Euclidean norm (Higham 2002, Theorem 24.2). By Parseval's identity and Cauchy-Schwarz
   the sum over positive values is off by at most the product of two Euclidean norms, which is
   added. M(t)^n and the n-fold product of weights are off by at most a relative 1e-13 n, which
   is multiplied on with 1e-9 for everything else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from neuroveil.errors import ChainError
from neuroveil.privacy.amplification.search import safe_crossing
from neuroveil.privacy.validate import EPSILON_RANGE, check_delta, check_epsilon
from neuroveil.types.recording import FloatArray

LARGEST_BATCH = 10**8
"""Largest number of shuffled rows for which floating-point errors stay negligible."""

LARGEST_LOCAL_EPSILON = 300.0
"""Above it no amplification is claimed: a blanket of e^-300 covers no row of any batch."""

_UNIT = 2.0**-53
_SMALLEST_DELTA = 1e-300  # stands in where a positive bound would underflow
_LOG_LOST = -60.0
_STEPS_A_DEVIATION = 64
_SMALLEST_LOG2 = 15
_LARGEST_LOG2 = 24


@dataclass(frozen=True, eq=False)
class _Losses:
    """Values of L and their probabilities, from the largest to the smallest."""

    values: FloatArray
    weights: FloatArray

    def log_mgfs(self, tilts: FloatArray) -> FloatArray:
        """Logarithms of E[exp(tilt L)], shape (n_tilts,)."""
        exponents = np.outer(tilts, self.values)
        largest = exponents.max(axis=1)
        result: FloatArray = largest + np.log(np.exp(exponents - largest[:, None]) @ self.weights)
        return result

    def log_mgf(self, tilt: float) -> float:
        """Logarithm of E[exp(tilt L)]."""
        return float(self.log_mgfs(np.array([tilt]))[0])

    def tilted(self, tilt: float) -> FloatArray:
        """Probabilities in proportion to w exp(tilt l)."""
        exponents = tilt * self.values
        weights = self.weights * np.exp(exponents - exponents.max())
        result: FloatArray = weights / weights.sum()
        return result


def blanket_delta(epsilon: float, local_epsilon: float, share: float, n_batch: int) -> float:
    """Bound delta of shuffled messages of the k-closest codebook mechanism.

    Parameters
    ----------
    epsilon : float
        Central epsilon (no unit).
    local_epsilon : float
        Epsilon_0 of one row (no unit).
    share : float
        K / N, above 0 and at most 1/2 (no unit).
    n_batch : int
        Number n of rows that are shuffled together, from 1 to :data:`LARGEST_BATCH`.

    Returns
    -------
    float
        An upper bound of delta, rounded up; 0 where epsilon is at least the local one.

    Raises
    ------
    ChainError
        If a parameter is out of range.

    References
    ----------
    Balle, Bell, Gascón and Nissim 2019, Lemma 5.3.
    """
    check_epsilon(epsilon, "epsilon")
    check_epsilon(local_epsilon, "local_epsilon")
    check_batch(n_batch)
    if not 0 < share <= 0.5:
        raise ChainError(
            "mechanism.codebook_top", "a share of close codewords above 0, at most 1/2",
            f"{share!r}", "Choose the codebook by choose_shuffled_codebook.",
        )  # fmt: skip
    if epsilon >= local_epsilon:
        return 0.0
    if local_epsilon > LARGEST_LOCAL_EPSILON:
        return 1.0
    losses = _losses(epsilon, local_epsilon, share, n_batch)
    return min(1.0, max(_SMALLEST_DELTA, _positive_part(losses, n_batch) / n_batch))


def check_batch(n_batch: int) -> int:
    """Refuse a number of shuffled rows for which no bound is computed.

    Parameters
    ----------
    n_batch : int
        Number of rows.

    Returns
    -------
    int
        The same number.

    Raises
    ------
    ChainError
        If it is not a whole number from 1 to :data:`LARGEST_BATCH`.
    """
    if not isinstance(n_batch, int) or not 1 <= n_batch <= LARGEST_BATCH:
        raise ChainError(
            "model.batch", f"1 to {LARGEST_BATCH} rows", f"{n_batch!r}",
            "State how many rows are shuffled together.",
        )  # fmt: skip
    return n_batch


def blanket_epsilon(delta: float, local_epsilon: float, share: float, n_batch: int) -> float:
    """Bound the central epsilon of shuffled messages at a given delta.

    Parameters
    ----------
    delta : float
        Central delta.
    local_epsilon : float
        Epsilon_0 of one row (no unit).
    share : float
        K / N, above 0 and at most 1/2 (no unit).
    n_batch : int
        Number n of rows that are shuffled together.

    Returns
    -------
    float
        An epsilon at which :func:`blanket_delta` is at most ``delta``, within about 1e-4 of the
        smallest in relative terms; never above the local one.

    Raises
    ------
    ChainError
        If a parameter is out of range.
    """
    check_delta(delta, "delta")
    check_epsilon(local_epsilon, "local_epsilon")

    def bound(log_epsilon: float) -> float:
        epsilon = max(EPSILON_RANGE[0], math.exp(log_epsilon))
        return blanket_delta(epsilon, local_epsilon, share, n_batch)

    low, high = math.log(EPSILON_RANGE[0]), math.log(local_epsilon)
    found = safe_crossing(bound, safe=high, unsafe=low, delta=delta, width=1e-4)
    return min(local_epsilon, max(EPSILON_RANGE[0], math.exp(found)))


def _losses(epsilon: float, local_epsilon: float, share: float, n_batch: int) -> _Losses:
    blanket = 1 / (math.exp(local_epsilon) * share + 1 - share)
    gain = math.exp(epsilon) * math.expm1(local_epsilon - epsilon)
    values = [gain, -math.expm1(local_epsilon + epsilon), -math.expm1(epsilon)]
    raised = [max(value + abs(value) * 1e-13, -n_batch * gain) for value in values]
    weights = [blanket * share, blanket * share, blanket * (1 - 2 * share)]
    outside = blanket * share * math.expm1(local_epsilon)  # 1 - blanket, without cancellation
    return _Losses(np.array([*raised, 0.0]), np.array([*weights, outside]))


def _positive_part(losses: _Losses, n_batch: int) -> float:
    """Bound E[(L_1 + … + L_n)_+] from above."""
    gain = float(losses.values[0])
    tilt = _balanced_tilt(losses)
    above = min(n_batch * gain, _window(losses, tilt, n_batch, 1.0))
    below = min(-n_batch * float(losses.values.min()), _window(losses, tilt, n_batch, -1.0))
    log2_points = _log2_points(losses, tilt, above + below, n_batch)
    points = 1 << log2_points
    margin = min(n_batch, points // 8)
    step = (above + below) / (points - 2 * margin - 4)
    lattice, positions = _on_grid(losses, step)
    spectrum, spectrum_error = _power_spectrum(lattice.tilted(tilt), positions, points, n_batch)
    chances = np.fft.irfft(spectrum, points)
    last = min(n_batch * int(positions.max()), math.ceil(above / step) + margin)
    sums = step * np.arange(1, last + 1)
    worth = sums * np.exp(-tilt * sums)
    total = float(worth @ chances[1 : last + 1])
    rounding = float(np.linalg.norm(worth)) * (
        spectrum_error + 8 * _UNIT * log2_points * float(np.linalg.norm(chances))
    )
    lost = 0.0
    if last < n_batch * int(positions.max()):
        most = min(n_batch * (gain + step), math.exp(-1) / tilt if tilt > 0 else math.inf)
        lost = most * _mass_above(lattice, tilt, n_batch, last * step)
    scale = math.exp(n_batch * lattice.log_mgf(tilt)) * (1 + 1e-9 + 1e-13 * n_batch)
    return scale * (total + rounding + lost)


def _mass_above(lattice: _Losses, tilt: float, n_batch: int, height: float) -> float:
    """Bound the tilted chance of a sum above a height, by Chernoff's inequality."""
    slopes = _slopes(lattice)
    raised = lattice.log_mgfs(tilt + slopes) - lattice.log_mgf(tilt)
    return math.exp(min(0.0, float((n_batch * raised - slopes * height).min())) + 1e-13 * n_batch)


def _balanced_tilt(losses: _Losses) -> float:
    """Find the tilt under which a row's loss has mean 0; any value near it serves."""

    def mean(tilt: float) -> float:
        return float(losses.tilted(tilt) @ losses.values)

    if mean(0.0) >= 0:
        return 0.0
    unit = 1 / float(losses.values[0])
    low, high = 0.0, unit
    while mean(high) < 0 and high < 700 * unit:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if mean(middle) < 0 else (low, middle)
    return high


def _window(losses: _Losses, tilt: float, n_batch: int, side: float) -> float:
    """Distance beyond which the tilted sum has mass of about exp(-60), by Chernoff."""
    slopes = _slopes(losses)
    raised = losses.log_mgfs(tilt + side * slopes) - losses.log_mgf(tilt)
    return max(0.0, float(((n_batch * raised - _LOG_LOST) / slopes).min()))


def _slopes(losses: _Losses) -> FloatArray:
    """Give exponents to try in Chernoff's inequality."""
    smallest = 1e-9 / float(np.abs(losses.values).max())
    return np.geomspace(smallest, 30 / float(losses.values.max()), 160)


def _log2_points(losses: _Losses, tilt: float, width: float, n_batch: int) -> int:
    """Choose a grid so fine that splitting values widens the sum by next to nothing."""
    chances, moved = losses.tilted(tilt), losses.values != 0
    # 0 is on every grid; only the other values are split, by at most a quarter step squared.
    square = float(chances @ np.square(losses.values)) / float(chances @ moved)
    steps = width / math.sqrt(square) * _STEPS_A_DEVIATION
    return min(max(_SMALLEST_LOG2, math.ceil(math.log2(steps))), _LARGEST_LOG2)


def _on_grid(losses: _Losses, step: float) -> tuple[_Losses, npt.NDArray[np.int64]]:
    """Split every value between the grid points around it, not lowering its mean."""
    cells = np.floor(losses.values / step)
    upper = np.clip(losses.values / step - cells + 1e-8, 0.0, 1.0)
    upper[losses.values == 0] = 0.0
    positions = np.concatenate([cells, cells + 1])
    weights = np.concatenate([losses.weights * (1 - upper), losses.weights * upper])
    return _Losses(step * positions, weights), positions.astype(np.int64)


def _roots_of_unity(points: int) -> npt.NDArray[np.complex128]:
    """Every power that a transform of this size may need; kept for the many bounds of a search."""
    small = 1 << 18
    return _kept_roots(points) if points <= small else _kept_roots.__wrapped__(points)


@lru_cache(maxsize=4)
def _kept_roots(points: int) -> npt.NDArray[np.complex128]:
    roots: npt.NDArray[np.complex128] = np.exp(-2j * np.pi / points * np.arange(points))
    return roots


def _power_spectrum(
    chances: FloatArray, positions: npt.NDArray[np.int64], points: int, n_batch: int
) -> tuple[npt.NDArray[np.complex128], float]:
    """Give the transform of the n-fold convolution, and a bound of the error after inversion."""
    frequencies = np.arange(points // 2 + 1)
    single, roots = np.zeros(frequencies.size, dtype=np.complex128), _roots_of_unity(points)
    for chance, position in zip(chances.tolist(), positions.tolist(), strict=True):
        if chance > 0:
            phase = (frequencies * (position % points)) & (points - 1)  # whole numbers: exact
            single += chance * roots[phase]
    power = np.ones_like(single)
    for bit in bin(n_batch)[2:]:
        power *= power
        if bit == "1":
            power *= single
    deviation = 32 * n_batch * _UNIT * (2 * np.abs(power) + 2.0 ** (1 - n_batch))
    return power, float(np.linalg.norm(deviation)) * math.sqrt(2 / points)
