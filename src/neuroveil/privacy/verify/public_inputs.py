"""The public constants of projection and post-processing, and the digests that bind them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from neuroveil.privacy.verify.basis import row_dimension
from neuroveil.privacy.verify.document import canonical_digest
from neuroveil.privacy.verify.findings import broken, finding, holds
from neuroveil.privacy.verify.postprocessing import USES, is_projected, steps_of
from neuroveil.privacy.verify.result import Check
from neuroveil.privacy.verify.statement import Statement

_HEX = re.compile(r"-?0x[01]\.[0-9a-f]{1,13}p[+-][0-9]{1,4}")
_NAME = "release.public_inputs"


class _FormError(Exception):
    """The constants do not have their form."""


@dataclass(frozen=True)
class PublicInputs:
    """Constants as numbers, with what stands in the file.

    Parameters
    ----------
    document : mapping
        As read.
    numbers : mapping of str to list
        ``mean``, ``centre``, ``spread`` (lists of numbers), ``covariance`` and ``basis``
        (lists of lists), as far as they are there.
    """

    document: Mapping[str, Any]
    numbers: Mapping[str, Any] = field(default_factory=dict)


def entries_used(statement: Statement) -> tuple[str, ...]:
    """Entries that the file has to have.

    Parameters
    ----------
    statement : Statement
        The certificate.

    Returns
    -------
    tuple of str
        ``columns`` and what projection and steps use.
    """
    used = {entry for step in steps_of(statement) for entry in USES[step["step"]]}
    if is_projected(statement):
        used.add("basis")
    return ("columns", *sorted(used))


def read_public_inputs(statement: Statement, document: Mapping[str, Any]) -> PublicInputs | str:
    """Read the constants.

    Parameters
    ----------
    statement : Statement
        The certificate.
    document : mapping
        ``public_inputs.json`` as read.

    Returns
    -------
    PublicInputs or str
        What is wrong with it, in words, where it does not have its form.
    """
    m, d = row_dimension(statement), statement.integer("domain.dimension")
    if m is None or d is None:
        return "The chain does not say how many coordinates there are."
    if set(document) != set(entries_used(statement)):
        return "The public constants are not those that the steps use."
    shapes: dict[str, list[int] | int] = {
        "mean": m, "centre": d, "spread": d, "covariance": list(range(1, m + 1)),
        "basis": [d] * m,
    }  # fmt: skip
    try:
        numbers = {
            name: _array(document[name], shape)
            for name, shape in shapes.items()
            if name in document
        }
    except _FormError:
        return "The public constants do not have their form."
    return PublicInputs(document, numbers)


def _array(value: Any, shape: list[int] | int) -> Any:
    if not isinstance(value, list) or len(value) != (
        shape if isinstance(shape, int) else len(shape)
    ):
        raise _FormError
    if isinstance(shape, int):
        return [_number(entry) for entry in value]
    return [_array(entry, length) for entry, length in zip(value, shape, strict=True)]


def _number(text: Any) -> float:
    if not isinstance(text, str) or not _HEX.fullmatch(text):
        raise _FormError
    try:
        value = float.fromhex(text)
    except (ValueError, OverflowError):
        raise _FormError from None
    if not math.isfinite(value) or value.hex() != text:
        raise _FormError
    return value


def check_public_inputs(statement: Statement, inputs: PublicInputs) -> Iterator[Check]:
    """Compare the constants with the digests of projection and steps, and with the columns.

    Parameters
    ----------
    statement : Statement
        The certificate.
    inputs : PublicInputs
        The constants.

    Yields
    ------
    Check
        One for each digest that does not fit; a single one that holds where all do.
    """
    faults = list(_faults(statement, inputs))
    if faults:
        yield from (broken(_NAME, fault, source="SHA-256") for fault in faults)
        return
    yield holds(
        _NAME, "The public constants are those whose digests the certificate states.",
        source="SHA-256",
    )  # fmt: skip


def _faults(statement: Statement, inputs: PublicInputs) -> Iterator[str]:
    document = inputs.document
    columns = statement.text("domain.columns_digest")
    if canonical_digest(document["columns"]) != columns:
        yield "The columns of the public constants are not those that were certified."
    if is_projected(statement):
        stated = statement.text("preprocessing.projection", "params", "basis_digest")
        if canonical_digest(document["basis"]) != stated:
            yield "The components are not those whose digest the certificate states."
    for entry in steps_of(statement):
        used = {name: document[name] for name in USES[entry["step"]]}
        if canonical_digest(used) != entry["public_inputs_digest"]:
            yield "The constants of a step are not those whose digest the certificate states."
    if "spread" in inputs.numbers and min(inputs.numbers["spread"]) <= 0:
        yield "A public spread is not above 0."


def check_constants_agree(
    inputs: PublicInputs, entries: list[Mapping[str, Any]]
) -> Iterator[Check]:
    """Compare centre and spread with those of the data dictionary.

    Parameters
    ----------
    inputs : PublicInputs
        The constants.
    entries : list of mapping
        Entries of the feature columns in the dictionary of the estimated table.

    Yields
    ------
    Check
        Nothing where the constants are not used.
    """
    for name, key in (("centre", "Centre"), ("spread", "Spread")):
        if name in inputs.numbers:
            agrees = inputs.numbers[name] == [entry.get(key) for entry in entries]
            yield finding(
                "holds" if agrees else "broken", f"release.{name}",
                f"The public {name} is that of the data dictionary."
                if agrees
                else f"The public {name} is not that of the data dictionary.",
            )  # fmt: skip
