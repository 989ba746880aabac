"""Refusals of parameters that no guarantee can be derived from, in one place."""

from __future__ import annotations

import math

from neuroveil.errors import ChainError

EPSILON_RANGE: tuple[float, float] = (1e-6, 1000.0)
"""Epsilons for which the calibration is checked against 50-digit arithmetic."""

SMALLEST_DELTA = 1e-17
"""Smallest positive delta for which the calibration is checked."""

CLIP_NORM_RANGE: tuple[float, float] = (1e-9, 1e9)
"""Clipping norms, on the scaled axis (no unit), that the integer grid can carry."""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def check_epsilon(value: float, where: str = "privacy.epsilon") -> float:
    """Refuse an epsilon that means nothing.

    Parameters
    ----------
    value : float
        Epsilon, no unit.
    where : str
        Dotted name of the setting, for the message.

    Returns
    -------
    float
        The same number.

    Raises
    ------
    ChainError
        If it is not a number (NaN included), or outside :data:`EPSILON_RANGE`.
    """
    low, high = EPSILON_RANGE
    if not _is_number(value) or not low <= value <= high:
        raise ChainError(
            where, f"a number between {low:g} and {high:g}", f"{value!r}",
            "Choose an epsilon for which the noise can be derived; below 1 is strong, "
            "above 10 is weak.",
        )  # fmt: skip
    return float(value)


def check_delta(value: float, where: str = "privacy.delta") -> float:
    """Refuse a delta for which a Gaussian mechanism has no noise scale.

    Parameters
    ----------
    value : float
        Delta, a probability.
    where : str
        Dotted name of the setting, for the message.

    Returns
    -------
    float
        The same number.

    Raises
    ------
    ChainError
        If it is not a number (NaN included), 0 or below :data:`SMALLEST_DELTA`, or 1 or more.
    """
    if not _is_number(value) or not SMALLEST_DELTA <= value < 1:
        raise ChainError(
            where, f"a probability of at least {SMALLEST_DELTA:g} and below 1", f"{value!r}",
            "Choose a delta well below 1/n; for delta = 0 use privunit or laplace.",
        )  # fmt: skip
    return float(value)


def largest_delta(n_patients: int) -> float:
    """Give the largest delta that needs no justification: min(1/n^2, 1e-5).

    Parameters
    ----------
    n_patients : int
        Roster size.

    Returns
    -------
    float
        A probability.
    """
    return min(1.0 / n_patients**2, 1e-5)


def check_delta_for(n_patients: int, delta: float, justification: str | None) -> None:
    """Refuse a delta that is large for a roster, unless it is justified in words.

    Parameters
    ----------
    n_patients : int
        Roster size.
    delta : float
        Delta of the release.
    justification : str, optional
        Why it may be larger than :func:`largest_delta`.

    Raises
    ------
    ChainError
        If it is not a probability, or too large and nobody says why.
    """
    if not _is_number(delta) or not 0 <= delta < 1:
        raise ChainError(
            "privacy.delta", "a probability below 1", f"{delta!r}",
            "Choose a delta well below 1/n.",
        )  # fmt: skip
    limit = largest_delta(n_patients)
    if delta > limit and not (justification or "").strip():
        raise ChainError(
            "privacy.delta", f"at most {limit:.3g} for {n_patients} patients", f"{delta:g}",
            "Make delta smaller, or write down why in privacy.delta_justification.",
        )  # fmt: skip


def check_positive(value: float, where: str) -> float:
    """Refuse a scale or sensitivity that is not a positive finite number.

    Parameters
    ----------
    value : float
        Noise scale or sensitivity, on the scaled axis (no unit).
    where : str
        Dotted name, for the message.

    Returns
    -------
    float
        The same number.

    Raises
    ------
    ChainError
        If it is 0 (which would release raw data), negative, NaN or infinite.
    """
    if not _is_number(value) or value <= 0:
        raise ChainError(
            where, "a positive finite number", f"{value!r}",
            "A scale of 0 would release the data as they are; derive it from a sensitivity.",
        )  # fmt: skip
    return float(value)


def check_clip_norm(value: float, where: str = "privacy.clip_norm") -> float:
    """Refuse a clipping norm that does not bound anything.

    Parameters
    ----------
    value : float
        Clipping norm, on the scaled axis (no unit).
    where : str
        Dotted name of the setting, for the message.

    Returns
    -------
    float
        The same number.

    Raises
    ------
    ChainError
        If it is not a number, or outside :data:`CLIP_NORM_RANGE`.
    """
    low, high = CLIP_NORM_RANGE
    if not _is_number(value) or not low <= value <= high:
        raise ChainError(
            where, f"a number between {low:g} and {high:g}", f"{value!r}",
            "Choose the norm that a typical scaled row has; 2 is the paper's.",
        )  # fmt: skip
    return float(value)


def check_dimension(value: int, where: str = "domain.dimension") -> int:
    """Refuse a number of columns that is not a positive whole number.

    Parameters
    ----------
    value : int
        Number of released columns.
    where : str
        Dotted name, for the message.

    Returns
    -------
    int
        The same number.

    Raises
    ------
    ChainError
        If it is not a whole number of at least 1.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ChainError(
            where, "a whole number of at least 1", f"{value!r}",
            "List the columns that the study releases.",
        )  # fmt: skip
    return value
