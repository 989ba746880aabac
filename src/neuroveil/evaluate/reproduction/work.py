"""Does one piece of work: errors of cells, errors of covariances, or the paper's classifier."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from neuroveil.evaluate.intrinsic import intrinsic_utility
from neuroveil.evaluate.reproduction.classify import classify
from neuroveil.evaluate.reproduction.cohort import ReproductionCohort
from neuroveil.evaluate.reproduction.contenders import contender
from neuroveil.evaluate.reproduction.pieces import Piece
from neuroveil.evaluate.reproduction.plans import plan_contender, settings_for
from neuroveil.privacy.central.covariance import estimate_covariance
from neuroveil.privacy.central.plan import plan_moments
from neuroveil.privacy.randomness import SimulationRandomness


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
    return {"draws": [classify(cohort, piece, draw) for draw in piece.draws]}


def _measure_rows(cohort: ReproductionCohort, piece: Piece) -> dict[str, Any]:
    assert piece.epsilon is not None
    n_patients = cohort.scaled.shape[0]
    plan = plan_contender(contender(piece.name), piece.epsilon, cohort.scaling, n_patients)
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
    for draw in piece.draws:
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
