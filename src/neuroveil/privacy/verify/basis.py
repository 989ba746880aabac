"""What the chain rests on, derived from the assumed facts only.

Each number here is worked out from the foundations (relation, clip norm, dimension, mechanism),
never from another stated result: a forger who recomputes everything consistently gains nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from neuroveil.privacy.verify import arithmetic
from neuroveil.privacy.verify.arithmetic import precise, to_decimal
from neuroveil.privacy.verify.statement import Statement, as_number

CONSUMES = {"gaussian": "l2", "laplace": "l1", "paper_laplace": "l1", "privunit": "none"}
"""The norm of the sensitivity that each mechanism needs."""

PURE = ("laplace", "privunit")
"""Mechanisms that keep δ = 0 for every row on its own."""

FACTORS = {"replace_one": 2, "add_or_remove_one": 1}
"""How many clipped rows two neighbouring tables can be apart."""


def consumed_norm(statement: Statement) -> str | None:
    """Norm that the mechanism needs its sensitivity in.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Returns
    -------
    str or None
        ``"l2"``, ``"l1"``, ``"none"``, or ``None`` for a mechanism that is unknown.
    """
    return CONSUMES.get(statement.text("mechanism.name") or "")


def is_shuffled(statement: Statement) -> bool:
    """Whether the guarantee is one after shuffling.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Returns
    -------
    bool
        True for the shuffled trust model.
    """
    return statement.text("model.trust") == "shuffled"


def row_dimension(statement: Statement) -> int | None:
    """Number of coordinates that are bounded and randomised.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Returns
    -------
    int or None
        The components of the projection where rows are projected, otherwise the number of
        feature columns (in a claim also what it states of the bound); ``None`` where it is not
        stated or not positive.
    """
    if statement.raw("preprocessing.projection") is not None:
        params = statement.raw("preprocessing.projection", "params")
        found = params.get("components") if isinstance(params, Mapping) else None
    else:
        found = statement.raw("domain.dimension")
        if statement.is_claim and statement.raw("bound.dimension") is not None:
            found = statement.raw("bound.dimension")
    if isinstance(found, bool) or not isinstance(found, int) or found < 1:
        return None
    return found


def mechanism_epsilon(statement: Statement) -> Fraction | None:
    """ε that one row on its own is randomised with.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Returns
    -------
    Fraction or None
        ε₀ where rows are shuffled, otherwise the ε of the rows.
    """
    if is_shuffled(statement):
        return statement.number("amplification.epsilon_local")
    return row_epsilon(statement)


def squared_sensitivity(statement: Statement, norm: str | None) -> Fraction | None:
    """Square of the sensitivity of the clipped table, exactly.

    For m rows a patient and the factor f of the adjacency: m f² C² in the norm of the bound
    with rows that add up in squares (l2), m² f² C² under an l1 bound, and m² f² d C² for an l1
    sensitivity under an l2 bound (Cauchy & Schwarz).

    Parameters
    ----------
    statement : Statement
        The stated facts.
    norm : str or None
        ``"l2"`` or ``"l1"``.

    Returns
    -------
    Fraction or None
        ``None`` where a fact that it needs is not stated.
    """
    factor = FACTORS.get(statement.text("adjacency.relation") or "")
    clip_norm = statement.number("bound.clip_norm")
    rows, bound = statement.integer("unit.rows_per_unit_max"), statement.text("bound.norm")
    if factor is None or clip_norm is None or rows is None or rows < 1:
        return None
    if norm not in {"l1", "l2"} or bound not in {"l1", "l2"}:
        return None
    one_row = Fraction(factor) ** 2 * clip_norm**2
    if norm == "l2":
        return rows * one_row
    if bound == "l1":
        return rows**2 * one_row
    dimension = row_dimension(statement)
    return None if dimension is None else rows**2 * one_row * dimension


def stated_norm(statement: Statement) -> str | None:
    """Norm of the stated sensitivity: as stated, or the one whose value it is.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Returns
    -------
    str or None
        ``None`` where it is not stated and the value fits no norm.
    """
    named = statement.text("sensitivity.norm")
    value = statement.number("sensitivity.value")
    if named is not None or value is None:
        return named
    consumed = consumed_norm(statement)
    for norm in dict.fromkeys((consumed, "l2", "l1")):
        square = squared_sensitivity(statement, norm)
        if square is not None and abs(value**2 - square) <= square / 1000:
            return norm
    return None


def label_epsilon(statement: Statement) -> Fraction:
    """Budget of the label columns: the sum over randomised response.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Returns
    -------
    Fraction
        0 where no label is stated.
    """
    budgets = (as_number(entry.get("epsilon")) for entry in statement.entries("domain.labels"))
    return sum((budget or Fraction(0) for budget in budgets), Fraction(0))


def step_budget(statement: Statement, key: str) -> Fraction:
    """Budget that the steps of preprocessing state for themselves.

    Parameters
    ----------
    statement : Statement
        The stated facts.
    key : str
        ``"epsilon"`` or ``"delta"``.

    Returns
    -------
    Fraction
        0 where none is stated.
    """
    steps = ("preprocessing.features", "preprocessing.scaling", "preprocessing.projection")
    return sum((statement.number(step, key) or Fraction(0) for step in steps), Fraction(0))


def row_epsilon(statement: Statement) -> Fraction | None:
    """ε that is left for the rows.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Returns
    -------
    Fraction or None
        As stated; in a claim that does not state it, the whole less labels and scaling.
    """
    stated = statement.number("guarantee.epsilon_rows")
    whole = statement.number("guarantee.epsilon")
    if stated is not None or whole is None or not statement.is_claim:
        return stated
    return whole - label_epsilon(statement) - step_budget(statement, "epsilon")


def row_delta(statement: Statement) -> Fraction | None:
    """δ that is left for the rows.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Returns
    -------
    Fraction or None
        ``None`` where none is stated.
    """
    stated, whole = statement.number("guarantee.delta_rows"), statement.number("guarantee.delta")
    if is_drawn(statement) and stated is not None:
        return stated
    return None if whole is None else whole - step_budget(statement, "delta")


def is_drawn(statement: Statement) -> bool:
    """Whether scaling constants were drawn under a budget of their own.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Returns
    -------
    bool
        True for quantiles of all patients.
    """
    return statement.text("preprocessing.scaling", "fitted_on") == "dp"


def scaling_events(statement: Statement) -> list[dict[str, Any]]:
    """What constants of scaling are to an accountant.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Returns
    -------
    list of dict
        One event, or none where no constants were drawn.
    """
    if not is_drawn(statement):
        return []
    step = "preprocessing.scaling"
    epsilon, delta = statement.raw(step, "epsilon"), statement.raw(step, "delta")
    return [{"mechanism": "dp_quantiles", "epsilon": epsilon, "delta": delta, "releases": 1}]


def integer_scale(statement: Statement) -> Decimal | None:
    """Noise scale in steps of the grid.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Returns
    -------
    Decimal or None
        ``None`` for continuous noise (no grid is stated).
    """
    grid, scale = statement.integer("bound.grid_log2"), statement.number("mechanism.noise_scale")
    if grid is None or scale is None or abs(grid) > 1100:
        return None
    return to_decimal(scale / Fraction(2) ** grid)


def slacks(statement: Statement, epsilon: Decimal, delta: Decimal) -> tuple[Decimal, Decimal]:
    """Price of integer Gaussian noise by the first and by the second proof.

    Parameters
    ----------
    statement : Statement
        The stated facts.
    epsilon, delta : Decimal
        ε and δ of the rows.

    Returns
    -------
    tuple of Decimal
        By total variation, and by likelihood ratio (infinite where that proof does not
        apply); both 0 for continuous noise.
    """
    scale, dimension = integer_scale(statement), row_dimension(statement)
    if scale is None or dimension is None or scale <= 0 or epsilon <= 0:
        return Decimal(0), Decimal(0)
    first = arithmetic.slack_by_total_variation(epsilon, dimension, scale)
    if not arithmetic.second_proof_applies(epsilon, dimension, scale):
        return first, Decimal("Infinity")
    return first, arithmetic.slack_by_likelihood_ratio(delta, dimension, scale)


def gaussian_target(statement: Statement) -> tuple[Decimal, Decimal] | None:
    """ε and δ that the continuous Gaussian mechanism has to meet, by the cheaper proof.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Returns
    -------
    tuple of Decimal or None
        ``None`` where ε or δ is not stated; δ is not above 0 where integer noise eats it up.
    """
    epsilon, delta = mechanism_epsilon(statement), row_delta(statement)
    if epsilon is None or delta is None:
        return None
    with precise():
        whole, limit = to_decimal(epsilon), to_decimal(delta)
        first, second = slacks(statement, whole, limit)
        scale, dimension = integer_scale(statement), row_dimension(statement)
        if first <= second or scale is None or dimension is None:
            return whole, limit - first
        return whole - arithmetic.epsilon_shift(whole, dimension, scale), limit - second
