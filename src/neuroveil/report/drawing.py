"""What all charts share: one look, no state, and SVG that can stand inside a page."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Drawing: TypeAlias = "tuple[Figure, Axes]"

INK, QUIET, BLUE, GREY, RED = "#1d2a33", "#5b6b76", "#1f5f8b", "#8a979f", "#b3261e"
WIDTH_INCHES = 4.7
_SETTINGS: Any = {
    "svg.hashsalt": "neuroveil",
    "svg.fonttype": "none",
    "font.family": ["sans-serif"],
    "font.size": 9.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": GREY,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": QUIET,
    "ytick.color": INK,
    "axes.unicode_minus": False,
}
_FONTS = re.compile(r"font-family: [^;\"]+")
_IDENTIFIER = re.compile(r'(\bid="|url\(#|href="#)')


@contextmanager
def drawing(height_inches: float) -> Iterator[Drawing]:
    """Start a figure without any state or settings of the person who runs it.

    Parameters
    ----------
    height_inches : float
        Height of the figure, in inches; the width is that of a column of the page.

    Yields
    ------
    Figure
        The figure.
    Axes
        Its axes.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        figure = Figure(figsize=(WIDTH_INCHES, height_inches), layout="constrained")
        yield figure, figure.add_subplot()


def legend_above(axes: Axes) -> None:
    """Put the legend above the axes, where it covers nothing.

    Parameters
    ----------
    axes : Axes
        From :func:`drawing`.
    """
    figure = axes.get_figure(root=True)
    assert figure is not None  # made in drawing
    figure.legend(loc="outside upper center", ncols=2, frameon=False, handletextpad=0.2)


def plain_text(text: str) -> str:
    """Keep a name from elsewhere from being read as mathematics.

    Parameters
    ----------
    text : str
        Any name.

    Returns
    -------
    str
        The same, with dollar signs escaped for matplotlib.
    """
    return text.replace("$", r"\$")


def inline(figure: Figure, name: str, title: str, description: str) -> str:
    """Make a figure part of a page: no prologue, own identifiers, a text alternative.

    Parameters
    ----------
    figure : Figure
        From :func:`drawing`.
    name : str
        Identifier, used once in a page.
    title, description : str
        What the figure is, and what it shows, in words.

    Returns
    -------
    str
        An ``<svg>`` element with title and description; the same bytes for the same input.
    """
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None}, transparent=True)
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = _IDENTIFIER.sub(rf"\1{name}-", text)
    text = _FONTS.sub("font-family: system-ui, sans-serif", text)
    # The style sheet inside would otherwise apply to the whole page.
    text = text.replace("*{stroke", f"#{name} *{{stroke")
    opening, rest = text.split(">", 1)
    alternative = (
        f'<title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-text">{escape(description)}</desc>'
    )
    label = f' class="chart" id="{name}" role="img" aria-labelledby="{name}-title {name}-text"'
    return f"{opening}{label}>{alternative}{rest.rstrip()}"
