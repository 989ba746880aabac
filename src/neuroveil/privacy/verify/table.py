"""Whether the released table itself can have come from the stated mechanism.

Everything else in a release folder can be forged consistently by whoever can compute a digest.
The noise cannot: the values are clipped rows plus noise, so their size shows the noise scale.
Each test below compares the size with a bound that honest noise crosses with a probability of
at most 1.6e-7; six of them together raise a false alarm less than once in a million releases.

The bounds. For Gaussian noise z with standard deviation σ, ``Σ z²/σ²`` is chi-square with N
degrees of freedom, that is twice a Gamma(N/2) variable; for Laplace noise with scale b,
``Σ |z|/b`` is Gamma(N). A Gamma(k) variable is below ``βk`` (β < 1) or above it (β > 1) with a
probability of at most ``(β e^(1-β))^k`` (Chernoff). What is added to the noise can only make
``Σ t²`` and ``Σ |t|`` larger in distribution (Anderson 1955), so lower bounds need no allowance;
above, the rows add at most C² each to the squares (Birgé 2001, Lemma 8.1, for noncentral
chi-square) and √d·C each to the absolute values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from neuroveil.privacy.verify.basis import row_dimension
from neuroveil.privacy.verify.csvfile import TableError, lines_of, number_in
from neuroveil.privacy.verify.findings import broken, finding, holds, show
from neuroveil.privacy.verify.result import Check
from neuroveil.privacy.verify.statement import Statement

_FALSE_ALARM = 1.6e-7
_ENOUGH_CELLS = 24
_LAST_ODD = 1 << 53
# Lengths in steps of the grid, so that squares and ratios of squares are doubles.
_LEAST_STEPS, _MOST_STEPS = Fraction(1, 10**30), Fraction(10**60)


@dataclass
class _Sums:
    """Sizes of the table in steps of the grid, as exact integers."""

    rows: list[int] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    absolute: int = 0
    squares: int = 0
    odd: int = 0
    whole: int = 0


@dataclass(frozen=True)
class _Noise:
    """What the table has to look like; scale and clip norm in steps of the grid."""

    gaussian: bool
    scale: float
    clip_norm: float
    n: int
    d: int


def check_table(statement: Statement, path: Path, names: Sequence[str]) -> Iterator[Check]:
    """Check the released table against dictionary, grid and noise.

    Parameters
    ----------
    statement : Statement
        The certificate.
    path : Path
        ``table.csv``.
    names : sequence of str
        Column names by the data dictionary.

    Yields
    ------
    Check
        Size and header, grid, noise over the whole table and noise in each row and column.
    """
    noise, grid = _stated_noise(statement), statement.integer("bound.grid_log2")
    if noise is None or grid is None:
        yield finding("unchecked", "release.table", "Cannot be checked: the chain is incomplete.")
        return
    try:
        sums = _read(path, names, noise, grid, label_sizes(statement))
    except TableError as error:
        yield broken("release.table", str(error))
        return
    yield holds(
        "release.table", f"The table has {noise.n} rows and the columns of its dictionary; every "
        f"value is a multiple of 2^{grid}.", source="exact integer arithmetic",
    )  # fmt: skip
    if sums.whole >= _ENOUGH_CELLS and not sums.odd:
        yield broken(
            "release.grid", f"All values are multiples of 2^{grid + 1} too, which noise on the "
            "stated grid never gives.", stated=grid,
        )  # fmt: skip
    yield _check_size(noise, sums, grid)
    yield _check_shape(noise, sums)
    yield _check_lines(noise, sums)


def _stated_noise(statement: Statement) -> _Noise | None:
    scale, clip_norm = (
        statement.number(name) for name in ("mechanism.noise_scale", "bound.clip_norm")
    )
    grid, mechanism = statement.integer("bound.grid_log2"), statement.text("mechanism.name")
    n, d = statement.integer("domain.n"), row_dimension(statement)
    if scale is None or clip_norm is None or grid is None or n is None or d is None:
        return None
    positive = scale > 0 and clip_norm > 0 and n > 0 and d > 0
    if mechanism is None or not positive or not -1022 <= grid <= 512:
        return None
    sizes = [length / Fraction(2) ** grid for length in (scale, clip_norm)]
    if not all(_LEAST_STEPS <= size <= _MOST_STEPS for size in sizes):
        return None
    return _Noise(mechanism == "gaussian", float(sizes[0]), float(sizes[1]), n, d)


def _read(
    path: Path, names: Sequence[str], noise: _Noise, grid: int, labels: dict[str, object]
) -> _Sums:
    """Read the table once, exactly; sizes are sums of squares or of absolute values."""
    if len(names) < noise.d:
        raise TableError("The table has fewer columns than certified.")
    sums = _Sums(columns=[0] * noise.d)
    categories: list[set[str]] = [set() for _ in names[noise.d :]]
    for line in lines_of(path, names, "table"):
        _add(sums, noise, [_steps(text, grid) for text in line[: noise.d]])
        for seen, text in zip(categories, line[noise.d :], strict=True):
            seen.add(text)
        if len(sums.rows) > noise.n:
            break
    if len(sums.rows) != noise.n:
        raise TableError("The table has another number of rows than certified.")
    check_labels(names[noise.d :], categories, labels)
    return sums


def check_labels(
    names: Sequence[str], categories: Sequence[set[str]], labels: dict[str, object]
) -> None:
    """Refuse label columns with more categories than certified.

    Parameters
    ----------
    names : sequence of str
        Names of the label columns.
    categories : sequence of set of str
        What stands in each of them.
    labels : dict
        Certified number of categories by name.

    Raises
    ------
    TableError
        If a column has more.
    """
    for name, seen in zip(names, categories, strict=True):
        most = labels.get(name)
        if isinstance(most, int) and len(seen) > most:
            raise TableError("A label column has more categories than certified.")


def label_sizes(statement: Statement) -> dict[str, object]:
    """Certified number of categories of every label column under randomised response.

    Parameters
    ----------
    statement : Statement
        The certificate.

    Returns
    -------
    dict
        By column name.
    """
    return {
        str(entry.get("name")): entry.get("n_categories")
        for entry in statement.entries("domain.labels")
    }


def _steps(text: str, grid: int) -> int:
    """A released value in steps of the grid; scaling by a power of two is exact."""
    value = number_in(text, "table")
    try:
        scaled = math.ldexp(value, -grid)
    except OverflowError:
        scaled = math.inf
    # Only a value below one step can be lost to underflow.
    if not scaled.is_integer() or (scaled == 0 and value != 0):
        raise TableError(f"A value of the table is no finite multiple of 2^{grid}.")
    return int(scaled)


def _add(sums: _Sums, noise: _Noise, steps: list[int]) -> None:
    squares = [m * m for m in steps]
    sizes = squares if noise.gaussian else [abs(m) for m in steps]
    sums.rows.append(sum(sizes))
    sums.columns = [total + size for total, size in zip(sums.columns, sizes, strict=True)]
    sums.squares += sum(squares)
    sums.absolute += sum(map(abs, steps))
    # A double beyond 2^53 steps has lost its last bit, so only smaller values tell.
    whole = [m for m in steps if abs(m) < _LAST_ODD]
    sums.odd += sum(m & 1 for m in whole)
    sums.whole += len(whole)


def chernoff(shape: float, alarm: float, *, above: bool) -> float:
    """Factor β of the mean that a Gamma variable crosses with a small probability.

    Parameters
    ----------
    shape : float
        Shape parameter k of the Gamma law.
    alarm : float
        The probability: solves ``k (β - 1 - ln β) = ln(1 / alarm)``.
    above : bool
        Whether the solution above 1 is asked for, or the one below.

    Returns
    -------
    float
        β, on the safe side.
    """
    target = math.log(1 / alarm) / shape
    inner, outer = 1.0, 2.0 if above else 0.5
    while outer - 1 - math.log(outer) < target:
        inner, outer = outer, outer * (2 if above else 0.5)
    for _ in range(100):
        middle = (inner + outer) / 2
        if middle - 1 - math.log(middle) < target:
            inner = middle
        else:
            outer = middle
    return outer


def _check_size(noise: _Noise, sums: _Sums, grid: int) -> Check:
    """Size of the whole table: the statistic that says most about the noise scale."""
    cells = noise.n * noise.d
    signal = noise.clip_norm / noise.scale
    if noise.gaussian:
        ratio = sums.squares / cells / noise.scale**2
        low = chernoff(cells / 2, _FALSE_ALARM, above=False)
        x, lam = math.log(1 / _FALSE_ALARM), noise.n * signal**2
        high = (cells + lam + 2 * math.sqrt((cells + 2 * lam) * x) + 2 * x) / cells
    else:
        ratio = sums.absolute / cells / noise.scale
        low = chernoff(cells, _FALSE_ALARM, above=False)
        high = chernoff(cells, _FALSE_ALARM, above=True) + signal / math.sqrt(noise.d)
    agrees = low <= ratio <= high
    what = "mean square" if noise.gaussian else "mean absolute value"
    return finding(
        "holds" if agrees else "broken", "release.noise",
        f"The {what} of the table is {show(ratio, 4)} times that of the stated noise; between "
        f"{show(low, 4)} and {show(high, 4)} is possible"
        + ("." if agrees else ", so the table was made with another noise scale."),
        stated=noise.scale * 2.0**grid, recomputed=_implied(noise, ratio) * 2.0**grid,
        source="Chernoff bound of the Gamma law; Birge 2001",
    )  # fmt: skip


def _implied(noise: _Noise, ratio: float) -> float:
    """Noise scale, in steps, that the size of the table suggests."""
    return noise.scale * (math.sqrt(ratio) if noise.gaussian else ratio)


def _check_shape(noise: _Noise, sums: _Sums) -> Check:
    """Form of the noise: the other moment tells Gaussian from Laplace noise.

    Gaussian: the mean absolute value is a function of the noise with Lipschitz constant
    1/√N (Gaussian concentration). Laplace: squares are bounded below by the one-sided
    Bernstein inequality (E z⁴ = 24 b⁴), and above by Bernstein's for z² cut off at the
    level (b ln(4N/alarm))² that no cell reaches.
    """
    cells, signal = noise.n * noise.d, noise.clip_norm / noise.scale / math.sqrt(noise.d)
    x = math.log(4 / _FALSE_ALARM)
    if noise.gaussian:
        ratio, centre = sums.absolute / cells / noise.scale, math.sqrt(2 / math.pi)
        reach = math.sqrt(2 * x / cells) + signal
        low, high = centre - reach, centre + reach
    else:
        ratio = math.sqrt(sums.squares / cells) / noise.scale
        cut = math.log(4 * cells / _FALSE_ALARM) ** 2
        low = math.sqrt(max(2 - math.sqrt(48 * x / cells), 0))
        high = math.sqrt(2 + math.sqrt(48 * x / cells) + cut * x / (3 * cells) * 2) + signal
    agrees = low <= ratio <= high
    what = "mean absolute value" if noise.gaussian else "root mean square"
    return finding(
        "holds" if agrees else "broken", "release.noise_shape",
        f"The {what} of the table is {show(ratio, 4)} times the noise scale; between "
        f"{show(low, 4)} and {show(high, 4)} is possible"
        + ("." if agrees else ", so the noise has another distribution than stated."),
        source="Gaussian concentration; Bernstein's inequality",
    )  # fmt: skip


def _check_lines(noise: _Noise, sums: _Sums) -> Check:
    """No row and no column may be smaller than noise alone."""
    power = noise.scale**2 if noise.gaussian else noise.scale
    degrees = 0.5 if noise.gaussian else 1.0
    faint = 0
    for lines, length in ((sums.rows, noise.d), (sums.columns, noise.n)):
        low = chernoff(degrees * length, _FALSE_ALARM / len(lines), above=False)
        faint += sum(total < low * length * power for total in lines)
    return finding(
        "broken" if faint else "holds", "release.noise_everywhere",
        f"{faint} row(s) or column(s) hold less noise than stated."
        if faint
        else "No row and no column holds visibly less noise than stated.",
        stated=faint, recomputed=0, source="Chernoff bound of the Gamma law, union bound",
    )  # fmt: skip
