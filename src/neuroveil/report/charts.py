"""Charts as SVG that can stand inside a page: same bytes for the same input."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from neuroveil.report.drawing import (
    BLUE,
    GREY,
    RED,
    Drawing,
    drawing,
    inline,
    legend_above,
    plain_text,
)
from neuroveil.report.text import number
from neuroveil.types.utility import BandDistortion, Estimate, GroupUtility

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LONGEST_NAME = 28
_ROW_INCHES, _DENSE_ROW_INCHES = 0.29, 0.2


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
    with _rows(1.4) as (figure, axes):
        low, high = min(values.values()), max(values.values())
        axes.set(xscale="log", xlim=(low / 5, high * 12), xlabel="size (no unit, log axis)")
        for place, (value, colour) in enumerate(zip(values.values(), (BLUE, RED), strict=True)):
            axes.plot([value], [place], "o", color=colour, markersize=9)
            axes.annotate(number(value, 3), (value, place), (9, -3.5), textcoords="offset points")
        axes.xaxis.set_major_formatter(lambda value, _: number(value, 2))
        axes.xaxis.set_minor_locator(NullLocator())
        _name_rows(axes, list(values))
        return inline(
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
    with _rows(len(groups), row_inches) as (figure, axes):
        control = [group.against_clipped.correlation_centred_permuted for group in groups]
        measured = [group.against_clipped.correlation_centred for group in groups]
        _intervals(axes, control, GREY, "control: rows exchanged", 0.18)
        _intervals(axes, measured, BLUE, "measured", -0.18)
        axes.axvline(0, color=GREY, linewidth=0.8)
        _name_rows(axes, [group.label for group in groups])
        axes.set_xlabel("correlation, cohort mean removed")
        legend_above(axes)
        shown = (
            f"{group.label} {number(value.mean, 2)}" if value else f"{group.label} not defined"
            for group, value in zip(groups, measured, strict=True)
        )
        return inline(
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
    with _rows(len(bands)) as (figure, axes):
        _intervals(axes, [band.against_clipped for band in bands], RED, "misread by", 0.0)
        known = [
            (place, band.patient_spread)
            for place, band in enumerate(bands)
            if band.patient_spread is not None
        ]
        if known:
            places, spreads = zip(*known, strict=True)
            axes.plot(spreads, places, "D", color=BLUE, markersize=5,
                      label="patients differ by")  # fmt: skip
        _name_rows(axes, [band.label for band in bands])
        axes.set_xlim(left=0)
        axes.set_xlabel("decades of power (1 = factor 10)")
        legend_above(axes)
        shown = (f"{band.label} {number(band.against_clipped.mean, 2)}" for band in bands)
        return inline(
            figure, "bands", "Misreading of band power",
            f"Mean absolute change of log10 power, in decades: {'; '.join(shown)}.",
        )  # fmt: skip


def _rows(n_rows: float, row_inches: float = _ROW_INCHES) -> AbstractContextManager[Drawing]:
    """A figure that is high enough for so many rows."""
    return drawing(n_rows * row_inches + 0.9)


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
    # A name from elsewhere may be long.
    short = [
        name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…" for name in names
    ]
    axes.set_yticks(range(len(names)), [plain_text(name) for name in short])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", color="#e6eaed", linewidth=0.8)
    axes.set_axisbelow(True)
