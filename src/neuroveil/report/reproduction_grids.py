"""The reproduced tables as plain grids of text, for a page, a terminal or a document."""

from __future__ import annotations

from dataclasses import dataclass

from neuroveil.types.reproduction import (
    TRUSTS_NOBODY,
    VERDICT_WORDS,
    ClassifierFigures,
    Comparison,
    MechanismFigures,
    ReproducedTable,
    Reproduction,
)
from neuroveil.types.utility import Estimate

QUANTITIES: dict[str, str] = {
    "rmse": "RMSE", "mae": "MAE", "correlation": "correlation", "snr_db": "SNR (dB)",
    "balanced_accuracy": "balanced accuracy", "f1": "F1", "true_negative": "true negative",
    "false_positive": "false positive", "false_negative": "false negative",
    "true_positive": "true positive", "gaussian": "Gaussian rows", "paper_laplace": "Laplace rows",
    "original": "original rows",
}  # fmt: skip
"""What quantities and rows of the paper are called; others are called what they are."""

_LEFT = {
    "correlation": ("Correlation with the clipped rows", 3),
    "correlation_centred": ("Correlation after the cohort mean is removed: the individual", 3),
    "snr_db": ("SNR in dB (a table of zeros has 0)", 1),
    "rmse": ("RMSE of a cell", 3),
}


@dataclass(frozen=True)
class Grid:
    """A table of text.

    Parameters
    ----------
    name, title : str
        Identifier, and heading.
    header : tuple of str
        Heads of the columns.
    rows : tuple of tuple of str
        Cells; the first of a row is its head.
    before : str
        A paragraph above it, or nothing.
    notes : tuple of str
        Sentences below it.
    """

    name: str
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    before: str = ""
    notes: tuple[str, ...] = ()


def paper_grids(reproduction: Reproduction) -> tuple[Grid, ...]:
    """Set the paper's tables beside ours.

    Parameters
    ----------
    reproduction : Reproduction
        What was found.

    Returns
    -------
    tuple of Grid
        One a table of the paper.
    """
    return tuple(_paper_grid(table) for table in reproduction.tables)


def _paper_grid(table: ReproducedTable) -> Grid:
    name = table.name.lower().replace(",", "").replace(" ", "-")
    title = f"{table.name}: {table.title}"
    rows = tuple(_comparison(comparison, table.name) for comparison in table.comparisons)
    if not any(comparison.n_draws for comparison in table.comparisons):
        short = tuple((*row[:4], row[-1]) for row in rows)
        return Grid(name, title, ("row", "quantity", "paper", "theory", "verdict"), short,
                    notes=table.notes)  # fmt: skip
    header = ("row", "quantity", "paper", "ours (95 % interval)", "band", "draws", "verdict")
    return Grid(name, title, header, rows, notes=table.notes)


def mechanism_grids(reproduction: Reproduction) -> tuple[Grid, ...]:
    """Set all mechanisms side by side, at equal epsilon.

    Parameters
    ----------
    reproduction : Reproduction
        What was found.

    Returns
    -------
    tuple of Grid
        One a figure of merit.
    """
    names = dict.fromkeys(figures.name for figures in reproduction.mechanisms)
    by_name = {name: reproduction.mechanism(name) for name in names}
    epsilons = [figures.epsilon for figures in next(iter(by_name.values()))]
    header = ("mechanism", "guarantee", *(f"ε = {epsilon:g}" for epsilon in epsilons))
    grids = []
    for quantity, (title, digits) in _LEFT.items():
        shown = {
            name: [getattr(each, quantity) for each in figures]
            for name, figures in by_name.items()
            if figures[0].covariance_correlation is None
        }
        rows = tuple(
            (*_who(by_name[name][0]), *(_mean(value, digits) for value in values))
            for name, values in shown.items()
        )
        note = _draws_behind(by_name, [value for values in shown.values() for value in values])
        name = f"left-{quantity.replace('_', '-')}"
        grids.append(Grid(name, title, header, rows, notes=(note,)))
    return (*grids, *_moments(by_name, header))


def classifier_grid(reproduction: Reproduction) -> Grid:
    """Set the classifier's scores on all kinds of rows side by side.

    Parameters
    ----------
    reproduction : Reproduction
        What was found.

    Returns
    -------
    Grid
        One row a kind of rows.
    """
    header = ("rows", "ε", "draws", "F1 as in the paper", "F1, threshold from the others",
              "balanced accuracy as in the paper", "from the others", "pooled AUC")  # fmt: skip
    rows = tuple(_classified(figures) for figures in reproduction.classifiers)
    notes = (
        "Mean over draws; ± is the standard deviation of one draw.",
        "Whoever is left out lowers the share of that class among the others, so that without any "
        "signal the pooled AUC lies below 0.5; labels that were exchanged show by how much.",
    )
    return Grid("classifier", "The paper's classifier on every kind of rows", header, rows,
                notes=notes)  # fmt: skip


def effect_grids(reproduction: Reproduction) -> tuple[Grid, ...]:
    """Say where the paper's steps do not carry its claims, and how much it matters.

    Parameters
    ----------
    reproduction : Reproduction
        What was found.

    Returns
    -------
    tuple of Grid
        One an effect; some have words only.
    """
    return tuple(
        Grid(effect.name.replace("_", "-"), effect.title, effect.header, effect.rows, effect.text)
        for effect in reproduction.effects
    )


def markdown(grid: Grid, level: int = 3) -> str:
    """Write a grid as Markdown that also reads well in a terminal.

    Parameters
    ----------
    grid : Grid
        What to write.
    level : int
        Level of its heading.

    Returns
    -------
    str
        Heading, paragraph, table and notes.
    """
    parts = [f"{'#' * level} {grid.title}"]
    if grid.before:
        parts.append(grid.before)
    if grid.rows:
        parts.append(_table(grid))
    parts += grid.notes
    return "\n\n".join(parts) + "\n"


def _table(grid: Grid) -> str:
    lines = [grid.header, *grid.rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(grid.header))]
    written = [
        "| "
        + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        + " |"
        for line in lines
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([written[0], rule, *written[1:]])


def _comparison(comparison: Comparison, table: str) -> tuple[str, ...]:
    printed = comparison.printed
    row = QUANTITIES.get(printed.row, printed.row)
    if not table.startswith(printed.table):  # an equation, a figure or a section beside the table
        row = f"{printed.table}, {row}"
    digits = len(printed.text.partition(".")[2])
    # A mean over draws can have a digit more than a single draw, where that has few.
    fine = digits if digits > 2 else digits + 1
    ours = "" if comparison.ours is None else f"{comparison.ours:.{fine}f}"
    if comparison.n_draws == 0:
        ours = "" if comparison.ours is None else f"{comparison.ours:.{digits}f}"
    if comparison.interval is not None:
        low, high = comparison.interval
        ours += f" ({low:.{fine}f} to {high:.{fine}f})"
    band = ""
    if comparison.band is not None:
        band = f"{comparison.band[0]:.{digits}f} to {comparison.band[1]:.{digits}f}"
    verdict = VERDICT_WORDS[comparison.verdict]
    return (
        row,
        QUANTITIES.get(printed.quantity, printed.quantity),
        printed.text, ours, band, f"{comparison.n_draws or ''}",
        f"{verdict}: {comparison.note}" if comparison.note else verdict,
    )  # fmt: skip


def _who(figures: MechanismFigures) -> tuple[str, str]:
    if not figures.holds:
        factor = figures.epsilon_supported / figures.epsilon
        return figures.label, f"none at ε; pure {factor:.2f} ε"
    guarantee = "(ε, 10⁻⁵)" if figures.delta else "pure ε"
    if figures.trust == TRUSTS_NOBODY:
        return figures.label, guarantee
    return figures.label, f"{guarantee}, trusting {figures.trust}"


def _draws_behind(
    by_name: dict[str, tuple[MechanismFigures, ...]], values: list[Estimate | None]
) -> str:
    counts = sorted({each.n_draws for figures in by_name.values() for each in figures})
    widths = [(value.high - value.low) / 2 for value in values if value is not None]
    draws = " or ".join(f"{count}" for count in counts)
    return (
        f"Means over {draws} draws; the 95 % interval of a mean is ± {max(widths):.2g} at most, "
        "over draws of the noise for these very patients."
    )


def _moments(
    by_name: dict[str, tuple[MechanismFigures, ...]], header: tuple[str, ...]
) -> tuple[Grid, ...]:
    rows = tuple(
        (*_who(figures[0]), *(_mean(each.covariance_correlation, 3) for each in figures))
        for figures in by_name.values()
        if figures[0].covariance_correlation is not None
    )
    if not rows:
        return ()
    note = (
        "No row is released here, so that nothing can be compared cell by cell. At 17 patients "
        "next to nothing is left; from about 2,000 on this leaves more than any release of rows."
    )
    return (Grid("left-covariance", "Correlation of the cohort's covariance entries", header, rows,
                 notes=(note,)),)  # fmt: skip


def _classified(figures: ClassifierFigures) -> tuple[str, ...]:
    return (
        figures.label, "" if figures.epsilon is None else f"{figures.epsilon:g}",
        str(figures.n_draws), _spread(figures.scores["f1"]), _spread(figures.honest["f1"]),
        _spread(figures.scores["balanced_accuracy"]),
        _spread(figures.honest["balanced_accuracy"]), _spread(figures.auc),
    )  # fmt: skip


def _mean(figure: Estimate | None, digits: int) -> str:
    if figure is None:
        return "not defined"
    text = f"{figure.mean:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def _spread(figure: Estimate | None) -> str:
    return "not defined" if figure is None else f"{figure.mean:.2f} ± {figure.one_draw:.2f}"
