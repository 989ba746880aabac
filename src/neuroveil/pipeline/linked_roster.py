"""A roster on which each person stands once, from the outcome of linkage.

It happens before any signal is read, from the patient list alone, so the number of people is as
public as a roster's is. What stays of a person rests on that person's own rows only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
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
    rows = {row.patient: row for row in read_patient_list(study.path(settings.people), _ROLE)}
    _require_same_patients(roster, rows)
    _require_decided(settings, rows)
    rank = _rank_of(settings, rows)
    groups: dict[str, list[RosterEntry]] = {}
    for entry in roster.entries:
        groups.setdefault(rows[entry.patient].values[PERSON], []).append(entry)
    entries = [
        _pooled(group) if settings.policy == "pool" else _kept(group, rows, rank)
        for group in groups.values()
    ]
    merged = roster.n_patients - len(entries)
    finding = QualityFinding(
        "linked_patients", "Roster keys of people who stand there more than once.", count=merged
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


def _require_decided(settings: LinkageSettings, rows: Mapping[str, ListedRow]) -> None:
    """Refuse groups that may be one person, unless the study takes them apart on purpose."""
    if settings.undecided == "separate":
        return
    people: dict[str, set[str]] = {}
    for row in rows.values():
        if group := row.values.get(UNDECIDED, "").strip():
            people.setdefault(group, set()).add(row.values[PERSON])
    n_open = sum(len(persons) > 1 for persons in people.values())
    if n_open:
        raise LinkageError(
            _ROLE, "a decision about each pair", f"{n_open} undecided groups",
            "Let a person decide them, or set linkage.undecided = 'separate': the certificate "
            "then says that they are taken to be different people.",
        )  # fmt: skip
