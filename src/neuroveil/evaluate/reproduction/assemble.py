"""From the results of pieces to figures with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from neuroveil.evaluate.intervals import estimate
from neuroveil.evaluate.reproduction.contenders import CONTENDERS, Contender, contender
from neuroveil.evaluate.reproduction.pieces import CONTROL, UNPROTECTED, Piece
from neuroveil.types.downstream import ConfusionMatrix
from neuroveil.types.reproduction import COUNTS, SCORES, ClassifierFigures, MechanismFigures
from neuroveil.types.utility import Estimate

Results = Mapping[Piece, dict[str, Any]]
"""What each piece gave, as plain data."""

_CELL_FIGURES = ("rmse", "mae", "correlation", "correlation_centred", "snr_db")
_LABELS = {UNPROTECTED: "original rows", CONTROL: "original rows, labels exchanged"}


def mechanism_figures(results: Results) -> tuple[MechanismFigures, ...]:
    """Collect what mechanisms leave of cells or covariances.

    Parameters
    ----------
    results : mapping of Piece to dict
        All results.

    Returns
    -------
    tuple of MechanismFigures
        In the order of the contenders, then by epsilon.
    """
    found = [_mechanism(piece, result) for piece, result in results.items()
             if piece.kind != "classifier"]  # fmt: skip
    order = {each.name: place for place, each in enumerate(CONTENDERS)}
    return tuple(sorted(found, key=lambda figures: (order[figures.name], figures.epsilon)))


def classifier_figures(results: Results) -> tuple[ClassifierFigures, ...]:
    """Collect how the classifier does on each kind of rows.

    Parameters
    ----------
    results : mapping of Piece to dict
        All results.

    Returns
    -------
    tuple of ClassifierFigures
        Unprotected rows, the control, then the contenders in their order.
    """
    pieces = [piece for piece in results if piece.kind == "classifier"]
    order = [UNPROTECTED, CONTROL, *(each.name for each in CONTENDERS)]
    names = sorted({piece.name for piece in pieces}, key=order.index)
    return tuple(
        _classifier([piece for piece in pieces if piece.name == name], results) for name in names
    )


def _mechanism(piece: Piece, result: dict[str, Any]) -> MechanismFigures:
    about: Contender = contender(piece.name)
    assert piece.epsilon is not None
    found = MechanismFigures(
        about.name, about.label, about.trust, piece.epsilon, about.delta,
        float(result["epsilon_supported"]), piece.n_draws,
    )  # fmt: skip
    if piece.kind == "moments":
        correlations = np.array(result["covariance_correlation"])
        return replace(found, covariance_correlation=estimate(correlations))
    rmse, mae, correlation, centred, snr = (_read(result["figures"][key]) for key in _CELL_FIGURES)
    return replace(
        found, rmse=rmse, mae=mae, correlation=correlation, correlation_centred=centred, snr_db=snr
    )


def _read(figure: dict[str, float] | None) -> Estimate | None:
    return None if figure is None else Estimate(**figure)


def _classifier(pieces: list[Piece], results: Results) -> ClassifierFigures:
    in_order = sorted(pieces, key=lambda piece: piece.first_draw)
    draws = [draw for piece in in_order for draw in results[piece]["draws"]]
    pooled = [ConfusionMatrix(**draw["pooled"]) for draw in draws]
    honest = [ConfusionMatrix(**draw["honest"]) for draw in draws]
    everybody = ConfusionMatrix(0, pooled[0].n_negative, 0, pooled[0].n_positive)
    name = in_order[0].name
    return ClassifierFigures(
        name=name,
        label=_LABELS.get(name) or contender(name).label,
        epsilon=in_order[0].epsilon,
        n_draws=len(draws),
        scores=_scores(pooled),
        ranges={key: _range([getattr(each, key) for each in pooled]) for key in SCORES + COUNTS},
        counts={key: _mean([getattr(each, key) for each in pooled]) for key in COUNTS},
        honest=_scores(honest),
        auc=_mean([draw["auc"] for draw in draws]),
        threshold=_mean([draw["threshold"] for draw in draws]),
        below_everybody=float(np.mean([(each.f1 or 0) < (everybody.f1 or 0) for each in pooled])),
    )


def _scores(matrices: list[ConfusionMatrix]) -> dict[str, Estimate | None]:
    """Mean of each score; none where one is not defined in some draw."""
    scores = {key: [matrix.figures()[key] for matrix in matrices] for key in SCORES}
    return {
        key: None if None in values else _mean([value for value in values if value is not None])
        for key, values in scores.items()
    }


def _mean(values: list[float]) -> Estimate:
    result = estimate(np.array(values, dtype=np.float64))
    assert result is not None  # the values are finite
    return result


def _range(values: list[float | None]) -> tuple[float, float] | None:
    known = [float(value) for value in values if value is not None]
    return (min(known), max(known)) if known else None
