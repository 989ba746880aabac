"""Whether the stated correlation of an estimate is that of the public covariance.

Rows that are not projected have the public covariance S after they were bounded, with the
eigenvalues b. Under noise of the variance v the filter keeps b / (b + v) of each direction, so
that estimate and row correlate sqrt(sum of b² / (b + v) / sum of b), which is
sqrt(tr(S (S + v I)^-1 S) / tr(S)).

Of projected rows the files hold only the covariance of what is kept, and not how long whole rows
are, so their correlation stays a figure that was worked out on simulated public rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from neuroveil.privacy.verify.csvfile import TableError
from neuroveil.privacy.verify.estimate import cholesky, dot
from neuroveil.privacy.verify.findings import broken, finding, missing
from neuroveil.privacy.verify.postprocessing import is_projected
from neuroveil.privacy.verify.public_inputs import PublicInputs
from neuroveil.privacy.verify.result import Check
from neuroveil.privacy.verify.statement import Statement

_NAME = "utility.estimate"
_TOLERANCE = 1e-6
_LARGEST = 500


def check_correlation(
    statement: Statement, steps: Sequence[Mapping[str, Any]], inputs: PublicInputs
) -> Iterator[Check]:
    """Derive the correlation of estimated and bounded rows again.

    Parameters
    ----------
    statement : Statement
        The certificate.
    steps : sequence of mapping
        The stated steps.
    inputs : PublicInputs
        Public constants, bound to the certificate by their digests.

    Yields
    ------
    Check
        Whether it is as stated; nothing where no step uses a covariance, rows are projected, or
        there are too many columns.
    """
    lower = inputs.numbers.get("covariance")
    variance = next((s["params"]["noise_variance"] for s in steps if s["step"] == "wiener"), None)
    if lower is None or variance is None or is_projected(statement):
        return
    if len(lower) > _LARGEST:
        return
    stated = statement.number(_NAME, "correlation")
    if stated is None:
        yield missing(_NAME)
        return
    try:
        right = kept_correlation(lower, float(variance))
    except (TableError, ValueError, ArithmeticError):
        yield broken(_NAME, "The public covariance is not one.")
        return
    agrees = abs(float(stated) - right) <= _TOLERANCE
    yield finding(
        "holds" if agrees else "broken", _NAME,
        f"Under the public covariance the estimated table correlates {right:.6g} with bounded rows"
        + ("." if agrees else f", not {float(stated):.6g}."),
        stated=stated, recomputed=right, source="Wiener's filter",
    )  # fmt: skip


def kept_correlation(lower: Sequence[Sequence[float]], variance: float) -> float:
    """Give sqrt(tr(S (S + v I)^-1 S) / tr(S)).

    Parameters
    ----------
    lower : sequence of sequence of float
        Lower triangle of the covariance S, row by row (no unit).
    variance : float
        Variance v of the noise in a coordinate (no unit).

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    TableError
        If it is no covariance, or has no variance.
    """
    trace = math.fsum(line[-1] for line in lower)
    if not trace > 0:
        raise TableError("The public covariance has no variance.")
    if variance <= 0:
        return 1.0
    scaled = [[x / variance for x in line] for line in lower]
    factor = cholesky([[*line[:-1], line[-1] + 1] for line in scaled])
    # ||L^-1 S||^2 with L L^T = S + I, a sum of squares: no digits are lost where noise is large.
    kept = math.fsum(_solved_square(factor, column) for column in _columns(scaled))
    return math.sqrt(min(kept * variance / trace, 1.0))


def _columns(lower: Sequence[Sequence[float]]) -> Iterator[list[float]]:
    """Whole columns of a symmetric matrix."""
    size = len(lower)
    for j in range(size):
        yield [lower[i][j] if i >= j else lower[j][i] for i in range(size)]


def _solved_square(factor: Sequence[Sequence[float]], column: Sequence[float]) -> float:
    solved: list[float] = []
    for line, right in zip(factor, column, strict=True):
        solved.append((right - dot(line[: len(solved)], solved)) / line[-1])
    return dot(solved, solved)
