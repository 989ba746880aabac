"""The chain: every link of the derivation as data, put together into a certificate.

Status, formula and ``rests_on`` of each fact are those of ``docs/certificate.md``, letter by
letter. The links ``bound``, ``sensitivity``, ``mechanism`` and most of ``guarantee`` come
from the mechanism; what was promised and booked stands in
:mod:`~neuroveil.privacy.chain_books`, the others are stated here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from neuroveil.errors import ChainError
from neuroveil.privacy import chain_books as books
from neuroveil.privacy.bounds import Relation, adjacency_factor
from neuroveil.privacy.central.quantile_budget import QuantileBudget
from neuroveil.privacy.central.quantile_links import quantile_facts
from neuroveil.privacy.chain_books import LIBRARY, ChainInputs, Link, measured
from neuroveil.privacy.mechanisms.links import derived, setting
from neuroveil.privacy.plan import RowPlan
from neuroveil.privacy.postprocessing import basis_rows
from neuroveil.privacy.randomness import SamplerFacts
from neuroveil.privacy.scaling import LOG10_FLOOR
from neuroveil.privacy.settings import Dedup, columns_digest
from neuroveil.privacy.verdict import Promised, blocking_reasons, verdict
from neuroveil.privacy.versions import measured_versions
from neuroveil.types.certificate import LINKS, Certificate, Fact, canonical_json, digest

__all__ = ["ChainInputs", "build_certificate"]

_SAMPLERS = {
    "opendp": "Canonne, Kamath and Steinke 2020",
    "python": "rejection from the operating system's generator",
}


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
    settings, mechanism = inputs.settings, inputs.plan.mechanism
    chain = {**_stated(inputs), **_of_mechanism(inputs)}
    reasons = blocking_reasons(
        mechanism.guarantee, inputs.scaling, inputs.sampler, is_paid=bool(inputs.charge)
    )
    promised = Promised(
        float(settings.epsilon_total), float(settings.delta_total),
        settings.trust_model, tuple(policy.name for policy in settings.unprotected_labels),
    )  # fmt: skip
    return Certificate(
        formal_guarantee=not reasons,
        verdict=verdict(promised, reasons),
        blocking_reasons=reasons,
        chain={link: chain[link] for link in LINKS if chain.get(link)},
    )


def _stated(inputs: ChainInputs) -> dict[str, Mapping[str, Fact]]:
    """Links that do not come from the mechanism."""
    versions = measured_versions(inputs.settings.software_versions)
    return {
        "unit": _unit(inputs.settings.dedup),
        "adjacency": _adjacency(inputs.n_patients),
        "domain": _domain(inputs),
        "preprocessing": _preprocessing(inputs),
        "sampler": _sampler(inputs.sampler),
        "amplification": books.amplification(inputs),
        "accountant": books.accountant(inputs, versions[LIBRARY]),
        "composition": books.composition(inputs),
        "model": books.model(inputs),
        "postprocessing": books.postprocessing(inputs),
        "utility": books.utility(inputs),
        "software": books.software(inputs.settings, versions),
    }


def _of_mechanism(inputs: ChainInputs) -> dict[str, Mapping[str, Fact]]:
    """Links of the mechanism, with what the plan around it adds."""
    facts = dict(inputs.plan.mechanism.facts())
    facts["bound"] = {**facts["bound"], "dimension": _dimension(inputs)}
    facts["mechanism"] = {**facts["mechanism"], **books.row_epsilon(inputs)}
    promised = {**facts["guarantee"], **books.guarantee(inputs)}
    if inputs.settings.scaling_budget is not None:
        promised = {name: _about_rows(fact) for name, fact in promised.items()}
    facts["guarantee"] = promised
    return facts


def _about_rows(fact: Fact) -> Fact:
    """Say delta of the rows where a mechanism says delta and scaling spends some of it, too."""
    whole, rows = "guarantee.delta", "guarantee.delta_rows"
    if whole not in fact.rests_on or fact.formula is None or not fact.formula.startswith(whole):
        return fact
    formula = re.sub(rf"{re.escape(whole)}(?!_)", rows, fact.formula)
    return replace(
        fact, formula=formula, rests_on=tuple(rows if n == whole else n for n in fact.rests_on)
    )


def _dimension(inputs: ChainInputs) -> Fact:
    m = inputs.plan.spec.dimension
    if isinstance(inputs.plan, RowPlan) and inputs.plan.is_projected:
        step = "preprocessing.projection"
        return derived(m, "public basis", f"components of {step}", step)
    return derived(m, "rows are not projected", "domain.dimension", "domain.dimension")


def _unit(dedup: Dedup) -> Link:
    return {
        "entity": setting("patient"),
        "rows_per_unit_max": derived(
            1, "a feature table refuses a second row of a patient",
            "all recordings of a patient are pooled into one row", "unit.entity", "unit.dedup",
        ),
        "dedup": setting(dedup, "roster of the study"),
    }  # fmt: skip


def _adjacency(n_patients: int) -> Link:
    relation: Relation = "replace_one"
    return {
        "relation": setting(relation, "definition of the guarantee"),
        "factor": derived(
            adjacency_factor(relation), "triangle inequality",
            "2 for replace_one, 1 for add_or_remove_one", "adjacency.relation",
        ),
        "n_roster": measured(n_patients, "roster of the study, before any signal is read"),
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
        "dimension": measured(len(columns), study, "number of columns that the study lists"),
        "n": derived(
            inputs.n_patients, "the roster fixes the number of rows",
            "adjacency.n_roster", "adjacency.n_roster",
        ),
        "columns_digest": measured(
            columns_digest(columns), study, "sha256 of the JSON list of column names"
        ),
        "missing_policy": setting("public_centre", LIBRARY),
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
    if scaling.is_published:  # a digest of private constants would be a leak
        params["constants_digest"] = scaling.digest
        params["n_fallback_columns"] = sum(scaling.fallback)
    step = _step("scaling", params, scaling.fitted_on)
    budget, drawn = inputs.settings.scaling_budget, {}
    if budget is not None and scaling.public is not None:
        params["public_reference"] = scaling.public.name
        params["public_constants_digest"] = scaling.public.digest
        step = _step("scaling", params, scaling.fitted_on)
        step |= {"epsilon": float(budget.epsilon), "delta": float(budget.delta)}
        spec = budget.spec(len(scaling.columns), inputs.n_patients)
        drawn = dict(quantile_facts(QuantileBudget(spec)))
    features = dict(inputs.settings.preprocessing)
    return {
        "features": setting(_step("features", features, "public")),
        "scaling": setting(step),
        **drawn,
        "projection": setting(_projection(inputs)),
    }


def _projection(inputs: ChainInputs) -> dict[str, Any] | None:
    plan, wanted = inputs.plan, inputs.settings.projection
    if not isinstance(plan, RowPlan):
        return None
    if plan.basis is None or plan.model is None or wanted is None:
        return None
    m = plan.spec.dimension
    params = {
        "kind": "public_pca",
        "reference": inputs.scaling.name,
        "rule": wanted.rule,
        "components": m,
        "variance_share": plan.model.variance_share(m),
        "basis_digest": digest(canonical_json(basis_rows(plan.basis))),
    }
    return _step("projection", params, "public")


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
        "library": setting(sampler.library, _SAMPLERS.get(sampler.library, LIBRARY)),
        "version": measured(sampler.version, "installed package"),
        "exact": setting(sampler.exact, sampler.library),
        "source": setting(sampler.source, sampler.library),
        "seeded": setting(sampler.seeded, LIBRARY),
    }
