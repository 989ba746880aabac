"""The links of the chain that the codebook mechanism answers for, as facts."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from neuroveil.privacy.codebook.design import PROBABILITY_BITS
from neuroveil.privacy.codebook.vectors import GENERATOR
from neuroveil.privacy.mechanisms.links import ON_INTEGERS, VARIANT, derived, setting
from neuroveil.types.certificate import Fact

if TYPE_CHECKING:
    from neuroveil.privacy.mechanisms.contract import RowGuarantee
    from neuroveil.privacy.mechanisms.privunit import PrivUnit

Link = Mapping[str, Fact]

_RECIPE = "neuroveil: k-closest codewords on the lifted sphere"
_SOURCE = "Bhowmick, Duchi, Freudiger, Kapoor and Rogers 2018"
_TWO_VALUES = "a codeword has one of two probabilities from any row"


def sensitivity_link() -> Link:
    """State that the mechanism's guarantee rests on no distance between rows.

    Returns
    -------
    mapping of str to Fact
        Facts of the link ``sensitivity``.
    """
    consumed = "mechanism.consumes_norm"
    return {
        "norm": derived("none", "definition of the mechanism", consumed, consumed),
        "value": derived(
            None, _TWO_VALUES, "not needed: a codeword has one of two probabilities from any row",
            "unit.rows_per_unit_max", "preprocessing.scaling", "preprocessing.projection",
            "sensitivity.norm",
        ),
    }  # fmt: skip


def mechanism_link(mechanism: PrivUnit) -> Link:
    """State the codebook, the chance of a close codeword and the decoding.

    Parameters
    ----------
    mechanism : PrivUnit
        The mechanism.

    Returns
    -------
    mapping of str to Fact
        Facts of the link ``mechanism``.
    """
    design, seed = mechanism.design, mechanism.codebook_seed
    size, top, name = "mechanism.codebook_size", "mechanism.codebook_top", "mechanism.name"
    chance, sphere = "mechanism.top_probability", "mechanism.sphere_dimension"
    return {
        "name": setting(mechanism.spec.name),
        "distribution": derived(
            "k_closest_codeword", _SOURCE, "k_closest_codeword for privunit", name
        ),
        "consumes_norm": derived("none", "definition of the mechanism", "none for privunit", name),
        "sphere_dimension": derived(
            design.sphere_dimension, _RECIPE, "bound.dimension + 1", "bound.dimension"
        ),
        "codebook_generator": setting(GENERATOR, _RECIPE),
        "codebook_per_message": setting(seed is None),
        "codebook_seed": setting(
            None if seed is None else seed.hex(), "drawn before and without the data"
        ),
        "codebook_size": setting(design.size, _RECIPE),
        "codebook_top": setting(design.top, _RECIPE),
        "top_probability": derived(
            f"{design.threshold}/{1 << PROBABILITY_BITS}", _TWO_VALUES,
            f"e^mechanism.epsilon * K / (e^mechanism.epsilon * K + N - K) with K = {top} and "
            f"N = {size}, rounded down to a multiple of 2^-{PROBABILITY_BITS}",
            "mechanism.epsilon", size, top,
        ),
        "likelihood_ratio": derived(
            _rational(design.likelihood_ratio), _TWO_VALUES,
            f"(p / K) / ((1 - p) / (N - K)) with p = {chance}, K = {top} and N = {size}",
            chance, size, top,
        ),
        "decoding_scale": derived(
            mechanism.decoding_scale, "moments of order statistics of the uniform sphere",
            "bound.clip_norm / E[inner product of the released codeword and the lifted row of "
            "norm 1]",
            "bound.clip_norm", sphere, size, top, chance,
        ),
        "rounding": setting("down", _RECIPE),
    }  # fmt: skip


def guarantee_link(guarantee: RowGuarantee) -> Link:
    """State what is promised for the rows.

    Parameters
    ----------
    guarantee : RowGuarantee
        What the mechanism promises.

    Returns
    -------
    mapping of str to Fact
        Facts of the link ``guarantee``, without what labels add.
    """
    ratio, slack = "mechanism.likelihood_ratio", "guarantee.delta_slack"
    return {
        "variant": derived(
            guarantee.variant, "definition of the mechanism", VARIANT, "mechanism.name"
        ),
        "delta": setting(guarantee.delta),
        "epsilon_rows": setting(guarantee.epsilon),
        "epsilon_supported": derived(
            guarantee.epsilon_supported, _TWO_VALUES, f"ln({ratio})", ratio
        ),
        "delta_slack": derived(0.0, "the proof is on integers", ON_INTEGERS, "mechanism.name"),
        "delta_calibrated": derived(
            0.0, "subtraction", f"guarantee.delta - {slack}", "guarantee.delta", slack
        ),
        "proof": setting(guarantee.proof, guarantee.proof),
    }  # fmt: skip


def _rational(value: Fraction) -> str:
    return f"{value.numerator}/{value.denominator}"
