"""The data dictionaries: which columns stand where, and the public constants behind them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from neuroveil.privacy.verify.basis import is_drawn, row_dimension
from neuroveil.privacy.verify.candidates import is_candidate
from neuroveil.privacy.verify.document import canonical_digest
from neuroveil.privacy.verify.findings import broken, finding
from neuroveil.privacy.verify.postprocessing import is_projected
from neuroveil.privacy.verify.result import Check
from neuroveil.privacy.verify.statement import Statement, as_number


def list_columns(dictionary: Mapping[str, Any]) -> list[str]:
    """Give the names of all columns, in their order.

    Parameters
    ----------
    dictionary : mapping
        A data dictionary as read.

    Returns
    -------
    list of str
        Empty where there are none.
    """
    columns = dictionary.get("Columns")
    return list(columns) if isinstance(columns, Mapping) else []


def feature_entries(statement: Statement, dictionary: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Give the entries of the feature columns.

    Parameters
    ----------
    statement : Statement
        The certificate.
    dictionary : mapping
        A data dictionary whose first columns are features.

    Returns
    -------
    list of mapping
        At most d; empty objects for entries that are none.
    """
    columns = dictionary.get("Columns")
    entries = list(columns.values()) if isinstance(columns, Mapping) else []
    d = statement.integer("domain.dimension") or 0
    return [entry if isinstance(entry, Mapping) else {} for entry in entries[:d]]


def feature_names(statement: Statement, dictionary: Mapping[str, Any]) -> list[str] | None:
    """Give the feature columns, where they are the certified ones.

    Parameters
    ----------
    statement : Statement
        The certificate.
    dictionary : mapping
        A data dictionary as read.

    Returns
    -------
    list of str or None
        ``None`` where their digest is another one.
    """
    d = statement.integer("domain.dimension") or 0
    names = list_columns(dictionary)[:d]
    agrees = len(names) == d
    agrees = agrees and canonical_digest(names) == statement.text("domain.columns_digest")
    return names if agrees else None


def row_names(statement: Statement, dictionary: Mapping[str, Any]) -> list[str] | None:
    """Give the coordinates that the table has to have.

    Parameters
    ----------
    statement : Statement
        The certificate.
    dictionary : mapping
        ``table.json`` as read.

    Returns
    -------
    list of str or None
        Components where rows are projected, otherwise the feature columns; ``None`` where
        these are not the certified ones.
    """
    if not is_projected(statement):
        return feature_names(statement, dictionary)
    m = row_dimension(statement)
    listed = len(list_columns(dictionary))
    return None if m is None or m > listed else [f"component_{i}" for i in range(1, m + 1)]


def check_dictionary(
    statement: Statement,
    dictionary: Mapping[str, Any],
    chain_digest: str,
    coordinates: Sequence[str] | None,
) -> Iterator[Check]:
    """Check that a data dictionary belongs to the chain and describes exactly its columns.

    Parameters
    ----------
    statement : Statement
        The certificate.
    dictionary : mapping
        The data dictionary as read.
    chain_digest : str
        Digest of the chain.
    coordinates : sequence of str or None
        The columns before the labels; ``None`` where they are not the certified ones.

    Yields
    ------
    Check
        Chain, sizes, columns and reference.
    """
    name, columns = "release.dictionary", dictionary.get("Columns")
    labels = _label_columns(statement)
    if dictionary.get("NeuroveilChainDigest") != chain_digest:
        yield broken(name, "The data dictionary belongs to another chain.", recomputed=chain_digest)
    if not isinstance(columns, Mapping) or not all(
        isinstance(entry, Mapping) for entry in columns.values()
    ):
        yield broken(name, "Its key Columns has to be an object with an object a column.")
        return
    sizes = [dictionary.get("NumberOfRows"), dictionary.get("NumberOfColumns")]
    right = [statement.integer("domain.n"), len(columns)]
    if sizes != right or any(isinstance(size, bool) for size in sizes):
        yield broken(name, "Its numbers of rows and columns are wrong.", recomputed=right)
    agrees = coordinates is not None and list(columns) == [*coordinates, *labels]
    yield finding(
        "holds" if agrees else "broken", "release.columns",
        f"The dictionary describes {len(coordinates or ())} columns and {len(labels)} label "
        "column(s), as certified."
        if agrees
        else "The columns of the dictionary are not the ones that were certified.",
        source="SHA-256 of the list of column names",
    )  # fmt: skip
    public = statement.text("preprocessing.scaling", "fitted_on") != "private"
    named = statement.text("preprocessing.scaling", "params", "reference")
    if public and dictionary.get("Reference") != named:
        yield broken(name, "It names another reference than the certificate.")


def check_constants(statement: Statement, dictionary: Mapping[str, Any]) -> Check:
    """Check that centre and spread are the certified public ones, or absent.

    Parameters
    ----------
    statement : Statement
        The certificate.
    dictionary : mapping
        A data dictionary whose first columns are the features.

    Returns
    -------
    Check
        Whether they are.
    """
    name, entries = "release.constants", feature_entries(statement, dictionary)
    if statement.text("preprocessing.scaling", "fitted_on") == "private":
        agrees = not any(
            {"Centre", "Spread", "PublicCentre", "PublicSpread"} & set(entry) for entry in entries
        )
        words = "Constants that were fitted on the private cohort are not published."
        return finding("holds" if agrees else "broken", name, words)
    names = list_columns(dictionary)[: len(entries)]
    right = constants_digest(dictionary.get("Reference"), names, entries)
    stated = statement.text("preprocessing.scaling", "params", "constants_digest")
    agrees = right is not None and stated == right
    if agrees and is_drawn(statement):
        return check_grid(statement, names, entries)
    return finding(
        "holds" if agrees else "broken", name,
        "Centre and spread of every column are the certified constants."
        if agrees
        else "Centre and spread of the columns are not the certified constants.",
        stated=stated, recomputed=right, source="SHA-256",
    )  # fmt: skip


def check_grid(statement: Statement, names: list[str], entries: list[Mapping[str, Any]]) -> Check:
    """Check that drawn constants are candidates of the public grid.

    Statistics of the cohort that were not drawn from it are almost never on it.

    Parameters
    ----------
    statement : Statement
        The certificate.
    names : list of str
        The feature columns.
    entries : list of mapping
        Their entries of the dictionary.

    Returns
    -------
    Check
        Whether they are, in units of the certified public constants.
    """
    name, step = "release.constants", "preprocessing.scaling"
    reference = statement.raw(step, "params", "public_reference")
    right = constants_digest(reference, names, entries, "Public")
    stated = statement.text(step, "params", "public_constants_digest")
    if right is None or right != stated:
        words = "The public constants that quantiles were measured in are not the certified ones."
        return broken(name, words, stated=stated, recomputed=right)
    scale = statement.number("preprocessing.quantiles", "scale")
    points = statement.integer("preprocessing.quantiles", "points")
    if scale is None or scale <= 0 or points is None or points < 2:
        return broken(name, "The grid of candidates is not stated.")
    off = sum(not is_candidate(entry, scale, points) for entry in entries)
    return finding(
        "holds" if off == 0 else "broken", name,
        "Centre and spread of every column are candidates of the public grid, as certified."
        if off == 0
        else f"Constants of {off} column(s) are no candidates of the public grid.",
        stated=off, recomputed=0, source="SHA-256; Student's t with two degrees of freedom",
    )  # fmt: skip


def constants_digest(
    reference: object, columns: list[str], entries: list[Mapping[str, Any]], prefix: str = ""
) -> str | None:
    """Digest of public scaling constants.

    Parameters
    ----------
    reference : str
        Name of the reference.
    columns : list of str
        Names of the feature columns.
    entries : list of mapping
        Their entries of the dictionary, with ``Centre`` and ``Spread`` (on the column's scale).
    prefix : str
        What stands before these two keys.

    Returns
    -------
    str or None
        ``sha256:…``, or ``None`` where a constant is missing.
    """
    constants = {
        key.lower(): [as_number(entry.get(prefix + key)) for entry in entries]
        for key in ("Centre", "Spread")
    }
    if any(value is None for values in constants.values() for value in values):
        return None
    document = {
        "name": reference,
        "columns": columns,
        **{
            key: [float(value).hex() for value in values if value is not None]
            for key, values in constants.items()
        },
    }
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _label_columns(statement: Statement) -> list[object]:
    """Label columns after the others: protected ones, then unprotected ones."""
    labels = [entry.get("name") for entry in statement.entries("domain.labels")]
    return labels + (statement.listing("domain.unprotected") or [])
