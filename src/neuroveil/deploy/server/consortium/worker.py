"""The background worker: makes approved releases, and deletes rows that are due."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from neuroveil.deploy.federated.central import DP_TRAINING
from neuroveil.deploy.pseudonymised import IntLabels
from neuroveil.deploy.server.consortium import deletion
from neuroveil.deploy.server.consortium.cohort import cohort_rows
from neuroveil.deploy.server.consortium.jobs import Job, Jobs, LostClaimError
from neuroveil.deploy.server.consortium.promises import (
    ModelPromise,
    Promise,
    TablePromise,
    Wish,
    promise,
)
from neuroveil.deploy.server.consortium.studies import partners, proposal_of
from neuroveil.deploy.server.consortium.uploads import read_content
from neuroveil.deploy.server.consortium.vault import Vault
from neuroveil.deploy.server.database import Database
from neuroveil.deploy.server.logs import log
from neuroveil.deploy.server.refusals import Refusal
from neuroveil.deploy.server.settings import ServerSettings
from neuroveil.deploy.server.tables import STUDY, UPLOAD
from neuroveil.errors import ChainError, MachineError, NeuroveilError
from neuroveil.keys import SiteKey
from neuroveil.ledger import Ledger
from neuroveil.pipeline.claim import claimed, uninterrupted
from neuroveil.types.charge import Charge
from neuroveil.types.table import FeatureTable

_SECONDS_BETWEEN = 0.5


class Worker:
    """Does one job after the other.

    Parameters
    ----------
    settings : ServerSettings
        Of a server that protects studies.
    database : Database
        The server's database.
    vault : Vault
        Opens rows.
    key : SiteKey
        Signs certificates.
    """

    def __init__(
        self, settings: ServerSettings, database: Database, vault: Vault, key: SiteKey
    ) -> None:
        self._settings, self._database = settings, database
        self._vault, self._key = vault, key
        self._trusted = settings.require_trusted()
        self._jobs = Jobs(database, self._trusted.lease_seconds)
        settings.releases.mkdir(mode=0o700, exist_ok=True)

    def run(self) -> None:
        """Work until the process that started this one has ended."""
        parent = os.getppid()
        while os.getppid() == parent:
            try:
                if self.work_once():
                    continue
            except NeuroveilError as error:  # a database or key service that does not answer
                log("worker.waits", error=type(error).__name__)
            time.sleep(_SECONDS_BETWEEN)

    def work_once(self) -> bool:
        """Do one job, and delete what is due.

        Returns
        -------
        bool
            Whether there was a job.
        """
        job = self._jobs.claim()
        if job is not None:
            with self._jobs.renewed(job):
                self._do(job)
        deletion.delete_due(self._database, self._trusted)
        return job is not None

    def _do(self, job: Job) -> None:
        start = time.monotonic()
        try:
            self._release(job)
        except LostClaimError:
            log("job.lost", job=job.release)
        except Exception as error:  # nothing of it is told: it may repeat what was sent
            log("job.failed", job=job.release, error=type(error).__name__)
            self._fail(job, error if isinstance(error, NeuroveilError) else _bug())
        else:
            milliseconds = round(1000 * (time.monotonic() - start))
            log("job.done", job=job.release, milliseconds=milliseconds)

    def _release(self, job: Job) -> None:
        ledger = Ledger(self._settings.ledger_location)
        target = self._settings.releases / job.release
        entry = self._jobs.charged_entry(job, ledger)
        if entry is None:
            entry = self._draw(job, ledger, target)
        elif not target.exists():
            raise MachineError(
                "release", "a release that is written after it was paid for", "none",
                f"The worker ended in between. What was spent stays spent (entry {entry} of the "
                "ledger); ask for another release, which spends again.",
            )  # fmt: skip
        self._jobs.publish(job, self._facts(job, target, entry))

    def _draw(self, job: Job, ledger: Ledger, target: Path) -> int:
        """Protect the whole cohort once; everything that can be refused is refused before."""
        promised, table, labels = self._read(job)
        request = promised.request
        with claimed(target, request.n_patients * request.dimension) as draft:
            draw = promised.prepare(table, labels, (draft, target), self._key)
            with uninterrupted():
                charge: Charge = self._jobs.charge(job, ledger, request)
                draw(charge)
        return charge.entry

    def _read(self, job: Job) -> tuple[Promise, FeatureTable, IntLabels]:
        """What was promised, and the rows of everybody on the closed rosters; private."""
        with self._database.reading() as connection:
            row = connection.execute(sa.select(STUDY).where(STUDY.c.study == job.study)).one()
            proposal = proposal_of(row)
            rosters, features = (
                self._contents(connection, job.study, kind) for kind in ("roster", "features")
            )
        n_patients = json.loads(row.linked)["n_patients"]
        promised = promise(proposal, Wish(**job.request["wish"]), n_patients, job.release)
        _require_reviewed(job, promised)
        table, labels = cohort_rows(proposal, rosters, features, self._trusted.largest_n_rows)
        smallest = proposal.smallest_n(self._settings)
        if table.n_patients != n_patients or n_patients < smallest:
            raise ChainError(
                "cohort", f"the {n_patients} people of the closed rosters, {smallest} at least",
                f"{table.n_patients}", "Nothing was spent. Tell the coordinator.",
            )  # fmt: skip
        return promised, table, labels

    def _contents(self, connection: sa.Connection, study: str, kind: str) -> list[bytes]:
        wanted = (UPLOAD.c.study == study) & (UPLOAD.c.kind == kind)
        uploads = {
            each.hospital: each for each in connection.execute(sa.select(UPLOAD).where(wanted))
        }
        return [
            read_content(connection, self._vault, uploads[each.hospital])
            for each in partners(connection, study)
        ]

    def _facts(self, job: Job, target: Path, entry: int) -> dict[str, Any]:
        """Verify what is about to be published, as everybody will."""
        kind = ModelPromise if job.request["mechanism"] == DP_TRAINING else TablePromise
        certificate = kind.verified(target, self._key.public_key)
        if certificate is None:
            raise MachineError(
                "release", "a release that holds", "one that does not",
                f"It is not published. What was spent stays spent (entry {entry} of the ledger).",
            )  # fmt: skip
        stated = {name: job.request[name] for name in (
            "mechanism", "trust_model", "epsilon", "delta", "n_patients")}  # fmt: skip
        return {**stated, "ledger_entry": entry, "certificate": certificate}

    def _fail(self, job: Job, error: NeuroveilError) -> None:
        try:
            ledger = Ledger(self._settings.ledger_location)
            charged = self._jobs.charged_entry(job, ledger)
            words = {"expected": error.expected, "found": error.found, "remedy": error.remedy}
            self._jobs.fail(job, {"ledger_entry": charged, **words})
        except (LostClaimError, Refusal):  # the next one who claims it finds what there is
            log("job.lost", job=job.release)


def _bug() -> MachineError:
    return MachineError(
        "job", "a release", "a mistake of the server", "Tell the coordinator: see the log."
    )


def _require_reviewed(job: Job, promised: Promise) -> None:
    """Refuse a promise that came out otherwise than the one that was reviewed."""
    if any(job.request.get(name) != value for name, value in promised.essentials.items()):
        raise ChainError(
            "release", "the promise that was reviewed", "another one",
            "Nothing was spent. The server's software changed in between: ask again.",
        )  # fmt: skip
