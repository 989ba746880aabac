"""Measured utility in a few figures. Internal: for the person who runs the command."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuroveil.types.moment_utility import MomentUtility
    from neuroveil.types.utility import UtilityResult

Figures = dict[str, dict[str, float] | None]


def overall_figures(utility: UtilityResult | MomentUtility) -> Figures:
    """Give the overall figures against the clipped rows as plain data.

    Parameters
    ----------
    utility : UtilityResult or MomentUtility
        Measured over repeated draws.

    Returns
    -------
    dict
        By name: ``mean``, ``low`` and ``high`` of the 95 % interval, and ``one_draw``.
    """
    from neuroveil.types.moment_utility import MomentUtility

    if isinstance(utility, MomentUtility):
        return {name: value for name, value in asdict(utility).items() if isinstance(value, dict)}
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


def words_for(utility: UtilityResult | MomentUtility) -> str:
    """Say in one line what is left of the rows, or of their mean and covariance.

    Parameters
    ----------
    utility : UtilityResult or MomentUtility
        Measured over repeated draws.

    Returns
    -------
    str
        For a person. Internal.
    """
    from neuroveil.types.moment_utility import MomentUtility

    figures = overall_figures(utility)
    if isinstance(utility, MomentUtility):
        entries = figures.get("covariance_correlation")
        return (
            f"What is left (internal, {utility.n_draws} simulated draws): covariance entries "
            f"correlate {interval(entries, 3)} with those of the clipped rows."
        )
    return (
        f"What is left (internal, {utility.n_draws} simulated draws): correlation "
        f"{interval(figures['correlation'], 3)}, {interval(figures['snr_db'], 1)} dB."
    )
