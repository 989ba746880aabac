"""The contract's table, last part: mean and covariance of all patients together."""

from __future__ import annotations

from neuroveil.privacy.verify import forms, shapes
from neuroveil.privacy.verify.rule import Rule, assumed, delta_slack_lines, proven, when

DERIVED = ("mean_by_james_stein", "covariance_of_cleaned_eigenvalues", "synthetic_normal_rows")
"""What is made of the released sums."""

_CASE = when(mechanism="mean_covariance")
_POSITIVE = shapes.number(0, forms.LARGE, includes_low=False)
_UP_TO_LARGE = shapes.number(0, forms.LARGE)
_DELTA = shapes.number(0, 0.5)
_SHARE, _SCALE = "mechanism.mean_share", "mechanism.noise_scale"
_SUM, _DIAGONAL, _OTHER = (
    f"mechanism.noise_std_{name}" for name in ("sum", "diagonal", "off_diagonal")
)
_COUNT = "mechanism.n_coordinates / (24 * mechanism.integer_scale^2)"
_SLACK = ("guarantee.epsilon_rows", "mechanism.n_coordinates", "mechanism.integer_scale")
_CLIPPING = (
    "unit.rows_per_unit_max", "adjacency.factor", "bound.norm", "bound.clip_norm",
    "bound.exact_integer_check", "preprocessing.scaling",
)  # fmt: skip


def _proven(name: str, shape: shapes.Shape, formula: str, *rests_on: str) -> Rule:
    return proven(name, shape, formula, *rests_on, case=_CASE)


_SENSITIVITY: tuple[Rule, ...] = (
    _proven(
        "sensitivity.value", _POSITIVE,
        f"sqrt({_SHARE}/2 + (1 - {_SHARE}) + {_SHARE}^2 / (16 (1 - {_SHARE})))",
        _SHARE, "sensitivity.sum", "sensitivity.second_moment",
    ),
    _proven(
        "sensitivity.sum", _POSITIVE, "adjacency.factor * bound.clip_norm, in l2", *_CLIPPING
    ),
    _proven(
        "sensitivity.second_moment", _POSITIVE,
        "sqrt(adjacency.factor) * bound.clip_norm^2, in the Frobenius norm", *_CLIPPING,
    ),
)  # fmt: skip

_MECHANISM: tuple[Rule, ...] = (
    _proven(
        "mechanism.distribution", shapes.one_of("discrete_gaussian"),
        "discrete_gaussian for mean_covariance", "mechanism.name",
    ),
    _proven(
        "mechanism.consumes_norm", shapes.one_of("l2"), "l2 for mean_covariance",
        "mechanism.name",
    ),
    assumed(_SHARE, shapes.number(0, 0.8, includes_low=False), case=_CASE),
    _proven(
        "mechanism.n_coordinates", shapes.integer(2, forms.MANY),
        "domain.dimension (domain.dimension + 1) / 2, and domain.dimension for a mean",
        "domain.dimension", _SHARE,
    ),
    _proven(
        _SCALE, _POSITIVE,
        "smallest sigma with delta_analytic(guarantee.epsilon_rows, sigma, sensitivity.value) "
        "<= guarantee.delta_calibrated, rounded up",
        "guarantee.epsilon_rows", "guarantee.delta_calibrated", "sensitivity.value",
    ),
    _proven(
        _DIAGONAL, _POSITIVE,
        f"sensitivity.second_moment * {_SCALE} / sqrt(1 - {_SHARE}), rounded up",
        "sensitivity.second_moment", _SCALE, _SHARE,
    ),
    _proven(
        _OTHER, _POSITIVE,
        f"sensitivity.second_moment * {_SCALE} / sqrt(2 (1 - {_SHARE})), rounded up",
        "sensitivity.second_moment", _SCALE, _SHARE,
    ),
    _proven(
        _SUM, _POSITIVE, f"sensitivity.sum * {_SCALE} / sqrt({_SHARE}), rounded up",
        "sensitivity.sum", _SCALE, _SHARE,
    ),
    _proven(
        "mechanism.integer_scale", shapes.number(2.0**10, 2.0**62),
        f"smaller of {_OTHER} / 2^(2 bound.grid_log2) and {_SUM} / 2^bound.grid_log2",
        _DIAGONAL, _OTHER, _SUM, "bound.grid_log2",
    ),
    _proven(
        "mechanism.noise_multiplier", _POSITIVE, f"{_SCALE} / sensitivity.value",
        _SCALE, "sensitivity.value",
    ),
    assumed("mechanism.rounding", shapes.one_of("up"), case=_CASE),
    _proven(
        "aggregates.statistics", forms.statistics(),
        "sensitivity, noise in an entry (off the diagonal), grid and share of each sum",
        "sensitivity.sum", "sensitivity.second_moment", _SUM, _OTHER, "bound.grid_log2", _SHARE,
    ),
    assumed("aggregates.derived", shapes.names(), case=_CASE),
)  # fmt: skip

_PROMISE: tuple[Rule, ...] = (
    _proven(
        "guarantee.variant", shapes.one_of("approximate_dp"),
        "approximate_dp for central releases", "model.trust",
    ),
    _proven(
        "guarantee.epsilon_supported", _UP_TO_LARGE,
        f"smallest epsilon with delta_analytic(epsilon, {_SCALE}, sensitivity.value) "
        "<= guarantee.delta_calibrated, plus guarantee.epsilon_slack",
        _SCALE, "sensitivity.value", "guarantee.delta_calibrated", "guarantee.epsilon_slack",
    ),
    _proven(
        "guarantee.epsilon_slack", _UP_TO_LARGE,
        "0: all of the cost is in guarantee.delta_slack", *_SLACK,
    ),
    _proven(
        "guarantee.epsilon_slack", _UP_TO_LARGE,
        "(mechanism.n_coordinates + B) / (24 * mechanism.integer_scale^2) + "
        "3 * mechanism.n_coordinates * e^(-2 pi^2 mechanism.integer_scale^2)", *_SLACK,
    ),
    *delta_slack_lines(
        f"(1 + e^guarantee.epsilon_rows) * {_COUNT}",
        "{0} - (e^(-" + _COUNT + ") * {0} - e^-99)", _SLACK, _CASE),
    _proven(
        "guarantee.zcdp_rho", _POSITIVE, f"sensitivity.value^2 / (2 {_SCALE}^2)",
        "sensitivity.value", _SCALE,
    ),
    _proven(
        "guarantee.zcdp_rho_sum", _POSITIVE, f"{_SHARE} / (2 {_SCALE}^2), released alone",
        _SHARE, _SCALE,
    ),
    _proven(
        "guarantee.zcdp_rho_second_moment", _POSITIVE,
        f"(1 - {_SHARE}) / (2 {_SCALE}^2), released alone", _SHARE, _SCALE,
    ),
    _proven(
        "utility.predicted", forms.figures("mean_rmse", "covariance_rmse"),
        f"{_SUM} / domain.n and {_OTHER} / domain.n", _SUM, _OTHER, "domain.n",
    ),
)  # fmt: skip

MOMENTS: tuple[Rule, ...] = (*_SENSITIVITY, *_MECHANISM, *_PROMISE)
"""Mean and covariance under one guarantee."""
