"""A roster on which each person stands once, from the outcome of linkage.

It happens before any signal is read, from the patient list alone, so the number of people is as
public as a roster's is. What stays of a person rests on that person's own rows only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date

from neuroveil.errors import LinkageError
from neuroveil.recordings import ListedRow, read_patient_list
from neuroveil.study import Study
from neuroveil.study.linkage import LinkageSettings
from neuroveil.types.recording import QualityFinding, Roster, RosterEntry

_ROLE = "people file"
PERSON, UNDECIDED = "person", "undecided"
"""Columns: the number of the person; and, where it is not empty, the name of a group of rows of
which nobody has decided whether they are one person."""

Rank = Callable[[ListedRow], float]
LINKED = "linked_patients"
"""Code of the finding that counts roster keys which were put together."""


def link_roster(study: Study, roster: Roster) -> Roster:
    """Put the keys of one person together.

    Parameters
    ----------
    study : Study
        Checked settings.
    roster : Roster
        As the files give it.

    Returns
    -------
    Roster
        One entry a person, under the first of the person's keys; the roster itself where the
        study links nothing.

    Raises
    ------
    LinkageError
        If the people file does not fit the roster, or somebody has yet to decide.
    """
    settings = study.linkage
    if settings is None:
        return roster
    listed = read_patient_list(study.path(settings.people), _ROLE)
    rows = {row.patient: row for row in listed}
    if len(rows) != len(listed):
        raise LinkageError(
            _ROLE, "each patient once", f"{len(listed) - len(rows)} who stand there again",
            "Link the lists again.",
        )  # fmt: skip
    _require_same_patients(roster, rows)
    person = _people_of(settings, rows)
    rank = _rank_of(settings, rows)
    groups: dict[str, list[RosterEntry]] = {}
    for entry in roster.entries:
        groups.setdefault(person[entry.patient], []).append(entry)
    entries = [
        _pooled(group) if settings.policy == "pool" else _kept(group, rows, rank)
        for group in groups.values()
    ]
    merged = roster.n_patients - len(entries)
    finding = QualityFinding(
        LINKED, "Roster keys of people who stand there more than once.", count=merged
    )
    findings = (*roster.findings, finding) if merged else roster.findings
    return Roster(tuple(sorted(entries, key=lambda entry: entry.patient)), findings)


def _pooled(group: Sequence[RosterEntry]) -> RosterEntry:
    """Keep all recordings; what the first key's row leaves empty is taken from the others."""
    first = group[0]
    attributes = dict(first.attributes)
    for entry in group[1:]:
        for name, value in entry.attributes.items():
            if attributes.get(name, "") in ("", "n/a"):
                attributes[name] = value
    recordings = tuple(recording for entry in group for recording in entry.recordings)
    return RosterEntry(first.patient, recordings, attributes)


def _kept(group: Sequence[RosterEntry], rows: Mapping[str, ListedRow], rank: Rank) -> RosterEntry:
    best = max(group, key=lambda entry: rank(rows[entry.patient]))
    return RosterEntry(group[0].patient, best.recordings, best.attributes)


def _rank_of(settings: LinkageSettings, rows: Mapping[str, ListedRow]) -> Rank:
    """Read the ranks of all rows, so that a mistake is found whomever it concerns."""
    if settings.policy == "pool":
        return lambda _: 0.0
    column = settings.column
    assert column is not None
    ranks = {key: _rank(row, column, settings.policy, settings.order) for key, row in rows.items()}
    return lambda row: ranks[row.patient]


def _rank(row: ListedRow, column: str, policy: str, order: Sequence[str]) -> float:
    value = row.values.get(column, "").strip()
    try:
        if policy == "keep_newest":
            return float(date.fromisoformat(value).toordinal())
        if policy == "hospital_order":
            return -float(order.index(value))
        seconds = float(value)
        if not math.isfinite(seconds) or seconds < 0:
            raise ValueError
        return seconds
    except ValueError:
        wanted = {"keep_newest": "a date, YYYY-MM-DD", "hospital_order": "a hospital of the order"}
        raise LinkageError(
            f"{_ROLE}, row {row.number}, column {column!r}",
            wanted.get(policy, "a length in seconds"), "something else, or nothing",
            "Correct the row, or choose another policy.",
        ) from None  # fmt: skip


def _require_same_patients(roster: Roster, rows: Mapping[str, ListedRow]) -> None:
    listed = {entry.patient for entry in roster.entries}
    missing, unknown = len(listed - set(rows)), len(set(rows) - listed)
    unnamed = [row.number for row in rows.values() if not row.values.get(PERSON, "").strip()]
    if missing or unknown:
        raise LinkageError(
            _ROLE, "each patient of the roster, and nobody else",
            f"{missing} who are missing and {unknown} who are not on the roster",
            "Link the lists again.",
        )  # fmt: skip
    if unnamed:
        raise LinkageError(
            f"{_ROLE}, row {unnamed[0]}", f"a value in the column {PERSON!r}", "none",
            "Link the lists again.",
        )  # fmt: skip


def _people_of(settings: LinkageSettings, rows: Mapping[str, ListedRow]) -> dict[str, str]:
    """Name the person of each row; who may be one person is one, or the file is refused."""
    person = {key: row.values[PERSON].strip() for key, row in rows.items()}
    if any(UNDECIDED not in row.values for row in rows.values()):
        raise LinkageError(
            _ROLE, f"a column {UNDECIDED!r}, empty where all is decided", "none",
            "Take the file as `neuroveil link resolve` writes it, or add the column.",
        )  # fmt: skip
    groups: dict[str, set[str]] = {}
    for key, row in rows.items():
        if group := row.values[UNDECIDED].strip():
            groups.setdefault(group, set()).add(person[key])
    n_open = sum(len(persons) > 1 for persons in groups.values())
    if n_open and settings.undecided == "refuse":
        raise LinkageError(
            _ROLE, "a decision about each pair", f"{n_open} undecided groups",
            "Let a person decide them, or set linkage.undecided = 'together': each group is then "
            "treated as one person.",
        )  # fmt: skip
    first = _joined(groups.values())
    return {key: first.get(each, each) for key, each in person.items()}


def _joined(groups: Iterable[set[str]]) -> dict[str, str]:
    """Give each member of groups that overlap one common name."""
    joined: list[set[str]] = []
    for group in groups:
        touching = [other for other in joined if other & group]
        joined = [other for other in joined if not other & group]
        joined.append(group.union(*touching))
    return {person: min(group) for group in joined for person in group}
