"""What a trusted server can promise and make of a whole cohort: a table, or a trained model.

Both are decided from public numbers alone, rehearsed before anything is spent, paid for once, and
verified as everybody will verify them before they are published.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from neuroveil.deploy.federated.central import (
    DP_TRAINING,
    central_forecast,
    central_plan,
    central_request,
    check_training,
    rehearse_training,
    require_trainable,
    train_centrally,
)
from neuroveil.deploy.federated.plan import FederationPlan
from neuroveil.deploy.federated.result_file import RESULT_FILE
from neuroveil.deploy.federated.specs import Duplicates
from neuroveil.deploy.federated.verify import verify_training
from neuroveil.deploy.manifest import CERTIFICATE
from neuroveil.deploy.pseudonymised import IntLabels
from neuroveil.deploy.server.consortium.proposal import Proposal
from neuroveil.errors import ChainError, NeuroveilError
from neuroveil.keys import SiteKey
from neuroveil.pipeline.release_folder import check_writing, publish_folder, write_release
from neuroveil.pipeline.revision import source_revision
from neuroveil.pipeline.settings import software_versions
from neuroveil.privacy import ProtectSettings, charge_request, check_any, rehearse, release_any
from neuroveil.privacy.central.wiring import choose_central
from neuroveil.privacy.choice import RowWishes, choose_rows
from neuroveil.privacy.settings import MEAN_COVARIANCE, Dedup
from neuroveil.privacy.validate import largest_delta
from neuroveil.privacy.verify import verify
from neuroveil.types.budget import Scope
from neuroveil.types.certificate import digest
from neuroveil.types.charge import Charge, ChargeRequest
from neuroveil.types.table import FeatureTable

MECHANISMS = ("auto", "privunit", MEAN_COVARIANCE, DP_TRAINING)
"""What only somebody who holds all rows can release: shuffled rows; mean and covariance with a
synthetic table made of them; a model. ``auto``: whichever table should leave more, from public
numbers alone. A model answers another question, so nobody gets one without asking for it."""

Draw = Callable[[Charge], None]
"""Draws noise for a charge, and lets the finished folder appear."""


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
    components : int, optional
        Public components that a model sees; for ``dp_training`` only.
    """

    epsilon: float
    delta: float | None
    mechanism: str
    components: int | None = None


@dataclass(frozen=True, eq=False)
class TablePromise:
    """A table of the whole cohort.

    Parameters
    ----------
    proposal : Proposal
        The study's terms.
    settings : ProtectSettings
        All choices made.
    request : ChargeRequest
        What it spends, under the name of its job.
    """

    proposal: Proposal
    settings: ProtectSettings
    request: ChargeRequest

    @property
    def essentials(self) -> dict[str, Any]:
        """What must not differ between request and release, in plain data; public."""
        terms = self.settings
        return _facts(terms.mechanism, terms.trust_model, self.request, self.proposal)

    @property
    def facts(self) -> dict[str, Any]:
        """The promise for the people who decide about it, in plain data; public."""
        forecast = self.settings.choice
        if self.proposal.has_label:
            forecast = f"{forecast} {_of_model(self.proposal, self.request)}"
        return {**self.essentials, "forecast": forecast}

    def prepare(
        self, table: FeatureTable, labels: IntLabels, place: tuple[Path, Path], key: SiteKey
    ) -> Draw:
        """Refuse everything that can be refused, before anything is spent.

        Parameters
        ----------
        table : FeatureTable
            One row a person. Private.
        labels : ndarray of int8, shape (n_patients,)
            Not needed for a table. Private.
        place : tuple of Path
            An empty draft folder, and the folder that will appear.
        key : SiteKey
            Signs the certificate.

        Returns
        -------
        callable
            What is left to do once the charge is there.
        """
        draft, target = place
        scaling, columns = self.proposal.scaling, self.proposal.columns
        check_any(table, scaling, self.settings)
        certificate = rehearse(scaling, self.settings, table.n_patients)
        check_writing(certificate, columns, table.n_patients, draft)

        def draw(charge: Charge) -> None:
            write_release(release_any(table, scaling, self.settings, charge), target, key, draft)

        return draw

    @staticmethod
    def verified(folder: Path, server_key: str) -> str | None:
        """Verify what was made, as everybody will.

        Parameters
        ----------
        folder : Path
            The release.
        server_key : str
            Who has to have signed it.

        Returns
        -------
        str or None
            Digest of the certificate; None where it does not hold.
        """
        if verify(folder, server_key).outcome != "holds":
            return None
        return digest((folder / CERTIFICATE).read_bytes())


@dataclass(frozen=True, eq=False)
class ModelPromise:
    """A model that is trained on the whole cohort.

    Parameters
    ----------
    proposal : Proposal
        The study's terms, with a label.
    plan : FederationPlan
        All choices made.
    request : ChargeRequest
        What it spends, under the name of its job.
    """

    proposal: Proposal
    plan: FederationPlan
    request: ChargeRequest

    @property
    def essentials(self) -> dict[str, Any]:
        """What must not differ between request and release, in plain data; public."""
        facts = _facts(DP_TRAINING, "central", self.request, self.proposal)
        return {**facts, "n_parameters": self.plan.n_parameters, "plan": self.plan.digest}

    @property
    def facts(self) -> dict[str, Any]:
        """The promise for the people who decide about it, in plain data; public."""
        forecast = central_forecast(self.plan, self.proposal.scaling)
        return {**self.essentials, "forecast": forecast}

    def prepare(
        self, table: FeatureTable, labels: IntLabels, place: tuple[Path, Path], key: SiteKey
    ) -> Draw:
        """Refuse everything that can be refused, before anything is spent.

        Parameters
        ----------
        table : FeatureTable
            One row a person. Private.
        labels : ndarray of int8, shape (n_patients,)
            1 positive, 0 negative, -1 unknown. Private.
        place : tuple of Path
            An empty draft folder, and the folder that will appear.
        key : SiteKey
            Signs the files.

        Returns
        -------
        callable
            What is left to do once the charge is there.
        """
        draft, target = place
        part = check_training(self.plan, table, labels, self.proposal.scaling)
        rehearse_training(self.plan, draft, key)

        def draw(charge: Charge) -> None:
            train_centrally(self.plan, part, charge, draft, key)
            publish_folder(draft, target)

        return draw

    @staticmethod
    def verified(folder: Path, server_key: str) -> str | None:
        """Verify what was made, as everybody will.

        Parameters
        ----------
        folder : Path
            The training.
        server_key : str
            Who has to have signed it.

        Returns
        -------
        str or None
            Digest of the result; None where it does not hold.
        """
        if verify_training(folder, server_key).outcome != "holds":
            return None
        return digest((folder / RESULT_FILE).read_bytes())


Promise = TablePromise | ModelPromise


def promise(proposal: Proposal, wish: Wish, n_patients: int, release: str) -> Promise:
    """Say what a release promises and spends, from public numbers alone.

    Parameters
    ----------
    proposal : Proposal
        The study's terms.
    wish : Wish
        What is asked for.
    n_patients : int
        People of the linked rosters.
    release : str
        Name of the job: the ledger's entry holds it, so that a charge is found again.

    Returns
    -------
    TablePromise or ModelPromise
        All choices made.

    Raises
    ------
    ChainError
        If delta is large for so many people, nothing can be calibrated, or a model is asked for
        where the study declares no label.
    FederationError
        If a package for training is missing.
    """
    largest = largest_delta(n_patients)
    delta = largest if wish.delta is None else wish.delta
    if not 0 < delta <= largest:
        raise ChainError(
            "request.delta", f"above 0 and at most {largest:.3g} for {n_patients} people",
            f"{delta:g}", "Leave it out.",
        )  # fmt: skip
    if wish.mechanism == DP_TRAINING:
        _require_label(proposal)
        require_trainable()
        plan = _plan(proposal, n_patients, replace(wish, delta=delta))
        return ModelPromise(proposal, plan, _of_job(central_request(plan), release))
    if wish.components is not None:
        raise ChainError(
            "request.components", f"none, unless {DP_TRAINING} is asked for", "a number",
            "Leave it out: tables choose their own.",
        )  # fmt: skip
    settings = _settings(proposal, wish, n_patients, delta)
    request = charge_request(settings, proposal.columns, n_patients)
    return TablePromise(proposal, settings, _of_job(request, release))


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


def _of_job(request: ChargeRequest, release: str) -> ChargeRequest:
    return replace(request, scopes=(job_scope(release),))


def _settings(proposal: Proposal, wish: Wish, n_patients: int, delta: float) -> ProtectSettings:
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


def _plan(proposal: Proposal, n_patients: int, wish: Wish) -> FederationPlan:
    duplicates = cast("Duplicates", f"linked_{proposal.text.policy}")
    return central_plan(
        proposal.scaling, n_patients, wish.epsilon, wish.delta or 0.0, duplicates, wish.components
    )


def _of_model(proposal: Proposal, request: ChargeRequest) -> str:
    """What a model would reach for the same spending, which a table's forecast does not say."""
    said = f"The study declares a label, so {DP_TRAINING} can train a model instead"
    try:
        require_trainable()
        wish = Wish(float(request.epsilon), float(request.delta), DP_TRAINING)
        plan = _plan(proposal, request.n_patients, wish)
    except NeuroveilError:
        return f"{said}, which this server cannot do as it is set up."
    return (
        f"{said}; a model and a table answer different questions. "
        f"{central_forecast(plan, proposal.scaling)}"
    )


def _require_label(proposal: Proposal) -> None:
    if not proposal.has_label:
        raise ChainError(
            "request.mechanism", f"a study that declares a label, for {DP_TRAINING}",
            "one without",
            "Propose a study with `neuroveil consortium propose --with-label`: hospitals have to "
            "approve that labels are sent.",
        )  # fmt: skip


def _facts(
    mechanism: str, trust_model: str, request: ChargeRequest, proposal: Proposal
) -> dict[str, Any]:
    return {
        "mechanism": mechanism, "trust_model": trust_model,
        "epsilon": float(request.epsilon), "delta": float(request.delta),
        "n_patients": request.n_patients, "n_columns": len(proposal.columns),
    }  # fmt: skip
