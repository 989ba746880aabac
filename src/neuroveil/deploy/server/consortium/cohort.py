"""All hospitals' rows put together, one row and one label a person. Private, in memory only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from neuroveil.deploy.pseudonymised import (
    NEGATIVE,
    POSITIVE,
    UNKNOWN,
    IntLabels,
    read_features,
    read_roster,
)
from neuroveil.deploy.server.consortium.linking import people_of
from neuroveil.deploy.server.consortium.proposal import Proposal
from neuroveil.linkage.resolve import resolve_tables
from neuroveil.types.table import FeatureTable


def cohort_rows(
    proposal: Proposal, rosters: Sequence[bytes], features: Sequence[bytes], largest: int
) -> tuple[FeatureTable, IntLabels]:
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
    ndarray of int8, shape (n_people,)
        Labels in the same order, all unknown where the study declares none. Private.
    """
    ids = [read_roster(each, largest) for each in rosters]
    sent = [read_features(each, proposal.columns, largest, proposal.has_label) for each in features]
    both = list(zip(sent, ids, strict=True))
    people = people_of(ids)
    tables = [rows.in_order_of(roster, proposal.columns) for rows, roster in both]
    labels = np.concatenate([rows.labels_in_order_of(roster) for rows, roster in both])
    table = resolve_tables(tables, people, proposal.text.policy)
    return table, labels_of_people(np.concatenate(people.of_record), labels, people.n_people)


def labels_of_people(person: npt.NDArray[np.int64], labels: IntLabels, n_people: int) -> IntLabels:
    """Give each person one label, from that person's own records alone.

    Parameters
    ----------
    person : ndarray of int64, shape (n_records,)
        Whose record each is, from 0.
    labels : ndarray of int8, shape (n_records,)
        1 positive, 0 negative, -1 unknown. Private.
    n_people : int
        How many there are.

    Returns
    -------
    ndarray of int8, shape (n_people,)
        A label that is known comes before none; two that contradict each other are unknown.
    """
    is_positive, is_negative = np.zeros(n_people, dtype=bool), np.zeros(n_people, dtype=bool)
    is_positive[person[labels == POSITIVE]] = True
    is_negative[person[labels == NEGATIVE]] = True
    found = np.full(n_people, UNKNOWN, dtype=np.int8)
    found[is_positive & ~is_negative] = POSITIVE
    found[is_negative & ~is_positive] = NEGATIVE
    return found
