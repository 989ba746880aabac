"""Judges a printed number: by theory, or by where one further draw of ours would lie."""

from __future__ import annotations

import math

from neuroveil.types.reproduction import Comparison, Printed, Verdict
from neuroveil.types.utility import Estimate

BAND = 0.999
"""Chance that one further draw lies in the band of a figure of noise."""

FEWEST_FOR_A_RANGE = 19
"""With fewer, a further draw leaves the range of ours more often than one time in ten."""


def by_theory(printed: Printed, theory: float, note: str = "") -> Comparison:
    """Compare a printed number with what has to come out.

    Parameters
    ----------
    printed : Printed
        What the paper says.
    theory : float
        What follows (unit of the quantity).
    note : str
        What a reader should know.

    Returns
    -------
    Comparison
        Follows if it is the theory rounded to the digits printed.
    """
    agrees = abs(printed.value - theory) <= printed.rounding * (1 + 1e-9)
    verdict: Verdict = "follows_from_theory" if agrees else "does_not_follow"
    return Comparison(printed, theory, None, None, 0, verdict, note)


def taken_over(printed: Printed, note: str = "") -> Comparison:
    """List a number that the paper chose and we use as it is.

    Parameters
    ----------
    printed : Printed
        What the paper says.
    note : str
        What a reader should know.

    Returns
    -------
    Comparison
        Without a judgement.
    """
    return Comparison(printed, printed.value, None, None, 0, "setting", note)


def by_draws(printed: Printed, ours: Estimate, n_draws: int) -> Comparison:
    """Compare a printed number, which rests on one draw of noise, with many of ours.

    The figure of one draw sums over thousands of cells, so it is close to normal, and one
    further draw lies within mean ± t · standard deviation · √(1 + 1/n) with the chance
    :data:`BAND`.

    Parameters
    ----------
    printed : Printed
        What the paper says.
    ours : Estimate
        Over our draws.
    n_draws : int
        How many, at least 2.

    Returns
    -------
    Comparison
        Inside or outside the band; the rounding of the printed number is allowed for.
    """
    from scipy.special import stdtrit

    quantile = float(stdtrit(n_draws - 1, 0.5 + BAND / 2))
    half = quantile * ours.one_draw * math.sqrt(1 + 1 / n_draws)
    band = (ours.mean - half, ours.mean + half)
    interval = (ours.low, ours.high)
    return Comparison(printed, ours.mean, interval, band, n_draws, _place(printed, band))


def by_range(
    printed: Printed, ours: Estimate | None, seen: tuple[float, float] | None, n_draws: int
) -> Comparison:
    """Compare a score of a classifier with the range of ours.

    Scores of 17 patients take few values and are far from normal. Whatever their
    distribution, one further draw lies outside the range of n with a chance of at most
    2 / (n + 1).

    Parameters
    ----------
    printed : Printed
        What the paper says.
    ours : Estimate or None
        Over our draws; None where the score is not defined in some of them.
    seen : tuple of float or None
        Smallest and largest that we saw.
    n_draws : int
        How many.

    Returns
    -------
    Comparison
        Inside or outside that range, where we drew often enough; the rounding of the printed
        number is allowed for.
    """
    mean, interval = (None, None) if ours is None else (ours.mean, (ours.low, ours.high))
    if seen is None or n_draws < FEWEST_FOR_A_RANGE:
        return Comparison(printed, mean, interval, seen, n_draws, "too_few_draws")
    return Comparison(printed, mean, interval, seen, n_draws, _place(printed, seen))


def needs_their_data(
    printed: Printed, ours: Estimate | None, n_draws: int, note: str = ""
) -> Comparison:
    """Put ours beside a number that depends on the paper's patients.

    Parameters
    ----------
    printed : Printed
        What the paper says.
    ours : Estimate or None
        Of another cohort.
    n_draws : int
        Draws behind ours.
    note : str
        What a reader should know.

    Returns
    -------
    Comparison
        Without a judgement.
    """
    mean, interval = (None, None) if ours is None else (ours.mean, (ours.low, ours.high))
    return Comparison(printed, mean, interval, None, n_draws, "needs_their_data", note)


def _place(printed: Printed, band: tuple[float, float]) -> Verdict:
    low, high = band[0] - printed.rounding, band[1] + printed.rounding
    return "inside_band" if low <= printed.value <= high else "outside_band"
