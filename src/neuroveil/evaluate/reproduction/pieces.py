"""The work in pieces that can be done in any order, in parallel, and kept.

A piece knows everything but the rows, so that the same piece on the same cohort gives the
same result: its seed follows from what it is about.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

from neuroveil.evaluate.intrinsic import SMALLEST_N_DRAWS
from neuroveil.evaluate.reproduction.contenders import PAPERS, contender
from neuroveil.evaluate.reproduction.printed import CLASSIFIER_EPSILON

Kind = Literal["rows", "moments", "classifier"]

UNPROTECTED = "original"
CONTROL = "control"
"""The unprotected rows with labels exchanged between patients: what chance gives."""

_AT_ONCE = 5
"""Draws of the classifier in a piece: some seconds of work."""

_FEWER = 5
"""Other mechanisms than the paper's have no band to be judged by, and so fewer draws."""


@dataclass(frozen=True)
class Piece:
    """Something to be measured, whole or in part.

    Parameters
    ----------
    kind : {"rows", "moments", "classifier"}
        Errors of cells, errors of covariances, or the paper's classifier.
    name : str
        Short name of a contender; for the classifier also ``"original"`` and ``"control"``.
    epsilon : float or None
        Of the protection.
    first_draw, n_draws : int
        Which draws; the classifier's are done a few at a time.
    seed : int
        Seed of the whole reproduction.
    """

    kind: Kind
    name: str
    epsilon: float | None
    first_draw: int
    n_draws: int
    seed: int

    @property
    def draws(self) -> range:
        """Numbers of the draws."""
        return range(self.first_draw, self.first_draw + self.n_draws)

    def draw_seed(self, draw: int) -> int:
        """Give the seed of a draw.

        Parameters
        ----------
        draw : int
            Its number, from 0.

        Returns
        -------
        int
            The same for the same draw, however draws are cut into pieces.
        """
        about = f"{self.seed}/{self.kind}/{self.name}/{self.epsilon}/{draw}"
        return int.from_bytes(hashlib.sha256(about.encode()).digest()[:4], "big")


def pieces_for(
    names: tuple[str, ...], epsilons: tuple[float, ...], counts: tuple[int, int], seed: int
) -> tuple[Piece, ...]:
    """List everything that has to be done.

    Parameters
    ----------
    names : tuple of str
        Contenders.
    epsilons : tuple of float
        Their epsilons; the classifier sees the paper's 10 only.
    counts : tuple of int
        Draws of noise, and draws of noise for the classifier.
    seed : int
        Seed of everything.

    Returns
    -------
    tuple of Piece
        The slowest first.
    """
    n_draws, n_classified = counts
    pieces = [
        Piece("classifier", name, epsilon, first, min(_AT_ONCE, n_classified - first), seed)
        for name, epsilon in _classified(names)
        for first in range(0, n_classified, _AT_ONCE)
    ]
    for name in names:
        kind: Kind = "moments" if contender(name).is_central else "rows"
        drawn = n_draws if name in PAPERS else max(SMALLEST_N_DRAWS, n_draws // _FEWER)
        pieces += [Piece(kind, name, epsilon, 0, drawn, seed) for epsilon in epsilons]
    return tuple(pieces)


def _classified(names: tuple[str, ...]) -> list[tuple[str, float | None]]:
    """Rows that a label may stand beside: a label would shrink the batch that is shuffled."""
    local = [name for name in names if contender(name).trust_model == "local"]
    return [(UNPROTECTED, None), (CONTROL, None), *((name, CLASSIFIER_EPSILON) for name in local)]
