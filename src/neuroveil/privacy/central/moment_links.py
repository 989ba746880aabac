"""The links of the chain that a release of mean and second moment answers for, as facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from neuroveil.privacy.central.links import model_link
from neuroveil.privacy.mechanisms.links import derived, setting
from neuroveil.types.certificate import Fact

if TYPE_CHECKING:
    from neuroveil.privacy.central.calibration import MomentCalibration
    from neuroveil.privacy.mechanisms.contract import RowGuarantee

Link = Mapping[str, Fact]

DERIVED = ("mean_by_james_stein", "covariance_of_cleaned_eigenvalues", "synthetic_normal_rows")
"""What is made of the released sums, at no cost."""

_RECIPE = "neuroveil: exact integer noise on a public grid"
_DEFINITION = "definition of the mechanism"
_BALLE_WANG = "Balle and Wang 2018, Theorem 8"
_JOINT = "neuroveil, docs/proofs-central.md: both moments as one vector"
_ZCDP = "Bun and Steinke 2016, Proposition 1.6"
_DISCRETE = "discrete against continuous noise: Poisson summation and Jensen's inequality"


def moment_facts(
    calibration: MomentCalibration, guarantee: RowGuarantee
) -> Mapping[str, Mapping[str, Fact]]:
    """State the chain of a release of mean and second moment.

    Parameters
    ----------
    calibration : MomentCalibration
        Noise scales and what they follow from.
    guarantee : RowGuarantee
        What is promised.

    Returns
    -------
    mapping of str to mapping of str to Fact
        Facts by link and name.
    """
    return {
        "bound": _moment_bound(calibration),
        "sensitivity": _moment_sensitivity(calibration),
        "mechanism": _moment_mechanism(calibration),
        "guarantee": _moment_guarantee(calibration, guarantee),
        "aggregates": _aggregates(calibration),
        "model": model_link(calibration.spec.n_patients),
    }


def _moment_bound(calibration: MomentCalibration) -> Link:
    return {
        "norm": setting("l2"),
        "clip_norm": setting(float(calibration.spec.clip_norm)),
        "method": setting("scale_to_norm_then_truncate_toward_zero", _RECIPE),
        "grid_log2": setting(calibration.grid_log2, _RECIPE),
        "exact_integer_check": Fact(
            True, "measured", _RECIPE,
            "sum(m_j^2) <= (bound.clip_norm / 2^bound.grid_log2)^2 for every row, in integers",
            ("bound.norm", "bound.clip_norm", "bound.method", "bound.grid_log2"),
        ),
    }  # fmt: skip


def _moment_sensitivity(calibration: MomentCalibration) -> Link:
    rests_on = (
        "unit.rows_per_unit_max", "adjacency.factor", "bound.norm", "bound.clip_norm",
        "bound.exact_integer_check", "preprocessing.scaling",
    )  # fmt: skip
    share = "mechanism.mean_share"
    facts = {
        "norm": derived("l2", _DEFINITION, "mechanism.consumes_norm", "mechanism.consumes_norm"),
        "value": derived(
            calibration.sensitivity, _JOINT,
            f"sqrt({share}/2 + (1 - {share}) + {share}^2 / (16 (1 - {share})))",
            share, "sensitivity.sum", "sensitivity.second_moment",
        ),
        "sum": derived(
            calibration.sum_sensitivity, "triangle inequality",
            "adjacency.factor * bound.clip_norm, in l2", *rests_on,
        ),
        "second_moment": derived(
            calibration.second_sensitivity, "(x.y)^2 is never negative",
            "sqrt(adjacency.factor) * bound.clip_norm^2, in the Frobenius norm", *rests_on,
        ),
    }  # fmt: skip
    if not calibration.spec.mean_share:
        del facts["sum"]
        facts["value"] = derived(
            calibration.sensitivity, _DEFINITION, "1: the second moment alone, in units of its "
            "own sensitivity", "sensitivity.second_moment",
        )  # fmt: skip
    return facts


def _moment_mechanism(calibration: MomentCalibration) -> Link:
    scale = "mechanism.noise_scale"
    return {
        "name": setting("mean_covariance"),
        "distribution": derived(
            "discrete_gaussian", "Canonne, Kamath and Steinke 2020",
            "discrete_gaussian for mean_covariance", "mechanism.name",
        ),
        "consumes_norm": derived("l2", _DEFINITION, "l2 for mean_covariance", "mechanism.name"),
        "mean_share": setting(float(calibration.spec.mean_share)),
        "n_coordinates": derived(
            calibration.spec.n_coordinates, "counting",
            "domain.dimension (domain.dimension + 1) / 2, and domain.dimension for a mean",
            "domain.dimension", "mechanism.mean_share",
        ),
        "noise_scale": derived(
            calibration.noise_scale, _BALLE_WANG,
            "smallest sigma with delta_analytic(guarantee.epsilon_rows, sigma, sensitivity.value)"
            " <= guarantee.delta_calibrated, rounded up",
            "guarantee.epsilon_rows", "guarantee.delta_calibrated", "sensitivity.value",
        ),
        **_moment_noise(calibration),
        "noise_multiplier": derived(
            calibration.noise_scale / calibration.sensitivity,
            "definition of the noise multiplier", f"{scale} / sensitivity.value",
            scale, "sensitivity.value",
        ),
        "rounding": setting("up", _RECIPE),
    }  # fmt: skip


def _moment_noise(calibration: MomentCalibration) -> Link:
    """State the noise in single entries; all of it in units of one noise scale."""
    scale, share = "mechanism.noise_scale", "mechanism.mean_share"
    total, diagonal, other = (
        "mechanism.noise_std_sum", "mechanism.noise_std_diagonal",
        "mechanism.noise_std_off_diagonal",
    )  # fmt: skip
    released = {
        diagonal: derived(
            calibration.diagonal_std, _RECIPE,
            f"sensitivity.second_moment * {scale} / sqrt(1 - {share}), rounded up",
            "sensitivity.second_moment", scale, share,
        ),
        other: derived(
            calibration.off_diagonal_std, "an off-diagonal entry counts twice in Frobenius norm",
            f"sensitivity.second_moment * {scale} / sqrt(2 (1 - {share})), rounded up",
            "sensitivity.second_moment", scale, share,
        ),
    }  # fmt: skip
    smallest = f"{other} / 2^(2 bound.grid_log2)"
    if calibration.spec.mean_share:
        released[total] = derived(
            calibration.sum_std, _RECIPE, f"sensitivity.sum * {scale} / sqrt({share}), rounded up",
            "sensitivity.sum", scale, share,
        )  # fmt: skip
        smallest = f"smaller of {smallest} and {total} / 2^bound.grid_log2"
    facts = {name.removeprefix("mechanism."): fact for name, fact in released.items()}
    facts["integer_scale"] = derived(
        calibration.smallest_integer_scale, _RECIPE, smallest, *released, "bound.grid_log2"
    )
    return facts


def _moment_guarantee(calibration: MomentCalibration, guarantee: RowGuarantee) -> Link:
    share_value = float(calibration.spec.mean_share)
    slack = calibration.slack
    scale, share = "mechanism.noise_scale", "mechanism.mean_share"
    rho = 1 / (2 * calibration.noise_scale**2)
    count = "mechanism.n_coordinates / (24 * mechanism.integer_scale^2)"
    rests_on = ("guarantee.epsilon_rows", "mechanism.n_coordinates", "mechanism.integer_scale")
    if slack.epsilon:
        cost = derived(
            slack.delta, f"{_DISCRETE}; Laurent and Massart 2000, Lemma 1",
            f"guarantee.delta - (e^(-{count}) * guarantee.delta - e^-99)",
            *rests_on, "guarantee.delta",
        )  # fmt: skip
        size = (
            "(mechanism.n_coordinates + B) / (24 * mechanism.integer_scale^2) + "
            "3 * mechanism.n_coordinates * e^(-2 pi^2 mechanism.integer_scale^2)"
        )
    else:
        cost = derived(
            slack.delta, _DISCRETE, f"(1 + e^guarantee.epsilon_rows) * {count}", *rests_on
        )
        size = "0: all of the cost is in guarantee.delta_slack"
    return {
        "variant": derived(
            guarantee.variant, _DEFINITION, "approximate_dp for central releases", "model.trust"
        ),
        "epsilon_rows": setting(float(guarantee.epsilon)),
        "delta": setting(float(guarantee.delta)),
        "epsilon_supported": derived(
            guarantee.epsilon_supported, _BALLE_WANG,
            f"smallest epsilon with delta_analytic(epsilon, {scale}, sensitivity.value)"
            " <= guarantee.delta_calibrated, plus guarantee.epsilon_slack",
            scale, "sensitivity.value", "guarantee.delta_calibrated", "guarantee.epsilon_slack",
        ),
        "epsilon_slack": derived(slack.epsilon, _DISCRETE, size, *rests_on),
        "delta_slack": cost,
        "delta_calibrated": derived(
            slack.delta_calibrated, "subtraction", "guarantee.delta - guarantee.delta_slack",
            "guarantee.delta", "guarantee.delta_slack",
        ),
        "zcdp_rho": derived(
            calibration.sensitivity**2 * rho, _ZCDP, f"sensitivity.value^2 / (2 {scale}^2)",
            "sensitivity.value", scale,
        ),
        "zcdp_rho_sum": derived(
            share_value * rho, _ZCDP, f"{share} / (2 {scale}^2), released alone", share, scale
        ),
        "zcdp_rho_second_moment": derived(
            (1 - share_value) * rho, _ZCDP, f"(1 - {share}) / (2 {scale}^2), released alone",
            share, scale,
        ),
        "proof": setting(guarantee.proof, guarantee.proof),
    }  # fmt: skip


def _aggregates(calibration: MomentCalibration) -> Link:
    grid, share = calibration.grid_log2, float(calibration.spec.mean_share)
    second = {
        "name": "second_moment", "sensitivity_norm": "l2",
        "sensitivity": calibration.second_sensitivity,
        "noise_scale": calibration.off_diagonal_std, "grid_log2": 2 * grid, "share": 1 - share,
    }  # fmt: skip
    total = {
        "name": "sum", "sensitivity_norm": "l2", "sensitivity": calibration.sum_sensitivity,
        "noise_scale": calibration.sum_std, "grid_log2": grid, "share": share,
    }  # fmt: skip
    rests_on = ["sensitivity.second_moment", "mechanism.noise_std_off_diagonal"]
    if share:
        rests_on = ["sensitivity.sum", *rests_on[:1], "mechanism.noise_std_sum", *rests_on[1:]]
    return {
        "statistics": derived(
            [total, second] if share else [second], _DEFINITION,
            "sensitivity, noise in an entry (off the diagonal), grid and share of each sum",
            *rests_on, "bound.grid_log2", "mechanism.mean_share",
        ),
        "derived": setting(list(DERIVED), "post-processing: no other look at the data"),
    }  # fmt: skip
