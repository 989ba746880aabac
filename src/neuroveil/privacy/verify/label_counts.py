"""Whether label columns look as the stated randomised response makes them look."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from neuroveil.privacy.verify.csvfile import TableError, lines_of
from neuroveil.privacy.verify.findings import broken, finding
from neuroveil.privacy.verify.result import Check
from neuroveil.privacy.verify.statement import Statement

FALSE_ALARM = 1e-7
"""Chance that honest labels are called broken, over all columns of a release."""

_LARGEST_EPSILON = 700.0


def check_label_counts(statement: Statement, table: Path, names: Sequence[str]) -> Iterator[Check]:
    """Check how often each category of each protected label came up.

    Whatever the true labels are, randomised response with k categories gives each category to
    each patient with a chance between 1 / (e^ε + k - 1) and e^ε / (e^ε + k - 1), one patient
    independently of the others. Counts that a binomial law with either chance reaches less than
    once in ten million contradict the stated ε or k.

    Parameters
    ----------
    statement : Statement
        The certificate.
    table : Path
        ``table.csv``.
    names : sequence of str
        Its columns.

    Yields
    ------
    Check
        One for all columns, where labels are protected.
    """
    labels = statement.entries("domain.labels")
    if not labels:
        return
    name = "release.labels"
    try:
        counts = _count(table, names, [str(label.get("name")) for label in labels])
    except TableError as error:
        yield broken(name, str(error))
        return
    faulty = 0
    for label, count in zip(labels, counts, strict=True):
        epsilon, k = label.get("epsilon"), label.get("n_categories")
        if isinstance(epsilon, int | float) and isinstance(k, int) and epsilon > 0 and k > 1:
            faulty += not is_possible(count, float(epsilon), k, FALSE_ALARM / len(labels))
    yield finding(
        "broken" if faulty else "holds", name,
        f"{faulty} label column(s) cannot come from the stated randomised response: some "
        "category stands there too often or too rarely."
        if faulty
        else "Every category of the protected labels comes up as often as it may.",
        stated=faulty, recomputed=0, source="Chernoff bound of the binomial law",
    )  # fmt: skip


def is_possible(count: Counter[str], epsilon: float, k: int, alarm: float) -> bool:
    """Whether randomised response gives such counts, but for a small chance.

    Parameters
    ----------
    count : Counter of str
        How often each category came up.
    epsilon : float
        Stated ε of the column.
    k : int
        Stated number of categories.
    alarm : float
        The chance that counts which are possible are called impossible.

    Returns
    -------
    bool
        False where some category came up too often or too rarely.
    """
    n = count.total()
    rest = (k - 1) * math.exp(-min(epsilon, _LARGEST_EPSILON))
    most = 1 / (1 + rest)
    least = most * math.exp(-min(epsilon, _LARGEST_EPSILON))
    surprise = math.log(2 * k / alarm)
    seen = [*count.values(), *([0] if len(count) < k else [])]
    return all(
        not (m > n * most and _surprise(m, n, most) > surprise)
        and not (m < n * least and _surprise(m, n, least) > surprise)
        for m in seen
    )


def _surprise(m: int, n: int, chance: float) -> float:
    """Chernoff's exponent: n times the relative entropy of m / n and a chance."""
    share = m / n
    found = 0.0
    if share > 0:
        found += share * math.log(share / chance)
    if share < 1:
        found += (1 - share) * (math.log1p(-share) - math.log1p(-chance))
    return n * found


def _count(table: Path, names: Sequence[str], labels: Sequence[str]) -> list[Counter[str]]:
    if not set(labels) <= set(names):
        raise TableError("A protected label has no column in the table.")
    places = [list(names).index(label) for label in labels]
    counts: list[Counter[str]] = [Counter() for _ in labels]
    for line in lines_of(table, names, "table"):
        for place, count in zip(places, counts, strict=True):
            count[line[place]] += 1
    return counts
