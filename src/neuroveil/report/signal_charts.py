"""Scalp maps and spectra before and after, as SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from neuroveil.report.drawing import BLUE, GREY, INK, RED, drawing, inline, legend_above
from neuroveil.report.electrodes import positions
from neuroveil.report.text import number
from neuroveil.types.recording import FloatArray
from neuroveil.types.signal_view import BandMap, SignalView, SpectrumBand

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS = 48
_EDGE = 0.97
_LEVELS = 10
_FEWEST_CHANNELS = 8
_MAP_INCHES = 1.32


def band_maps(view: SignalView) -> str | None:
    """Draw mean band power over the scalp before and after, and the error of one patient.

    Parameters
    ----------
    view : SignalView
        Measured. Internal.

    Returns
    -------
    str or None
        An ``<svg>`` element with title and description; none with fewer than eight channels
        whose place on the head is known, or without bands.
    """
    known = [place for place, name in enumerate(view.channels) if name in positions()]
    whole = [each for each in view.maps if len(each.before) == len(view.channels)]
    if len(known) < _FEWEST_CHANNELS or not whole:
        return None
    places = np.array([positions()[view.channels[place]] for place in known])
    with drawing(_MAP_INCHES * len(whole) + 0.4) as (figure, axes):
        axes.remove()
        grid = figure.subplots(len(whole), 3, squeeze=False)
        for row, each in zip(grid, whole, strict=True):
            _draw_band(row, each, places, known)
        for heads, title in zip(grid[0], ("before", "after", "error of a patient"), strict=True):
            heads.set_title(title, fontsize=9.5, color=INK)
        return inline(
            figure, "band-maps", "Band power over the scalp before and after protection",
            "; ".join(_in_words(each) for each in whole) + ".",
        )  # fmt: skip


def mean_spectrum(bands: tuple[SpectrumBand, ...]) -> str | None:
    """Draw the mean spectrum before and after, with how far patients differ.

    Parameters
    ----------
    bands : tuple of SpectrumBand
        From low to high frequencies.

    Returns
    -------
    str or None
        An ``<svg>`` element with title and description; none without bands.
    """
    if not bands:
        return None
    edges = [band.low_hz for band in bands] + [bands[-1].high_hz]
    with drawing(2.6) as (figure, axes):
        for colour, label, levels, spreads in (
            (BLUE, "before", [b.before_db for b in bands], [b.before_spread_db for b in bands]),
            (RED, "after", [b.after_db for b in bands], [b.after_spread_db for b in bands]),
        ):
            level, spread = np.array(levels), np.array(spreads)
            axes.stairs(level, edges, baseline=None, color=colour, label=label, linewidth=1.6)
            axes.stairs(
                level + spread, edges, baseline=level - spread, fill=True, color=colour, alpha=0.13
            )
        axes.set(xscale="log", xlabel="frequency (Hz)", ylabel="power density (dB, µV²/Hz)")
        ticks = sorted(set(edges))
        axes.set_xticks(ticks, [number(edge, 3) for edge in ticks])
        axes.xaxis.set_minor_formatter(lambda value, _: "")
        legend_above(axes)
        shown = (
            f"{number(band.low_hz, 2)} to {number(band.high_hz, 2)} Hz: "
            f"{number(band.before_db, 3)} before, {number(band.after_db, 3)} after"
            for band in bands
        )
        return inline(
            figure, "mean-spectrum", "Mean spectrum before and after protection",
            f"Power density in dB over all channels and patients. {'; '.join(shown)}.",
        )  # fmt: skip


def _draw_band(row: Any, each: BandMap, places: FloatArray, known: list[int]) -> None:
    before, after, error = (
        np.array(values)[known] for values in (each.before, each.after, each.error)
    )
    both = np.concatenate([before, after])
    shared = (float(both.min()), float(both.max()))
    for heads, values, limits, colours in (
        (row[0], before, shared, "viridis"), (row[1], after, shared, "viridis"),
        (row[2], error, (0.0, float(error.max())), "Reds"),
    ):  # fmt: skip
        drawn = _draw_head(heads, values, places, limits, colours)
        bar = heads.get_figure().colorbar(drawn, ax=heads, shrink=0.7, pad=0.02)
        ends = [limits[0], sum(limits) / 2, limits[1]]
        bar.set_ticks(ends, labels=[f"{value:.2f}" for value in ends])
        bar.ax.tick_params(labelsize=6.5, length=2)
    row[0].set_ylabel(each.label.split(" (")[0].removesuffix(" power"), color=INK)


def _draw_head(
    axes: Axes, values: FloatArray, places: FloatArray, limits: tuple[float, float], colours: str
) -> Any:
    from matplotlib.patches import Circle
    from scipy.interpolate import RBFInterpolator

    line = np.linspace(-1, 1, _POINTS)
    right, ahead = np.meshgrid(line, line)
    inside = np.hypot(right, ahead) <= _EDGE
    surface = np.full(right.shape, np.nan)
    smooth = RBFInterpolator(places, values, kernel="thin_plate_spline", degree=1)
    # Between and beyond electrodes nothing is measured: never beyond the measured range.
    surface[inside] = np.clip(
        smooth(np.column_stack([right[inside], ahead[inside]])), values.min(), values.max()
    )
    low, high = limits if limits[1] > limits[0] else (limits[0] - 0.5, limits[0] + 0.5)
    drawn = axes.contourf(
        right, ahead, np.ma.masked_invalid(surface), levels=np.linspace(low, high, _LEVELS + 1),
        cmap=colours, extend="both",
    )  # fmt: skip
    axes.add_patch(Circle((0, 0), _EDGE, fill=False, color=GREY, linewidth=1))
    axes.plot([-0.1, 0, 0.1], [0.96, 1.09, 0.96], color=GREY, linewidth=1)
    axes.plot(places[:, 0], places[:, 1], ".", color=INK, markersize=1.6)
    axes.set(aspect="equal", xlim=(-1.12, 1.12), ylim=(-1.12, 1.16), xticks=[], yticks=[])
    for side in axes.spines.values():
        side.set_visible(False)
    return drawn


def _in_words(each: BandMap) -> str:
    before, after = (
        f"{number(min(v), 3)} to {number(max(v), 3)}" for v in (each.before, each.after)
    )
    return (
        f"{each.label}: log10 power over channels from {before} before, from {after} after, "
        f"a patient is off by {number(float(np.mean(each.error)), 2)} decades"
    )
