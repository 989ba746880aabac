"""A certificate in the words of the OpenDP registry of deployments.

The registry (https://registry.opendp.org) collects what is known about deployments of
differential privacy, one YAML file each. What a certificate proves is filled in; what only
the site knows (its name, what the data are for, where they come from, when they were
published) is left open and marked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from neuroveil.errors import CertificateError
from neuroveil.privacy.verify import VerificationResult
from neuroveil.privacy.verify.document import load_json, read_bytes
from neuroveil.types.certificate import Certificate, certificate_from_json

OPEN = "TO BE FILLED IN"
"""What stands where only the site knows the answer."""

_VARIANTS = {"pure_dp": "Pure DP", "approximate_dp": "Approximate DP"}
_MODELS = {"local": "Local", "shuffled": "Shuffle", "central": "Central"}
_MECHANISMS = {
    "gaussian": "Gaussian mechanism with exact integer noise",
    "laplace": "Laplace mechanism with exact integer noise",
    "privunit": "PrivUnit as a k-closest codebook",
    "mean_covariance": "Gaussian mechanism with exact integer noise on the sums of rows and of "
    "their products",
}
_ROWS = (
    "A table of EEG features, one row a patient, every row randomised on its own and released in "
    "random order without identifiers."
)
_MOMENTS = (
    "Mean and covariance of the EEG features of all patients, with noise, and a synthetic table "
    "drawn from them."
)


def registry_entry(certificate: Certificate) -> dict[str, Any]:
    """Describe a release in the registry's vocabulary.

    Parameters
    ----------
    certificate : Certificate
        With a guarantee.

    Returns
    -------
    dict
        Nested as the registry's template, with :data:`OPEN` where the site has to say more.

    Raises
    ------
    CertificateError
        If the certificate has no guarantee: then there is no deployment to describe.
    """
    if not certificate.formal_guarantee:
        raise CertificateError(
            "certificate", "one with a guarantee", "one without",
            "The registry is for deployments of differential privacy.",
        )  # fmt: skip
    return {
        "url_slug": OPEN,
        "deployment": {
            "basic": _basic(certificate),
            "dp_variant": _variant(certificate),
            "privacy_loss": _loss(certificate),
            "deployment_model": _model(certificate),
            "implementation": _implementation(certificate),
            "administrative": {"status": "Draft", "registry_authors": [OPEN], "tier": 3},
        },
    }


def write_entry(target: Path, result: VerificationResult, path: Path) -> None:
    """Write the entry of a release that was verified.

    Parameters
    ----------
    target : Path
        A release folder or its certificate.
    result : VerificationResult
        What verification found there.
    path : Path
        The YAML file to write; an existing one is replaced.

    Raises
    ------
    CertificateError
        If the certificate does not hold, or there is none.
    """
    if result.scope == "claim" or result.outcome != "holds":
        raise CertificateError(
            "certificate", "one that holds", "one that does not, or a claim",
            "Only what was derived again is exported.",
        )  # fmt: skip
    file = target / "certificate.json" if target.is_dir() else target
    certificate = certificate_from_json(load_json(read_bytes(file, "certificate"), "certificate"))
    lines = "\n".join(_yaml(registry_entry(certificate)))
    path.write_text(lines + "\n", encoding="utf-8")


def _basic(certificate: Certificate) -> dict[str, Any]:
    central = certificate.value("mechanism.name") == "mean_covariance"
    return {
        "name": OPEN,
        "data_curators": [{"data_curator_name": OPEN, "data_curator_type": OPEN}],
        "description": _MOMENTS if central else _ROWS,
        "intended_use": OPEN,
        "data_product_type": "Summary statistics" if central else "Dataset",
        "data_product_region": OPEN,
        "data_product_sector": "Healthcare",
        "publication_date": OPEN,
    }


def _variant(certificate: Certificate) -> dict[str, Any]:
    columns, n = certificate.value("domain.dimension"), certificate.value("domain.n")
    unprotected = certificate.value("domain.unprotected")
    beside = (
        f" Label columns released as they are: {', '.join(unprotected)}." if unprotected else ""
    )
    return {
        "variant_name": _VARIANTS[certificate.value("guarantee.variant")],
        "data_domain": f"Tables of {n} patients with {columns} EEG features each, pooled over all "
        "recordings of a patient; a missing cell is the public centre.",
        "unprotected_quantities": f"The number of patients on the roster ({n}), the list of "
        f"feature columns, and all settings of the study.{beside}",
    }


def _loss(certificate: Certificate) -> dict[str, Any]:
    epsilon, delta = certificate.value("guarantee.epsilon"), certificate.value("guarantee.delta")
    labels = certificate.value("guarantee.epsilon_labels")
    parts = f" Of epsilon, {labels:g} is for label columns." if labels else ""
    scaling = certificate.value("preprocessing.scaling")
    if scaling["epsilon"]:
        parts += f" Of epsilon, {scaling['epsilon']:g} is for scaling constants."
    reason = certificate.value("guarantee.delta_justification")
    why = f" Delta is larger than min(1/n^2, 1e-5): {reason}" if reason else ""
    return {
        "privacy_unit": "Patient",
        "privacy_unit_details": "Adjacent datasets have the same number of patients and differ "
        "in all recordings of one of them (replace-one).",
        "privacy_parameters": {"epsilon": epsilon, **({"delta": delta} if delta else {})},
        "privacy_parameters_details": f"For the whole release.{parts}{why}",
    }


def _model(certificate: Certificate) -> dict[str, Any]:
    trust, details = certificate.value("model.trust"), "Every row is randomised on its own."
    if certificate.value("mechanism.name") == "mean_covariance":
        details = "A trusted curator adds noise to statistics of all rows together."
    elif trust == "central":
        details += " A trusted curator drew the scaling constants from all rows together."
    if trust == "shuffled":
        local = certificate.value("amplification.epsilon_local")
        details += (
            f" A row alone has epsilon = {local:g}; {certificate.value('amplification.batch')} "
            "rows are shuffled together, by which the stated parameters hold."
        )
    prior = certificate.value("composition.prior_releases")
    return {
        "model_name": _MODELS[trust],
        "model_name_details": details,
        "trust_assumptions": certificate.value("model.who_is_trusted"),
        "release_type": "Many releases" if prior else "One release",
        "release_type_details": f"Releases about the same patients before this one: {prior}. A "
        "ledger refuses releases beyond a limit.",
        "data_source_type": "Static",
        "access_type": "Non-interactive",
    }


def _implementation(certificate: Certificate) -> dict[str, Any]:
    value, names = certificate.value, [s["step"] for s in certificate.value("postprocessing.steps")]
    limit, before = value("composition.limit"), value("composition.spent_before")
    versions = value("software.versions")
    projected = value("preprocessing.projection") is not None
    scaling = value("preprocessing.scaling")
    kind = "drawn" if scaling["fitted_on"] == "dp" else "public"
    return {
        "preprocessing_and_hyperparameter_tuning": f"Features are scaled with the {kind} constants "
        f"of {scaling['params']['reference']}"
        + (", projected on public components" if projected else "")
        + f" and clipped to norm {value('bound.clip_norm'):g} ({value('bound.norm')}). Settings "
        "were chosen from public information only.",
        "mechanisms": f"{_MECHANISMS[value('mechanism.name')]}; randomness from the operating "
        f"system, drawn in whole numbers by {value('sampler.library')} "
        f"{value('sampler.version')}, no floating-point noise. neuroveil {versions['neuroveil']}.",
        "composition": f"{value('composition.rule')}: limit epsilon = {limit['epsilon']:g}, delta "
        f"= {limit['delta']:g}; spent before: epsilon = {before['epsilon']:g}, delta = "
        f"{before['delta']:g}.",
        "post_processing": ", ".join(names) or "None.",
        "justification": OPEN,
        "utility": json.dumps(value("utility.predicted")),
        "additional_information": f"Digest of the certified chain: {certificate.chain_digest}. "
        "Whoever has the release can derive every number again with `neuroveil verify`.",
    }


def _yaml(value: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """Write nested objects, lists and scalars; a JSON scalar is a YAML scalar."""
    for key, entry in value.items():
        if isinstance(entry, Mapping):
            yield f"{indent}{key}:"
            yield from _yaml(entry, indent + "  ")
        elif isinstance(entry, list):
            yield f"{indent}{key}:"
            for item in entry:
                yield from _yaml_item(item, indent + "  ")
        else:
            yield f"{indent}{key}: {json.dumps(entry, ensure_ascii=False)}"


def _yaml_item(item: Any, indent: str) -> Iterator[str]:
    if not isinstance(item, Mapping):
        yield f"{indent}- {json.dumps(item, ensure_ascii=False)}"
        return
    lines = list(_yaml(item, indent + "  "))
    yield f"{indent}- {lines[0].strip()}"
    yield from lines[1:]
