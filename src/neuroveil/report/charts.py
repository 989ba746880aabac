"""Charts as SVG that can stand inside a page: same bytes for the same input."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

from neuroveil.report.text import number
from neuroveil.types.utility import BandDistortion, Estimate, GroupUtility

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INK, _QUIET, _BLUE, _GREY, _RED = "#1d2a33", "#5b6b76", "#1f5f8b", "#8a979f", "#b3261e"
_WIDTH_INCHES = 4.7
_LONGEST_NAME = 28
_ROW_INCHES, _DENSE_ROW_INCHES = 0.29, 0.2
_SETTINGS: Any = {
    "svg.hashsalt": "neuroveil",
    "svg.fonttype": "none",
    "font.family": ["sans-serif"],
    "font.size": 9.5,
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _GREY,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": _QUIET,
    "ytick.color": _INK,
    "axes.unicode_minus": False,
}
_FONTS = re.compile(r"font-family: [^;\"]+")
_IDENTIFIER = re.compile(r'(\bid="|url\(#|href="#)')


def signal_and_noise(typical: float, noise_std: float) -> str:
    """Draw the size of a cell against the size of the noise, on a logarithmic axis.

    Parameters
    ----------
    typical : float
        Root mean square over the cells of a row that fills its cap (no unit).
    noise_std : float
        Standard deviation of the noise in a cell (no unit).

    Returns
    -------
    str
        An ``<svg>`` element with title and description.
    """
    from matplotlib.ticker import NullLocator

    values = {"typical true value": typical, "noise": noise_std}
    with _figure(1.4) as (figure, axes):
        low, high = min(values.values()), max(values.values())
        axes.set(xscale="log", xlim=(low / 5, high * 12), xlabel="size (no unit, log axis)")
        for place, (value, colour) in enumerate(zip(values.values(), (_BLUE, _RED), strict=True)):
            axes.plot([value], [place], "o", color=colour, markersize=9)
            axes.annotate(number(value, 3), (value, place), (9, -3.5), textcoords="offset points")
        axes.xaxis.set_major_formatter(lambda value, _: number(value, 2))
        axes.xaxis.set_minor_locator(NullLocator())
        _name_rows(axes, list(values))
        return _inline(
            figure, "signal", "Size of a true value and of the noise in one cell",
            f"Typical true value {number(typical, 3)}, noise {number(noise_std, 3)}, without unit.",
        )  # fmt: skip


def individual_correlation(groups: tuple[GroupUtility, ...], kind: str) -> str:
    """Draw what is left of the individual, by group, beside its control.

    Parameters
    ----------
    groups : tuple of GroupUtility
        Features or channels.
    kind : str
        ``"feature"`` or ``"channel"``.

    Returns
    -------
    str
        An ``<svg>`` element with title and description.
    """
    row_inches = _ROW_INCHES if len(groups) < 15 else _DENSE_ROW_INCHES
    with _figure(len(groups), row_inches) as (figure, axes):
        control = [group.against_clipped.correlation_centred_permuted for group in groups]
        measured = [group.against_clipped.correlation_centred for group in groups]
        _intervals(axes, control, _GREY, "control: rows exchanged", 0.18)
        _intervals(axes, measured, _BLUE, "measured", -0.18)
        axes.axvline(0, color=_GREY, linewidth=0.8)
        _name_rows(axes, [group.label for group in groups])
        axes.set_xlabel("correlation, cohort mean removed")
        _legend_above(axes)
        shown = (
            f"{group.label} {number(value.mean, 2)}" if value else f"{group.label} not defined"
            for group, value in zip(groups, measured, strict=True)
        )
        return _inline(
            figure, f"by-{kind}", f"Correlation of the individual pattern by {kind}",
            f"Mean over draws, with 95 % interval: {'; '.join(shown)}.",
        )  # fmt: skip


def band_distortion(bands: tuple[BandDistortion, ...]) -> str:
    """Draw by how much band power is misread, beside the differences between patients.

    Parameters
    ----------
    bands : tuple of BandDistortion
        At least one band.

    Returns
    -------
    str
        An ``<svg>`` element with title and description.
    """
    with _figure(len(bands)) as (figure, axes):
        _intervals(axes, [band.against_clipped for band in bands], _RED, "misread by", 0.0)
        known = [
            (place, band.patient_spread)
            for place, band in enumerate(bands)
            if band.patient_spread is not None
        ]
        if known:
            places, spreads = zip(*known, strict=True)
            axes.plot(spreads, places, "D", color=_BLUE, markersize=5,
                      label="patients differ by")  # fmt: skip
        _name_rows(axes, [band.label for band in bands])
        axes.set_xlim(left=0)
        axes.set_xlabel("decades of power (1 = factor 10)")
        _legend_above(axes)
        shown = (f"{band.label} {number(band.against_clipped.mean, 2)}" for band in bands)
        return _inline(
            figure, "bands", "Misreading of band power",
            f"Mean absolute change of log10 power, in decades: {'; '.join(shown)}.",
        )  # fmt: skip


@contextmanager
def _figure(n_rows: float, row_inches: float = _ROW_INCHES) -> Iterator[tuple[Figure, Axes]]:
    """A figure without any state or settings of the person who runs it."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        height = n_rows * row_inches + 0.9
        figure = Figure(figsize=(_WIDTH_INCHES, height), layout="constrained")
        yield figure, figure.add_subplot()


def _intervals(
    axes: Axes, values: list[Estimate | None], colour: str, label: str, offset: float
) -> None:
    known = [(place, value) for place, value in enumerate(values) if value is not None]
    axes.errorbar(
        [value.mean for _, value in known],
        [place + offset for place, _ in known],
        xerr=[(value.high - value.low) / 2 for _, value in known],
        fmt="o", color=colour, markersize=4, linewidth=1.6, label=label,
    )  # fmt: skip


def _name_rows(axes: Axes, names: list[str]) -> None:
    # A name from elsewhere may be long, or hold a dollar sign, which would start mathematics.
    short = [
        name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…" for name in names
    ]
    axes.set_yticks(range(len(names)), [name.replace("$", r"\$") for name in short])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", color="#e6eaed", linewidth=0.8)
    axes.set_axisbelow(True)


def _legend_above(axes: Axes) -> None:
    figure = axes.get_figure(root=True)
    assert figure is not None  # made in _figure
    figure.legend(loc="outside upper center", ncols=2, frameon=False, handletextpad=0.2)


def _inline(figure: Figure, name: str, title: str, description: str) -> str:
    """Make a figure part of a page: no prologue, own identifiers, a text alternative."""
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
