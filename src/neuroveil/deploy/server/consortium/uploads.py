"""What hospitals send for a study: rosters first, then features, sealed chunk by chunk."""

from __future__ import annotations

import json
import re
from typing import Any, cast

import sqlalchemy as sa

from neuroveil.deploy.pseudonymised import KINDS, Kind, read_roster
from neuroveil.deploy.receipt import RECEIPT, signed
from neuroveil.deploy.server import audit_log
from neuroveil.deploy.server.consortium.linking import link_rosters
from neuroveil.deploy.server.consortium.sound import require_sound
from neuroveil.deploy.server.consortium.studies import (
    COLLECTING,
    COMPLETE,
    LINKED,
    partners,
    proposal_of,
    require_study,
    set_state,
    wrong_state,
)
from neuroveil.deploy.server.consortium.vault import Vault, seal, unseal
from neuroveil.deploy.server.database import Database
from neuroveil.deploy.server.people import Party
from neuroveil.deploy.server.refusals import Refusal
from neuroveil.deploy.server.settings import ServerSettings
from neuroveil.deploy.server.store import Store
from neuroveil.deploy.server.tables import CHUNK, UPLOAD
from neuroveil.keys import SiteKey
from neuroveil.types.certificate import digest

RECEIVING, ACCEPTED = "receiving", "accepted"

_STEP = {"roster": COLLECTING, "features": LINKED}
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class Uploads:
    """Everything that hospitals send for studies.

    Parameters
    ----------
    settings : ServerSettings
        Limits.
    database : Database
        Keeps the sealed chunks, too.
    vault : Vault
        Seals them.
    key : SiteKey
        Signs receipts.
    """

    def __init__(
        self, settings: ServerSettings, database: Database, vault: Vault, key: SiteKey
    ) -> None:
        self._settings, self._database = settings, database
        self._vault, self._key = vault, key
        self._store = Store(settings.root, settings.limits.free_mib << 20)

    def begin(self, party: Party, study: str, document: Any) -> dict[str, Any]:
        """Begin to send, or say how far it is: asking twice changes nothing.

        Parameters
        ----------
        party : Party
            A hospital of the study.
        study : str
            Which study.
        document : JSON value
            Keys ``kind``, ``size``, ``digest``, and ``terms`` as the proposal gives them.

        Returns
        -------
        dict
            Keys ``state``, ``received``, ``chunk_bytes``; ``receipt`` where it was accepted.

        Raises
        ------
        Refusal
            If it is not the time for it, another content was accepted already, or the
            hospital's settings are not the study's.
        """
        party.require("hospital")
        kind, size, content = self._read(document)
        mac = self._vault.content_mac(content)
        with self._database.writing() as connection:
            row = self._study(connection, party, study)
            known = connection.execute(sa.select(UPLOAD).where(_of(party, study, kind))).first()
            if known is not None and known.state == ACCEPTED:
                if known.content_mac != mac:
                    raise _closed()
                return self._answer(known, content)
            _require_step(row.state, kind)
            _require_terms(document.get("terms"), proposal_of(row).terms)
            if known is None or (known.content_mac, known.size) != (mac, size):
                self._store.require_room(size)
                _forget(connection, party, study, kind)
                connection.execute(UPLOAD.insert().values(
                    study=study, hospital=party.key_id, kind=kind, state=RECEIVING,
                    content_mac=mac, size=size, received=0,
                ))  # fmt: skip
            known = connection.execute(sa.select(UPLOAD).where(_of(party, study, kind))).one()
            return self._answer(known, content)

    def receive(
        self, party: Party, study: str, kind: str, offset: int, data: bytes
    ) -> dict[str, Any]:
        """Take one chunk; it is sealed and on the disk when this returns.

        Parameters
        ----------
        party : Party
            A hospital of the study.
        study, kind : str
            What it belongs to.
        offset : int
            Where the chunk begins, bytes.
        data : bytes
            The chunk.

        Returns
        -------
        dict
            Key ``received``: bytes that are here.

        Raises
        ------
        Refusal
            If nothing was begun, or the chunk does not go on from the last.
        """
        with self._database.writing() as connection:
            state = self._study(connection, party, study).state
            row = _open(connection, party, study, kind)
            _require_step(state, row.kind)
            if offset != row.received:
                raise Refusal(
                    "wrong_offset", f"the chunk that begins at byte {row.received}",
                    "another one", "Go on from there.", {"received": row.received},
                )  # fmt: skip
            if not data or offset + len(data) > row.size:
                raise Refusal("too_large", "as many bytes as were announced", "another number",
                              "Begin again.")  # fmt: skip
            key = self._vault.data_key(connection, study, make=True)
            connection.execute(CHUNK.insert().values(
                study=study, hospital=party.key_id, kind=kind, position=offset,
                sealed=seal(key, data, _place(study, party.key_id, kind, offset)),
            ))  # fmt: skip
            received = offset + len(data)
            connection.execute(
                UPLOAD.update().where(_of(party, study, kind)).values(received=received)
            )
            return {"received": received}

    def complete(self, party: Party, study: str, kind: str) -> dict[str, Any]:
        """Check what was sent and accept it; :meth:`begin` gives the receipt again.

        Parameters
        ----------
        party : Party
            A hospital of the study.
        study, kind : str
            What it belongs to.

        Returns
        -------
        dict
            As :meth:`begin`.

        Raises
        ------
        Refusal
            If it is not whole, or cannot be used.
        """
        with self._database.reading() as connection:
            row = self._study(connection, party, study)
            upload = _open(connection, party, study, kind)
            _require_step(row.state, upload.kind)
            if upload.received != upload.size:
                raise Refusal("incomplete", "all bytes that were announced", "a part of them",
                              "Send the rest first.")  # fmt: skip
            content = read_content(connection, self._vault, upload)
            roster = None
            if kind == "features":
                wanted = sa.select(UPLOAD).where(_of(party, study, "roster"))
                closed = connection.execute(wanted).one()
                roster = read_content(connection, self._vault, closed)
        try:
            if self._vault.content_mac(digest(content)) != upload.content_mac:
                raise Refusal("content_mismatch", "the content that was announced", "another",
                              "Send it again.")  # fmt: skip
            require_sound(self._settings, content, proposal_of(row), roster)
        except Refusal as refusal:
            self._refuse(party, upload, refusal)
            raise
        return self._accept(party, upload, content)

    def status(self, party: Party, study: str, kind: str) -> dict[str, Any]:
        """Say how far something is that was begun and not accepted.

        Parameters
        ----------
        party : Party
            A hospital of the study.
        study, kind : str
            What it belongs to.

        Returns
        -------
        dict
            Keys ``state``, ``received`` and ``chunk_bytes``.
        """
        with self._database.reading() as connection:
            self._study(connection, party, study)
            return self._answer(_open(connection, party, study, kind), "")

    def _accept(self, party: Party, upload: sa.Row[Any], content: bytes) -> dict[str, Any]:
        """Decide and write down in one transaction; the last roster closes and links them."""
        study, kind = upload.study, upload.kind
        with self._database.writing() as connection:
            row = self._study(connection, party, study)
            now = connection.execute(sa.select(UPLOAD).where(_of(party, study, kind))).one()
            if now.state != ACCEPTED:
                if now.content_mac != upload.content_mac or row.state != _STEP[kind]:
                    raise _closed()
                facts = {"study": study, "hospital": party.key_id, "kind": kind,
                         "bytes": now.size, "content_mac": now.content_mac}  # fmt: skip
                if kind == "roster":
                    facts["linkage_key"] = self._linkage_key(connection, study, content)
                number, entry = audit_log.append(connection, f"{kind}.accepted", facts)
                kept = {**facts, "accepted": audit_log.utc_now(), "audit_number": number,
                        "audit_hash": entry}  # fmt: skip
                connection.execute(
                    UPLOAD.update()
                    .where(_of(party, study, kind))
                    .values(state=ACCEPTED, facts=json.dumps(kept))
                )
                self._go_on(connection, row, cast("Kind", kind))
                now = connection.execute(sa.select(UPLOAD).where(_of(party, study, kind))).one()
            return self._answer(now, digest(content))

    def _linkage_key(self, connection: sa.Connection, study: str, content: bytes) -> str:
        """Name the key of a roster; under two keys nobody would be found twice."""
        ids = read_roster(content, self._settings.require_trusted().largest_n_rows)
        key = ids[0].rpartition(":")[0]
        others = (
            (UPLOAD.c.study == study) & (UPLOAD.c.kind == "roster") & UPLOAD.c.facts.is_not(None)
        )
        for (text,) in connection.execute(sa.select(UPLOAD.c.facts).where(others)):
            _require_terms({"linkage_key": key}, {"linkage_key": json.loads(text)["linkage_key"]})
        return key

    def _go_on(self, connection: sa.Connection, row: sa.Row[Any], kind: Kind) -> None:
        """Take the study's next step where this was the last hospital."""
        wanted = (UPLOAD.c.study == row.study) & (UPLOAD.c.kind == kind)
        uploads = {
            each.hospital: each
            for each in connection.execute(
                sa.select(UPLOAD).where(wanted & (UPLOAD.c.state == ACCEPTED))
            )
        }
        hospitals = [each.hospital for each in partners(connection, row.study)]
        if set(hospitals) != set(uploads):
            return
        if kind == "features":
            set_state(connection, row.study, COMPLETE)
            audit_log.append(connection, "study.complete", {"study": row.study})
            return
        largest = self._settings.require_trusted().largest_n_rows
        rosters = [
            read_roster(read_content(connection, self._vault, uploads[each]), largest)
            for each in hospitals
        ]
        link_rosters(connection, row, rosters, proposal_of(row).smallest_n(self._settings))

    def _refuse(self, party: Party, upload: sa.Row[Any], refusal: Refusal) -> None:
        """Forget what cannot be used, and say so in the audit log."""
        study, kind = upload.study, upload.kind
        same = _of(party, study, kind) & (UPLOAD.c.content_mac == upload.content_mac)
        with self._database.writing() as connection:
            open_one = same & (UPLOAD.c.state == RECEIVING)
            if connection.execute(sa.select(UPLOAD.c.kind).where(open_one)).first():
                _forget(connection, party, study, kind)
                facts = {"study": study, "hospital": party.key_id, "kind": kind,
                         "code": refusal.code}  # fmt: skip
                audit_log.append(connection, "rows.refused", facts)

    def _read(self, document: Any) -> tuple[Kind, int, str]:
        parts = document if isinstance(document, dict) else {}
        kind, size, content = (parts.get(name) for name in ("kind", "size", "digest"))
        is_sound = kind in KINDS and type(size) is int and isinstance(content, str)
        if not is_sound or not _DIGEST.fullmatch(str(content)) or cast("int", size) < 1:
            raise Refusal("bad_request", "kind, size and digest of a file", "something else",
                          "Use `neuroveil submit`.")  # fmt: skip
        limit = self._settings.limits.file_mib
        if cast("int", size) > limit << 20:
            raise Refusal("too_large", f"a file of {limit} MiB at most", "a larger one",
                          "Ask the coordinator to raise the limit.")  # fmt: skip
        return cast("Kind", kind), cast("int", size), str(content)

    def _study(self, connection: sa.Connection, party: Party, study: str) -> sa.Row[Any]:
        party.require("hospital")
        return require_study(connection, party, study)

    def _answer(self, row: sa.Row[Any], content: str) -> dict[str, Any]:
        answer = {
            "state": row.state, "received": row.received,
            "chunk_bytes": self._settings.limits.chunk_mib << 20,
        }  # fmt: skip
        if row.state != ACCEPTED:
            return answer
        # The digest is the hospital's own word; this server keeps none of private rows.
        facts = {**json.loads(row.facts), "digest": content}
        return {**answer, "receipt": signed(self._key, RECEIPT, facts)}


def read_content(connection: sa.Connection, vault: Vault, upload: sa.Row[Any]) -> bytes:
    """Open what a hospital has sent.

    Parameters
    ----------
    connection : sqlalchemy.Connection
        In a transaction.
    vault : Vault
        Opens it.
    upload : sqlalchemy.Row
        Of the table of uploads.

    Returns
    -------
    bytes
        In memory only.
    """
    key = vault.data_key(connection, upload.study)
    mine = (
        (CHUNK.c.study == upload.study)
        & (CHUNK.c.hospital == upload.hospital)
        & (CHUNK.c.kind == upload.kind)
    )
    wanted = sa.select(CHUNK.c.position, CHUNK.c.sealed).where(mine).order_by(CHUNK.c.position)
    return b"".join(
        unseal(key, bytes(sealed), _place(upload.study, upload.hospital, upload.kind, position))
        for position, sealed in connection.execute(wanted)
    )


def _open(connection: sa.Connection, party: Party, study: str, kind: str) -> sa.Row[Any]:
    row = None
    if kind in KINDS:
        row = connection.execute(sa.select(UPLOAD).where(_of(party, study, kind))).first()
    if row is None:
        raise Refusal("not_found", "something that was begun", "nothing of this kind",
                      "Use `neuroveil submit`.")  # fmt: skip
    if row.state == ACCEPTED:
        raise Refusal("already_submitted", "something that is being received",
                      "something that was accepted", "Ask for its receipt.")  # fmt: skip
    return row


def _of(party: Party, study: str, kind: str) -> sa.ColumnElement[bool]:
    return (UPLOAD.c.study == study) & (UPLOAD.c.hospital == party.key_id) & (UPLOAD.c.kind == kind)


def _forget(connection: sa.Connection, party: Party, study: str, kind: str) -> None:
    chunks = (CHUNK.c.study == study) & (CHUNK.c.hospital == party.key_id) & (CHUNK.c.kind == kind)
    connection.execute(CHUNK.delete().where(chunks))
    connection.execute(UPLOAD.delete().where(_of(party, study, kind)))


def _require_terms(stated: Any, terms: dict[str, str]) -> None:
    given = stated if isinstance(stated, dict) else {}
    names = [name for name, value in terms.items() if given.get(name) != value]
    if names:
        remedy = "Use the study file that the principal investigator sent."
        if names == ["label_digest"] and "label_digest" not in given:
            remedy = "Give --with-label, or with_label = true under [server] of the study file."
        raise Refusal(
            "incompatible", "the study's columns, reference, signal settings and label",
            f"another value of {', '.join(names)}",
            remedy, {"settings": names},
        )  # fmt: skip


def _place(study: str, hospital: str, kind: str, position: int) -> str:
    return f"{study}|{hospital}|{kind}|{position}"


def _require_step(state: str, kind: str) -> None:
    """Refuse what is not to be sent now."""
    if state != _STEP[kind]:
        raise wrong_state(f"a study that is {_STEP[kind]}", state)


def _closed() -> Refusal:
    return Refusal(
        "already_submitted", "the content that this hospital has sent before", "another one",
        "What was accepted for a study stays as it is.",
    )  # fmt: skip
