"""The life of a study: proposed, approved by every site, linked, complete, published.

Every step is one transaction that also writes the audit log.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from neuroveil.deploy.server import audit_log
from neuroveil.deploy.server.consortium.proposal import Proposal, read_proposal, require_name
from neuroveil.deploy.server.database import HOSPITAL, Database
from neuroveil.deploy.server.people import Party
from neuroveil.deploy.server.refusals import Refusal
from neuroveil.deploy.server.settings import ServerSettings
from neuroveil.deploy.server.tables import JOB, PARTNER, RELEASE, STUDY
from neuroveil.types.certificate import canonical_json, digest

PROPOSED, COLLECTING, LINKED, COMPLETE = "proposed", "collecting", "linked", "complete"
PUBLISHED = "published"
DECLINED, TOO_FEW, ABANDONED, EXPIRED = "declined", "too_few", "abandoned", "expired"
ENDED = (DECLINED, TOO_FEW, ABANDONED, EXPIRED)
"""States in which a study stays without a release."""


class Studies:
    """Proposals, approvals, and the end of studies without a release.

    Parameters
    ----------
    settings : ServerSettings
        With what no request can lower.
    database : Database
        The server's database.
    """

    def __init__(self, settings: ServerSettings, database: Database) -> None:
        self._settings, self._database = settings, database

    def propose(self, party: Party, document: Any) -> str:
        """Begin a study; proposing the same again changes nothing.

        Parameters
        ----------
        party : Party
            A principal investigator.
        document : JSON value
            Keys ``study`` (its name) and ``proposal``.

        Returns
        -------
        str
            Its name.

        Raises
        ------
        Refusal
            If it is not sound, asks for less than the server does, or the name is taken.
        """
        party.require("principal_investigator")
        parts = document if isinstance(document, dict) else {}
        name, proposal = require_name(parts.get("study")), read_proposal(parts.get("proposal"))
        self._require_counts(proposal)
        body = canonical_json(proposal.text.plain)
        with self._database.writing() as connection:
            known = connection.execute(sa.select(STUDY).where(STUDY.c.study == name)).first()
            if known is not None:
                if known.proposal_digest == digest(body) and known.proposed_by == party.key_id:
                    return name
                raise Refusal(
                    "already_submitted", "a new name", "the name of another study",
                    "Choose another name.",
                )  # fmt: skip
            hospitals = _hospitals(connection, proposal.text.hospitals)
            connection.execute(STUDY.insert().values(
                study=name, state=PROPOSED, proposed=time.time(), proposed_by=party.key_id,
                proposal=body.decode(), proposal_digest=digest(body),
            ))  # fmt: skip
            for place, hospital in enumerate(hospitals):
                connection.execute(
                    PARTNER.insert().values(study=name, hospital=hospital, place=place)
                )
            facts = {"study": name, "person": party.key_id, "proposal": digest(body),
                     "hospitals": hospitals}  # fmt: skip
            audit_log.append(connection, "study.proposed", facts)
        return name

    def decide(self, party: Party, study: str, document: Any) -> None:
        """Approve a study for one hospital, or decline it for all.

        Parameters
        ----------
        party : Party
            A site administrator of one of its hospitals.
        study : str
            Which study.
        document : JSON value
            Keys ``proposal`` (its digest: what exactly is approved) and ``approve``.

        Raises
        ------
        Refusal
            If another proposal is meant, or the study is past approvals.
        """
        party.require("site_administrator")
        approve = read_decision(document)
        with self._database.writing() as connection:
            row = require_study(connection, party, study)
            require_same(document.get("proposal"), row.proposal_digest, "proposal")
            if row.state != PROPOSED:
                if approve and row.state not in ENDED:
                    return
                raise wrong_state("a study that is proposed", row.state)
            mine = (PARTNER.c.study == study) & (PARTNER.c.hospital == party.hospital)
            facts = {"study": study, "hospital": party.hospital, "person": party.key_id,
                     "proposal": row.proposal_digest}  # fmt: skip
            if not approve:
                end(connection, study, DECLINED)
                audit_log.append(connection, "study.declined", facts)
                return
            connection.execute(PARTNER.update().where(mine).values(approved_by=party.key_id))
            audit_log.append(connection, "study.approved_by_site", facts)
            missing = (PARTNER.c.study == study) & PARTNER.c.approved_by.is_(None)
            if not connection.execute(sa.select(PARTNER.c.hospital).where(missing)).first():
                set_state(connection, study, COLLECTING)
                audit_log.append(connection, "study.approved", {"study": study})

    def abandon(self, party: Party, study: str) -> None:
        """End a study without a release; its rows are deleted.

        Parameters
        ----------
        party : Party
            Its principal investigator, or a site administrator of one of its hospitals.
        study : str
            Which study.

        Raises
        ------
        Refusal
            If it is published, or a release is being made.
        """
        party.require("principal_investigator", "site_administrator")
        with self._database.writing() as connection:
            row = require_study(connection, party, study)
            if row.state in ENDED:
                return
            if row.state == PUBLISHED or is_releasing(connection, study):
                raise wrong_state("a study without a release", row.state)
            end(connection, study, ABANDONED)
            facts = {"study": study, "person": party.key_id}
            audit_log.append(connection, "study.abandoned", facts)

    def _require_counts(self, proposal: Proposal) -> None:
        least = self._settings.require_trusted()
        text = proposal.text
        is_less = (text.smallest_n_patients or least.smallest_n_patients) < (
            least.smallest_n_patients
        )
        if is_less or len(text.hospitals) < least.smallest_n_hospitals:
            raise Refusal(
                "too_few",
                f"at least {least.smallest_n_hospitals} hospitals, and a smallest number of "
                f"patients of at least {least.smallest_n_patients}",
                "less", "These are the server's counts; a proposal can only ask for more.",
            )  # fmt: skip


def require_study(connection: sa.Connection, party: Party, study: str) -> sa.Row[Any]:
    """Look up a study that somebody takes part in.

    Parameters
    ----------
    connection : sqlalchemy.Connection
        In a transaction.
    party : Party
        Who asks; for all others it is as if there were no such study.
    study : str
        Its name.

    Returns
    -------
    sqlalchemy.Row
        Of the table of studies.

    Raises
    ------
    Refusal
        Code ``not_found``.
    """
    row = connection.execute(sa.select(STUDY).where(STUDY.c.study == study)).first()
    if row is None or not _takes_part(connection, party, row):
        raise Refusal(
            "not_found", "a study that you take part in", "none of this name",
            "See `neuroveil consortium status`.",
        )  # fmt: skip
    return row


def _takes_part(connection: sa.Connection, party: Party, row: sa.Row[Any]) -> bool:
    if party.role in ("reviewer", "auditor"):
        return True
    if party.role == "principal_investigator":
        return bool(row.proposed_by == party.key_id)
    mine = (PARTNER.c.study == row.study) & (PARTNER.c.hospital == party.hospital)
    return connection.execute(sa.select(PARTNER.c.place).where(mine)).first() is not None


def partners(connection: sa.Connection, study: str) -> Sequence[Any]:
    """List the hospitals of a study.

    Parameters
    ----------
    connection : sqlalchemy.Connection
        In a transaction.
    study : str
        Its name.

    Returns
    -------
    sequence of sqlalchemy.Row
        ``hospital``, ``name``, ``approved_by``, in the proposal's order.
    """
    joined = PARTNER.join(HOSPITAL, PARTNER.c.hospital == HOSPITAL.c.key_id)
    wanted = sa.select(PARTNER.c.hospital, HOSPITAL.c.name, PARTNER.c.approved_by)
    rows = connection.execute(
        wanted.select_from(joined).where(PARTNER.c.study == study).order_by(PARTNER.c.place)
    )
    return rows.all()


def is_releasing(connection: sa.Connection, study: str) -> bool:
    """Tell whether a release of a study was approved and is not yet decided.

    Parameters
    ----------
    connection : sqlalchemy.Connection
        In a transaction.
    study : str
        Its name.

    Returns
    -------
    bool
        From the review on until it is published or has failed.
    """
    joined = JOB.join(RELEASE, JOB.c.release == RELEASE.c.release)
    is_open = (RELEASE.c.study == study) & (JOB.c.state != "done")
    return connection.execute(
        sa.select(JOB.c.release).select_from(joined).where(is_open)
    ).first() is not None  # fmt: skip


def proposal_of(row: sa.Row[Any]) -> Proposal:
    """Read the proposal of a study back.

    Parameters
    ----------
    row : sqlalchemy.Row
        Of the table of studies.

    Returns
    -------
    Proposal
        As it was checked.
    """
    return read_proposal(json.loads(row.proposal))


def set_state(connection: sa.Connection, study: str, state: str) -> None:
    """Write down how far a study is.

    Parameters
    ----------
    connection : sqlalchemy.Connection
        In a transaction that writes.
    study : str
        Its name.
    state : str
        One of this module's.
    """
    connection.execute(STUDY.update().where(STUDY.c.study == study).values(state=state))


def end(connection: sa.Connection, study: str, state: str) -> None:
    """Write down that a study has ended; from now on its rows may be deleted.

    Parameters
    ----------
    connection : sqlalchemy.Connection
        In a transaction that writes.
    study : str
        Its name.
    state : str
        :data:`PUBLISHED` or one of :data:`ENDED`.
    """
    values = {"state": state, "ended": time.time()}
    connection.execute(STUDY.update().where(STUDY.c.study == study).values(**values))


def read_decision(document: Any) -> bool:
    """Read whether something is approved.

    Parameters
    ----------
    document : JSON value
        With the key ``approve``.

    Returns
    -------
    bool
        Yes or no.

    Raises
    ------
    Refusal
        Code ``bad_request``.
    """
    approve = document.get("approve") if isinstance(document, dict) else None
    if not isinstance(approve, bool):
        raise Refusal("bad_request", "approve: true or false", "neither",
                      "Use `neuroveil consortium`.")  # fmt: skip
    return approve


def require_same(stated: Any, found: str, what: str) -> None:
    """Refuse a decision about something else than what is here.

    Parameters
    ----------
    stated : JSON value
        Digest of what the person saw.
    found : str
        Digest of what is here.
    what : str
        What it is.

    Raises
    ------
    Refusal
        Code ``content_mismatch``.
    """
    if stated != found:
        raise Refusal(
            "content_mismatch", f"a decision about the {what} that is here", "another digest",
            "Look at it again with `neuroveil consortium status`.",
        )  # fmt: skip


def wrong_state(expected: str, state: str) -> Refusal:
    """Make the refusal of a step that is not the study's next one.

    Parameters
    ----------
    expected : str
        What would have been right.
    state : str
        How far the study is.

    Returns
    -------
    Refusal
        Code ``wrong_state``.
    """
    return Refusal(
        "wrong_state", expected, f"one that is {state}", "See `neuroveil consortium status`."
    )


def _hospitals(connection: sa.Connection, names: list[str]) -> list[str]:
    rows = connection.execute(sa.select(HOSPITAL).where(HOSPITAL.c.is_active)).all()
    known = {row.name: str(row.key_id) for row in rows}
    if not set(names) <= known.keys():
        raise Refusal(
            "bad_request", "hospitals that are registered here", "another name",
            "Ask the coordinator for the names.",
        )  # fmt: skip
    return [known[name] for name in names]
