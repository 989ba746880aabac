"""What every fact of a certificate has to be: the table of ``docs/certificate.md`` as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from neuroveil.privacy.verify import shapes
from neuroveil.privacy.verify.shapes import Shape, is_kind
from neuroveil.privacy.verify.statement import Statement

_MANY = 10**9
_WIDE = 1e150

Case = Callable[[Statement], bool]


@dataclass(frozen=True)
class Derivation:
    """How a fact follows.

    Parameters
    ----------
    formula : str or None
        The formula, letter by letter.
    rests_on : tuple of str
        Dotted names of the facts that it follows from, in order.
    applies : callable, optional
        Whether this derivation is the right one for a statement; always where left out.
    """

    formula: str | None = None
    rests_on: tuple[str, ...] = ()
    applies: Case = lambda _: True


@dataclass(frozen=True)
class FactRule:
    """What one fact has to be.

    Parameters
    ----------
    name : str
        Dotted name.
    shape : Shape
        What its value may look like.
    status : {"proven", "measured", "assumed"}
        Its status.
    derivations : tuple of Derivation
        How it may follow; one of those that apply must be stated.
    """

    name: str
    shape: Shape
    status: str
    derivations: tuple[Derivation, ...]

    @property
    def link(self) -> str:
        """The link that the fact belongs to."""
        return self.name.partition(".")[0]


def _named(*mechanisms: str) -> Case:
    return lambda statement: statement.text("mechanism.name") in mechanisms


def _bound(norm: str) -> Case:
    return lambda statement: statement.text("bound.norm") == norm


def _l1_under_l2(statement: Statement) -> bool:
    return _bound("l2")(statement) and _named("laplace", "paper_laplace")(statement)


def _other_than_l1_under_l2(statement: Statement) -> bool:
    return not _l1_under_l2(statement)


_GAUSSIAN, _BOTH_LAPLACE = _named("gaussian"), _named("laplace", "paper_laplace")
_FROM_BOUND = ("bound.norm", "bound.clip_norm", "bound.method", "bound.grid_log2")
_FROM_CLIPPING = (
    "unit.rows_per_unit_max", "adjacency.factor", "bound.norm", "bound.clip_norm",
    "bound.exact_integer_check", "preprocessing.scaling", "sensitivity.norm",
)  # fmt: skip
_FROM_SCALE = ("guarantee.epsilon_rows", "domain.dimension", "mechanism.integer_scale")


def _assumed(name: str, shape: Shape) -> FactRule:
    return FactRule(name, shape, "assumed", (Derivation(),))


def _measured(name: str, shape: Shape, formula: str | None = None) -> FactRule:
    return FactRule(name, shape, "measured", (Derivation(formula),))


def _proven(name: str, shape: Shape, formula: str, *rests_on: str) -> FactRule:
    return FactRule(name, shape, "proven", (Derivation(formula, rests_on),))


def _by_case(name: str, shape: Shape, *derivations: Derivation) -> FactRule:
    return FactRule(name, shape, "proven", derivations)


_WHO_AND_WHAT = (
    _assumed("unit.entity", shapes.one_of("patient")),
    _proven(
        "unit.rows_per_unit_max", shapes.one_of(1),
        "all recordings of a patient are pooled into one row", "unit.entity", "unit.dedup",
    ),
    _assumed("unit.dedup", shapes.one_of("roster_key")),
    _assumed("adjacency.relation", shapes.one_of("replace_one")),
    _proven(
        "adjacency.factor", shapes.one_of(2),
        "2 for replace_one, 1 for add_or_remove_one", "adjacency.relation",
    ),
    _measured("adjacency.n_roster", shapes.integer(1, _MANY)),
    _measured(
        "domain.dimension", shapes.integer(1, _MANY), "number of columns that the study lists"
    ),
    _proven("domain.n", shapes.integer(1, _MANY), "adjacency.n_roster", "adjacency.n_roster"),
    _measured("domain.columns_digest", shapes.digest(), "sha256 of the JSON list of column names"),
    _assumed("domain.missing_policy", shapes.one_of("public_centre")),
    _assumed("domain.labels", shapes.labels()),
    _assumed("domain.unprotected", shapes.names()),
    _assumed("preprocessing.features", shapes.step()),
    _assumed("preprocessing.scaling", shapes.step()),
)  # fmt: skip

_BOUND_AND_SENSITIVITY = (
    _assumed("bound.norm", shapes.one_of("l2", "l1")),
    _assumed("bound.clip_norm", shapes.number(0, _WIDE, includes_low=False)),
    _assumed("bound.method", shapes.one_of("scale_to_norm_then_truncate_toward_zero")),
    _assumed("bound.grid_log2", shapes.integer(-1022, 512)),
    FactRule(
        "bound.exact_integer_check", shapes.one_of(True), "measured",
        (
            Derivation(
                "sum(m_j^2) <= (bound.clip_norm / 2^bound.grid_log2)^2 for every row, in integers",
                _FROM_BOUND, _bound("l2"),
            ),
            Derivation(
                "sum(abs(m_j)) <= bound.clip_norm / 2^bound.grid_log2 for every row, in integers",
                _FROM_BOUND, _bound("l1"),
            ),
        ),
    ),
    _proven(
        "sensitivity.norm", shapes.one_of("l2", "l1"),
        "mechanism.consumes_norm", "mechanism.consumes_norm",
    ),
    _by_case(
        "sensitivity.value", shapes.number(0, _WIDE, includes_low=False),
        Derivation(
            "adjacency.factor * bound.clip_norm", _FROM_CLIPPING, _other_than_l1_under_l2
        ),
        Derivation(
            "adjacency.factor * sqrt(domain.dimension) * bound.clip_norm",
            (*_FROM_CLIPPING, "domain.dimension"), _l1_under_l2,
        ),
    ),
)  # fmt: skip

_MECHANISM = (
    _assumed("mechanism.name", shapes.one_of("gaussian", "laplace", "paper_laplace")),
    _proven(
        "mechanism.distribution", shapes.one_of("discrete_gaussian", "discrete_laplace"),
        "discrete_gaussian for gaussian, discrete_laplace for laplace and paper_laplace",
        "mechanism.name",
    ),
    _proven(
        "mechanism.consumes_norm", shapes.one_of("l2", "l1"),
        "l2 for gaussian, l1 for laplace and paper_laplace", "mechanism.name",
    ),
    _by_case(
        "mechanism.noise_scale", shapes.number(0, _WIDE, includes_low=False),
        Derivation(
            "smallest sigma with delta_analytic(guarantee.epsilon_rows, sigma, "
            "sensitivity.value) <= guarantee.delta_calibrated, rounded up",
            ("guarantee.epsilon_rows", "guarantee.delta_calibrated", "sensitivity.value"),
            _GAUSSIAN,
        ),
        Derivation(
            "sensitivity.value / guarantee.epsilon_rows, rounded up",
            ("guarantee.epsilon_rows", "sensitivity.value"), _named("laplace"),
        ),
        Derivation(
            "adjacency.factor * bound.clip_norm / guarantee.epsilon_rows",
            ("guarantee.epsilon_rows", "adjacency.factor", "bound.clip_norm"),
            _named("paper_laplace"),
        ),
    ),
    _by_case(
        "mechanism.noise_std", shapes.number(0, _WIDE, includes_low=False),
        Derivation("mechanism.noise_scale", ("mechanism.noise_scale",), _GAUSSIAN),
        Derivation("sqrt(2) * mechanism.noise_scale", ("mechanism.noise_scale",), _BOTH_LAPLACE),
    ),
    _proven(
        "mechanism.noise_multiplier", shapes.number(0, _WIDE, includes_low=False),
        "mechanism.noise_std / sensitivity.value", "mechanism.noise_std", "sensitivity.value",
    ),
    _proven(
        "mechanism.integer_scale", shapes.number(2.0**20, 2.0**57),
        "mechanism.noise_scale / 2^bound.grid_log2", "mechanism.noise_scale", "bound.grid_log2",
    ),
    _assumed("mechanism.rounding", shapes.one_of("up")),
    _assumed("sampler.library", shapes.one_of("opendp")),
    _measured("sampler.version", shapes.words()),
    _assumed("sampler.exact", shapes.one_of(True)),
    _assumed("sampler.source", shapes.one_of("operating_system")),
    _assumed("sampler.seeded", shapes.one_of(False)),
)  # fmt: skip

_GUARANTEE = (
    _proven(
        "guarantee.variant", shapes.one_of("approximate_dp", "pure_dp"),
        "approximate_dp for gaussian, pure_dp for laplace and paper_laplace", "mechanism.name",
    ),
    _proven(
        "guarantee.epsilon", shapes.number(1e-12, 1e6),
        "guarantee.epsilon_rows + guarantee.epsilon_labels",
        "guarantee.epsilon_rows", "guarantee.epsilon_labels",
    ),
    _assumed("guarantee.delta", shapes.number(0, 0.5)),
    _assumed("guarantee.epsilon_rows", shapes.number(1e-12, 1e6)),
    _proven(
        "guarantee.epsilon_labels", shapes.number(0, 1e6),
        "sum of epsilon over domain.labels", "domain.labels",
    ),
    _by_case(
        "guarantee.epsilon_supported", shapes.number(0, _WIDE),
        Derivation(
            "smallest epsilon with delta_analytic(epsilon, mechanism.noise_scale, "
            "sensitivity.value) <= guarantee.delta_calibrated",
            ("mechanism.noise_scale", "sensitivity.value", "guarantee.delta_calibrated"),
            _GAUSSIAN,
        ),
        Derivation(
            "sensitivity.value / mechanism.noise_scale",
            ("mechanism.noise_scale", "sensitivity.value"), _BOTH_LAPLACE,
        ),
    ),
    _by_case(
        "guarantee.delta_slack", shapes.number(0, 0.5),
        Derivation(
            "(1 + e^guarantee.epsilon_rows) * domain.dimension / "
            "(24 * mechanism.integer_scale^2)", _FROM_SCALE, _GAUSSIAN,
        ),
        Derivation(
            "guarantee.delta - (e^(-domain.dimension / (24 * mechanism.integer_scale^2)) * "
            "guarantee.delta - e^-99)", (*_FROM_SCALE, "guarantee.delta"), _GAUSSIAN,
        ),
        Derivation("0 under pure_dp", ("guarantee.variant",), _BOTH_LAPLACE),
    ),
    _proven(
        "guarantee.delta_calibrated", shapes.number(0, 0.5),
        "guarantee.delta - guarantee.delta_slack", "guarantee.delta", "guarantee.delta_slack",
    ),
    _assumed("guarantee.proof", shapes.words()),
)  # fmt: skip


def _is_event_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(entry, Mapping) for entry in value)


def _is_cross_check(value: Any) -> bool:
    optional = {"epsilon", "zcdp_rho"}
    return (
        isinstance(value, Mapping)
        and set(value) == {"method", "version", "delta", *optional}
        and all(is_kind(value[key], "text") and value[key] for key in ("method", "version"))
        and all(value[key] is None or is_kind(value[key], "number") for key in optional)
        and is_kind(value["delta"], "number") and 0 <= value["delta"] < 1
    )  # fmt: skip


_BOOKS = (
    _assumed("accountant.name", shapes.one_of("analytic_gaussian", "laplace_closed_form")),
    _measured("accountant.version", shapes.words()),
    _proven(
        "accountant.adjacency", shapes.one_of("replace_one"),
        "adjacency.relation", "adjacency.relation",
    ),
    _proven(
        "accountant.events", Shape("objects", "a list of events", _is_event_list),
        "one event for the rows, one for each of domain.labels",
        "mechanism.name", "mechanism.noise_multiplier", "domain.labels",
    ),
    _measured(
        "accountant.cross_check",
        Shape("object", "{method, version, epsilon, delta, zcdp_rho}", _is_cross_check),
    ),
    _assumed("composition.rule", shapes.one_of("basic")),
    _assumed("composition.limit", shapes.budget()),
    _measured("composition.spent_before", shapes.budget()),
    _proven(
        "composition.remaining", shapes.budget(),
        "limit - spent_before - (guarantee.epsilon, guarantee.delta)",
        "composition.limit", "composition.spent_before", "guarantee.epsilon", "guarantee.delta",
    ),
    _measured("composition.prior_releases", shapes.integer(0, _MANY)),
    _assumed("model.trust", shapes.one_of("local")),
    _proven("model.batch", shapes.integer(1, _MANY), "domain.n", "domain.n"),
    _assumed("model.who_is_trusted", shapes.words()),
    _assumed(
        "postprocessing.steps",
        Shape("objects", "an empty list", lambda value: value == [] and isinstance(value, list)),
    ),
    _assumed("postprocessing.row_order", shapes.one_of("random_permutation")),
    _proven(
        "utility.predicted",
        shapes.numbers("rmse", "mae", "correlation", "snr_db", "mse_over_clip_norm_squared"),
        "closed form for rows of norm clip_norm whose cells average to zero",
        "mechanism.name", "mechanism.noise_std", "bound.clip_norm", "domain.dimension",
    ),
    _assumed("utility.source", shapes.one_of("public")),
    _measured("software.versions", shapes.versions("neuroveil", "opendp")),
    _proven(
        "software.lock_digest", shapes.digest(),
        "sha256 of the JSON of software.versions", "software.versions",
    ),
    _measured("software.commit", shapes.commit()),
)  # fmt: skip

RULES: tuple[FactRule, ...] = (
    *_WHO_AND_WHAT, *_BOUND_AND_SENSITIVITY, *_MECHANISM, *_GUARANTEE, *_BOOKS,
)  # fmt: skip
"""The facts in the order of the derivation."""

FACT_NAMES: tuple[str, ...] = tuple(rule.name for rule in RULES)


def claim_mistake(name: str, value: Any) -> str | None:
    """What is wrong with the kind of a claim's value.

    Parameters
    ----------
    name : str
        Dotted name of a fact.
    value : value
        What the claim states.

    Returns
    -------
    str or None
        What was expected, or ``None`` where the kind is right.
    """
    shape = next(rule.shape for rule in RULES if rule.name == name)
    if not is_kind(value, shape.kind):
        return f"a value of the kind {shape.kind}"
    if shape.keys:
        for entry in value if isinstance(value, list) else [value]:
            if not isinstance(entry, Mapping) or not all(
                key in shape.keys and is_kind(inner, shape.keys[key])
                for key, inner in entry.items()
            ):
                return shape.expected
    return None
