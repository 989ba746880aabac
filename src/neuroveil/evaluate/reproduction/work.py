"""The work in pieces that can be done in any order, in parallel, and kept.

A piece knows everything but the rows, so that the same piece on the same cohort gives the
same result: its seed follows from what it is about.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from neuroveil.evaluate.downstream import (
    BASELINE_GRID,
    PROTECTED_GRID,
    leave_one_out_probabilities,
)
from neuroveil.evaluate.downstream.ranking import rank_within_folds
from neuroveil.evaluate.downstream.scores import Labels, best_threshold, confusion
from neuroveil.evaluate.intrinsic import SMALLEST_N_DRAWS, intrinsic_utility
from neuroveil.evaluate.reproduction.cohort import ReproductionCohort
from neuroveil.evaluate.reproduction.contenders import (
    PAPERS,
    contender,
    plan_contender,
    settings_for,
)
from neuroveil.evaluate.reproduction.printed import CLASSIFIER_EPSILON
from neuroveil.privacy.central.covariance import estimate_covariance
from neuroveil.privacy.central.plan import plan_moments
from neuroveil.privacy.plan import RowPlan
from neuroveil.privacy.randomness import SimulationRandomness
from neuroveil.types.recording import FloatArray

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


def do_piece(cohort: ReproductionCohort, piece: Piece) -> dict[str, Any]:
    """Do one piece.

    Parameters
    ----------
    cohort : ReproductionCohort
        The rows.
    piece : Piece
        What to measure.

    Returns
    -------
    dict
        Plain data, as it is kept. Internal where the cohort is.
    """
    if piece.kind == "rows":
        return _measure_rows(cohort, piece)
    if piece.kind == "moments":
        return _measure_moments(cohort, piece)
    return {"draws": [_classify(cohort, piece, draw) for draw in _draws(piece)]}


def _draws(piece: Piece) -> range:
    return range(piece.first_draw, piece.first_draw + piece.n_draws)


def _plan(cohort: ReproductionCohort, piece: Piece) -> RowPlan:
    assert piece.epsilon is not None
    n_patients = cohort.scaled.shape[0]
    return plan_contender(contender(piece.name), piece.epsilon, cohort.scaling, n_patients)


def _measure_rows(cohort: ReproductionCohort, piece: Piece) -> dict[str, Any]:
    plan = _plan(cohort, piece)
    found = intrinsic_utility(
        cohort.scaled, plan, cohort.scaling, n_draws=piece.n_draws, seed=piece.draw_seed(0)
    )
    guarantee = plan.mechanism.guarantee
    # Where rows are shuffled, the plan's design has the guarantee towards those who see the batch.
    supported = guarantee.epsilon_supported if plan.shuffled is None else plan.shuffled.epsilon
    return {"figures": asdict(found.overall.against_clipped), "epsilon_supported": supported}


def _measure_moments(cohort: ReproductionCohort, piece: Piece) -> dict[str, Any]:
    assert piece.epsilon is not None
    n, d = cohort.scaled.shape
    settings = settings_for(contender(piece.name), piece.epsilon, cohort.scaling, n)
    mechanism = plan_moments(settings, d, n).mechanism
    rows_int = mechanism.bound(cohort.scaled)
    truth = np.cov(np.ldexp(rows_int.astype(np.float64), mechanism.calibration.grid_log2).T)
    above = np.triu_indices(d, 1)
    found = []
    for draw in _draws(piece):
        noisy = mechanism.apply(
            rows_int, mechanism.draw(SimulationRandomness(piece.draw_seed(draw)))
        )
        estimated = estimate_covariance(noisy).covariance[above]
        is_flat = float(np.ptp(estimated)) < 1e-12  # nothing stood out of the noise
        found.append(0.0 if is_flat else float(np.corrcoef(estimated, truth[above])[0, 1]))
    return {
        "covariance_correlation": found,
        "epsilon_supported": mechanism.guarantee.epsilon_supported,
    }


def _classify(cohort: ReproductionCohort, piece: Piece, draw: int) -> dict[str, Any]:
    """Protect once, let the paper's classifier judge every patient, and count in two ways."""
    seed = piece.draw_seed(draw)
    rows, positive, grid = cohort.scaled, cohort.positive, BASELINE_GRID
    if piece.name == CONTROL:
        positive = np.random.default_rng(seed).permutation(positive)
    elif piece.name != UNPROTECTED:
        rows, grid = _protect(_plan(cohort, piece), rows, seed), PROTECTED_GRID
    probabilities = leave_one_out_probabilities(rows, positive, seed)
    threshold = best_threshold(probabilities, positive, grid)
    pooled = confusion(positive, probabilities >= threshold)
    honest = confusion(positive, _calls_without_own_answer(probabilities, positive, grid))
    return {
        "threshold": threshold,
        "pooled": asdict(pooled),
        "honest": asdict(honest),
        "auc": rank_within_folds(probabilities, np.zeros(positive.size, np.int64), positive).auc,
    }


def _protect(plan: RowPlan, rows: FloatArray, seed: int) -> FloatArray:
    source = SimulationRandomness(seed)
    mechanism = plan.mechanism.renewed(source)
    values = mechanism.apply(plan.bound(rows), mechanism.draw(rows.shape[0], source))
    return plan.estimates(values)[0]


def _calls_without_own_answer(
    probabilities: FloatArray, positive: Labels, grid: tuple[float, ...]
) -> Labels:
    """Judge each patient by the threshold that is best for all the others."""
    calls = np.zeros(positive.shape, dtype=np.bool_)
    for patient in range(positive.size):
        others = np.arange(positive.size) != patient
        threshold = best_threshold(probabilities[others], positive[others], grid)
        calls[patient] = probabilities[patient] >= threshold
    return calls


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
