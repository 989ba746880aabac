"""The chain: every link of the derivation as data, put together into a certificate.

Status, formula and ``rests_on`` of each fact are those of ``docs/certificate.md``, letter by
letter. The links ``bound``, ``sensitivity``, ``mechanism`` and most of ``guarantee`` come
from the mechanism; the others are stated here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from neuroveil.errors import ChainError
from neuroveil.privacy.accounting import cross_check
from neuroveil.privacy.bounds import Relation, adjacency_factor
from neuroveil.privacy.exact import exact
from neuroveil.privacy.mechanisms.contract import RowMechanism
from neuroveil.privacy.mechanisms.links import derived, setting
from neuroveil.privacy.randomness import SamplerFacts
from neuroveil.privacy.scaling import LOG10_FLOOR
from neuroveil.privacy.settings import ProtectSettings, columns_digest
from neuroveil.privacy.verdict import blocking_reasons, verdict
from neuroveil.privacy.versions import measured_versions
from neuroveil.types.certificate import LINKS, Certificate, Fact, canonical_json, digest
from neuroveil.types.charge import Charge
from neuroveil.types.scaling import Scaling

Link = dict[str, Fact]

_LIBRARY = "neuroveil"
_BASIC = "basic composition: Dwork, McSherry, Nissim and Smith 2006"

_WHO_IS_TRUSTED = (
    "Nobody but whoever holds the recordings and draws the noise: every row is randomised on "
    "its own before it leaves."
)


@dataclass(frozen=True, eq=False)
class ChainInputs:
    """Everything that a certificate rests on.

    Parameters
    ----------
    settings : ProtectSettings
        Public settings of the release.
    mechanism : RowMechanism
        The calibrated mechanism.
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
    mechanism: RowMechanism
    scaling: Scaling
    n_patients: int
    sampler: SamplerFacts
    charge: Charge | None


def build_certificate(inputs: ChainInputs) -> Certificate:
    """Put the chain together and judge it.

    Parameters
    ----------
    inputs : ChainInputs
        What the certificate rests on.

    Returns
    -------
    Certificate
        Not bound to files yet.

    Raises
    ------
    ChainError
        If the settings of the preprocessing are not plain data.
    """
    versions = measured_versions(inputs.settings.software_versions)
    stated: dict[str, Mapping[str, Fact]] = {
        "unit": _unit(),
        "adjacency": _adjacency(inputs.n_patients),
        "domain": _domain(inputs),
        "preprocessing": _preprocessing(inputs),
        "sampler": _sampler(inputs.sampler),
        "accountant": _accountant(inputs, versions[_LIBRARY]),
        "composition": _composition(inputs),
        "model": _model(inputs.n_patients),
        "postprocessing": _postprocessing(),
        "utility": _utility(inputs.mechanism),
        "software": _software(inputs.settings, versions),
    }
    chain = stated | dict(inputs.mechanism.facts())
    chain["guarantee"] = {**chain["guarantee"], **_totals(inputs.settings)}
    reasons = blocking_reasons(
        inputs.mechanism.guarantee, inputs.scaling, inputs.sampler, is_paid=bool(inputs.charge)
    )
    unprotected = [policy.name for policy in inputs.settings.unprotected_labels]
    total = float(inputs.settings.epsilon_total)
    return Certificate(
        formal_guarantee=not reasons,
        verdict=verdict(total, inputs.mechanism.guarantee.delta, reasons, unprotected),
        blocking_reasons=reasons,
        chain={link: chain[link] for link in LINKS},
    )


def _measured(
    value: Any, source: str, formula: str | None = None, rests_on: tuple[str, ...] = ()
) -> Fact:
    return Fact(value, "measured", source, formula, rests_on)


def _unit() -> Link:
    return {
        "entity": setting("patient"),
        "rows_per_unit_max": derived(
            1, "a feature table refuses a second row of a patient",
            "all recordings of a patient are pooled into one row", "unit.entity", "unit.dedup",
        ),
        "dedup": setting("roster_key", "roster of the study"),
    }  # fmt: skip


def _adjacency(n_patients: int) -> Link:
    relation: Relation = "replace_one"
    return {
        "relation": setting(relation, "definition of the guarantee"),
        "factor": derived(
            adjacency_factor(relation), "triangle inequality",
            "2 for replace_one, 1 for add_or_remove_one", "adjacency.relation",
        ),
        "n_roster": _measured(n_patients, "roster of the study, before any signal is read"),
    }  # fmt: skip


def _domain(inputs: ChainInputs) -> Link:
    settings, columns, study = inputs.settings, inputs.scaling.columns, "setting of the study"
    labels = [
        {
            "name": policy.name,
            "policy": policy.policy,
            "n_categories": len(policy.categories),
            "epsilon": float(policy.epsilon),
        }
        for policy in settings.charged_labels
    ]
    return {
        "dimension": _measured(len(columns), study, "number of columns that the study lists"),
        "n": derived(
            inputs.n_patients, "the roster fixes the number of rows",
            "adjacency.n_roster", "adjacency.n_roster",
        ),
        "columns_digest": _measured(
            columns_digest(columns), study, "sha256 of the JSON list of column names"
        ),
        "missing_policy": setting("public_centre", _LIBRARY),
        "labels": setting(labels),
        "unprotected": setting([policy.name for policy in settings.unprotected_labels]),
    }  # fmt: skip


def _preprocessing(inputs: ChainInputs) -> Link:
    scaling = inputs.scaling
    params: dict[str, Any] = {
        "reference": scaling.name,
        "method": "(transform(value) - centre) / spread",
        "log10_floor": LOG10_FLOOR,
        "missing": "public_centre",
    }
    if scaling.fitted_on == "public":  # a digest of private constants would be a leak
        params["constants_digest"] = scaling.digest
        params["n_fallback_columns"] = sum(scaling.fallback)
    features = dict(inputs.settings.preprocessing)
    return {
        "features": setting(_step("features", features, "public")),
        "scaling": setting(_step("scaling", params, scaling.fitted_on)),
    }


def _step(name: str, params: dict[str, Any], fitted_on: str) -> dict[str, Any]:
    try:
        params_digest = digest(canonical_json(params))
    except (TypeError, ValueError) as error:
        raise ChainError(
            f"preprocessing.{name}", "settings as plain data without NaN or infinity",
            type(error).__name__, "Give numbers, text, lists and objects of these.",
        ) from error  # fmt: skip
    return {
        "step": name,
        "params": params,
        "params_digest": params_digest,
        "fitted_on": fitted_on,
        "epsilon": 0,
        "delta": 0,
    }


def _sampler(sampler: SamplerFacts) -> Link:
    return {
        "library": setting(sampler.library, "Canonne, Kamath and Steinke 2020"),
        "version": _measured(sampler.version, "installed package"),
        "exact": setting(sampler.exact, sampler.library),
        "source": setting(sampler.source, sampler.library),
        "seeded": setting(sampler.seeded, _LIBRARY),
    }


def _totals(settings: ProtectSettings) -> Link:
    rows, labels = "guarantee.epsilon_rows", "guarantee.epsilon_labels"
    return {
        "epsilon": derived(
            float(settings.epsilon_total), _BASIC, f"{rows} + {labels}", rows, labels
        ),
        "epsilon_labels": derived(
            float(settings.epsilon_labels), _BASIC, "sum of epsilon over domain.labels",
            "domain.labels",
        ),
    }  # fmt: skip


def _accountant(inputs: ChainInputs, version: str) -> Link:
    mechanism, settings = inputs.mechanism, inputs.settings
    guarantee, event = mechanism.guarantee, mechanism.event
    calibrated = mechanism.facts()["guarantee"]["delta_calibrated"].value
    events: list[dict[str, Any]] = [
        {
            "mechanism": mechanism.spec.name,
            "noise_multiplier": event.noise_multiplier,
            "releases": event.releases,
        }
    ]
    events += [
        {"mechanism": policy.policy, "epsilon": float(policy.epsilon), "releases": 1}
        for policy in settings.charged_labels
    ]
    opinion = cross_check(event, guarantee.epsilon_supported, calibrated)
    closed_form = {"gaussian": "analytic_gaussian", "laplace": "laplace_closed_form"}
    return {
        "name": setting(closed_form[event.family], guarantee.proof),
        "version": _measured(version, "installed package"),
        "adjacency": derived(
            "replace_one", "definition of the guarantee", "adjacency.relation",
            "adjacency.relation",
        ),
        "events": derived(
            events, "what was released", "one event for the rows, one for each of domain.labels",
            "mechanism.name", "mechanism.noise_multiplier", "domain.labels",
        ),
        "cross_check": _measured(opinion.to_json(), "dp-accounting"),
    }  # fmt: skip


def _composition(inputs: ChainInputs) -> Link:
    charge = inputs.charge
    nothing = (Fraction(0), Fraction(0))
    limit = charge.limit if charge else nothing
    spent = charge.spent_before if charge else nothing
    remaining = (
        limit[0] - spent[0] - inputs.settings.epsilon_total,
        limit[1] - spent[1] - exact(inputs.settings.delta),
    )
    source = "budget ledger" if charge else "no ledger: nothing was charged"
    return {
        "rule": setting("basic", _BASIC),
        "limit": setting(_amount(limit), source),
        "spent_before": _measured(_amount(spent), source),
        "remaining": derived(
            _amount(remaining), _BASIC,
            "limit - spent_before - (guarantee.epsilon, guarantee.delta)",
            "composition.limit", "composition.spent_before", "guarantee.epsilon",
            "guarantee.delta",
        ),
        "prior_releases": _measured(charge.prior_releases if charge else 0, source),
    }  # fmt: skip


def _amount(amount: tuple[Fraction, Fraction]) -> dict[str, float]:
    return {"epsilon": float(amount[0]), "delta": float(amount[1])}


def _model(n_patients: int) -> Link:
    return {
        "trust": setting("local", _LIBRARY),
        "batch": derived(n_patients, "all rows are released together", "domain.n", "domain.n"),
        "who_is_trusted": setting(_WHO_IS_TRUSTED, _LIBRARY),
    }


def _postprocessing() -> Link:
    return {
        "steps": setting([], _LIBRARY),
        "row_order": setting("random_permutation", _LIBRARY),
    }


def _utility(mechanism: RowMechanism) -> Link:
    return {
        "predicted": derived(
            mechanism.predict().to_json(), "moments of the noise",
            "closed form for rows of norm clip_norm whose cells average to zero",
            "mechanism.name", "mechanism.noise_std", "bound.clip_norm", "domain.dimension",
        ),
        "source": setting("public", _LIBRARY),
    }  # fmt: skip


def _software(settings: ProtectSettings, versions: dict[str, str]) -> Link:
    return {
        "versions": _measured(versions, "installed packages"),
        "lock_digest": derived(
            digest(canonical_json(versions)), "SHA-256",
            "sha256 of the JSON of software.versions", "software.versions",
        ),
        "commit": _measured(settings.commit, "source tree"),
    }  # fmt: skip
