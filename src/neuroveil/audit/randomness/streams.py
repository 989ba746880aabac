"""Noise in the order in which it was drawn, from two runs that have nothing to share."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from neuroveil.audit.subject import Subject, check_releases
from neuroveil.types.recording import FloatArray

N_ROWS = 4
"""Rows of the table that is released; all of them zeros, so that releases are noise."""

_FEWEST_RELEASES = 8  # of one run, however many values each of them has


@dataclass(frozen=True, eq=False)
class Streams:
    """Releases of a table of zeros, from two runs of a subject.

    Parameters
    ----------
    units : ndarray of float64, shape (2, n_units, dimension)
        For each run, the randomised rows in the order in which they came (no unit): a unit is
        one row of one release, or a whole release where it is not made of rows.
    n_rows : int
        Units a release.
    """

    units: FloatArray
    n_rows: int

    @property
    def n_units(self) -> int:
        """Units of one run."""
        return int(self.units.shape[1])

    @property
    def dimension(self) -> int:
        """Values of one unit."""
        return int(self.units.shape[2])


def collect_streams(subject: Subject, n_cells: int, seed: int | None = None) -> Streams:
    """Release a table of zeros often, in two separate runs.

    Parameters
    ----------
    subject : Subject
        What is audited.
    n_cells : int
        Values that each run is to have, at least.
    seed : int, optional
        For a repeatable subject: its releases get this seed, the next one and so on, as a
        careless person would do, and must have nothing in common even so.

    Returns
    -------
    Streams
        In the order of the releases, row after row.
    """
    dimension = subject.facts.dimension
    n_trials = max(_FEWEST_RELEASES, math.ceil(n_cells / (N_ROWS * dimension)))
    table = np.zeros((N_ROWS, dimension))
    runs = [_run(subject, table, n_trials, seed, number) for number in (0, 1)]
    n_rows = N_ROWS if runs[0].shape[1] == N_ROWS * dimension else 1
    units = np.stack([run.reshape(n_trials * n_rows, -1) for run in runs])
    return Streams(units, n_rows)


def _run(
    subject: Subject, table: FloatArray, n_trials: int, seed: int | None, number: int
) -> FloatArray:
    """One run; a repeatable subject gets a seed for each release, counted up."""
    if seed is None:
        return check_releases(subject.run(table, n_trials, None), n_trials)
    first = seed + number * n_trials
    releases = [subject.run(table, 1, each) for each in range(first, first + n_trials)]
    return check_releases(np.concatenate(releases), n_trials)
