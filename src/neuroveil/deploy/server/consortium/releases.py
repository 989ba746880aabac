"""Releases: requested by one person, reviewed by another, published for those who take part."""

from __future__ import annotations

import json
import math
import re
import secrets
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from neuroveil.deploy.federated.central import DP_TRAINING
from neuroveil.deploy.manifest import Manifest, manifest_of, manifest_of_training
from neuroveil.deploy.server import audit_log
from neuroveil.deploy.server.consortium.promises import MECHANISMS, Wish, promise
from neuroveil.deploy.server.consortium.studies import (
    COMPLETE,
    proposal_of,
    read_decision,
    require_same,
    require_study,
    wrong_state,
)
from neuroveil.deploy.server.database import Database
from neuroveil.deploy.server.people import Party
from neuroveil.deploy.server.refusals import Refusal
from neuroveil.deploy.server.settings import ServerSettings
from neuroveil.deploy.server.tables import JOB, RELEASE
from neuroveil.errors import NeuroveilError
from neuroveil.ledger import Ledger
from neuroveil.types.certificate import canonical_json, digest

REQUESTED, APPROVED, DECLINED = "requested", "approved", "declined"
PUBLISHED, FAILED = "published", "failed"
WAITING, RUNNING, DONE = "waiting", "running", "done"  # of the job that makes a release

_NAME = re.compile("[0-9a-f]{32}")
_READERS = ("hospital", "site_administrator", "principal_investigator", "reviewer")


class Releases:
    """Requests, reviews, and what was published.

    Parameters
    ----------
    settings : ServerSettings
        With the largest epsilon and the budget.
    database : Database
        The server's database.
    """

    def __init__(self, settings: ServerSettings, database: Database) -> None:
        self._settings, self._database = settings, database

    def request(self, party: Party, study: str, document: Any) -> dict[str, Any]:
        """Ask for a release; nothing is spent, and no row is looked at.

        Parameters
        ----------
        party : Party
            The study's principal investigator.
        study : str
            A complete study.
        document : JSON value
            Keys ``epsilon``, ``mechanism``, and ``delta`` and ``components`` or None.

        Returns
        -------
        dict
            Key ``release``, and the promise in plain data.

        Raises
        ------
        Refusal
            If the study is not complete, another request is open, or the promise cannot be
            kept within the budget.
        """
        party.require("principal_investigator")
        wish = _read_wish(document)
        with self._database.reading() as connection:
            row = require_study(connection, party, study)
        if row.state != COMPLETE:
            raise wrong_state("a study to which all hospitals have sent their rows", row.state)
        release = secrets.token_hex(16)
        facts = self._promised(row, wish, release)
        body = canonical_json({**facts, "study": study, "release": release})
        with self._database.writing() as connection:
            row = require_study(connection, party, study)
            is_open = (RELEASE.c.study == study) & RELEASE.c.state.in_((REQUESTED, APPROVED))
            busy = connection.execute(sa.select(RELEASE.c.release).where(is_open)).first()
            if row.state != COMPLETE or busy:
                raise wrong_state("a complete study without an open request", row.state)
            connection.execute(RELEASE.insert().values(
                release=release, study=study, state=REQUESTED, requested=time.time(),
                requested_by=party.key_id, request=json.dumps({**facts, "wish": vars(wish)}),
                request_digest=digest(body),
            ))  # fmt: skip
            logged = {"study": study, "release": release, "person": party.key_id,
                      "epsilon": facts["epsilon"], "delta": facts["delta"],
                      "mechanism": facts["mechanism"], "request": digest(body)}  # fmt: skip
            audit_log.append(connection, "release.requested", logged)
        return {"release": release, **facts}

    def review(self, party: Party, study: str, release: str, document: Any) -> None:
        """Approve a request, which starts its job, or decline it.

        Parameters
        ----------
        party : Party
            A reviewer who did not ask for it.
        study, release : str
            Which one.
        document : JSON value
            Keys ``request`` (its digest) and ``approve``.

        Raises
        ------
        Refusal
            If the reviewer may not, another request is meant, it was decided before, or the
            study has ended in the meantime.
        """
        party.require("reviewer")
        approve = read_decision(document)
        with self._database.writing() as connection:
            state = require_study(connection, party, study).state
            row = _release(connection, study, release)
            require_same(document.get("request"), row.request_digest, "request")
            # One key has one role, so this can only be the same person by a later mistake.
            if row.requested_by == party.key_id:
                raise Refusal("forbidden", "a reviewer who did not ask for the release",
                              "the one who did", "Ask another reviewer.")  # fmt: skip
            wanted = APPROVED if approve else DECLINED
            if row.state != REQUESTED:
                if row.reviewed_by == party.key_id and row.state == wanted:
                    return
                raise wrong_state("a request that was not decided", row.state)
            if approve and state != COMPLETE:  # a hospital may have withdrawn since the request
                raise wrong_state("a study that is complete", state)
            values = {"state": wanted, "reviewed_by": party.key_id}
            connection.execute(
                RELEASE.update().where(RELEASE.c.release == release).values(**values)
            )
            if approve:
                connection.execute(JOB.insert().values(
                    release=release, created=time.time(), state=WAITING, lease=0.0
                ))  # fmt: skip
            facts = {"study": study, "release": release, "person": party.key_id,
                     "approved": approve}  # fmt: skip
            audit_log.append(connection, "release.reviewed", facts)

    def job_states(self) -> dict[str, int]:
        """Count the jobs that make releases.

        Returns
        -------
        dict of str to int
            ``waiting``, ``running``, ``done`` (published), ``failed``.
        """
        joined = JOB.join(RELEASE, JOB.c.release == RELEASE.c.release)
        of_both = (JOB.c.state, RELEASE.c.state)
        counted = sa.select(*of_both, sa.func.count()).select_from(joined).group_by(*of_both)
        found = dict.fromkeys((WAITING, RUNNING, DONE, FAILED), 0)
        with self._database.reading() as connection:
            for job, release, n in connection.execute(counted):
                found[FAILED if (job, release) == (DONE, FAILED) else str(job)] += int(n)
        return found

    def files(self, party: Party, study: str, release: str) -> dict[str, Any]:
        """List the files of a published release.

        Parameters
        ----------
        party : Party
            Somebody who takes part.
        study, release : str
            Which one.

        Returns
        -------
        dict
            As a manifest gives it, and ``chunk_bytes``.
        """
        manifest, _ = self._published(party, study, release)
        chunk_bytes = self._settings.limits.chunk_mib << 20
        return {**manifest.to_json(), "chunk_bytes": chunk_bytes}

    def read(self, party: Party, study: str, release: str, name: str, offset: int) -> bytes:
        """Give a piece of a published file.

        Parameters
        ----------
        party : Party
            Somebody who takes part.
        study, release, name : str
            Which file; names are looked up, and never become a path.
        offset : int
            Where it begins, bytes.

        Returns
        -------
        bytes
            At most one chunk; empty at the end.

        Raises
        ------
        Refusal
            If there is no such file, or the release is not published.
        """
        manifest, folder = self._published(party, study, release)
        file = manifest.file(name)
        if file is None:
            raise Refusal("not_found", "a file of this release", "none of this name",
                          "Ask for the list of files.")  # fmt: skip
        with (folder / file.name).open("rb") as stream:
            stream.seek(offset)
            return stream.read(self._settings.limits.chunk_mib << 20)

    def _published(self, party: Party, study: str, release: str) -> tuple[Manifest, Path]:
        party.require(*_READERS)
        with self._database.reading() as connection:
            require_study(connection, party, study)
            row = _release(connection, study, release)
        if row.state != PUBLISHED:
            raise wrong_state("a release that is published", row.state)
        folder = self._settings.releases / str(row.release)
        return _manifest(folder, json.loads(row.request)["mechanism"]), folder

    def _promised(self, row: sa.Row[Any], wish: Wish, release: str) -> dict[str, Any]:
        """Refuse now what the job would refuse: the reviewer sees only what can be done."""
        linked, largest = json.loads(row.linked), self._settings.study.largest_epsilon
        if wish.epsilon > largest:
            raise _unkept(f"epsilon of at most {largest:g}", f"{wish.epsilon:g}",
                          "Ask for less.")  # fmt: skip
        proposal, n = proposal_of(row), linked["n_patients"]
        try:
            promised = promise(proposal, wish, n, release)
            Ledger(self._settings.ledger_location).require_room(promised.request)
            return promised.facts
        except NeuroveilError as error:
            raise _unkept(error.expected, error.found, error.remedy) from None


@lru_cache(maxsize=32)
def _manifest(folder: Path, mechanism: str) -> Manifest:
    """Digest a published folder once; it never changes, and who fetches it would notice."""
    return manifest_of_training(folder) if mechanism == DP_TRAINING else manifest_of(folder)


def _release(connection: sa.Connection, study: str, release: str) -> sa.Row[Any]:
    wanted = (RELEASE.c.release == release) & (RELEASE.c.study == study)
    is_name = _NAME.fullmatch(release) is not None
    row = connection.execute(sa.select(RELEASE).where(wanted)).first() if is_name else None
    if row is None:
        raise Refusal("not_found", "a release of this study", "none of this name",
                      "See `neuroveil consortium status`.")  # fmt: skip
    return row


def _read_wish(document: Any) -> Wish:
    parts = document if isinstance(document, dict) else {}
    epsilon, delta = _number(parts.get("epsilon")), parts.get("delta")
    components = parts.get("components")
    is_sound = epsilon is not None and epsilon > 0 and parts.get("mechanism") in MECHANISMS
    is_sound = is_sound and (components is None or type(components) is int)
    if not is_sound or (delta is not None and _number(delta) is None):
        raise Refusal(
            "bad_request", f"an epsilon above 0, and a mechanism of {', '.join(MECHANISMS)}",
            "something else", "Use `neuroveil consortium request`.",
        )  # fmt: skip
    assert epsilon is not None
    delta = None if delta is None else _number(delta)
    return Wish(epsilon, delta, parts["mechanism"], components)


def _number(value: Any) -> float | None:
    """Read a number that is one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _unkept(expected: str, found: str, remedy: str) -> Refusal:
    return Refusal("not_releasable", expected, found, remedy)
