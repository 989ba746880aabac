"""The chain as a picture: boxes and arrows laid out by hand, drawn as SVG."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from itertools import pairwise

from neuroveil.report.links import Link

_PADDING = 14
_GAP = 34
_HEAD = 10
_WIDTH_OF_A_LETTER = 0.56
"""Share of the font size that a letter takes on average; generous, as fonts differ."""


@dataclass(frozen=True)
class Line:
    """One line of text in a box.

    Parameters
    ----------
    text : str
        The words.
    style : str
        Name of its CSS class.
    x, y : float
        Start of its base line, in px.
    """

    text: str
    style: str
    x: float
    y: float


@dataclass(frozen=True)
class Box:
    """One link of the picture.

    Parameters
    ----------
    x, y, width, height : float
        In px.
    lines : tuple of Line
        Its text.
    broken : bool
        Whether the link does not hold.
    """

    x: float
    y: float
    width: float
    height: float
    lines: tuple[Line, ...]
    broken: bool


@dataclass(frozen=True)
class Picture:
    """Boxes and arrows.

    Parameters
    ----------
    width, height : float
        In px.
    boxes : tuple of Box
        In the order of the chain.
    arrows : tuple of str
        SVG paths from each box to the next.
    """

    width: float
    height: float
    boxes: tuple[Box, ...]
    arrows: tuple[str, ...]


@dataclass(frozen=True)
class _Style:
    name: str
    size: float
    leading: float
    bold: bool = False


_STYLES = (
    _Style("link-title", 13, 18),
    _Style("link-value", 18, 25, bold=True),
    _Style("link-detail", 13, 19),
)
_BROKEN = _Style("link-broken", 13, 17, bold=True)


def draw_chain(links: tuple[Link, ...], n_columns: int, box_width: float) -> Picture:
    """Lay the chain out row by row.

    Parameters
    ----------
    links : tuple of Link
        In the order of the derivation.
    n_columns : int
        Boxes a row: 3 for wide pages, 1 for narrow ones.
    box_width : float
        Width of a box, in px.

    Returns
    -------
    Picture
        Where everything goes.
    """
    boxes: list[Box] = []
    top = 2.0
    for start in range(0, len(links), n_columns):
        row = links[start : start + n_columns]
        texts = [_lines(start + i + 1, link, box_width) for i, link in enumerate(row)]
        height = max(text[-1].y for text in texts) + _PADDING
        for i, (link, text) in enumerate(zip(row, texts, strict=True)):
            x = 2 + i * (box_width + _GAP)
            moved = tuple(Line(t.text, t.style, x + t.x, top + t.y) for t in text)
            boxes.append(Box(x, top, box_width, height, moved, link.broken is not None))
        top += height + _GAP
    width = 4 + n_columns * (box_width + _GAP) - _GAP
    arrows = tuple(_arrow(a, b) for a, b in pairwise(boxes))
    return Picture(width, top - _GAP + 2, tuple(boxes), arrows)


def _lines(place: int, link: Link, box_width: float) -> tuple[Line, ...]:
    lines: list[Line] = []
    y = 6.0
    texts = (f"{place}  {link.title}", link.value, link.detail)
    styled = list(zip(_STYLES, texts, strict=True))
    if link.broken is not None:
        styled.append((_BROKEN, f"✗ Broken: {link.broken}"))
    for style, text in styled:
        for part in _wrapped(text, style, box_width - 2 * _PADDING):
            y += style.leading
            lines.append(Line(part, style.name, _PADDING, y))
    return tuple(lines)


def _wrapped(text: str, style: _Style, width: float) -> list[str]:
    letter = style.size * (_WIDTH_OF_A_LETTER + (0.04 if style.bold else 0))
    return textwrap.wrap(text, int(width / letter)) or [""]


def _arrow(source: Box, target: Box) -> str:
    """Path to the next box: straight within a row or a column, else around the corner."""
    if source.y == target.y:
        y = source.y + source.height / 2
        return f"M{source.x + source.width:g} {y:g} H{target.x - _HEAD:g}"
    x = target.x + target.width / 2
    start = source.x + source.width / 2
    bottom = source.y + source.height
    if x == start:
        return f"M{x:g} {bottom:g} V{target.y - _HEAD:g}"
    return f"M{start:g} {bottom:g} V{bottom + _GAP / 2:g} H{x:g} V{target.y - _HEAD:g}"
