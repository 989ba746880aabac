"""Links about what was promised, booked and made of a release; part of the chain."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from neuroveil.privacy.accounting import cross_check
from neuroveil.privacy.central.dp_scaling import MECHANISM as DP_QUANTILES
from neuroveil.privacy.central.links import WHO_IS_TRUSTED
from neuroveil.privacy.central.plan import MomentPlan
from neuroveil.privacy.central.utility_link import moment_utility
from neuroveil.privacy.mechanisms.links import derived, setting
from neuroveil.privacy.plan import RowPlan
from neuroveil.privacy.postprocessing import step_facts
from neuroveil.privacy.randomness import SamplerFacts
from neuroveil.privacy.settings import ProtectSettings
from neuroveil.types.budget import AccountingEvent, BudgetStanding
from neuroveil.types.certificate import Fact, canonical_json, digest
from neuroveil.types.charge import Charge
from neuroveil.types.scaling import Scaling

Link = dict[str, Fact]

LIBRARY = "neuroveil"
_BASIC = "basic composition: Dwork, McSherry, Nissim and Smith 2006"
_LOSSES = "composition of privacy losses that holds for every choice made in between"
_BLANKET = "Balle, Bell, Gascón and Nissim 2019, Lemma 5.3"

_WHO_IS_TRUSTED = {
    "local": (
        "Nobody but whoever holds the recordings and draws the noise: every row is randomised "
        "on its own before it leaves."
    ),
    "shuffled": (
        "Whoever holds the recordings, draws the noise and shuffles the rows: the promise "
        "holds towards everybody who does not know the order before shuffling."
    ),
    "central": WHO_IS_TRUSTED,
}

_DELTA_BOUND = (
    "E[max(0, l_1 + ... + l_n)] / n with n = amplification.batch, "
    "a = e^amplification.epsilon_local, b = e^guarantee.epsilon_rows, q = amplification.share, "
    "g = 1 / (a q + 1 - q) and independent l_i that are a - b with probability g q, "
    "1 - a b with g q, 1 - b with g (1 - 2 q) and 0 otherwise"
)

_ACCOUNTANTS = {
    "gaussian": "analytic_gaussian",
    "laplace": "laplace_closed_form",
    "two_valued": "two_valued_likelihood",
}


@dataclass(frozen=True, eq=False)
class ChainInputs:
    """Everything that a certificate rests on.

    Parameters
    ----------
    settings : ProtectSettings
        Public settings of the release.
    plan : RowPlan or MomentPlan
        How rows are treated, or which moments are released.
    scaling : Scaling
        Constants that the rows were scaled with.
    n_patients : int
        Roster size, public.
    sampler : SamplerFacts
        Who draws.
    charge : Charge, optional
        The spend that pays; none for a simulation.
    """

    settings: ProtectSettings
    plan: RowPlan | MomentPlan
    scaling: Scaling
    n_patients: int
    sampler: SamplerFacts
    charge: Charge | None


def measured(
    value: Any, source: str, formula: str | None = None, rests_on: tuple[str, ...] = ()
) -> Fact:
    """State something that was read off this run.

    Parameters
    ----------
    value : JSON value
        The fact.
    source : str
        Where it was read.
    formula : str, optional
        How it was counted.
    rests_on : tuple of str
        Dotted names of the facts it goes with.

    Returns
    -------
    Fact
        With status ``measured``.
    """
    return Fact(value, "measured", source, formula, rests_on)


def row_epsilon(inputs: ChainInputs) -> Link:
    """State what one row on its own was calibrated for, and who chose the mechanism.

    Parameters
    ----------
    inputs : ChainInputs
        What the certificate rests on.

    Returns
    -------
    dict of str to Fact
        The rest of the link ``mechanism``.
    """
    if isinstance(inputs.plan, MomentPlan):
        return {"choice": setting(inputs.settings.choice, LIBRARY)}
    shuffled = inputs.settings.trust_model == "shuffled"
    name = "amplification.epsilon_local" if shuffled else "guarantee.epsilon_rows"
    return {
        "choice": setting(inputs.settings.choice, LIBRARY),
        "epsilon": derived(float(inputs.plan.spec.epsilon), "the trust model", name, name),
    }


def guarantee(inputs: ChainInputs) -> Link:
    """State what is promised for the whole release.

    Parameters
    ----------
    inputs : ChainInputs
        What the certificate rests on.

    Returns
    -------
    dict of str to Fact
        The rest of the link ``guarantee``.
    """
    settings = inputs.settings
    rows, labels = "guarantee.epsilon_rows", "guarantee.epsilon_labels"
    link = {
        "epsilon": derived(
            float(settings.epsilon_total), _BASIC, f"{rows} + {labels}", rows, labels
        ),
        **_with_scaling(settings),
        "epsilon_labels": derived(
            float(settings.epsilon_labels), _BASIC, "sum of epsilon over domain.labels",
            "domain.labels",
        ),
        "delta_justification": setting(settings.delta_justification),
    }  # fmt: skip
    if settings.scaling_budget is not None and not settings.is_central:
        link["variant"] = derived(
            "approximate_dp" if settings.delta_total else "pure_dp", "definition",
            "pure_dp where guarantee.delta is 0, otherwise approximate_dp", "guarantee.delta",
        )  # fmt: skip
    if isinstance(inputs.plan, MomentPlan) or inputs.plan.shuffled is None:
        return link
    delta, slack = "guarantee.delta", "guarantee.delta_slack"
    return link | {
        "variant": derived(
            "approximate_dp", "definition of the trust model", "approximate_dp for shuffled rows",
            "model.trust",
        ),
        "delta": setting(float(settings.delta)),
        "epsilon_rows": setting(float(settings.epsilon)),
        "delta_calibrated": derived(
            float(settings.delta), "subtraction", f"{delta} - {slack}", delta, slack
        ),
        "proof": setting(_BLANKET, _BLANKET),
    }  # fmt: skip


def _with_scaling(settings: ProtectSettings) -> Link:
    """State how the promise is split where scaling spends a part of it."""
    scaling, rows, labels = (
        "preprocessing.scaling", "guarantee.epsilon_rows", "guarantee.epsilon_labels"
    )  # fmt: skip
    if settings.scaling_budget is None:
        return {}
    return {
        "epsilon": derived(
            float(settings.epsilon_total), _BASIC,
            f"{rows} + {labels} + epsilon of {scaling}", rows, labels, scaling,
        ),
        "delta": derived(
            float(settings.delta_total), _BASIC, f"guarantee.delta_rows + delta of {scaling}",
            "guarantee.delta_rows", scaling,
        ),
        "delta_rows": setting(float(settings.delta)),
    }  # fmt: skip


def amplification(inputs: ChainInputs) -> Link:
    """State what shuffling adds.

    Parameters
    ----------
    inputs : ChainInputs
        What the certificate rests on.

    Returns
    -------
    dict of str to Fact
        Facts of the link ``amplification``; none in the local model.
    """
    shuffled = None if isinstance(inputs.plan, MomentPlan) else inputs.plan.shuffled
    if shuffled is None:
        return {}
    top, size = "mechanism.codebook_top", "mechanism.codebook_size"
    return {
        "bound": setting("privacy_blanket", _BLANKET),
        "epsilon_local": setting(float(shuffled.design.epsilon), LIBRARY),
        "batch": derived(shuffled.n_batch, "all rows form one batch", "domain.n", "domain.n"),
        "share": derived(shuffled.share, "division", f"{top} / {size}", top, size),
        "delta_bound": derived(
            shuffled.delta_bound, _BLANKET, _DELTA_BOUND, "amplification.bound",
            "amplification.epsilon_local", "amplification.batch", "amplification.share",
            "guarantee.epsilon_rows", "postprocessing.row_order", "domain.labels",
            "domain.unprotected",
        ),
    }  # fmt: skip


def accountant(inputs: ChainInputs, version: str) -> Link:
    """State what was released, and a second opinion on it.

    Parameters
    ----------
    inputs : ChainInputs
        What the certificate rests on.
    version : str
        Version of this library.

    Returns
    -------
    dict of str to Fact
        Facts of the link ``accountant``.
    """
    mechanism = inputs.plan.mechanism
    promised, event = mechanism.guarantee, mechanism.event
    calibrated = mechanism.facts()["guarantee"]["delta_calibrated"].value
    events, words, grounds = _counted(inputs)
    opinion = cross_check(event, promised.epsilon_supported, calibrated)
    size = "mechanism.noise_multiplier" if event.noise_multiplier else "mechanism.epsilon"
    return {
        "name": setting(_ACCOUNTANTS[event.family], promised.proof),
        "version": measured(version, "installed package"),
        "adjacency": derived(
            "replace_one", "definition of the guarantee", "adjacency.relation",
            "adjacency.relation",
        ),
        "events": derived(
            events, "what was released", words, "mechanism.name", size, *grounds
        ),
        "cross_check": measured(
            opinion and opinion.to_json(),
            "dp-accounting" if opinion else "none: no library knows codewords, whose two "
            "probabilities are compared exactly in mechanism.likelihood_ratio",
        ),
    }  # fmt: skip


def _counted(inputs: ChainInputs) -> tuple[list[dict[str, Any]], str, tuple[str, ...]]:
    """List everything that was counted; in words, and what labels and scaling rest on."""
    settings, labels = inputs.settings, "domain.labels"
    events, words, grounds = [_row_event(inputs)], "one event for the rows, ", [labels]
    if settings.scaling_budget is not None:
        epsilon, delta = settings.scaling_budget.epsilon, settings.scaling_budget.delta
        events.append(
            {
                "mechanism": DP_QUANTILES,
                "epsilon": float(epsilon),
                "delta": float(delta),
                "releases": 1,
            }
        )
        words += "one for the constants of scaling, "
        grounds.insert(0, "preprocessing.scaling")
    events += [
        {"mechanism": policy.policy, "epsilon": float(policy.epsilon), "releases": 1}
        for policy in settings.charged_labels
    ]
    return events, f"{words}one for each of {labels}", tuple(grounds)


def _row_event(inputs: ChainInputs) -> dict[str, Any]:
    plan, settings = inputs.plan, inputs.settings
    event = plan.mechanism.event
    stated: dict[str, Any] = {"mechanism": settings.mechanism, "releases": event.releases}
    if event.noise_multiplier is None:
        stated["epsilon"] = float(plan.spec.epsilon)
    else:
        stated["noise_multiplier"] = event.noise_multiplier
    if isinstance(plan, RowPlan) and plan.shuffled is not None:
        stated |= {
            "batch": inputs.n_patients,
            "epsilon_central": float(settings.epsilon),
            "delta_central": float(settings.delta),
        }
    return stated


def composition(inputs: ChainInputs) -> Link:
    """State what the ledger knows of earlier releases, and what is left.

    Parameters
    ----------
    inputs : ChainInputs
        What the certificate rests on.

    Returns
    -------
    dict of str to Fact
        Facts of the link ``composition``.
    """
    charge = inputs.charge
    nothing = (Fraction(0), Fraction(0))
    limit = charge.limit if charge else nothing
    spent = charge.spent_before if charge else nothing
    source = "budget ledger" if charge else "no ledger: nothing was charged"
    if charge is not None and charge.standing.rule == "pld":
        left: Link = _composed(charge.standing)
    else:
        remaining = (
            limit[0] - spent[0] - inputs.settings.epsilon_total,
            limit[1] - spent[1] - inputs.settings.delta_total,
        )
        left = {"remaining": derived(
            _amount(remaining), _BASIC,
            "limit - spent_before - (guarantee.epsilon, guarantee.delta)",
            "composition.limit", "composition.spent_before", "guarantee.epsilon",
            "guarantee.delta",
        )}  # fmt: skip
    return {
        "rule": setting(charge.standing.rule if charge else "basic", _BASIC),
        "scope": setting(charge.standing.scope.kind if charge else "site", source),
        "limit": setting(_amount(limit), source),
        "spent_before": measured(_amount(spent), source),
        **left,
        "prior_releases": measured(charge.prior_releases if charge else 0, source),
    }


def _composed(standing: BudgetStanding) -> Link:
    """What is left where privacy losses are composed; delta goes with the epsilon at it."""
    events = [_prior_event(event) for event in standing.prior_events]
    return {
        "prior_events": measured(events, "budget ledger"),
        "remaining": derived(
            {"epsilon": float(standing.remaining[0]), "delta": 0.0}, _LOSSES,
            "limit.epsilon - epsilon at limit.delta of composition.prior_events and "
            "accountant.events together",
            "composition.limit", "composition.prior_events", "accountant.events",
            "accountant.adjacency",
        ),
    }  # fmt: skip


def _prior_event(event: AccountingEvent) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "mechanism": event.mechanism,
        "epsilon": float(event.epsilon),
        "delta": float(event.delta),
    }
    if event.is_gaussian:
        entry |= {
            "noise_multiplier": event.noise_multiplier,
            "integer_scale": event.integer_scale,
            "dimension": event.dimension,
        }
    return entry


def _amount(amount: tuple[Fraction, Fraction]) -> dict[str, float]:
    return {"epsilon": float(amount[0]), "delta": float(amount[1])}


def model(inputs: ChainInputs) -> Link:
    """State who has to be trusted.

    Parameters
    ----------
    inputs : ChainInputs
        What the certificate rests on.

    Returns
    -------
    dict of str to Fact
        Facts of the link ``model``.
    """
    trust, n = inputs.settings.trust_model, inputs.n_patients
    return {
        "trust": setting(trust),
        "batch": derived(n, "all rows are released together", "domain.n", "domain.n"),
        "who_is_trusted": setting(_WHO_IS_TRUSTED[trust], LIBRARY),
    }


def postprocessing(inputs: ChainInputs) -> Link:
    """State what is made of the released values.

    Parameters
    ----------
    inputs : ChainInputs
        What the certificate rests on.

    Returns
    -------
    dict of str to Fact
        Facts of the link ``postprocessing``.
    """
    if isinstance(inputs.plan, MomentPlan):
        return {"steps": setting([], LIBRARY)}
    return {
        "steps": setting([step_facts(step) for step in inputs.plan.steps], LIBRARY),
        "row_order": setting("random_permutation", LIBRARY),
    }


def utility(inputs: ChainInputs) -> Link:
    """State what will be left, from public numbers alone.

    Parameters
    ----------
    inputs : ChainInputs
        What the certificate rests on.

    Returns
    -------
    dict of str to Fact
        Facts of the link ``utility``.
    """
    plan = inputs.plan
    if isinstance(plan, MomentPlan):
        return moment_utility(plan, inputs.scaling)
    correlation = plan.predicted_correlation
    if plan.mechanism.event.family == "two_valued":
        formula = "moments of order statistics on the sphere, for rows of norm clip_norm"
        rests_on: tuple[str, ...] = (
            "mechanism.codebook_size", "mechanism.codebook_top", "mechanism.top_probability",
        )  # fmt: skip
    else:
        formula = "closed form for rows of norm clip_norm whose cells average to zero"
        rests_on = ("mechanism.name", "mechanism.noise_std")
    return {
        "predicted": derived(
            plan.mechanism.predict().to_json(), "moments of the mechanism", formula,
            *rests_on, "bound.clip_norm", "bound.dimension",
        ),
        "estimate": measured(
            None if correlation is None else {"correlation": correlation},
            "public covariance", None, ("postprocessing.steps",),
        ),
        "source": setting("public", LIBRARY),
    }  # fmt: skip


def software(settings: ProtectSettings, versions: dict[str, str]) -> Link:
    """State what computed and drew.

    Parameters
    ----------
    settings : ProtectSettings
        Public settings of the release.
    versions : dict of str to str
        Version by package.

    Returns
    -------
    dict of str to Fact
        Facts of the link ``software``.
    """
    return {
        "versions": measured(versions, "installed packages"),
        "lock_digest": derived(
            digest(canonical_json(versions)), "SHA-256",
            "sha256 of the JSON of software.versions", "software.versions",
        ),
        "commit": measured(settings.commit, "source tree"),
    }  # fmt: skip
