"""Rosters closed and linked: who stands on two of them, and so how many people there are.

It happens before any feature is read, so the number of people depends on no feature.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from neuroveil.deploy.server import audit_log
from neuroveil.deploy.server.consortium.studies import LINKED, TOO_FEW, end, set_state
from neuroveil.deploy.server.tables import STUDY
from neuroveil.linkage.linked import places_of
from neuroveil.linkage.matching import SiteList, match_lists
from neuroveil.linkage.people import People, join_people
from neuroveil.linkage.schema import MatchingSection


def people_of(rosters: Sequence[Sequence[str]]) -> People:
    """Say who is one person, by equal GlobalIDs.

    Parameters
    ----------
    rosters : sequence of sequence of str
        GlobalIDs by hospital, each once in a roster.

    Returns
    -------
    People
        Settled: equal numbers leave nothing to decide.
    """
    lists = [SiteList(None, tuple(each)) for each in rosters]
    rules = MatchingSection()
    matches = {
        (one, other): match_lists(lists[one], lists[other], rules).matches
        for one, other in places_of(len(lists))
    }
    people = join_people([len(each) for each in rosters], matches)
    people.require_settled()
    return people


def link_rosters(
    connection: sa.Connection, row: sa.Row[Any], rosters: Sequence[Sequence[str]], smallest: int
) -> None:
    """Fix the number of people of a study; end it where there are too few.

    Parameters
    ----------
    connection : sqlalchemy.Connection
        In a transaction that writes.
    row : sqlalchemy.Row
        Of the table of studies.
    rosters : sequence of sequence of str
        All of them, in the order of the hospitals.
    smallest : int
        Smallest number of people.
    """
    people = people_of(rosters)
    linked = {
        "n_patients": people.n_people, "n_records": people.n_records, "n_hospitals": len(rosters)
    }  # fmt: skip
    connection.execute(
        STUDY.update().where(STUDY.c.study == row.study).values(linked=json.dumps(linked))
    )
    facts = {"study": row.study, **linked}
    if people.n_people < smallest:
        end(connection, row.study, TOO_FEW)
        audit_log.append(connection, "study.too_few", {**facts, "smallest": smallest})
        return
    set_state(connection, row.study, LINKED)
    audit_log.append(connection, "study.linked", facts)
