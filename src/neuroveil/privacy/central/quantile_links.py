"""The links of the chain that a release of quantiles answers for, as facts."""

from __future__ import annotations

from collections.abc import Mapping

from neuroveil.privacy.central.links import model_link
from neuroveil.privacy.central.quantile_budget import QuantileBudget
from neuroveil.privacy.mechanisms.links import derived, setting
from neuroveil.types.certificate import Fact

_WEIGHTS = "neuroveil: exponential mechanism with whole-numbered weights"
_DEFINITION = "definition of the mechanism"
_RANGE = "bounded range: Cesar and Rogers 2021"


def quantile_facts(budget: QuantileBudget) -> Mapping[str, Mapping[str, Fact]]:
    """State the chain of a release of quantiles.

    Parameters
    ----------
    budget : QuantileBudget
        Epsilon of one quantile and what all of them cost.

    Returns
    -------
    mapping of str to mapping of str to Fact
        Facts by link and name.
    """
    spec = budget.spec
    each, count = "mechanism.epsilon_each", "mechanism.n_quantiles"
    return {
        "bound": {
            "norm": setting("none: ranks need no clipping", _WEIGHTS),
            "grid": setting(
                {"quantiles_of": "student_t_2", "scale": spec.scale, "points": spec.points}
            ),
        },
        "sensitivity": {
            "norm": setting("ranks", _DEFINITION),
            "value": derived(
                1, "one patient's value is counted at most once on either side",
                "largest change of the number of ranks between a candidate and the quantile",
                "adjacency.relation",
            ),
        },
        "mechanism": {
            "name": setting("dp_quantiles"),
            "distribution": setting("exponential_mechanism", "McSherry and Talwar 2007"),
            "probabilities": setting(list(spec.probabilities)),
            "absolute_deviation": setting(spec.absolute_deviation),
            "n_quantiles": derived(
                spec.n_quantiles, "counting",
                "domain.dimension * (length of probabilities + 1 with absolute_deviation)",
                "domain.dimension", "mechanism.probabilities", "mechanism.absolute_deviation",
            ),
            "epsilon_each": derived(
                budget.epsilon_each, budget.proof,
                "largest epsilon whose composition keeps (guarantee.epsilon, guarantee.delta), "
                "rounded down",
                "guarantee.epsilon", "guarantee.delta", count,
            ),
            "rounding": setting("weights so that neighbours never differ by more", _WEIGHTS),
        },
        "guarantee": {
            "variant": derived(budget.variant, _DEFINITION, "pure_dp where delta is 0",
                               "guarantee.delta"),
            "epsilon": setting(float(spec.epsilon)),
            "delta": setting(float(spec.delta)),
            "epsilon_pure": derived(
                budget.epsilon_pure, "basic composition", f"{count} * {each}", count, each
            ),
            "zcdp_rho": derived(budget.rho, _RANGE, f"{count} * {each}^2 / 8", count, each),
            "proof": setting(budget.proof, budget.proof),
        },
        "model": model_link(spec.n_patients),
    }  # fmt: skip
