"""What a certificate states of scaling constants that were released under a budget."""

from __future__ import annotations

from collections.abc import Mapping

from neuroveil.privacy.central.quantile_budget import QuantileBudget
from neuroveil.privacy.mechanisms.links import derived, setting
from neuroveil.types.certificate import Fact

_WEIGHTS = "neuroveil: exponential mechanism with whole-numbered weights"
_RANGE = "bounded range: Cesar and Rogers 2021"
_SCALING, _COUNT, _EACH = (
    f"preprocessing.{name}" for name in ("scaling", "n_quantiles", "quantile_epsilon")
)  # fmt: skip


def quantile_facts(budget: QuantileBudget) -> Mapping[str, Fact]:
    """State how quantiles of every column are released.

    Parameters
    ----------
    budget : QuantileBudget
        Epsilon of one quantile and what all of them cost.

    Returns
    -------
    mapping of str to Fact
        Facts of the link ``preprocessing``, beside the step that uses the quantiles.
    """
    spec = budget.spec
    return {
        "quantiles": setting(
            {
                "mechanism": "exponential_of_ranks",
                "probabilities": list(spec.probabilities),
                "absolute_deviation": spec.absolute_deviation,
                "grid": "student_t_2",
                "scale": float(spec.scale),
                "points": spec.points,
            },
            _WEIGHTS,
        ),
        "n_quantiles": derived(
            spec.n_quantiles, "counting",
            "domain.dimension * (length of probabilities + 1 with absolute_deviation)",
            "domain.dimension", "preprocessing.quantiles",
        ),
        "quantile_epsilon": derived(
            budget.epsilon_each, budget.proof,
            "larger of E / n and, where D > 0, the largest e with "
            "epsilon_zcdp(n e^2 / 8, D) <= E, for epsilon E and delta D of "
            "preprocessing.scaling and n = preprocessing.n_quantiles, rounded down",
            _SCALING, _COUNT,
        ),
        "quantile_rho": derived(
            budget.rho, _RANGE, f"{_COUNT} * {_EACH}^2 / 8", _COUNT, _EACH
        ),
    }  # fmt: skip
