"""The life of a submission: created, received in chunks, verified, accepted or refused."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import sqlalchemy as sa

from neuroveil.deploy.manifest import Manifest, ManifestFile, manifest_from_json
from neuroveil.deploy.receipt import RECEIPT, signed
from neuroveil.deploy.server import audit_log
from neuroveil.deploy.server.admission import Admission
from neuroveil.deploy.server.database import SUBMISSION, Database
from neuroveil.deploy.server.hospitals import Hospital
from neuroveil.deploy.server.refusals import Refusal
from neuroveil.deploy.server.settings import ServerSettings
from neuroveil.deploy.server.store import Store
from neuroveil.keys import SiteKey
from neuroveil.types.certificate import Certificate

RECEIVING, ACCEPTED, REFUSED = "receiving", "accepted", "refused"


class Submissions:
    """All submissions of a study.

    Parameters
    ----------
    settings : ServerSettings
        Terms and limits.
    database : Database
        What is known about them.
    key : SiteKey
        Signs receipts.
    """

    def __init__(self, settings: ServerSettings, database: Database, key: SiteKey) -> None:
        self._settings, self._database, self._key = settings, database, key
        self._store = Store(settings.root, settings.limits.free_mib << 20)
        self._admission = Admission(settings)

    def create(self, hospital: Hospital, document: Any) -> dict[str, Any]:
        """Begin a submission, or say how far it is: asking twice changes nothing.

        Parameters
        ----------
        hospital : Hospital
            Who asks.
        document : JSON value
            ``content_id`` and ``manifest``.

        Returns
        -------
        dict
            As :meth:`status`.

        Raises
        ------
        Refusal
            If the manifest is none, is too large, or is not what its name says.
        """
        parts = document if isinstance(document, dict) else {}
        manifest = manifest_from_json(parts.get("manifest"))
        if manifest is None:
            raise Refusal(
                "bad_request", "a manifest of the files of a release", "another document",
                "Use `neuroveil submit`.",
            )  # fmt: skip
        if parts.get("content_id") != manifest.content_id:
            raise Refusal(
                "content_mismatch", "a manifest whose digest is its content id", "another digest",
                "Use `neuroveil submit`.",
            )  # fmt: skip
        self._require_size(manifest)
        with self._store.locked(_upload(hospital, manifest.content_id)):
            state = self._state(hospital, manifest.content_id)
            if state not in (RECEIVING, ACCEPTED):
                self._begin(hospital, manifest)
        return self.status(hospital, manifest.content_id)

    def status(self, hospital: Hospital, content_id: str) -> dict[str, Any]:
        """Say how far a submission is.

        Parameters
        ----------
        hospital : Hospital
            Who asks; nobody sees the submissions of others.
        content_id : str
            Which one.

        Returns
        -------
        dict
            Keys ``content_id``, ``state``, ``chunk_bytes``; ``received`` (bytes by file name)
            while it is being received, ``receipt`` where it was accepted.

        Raises
        ------
        Refusal
            Code ``not_found``.
        """
        row = self._row(hospital, content_id)
        answer: dict[str, Any] = {
            "content_id": content_id,
            "state": row.state,
            "chunk_bytes": self._settings.limits.chunk_mib << 20,
        }
        if row.state == ACCEPTED:
            return {**answer, "receipt": json.loads(row.receipt)}
        upload, manifest = _upload(hospital, content_id), _manifest(row)
        received = {file.name: self._store.received(upload, file) for file in manifest.files}
        return {**answer, "received": received}

    def receive(
        self, hospital: Hospital, content_id: str, name: str, offset: int, data: bytes
    ) -> dict[str, Any]:
        """Take one chunk; it is on the disk when this returns.

        Parameters
        ----------
        hospital : Hospital
            Who sends.
        content_id : str
            Which submission.
        name : str
            Which file of it.
        offset : int
            Where the chunk begins, bytes.
        data : bytes
            The chunk.

        Returns
        -------
        dict
            Key ``received``: bytes of this file that are here.

        Raises
        ------
        Refusal
            If there is no such submission or file, or the chunk does not go on from the last.
        """
        upload = _upload(hospital, content_id)
        row = self._row(hospital, content_id)
        file = _manifest(row).file(name)
        if file is None:
            raise _not_found()
        self._store.require_room(len(data))
        with self._store.locked(upload):
            if self._state(hospital, content_id) != RECEIVING:
                raise Refusal(
                    "already_submitted", "a submission that is being received",
                    "one that was decided", "Ask for its state.",
                )  # fmt: skip
            return {"received": self._store.append(upload, file, offset, data)}

    def complete(self, hospital: Hospital, content_id: str) -> dict[str, Any]:
        """Verify a submission and accept it; asking again gives the same receipt.

        Parameters
        ----------
        hospital : Hospital
            Who asks.
        content_id : str
            Which submission.

        Returns
        -------
        dict
            As :meth:`status`, with the receipt.

        Raises
        ------
        Refusal
            If it is not complete, does not hold, or does not fit the study.
        """
        upload = _upload(hospital, content_id)
        with self._store.locked(upload):
            row = self._row(hospital, content_id)
            if row.state == RECEIVING:
                manifest = _manifest(row)
                with self._store.assembled(upload, manifest) as folder:
                    try:
                        certificate = self._admission.admit(folder, hospital)
                    except Refusal as refusal:
                        self._refuse(hospital, content_id, refusal)
                        raise
                self._store.keep(upload, manifest)
                self._accept(hospital, manifest, certificate)
                self._store.forget(upload)
        return self.status(hospital, content_id)

    def states(self) -> dict[str, int]:
        """Count submissions by state.

        Returns
        -------
        dict of str to int
            All three states.
        """
        counted = sa.select(SUBMISSION.c.state, sa.func.count()).group_by(SUBMISSION.c.state)
        with self._database.reading() as connection:
            found = {str(row[0]): int(row[1]) for row in connection.execute(counted)}
        return {state: found.get(state, 0) for state in (RECEIVING, ACCEPTED, REFUSED)}

    def require_room(self, size: int) -> None:
        """Refuse what the disk has no room for.

        Parameters
        ----------
        size : int
            Bytes.
        """
        self._store.require_room(size)

    def _require_size(self, manifest: Manifest) -> None:
        limits = self._settings.limits
        largest = max(file.size for file in manifest.files)
        if largest > limits.file_mib << 20 or manifest.size > limits.submission_mib << 20:
            raise Refusal(
                "too_large",
                f"files of {limits.file_mib} MiB, {limits.submission_mib} MiB together, at most",
                f"{largest >> 20} and {manifest.size >> 20} MiB",
                "Ask the coordinator to raise the limit.",
            )  # fmt: skip
        self._store.require_room(manifest.size)

    def _begin(self, hospital: Hospital, manifest: Manifest) -> None:
        """Write a new submission down; one that was refused begins anew."""
        mine = SUBMISSION.c.key_id == hospital.key_id
        is_open = sa.select(sa.func.count()).where(mine & (SUBMISSION.c.state == RECEIVING))
        facts = {
            "content_id": manifest.content_id, "key_id": hospital.key_id, "state": RECEIVING,
            "begun": time.time(), "manifest": json.dumps(manifest.to_json()), "facts": None,
            "receipt": None,
        }  # fmt: skip
        self._forget_stale()
        with self._database.writing() as connection:
            if (connection.execute(is_open).scalar() or 0) >= self._settings.limits.open_uploads:
                raise Refusal(
                    "too_many_uploads", f"{self._settings.limits.open_uploads} at a time at most",
                    "more", "Finish the ones that were begun.",
                )  # fmt: skip
            connection.execute(
                SUBMISSION.delete().where(mine & (SUBMISSION.c.content_id == manifest.content_id))
            )
            connection.execute(SUBMISSION.insert().values(**facts))

    def _forget_stale(self) -> None:
        """Give up uploads that nobody has finished; a hospital would run into its limit."""
        oldest = time.time() - 86400 * self._settings.limits.upload_days
        stale = (SUBMISSION.c.state == RECEIVING) & (SUBMISSION.c.begun < oldest)
        found = sa.select(SUBMISSION.c.key_id, SUBMISSION.c.content_id).where(stale)
        with self._database.reading() as connection:
            rows = connection.execute(found).all()
        for key_id, content_id in rows:
            upload = f"{key_id}-{content_id}"
            this = (SUBMISSION.c.key_id == key_id) & (SUBMISSION.c.content_id == content_id)
            # One that is being sent on at this moment, or begun anew, must keep its files.
            with self._store.locked(upload, wait=False) as is_held:
                if not is_held:
                    continue
                with self._database.writing() as connection:
                    n_rows = connection.execute(SUBMISSION.delete().where(stale & this)).rowcount
                if n_rows:
                    self._store.forget(upload)

    def _accept(self, hospital: Hospital, manifest: Manifest, certificate: Certificate) -> None:
        """Decide, sign and write down in one transaction; only then is anything answered."""
        same = SUBMISSION.c.content_id == manifest.content_id
        mine = same & (SUBMISSION.c.key_id == hospital.key_id)
        with self._database.writing() as connection:
            other = same & (SUBMISSION.c.state == ACCEPTED)
            if connection.execute(sa.select(SUBMISSION.c.key_id).where(other)).first():
                raise Refusal(
                    "already_submitted", "a release that nobody else has submitted",
                    "one that another hospital has", "Tell the coordinator.",
                )  # fmt: skip
            facts = {
                "hospital": hospital.key_id, "content_id": manifest.content_id,
                "certificate": certificate.whole_digest,
            }  # fmt: skip
            number, entry = audit_log.append(connection, "submission.accepted", facts)
            receipt = signed(self._key, RECEIPT, {
                **facts, "study": self._settings.study.name, "bytes": manifest.size,
                "accepted": audit_log.utc_now(), "audit_number": number, "audit_hash": entry,
            })  # fmt: skip
            values = {
                "state": ACCEPTED, "receipt": json.dumps(receipt),
                "facts": json.dumps(public_facts(certificate)),
            }  # fmt: skip
            connection.execute(SUBMISSION.update().where(mine).values(**values))

    def _refuse(self, hospital: Hospital, content_id: str, refusal: Refusal) -> None:
        mine = (SUBMISSION.c.content_id == content_id) & (SUBMISSION.c.key_id == hospital.key_id)
        named = refusal.extra.get("links") or refusal.extra.get("settings") or []
        facts = {
            "hospital": hospital.key_id, "content_id": content_id, "code": refusal.code,
            "links": named,
        }  # fmt: skip
        with self._database.writing() as connection:
            connection.execute(SUBMISSION.update().where(mine).values(state=REFUSED))
            audit_log.append(connection, "submission.refused", facts)
        self._store.forget(_upload(hospital, content_id))

    def _row(self, hospital: Hospital, content_id: str) -> sa.Row[Any]:
        mine = (SUBMISSION.c.content_id == content_id) & (SUBMISSION.c.key_id == hospital.key_id)
        with self._database.reading() as connection:
            row = connection.execute(sa.select(SUBMISSION).where(mine)).first()
        if row is None:
            raise _not_found()
        return row

    def _state(self, hospital: Hospital, content_id: str) -> str | None:
        try:
            return str(self._row(hospital, content_id).state)
        except Refusal as refusal:
            if refusal.code != "not_found":
                raise
            return None


def public_facts(certificate: Certificate) -> dict[str, Any]:
    """Take what the overview shows out of a certificate.

    Parameters
    ----------
    certificate : Certificate
        Of an accepted release.

    Returns
    -------
    dict
        Number of patients, mechanism, trust model, budget.
    """
    names = {
        "n_patients": "domain.n", "dimension": "domain.dimension", "mechanism": "mechanism.name",
        "trust": "model.trust", "epsilon": "guarantee.epsilon", "delta": "guarantee.delta",
        "limit": "composition.limit", "remaining": "composition.remaining",
    }  # fmt: skip
    facts = {}
    for name, dotted in names.items():
        try:
            facts[name] = certificate.value(dotted)
        except KeyError:  # moments have no such fact
            facts[name] = None
    return facts


def _upload(hospital: Hospital, content_id: str) -> str:
    """Name an upload; nothing but digits ever becomes a part of a path."""
    if not re.fullmatch("[0-9a-f]{64}", content_id):
        raise _not_found()
    return f"{hospital.key_id}-{content_id}"


def _manifest(row: sa.Row[Any]) -> Manifest:
    files = json.loads(row.manifest)["files"]
    return Manifest(
        tuple(ManifestFile(name, file["size"], file["digest"]) for name, file in files.items())
    )


def _not_found() -> Refusal:
    return Refusal(
        "not_found", "something that is here", "nothing of this name", "Begin a new submission."
    )
