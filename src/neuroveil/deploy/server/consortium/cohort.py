"""One protection for the whole cohort: what is released, and with which promise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from neuroveil.deploy.pseudonymised import read_features, read_roster
from neuroveil.deploy.server.consortium.linking import people_of
from neuroveil.deploy.server.consortium.proposal import Proposal
from neuroveil.errors import ChainError
from neuroveil.linkage.resolve import resolve_tables
from neuroveil.pipeline.revision import source_revision
from neuroveil.pipeline.settings import software_versions
from neuroveil.privacy import ProtectSettings, charge_request
from neuroveil.privacy.central.wiring import choose_central
from neuroveil.privacy.choice import RowWishes, choose_rows
from neuroveil.privacy.settings import MEAN_COVARIANCE, Dedup
from neuroveil.privacy.validate import largest_delta
from neuroveil.types.budget import Scope
from neuroveil.types.charge import ChargeRequest
from neuroveil.types.table import FeatureTable

MECHANISMS = ("auto", "privunit", MEAN_COVARIANCE)
"""What only somebody who holds all rows can release: shuffled rows, or mean and covariance with a
synthetic table made of them. ``auto``: whichever should leave more, from public numbers alone."""


@dataclass(frozen=True)
class Wish:
    """What a principal investigator asks for.

    Parameters
    ----------
    epsilon : float
        For one patient.
    delta : float or None
        None for min(1/n², 1e-5).
    mechanism : str
        One of :data:`MECHANISMS`.
    """

    epsilon: float
    delta: float | None
    mechanism: str


def promise(proposal: Proposal, wish: Wish, n_patients: int) -> ProtectSettings:
    """Say what a release promises, from public numbers alone.

    Parameters
    ----------
    proposal : Proposal
        The study's terms.
    wish : Wish
        What is asked for.
    n_patients : int
        People of the linked rosters.

    Returns
    -------
    ProtectSettings
        All choices made.

    Raises
    ------
    ChainError
        If delta is large for so many people, or nothing can be calibrated.
    """
    largest = largest_delta(n_patients)
    delta = largest if wish.delta is None else wish.delta
    if not 0 < delta <= largest:
        raise ChainError(
            "request.delta", f"above 0 and at most {largest:.3g} for {n_patients} people",
            f"{delta:g}", "Leave it out.",
        )  # fmt: skip
    wishes = RowWishes(
        wish.mechanism, wish.epsilon, delta, proposal.text.clip_norm, trust_model="shuffled"
    )
    choose = choose_rows if wish.mechanism == "privunit" else choose_central
    choice = choose(wishes, proposal.scaling, n_patients)
    return ProtectSettings(
        mechanism=choice.mechanism,
        epsilon=wish.epsilon,
        delta=choice.delta,
        clip_norm=proposal.text.clip_norm,
        preprocessing=proposal.text.signal,
        software_versions=software_versions(),
        commit=source_revision(),
        trust_model="central" if choice.mechanism == MEAN_COVARIANCE else "shuffled",
        projection=choice.projection,
        codebook=choice.codebook,
        choice=choice.sentence,
        dedup=cast("Dedup", f"linked_{proposal.text.policy}"),
    )


def spend(
    proposal: Proposal, settings: ProtectSettings, n_patients: int, release: str
) -> ChargeRequest:
    """Say what a release will spend, under the name of its job.

    Parameters
    ----------
    proposal : Proposal
        The study's terms.
    settings : ProtectSettings
        The promise.
    n_patients : int
        People of the linked rosters.
    release : str
        Name of the job: the ledger's entry holds it, so that a charge is found again.

    Returns
    -------
    ChargeRequest
        For the server's ledger.
    """
    from dataclasses import replace

    request = charge_request(settings, proposal.columns, n_patients)
    return replace(request, scopes=(job_scope(release),))


def job_scope(release: str) -> Scope:
    """Name a job in the ledger.

    Parameters
    ----------
    release : str
        Name of the release.

    Returns
    -------
    Scope
        Of no limit; only a name.
    """
    return Scope("study", f"release {release}")


def cohort_table(
    proposal: Proposal, rosters: Sequence[bytes], features: Sequence[bytes], largest: int
) -> FeatureTable:
    """Put all hospitals' rows together, one row a person.

    Parameters
    ----------
    proposal : Proposal
        The study's terms.
    rosters, features : sequence of bytes
        What hospitals sent, in the proposal's order.
    largest : int
        Most rows of a hospital.

    Returns
    -------
    FeatureTable
        Private, in memory only.
    """
    ids = [read_roster(each, largest) for each in rosters]
    tables = [
        read_features(content, proposal.columns, largest).in_order_of(roster, proposal.columns)
        for content, roster in zip(features, ids, strict=True)
    ]
    return resolve_tables(tables, people_of(ids), proposal.text.policy)


def request_facts(settings: ProtectSettings, request: ChargeRequest) -> dict[str, Any]:
    """Sum up a promise for the people who decide about it.

    Parameters
    ----------
    settings : ProtectSettings
        The promise.
    request : ChargeRequest
        What it spends.

    Returns
    -------
    dict
        Plain data; public.
    """
    return {
        "mechanism": settings.mechanism, "trust_model": settings.trust_model,
        "epsilon": float(request.epsilon), "delta": float(request.delta),
        "n_patients": request.n_patients, "n_columns": request.dimension,
        "forecast": settings.choice,
    }  # fmt: skip
