"""Turn plain data into a reference, or say everything that is wrong with it."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

import numpy as np

from neuroveil.errors import StudyError, StudyMistake
from neuroveil.reference.model import (
    POPULATIONS,
    PRESETS,
    SCHEMA,
    SCHEMA_VERSION,
    Provenance,
    Reference,
)
from neuroveil.types.catalogue import FEATURE_NAMES, feature_spec
from neuroveil.types.recording import FloatArray

KEYS: tuple[str, ...] = (
    "schema", "schema_version", "name", "version", "preset", "digest", "provenance", "caveats",
    "estimator", "channels", "features", "scales", "units", "centre", "spread",
    "channel_covariance", "feature_covariance",
)  # fmt: skip

SMALLEST_EIGENVALUE = 1e-6
"""A covariance factor with a smaller one could not be inverted in a stable way."""

_SMALLEST_SPREAD, _LARGEST_CENTRE = 1e-9, 1e100

_REMEDY = "Name a file that `neuroveil reference build` has written, unchanged."
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_LISTS = ("covers", "recording_digests")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_TEXT_FIELDS = tuple(
    field.name for field in fields(Provenance) if field.type == "str"
)  # annotations are text in this project


def reference_from_json(document: Any) -> Reference:
    """Check plain data and make a reference of it.

    Parameters
    ----------
    document : JSON value
        What a reference file holds.

    Returns
    -------
    Reference
        The constants.

    Raises
    ------
    StudyError
        With one mistake for every field that is wrong.
    """
    _raise_if_any(_shape_mistakes(document))
    _raise_if_any([*_text_mistakes(document), *_provenance_mistakes(document["provenance"])])
    _raise_if_any(_constant_mistakes(document))
    reference = _make(document)
    if document["digest"] != reference.digest:
        raise StudyError([_wrong("digest", "the digest of what the file holds", "another")])
    return reference


def _shape_mistakes(document: Any) -> list[StudyMistake]:
    """Mistakes that make it pointless to look further."""
    if not isinstance(document, dict):
        return [_wrong("file", "a JSON object", type(document).__name__)]
    found = [_wrong(key, "this key", "nothing") for key in KEYS if key not in document]
    found += [
        _wrong("file", "no other keys", f"{key[:40]!r}") for key in document if key not in KEYS
    ]
    if document.get("schema", SCHEMA) != SCHEMA:
        found.append(_wrong("schema", repr(SCHEMA), "another"))
    if document.get("schema_version", SCHEMA_VERSION) != SCHEMA_VERSION:
        found.append(_wrong("schema_version", str(SCHEMA_VERSION), "another"))
    return found


def _text_mistakes(document: dict[str, Any]) -> list[StudyMistake]:
    name, version, features = document["name"], document["version"], document["features"]
    rules = [
        (
            "name",
            "lower-case words joined by hyphens",
            isinstance(name, str) and _NAME.fullmatch(name) is not None,
        ),
        ("version", "a whole number as text", isinstance(version, str) and version.isdecimal()),
        ("preset", f"one of {', '.join(PRESETS)}", document["preset"] in PRESETS),
        (
            "caveats",
            "a list of sentences, each once",
            document["caveats"] == [] or _is_names(document["caveats"]),
        ),
        ("estimator", "an object", isinstance(document["estimator"], dict)),
        ("channels", "names, each once", _is_names(document["channels"])),
        (
            "features",
            "features of the catalogue, each once",
            _is_names(features) and set(features) <= set(FEATURE_NAMES),
        ),
    ]
    found = [_wrong(key, expected, "something else") for key, expected, holds in rules if not holds]
    if not any(mistake.where == "reference.features" for mistake in found):
        specs = [feature_spec(feature) for feature in features]
        for key, wanted in (
            ("scales", [s.scale for s in specs]),
            ("units", [s.unit for s in specs]),
        ):
            if document[key] != wanted:
                found.append(_wrong(key, "the catalogue's for these features", "others"))
    return found


def _provenance_mistakes(provenance: Any) -> list[StudyMistake]:
    names = [field.name for field in fields(Provenance)]
    if not isinstance(provenance, dict) or set(provenance) != set(names):
        return [_wrong("provenance", f"an object with the keys {', '.join(names)}", "another")]
    rules = [(key, "a text", _is_text(provenance[key])) for key in _TEXT_FIELDS]
    covers, software = provenance["covers"], provenance["software"]
    digests = provenance["recording_digests"]
    rules += [
        (
            "covers",
            f"a list of {', '.join(POPULATIONS)}",
            isinstance(covers, list) and all(each in POPULATIONS for each in covers),
        ),
        (
            "recording_digests",
            "a list of SHA-256 digests",
            isinstance(digests, list)
            and all(_is_text(each) and _DIGEST.fullmatch(each) for each in digests),
        ),
        ("n_people", "a positive whole number", _is_count(provenance["n_people"])),
        ("n_recordings", "a positive whole number", _is_count(provenance["n_recordings"])),
        ("settings", "an object", isinstance(provenance["settings"], dict)),
        (
            "software",
            "versions by package",
            isinstance(software, dict) and all(_is_text(each) for each in software.values()),
        ),
    ]
    return [
        _wrong(f"provenance.{key}", expected, "something else")
        for key, expected, holds in rules
        if not holds
    ]


def _constant_mistakes(document: dict[str, Any]) -> list[StudyMistake]:
    n_channels, n_features = len(document["channels"]), len(document["features"])
    found = []
    for key in ("centre", "spread"):
        matrix = _matrix(document[key], (n_channels, n_features))
        expected = f"finite numbers of shape ({n_channels}, {n_features})"
        if matrix is None:
            found.append(_wrong(key, expected, "something else"))
        # With smaller ones a value of some patient could be too large to be scaled, and the refusal
        # would tell so before anything is charged.
        elif key == "spread" and not bool((matrix >= _SMALLEST_SPREAD).all()):
            found.append(_wrong(key, f"numbers of at least {_SMALLEST_SPREAD:g}", "others"))
        elif key == "centre" and not bool((np.abs(matrix) <= _LARGEST_CENTRE).all()):
            found.append(_wrong(key, f"numbers within ±{_LARGEST_CENTRE:g}", "others"))
    for key, size in (("channel_covariance", n_channels), ("feature_covariance", n_features)):
        matrix = _matrix(document[key], (size, size))
        if matrix is None or not _is_correlation(matrix):
            expected = f"a symmetric, positive definite matrix of shape ({size}, {size})"
            found.append(_wrong(key, f"{expected} with a diagonal of 1", "something else"))
    return found


def _is_correlation(matrix: FloatArray) -> bool:
    return (
        bool((matrix == matrix.T).all())
        and bool((np.diag(matrix) == 1).all())
        and float(np.linalg.eigvalsh(matrix)[0]) >= SMALLEST_EIGENVALUE
    )


def _make(document: dict[str, Any]) -> Reference:
    provenance = document["provenance"]
    matrices = {
        key: np.array(document[key], dtype=np.float64)
        for key in ("centre", "spread", "channel_covariance", "feature_covariance")
    }
    return Reference(
        name=document["name"],
        version=document["version"],
        preset=document["preset"],
        channels=tuple(document["channels"]),
        features=tuple(document["features"]),
        estimator=document["estimator"],
        provenance=Provenance(**(provenance | {name: tuple(provenance[name]) for name in _LISTS})),
        caveats=tuple(document["caveats"]),
        **matrices,
    )


def _matrix(value: Any, shape: tuple[int, int]) -> FloatArray | None:
    """A matrix of finite numbers, or None where the value is anything else."""
    rows = value if isinstance(value, list) else []
    if len(rows) != shape[0] or not all(isinstance(row, list) for row in rows):
        return None
    cells = [cell for row in rows for cell in row]
    if any(len(row) != shape[1] for row in rows) or not all(
        isinstance(cell, int | float) and not isinstance(cell, bool) for cell in cells
    ):
        return None
    try:
        matrix = np.array(rows, dtype=np.float64)
    except OverflowError:
        return None
    return matrix if bool(np.isfinite(matrix).all()) else None


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_names(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(_is_text(each) for each in value)
        and len(set(value)) == len(value)
    )


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _wrong(field: str, expected: str, found: str) -> StudyMistake:
    return StudyMistake(f"reference.{field}", expected, found, _REMEDY)


def _raise_if_any(mistakes: list[StudyMistake]) -> None:
    if mistakes:
        raise StudyError(mistakes)
