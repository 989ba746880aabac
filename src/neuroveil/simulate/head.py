"""Where the electrodes sit, and how activity spreads over the scalp."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from neuroveil.types.catalogue import STANDARD_CHANNELS
from neuroveil.types.recording import FloatArray

# Degrees from the vertex, and degrees to the left of straight ahead, on a round head. The outer
# ring of the 10-20 system lies 40 % of the way from vertex to nasion to inion (72 degrees) and
# is divided in steps of 36 degrees; the inner electrodes lie half way.
_ANGLES: dict[str, tuple[float, float]] = {
    "Fp1": (72, 18), "Fp2": (72, -18), "F7": (72, 54), "F8": (72, -54),
    "T7": (72, 90), "T8": (72, -90), "P7": (72, 126), "P8": (72, -126),
    "O1": (72, 162), "O2": (72, -162), "F3": (50, 39), "F4": (50, -39),
    "C3": (36, 90), "C4": (36, -90), "P3": (50, 141), "P4": (50, -141),
    "Fz": (36, 0), "Cz": (0, 0), "Pz": (36, 180),
}  # fmt: skip

SPREAD_RADIANS = 0.6
"""How far a source reaches on the scalp: neighbours at 36 degrees see 0.58 of it."""

INDEPENDENT_SHARE = 0.15
"""Share of the background's variance that belongs to one electrode alone."""


@lru_cache(maxsize=1)
def electrode_positions() -> FloatArray:
    """Positions of the 19 standard channels on the unit sphere.

    Returns
    -------
    ndarray of float64, shape (19, 3)
        To the right, forwards and upwards; no unit.
    """
    inclination, azimuth = np.radians([_ANGLES[name] for name in STANDARD_CHANNELS]).T
    positions = np.column_stack(
        [
            -np.sin(inclination) * np.sin(azimuth),
            np.sin(inclination) * np.cos(azimuth),
            np.cos(inclination),
        ]
    )
    positions.setflags(write=False)
    return positions


def field_around(channel: str) -> FloatArray:
    """Weights with which a source under one electrode is seen by all of them.

    Parameters
    ----------
    channel : str
        One of the 19 standard channels.

    Returns
    -------
    ndarray of float64, shape (19,)
        1 at the channel itself, falling with the angle as a Gaussian.
    """
    return np.asarray(_spread()[STANDARD_CHANNELS.index(channel)])


def posterior_fields() -> FloatArray:
    """Weights of the left and the right source of the alpha rhythm.

    Returns
    -------
    ndarray of float64, shape (19, 2)
        Strongest (1) at O1 and O2, weak over the front of the head.
    """
    right, forwards, _ = electrode_positions().T
    posterior = 0.15 + 0.85 * ((1 - forwards) / 2) ** 2
    fields = np.column_stack([posterior * (1 - 0.6 * right), posterior * (1 + 0.6 * right)])
    strongest: FloatArray = fields / np.sqrt((fields**2).sum(axis=1)).max()
    return strongest


def background_mixing() -> FloatArray:
    """Matrix that turns independent sources into a background with neighbours in common.

    Returns
    -------
    ndarray of float64, shape (19, 19)
        Rows of unit length, so that every channel has the variance of a source.
    """
    covariance = (1 - INDEPENDENT_SHARE) * _spread() + INDEPENDENT_SHARE * np.eye(19)
    return np.asarray(np.linalg.cholesky(covariance))


def _spread() -> FloatArray:
    positions = electrode_positions()
    angles = np.arccos(np.clip(positions @ positions.T, -1.0, 1.0))
    return np.asarray(np.exp(-(angles**2) / (2 * SPREAD_RADIANS**2)), dtype=np.float64)
