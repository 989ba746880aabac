"""What somebody else's code answered, as releases; and mistakes in it, in one form."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuroveil.errors import StudyError, StudyMistake
from neuroveil.types.recording import FloatArray


def as_releases(answers: Any, n_trials: int, role: str) -> FloatArray:
    """Flatten somebody's answers to one row a trial.

    Parameters
    ----------
    answers : array-like
        One release a trial.
    n_trials : int
        How many there must be.
    role : str
        What an error calls the one who answered.

    Returns
    -------
    ndarray of float64, shape (n_trials, n_values)
        One flattened release a trial.

    Raises
    ------
    StudyError
        If they are no numbers, of different sizes, or not one a trial.
    """
    try:
        values = np.asarray(answers)
        if np.iscomplexobj(values):  # a cast would drop half of every answer, and only warn
            raise TypeError
        values = values.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise mistake(
            "releases of numbers, all of one size", "something else",
            "Give arrays of floats, of the same shape each time.", role,
        ) from None  # fmt: skip
    if values.ndim == 0 or values.shape[0] != n_trials or values.size == 0:
        raise mistake(
            f"one release for each of {n_trials} trials", f"shape {values.shape}",
            "The first axis of the answer counts trials.", role,
        )  # fmt: skip
    return values.reshape(n_trials, -1)


def mistake(expected: str, found: str, remedy: str, role: str) -> StudyError:
    """Say what is wrong with somebody else's code.

    Parameters
    ----------
    expected, found, remedy : str
        As in :class:`~neuroveil.errors.NeuroveilError`.
    role : str
        Option that named the code.

    Returns
    -------
    StudyError
        To be raised.
    """
    return StudyError([StudyMistake(role, expected, found, remedy)])
