"""From a hospital's patient list to what the linkage unit receives."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from neuroveil.errors import LinkageError, PatientListError
from neuroveil.linkage.bloom import BitArray, canonical_records, encode_canonical
from neuroveil.linkage.encoded_list import EncodedList, MadeWith
from neuroveil.linkage.global_id import global_ids
from neuroveil.linkage.hardening import harden
from neuroveil.linkage.identifiers import ENCODING_VERSION, encode_identifier
from neuroveil.linkage.key_service import KeyService
from neuroveil.linkage.patient_list import PatientList
from neuroveil.linkage.schema import LinkageSchema


@dataclass(frozen=True)
class Allowances:
    """What a list may hold that is refused by default.

    Parameters
    ----------
    duplicates : bool
        The same patient number on two lines: one person with two local keys.
    missing_numbers : bool
        Patients without a number, where the schema has fields to know them by.
    """

    duplicates: bool = False
    missing_numbers: bool = False


@dataclass(frozen=True, eq=False)
class CheckedList:
    """A patient list in canonical form. Private.

    Parameters
    ----------
    patients : tuple of str
        The hospital's own keys.
    numbers : tuple of bytes or None
        Encoded patient numbers, empty where there is none.
    fields : dict of str to list of str
        Canonical values by field name.
    n_duplicates : int
        Lines whose patient number stood on an earlier line.
    """

    patients: tuple[str, ...]
    numbers: tuple[bytes, ...] | None
    fields: dict[str, list[str]]
    n_duplicates: int = 0

    def __repr__(self) -> str:
        return f"CheckedList({len(self.patients)} rows)"


@dataclass(frozen=True, eq=False)
class EncodedPatients:
    """An encoded list, and the way back, which stays in the hospital.

    Parameters
    ----------
    encoded : EncodedList
        For the linkage unit, its rows in random order.
    rows : dict of str to int
        Row of each patient by the hospital's own key, counted from 0. Private.
    """

    encoded: EncodedList
    rows: dict[str, int]

    def __repr__(self) -> str:
        return f"EncodedPatients({len(self.rows)} rows)"


def check_patient_list(
    patients: PatientList, schema: LinkageSchema, allowed: Allowances = Allowances()
) -> CheckedList:
    """Bring a patient list into canonical form; needs no key.

    Parameters
    ----------
    patients : PatientList
        As it was read.
    schema : LinkageSchema
        Public settings.
    allowed : Allowances
        What is not refused.

    Returns
    -------
    CheckedList
        Ready for encoding.

    Raises
    ------
    PatientListError
        With every value that cannot be used, by field and line; none is repeated.
    LinkageError
        If the list is empty.
    """
    if not patients.patients and not patients.problems:
        raise LinkageError(
            "patient list", "at least one patient", "none", "Check that it is the right file."
        )
    problems = list(patients.problems)
    fields: dict[str, list[str]] = {}
    if schema.field:
        try:
            fields = canonical_records(patients.fields, schema, patients.lines)
        except PatientListError as error:
            problems += error.problems
        problems += _without_values(fields or patients.fields, patients.lines)
    numbers, n_duplicates = None, 0
    if schema.identifier is not None and patients.numbers is not None:
        numbers, found = _encoded_numbers(patients, schema, allowed)
        problems += found
        repeated = _duplicates(numbers, patients.lines)
        n_duplicates = len(repeated)
        problems += [] if allowed.duplicates else repeated
    if problems:
        raise PatientListError(problems)
    return CheckedList(patients.patients, numbers, fields, n_duplicates)


def encode_patients(
    checked: CheckedList,
    schema: LinkageSchema,
    service: KeyService,
    previous: KeyService | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> EncodedPatients:
    """Encode a patient list.

    Parameters
    ----------
    checked : CheckedList
        From :func:`check_patient_list` with the same schema.
    schema : LinkageSchema
        Public settings.
    service : KeyService
        Holds the current key.
    previous : KeyService, optional
        Holds the previous key: each row then says under which GlobalID it was known before.
    progress : callable, optional
        Called with (records encoded, records).

    Returns
    -------
    EncodedPatients
        Rows in random order, so that their order says nothing.

    Raises
    ------
    LinkageError
        If the key service refuses.
    """
    order = list(range(len(checked.patients)))
    random.SystemRandom().shuffle(order)
    bits = _hardened(checked, schema, service, progress) if schema.field else None
    made_with = MadeWith(
        schema.digest, ENCODING_VERSION, service.key_id, previous.key_id if previous else ""
    )
    encoded = EncodedList(
        made_with,
        None if bits is None else np.ascontiguousarray(bits[order]),
        _in_order(checked, service, order),
        _in_order(checked, previous, order),
    )
    return EncodedPatients(encoded, {checked.patients[at]: row for row, at in enumerate(order)})


def _encoded_numbers(
    patients: PatientList, schema: LinkageSchema, allowed: Allowances
) -> tuple[tuple[bytes, ...], list[LinkageError]]:
    assert schema.identifier is not None
    assert patients.numbers is not None
    rules = schema.identifier.rules()
    may_miss = allowed.missing_numbers and bool(schema.field)
    encoded, problems = [], []
    for number, line in zip(patients.numbers, patients.lines, strict=True):
        found = b""
        if number.strip() or not may_miss:
            try:
                found = encode_identifier(number, rules, f"identifier, line {line}")
            except LinkageError as error:
                problems.append(error)
        encoded.append(found)
    return tuple(encoded), problems


def _without_values(fields: dict[str, list[str]], lines: tuple[int, ...]) -> list[LinkageError]:
    columns = zip(*fields.values(), strict=True)
    return [
        LinkageError(
            f"fields, line {line}",
            "a value in at least one field",
            "none",
            "Fill in what is known; a patient without any value would look like all others.",
        )
        for values, line in zip(columns, lines, strict=True)
        if not any(value.strip() for value in values)
    ]


def _duplicates(numbers: tuple[bytes, ...], lines: tuple[int, ...]) -> list[LinkageError]:
    first: dict[bytes, int] = {}
    return [
        LinkageError(
            f"identifier, line {line}",
            "each patient once",
            f"the patient number of line {first[number]}",
            "Merge the two lines, or say that the list may hold duplicates.",
        )
        for number, line in zip(numbers, lines, strict=True)
        if number and first.setdefault(number, line) != line
    ]


def _hardened(
    checked: CheckedList, schema: LinkageSchema, service: KeyService,
    progress: Callable[[int, int], None] | None,
) -> BitArray:  # fmt: skip
    bits = encode_canonical(checked.fields, schema, service.field_keys(schema), progress)
    needs_keys = {"diffusion", "blip"} & set(schema.encoding.hardening)
    keys = service.hardening_keys() if needs_keys else None
    return harden(bits, schema, keys, checked.patients)


def _in_order(
    checked: CheckedList, service: KeyService | None, order: list[int]
) -> tuple[str, ...] | None:
    """Give the GlobalIDs of the rows in a new order; empty for patients without a number."""
    if checked.numbers is None or service is None:
        return None
    filled = [number for number in checked.numbers if number]
    known = dict(zip(filled, global_ids(filled, service), strict=True))
    return tuple(known.get(checked.numbers[at], "") for at in order)
