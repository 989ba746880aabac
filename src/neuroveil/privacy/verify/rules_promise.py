"""The contract's table, third part: what is promised, and the books around it."""

from __future__ import annotations

from neuroveil.privacy.verify import forms, shapes
from neuroveil.privacy.verify.forms import MANY
from neuroveil.privacy.verify.rule import (
    ADDITIVE,
    BOTH_LAPLACE,
    CENTRAL_ROWS,
    GAUSSIAN,
    LOCAL,
    PRIVUNIT,
    SHUFFLED,
    Case,
    Rule,
    also,
    assumed,
    delta_slack_lines,
    either,
    measured,
    proven,
    when,
)

_EPSILON = shapes.number(1e-12, 1e6)
_UP_TO_LARGE = shapes.number(0, forms.LARGE)
_DELTA = shapes.number(0, 0.5)
_SLACK = ("mechanism.epsilon", "bound.dimension", "mechanism.integer_scale")
_SHUFFLING = (
    "guarantee.epsilon_rows", "postprocessing.row_order", "domain.labels", "domain.unprotected",
)  # fmt: skip
_BLANKET = when(trust="shuffled", bound="privacy_blanket")
_FIXED, _DRAWN = when(fitted="other"), when(fitted="dp")
_NOISY = either(ADDITIVE, when(mechanism="mean_covariance"))
_EVENTS = "one event for the rows, one for each of domain.labels"
_EVENTS_WITH_SCALING = (
    "one event for the rows, one for the constants of scaling, one for each of domain.labels"
)
_FIGURES = ("rmse", "mae", "correlation", "snr_db", "mse_over_clip_norm_squared")


def _event_lines(size: str, case: Case) -> tuple[Rule, ...]:
    """What was counted, without and with constants of scaling among it."""
    name, shape, labels = "accountant.events", forms.events(), "domain.labels"
    fixed, drawn = also(case, fitted="other"), also(case, fitted="dp")
    scaling = "preprocessing.scaling"
    return (
        proven(name, shape, _EVENTS, "mechanism.name", size, labels, case=fixed),
        proven(
            name, shape, _EVENTS_WITH_SCALING, "mechanism.name", size, scaling, labels, case=drawn
        ),
    )


PROMISE: tuple[Rule, ...] = (
    proven(
        "guarantee.variant", shapes.one_of("approximate_dp", "pure_dp"),
        "approximate_dp for gaussian, pure_dp for laplace, paper_laplace and privunit",
        "mechanism.name", case=LOCAL,
    ),
    proven(
        "guarantee.variant", shapes.one_of("approximate_dp"), "approximate_dp for shuffled rows",
        "model.trust", case=SHUFFLED,
    ),
    proven(
        "guarantee.variant", shapes.one_of("approximate_dp", "pure_dp"),
        "pure_dp where guarantee.delta is 0, otherwise approximate_dp", "guarantee.delta",
        case=also(CENTRAL_ROWS, fitted="dp"),
    ),
    proven(
        "guarantee.epsilon", _EPSILON, "guarantee.epsilon_rows + guarantee.epsilon_labels",
        "guarantee.epsilon_rows", "guarantee.epsilon_labels", case=_FIXED,
    ),
    proven(
        "guarantee.epsilon", _EPSILON,
        "guarantee.epsilon_rows + guarantee.epsilon_labels + epsilon of preprocessing.scaling",
        "guarantee.epsilon_rows", "guarantee.epsilon_labels", "preprocessing.scaling",
        case=_DRAWN,
    ),
    assumed("guarantee.delta", _DELTA, case=_FIXED),
    proven(
        "guarantee.delta", _DELTA, "guarantee.delta_rows + delta of preprocessing.scaling",
        "guarantee.delta_rows", "preprocessing.scaling", case=_DRAWN,
    ),
    assumed("guarantee.delta_rows", _DELTA, case=_DRAWN),
    assumed("guarantee.delta_justification", shapes.nullable(shapes.words())),
    assumed("guarantee.epsilon_rows", _EPSILON),
    proven(
        "guarantee.epsilon_labels", shapes.number(0, 1e6), "sum of epsilon over domain.labels",
        "domain.labels",
    ),
    proven(
        "guarantee.epsilon_supported", _UP_TO_LARGE,
        "smallest epsilon with delta_analytic(epsilon, mechanism.noise_scale, "
        "sensitivity.value) <= guarantee.delta_calibrated",
        "mechanism.noise_scale", "sensitivity.value", "guarantee.delta_calibrated",
        case=GAUSSIAN,
    ),
    proven(
        "guarantee.epsilon_supported", _UP_TO_LARGE, "sensitivity.value / mechanism.noise_scale",
        "mechanism.noise_scale", "sensitivity.value", case=BOTH_LAPLACE,
    ),
    proven(
        "guarantee.epsilon_supported", _UP_TO_LARGE, "ln(mechanism.likelihood_ratio)",
        "mechanism.likelihood_ratio", case=PRIVUNIT,
    ),
    *delta_slack_lines(
        "(1 + e^mechanism.epsilon) * bound.dimension / (24 * mechanism.integer_scale^2)",
        "{0} - (e^(-bound.dimension / (24 * mechanism.integer_scale^2)) * {0} - e^-99)",
        _SLACK, GAUSSIAN,
    ),
    proven(
        "guarantee.delta_slack", _DELTA, "0: the proof is on integers", "mechanism.name",
        case=when(mechanism=("laplace", "paper_laplace", "privunit")),
    ),
    proven(
        "guarantee.delta_calibrated", _DELTA, "guarantee.delta - guarantee.delta_slack",
        "guarantee.delta", "guarantee.delta_slack", case=_FIXED,
    ),
    proven(
        "guarantee.delta_calibrated", _DELTA, "guarantee.delta_rows - guarantee.delta_slack",
        "guarantee.delta_rows", "guarantee.delta_slack", case=_DRAWN,
    ),
    assumed("guarantee.proof", shapes.words()),
    assumed(
        "amplification.bound", shapes.one_of("privacy_blanket", "clones_2021"), case=SHUFFLED
    ),
    assumed("amplification.epsilon_local", _EPSILON, case=SHUFFLED),
    proven(
        "amplification.batch", shapes.integer(1, MANY), "domain.n", "domain.n", case=SHUFFLED
    ),
    proven(
        "amplification.share", shapes.number(0, 0.5, includes_low=False),
        "mechanism.codebook_top / mechanism.codebook_size",
        "mechanism.codebook_top", "mechanism.codebook_size", case=_BLANKET,
    ),
    proven(
        "amplification.delta_bound", shapes.number(0, 1),
        "E[max(0, l_1 + ... + l_n)] / n with n = amplification.batch, "
        "a = e^amplification.epsilon_local, b = e^guarantee.epsilon_rows, "
        "q = amplification.share, g = 1 / (a q + 1 - q) and independent l_i that are a - b "
        "with probability g q, 1 - a b with g q, 1 - b with g (1 - 2 q) and 0 otherwise",
        "amplification.bound", "amplification.epsilon_local", "amplification.batch",
        "amplification.share", *_SHUFFLING, case=_BLANKET,
    ),
    proven(
        "amplification.delta_bound", shapes.number(0, 1),
        "sum over outcomes of max(0, P - b Q) with b = e^guarantee.epsilon_rows, P the "
        "distribution of (A + D, C - A + 1 - D) and Q that of (A + 1 - D, C - A + D), where "
        "a = e^amplification.epsilon_local, C ~ Binomial(amplification.batch - 1, 1 / a), "
        "A ~ Binomial(C, 1/2), D ~ Bernoulli(a / (a + 1))",
        "amplification.bound", "amplification.epsilon_local", "amplification.batch",
        *_SHUFFLING, case=when(trust="shuffled", bound="clones_2021"),
    ),
)  # fmt: skip
"""Guarantee and amplification."""

BOOKS: tuple[Rule, ...] = (
    assumed(
        "accountant.name",
        shapes.one_of("analytic_gaussian", "laplace_closed_form", "two_valued_likelihood"),
    ),
    measured("accountant.version", shapes.words()),
    proven(
        "accountant.adjacency", shapes.one_of("replace_one"),
        "adjacency.relation", "adjacency.relation",
    ),
    *_event_lines("mechanism.noise_multiplier", _NOISY),
    *_event_lines("mechanism.epsilon", PRIVUNIT),
    measured("accountant.cross_check", shapes.nullable(forms.cross_check())),
    assumed("composition.rule", shapes.one_of("basic", "pld")),
    assumed("composition.scope", shapes.one_of("study", "patients", "site")),
    assumed("composition.limit", forms.budget()),
    measured("composition.spent_before", forms.budget()),
    measured("composition.prior_events", forms.prior_events(), case=when(rule="pld")),
    proven(
        "composition.remaining", forms.budget(),
        "limit - spent_before - (guarantee.epsilon, guarantee.delta)",
        "composition.limit", "composition.spent_before", "guarantee.epsilon", "guarantee.delta",
        case=when(rule="basic"),
    ),
    proven(
        "composition.remaining", forms.budget(),
        "limit.epsilon - epsilon at limit.delta of composition.prior_events and "
        "accountant.events together",
        "composition.limit", "composition.prior_events", "accountant.events",
        "accountant.adjacency", case=when(rule="pld"),
    ),
    measured("composition.prior_releases", shapes.integer(0, MANY)),
    assumed("model.trust", shapes.one_of("local", "shuffled", "central")),
    proven("model.batch", shapes.integer(1, MANY), "domain.n", "domain.n"),
    assumed("model.who_is_trusted", shapes.words()),
    assumed("postprocessing.steps", forms.postprocessing()),
    assumed(
        "postprocessing.row_order", shapes.one_of("random_permutation"),
        case=either(LOCAL, SHUFFLED, CENTRAL_ROWS),
    ),
    proven(
        "utility.predicted", forms.figures(*_FIGURES),
        "closed form for rows of norm clip_norm whose cells average to zero",
        "mechanism.name", "mechanism.noise_std", "bound.clip_norm", "bound.dimension",
        case=ADDITIVE,
    ),
    proven(
        "utility.predicted", forms.figures(*_FIGURES),
        "moments of order statistics on the sphere, for rows of norm clip_norm",
        "mechanism.codebook_size", "mechanism.codebook_top", "mechanism.top_probability",
        "bound.clip_norm", "bound.dimension", case=PRIVUNIT,
    ),
    measured("utility.estimate", forms.correlation(), None, "postprocessing.steps"),
    assumed("utility.source", shapes.one_of("public", "simulated")),
    measured("software.versions", shapes.versions("neuroveil")),
    proven(
        "software.lock_digest", shapes.digest(),
        "sha256 of the JSON of software.versions", "software.versions",
    ),
    measured("software.commit", shapes.commit()),
)  # fmt: skip
"""Accountant, composition, model, post-processing, utility and software."""
