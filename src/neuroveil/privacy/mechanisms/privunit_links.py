"""The links of the chain that the codebook mechanism answers for, as facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from neuroveil.privacy.mechanisms.links import derived, setting
from neuroveil.types.certificate import Fact

if TYPE_CHECKING:
    from neuroveil.privacy.mechanisms.contract import RowGuarantee
    from neuroveil.privacy.mechanisms.privunit import PrivUnit

Link = Mapping[str, Fact]

PER_MESSAGE = "a fresh seed for every message, published with it"
"""What stands in place of a seed where rows do not share a codebook."""

_RECIPE = "neuroveil: k-closest codewords on the lifted sphere"
_GENERATOR = "Philox4x64-10, normal quantiles, Hadamard sums of four"
_TWO_VALUES = "a codeword has one of two probabilities from any row"


def bound_link(mechanism: PrivUnit) -> Link:
    """State how rows are bounded.

    Parameters
    ----------
    mechanism : PrivUnit
        The mechanism.

    Returns
    -------
    mapping of str to Fact
        Facts of the link ``bound``.
    """
    return {
        "norm": setting(mechanism.spec.norm),
        "clip_norm": setting(mechanism.spec.clip_norm),
        "method": setting("scale_to_norm_then_truncate_toward_zero", _RECIPE),
        "grid_log2": setting(mechanism.grid_log2, _RECIPE),
        "exact_integer_check": Fact(
            True, "measured", _RECIPE,
            "sum(m_j^2) <= (bound.clip_norm / 2^bound.grid_log2)^2 for every row, in integers",
            ("bound.norm", "bound.clip_norm", "bound.method", "bound.grid_log2"),
        ),
    }  # fmt: skip


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
        "value": derived(None, _TWO_VALUES, "no distance between rows is used", consumed),
    }


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
    return {
        "name": setting(mechanism.spec.name),
        "distribution": derived(
            "k_closest_codeword", "Bhowmick et al. 2018", "k_closest_codeword for privunit", name
        ),
        "consumes_norm": derived(
            "none", "definition of the mechanism", "none for privunit", name
        ),
        "codebook_generator": setting(_GENERATOR, _RECIPE),
        "codebook_seed": setting(
            PER_MESSAGE if seed is None else seed.hex(), "drawn before and without the data"
        ),
        "codebook_size": setting(design.size, _RECIPE),
        "codebook_top": setting(design.top, _RECIPE),
        "top_probability": derived(
            str(design.threshold), _TWO_VALUES,
            f"floor(2^128 e^guarantee.epsilon_rows {top} / (e^guarantee.epsilon_rows {top}"
            f" + {size} - {top})), in units of 2^-128",
            "guarantee.epsilon_rows", size, top,
        ),
        "decoding_scale": derived(
            mechanism.decoding_scale, "moments of order statistics of the uniform sphere",
            "bound.clip_norm / E[inner product of the released codeword and the lifted row]",
            "bound.clip_norm", "domain.dimension", size, top, "mechanism.top_probability",
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
    size, top = "mechanism.codebook_size", "mechanism.codebook_top"
    chance, slack = "mechanism.top_probability", "guarantee.delta_slack"
    return {
        "variant": derived(
            guarantee.variant, "definition of the mechanism", "pure_dp for privunit",
            "mechanism.name",
        ),
        "delta": setting(guarantee.delta),
        "epsilon_rows": setting(guarantee.epsilon),
        "epsilon_supported": derived(
            guarantee.epsilon_supported, _TWO_VALUES,
            f"ln({chance} ({size} - {top}) / ((2^128 - {chance}) {top}))", chance, size, top,
        ),
        "delta_slack": derived(
            0.0, "the proof is on integers", "0 under pure_dp", "guarantee.variant"
        ),
        "delta_calibrated": derived(
            0.0, "subtraction", f"guarantee.delta - {slack}", "guarantee.delta", slack
        ),
        "proof": setting(guarantee.proof, guarantee.proof),
    }  # fmt: skip
