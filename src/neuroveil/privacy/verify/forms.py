"""The objects inside facts: steps, labels, budgets, events, post-processing."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from neuroveil.privacy.verify import shapes
from neuroveil.privacy.verify.shapes import Kind, Shape, is_kind
from neuroveil.privacy.verify.statement import as_number

LARGE = 1e150
MANY = 10**9

STEP_ORDER = (
    "wiener", "james_stein", "projection_back", "unclipping", "clamp", "inverse_scaling",
)  # fmt: skip
"""The steps that may follow the mechanism, in the only order in which they may stand."""

_POSITIVE = shapes.number(0, LARGE, includes_low=False)
_ANY = shapes.number(-LARGE, LARGE)
_FINITE = {
    "wiener": shapes.record({"noise_variance": _POSITIVE}),
    "james_stein": shapes.record({"noise_variance": _POSITIVE}),
    "projection_back": shapes.record({"components": shapes.integer(1, MANY)}),
    "unclipping": shapes.record({"factor": _POSITIVE}),
    "clamp": shapes.record({"low": _ANY, "high": _ANY}),
    "inverse_scaling": shapes.record({"log10_columns": shapes.integer(0, MANY)}),
}  # fmt: skip


def any_object() -> Shape:
    """An object with whatever it holds.

    Returns
    -------
    Shape
        The requirement.
    """
    return Shape(
        "object", "an object", lambda value: isinstance(value, Mapping), {"type": "object"}
    )


def step(name: str, *fitted_on: str) -> Shape:
    """An object that describes a step of preprocessing.

    Parameters
    ----------
    name : str
        Name of the step, which is that of its fact.
    *fitted_on : str
        What it may be fitted on.

    Returns
    -------
    Shape
        The requirement; ε and δ are 0.
    """
    return shapes.record(
        {
            "step": shapes.one_of(name), "params": any_object(), "params_digest": shapes.digest(),
            "fitted_on": shapes.one_of(*fitted_on), "epsilon": shapes.number(0, 0),
            "delta": shapes.number(0, 0),
        }
    )  # fmt: skip


def paid_step(name: str) -> Shape:
    """An object that describes a step of preprocessing with a budget of its own.

    Parameters
    ----------
    name : str
        Name of the step, which is that of its fact.

    Returns
    -------
    Shape
        The requirement.
    """
    return shapes.record(
        {
            "step": shapes.one_of(name), "params": any_object(), "params_digest": shapes.digest(),
            "fitted_on": shapes.one_of("dp"),
            "epsilon": shapes.number(1e-12, 1e6), "delta": shapes.number(0, 0.5),
        }
    )  # fmt: skip


def quantiles() -> Shape:
    """How quantiles of every column are released.

    Returns
    -------
    Shape
        The requirement: the median and the median absolute deviation from it.
    """

    def is_median(value: Any) -> bool:
        return isinstance(value, list) and [as_number(each) for each in value] == [Fraction(1, 2)]

    median = Shape("list", "[0.5]", is_median, {"const": [0.5]})
    return shapes.record(
        {
            "mechanism": shapes.one_of("exponential_of_ranks"), "probabilities": median,
            "absolute_deviation": shapes.one_of(True), "grid": shapes.one_of("student_t_2"),
            "scale": _POSITIVE, "points": shapes.integer(2, 1 << 16),
        }
    )  # fmt: skip


def labels() -> Shape:
    """A list of label columns under randomised response.

    Returns
    -------
    Shape
        The requirement: distinct names, two or more categories, ε above 0.
    """
    entry = shapes.record(
        {
            "name": shapes.words(), "policy": shapes.one_of("randomised_response"),
            "n_categories": shapes.integer(2, MANY),
            "epsilon": shapes.number(0, 1e6, includes_low=False),
        }
    )  # fmt: skip
    return shapes.many(entry, "{name, policy, n_categories, epsilon}", distinct="name")


def budget() -> Shape:
    """An object ``{epsilon, delta}``.

    Returns
    -------
    Shape
        The requirement; a negative entry fits, so that overspending can be named.
    """
    return shapes.record({"epsilon": _ANY, "delta": _ANY})


def prior_events() -> Shape:
    """A list of what was released before about the same patients.

    Returns
    -------
    Shape
        The requirement.
    """
    entry = shapes.record(
        {
            "mechanism": shapes.words(),
            "epsilon": shapes.number(0, 1e6, includes_low=False),
            "delta": shapes.number(0, 1),
            "noise_multiplier": _POSITIVE,
            "integer_scale": _POSITIVE,
            "dimension": shapes.integer(1, MANY),
        },
        optional=("noise_multiplier", "integer_scale", "dimension"),
    )
    return shapes.many(entry, "{mechanism, epsilon, delta} or the same with the noise")


def events() -> Shape:
    """A list of what is released; its content is compared with what it should be.

    Returns
    -------
    Shape
        The requirement.
    """
    return shapes.many(any_object(), "events")


def cross_check() -> Shape:
    """A second opinion by a library.

    Returns
    -------
    Shape
        The requirement.
    """
    positive = shapes.nullable(shapes.number(0, LARGE))
    return shapes.record(
        {
            "method": shapes.words(), "version": shapes.words(), "epsilon": positive,
            "delta": shapes.number(0, 1), "zcdp_rho": positive,
        }
    )  # fmt: skip


def figures(*keys: str) -> Shape:
    """An object with a number under each key.

    Parameters
    ----------
    *keys : str
        The keys, no more and no fewer.

    Returns
    -------
    Shape
        The requirement.
    """
    return shapes.record(dict.fromkeys(keys, _ANY))


def correlation() -> Shape:
    """An object ``{correlation}``, or null.

    Returns
    -------
    Shape
        The requirement.
    """
    return shapes.nullable(shapes.record({"correlation": shapes.number(-1, 1)}))


def statistics() -> Shape:
    """The statistics of a central release.

    Returns
    -------
    Shape
        The requirement.
    """
    entry = shapes.record(
        {
            "name": shapes.words(), "sensitivity_norm": shapes.one_of("l1", "l2"),
            "sensitivity": _POSITIVE, "noise_scale": _POSITIVE,
            "grid_log2": shapes.integer(-1022, 512), "share": shapes.number(0, 1),
        }
    )  # fmt: skip
    return shapes.many(entry, "released statistics")


def postprocessing() -> Shape:
    """The steps that follow the mechanism.

    Returns
    -------
    Shape
        The requirement: known steps with their own settings, in their order, each at most once.
    """
    keys: dict[str, Kind] = {
        "step": "text", "params": "object", "public_inputs_digest": "text",
    }  # fmt: skip

    def fits(value: Any) -> bool:
        if not isinstance(value, list) or not all(map(_is_step, value)):
            return False
        places = [STEP_ORDER.index(entry["step"]) for entry in value]
        return places == sorted(set(places))

    entries = [
        {
            "type": "object",
            "properties": {
                "step": {"const": name}, "params": _FINITE[name].schema,
                "public_inputs_digest": shapes.digest().schema,
            },
            "required": list(keys), "additionalProperties": False,
        }
        for name in STEP_ORDER
    ]  # fmt: skip
    schema = {"type": "array", "items": {"oneOf": entries}, "maxItems": len(STEP_ORDER)}
    return Shape("objects", "known steps, in their order", fits, schema, keys)


def _is_step(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and set(value) == {"step", "params", "public_inputs_digest"}
        and is_kind(value["step"], "text") and value["step"] in STEP_ORDER
        and _FINITE[value["step"]].fits(value["params"])
        and shapes.is_digest(value["public_inputs_digest"])
    )  # fmt: skip
