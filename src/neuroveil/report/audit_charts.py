"""Charts of an audit: a curve with its band and its null control."""

from __future__ import annotations

import math
from textwrap import fill

from neuroveil.report.drawing import BLUE, GREY, drawing, inline, legend_above, plain_text
from neuroveil.report.text import number
from neuroveil.types.audit import AuditCurve

_HEIGHT_INCHES = 2.9
_LABEL_WIDTH = 36  # characters beside the axis
_MOST_MARKED_POINTS = 40
_LOG_SPAN = 50.0  # positive values that span more than this are read on a log axis


def curve_chart(curve: AuditCurve, name: str) -> str:
    """Draw a measured curve, the band around it and the null control beside it.

    Axes whose values are all positive and span more than a factor of 50 are logarithmic. Points
    that are not finite are left out, and said so in the description.

    Parameters
    ----------
    curve : AuditCurve
        What an attack measured.
    name : str
        Identifier, used once in a page.

    Returns
    -------
    str
        An ``<svg>`` element with title and description.
    """
    with drawing(_HEIGHT_INCHES) as (figure, axes):
        marker = "o" if len(curve.x) <= _MOST_MARKED_POINTS else ""
        if curve.low and curve.high:
            axes.fill_between(curve.x, curve.low, curve.high, color=BLUE, alpha=0.18, linewidth=0,
                              label="interval")  # fmt: skip
        if curve.control:
            axes.plot(curve.x, curve.control, color=GREY, linestyle="--", linewidth=1.6,
                      label="null control")  # fmt: skip
        axes.plot(curve.x, curve.y, color=BLUE, marker=marker, markersize=4, linewidth=1.8,
                  label="measured")  # fmt: skip
        axes.set_xlabel(plain_text(curve.x_label))
        axes.set_ylabel(fill(plain_text(curve.y_label), _LABEL_WIDTH))
        if _is_wide(curve.x):
            axes.set_xscale("log")
        if _is_wide((*curve.y, *curve.low, *curve.high, *curve.control)):
            axes.set_yscale("log")
        axes.grid(color="#e6eaed", linewidth=0.8)
        axes.set_axisbelow(True)
        legend_above(axes)
        return inline(figure, name, curve.label, _describe(curve))


def _is_wide(values: tuple[float, ...]) -> bool:
    finite = [value for value in values if math.isfinite(value)]
    return bool(finite) and min(finite) > 0 and max(finite) > _LOG_SPAN * min(finite)


def _describe(curve: AuditCurve) -> str:
    """The curve in words, for those who cannot see it."""
    points = [
        (x, y)
        for x, y in zip(curve.x, curve.y, strict=True)
        if math.isfinite(x) and math.isfinite(y)
    ]
    left_out = len(curve.x) - len(points)
    if not points:
        return f"{curve.y_label} against {curve.x_label}: no finite point."
    ends = f"from {_point(points[0])} to {_point(points[-1])}"
    highest = max(points, key=lambda point: point[1])
    text = f"{curve.y_label} against {curve.x_label}, {len(points)} points {ends}"
    text += f"; highest {_point(highest)}"
    finite = [value for value in curve.control if math.isfinite(value)]
    if finite:
        text += f"; the null control lies between {number(min(finite), 3)} and "
        text += number(max(finite), 3)
    return text + (f"; {left_out} points are not finite." if left_out else ".")


def _point(point: tuple[float, float]) -> str:
    return f"{number(point[1], 3)} at {number(point[0], 3)}"
