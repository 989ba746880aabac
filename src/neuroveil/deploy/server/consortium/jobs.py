"""Jobs in the database: claimed by one worker at a time, taken again from one that has died.

What protects against a second draw of noise is the ledger: the charge is made under the job's
name, while the write lock of the server's database is held and the claim is checked. Who finds a
charge of that name draws nothing: what is on the disk is published, or the job has failed and the
charge stays.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from neuroveil.deploy.server import audit_log
from neuroveil.deploy.server.consortium.promises import job_scope
from neuroveil.deploy.server.consortium.releases import (
    DONE,
    FAILED,
    PUBLISHED,
    RUNNING,
    WAITING,
)
from neuroveil.deploy.server.consortium.studies import PUBLISHED as STUDY_PUBLISHED
from neuroveil.deploy.server.consortium.studies import end
from neuroveil.deploy.server.database import Database
from neuroveil.deploy.server.refusals import Refusal
from neuroveil.deploy.server.tables import JOB, RELEASE
from neuroveil.errors import MachineError
from neuroveil.ledger import Ledger
from neuroveil.ledger.anchor import from_json, to_json
from neuroveil.types.charge import Charge, ChargeRequest


@dataclass(frozen=True)
class Job:
    """A claimed job.

    Parameters
    ----------
    release, study : str
        What it makes.
    request : dict
        What was asked for and reviewed.
    worker : str
        Whose claim it is.
    """

    release: str
    study: str
    request: dict[str, Any]
    worker: str


class LostClaimError(MachineError):
    """Another worker has taken the job: this one must not go on."""


class Jobs:
    """The queue.

    Parameters
    ----------
    database : Database
        The server's database.
    lease_seconds : float
        How long a claim holds that is not renewed.
    """

    def __init__(self, database: Database, lease_seconds: float) -> None:
        self._database, self._lease = database, lease_seconds

    def claim(self) -> Job | None:
        """Take the oldest job that nobody works on.

        Returns
        -------
        Job or None
            None where there is nothing to do.
        """
        now, worker = time.time(), secrets.token_hex(16)
        is_free = (JOB.c.state == WAITING) | ((JOB.c.state == RUNNING) & (JOB.c.lease < now))
        with self._database.writing() as connection:
            joined = JOB.join(RELEASE, JOB.c.release == RELEASE.c.release)
            wanted = sa.select(JOB.c.release, RELEASE.c.study, RELEASE.c.request)
            row = connection.execute(
                wanted.select_from(joined).where(is_free).order_by(JOB.c.created).limit(1)
            ).first()
            if row is None:
                return None
            values = {"state": RUNNING, "worker": worker, "lease": now + self._lease}
            connection.execute(JOB.update().where(JOB.c.release == row.release).values(**values))
        return Job(row.release, row.study, json.loads(row.request), worker)

    @contextmanager
    def renewed(self, job: Job) -> Iterator[None]:
        """Keep a claim while a block runs.

        Parameters
        ----------
        job : Job
            A claimed one.

        Yields
        ------
        None
            In the meantime another thread renews the lease.
        """
        is_over = threading.Event()

        def renew() -> None:
            while not is_over.wait(self._lease / 4):
                mine = (JOB.c.release == job.release) & (JOB.c.worker == job.worker)
                values = {"lease": time.time() + self._lease}
                try:
                    with self._database.writing() as connection:
                        connection.execute(
                            JOB.update().where(mine & (JOB.c.state == RUNNING)).values(**values)
                        )
                except Refusal:  # a database that does not answer may come back in time
                    continue

        thread = threading.Thread(target=renew, daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()

    def charged_entry(self, job: Job, ledger: Ledger) -> int | None:
        """Look for the charge of a job.

        Parameters
        ----------
        job : Job
            A claimed one.
        ledger : Ledger
            The server's.

        Returns
        -------
        int or None
            Number of the ledger's entry; None where nothing was charged.
        """
        name = str(job_scope(job.release))
        entries = [each for each in ledger.export() if name in each.get("scopes", ())]
        return int(entries[0]["number"]) if entries else None

    def charge(self, job: Job, ledger: Ledger, request: ChargeRequest) -> Charge:
        """Spend, once for a job, while nobody else can claim it.

        Parameters
        ----------
        job : Job
            A claimed one.
        ledger : Ledger
            The server's.
        request : ChargeRequest
            Under the job's name.

        Returns
        -------
        Charge
            Pays for one draw of noise.

        Raises
        ------
        LostClaimError
            If another worker has the job, or it was charged before.
        BudgetError
            If there is no room, or this is not the ledger of the last charge.
        """
        with self._owned(job) as connection:
            if self.charged_entry(job, ledger) is not None:
                raise _lost()
            _require_same_ledger(connection, ledger)
            charge = ledger.reserve(request)
            assert charge.commitment is not None
            values = {"charged": charge.entry, "commitment": json.dumps(to_json(charge.commitment))}
            connection.execute(JOB.update().where(JOB.c.release == job.release).values(**values))
            facts = {"study": job.study, "release": job.release, "entry": charge.entry,
                     "epsilon": float(request.epsilon), "delta": float(request.delta)}  # fmt: skip
            audit_log.append(connection, "release.charged", facts)
            return charge

    def publish(self, job: Job, facts: Mapping[str, Any]) -> None:
        """Write down that a release is there, which ends its study.

        Parameters
        ----------
        job : Job
            A claimed one.
        facts : mapping
            Public facts of the release.
        """
        with self._owned(job) as connection:
            _decide(connection, job, PUBLISHED, facts)
            end(connection, job.study, STUDY_PUBLISHED)
            logged = {"study": job.study, "release": job.release, **facts}
            audit_log.append(connection, "release.published", logged)

    def fail(self, job: Job, facts: Mapping[str, Any]) -> None:
        """Write down that a release cannot be made; the study stays as it is.

        Parameters
        ----------
        job : Job
            A claimed one.
        facts : mapping
            ``charged``, and what was wrong: words of the program, no content.
        """
        with self._owned(job) as connection:
            _decide(connection, job, FAILED, facts)
            logged = {"study": job.study, "release": job.release, **facts}
            audit_log.append(connection, "release.failed", logged)

    @contextmanager
    def _owned(self, job: Job) -> Iterator[sa.Connection]:
        """Hold the write lock, with the claim checked under it."""
        mine = (JOB.c.release == job.release) & (JOB.c.worker == job.worker)
        with self._database.writing() as connection:
            is_mine = sa.select(JOB.c.release).where(mine & (JOB.c.state == RUNNING))
            if connection.execute(is_mine).first() is None:
                raise _lost()
            yield connection


def _require_same_ledger(connection: sa.Connection, ledger: Ledger) -> None:
    """Refuse a ledger that was exchanged, or an old copy, since the last charge."""
    charged = sa.select(JOB.c.commitment).where(JOB.c.charged.is_not(None))
    last = connection.execute(charged.order_by(JOB.c.charged.desc()).limit(1)).scalar()
    if last is not None:
        ledger.check_commitment(from_json(json.loads(last)))


def _decide(connection: sa.Connection, job: Job, state: str, facts: Mapping[str, Any]) -> None:
    values = {"state": state, "facts": json.dumps(dict(facts))}
    connection.execute(RELEASE.update().where(RELEASE.c.release == job.release).values(**values))
    connection.execute(JOB.update().where(JOB.c.release == job.release).values(state=DONE))


def _lost() -> LostClaimError:
    return LostClaimError(
        "job", "a claim that still holds", "one that another worker has",
        "Nothing was drawn here; the other worker goes on.",
    )  # fmt: skip
