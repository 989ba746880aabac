"""The files of a release of moments: raw sums, what is made of them, and the synthetic table."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from neuroveil.errors import CertificateError
from neuroveil.privacy.verify.copies import check_copy
from neuroveil.privacy.verify.csvfile import TableError, lines_of, number_in
from neuroveil.privacy.verify.dictionary import (
    check_constants,
    check_dictionary,
    feature_names,
    list_columns,
)
from neuroveil.privacy.verify.document import load_json, read_bytes
from neuroveil.privacy.verify.findings import broken, finding, holds, show
from neuroveil.privacy.verify.moments import Foundations, foundations
from neuroveil.privacy.verify.result import Check
from neuroveil.privacy.verify.statement import Statement
from neuroveil.privacy.verify.table import chernoff

MOMENT_FILES = (
    "moments.csv", "mean.csv", "covariance.csv", "synthetic.csv", "synthetic.parquet",
    "synthetic.json", "STATEMENT.md",
)  # fmt: skip
"""What a release of moments holds beside its certificate."""

_LARGEST = 1 << 62
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,18})")
_FALSE_ALARM = 1.6e-7
_ENOUGH = 24
_LEAST = Fraction(1, 10**60)
_MADE_OF = ("moments.csv", "mean.csv", "covariance.csv")
_LARGEST_DICTIONARY = 50_000_000


@dataclass(frozen=True)
class _Sums:
    total: list[int]
    products: list[list[int]]


def check_moment_files(statement: Statement, folder: Path, chain_digest: str) -> Iterator[Check]:
    """Check the contents of a release of moments.

    Parameters
    ----------
    statement : Statement
        The certificate.
    folder : Path
        The release folder, whose digests are right.
    chain_digest : str
        Digest of the chain.

    Yields
    ------
    Check
        Dictionary, raw sums and their noise, mean, covariance and synthetic table.
    """
    found = foundations(statement)
    try:
        document = load_json(
            read_bytes(folder / "synthetic.json", "data dictionary", _LARGEST_DICTIONARY),
            "dictionary",
        )
    except CertificateError as error:
        yield broken("release.dictionary", str(error))
        return
    names = feature_names(statement, document)
    yield from check_dictionary(statement, document, chain_digest, names)
    yield check_constants(statement, document)
    yield _check_sources(statement, document)
    if found is None or names is None or not _is_measurable(found):
        yield broken("release.moments", "Cannot be checked: the chain states no noise to look for.")
        return
    try:
        sums = _read_sums(folder / "moments.csv", found.d)
        yield holds("release.moments", "The raw sums are whole numbers, one for each coordinate.")
        yield from _check_noise(found, sums)
        yield _check_mean(found, sums, _read_matrix(folder / "mean.csv", ["mean"], names))
        covariance = _read_matrix(folder / "covariance.csv", names, names)
        mean = [line[0] for line in _read_matrix(folder / "mean.csv", ["mean"], names)]
        yield _check_covariance(found, sums, mean, covariance)
        yield _check_synthetic(found, folder / "synthetic.csv", list_columns(document))
        yield check_copy(folder / "synthetic.csv", list_columns(document), found.d)
    except TableError as error:
        yield broken("release.moments", str(error))


def _is_measurable(found: Foundations) -> bool:
    """Whether squares of noise and bound are doubles, and their ratios too."""
    sizes = [*found.squares.values(), found.clip**2]
    return all(_LEAST < size < 1 / _LEAST for size in sizes)


def _check_sources(statement: Statement, document: Mapping[str, Any]) -> Check:
    listed = statement.document.get("release")
    release = listed if isinstance(listed, Mapping) else {}
    right = {file: release.get(file) for file in _MADE_OF}
    agrees = document.get("MadeOf") == right and document.get("Synthetic") is True
    return finding(
        "holds" if agrees else "broken", "release.made_of",
        "The table is called synthetic, and names the released sums that it is made of."
        if agrees
        else "The synthetic table does not name the sums of this release as its source.",
        source="SHA-256",
    )  # fmt: skip


def _read_sums(path: Path, d: int) -> _Sums:
    """Read the sum and the upper triangle of the products, in their order."""
    lines = lines_of(path, ["first", "second", "value"], "raw sums")
    expected = [(str(j), "") for j in range(1, d + 1)]
    expected += [(str(j), str(k)) for j in range(1, d + 1) for k in range(j, d + 1)]
    values = []
    for number, (first, second, text) in enumerate(lines):
        if number >= len(expected) or (first, second) != expected[number]:
            raise TableError("The raw sums are not one for each coordinate, in their order.")
        if not _INTEGER.fullmatch(text) or abs(int(text)) > _LARGEST:
            raise TableError("A raw sum is not a whole number of at most 2^62.")
        values.append(int(text))
    if len(values) != len(expected):
        raise TableError("Some of the raw sums are missing.")
    products = [[0] * d for _ in range(d)]
    for (first, second), value in zip(expected[d:], values[d:], strict=True):
        j, k = int(first) - 1, int(second) - 1
        products[j][k] = products[k][j] = value
    return _Sums(values[:d], products)


def _check_noise(found: Foundations, sums: _Sums) -> Iterator[Check]:
    """Noise on the stated grid, and of the stated size: what is added only makes sums larger."""
    d, count = found.d, found.n_coordinates
    flat = [*sums.total, *(sums.products[j][k] for j in range(d) for k in range(j, d))]
    if count >= _ENOUGH and not any(value & 1 for value in flat):
        yield broken("release.grid", "All sums are even, which noise on the grid never gives.")
    squares = {name: float(value) for name, value in found.squares.items()}
    step = 2.0 ** (2 * found.grid)
    size = math.fsum(float(v) ** 2 for v in sums.total) * step / squares["mechanism.noise_std_sum"]
    frobenius = math.fsum(float(v) ** 2 for line in sums.products for v in line)
    size += frobenius * step**2 / squares["mechanism.noise_std_diagonal"]
    low = count * chernoff(count / 2, _FALSE_ALARM, above=False)
    clip, n = float(found.clip), found.n
    signal = (n * clip) ** 2 / squares["mechanism.noise_std_sum"]
    signal += (n * clip**2) ** 2 / squares["mechanism.noise_std_diagonal"]
    x = math.log(1 / _FALSE_ALARM)
    high = count + signal + 2 * math.sqrt((count + 2 * signal) * x) + 2 * x
    agrees = low <= size <= high
    yield finding(
        "holds" if agrees else "broken", "release.noise",
        f"In units of the noise the sums have a squared length of {show(size, 4)}; between "
        f"{show(low, 4)} and {show(high, 4)} is possible"
        + ("." if agrees else ", so they were made with other noise, or of longer rows."),
        source="Chernoff bound of the Gamma law; Birge 2001",
    )  # fmt: skip


def _read_matrix(path: Path, columns: list[str], names: list[str]) -> list[list[float]]:
    what = path.name
    rows = []
    for number, line in enumerate(lines_of(path, ["column", *columns], what)):
        if number >= len(names) or line[0] != names[number]:
            raise TableError(f"The rows of {what} are not the certified columns.")
        rows.append([number_in(text, what) for text in line[1:]])
    if len(rows) != len(names):
        raise TableError(f"Rows of {what} are missing.")
    return rows


def _check_mean(found: Foundations, sums: _Sums, stated: list[list[float]]) -> Check:
    """The mean by James and Stein, from the released sum."""
    mean = [math.ldexp(float(value), found.grid) / found.n for value in sums.total]
    noise = math.sqrt(float(found.squares["mechanism.noise_std_sum"])) / found.n
    length = math.fsum(value**2 for value in mean)
    factor = 1.0
    if found.d > 2:
        factor = max(0.0, 1 - (found.d - 2) * noise**2 / length) if length > 0 else 0.0
    largest = max(map(abs, mean))
    agrees = all(
        abs(value * factor - line[0]) <= 1e-9 * largest
        for value, line in zip(mean, stated, strict=True)
    )
    return finding(
        "holds" if agrees else "broken", "release.mean",
        "The mean follows from the released sum."
        if agrees
        else "The mean does not follow from the released sum.",
        source="James & Stein 1961, positive part",
    )  # fmt: skip


def _check_covariance(
    found: Foundations, sums: _Sums, mean: list[float], covariance: list[list[float]]
) -> Check:
    """A covariance made of the sums has their eigenvectors, so the two commute.

    Commuting is tried on a few fixed vectors; symmetry, trace and sign are checked for all.
    """
    d = found.d
    moment = [
        [math.ldexp(float(sums.products[j][k]), 2 * found.grid) / found.n - mean[j] * mean[k]
         for k in range(d)]
        for j in range(d)
    ]  # fmt: skip
    trace = math.fsum(covariance[j][j] for j in range(d))
    agrees = all(
        abs(covariance[j][k] - covariance[k][j]) <= 1e-9 * abs(trace)
        for j in range(d) for k in range(j)
    )  # fmt: skip
    agrees = agrees and all(covariance[j][j] >= -1e-9 * abs(trace) for j in range(d))
    agrees = agrees and trace <= float(found.clip) ** 2 * (1 + 1e-9)
    size = math.sqrt(math.fsum(v**2 for line in moment for v in line))
    size *= math.sqrt(math.fsum(v**2 for line in covariance for v in line))
    for seed in range(1, 4):
        probe = [math.sin(seed * (j + 1) ** 2) for j in range(d)]
        left = _times(covariance, _times(moment, probe))
        right = _times(moment, _times(covariance, probe))
        gap = math.sqrt(math.fsum((a - b) ** 2 for a, b in zip(left, right, strict=True)))
        agrees = agrees and gap <= 1e-6 * size * math.sqrt(d)
    return finding(
        "holds" if agrees else "broken", "release.covariance",
        "The covariance is valid and has the directions of the released second moment."
        if agrees
        else "The covariance is not made of the released second moment.",
        source="functions of a matrix commute with it",
    )  # fmt: skip


def _times(matrix: list[list[float]], vector: list[float]) -> list[float]:
    return [math.fsum(a * b for a, b in zip(line, vector, strict=True)) for line in matrix]


def _check_synthetic(found: Foundations, path: Path, names: list[str]) -> Check:
    count = 0
    for line in lines_of(path, names, "synthetic table"):
        for text in line:
            number_in(text, "synthetic table")
        count += 1
    return finding(
        "holds" if count == found.n else "broken", "release.synthetic",
        f"The synthetic table has {count} rows for {found.n} patients.",
        stated=count, recomputed=found.n,
    )  # fmt: skip
