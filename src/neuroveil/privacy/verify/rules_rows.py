"""The contract's table, first part: from the patient to the sensitivity."""

from __future__ import annotations

from neuroveil.privacy.verify import forms, shapes
from neuroveil.privacy.verify.forms import LARGE, MANY
from neuroveil.privacy.verify.rule import (
    GAUSSIAN,
    PRIVUNIT,
    Rule,
    assumed,
    either,
    measured,
    proven,
    when,
)

_POSITIVE = shapes.number(0, LARGE, includes_low=False)
_DRAWN = when(fitted="dp")
_IN_INTEGERS = ("bound.norm", "bound.clip_norm", "bound.method", "bound.grid_log2")
_CLIPPING = (
    "unit.rows_per_unit_max", "adjacency.factor", "bound.norm", "bound.clip_norm",
    "bound.exact_integer_check", "preprocessing.scaling", "preprocessing.projection",
    "sensitivity.norm",
)  # fmt: skip

_LINKED = (
    "linked_pool", "linked_keep_longest", "linked_keep_newest", "linked_hospital_order",
)  # fmt: skip
DEDUP = ("roster_key", *_LINKED, *(f"{policy}_undecided_together" for policy in _LINKED))
"""How people with several keys on the roster were found, and what became of their rows."""

PEOPLE: tuple[Rule, ...] = (
    assumed("unit.entity", shapes.one_of("patient")),
    proven(
        "unit.rows_per_unit_max", shapes.one_of(1),
        "all recordings of a patient are pooled into one row", "unit.entity", "unit.dedup",
    ),
    assumed("unit.dedup", shapes.one_of(*DEDUP)),
    assumed("adjacency.relation", shapes.one_of("replace_one")),
    proven(
        "adjacency.factor", shapes.one_of(2),
        "2 for replace_one, 1 for add_or_remove_one", "adjacency.relation",
    ),
    measured("adjacency.n_roster", shapes.integer(1, MANY)),
    measured(
        "domain.dimension", shapes.integer(1, MANY), "number of columns that the study lists"
    ),
    proven("domain.n", shapes.integer(1, MANY), "adjacency.n_roster", "adjacency.n_roster"),
    measured("domain.columns_digest", shapes.digest(), "sha256 of the JSON list of column names"),
    assumed("domain.missing_policy", shapes.one_of("public_centre")),
    assumed("domain.labels", forms.labels()),
    assumed("domain.unprotected", shapes.names()),
    assumed("preprocessing.features", forms.step("features", "public", "private")),
    assumed(
        "preprocessing.scaling", forms.step("scaling", "public", "private"),
        case=when(fitted="other"),
    ),
    assumed("preprocessing.scaling", forms.paid_step("scaling"), case=_DRAWN),
    assumed("preprocessing.quantiles", forms.quantiles(), case=_DRAWN),
    proven(
        "preprocessing.n_quantiles", shapes.integer(2, MANY),
        "domain.dimension * (length of probabilities + 1 with absolute_deviation)",
        "domain.dimension", "preprocessing.quantiles", case=_DRAWN,
    ),
    proven(
        "preprocessing.quantile_epsilon", _POSITIVE,
        "larger of E / n and, where D > 0, the largest e with epsilon_zcdp(n e^2 / 8, D) <= E, "
        "for epsilon E and delta D of preprocessing.scaling and n = preprocessing.n_quantiles, "
        "rounded down",
        "preprocessing.scaling", "preprocessing.n_quantiles", case=_DRAWN,
    ),
    proven(
        "preprocessing.quantile_rho", _POSITIVE,
        "preprocessing.n_quantiles * preprocessing.quantile_epsilon^2 / 8",
        "preprocessing.n_quantiles", "preprocessing.quantile_epsilon", case=_DRAWN,
    ),
    assumed("preprocessing.projection", shapes.nullable(forms.step("projection", "public"))),
)  # fmt: skip
"""Unit, adjacency, domain and preprocessing."""

BOUNDS: tuple[Rule, ...] = (
    assumed("bound.norm", shapes.one_of("l2", "l1")),
    assumed("bound.clip_norm", _POSITIVE),
    proven(
        "bound.dimension", shapes.integer(1, MANY), "domain.dimension", "domain.dimension",
        case=when(projected="no"),
    ),
    proven(
        "bound.dimension", shapes.integer(1, MANY), "components of preprocessing.projection",
        "preprocessing.projection", case=when(projected="yes"),
    ),
    assumed("bound.method", shapes.one_of("scale_to_norm_then_truncate_toward_zero")),
    assumed("bound.grid_log2", shapes.integer(-1022, 512)),
    measured(
        "bound.exact_integer_check", shapes.one_of(True),
        "sum(m_j^2) <= (bound.clip_norm / 2^bound.grid_log2)^2 for every row, in integers",
        *_IN_INTEGERS, case=when(norm="l2"),
    ),
    measured(
        "bound.exact_integer_check", shapes.one_of(True),
        "sum(abs(m_j)) <= bound.clip_norm / 2^bound.grid_log2 for every row, in integers",
        *_IN_INTEGERS, case=when(norm="l1"),
    ),
    proven(
        "sensitivity.norm", shapes.one_of("l2", "l1", "none"),
        "mechanism.consumes_norm", "mechanism.consumes_norm",
    ),
    proven(
        "sensitivity.value", _POSITIVE, "adjacency.factor * bound.clip_norm", *_CLIPPING,
        case=either(GAUSSIAN, when(mechanism=("laplace", "paper_laplace"), norm="l1")),
    ),
    proven(
        "sensitivity.value", _POSITIVE,
        "adjacency.factor * sqrt(bound.dimension) * bound.clip_norm",
        *_CLIPPING, "bound.dimension",
        case=when(mechanism=("laplace", "paper_laplace"), norm="l2"),
    ),
    proven(
        "sensitivity.value", shapes.nothing(),
        "not needed: a codeword has one of two probabilities from any row",
        "unit.rows_per_unit_max", "preprocessing.scaling", "preprocessing.projection",
        "sensitivity.norm", case=PRIVUNIT,
    ),
)  # fmt: skip
"""Bound and sensitivity."""
