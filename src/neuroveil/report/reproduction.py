"""The page and the text about the reproduced paper."""

from __future__ import annotations

from collections import Counter

from neuroveil.report.rendering import render
from neuroveil.report.reproduction_grids import (
    classifier_grid,
    effect_grids,
    markdown,
    mechanism_grids,
    paper_grids,
)
from neuroveil.types.reproduction import VERDICT_WORDS, Reproduction

CAPTIONS: dict[str, str] = {
    "figure_7": "Figure 7: what is left under the paper's Gaussian noise.",
    "figure_8": "Figure 8: correlation under the paper's Laplace scale.",
    "figure_9": "Figure 9: the classifier on original rows.",
    "figure_10": "Figure 10: the classifier on rows with the paper's Gaussian noise at ε = 10.",
    "figure_11": "Figure 11: the classifier on rows with the paper's Laplace scale at ε = 10.",
    "mechanisms": "Not in the paper: every mechanism at equal ε.",
}
"""Captions of the drawings."""


def verdict_counts(reproduction: Reproduction) -> dict[str, int]:
    """Count the verdicts over all printed numbers.

    Parameters
    ----------
    reproduction : Reproduction
        What was found.

    Returns
    -------
    dict of str to int
        By the words of :data:`~neuroveil.types.reproduction.VERDICT_WORDS`, in their order.
    """
    counted = Counter(
        comparison.verdict for table in reproduction.tables for comparison in table.comparisons
    )
    return {words: counted[key] for key, words in VERDICT_WORDS.items() if counted[key]}


def reproduction_page(reproduction: Reproduction, figures: dict[str, str]) -> str:
    """Draw the page: tables, figures, effects, all mechanisms.

    Parameters
    ----------
    reproduction : Reproduction
        What was found.
    figures : dict of str to str
        From :func:`~neuroveil.report.reproduction_charts.reproduction_figures`.

    Returns
    -------
    str
        HTML, one file; marked internal where real people are behind it.
    """
    from markupsafe import Markup

    drawn = [(caption, Markup(figures[name])) for name, caption in CAPTIONS.items()]
    return render("reproduction.html.j2", {
        "cohort": reproduction.cohort,
        "words": introduction(reproduction),
        "verdicts": verdict_counts(reproduction),
        "papers": paper_grids(reproduction),
        "effects": effect_grids(reproduction),
        "mechanisms": (*mechanism_grids(reproduction), classifier_grid(reproduction)),
        "figures": drawn,
    })  # fmt: skip


def reproduction_text(reproduction: Reproduction) -> str:
    """Write everything as Markdown that reads well in a terminal.

    Parameters
    ----------
    reproduction : Reproduction
        What was found.

    Returns
    -------
    str
        Tables, effects, all mechanisms.
    """
    parts = ["## The paper's tables, and ours", introduction(reproduction)]
    parts += [markdown(grid) for grid in paper_grids(reproduction)]
    parts.append("## Where the paper's steps do not carry its claims")
    parts += [markdown(grid) for grid in effect_grids(reproduction)]
    parts.append("## Side by side at equal ε")
    parts += [markdown(grid) for grid in mechanism_grids(reproduction)]
    parts.append(markdown(classifier_grid(reproduction)))
    counted = ", ".join(f"{count} {words}" for words, count in verdict_counts(reproduction).items())
    parts.append(f"Verdicts: {counted}.")
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def introduction(reproduction: Reproduction) -> str:
    """Say in a paragraph what was done on whom.

    Parameters
    ----------
    reproduction : Reproduction
        What was found.

    Returns
    -------
    str
        Plain words.
    """
    cohort = reproduction.cohort
    return (
        f"Cohort: {cohort.description}. {cohort.n_patients} patients ({cohort.n_positive} "
        f"positive), {cohort.n_features} columns, clipped at norm 2, δ = 10⁻⁵. "
        f"{reproduction.n_draws} draws of noise for Tables 4 and 5, "
        f"{reproduction.n_classifier_draws} for Table 7, seed {reproduction.seed}."
    )
