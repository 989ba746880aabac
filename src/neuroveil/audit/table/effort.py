"""How long attacks may take, and where their randomness comes from."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from neuroveil.privacy.randomness import SimulationRandomness

Progress = Callable[[int, int], None]
"""Called with (done, total)."""

FEWEST_DRAWS = 20
"""Fewer fresh draws than this are not worth having, however much they cost."""


@dataclass(frozen=True)
class Effort:
    """How long an audit may take.

    Parameters
    ----------
    name : str
        ``"quick"`` or ``"full"``, or a name of your own.
    n_trials : int
        Fresh draws for each side of a membership game.
    n_links : int
        Released rows that are linked.
    n_bootstraps : int
        Bootstrap tables of patients.
    cells : int
        Cells that one attack may look at; what costs more gets fewer draws, and says so.
    seed : int
        Seed of the fresh draws.
    """

    name: str
    n_trials: int
    n_links: int
    n_bootstraps: int
    cells: int
    seed: int = 20261129

    def draws(self, wanted: int, cells_a_draw: int) -> int:
        """Give how many draws are affordable.

        Parameters
        ----------
        wanted : int
            Draws that would be best.
        cells_a_draw : int
            Cells that one draw looks at.

        Returns
        -------
        int
            At least :data:`FEWEST_DRAWS`, or as many as are wanted where that is less, and 2.
        """
        return max(2, min(wanted, FEWEST_DRAWS), min(wanted, self.cells // max(1, cells_a_draw)))

    def source(self, attack: str) -> SimulationRandomness:
        """Give the randomness of an attack: the same for every target.

        Parameters
        ----------
        attack : str
            Name of the attack.

        Returns
        -------
        SimulationRandomness
            Targets that differ in their noise scale get the same noise, scaled.
        """
        return SimulationRandomness(self._seed(attack))

    def generator(self, attack: str) -> np.random.Generator:
        """Give a generator for choices of an attack that are not noise.

        Parameters
        ----------
        attack : str
            Name of the attack.

        Returns
        -------
        numpy.random.Generator
            Independent of :meth:`source`.
        """
        return np.random.default_rng(self._seed(f"{attack}, choices"))

    def _seed(self, name: str) -> int:
        sequence = np.random.SeedSequence((self.seed, zlib.crc32(name.encode())))
        return int(sequence.generate_state(1, np.uint64)[0])


QUICK = Effort("quick", n_trials=20_000, n_links=20_000, n_bootstraps=300, cells=2_000_000_000)
FULL = Effort("full", n_trials=400_000, n_links=200_000, n_bootstraps=1000, cells=60_000_000_000)
