"""The contract's table, second part: the mechanism and who draws its noise."""

from __future__ import annotations

from neuroveil.privacy.verify import forms, shapes
from neuroveil.privacy.verify.forms import LARGE
from neuroveil.privacy.verify.rule import (
    ADDITIVE,
    BOTH_LAPLACE,
    CENTRAL_ROWS,
    GAUSSIAN,
    LOCAL,
    PRIVUNIT,
    SHUFFLED,
    Rule,
    assumed,
    either,
    measured,
    proven,
    when,
)

LARGEST_CODEBOOK = 1 << 62

_POSITIVE = shapes.number(0, LARGE, includes_low=False)
_EPSILON = shapes.number(1e-12, 1e6)
_SIZES = ("mechanism.codebook_size", "mechanism.codebook_top")

NOISE: tuple[Rule, ...] = (
    assumed(
        "mechanism.name",
        shapes.one_of("gaussian", "laplace", "paper_laplace", "privunit", "mean_covariance"),
    ),
    assumed("mechanism.choice", shapes.words()),
    proven(
        "mechanism.epsilon", _EPSILON, "guarantee.epsilon_rows", "guarantee.epsilon_rows",
        case=either(LOCAL, CENTRAL_ROWS),
    ),
    proven(
        "mechanism.epsilon", _EPSILON, "amplification.epsilon_local",
        "amplification.epsilon_local", case=SHUFFLED,
    ),
    proven(
        "mechanism.distribution", shapes.one_of("discrete_gaussian", "discrete_laplace"),
        "discrete_gaussian for gaussian, discrete_laplace for laplace and paper_laplace",
        "mechanism.name", case=ADDITIVE,
    ),
    proven(
        "mechanism.distribution", shapes.one_of("k_closest_codeword"),
        "k_closest_codeword for privunit", "mechanism.name", case=PRIVUNIT,
    ),
    proven(
        "mechanism.consumes_norm", shapes.one_of("l2", "l1"),
        "l2 for gaussian, l1 for laplace and paper_laplace", "mechanism.name", case=ADDITIVE,
    ),
    proven(
        "mechanism.consumes_norm", shapes.one_of("none"), "none for privunit", "mechanism.name",
        case=PRIVUNIT,
    ),
    proven(
        "mechanism.noise_scale", _POSITIVE,
        "smallest sigma with delta_analytic(mechanism.epsilon, sigma, sensitivity.value) "
        "<= guarantee.delta_calibrated, rounded up",
        "mechanism.epsilon", "guarantee.delta_calibrated", "sensitivity.value", case=GAUSSIAN,
    ),
    proven(
        "mechanism.noise_scale", _POSITIVE, "sensitivity.value / mechanism.epsilon, rounded up",
        "mechanism.epsilon", "sensitivity.value", case=when(mechanism="laplace"),
    ),
    proven(
        "mechanism.noise_scale", _POSITIVE,
        "adjacency.factor * bound.clip_norm / mechanism.epsilon",
        "mechanism.epsilon", "adjacency.factor", "bound.clip_norm",
        case=when(mechanism="paper_laplace"),
    ),
    proven(
        "mechanism.noise_std", _POSITIVE, "mechanism.noise_scale", "mechanism.noise_scale",
        case=GAUSSIAN,
    ),
    proven(
        "mechanism.noise_std", _POSITIVE, "sqrt(2) * mechanism.noise_scale",
        "mechanism.noise_scale", case=BOTH_LAPLACE,
    ),
    proven(
        "mechanism.noise_multiplier", _POSITIVE, "mechanism.noise_std / sensitivity.value",
        "mechanism.noise_std", "sensitivity.value", case=ADDITIVE,
    ),
    proven(
        "mechanism.integer_scale", shapes.number(2.0**20, 2.0**57),
        "mechanism.noise_scale / 2^bound.grid_log2", "mechanism.noise_scale", "bound.grid_log2",
        case=ADDITIVE,
    ),
)  # fmt: skip
"""The mechanism, as far as it adds noise."""

CODEBOOK: tuple[Rule, ...] = (
    proven(
        "mechanism.sphere_dimension", shapes.integer(2, forms.MANY), "bound.dimension + 1",
        "bound.dimension", case=PRIVUNIT,
    ),
    assumed(
        "mechanism.codebook_generator", shapes.one_of("neuroveil codebook 1"), case=PRIVUNIT
    ),
    assumed("mechanism.codebook_per_message", shapes.one_of(True, False), case=PRIVUNIT),
    assumed(
        "mechanism.codebook_seed", shapes.nullable(shapes.hexadecimal(32)), case=PRIVUNIT
    ),
    assumed("mechanism.codebook_size", shapes.integer(2, LARGEST_CODEBOOK), case=PRIVUNIT),
    assumed("mechanism.codebook_top", shapes.integer(1, LARGEST_CODEBOOK // 2), case=PRIVUNIT),
    proven(
        "mechanism.top_probability", shapes.rational(),
        "e^mechanism.epsilon * K / (e^mechanism.epsilon * K + N - K) with "
        "K = mechanism.codebook_top and N = mechanism.codebook_size, "
        "rounded down to a multiple of 2^-128",
        "mechanism.epsilon", *_SIZES, case=PRIVUNIT,
    ),
    proven(
        "mechanism.likelihood_ratio", shapes.rational(),
        "(p / K) / ((1 - p) / (N - K)) with p = mechanism.top_probability, "
        "K = mechanism.codebook_top and N = mechanism.codebook_size",
        "mechanism.top_probability", *_SIZES, case=PRIVUNIT,
    ),
    proven(
        "mechanism.decoding_scale", _POSITIVE,
        "bound.clip_norm / E[inner product of the released codeword and the lifted row of "
        "norm 1]",
        "bound.clip_norm", "mechanism.sphere_dimension", *_SIZES, "mechanism.top_probability",
        case=PRIVUNIT,
    ),
    assumed("mechanism.rounding", shapes.one_of("up"), case=ADDITIVE),
    assumed("mechanism.rounding", shapes.one_of("down"), case=PRIVUNIT),
    assumed("sampler.library", shapes.one_of("opendp", "python")),
    measured("sampler.version", shapes.words()),
    assumed("sampler.exact", shapes.one_of(True)),
    assumed("sampler.source", shapes.one_of("operating_system")),
    assumed("sampler.seeded", shapes.one_of(False)),
)  # fmt: skip
"""The mechanism, as far as it is a codebook; the sampler."""
