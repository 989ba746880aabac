"""The links of the chain that a mechanism answers for, as facts.

Status, formula and ``rests_on`` of each fact are those of ``docs/certificate.md``, letter by
letter; a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from neuroveil.types.certificate import Fact

if TYPE_CHECKING:
    from neuroveil.privacy.bounds import Norm
    from neuroveil.privacy.integer_noise import Slack
    from neuroveil.privacy.mechanisms.additive import AdditiveMechanism
    from neuroveil.privacy.mechanisms.contract import MechanismSpec, RowGuarantee

Link = Mapping[str, Fact]

_STUDY = "setting of the study"
_RECIPE = "neuroveil: exact integer noise on a public grid"
_DEFINITION = "definition of the mechanism"
_BALLE_WANG = "Balle and Wang 2018, Theorem 8"
_DWORK = "Dwork, McSherry, Nissim and Smith 2006, Theorem 1"
_DISCRETE = "discrete against continuous noise: Poisson summation and Jensen's inequality"

VARIANT = "approximate_dp for gaussian, pure_dp for laplace, paper_laplace and privunit"
ON_INTEGERS = "0: the proof is on integers"
"""Formulas that mechanisms share."""

_CHECKS: dict[Norm, str] = {
    "l2": "sum(m_j^2) <= (bound.clip_norm / 2^bound.grid_log2)^2 for every row, in integers",
    "l1": "sum(abs(m_j)) <= bound.clip_norm / 2^bound.grid_log2 for every row, in integers",
}


def setting(value: Any, source: str = _STUDY) -> Fact:
    """State something that is taken on trust.

    Parameters
    ----------
    value : JSON value
        The fact.
    source : str
        Where it was set.

    Returns
    -------
    Fact
        Without a formula.
    """
    return Fact(value, "assumed", source)


def derived(value: Any, source: str, formula: str, *rests_on: str) -> Fact:
    """State something that follows from other facts.

    Parameters
    ----------
    value : JSON value
        The fact.
    source : str
        Theorem or definition.
    formula : str
        How it follows, with dotted names.
    *rests_on : str
        Dotted names of the facts it follows from.

    Returns
    -------
    Fact
        With status ``proven``.
    """
    return Fact(value, "proven", source, formula, rests_on)


def bound_link(spec: MechanismSpec, grid_log2: int) -> Link:
    """State how rows are bounded.

    Parameters
    ----------
    spec : MechanismSpec
        The mechanism's specification.
    grid_log2 : int
        Binary logarithm of the grid's step.

    Returns
    -------
    mapping of str to Fact
        Facts of the link ``bound``.
    """
    return {
        "norm": setting(spec.norm),
        "clip_norm": setting(float(spec.clip_norm)),
        "method": setting("scale_to_norm_then_truncate_toward_zero", _RECIPE),
        "grid_log2": setting(grid_log2, _RECIPE),
        "exact_integer_check": Fact(
            True, "measured", _RECIPE, _CHECKS[spec.norm],
            ("bound.norm", "bound.clip_norm", "bound.method", "bound.grid_log2"),
        ),
    }  # fmt: skip


def sensitivity_link(mechanism: AdditiveMechanism) -> Link:
    """State how far apart neighbouring tables are in the norm that the noise consumes.

    Parameters
    ----------
    mechanism : AdditiveMechanism
        The mechanism.

    Returns
    -------
    mapping of str to Fact
        Facts of the link ``sensitivity``.
    """
    norm = mechanism.consumes_norm
    rests_on = (
        "unit.rows_per_unit_max", "adjacency.factor", "bound.norm", "bound.clip_norm",
        "bound.exact_integer_check", "preprocessing.scaling", "preprocessing.projection",
        "sensitivity.norm",
    )  # fmt: skip
    if norm == mechanism.spec.norm:
        value = derived(
            mechanism.sensitivity, "triangle inequality",
            "adjacency.factor * bound.clip_norm", *rests_on,
        )  # fmt: skip
    else:
        value = derived(
            mechanism.sensitivity, "triangle inequality and Cauchy-Schwarz inequality",
            "adjacency.factor * sqrt(bound.dimension) * bound.clip_norm",
            *rests_on, "bound.dimension",
        )  # fmt: skip
    consumed = "mechanism.consumes_norm"
    return {"norm": derived(norm, _DEFINITION, consumed, consumed), "value": value}


def gaussian_scale(sigma: float) -> Fact:
    """State the noise scale of the Gaussian mechanism.

    Parameters
    ----------
    sigma : float
        Standard deviation, on the scaled axis (no unit).

    Returns
    -------
    Fact
        ``mechanism.noise_scale``.
    """
    return derived(
        sigma, _BALLE_WANG,
        "smallest sigma with delta_analytic(mechanism.epsilon, sigma, sensitivity.value)"
        " <= guarantee.delta_calibrated, rounded up",
        "mechanism.epsilon", "guarantee.delta_calibrated", "sensitivity.value",
    )  # fmt: skip


def laplace_scale(scale: float) -> Fact:
    """State the noise scale of the Laplace mechanism.

    Parameters
    ----------
    scale : float
        Scale b, on the scaled axis (no unit).

    Returns
    -------
    Fact
        ``mechanism.noise_scale``.
    """
    return derived(
        scale, _DWORK, "sensitivity.value / mechanism.epsilon, rounded up",
        "mechanism.epsilon", "sensitivity.value",
    )  # fmt: skip


def paper_scale(scale: float) -> Fact:
    """State the noise scale that the paper used.

    Parameters
    ----------
    scale : float
        Scale b, on the scaled axis (no unit).

    Returns
    -------
    Fact
        ``mechanism.noise_scale``.
    """
    return derived(
        scale, "the paper, equation 11",
        "adjacency.factor * bound.clip_norm / mechanism.epsilon",
        "mechanism.epsilon", "adjacency.factor", "bound.clip_norm",
    )  # fmt: skip


def mechanism_link(mechanism: AdditiveMechanism, scale: Fact) -> Link:
    """State the noise of a mechanism.

    Parameters
    ----------
    mechanism : AdditiveMechanism
        The mechanism.
    scale : Fact
        Its noise scale.

    Returns
    -------
    mapping of str to Fact
        Facts of the link ``mechanism``.
    """
    name, noise_scale = "mechanism.name", "mechanism.noise_scale"
    gaussian = mechanism.distribution == "discrete_gaussian"
    return {
        "name": setting(mechanism.spec.name),
        "distribution": derived(
            mechanism.distribution, "Canonne, Kamath and Steinke 2020",
            "discrete_gaussian for gaussian, discrete_laplace for laplace and paper_laplace", name,
        ),
        "consumes_norm": derived(
            mechanism.consumes_norm, _DEFINITION,
            "l2 for gaussian, l1 for laplace and paper_laplace", name,
        ),
        "noise_scale": scale,
        "noise_std": derived(
            mechanism.noise_std, "definition of the distribution",
            noise_scale if gaussian else f"sqrt(2) * {noise_scale}", noise_scale,
        ),
        "noise_multiplier": derived(
            mechanism.noise_std / mechanism.sensitivity, "definition of the noise multiplier",
            "mechanism.noise_std / sensitivity.value", "mechanism.noise_std", "sensitivity.value",
        ),
        "integer_scale": derived(
            mechanism.integer_scale, _RECIPE, f"{noise_scale} / 2^bound.grid_log2",
            noise_scale, "bound.grid_log2",
        ),
        "rounding": setting("up", _RECIPE),
    }  # fmt: skip


def guarantee_link(guarantee: RowGuarantee, slack: Slack | None = None) -> Link:
    """State what is promised for the rows.

    Parameters
    ----------
    guarantee : RowGuarantee
        What the mechanism promises.
    slack : Slack, optional
        Price of integer noise; none for mechanisms whose proof is on integers.

    Returns
    -------
    mapping of str to Fact
        Facts of the link ``guarantee``, without what labels add.
    """
    scale, sensitivity = "mechanism.noise_scale", "sensitivity.value"
    slack_fact, calibrated, supported = "guarantee.delta_slack", "guarantee.delta_calibrated", None
    if slack is None:
        left = 0.0
        cost = derived(0.0, "the proof is on integers", ON_INTEGERS, "mechanism.name")
        supported = derived(
            guarantee.epsilon_supported, _DWORK, f"{sensitivity} / {scale}", scale, sensitivity
        )
    else:
        left = slack.delta_calibrated
        cost = _slack(slack)
        supported = derived(
            guarantee.epsilon_supported, _BALLE_WANG,
            f"smallest epsilon with delta_analytic(epsilon, {scale}, {sensitivity})"
            f" <= {calibrated}",
            scale, sensitivity, calibrated,
        )  # fmt: skip
    return {
        "variant": derived(
            guarantee.variant, _DEFINITION,
            VARIANT, "mechanism.name",
        ),
        "delta": setting(float(guarantee.delta)),
        "epsilon_rows": setting(float(guarantee.epsilon)),
        "epsilon_supported": supported,
        "delta_slack": cost,
        "delta_calibrated": derived(
            left, "subtraction", f"guarantee.delta - {slack_fact}", "guarantee.delta", slack_fact
        ),
        "proof": setting(guarantee.proof, guarantee.proof),
    }  # fmt: skip


def _slack(slack: Slack) -> Fact:
    share = "bound.dimension / (24 * mechanism.integer_scale^2)"
    rests_on = ("mechanism.epsilon", "bound.dimension", "mechanism.integer_scale")
    if slack.epsilon == 0:
        return derived(slack.delta, _DISCRETE, f"(1 + e^mechanism.epsilon) * {share}", *rests_on)
    return derived(
        slack.delta, f"{_DISCRETE}; Laurent and Massart 2000, Lemma 1",
        f"guarantee.delta - (e^(-{share}) * guarantee.delta - e^-99)",
        *rests_on, "guarantee.delta",
    )  # fmt: skip
