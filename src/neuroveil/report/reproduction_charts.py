"""Figures 7 to 11 of the paper, drawn anew from our draws beside the printed numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuroveil.report.drawing import BLUE, GREY, INK, RED, drawing, inline, legend_above
from neuroveil.types.reproduction import (
    COUNTS,
    ClassifierFigures,
    Comparison,
    MechanismFigures,
    ReproducedTable,
    Reproduction,
)
from neuroveil.types.utility import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEIGHT_INCHES, _WIDE_HEIGHT_INCHES = 2.9, 4.6
_PANELS = {"rmse": "RMSE", "mae": "MAE", "correlation": "correlation", "snr_db": "SNR (dB)"}
_KINDS = {
    "figure_9": ("original", "Figure 9", "original rows"),
    "figure_10": ("gaussian", "Figure 10", "Gaussian rows"),
    "figure_11": ("paper_laplace", "Figure 11", "Laplace rows"),
}
_COLOURS = (RED, GREY, "#b98b2f", "#7d9f35", "#9a6a9f", BLUE, INK, "#17603f")
_MARKERS = "osD^vXP*"


def reproduction_figures(reproduction: Reproduction) -> dict[str, str]:
    """Draw the paper's Figures 7 to 11, and one with all mechanisms that were measured.

    Parameters
    ----------
    reproduction : Reproduction
        What was found.

    Returns
    -------
    dict of str to str
        ``<svg>`` elements by name, with title and description; the same bytes for the same
        input.
    """
    tables = {table.name: table for table in reproduction.tables}
    drawn = {
        "figure_7": _trends(tables["Table 4"], reproduction.mechanism("gaussian")),
        "figure_8": _laplace(tables["Table 5"], reproduction.mechanism("paper_laplace")),
    }
    for name, (kind, figure, label) in _KINDS.items():
        printed = [each for each in tables["Table 7"].comparisons if each.printed.row == kind]
        drawn[name] = _classified(name, (figure, label), reproduction.classifier(kind), printed)
    drawn["mechanisms"] = _mechanisms(reproduction)
    return drawn


def _trends(table: ReproducedTable, ours: tuple[MechanismFigures, ...]) -> str:
    with drawing(_WIDE_HEIGHT_INCHES) as (figure, first):
        figure.delaxes(first)
        panels = figure.subplots(2, 2).ravel()
        for axes, (quantity, label) in zip(panels, _PANELS.items(), strict=True):
            _trend(axes, quantity, ours, table)
            axes.set_ylabel(label)
            if quantity in ("rmse", "mae"):
                axes.set_yscale("log")
        panels[2].set_xlabel("ε")
        panels[3].set_xlabel("ε")
        handles, labels = panels[0].get_legend_handles_labels()  # the same in all four
        figure.legend(handles, labels, loc="outside upper center", ncols=2, frameon=False)
        return inline(
            figure, "figure-7", "Figure 7: utility under the paper's Gaussian noise",
            f"Against ε on a log axis: {_described(ours, tuple(_PANELS))}.",
        )  # fmt: skip


def _laplace(table: ReproducedTable, ours: tuple[MechanismFigures, ...]) -> str:
    with drawing(_HEIGHT_INCHES) as (figure, axes):
        _trend(axes, "correlation", ours, table)
        axes.set(xlabel="ε as printed (no guarantee at this ε)", ylabel="correlation")
        legend_above(axes)
        return inline(
            figure, "figure-8", "Figure 8: correlation under the paper's Laplace scale",
            f"Against ε on a log axis: {_described(ours, ('correlation',))}.",
        )  # fmt: skip


def _trend(
    axes: Axes, quantity: str, ours: tuple[MechanismFigures, ...], table: ReproducedTable
) -> None:
    """Our mean with the band of one draw, and the paper's draws as crosses."""
    epsilons = [figures.epsilon for figures in ours]
    known = [_of(figures, quantity) for figures in ours]
    axes.fill_between(
        epsilons,
        [figure.mean - 2 * figure.one_draw for figure in known],
        [figure.mean + 2 * figure.one_draw for figure in known],
        color=BLUE, alpha=0.18, linewidth=0, label="ours, two deviations of a draw",
    )  # fmt: skip
    axes.plot(epsilons, [figure.mean for figure in known], color=BLUE, linewidth=1.8,
              label="ours, mean")  # fmt: skip
    printed = [each.printed.value for each in table.comparisons
               if each.printed.quantity == quantity]  # fmt: skip
    axes.plot(epsilons, printed, "x", color=RED, markersize=6, label="paper, one draw")
    _epsilon_axis(axes, epsilons)


def _epsilon_axis(axes: Axes, epsilons: list[float]) -> None:
    from matplotlib.ticker import NullLocator

    axes.set_xscale("log")
    axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(color="#e6eaed", linewidth=0.8)
    axes.set_axisbelow(True)


def _classified(
    name: str, words: tuple[str, str], ours: ClassifierFigures, printed: list[Comparison]
) -> str:
    """A confusion matrix in words of patients, and accuracy and F1 as bars."""
    paper = {each.printed.quantity: each.printed.value for each in printed}
    with drawing(_HEIGHT_INCHES) as (figure, first):
        figure.delaxes(first)
        left, right = figure.subplots(1, 2)
        _confusion(left, ours, paper)
        for place, score in enumerate(("accuracy", "f1")):
            estimate = ours.scores[score]
            if estimate is not None:
                right.bar(place, estimate.mean, 0.6, color=BLUE, alpha=0.75,
                          label="" if place else "ours, mean")  # fmt: skip
                right.errorbar(place, estimate.mean, estimate.one_draw, color=INK, capsize=4,
                               label="" if place else "one draw, ± a deviation")  # fmt: skip
            right.plot(place, paper[score], "x", color=RED, markersize=8, markeredgewidth=2,
                       label="" if place else "paper")  # fmt: skip
        right.set_xticks((0, 1), ("accuracy", "F1"))
        right.set_ylim(0, 1)
        legend_above(right)
        return inline(
            figure, name.replace("_", "-"), f"{words[0]}: the paper's classifier on {words[1]}",
            f"Patients, ours on average and the paper's: {_counted(ours, paper)}. "
            f"Accuracy: paper {paper['accuracy']:.3f}; F1: paper {paper['f1']:.3f}.",
        )  # fmt: skip


def _confusion(axes: Axes, ours: ClassifierFigures, paper: dict[str, float]) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    means = [[ours.counts[key].mean for key in COUNTS[:2]],
             [ours.counts[key].mean for key in COUNTS[2:]]]  # fmt: skip
    shades = LinearSegmentedColormap.from_list("blues", ["#ffffff", "#8fb4cc"])
    # Drawn as cells rather than as an image, so that the drawing stays lines and text.
    axes.pcolormesh(means, cmap=shades, vmin=0, edgecolors="white", linewidth=2)
    for place, key in enumerate(COUNTS):
        row, column = divmod(place, 2)
        text = f"{ours.counts[key].mean:.1f}\npaper {paper[key]:g}"
        axes.text(column + 0.5, row + 0.5, text, ha="center", va="center")
    axes.set_xticks((0.5, 1.5), ("negative", "positive"))
    axes.set_yticks((0.5, 1.5), ("negative", "positive"), rotation=90, va="center")
    axes.set(xlabel="called", ylabel="is")
    axes.invert_yaxis()
    axes.tick_params(length=0)


def _mechanisms(reproduction: Reproduction) -> str:
    """Correlation of all that releases rows, at equal epsilon."""
    names = dict.fromkeys(figures.name for figures in reproduction.mechanisms)
    shown = [reproduction.mechanism(name) for name in names]
    shown = [figures for figures in shown if figures[0].correlation is not None]
    with drawing(_WIDE_HEIGHT_INCHES) as (figure, axes):
        for figures, colour, marker in zip(shown, _COLOURS, _MARKERS, strict=False):
            style = "-" if figures[0].holds else ":"
            label = figures[0].label + ("" if figures[0].holds else " (no guarantee)")
            axes.plot([each.epsilon for each in figures],
                      [_of(each, "correlation").mean for each in figures],
                      style, color=colour, marker=marker, markersize=5, label=label)  # fmt: skip
        _epsilon_axis(axes, [each.epsilon for each in shown[0]])
        axes.set(xlabel="ε", ylabel="correlation with the clipped rows", ylim=(-0.05, 1))
        axes.get_figure(root=True).legend(loc="outside upper center", ncols=1, frameon=False)  # type: ignore[union-attr]
        words = (f"{figures[0].label}: {_described(figures, ('correlation',))}"
                 for figures in shown)  # fmt: skip
        return inline(
            figure, "mechanisms", "Correlation left at equal ε, all mechanisms", "; ".join(words)
        )


def _of(figures: MechanismFigures, quantity: str) -> Estimate:
    found: Estimate | None = getattr(figures, quantity)
    assert found is not None  # of rows with noise
    return found


def _described(ours: tuple[MechanismFigures, ...], quantities: tuple[str, ...]) -> str:
    ends = (ours[0], ours[-1])
    return ", ".join(
        f"{_PANELS[quantity]} from {_of(ends[0], quantity).mean:.3g} at {ends[0].epsilon:g} "
        f"to {_of(ends[1], quantity).mean:.3g} at {ends[1].epsilon:g}"
        for quantity in quantities
    )


def _counted(ours: ClassifierFigures, paper: dict[str, float]) -> str:
    return ", ".join(
        f"{key.replace('_', ' ')} {ours.counts[key].mean:.1f} and {paper[key]:g}" for key in COUNTS
    )
