"""The HTML pages: public, internal, rehearsal. Each is one file that asks for nothing else."""

from __future__ import annotations

from typing import Any

from neuroveil.errors import CertificateError
from neuroveil.report import central
from neuroveil.report.facts import Facts, as_planned
from neuroveil.report.limits import CHECKING, GLOSSARY, not_protected
from neuroveil.report.links import chain_links
from neuroveil.report.measured import input_parts, measured_parts, moment_parts
from neuroveil.report.picture import draw_chain
from neuroveil.report.promise import cost, promise, trust, typical_cell
from neuroveil.report.rendering import render
from neuroveil.report.text import fact_value, listing, number
from neuroveil.types.catalogue import Column, feature_spec
from neuroveil.types.certificate import Certificate, canonical_json, digest
from neuroveil.types.moment_utility import MomentUtility
from neuroveil.types.utility import ExtractionSummary, UtilityResult

Measured = UtilityResult | MomentUtility


def public_report(certificate: Certificate, columns: tuple[Column, ...]) -> str:
    """Draw the page that goes with a release.

    It is given nothing private: what it shows follows from the certificate and from the
    names of the columns.

    Parameters
    ----------
    certificate : Certificate
        The certificate of the release.
    columns : tuple of Column
        The released feature columns, in order.

    Returns
    -------
    str
        HTML; the same bytes for the same input.

    Raises
    ------
    CertificateError
        If the columns are not those of the certificate.
    """
    parts = _common_parts(certificate, columns)
    return render("page.html.j2", {
        **parts, "kind": "public", "title": "Privacy report",
        "subtitle": "For everyone who receives, reviews or answers for this table of EEG features.",
    })  # fmt: skip


def internal_report(
    certificate: Certificate,
    columns: tuple[Column, ...],
    utility: Measured | None,
    extraction: ExtractionSummary,
) -> str:
    """Draw the page that stays where the recordings are.

    Parameters
    ----------
    certificate : Certificate
        The certificate of the release.
    columns : tuple of Column
        The released feature columns, in order.
    utility : UtilityResult, MomentUtility or None
        Measured utility of rows, or of mean and covariance. Internal.
    extraction : ExtractionSummary
        What went in. Internal.

    Returns
    -------
    str
        HTML, marked internal.

    Raises
    ------
    CertificateError
        If the columns are not those of the certificate.
    """
    return render("page.html.j2", {
        **_common_parts(certificate, columns),
        **_measured(utility),
        **input_parts(extraction), "kind": "internal", "title": "Internal privacy report",
        "subtitle": "For the people who hold the recordings, with measured utility and counts.",
    })  # fmt: skip


def rehearsal_report(
    certificate: Certificate,
    columns: tuple[Column, ...],
    utility: Measured | None = None,
) -> str:
    """Draw the page of a rehearsal: simulated rows, nothing spent, not a release.

    Parameters
    ----------
    certificate : Certificate
        The certificate of the rehearsal.
    columns : tuple of Column
        The columns that a release would have, in order.
    utility : UtilityResult or MomentUtility, optional
        Utility measured on the simulated rows.

    Returns
    -------
    str
        HTML with a banner.

    Raises
    ------
    CertificateError
        If the columns are not those of the certificate.
    """
    parts = _common_parts(certificate, columns, planned=as_planned(certificate))
    return render("page.html.j2", {
        **parts, **_measured(utility),
        "kind": "rehearsal", "title": "Privacy report of a rehearsal",
        "subtitle": "What a release with these settings would look like.",
    })  # fmt: skip


def _measured(utility: Measured | None) -> dict[str, Any]:
    if utility is None:
        return {}
    if isinstance(utility, MomentUtility):
        return moment_parts(utility)
    return measured_parts(utility)


def _common_parts(
    certificate: Certificate, columns: tuple[Column, ...], planned: Certificate | None = None
) -> dict[str, Any]:
    """What all pages share; of a rehearsal the words are those of the planned release."""
    facts = Facts(planned or certificate)
    names = digest(canonical_json([column.name for column in columns]))
    if facts.get("domain.columns_digest") != names:
        raise CertificateError(
            "columns", "the columns that the certificate names", "others",
            "Give the columns of this release, in their order.",
        )  # fmt: skip
    links = chain_links(facts)
    versions = facts.get("software.versions")
    return {
        "words": promise(facts.certificate),
        "trust": trust(facts),
        "figures": _key_figures(facts),
        "links": links,
        "wide": draw_chain(links, 3, 280),
        "narrow": draw_chain(links, 1, 320),
        "cost": cost(facts),
        "signal_chart": _signal_chart(facts),
        "predicted": _predicted(facts),
        "limits": not_protected(facts),
        "features": _features(columns),
        "channels": listing(list(dict.fromkeys(column.channel for column in columns))),
        "checking": CHECKING,
        "glossary": GLOSSARY,
        "facts": _fact_rows(certificate),
        "chain_digest": certificate.chain_digest,
        "version": versions.get("neuroveil", "") if isinstance(versions, dict) else "",
        "verdict": certificate.verdict,
        "utility": None,
        "moments": None,
        "extraction": None,
    }


def _key_figures(facts: Facts) -> list[tuple[str, str]]:
    error = "error in a cell" if facts.has_codewords else "noise in a cell (std)"
    shared = [
        ("ε, the promise", number(facts.get("guarantee.epsilon"))),
        ("δ, the slack", number(facts.get("guarantee.delta"))),
        ("patients", number(facts.get("domain.n"))),
        ("columns", number(facts.get("domain.dimension"))),
    ]
    if facts.is_central:
        return shared + central.key_figures(facts)
    return [
        *shared,
        (error, number(facts.cell_error, 4)),
        ("correlation kept", number(facts.correlation, 2)),
    ]


def _signal_chart(facts: Facts) -> str | None:
    from neuroveil.report.charts import signal_and_noise

    typical, noise_std = typical_cell(facts), facts.cell_error
    if typical is None or noise_std is None or noise_std <= 0:
        return None
    return signal_and_noise(typical, noise_std)


def _predicted(facts: Facts) -> list[tuple[str, str, str]]:
    typical = typical_cell(facts)
    at_most = "not stated" if typical is None else f"at most {number(typical, 3)}"
    rows = (
        ("rmse", "Root mean square error (no unit)", at_most),
        ("mae", "Mean absolute error (no unit)", at_most),
        ("correlation", "Correlation, at most", "none"),
        ("snr_db", "Signal-to-noise ratio, at most (dB)", "0"),
        ("mean_rmse", "Error of an entry of the mean (no unit)", "not stated"),
        ("covariance_rmse", "Error of an entry of the covariance (no unit)", "not stated"),
        ("mse_over_clip_norm_squared", "Squared error of a row / squared cap", "at most 1"),
    )
    stated = [(key, facts.part("utility.predicted", key)) for key, _, _ in rows]
    values = {key: number(value, 4) for key, value in stated if value is not None}
    return [(name, values[key], zeros) for key, name, zeros in rows if key in values]


def _features(columns: tuple[Column, ...]) -> list[dict[str, str]]:
    channels: dict[str, list[str]] = {}
    for column in columns:
        channels.setdefault(column.feature, []).append(column.channel)
    everywhere = list(dict.fromkeys(column.channel for column in columns))
    found = []
    for name, where in channels.items():
        spec = feature_spec(name)
        found.append({
            "label": spec.label, "unit": spec.unit, "scale": spec.scale,
            "channels": f"all {len(where)}" if where == everywhere else listing(where),
        })  # fmt: skip
    return found


def _fact_rows(certificate: Certificate) -> list[dict[str, str]]:
    return [
        {
            "name": f"{link}.{name}", "value": fact_value(fact.value), "status": fact.status,
            "formula": fact.formula or "", "rests_on": ", ".join(fact.rests_on),
            "source": fact.source,
        }
        for link, facts in certificate.chain.items()
        for name, fact in facts.items()
    ]  # fmt: skip
