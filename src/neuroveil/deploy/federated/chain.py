"""What a trained model promises, and everything that follows from: one chain a setting.

Built like the certificate of a release, link by link, and never mixed: what holds for rows that
were protected at home is not what holds for noise in gradients. There is no ``formal_guarantee``
for a simulation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from neuroveil.deploy.federated.noise import NoiseTerms, epsilon_after, mask_terms, noise_terms
from neuroveil.deploy.federated.plan import TRUSTED_SERVER, FederationPlan
from neuroveil.deploy.federated.progress import RunState
from neuroveil.pipeline.settings import software_versions
from neuroveil.types.certificate import Fact

SCHEMA, SCHEMA_VERSION = "neuroveil-federation-chain", 1

_PLAN = "the plan that all hospitals agreed on"
_CODE = "construction: neuroveil.deploy.federated"
_PACKAGES = ("flwr", "torch", "opacus", "safetensors")

Link = dict[str, Fact]


def federation_chain(plan: FederationPlan, state: RunState, model_digest: str) -> dict[str, Any]:
    """Write down what a run promises, as plain data.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed.
    state : RunState
        Where the run stands.
    model_digest : str
        Digest of the model's file.

    Returns
    -------
    dict
        The chain document: guarantee, verdict, reasons against, links, rounds, model, plan.
    """
    reasons = blocking_reasons(plan)
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "private": not plan.simulation,
        "formal_guarantee": not reasons,
        "verdict": verdict(plan, reasons),
        "blocking_reasons": list(reasons),
        "chain": {
            link: {name: fact.to_json() for name, fact in facts.items()}
            for link, facts in chain_links(plan).items()
        },
        "epsilon_spent": epsilon_after(plan, state.attempts),
        "attempts": state.attempts,
        "rounds": [asdict(each) for each in state.rounds],
        "model": {
            "file": "model.safetensors", "digest": model_digest,
            "round": state.best_round or len(state.rounds),
            "chosen_by": plan.training.stopping,
        },
        "plan_digest": plan.digest,
        "plan": plan.to_json(),
    }  # fmt: skip


def blocking_reasons(plan: FederationPlan) -> tuple[str, ...]:
    """List what stands against a guarantee.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed.

    Returns
    -------
    tuple of str
        Empty where the chain supports one.
    """
    reasons = []
    if plan.simulation:
        reasons.append("This was a simulation: its noise has a seed, and no ledger has paid.")
    if plan.setting == "none":
        reasons.append("Nothing protects the updates or the model.")
    if plan.privacy.labels == "unprotected":
        reasons.append(
            "The labels that the model is trained on are outside the guarantee: rows are "
            "protected, labels are not."
        )
    return tuple(reasons)


def verdict(plan: FederationPlan, reasons: tuple[str, ...]) -> str:
    """Say in one sentence what the run promises.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed.
    reasons : tuple of str
        From :func:`blocking_reasons`.

    Returns
    -------
    str
        Plain English.
    """
    if plan.setting == "none":
        return "Not private. Nothing protects the updates or the model."
    amounts = f"epsilon = {plan.epsilon:g}, delta = {plan.delta:g}"
    about = {
        "local_features": "rows were protected at home before training, so the model and every "
        "update are made of protected rows only, and rounds cost nothing more",
        "dp_sgd": "every local step at every hospital adds noise to the sum of its patients' "
        "clipped gradients, so each update that leaves a hospital is protected",
        "distributed": "the sum of all hospitals' clipped gradients carries the noise; a single "
        "hospital's masked update carries a share of it",
        TRUSTED_SERVER: "a server that holds all rows trained one model, and added noise to the "
        "sum of all patients' clipped gradients in every step",
    }[plan.setting]
    what = "one patient's row and label"
    if plan.privacy.labels == "unprotected":
        what = "one patient's row, and not the label"
    if plan.simulation:
        return f"Not private: a simulation of {amounts} for {what}. In a real run {about}."
    end = " No guarantee end to end, for the reasons given." if reasons else ""
    return f"{amounts} for {what}, replaced by another's: {about}.{end}"


def chain_links(plan: FederationPlan) -> dict[str, Link]:
    """Give the links of a plan's chain, in the order of the derivation.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed.

    Returns
    -------
    dict of str to dict of str to Fact
        The facts.
    """
    noise = noise_terms(plan)
    links = {"unit": _unit(plan), "adjacency": _adjacency(plan), "domain": _domain(plan)}
    if plan.setting == "local_features":
        links |= {"guarantee": _of_rows(plan), "postprocessing": _training(plan)}
    if noise is not None:
        links |= {
            "bound": _bound(plan, noise), "sensitivity": _sensitivity(plan),
            "mechanism": _mechanism(plan, noise), "sampler": _sampler(plan),
            "guarantee": _of_noise(plan, noise), "accountant": _accountant(plan, noise),
        }  # fmt: skip
    if plan.privacy.is_masked:
        links["aggregation"] = _masks(plan)
    return {**links, "model": _trust(plan), "software": _software()}


def _said(value: Any, source: str = _PLAN) -> Fact:
    return Fact(value, "assumed", source)


def _unit(plan: FederationPlan) -> Link:
    facts = {
        "entity": Fact("patient", "proven", _CODE, "one row a patient; every gradient is clipped "
                       "and counted for one patient"),
    }  # fmt: skip
    if plan.setting == TRUSTED_SERVER:
        return facts | {
            "dedup": _said(plan.duplicates, "the server: equal GlobalIDs on the hospitals' closed "
                           "rosters are one person, with one row by this policy"),
        }  # fmt: skip
    return facts | {
        "hospitals_of_a_patient": _said(1, "hospitals: find shared patients with neuroveil link"),
    }


def _adjacency(plan: FederationPlan) -> Link:
    return {
        "relation": Fact("replace_one", "proven", _CODE,
                         "the number of people is fixed by the linked rosters before any row is "
                         "read, and public" if plan.setting == TRUSTED_SERVER else
                         "numbers of patients are fixed by the plan and public; they travel in "
                         "clear, also under masks"),
        "patients": _said({seat.name: seat.n_patients for seat in plan.seats}),
    }  # fmt: skip


def _domain(plan: FederationPlan) -> Link:
    return {
        "inputs": _said(plan.inputs.components),
        "columns_digest": _said(plan.inputs.columns_digest),
        "reference": Fact(plan.inputs.reference, "assumed", "public reference",
                          "centre, spread and components are public; no statistic of a hospital "
                          "enters"),
        "parameters": Fact(plan.n_parameters, "proven", _CODE, "weights and biases of the model"),
        "unprotected": Fact(["label"] if plan.privacy.labels == "unprotected" else [], "proven",
                            _PLAN),
        "figures": _figures(plan),
    }  # fmt: skip


def _figures(plan: FederationPlan) -> Fact:
    """Say what becomes of losses and counts of calls."""
    if plan.setting == TRUSTED_SERVER and not plan.simulation:
        return Fact("none", "proven", _CODE, "the model is not judged on private rows")
    if plan.figures_may_leave:
        why = "losses and counts of calls on rows that were protected or made up"
        return Fact("leave", "proven", _CODE, why)
    why = "losses and counts of calls on private rows are never sent"
    return Fact("stay at the hospital", "proven", _CODE, why)


def _of_rows(plan: FederationPlan) -> Link:
    rows = "certificate of each hospital's release, verified before the first round"
    terms = plan.privacy
    facts = {
        "epsilon": Fact(plan.epsilon, "proven", rows, "rows and, where it is charged, the label",
                        ("domain.unprotected",)),
        "delta": Fact(plan.delta, "proven", rows),
        "label_policy": _said(terms.labels),
    }  # fmt: skip
    if terms.labels == "randomised_response":
        facts["label_epsilon"] = Fact(
            terms.label_epsilon, "proven", "Warner 1965", "charged with the rows"
        )
    return facts


def _training(plan: FederationPlan) -> Link:
    return {
        "training": Fact(
            asdict(plan.training), "proven",
            "post-processing (Dwork and Roth 2014, Proposition 2.1)",
            "epsilon of the model = epsilon of the rows, for any number of rounds",
            ("guarantee.epsilon",),
        ),
    }  # fmt: skip


def _bound(plan: FederationPlan, noise: NoiseTerms) -> Link:
    return {
        "norm": Fact("l2", "proven", _CODE),
        "clip_norm": _said(plan.privacy.gradient_norm),
        "grid_log2": Fact(noise.grid_log2, "proven", _CODE, "from the plan alone"),
        "exact_integer_check": Fact(True, "proven", "neuroveil.privacy.grid.quantise",
                                    "sum(m_j^2) <= (C / 2^grid_log2)^2 for every patient"),
    }  # fmt: skip


def _sensitivity(plan: FederationPlan) -> Link:
    return {
        "value": Fact(2 * plan.privacy.gradient_norm, "proven", "triangle inequality",
                      "2 C under replace-one", ("adjacency.relation", "bound.clip_norm")),
    }  # fmt: skip


def _mechanism(plan: FederationPlan, noise: NoiseTerms) -> Link:
    facts = {
        "name": Fact("discrete_gaussian", "proven", "Canonne, Kamath and Steinke 2020"),
        "noise_std": Fact(noise.noise_std, "proven", noise.accountant,
                          "in every sum of gradients", ("sensitivity.value",)),
        "steps": Fact(noise.steps, "proven", _PLAN,
                      "rounds, each of one step over everybody" if plan.setting == TRUSTED_SERVER
                      else "(rounds + retries) local_steps; hospitals count and refuse more"),
        "sampling_rate": _said(plan.privacy.sampling_rate),
    }  # fmt: skip
    if plan.setting == "distributed":
        terms, n = plan.privacy, len(plan.seats)
        facts |= {
            "share_std": Fact(
                noise.share_std,
                "proven",
                "Kairouz, Liu and Steinke 2021, Proposition 10",
                "noise_std / sqrt(n - max_dropouts - max_colluding)",
                ("mechanism.noise_std",),
            ),
            "hospitals": _said(n),
            "max_dropouts": _said(terms.max_dropouts),
            "max_colluding": _said(terms.max_colluding),
        }
    return facts


def _sampler(plan: FederationPlan) -> Link:
    if plan.simulation:
        return {"source": Fact("seeded_generator", "measured", "simulation"),
                "seeded": Fact(True, "measured", "simulation")}  # fmt: skip
    return {
        "source": Fact("operating_system", "measured", "neuroveil.privacy.sampling"),
        "seeded": Fact(False, "measured", "neuroveil.privacy.sampling"),
        "exact": Fact(True, "proven", "Canonne, Kamath and Steinke 2020"),
    }


def _of_noise(plan: FederationPlan, noise: NoiseTerms) -> Link:
    return {
        "epsilon": Fact(plan.epsilon, "proven", noise.accountant,
                        "over all rounds, retries and local steps",
                        ("mechanism.noise_std", "mechanism.steps", "mechanism.sampling_rate")),
        "delta": Fact(plan.delta, "proven", noise.accountant),
        "delta_slack": Fact(noise.delta_slack, "proven", "neuroveil.privacy.integer_noise",
                            "integers instead of continuous noise, sums of shares, and a share "
                            "that does not fit under the modulus; part of delta"),
    }  # fmt: skip


def _accountant(plan: FederationPlan, noise: NoiseTerms) -> Link:
    return {
        "name": Fact(noise.accountant, "proven", "neuroveil.privacy.accounting"),
        "adjacency": Fact("replace_one", "proven", "neuroveil.privacy.accounting",
                          "noise multiplier noise_std / (2 C)", ("sensitivity.value",)),
        "epsilon": Fact(noise.epsilon, "proven", "neuroveil.privacy.accounting"),
    }  # fmt: skip


def _masks(plan: FederationPlan) -> Link:
    terms = mask_terms(plan)
    return {
        "protocol": Fact("SecAgg+", "assumed", "Bell et al. 2020; Flower's implementation"),
        "threshold": Fact(terms.threshold, "proven", _PLAN, "n - max_dropouts; hospitals check it"),
        "masks": Fact("ChaCha20 under 32-byte keys", "proven", "neuroveil.deploy.federated.masks",
                      "Flower 1.42 alone would fold each key to 32 bits"),
        "overflow": Fact(
            f"{len(plan.seats)} * {terms.quantisation_range} < {terms.modulus}", "proven", _CODE,
            "no sum of all hospitals wraps around the modulus",
        ),
        "in_clear": Fact(["hospital", "number of patients"], "measured", "Flower's messages"),
    }  # fmt: skip


def _trust(plan: FederationPlan) -> Link:
    trusted = {
        "local_features": "nobody but the hospital itself",
        "dp_sgd": "nobody but the hospital itself",
        "distributed": f"the coordinator follows the protocol and relays the hospitals' keys, "
        f"together with at most {plan.privacy.max_colluding} hospitals that may collude with it",
        "none": "everybody",
        TRUSTED_SERVER: "whoever runs the server that holds all rows until it has trained",
    }[plan.setting]
    return {
        "trust_model": Fact(
            "central" if plan.setting == TRUSTED_SERVER else "federated", "assumed", _PLAN
        ),
        "who_is_trusted": Fact(trusted, "assumed", _PLAN),
    }


def _software() -> Link:
    versions: dict[str, str] = dict(software_versions())
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue  # not needed for every setting, and said by its absence
    return {"versions": Fact(dict(sorted(versions.items())), "measured", "importlib.metadata")}


def summary(plan: FederationPlan) -> Mapping[str, Any]:
    """Give the few facts that a person wants first.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed.

    Returns
    -------
    mapping
        Setting, guarantee, hospitals and patients.
    """
    return {
        "setting": plan.setting, "epsilon": plan.epsilon, "delta": plan.delta,
        "hospitals": len(plan.seats), "patients": plan.n_patients, "rounds": plan.training.rounds,
        "parameters": plan.n_parameters, "private": not plan.simulation,
    }  # fmt: skip
