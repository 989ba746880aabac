"""How far studies are, for the people and hospitals that take part in them."""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa

from neuroveil.deploy.server.consortium.releases import APPROVED, REQUESTED
from neuroveil.deploy.server.consortium.studies import (
    COLLECTING,
    COMPLETE,
    ENDED,
    LINKED,
    PROPOSED,
    PUBLISHED,
    partners,
    proposal_of,
    require_study,
)
from neuroveil.deploy.server.database import Database
from neuroveil.deploy.server.people import Party, list_people
from neuroveil.deploy.server.refusals import Refusal
from neuroveil.deploy.server.settings import ServerSettings
from neuroveil.deploy.server.tables import DATA_KEY, RELEASE, STUDY, UPLOAD

_NEXT = {
    PROPOSED: "A site administrator of each hospital approves the study.",
    COLLECTING: "Each hospital sends its roster.",
    LINKED: "Each hospital sends its feature rows.",
    COMPLETE: "The principal investigator asks for a release.",
    PUBLISHED: "Fetch the release.",
}


def status_list(database: Database, party: Party) -> dict[str, Any]:
    """List the studies that somebody takes part in.

    Parameters
    ----------
    database : Database
        The server's database.
    party : Party
        Who asks.

    Returns
    -------
    dict
        Key ``studies``: name and state of each.
    """
    with database.reading() as connection:
        rows = connection.execute(sa.select(STUDY).order_by(STUDY.c.proposed)).all()
        mine = []
        for row in rows:
            try:
                require_study(connection, party, row.study)
            except Refusal:
                continue
            mine.append({"study": row.study, "state": row.state})
    return {"studies": mine}


def status_of(
    settings: ServerSettings, database: Database, party: Party, study: str
) -> dict[str, Any]:
    """Say how far a study is, and who has to do what next.

    Parameters
    ----------
    settings : ServerSettings
        Smallest counts and times.
    database : Database
        The server's database.
    party : Party
        Who asks.
    study : str
        Which study.

    Returns
    -------
    dict
        Public facts, and what this party has itself sent; of other hospitals only whether they
        have sent it.

    Raises
    ------
    Refusal
        Code ``not_found``.
    """
    names = {each.key_id: each.name for each in list_people(database)}
    with database.reading() as connection:
        row = require_study(connection, party, study)
        sites = partners(connection, study)
        wanted = UPLOAD.c.study == study
        uploads = {
            (each.hospital, each.kind): each
            for each in connection.execute(sa.select(UPLOAD).where(wanted))
        }
        order = sa.select(RELEASE).where(RELEASE.c.study == study).order_by(RELEASE.c.requested)
        releases = connection.execute(order).all()
        held = sa.select(DATA_KEY.c.study).where(DATA_KEY.c.study == study)
        holds_rows = connection.execute(held).first() is not None
    proposal = proposal_of(row)
    hospitals = [
        {
            "name": each.name, "approved": each.approved_by is not None,
            **{kind: _sent(uploads.get((each.hospital, kind)), each.hospital == party.hospital)
               for kind in ("roster", "features")},
        }
        for each in sites
    ]  # fmt: skip
    text = proposal.text
    return {
        "study": study, "state": row.state, "next": _next(row.state, releases),
        "proposal": row.proposal_digest, "title": text.title, "policy": text.policy,
        "n_columns": len(text.columns), "reference": proposal.scaling.name,
        "label": text.plain.get("label"), "terms": proposal.terms, "clip_norm": text.clip_norm,
        "smallest_n_patients": proposal.smallest_n(settings),
        "proposed_by": names.get(row.proposed_by), "hospitals": hospitals,
        "linked": _linked(row, party), "holds_rows": holds_rows,
        "releases": [_release(each, names) for each in releases],
    }  # fmt: skip


def _linked(row: sa.Row[Any], party: Party) -> dict[str, Any] | None:
    """Give how many people there are; how many lines of rosters, to the auditor alone.

    A hospital that knows both numbers and its own roster knows how many of its patients the others
    have, too; with one chosen person on its roster it would learn where that person was treated.
    """
    linked: dict[str, Any] = json.loads(row.linked) if row.linked else {}
    if party.role != "auditor":
        linked.pop("n_records", None)
    return linked or None


def _sent(row: sa.Row[Any] | None, is_own: bool) -> dict[str, Any]:
    state = "missing" if row is None else str(row.state)
    own = {"received": row.received, "size": row.size} if row is not None and is_own else {}
    return {"state": state, **own}


def _next(state: str, releases: Any) -> str:
    open_states = {each.state for each in releases}
    if state == COMPLETE and REQUESTED in open_states:
        return "A reviewer approves or declines the release."
    if state == COMPLETE and APPROVED in open_states:
        return "The server makes the release."
    return "Nothing: the study has ended." if state in ENDED else _NEXT[state]


def _release(row: sa.Row[Any], names: dict[str, str]) -> dict[str, Any]:
    asked = {name: value for name, value in json.loads(row.request).items() if name != "wish"}
    return {
        "release": row.release, "state": row.state, "request": row.request_digest, **asked,
        "requested_by": names.get(row.requested_by), "reviewed_by": names.get(row.reviewed_by),
        "outcome": json.loads(row.facts) if row.facts else None,
    }  # fmt: skip
