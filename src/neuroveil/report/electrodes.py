"""Where electrodes of the 10-10 system sit, on a flat picture of a round head."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from neuroveil.types.recording import FloatArray

_RING, _STEP, _OUTER = 72.0, 18.0, 90.0
_RING_NAMES = ("Fp1", "AF7", "F7", "FT7", "T7", "TP7", "P7", "PO7", "O1")
_OUTER_NAMES = {"F9": 54.0, "FT9": 72.0, "T9": 90.0, "TP9": 108.0, "P9": 126.0}
_MIDLINE = ("Fpz", "AFz", "Fz", "FCz", "Cz", "CPz", "Pz", "POz", "Oz")
# Electrodes on the arc from the midline to the ring, at equal distances.
_ARCS = {
    ("AFz", "AF7"): ("AF3",), ("Fz", "F7"): ("F1", "F3", "F5"),
    ("FCz", "FT7"): ("FC1", "FC3", "FC5"), ("Cz", "T7"): ("C1", "C3", "C5"),
    ("CPz", "TP7"): ("CP1", "CP3", "CP5"), ("Pz", "P7"): ("P1", "P3", "P5"),
    ("POz", "PO7"): ("PO3",),
}  # fmt: skip


@lru_cache(maxsize=1)
def positions() -> dict[str, tuple[float, float]]:
    """Give flat positions by canonical channel name.

    Returns
    -------
    dict of str to tuple of float
        To the right and forwards; the distance from the vertex is the angle on the head, and 1
        is the edge of the picture at 90 degrees.

    References
    ----------
    Oostenveld and Praamstra 2001 (the 10-10 system): the ring Fpz-T7-Oz lies 72 degrees from
    the vertex, its electrodes 18 degrees apart.
    """
    left = {name: _on_head(_RING, _STEP * (place + 1)) for place, name in enumerate(_RING_NAMES)}
    left |= {name: _on_head(_OUTER, angle) for name, angle in _OUTER_NAMES.items()}
    middle = {
        name: _on_head(abs(_RING - _STEP * place), 0.0 if place < 4 else 180.0)
        for place, name in enumerate(_MIDLINE)
    }
    for (start, end), names in _ARCS.items():
        for place, name in enumerate(names, start=1):
            left[name] = _between(middle[start], left[end], place / (len(names) + 1))
    right = {_mirrored(name): point * (-1.0, 1.0, 1.0) for name, point in left.items()}
    return {name: _flat(point) for name, point in {**left, **middle, **right}.items()}


def _on_head(from_vertex: float, to_left: float) -> FloatArray:
    """A point on the unit sphere by two angles in degrees: from the vertex, and from ahead."""
    down, around = np.radians([from_vertex, to_left])
    return np.array([-np.sin(down) * np.sin(around), np.sin(down) * np.cos(around), np.cos(down)])


def _between(start: FloatArray, end: FloatArray, share: float) -> FloatArray:
    """A point on the shorter great circle between two others."""
    angle = np.arccos(np.clip(start @ end, -1.0, 1.0))
    along: FloatArray = (
        np.sin((1 - share) * angle) * start + np.sin(share * angle) * end
    ) / np.sin(angle)
    return along


def _mirrored(name: str) -> str:
    """The electrode on the other side: odd numbers are on the left, even ones on the right."""
    return f"{name[:-1]}10" if name[-1] == "9" else f"{name[:-1]}{int(name[-1]) + 1}"


def _flat(point: FloatArray) -> tuple[float, float]:
    distance = float(np.arccos(np.clip(point[2], -1.0, 1.0)) / (np.pi / 2))
    length = float(np.hypot(point[0], point[1]))
    if length < 1e-9:
        return 0.0, 0.0
    return distance * float(point[0]) / length, distance * float(point[1]) / length
