"""Measured utility in a few figures. Internal: for the person who runs the command."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuroveil.types.utility import UtilityResult

Figures = dict[str, dict[str, float] | None]


def overall_figures(utility: UtilityResult) -> Figures:
    """Give the overall figures against the clipped rows as plain data.

    Parameters
    ----------
    utility : UtilityResult
        Measured over repeated draws.

    Returns
    -------
    dict
        By name: ``mean``, ``low`` and ``high`` of the 95 % interval, and ``one_draw``.
    """
    return asdict(utility.overall.against_clipped)


def interval(figure: dict[str, float] | None, digits: int) -> str:
    """Write a figure with its interval.

    Parameters
    ----------
    figure : dict or None
        From :func:`overall_figures`.
    digits : int
        Digits after the point.

    Returns
    -------
    str
        For a person.
    """
    if figure is None:
        return "not defined"
    return (
        f"{figure['mean']:.{digits}f} "
        f"(95 % interval {figure['low']:.{digits}f} to {figure['high']:.{digits}f})"
    )


def words_for(utility: UtilityResult) -> str:
    """Say in one line what is left of the rows.

    Parameters
    ----------
    utility : UtilityResult
        Measured over repeated draws.

    Returns
    -------
    str
        For a person. Internal.
    """
    figures = overall_figures(utility)
    return (
        f"What is left (internal, {utility.n_draws} simulated draws): correlation "
        f"{interval(figures['correlation'], 3)}, {interval(figures['snr_db'], 1)} dB."
    )
