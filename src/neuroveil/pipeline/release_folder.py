"""Write a release folder: table, dictionary, statement, report, examples, certificate.

Only a :class:`~neuroveil.types.release.Release` or a
:class:`~neuroveil.types.central_release.CentralRelease` is accepted; there is no writer for
anything else. The folder appears whole, or not at all.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from neuroveil.errors import CertificateError
from neuroveil.keys import SiteKey, sign
from neuroveil.pipeline.central_folder import (
    CONSTANTS,
    covariance_text,
    mean_text,
    moments_text,
    synthetic_dictionary,
)
from neuroveil.pipeline.claim import check_target, claimed
from neuroveil.privacy.verify.document import load_json
from neuroveil.report import public_report, statement
from neuroveil.types.catalogue import Column, feature_spec
from neuroveil.types.central_release import CentralRelease
from neuroveil.types.certificate import Certificate, canonical_json, digest
from neuroveil.types.recording import FloatArray
from neuroveil.types.release import Release

_EXAMPLES = ("load_table.py", "load_table.R")
_EXAMPLES_OF_MOMENTS = ("load_moments.py",)


def check_writing(
    certificate: Certificate, columns: tuple[Column, ...], n_patients: int, draft: Path
) -> None:
    """Draw the page and write a table of zeros once, before any budget is spent.

    A broken installation of a library would otherwise be noticed too late.

    Parameters
    ----------
    certificate : Certificate
        Of a rehearsal with the same settings.
    columns : tuple of Column
        The columns of the release.
    n_patients : int
        Roster size.
    draft : Path
        Folder for the attempt, left empty.

    Raises
    ------
    CertificateError
        If a setting is nothing that a certificate can hold, so that nobody could verify it.
    """
    load_json(canonical_json(certificate.to_json()), "certificate")
    public_report(certificate, columns)
    statement(certificate)
    zeros = np.zeros((n_patients, len(columns)))
    _write_table(draft / "attempt", tuple(column.name for column in columns), zeros, {})
    for file in draft.iterdir():
        file.unlink()


def write_release(
    release: Release | CentralRelease,
    target: Path,
    key: SiteKey | None = None,
    draft: Path | None = None,
) -> Certificate:
    """Write a release folder in one step.

    Parameters
    ----------
    release : Release or CentralRelease
        From :func:`neuroveil.privacy.release_any`.
    target : Path
        The folder that will appear.
    key : SiteKey, optional
        Signs the certificate.
    draft : Path, optional
        Empty folder on the same file system, from :func:`neuroveil.pipeline.claim.claimed`;
        one is claimed here where none is given.

    Returns
    -------
    Certificate
        The certificate as written, bound to the files by their digests.

    Raises
    ------
    CertificateError
        If something other than a release is handed in.
    StudyError
        If the target exists.
    """
    if not isinstance(release, Release | CentralRelease):
        raise CertificateError(
            "release folder", "a Release", type(release).__name__,
            "Only what neuroveil.privacy.protect returns may be written.",
        )  # fmt: skip
    if draft is None:
        with claimed(target, release.values.size) as own:
            return write_release(release, target, key, own)
    if isinstance(release, CentralRelease):
        _write_moments(release, draft)
    else:
        _write_tables(release, draft)
    _write_text(draft / "STATEMENT.md", statement(release.certificate))
    _write_text(draft / "report.html", public_report(release.certificate, release.columns))
    is_central = isinstance(release, CentralRelease)
    for name in _EXAMPLES_OF_MOMENTS if is_central else _EXAMPLES:
        source = resources.files("neuroveil.pipeline").joinpath("examples", name)
        _write_text(draft / name, source.read_text("utf-8"))
    files = {file.name: digest(file.read_bytes()) for file in sorted(draft.iterdir())}
    certificate = release.certificate.bound_to(files)
    if key is not None:
        certificate = sign(certificate, key)
    _write_text(draft / "certificate.json", _json_text(certificate.to_json()))
    publish_folder(draft, target)
    return certificate


def publish_folder(draft: Path, target: Path) -> None:
    """Let a folder that is complete appear at its place, in one step.

    Parameters
    ----------
    draft : Path
        With all files written.
    target : Path
        The folder that will appear, on the same file system.

    Raises
    ------
    StudyError
        If the target exists.
    """
    _flush(draft)
    check_target(target)
    draft.rename(target)
    _flush(target.parent)


def data_dictionary(release: Release) -> dict[str, Any]:
    """Describe every column of the protected table, in the manner of BIDS.

    Centre and spread are written only where they are public or were released under a budget.

    Parameters
    ----------
    release : Release
        What is about to be written.

    Returns
    -------
    dict
        For ``table.json``.
    """
    features = tuple(column.name for column in release.columns)
    columns = (
        _scaled_entries(release)
        if release.coordinates == features
        else dict.fromkeys(release.coordinates, _COMPONENT_ENTRY)
    )
    name = "EEG features of one cohort, one row a patient in random order, protected"
    return _dictionary(release, name, columns)


def estimate_dictionary(release: Release) -> dict[str, Any]:
    """Describe every column of the estimated table.

    Parameters
    ----------
    release : Release
        With an estimate.

    Returns
    -------
    dict
        For ``table_estimated.json``.
    """
    columns = {}
    for name, entry in _scaled_entries(release).items():
        kept = {key: entry[key] for key in CONSTANTS if key in entry}
        columns[name] = {
            "Description": f"Estimate of {entry['FeatureLabel']}, made from the protected table "
            "by public rules; shrunk towards the public centre where noise is large",
            "Units": entry["UnscaledUnits"],
            "Transform": entry["Transform"],
            **kept,
        }
    name = "Estimated EEG features of one cohort, in the row order of the protected table"
    return _dictionary(release, name, columns)


_COMPONENT_ENTRY = {
    "Description": "Coordinate of the scaled row along a public component (see "
    "public_inputs.json), the whole row clipped, protected",
    "Units": "1",
}


def _dictionary(release: Release, name: str, columns: dict[str, Any]) -> dict[str, Any]:
    scaling = release.scaling
    described = {**columns, **_label_entries(release)}
    return {
        "Name": name,
        "NumberOfRows": release.values.shape[0],
        "NumberOfColumns": len(described),
        "Reference": scaling.name if scaling.is_published else None,
        "Columns": described,
        "NeuroveilChainDigest": release.certificate.chain_digest,
    }


def _label_entries(release: Release) -> dict[str, Any]:
    unprotected = set(release.certificate.value("domain.unprotected"))
    return {
        name: {
            "Description": "Label as recorded, NOT protected"
            if name in unprotected
            else "Label after randomised response: each value may be untrue",
            "Levels": sorted(set(values)),
        }
        for name, values in release.labels.items()
    }


def _scaled_entries(release: Release | CentralRelease) -> dict[str, Any]:
    """Feature columns on the scaled axis."""
    scaling, columns = release.scaling, {}
    for j, column in enumerate(release.columns):
        entry = _column_entry(column)
        if scaling.is_published:
            entry["Centre"] = float(scaling.centre[j])
            entry["Spread"] = float(scaling.spread[j])
            entry["OutsideReference"] = scaling.fallback[j]
        if scaling.public is not None:  # what released quantiles were measured in
            entry["PublicCentre"] = float(scaling.public.centre[j])
            entry["PublicSpread"] = float(scaling.public.spread[j])
        columns[column.name] = entry
    return columns


def _column_entry(column: Column) -> dict[str, Any]:
    spec = feature_spec(column.feature)
    label = f"{spec.label} at {column.channel}"
    value = f"log10 of {label}" if spec.scale == "log10" else label
    return {
        "Description": f"{value}, centred and divided by its spread, the whole row clipped, "
        "protected",
        "FeatureLabel": label,
        "Units": "1",
        "UnscaledUnits": spec.unit,
        "Transform": spec.scale,
    }


def _write_tables(release: Release, folder: Path) -> None:
    _write_table(folder / "table", release.coordinates, release.values, release.labels)
    _write_text(folder / "table.json", _json_text(data_dictionary(release)))
    if release.messages is not None:
        lines = [
            f"{seed.hex()},{number}\n"
            for seed, number in zip(
                release.messages.seeds, release.messages.numbers.tolist(), strict=True
            )
        ]
        _write_text(folder / "messages.csv", "".join(["seed,number\n", *lines]))
    if release.estimate is not None:
        names = tuple(column.name for column in release.columns)
        values = release.estimate.values
        _write_table(folder / "table_estimated", names, values, release.labels)
        _write_text(folder / "table_estimated.json", _json_text(estimate_dictionary(release)))
        _write_text(folder / "public_inputs.json", _json_text(dict(release.estimate.public_inputs)))


def _write_moments(release: CentralRelease, folder: Path) -> None:
    texts = {
        "moments.csv": moments_text(release),
        "mean.csv": mean_text(release),
        "covariance.csv": covariance_text(release),
    }
    for name, text in texts.items():
        _write_text(folder / name, text)
    names = tuple(column.name for column in release.columns)
    _write_table(folder / "synthetic", names, release.synthetic, {})
    made_of = {name: digest(text.encode()) for name, text in texts.items()}
    document = synthetic_dictionary(release, _scaled_entries(release), made_of)
    _write_text(folder / "synthetic.json", _json_text(document))


def _write_table(
    stem: Path, names: tuple[str, ...], values: FloatArray, labels: dict[str, tuple[str, ...]]
) -> None:
    import pandas as pd

    frame = pd.DataFrame(values, columns=list(names))
    for name, label_values in labels.items():
        frame[name] = label_values
    # Plain, so that verification can read it without a library; noise does not compress.
    frame.to_parquet(
        stem.with_suffix(".parquet"), index=False, compression=None, use_dictionary=False
    )
    # The default float format is the shortest text that reads back as the same double.
    frame.to_csv(stem.with_suffix(".csv"), index=False, lineterminator="\n")
    for suffix in (".parquet", ".csv"):
        _flush(stem.with_suffix(suffix))


def _flush(path: Path) -> None:
    """See that a file or folder is on the disk: it was paid for."""
    with suppress(PermissionError):  # folders cannot be opened on Windows
        number = os.open(path, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _json_text(document: object) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _write_text(file: Path, text: str) -> None:
    with file.open("w", encoding="utf-8", newline="\n") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
