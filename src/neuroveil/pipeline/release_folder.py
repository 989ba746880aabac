"""Write a release folder: table, dictionary, statement, report, examples, certificate.

Only a :class:`~neuroveil.types.release.Release` is accepted; there is no writer for
anything else. The folder appears whole, or not at all.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from importlib import resources
from pathlib import Path
from typing import Any

from neuroveil.errors import CertificateError, StudyError, StudyMistake
from neuroveil.report import public_report, statement
from neuroveil.types.catalogue import Column, feature_spec
from neuroveil.types.certificate import Certificate, digest
from neuroveil.types.release import Release

FREE_BYTES_NEEDED = 64 << 20
_EXAMPLES = ("load_table.py", "load_table.R")


def check_target(target: Path) -> None:
    """Make sure that a release can be written, before any budget is spent.

    Parameters
    ----------
    target : Path
        The folder that will appear.

    Raises
    ------
    StudyError
        If it exists already, or nothing can be written beside it.
    """
    mistake = None
    if target.exists() or target.is_symlink():
        mistake = StudyMistake(
            "output.release", "a folder that does not exist yet", "an existing one",
            "Name another folder with --out, or move the old release away.",
        )  # fmt: skip
    else:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            probe = target.parent / f".{secrets.token_hex(8)}"
            probe.write_bytes(b"\0")
            probe.unlink()
            room = shutil.disk_usage(target.parent).free
        except OSError as error:
            mistake = StudyMistake(
                "output.release", "a place that can be written to", type(error).__name__,
                "Choose another folder with --out.",
            )  # fmt: skip
        else:
            if room < FREE_BYTES_NEEDED:
                mistake = StudyMistake(
                    "output.release", f"{FREE_BYTES_NEEDED >> 20} MiB of free disk space",
                    f"{room >> 20} MiB", "Make room: budget is spent before the files are written.",
                )  # fmt: skip
    if mistake is not None:
        raise StudyError([mistake])


def check_rendering(certificate: Certificate, columns: tuple[Column, ...]) -> None:
    """Draw the page and the statement once, before any budget is spent.

    A broken installation of a drawing library would otherwise be noticed too late.

    Parameters
    ----------
    certificate : Certificate
        Of a rehearsal with the same settings.
    columns : tuple of Column
        The columns of the release.
    """
    public_report(certificate, columns)
    statement(certificate)


def write_release(release: Release, target: Path) -> Certificate:
    """Write a release folder in one step.

    Parameters
    ----------
    release : Release
        From :func:`neuroveil.privacy.protect`.
    target : Path
        The folder that will appear; see :func:`check_target`.

    Returns
    -------
    Certificate
        The certificate as written, bound to the files by their digests.

    Raises
    ------
    CertificateError
        If something other than a release is handed in.
    StudyError
        If the target appeared meanwhile.
    """
    if not isinstance(release, Release):
        raise CertificateError(
            "release folder", "a Release", type(release).__name__,
            "Only what neuroveil.privacy.protect returns may be written.",
        )  # fmt: skip
    draft = target.parent / f".{target.name}.{secrets.token_hex(8)}"
    draft.mkdir(parents=True)
    try:
        _write_tables(release, draft)
        _write_text(draft / "table.json", _json_text(data_dictionary(release)))
        _write_text(draft / "STATEMENT.md", statement(release.certificate))
        _write_text(draft / "report.html", public_report(release.certificate, release.columns))
        for name in _EXAMPLES:
            source = resources.files("neuroveil.pipeline").joinpath("examples", name)
            _write_text(draft / name, source.read_text("utf-8"))
        files = {file.name: digest(file.read_bytes()) for file in sorted(draft.iterdir())}
        certificate = release.certificate.bound_to(files)
        _write_text(draft / "certificate.json", _json_text(certificate.to_json()))
        check_target(target)
        draft.rename(target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return certificate


def data_dictionary(release: Release) -> dict[str, Any]:
    """Describe every column of a release, in the manner of BIDS.

    Centre and spread are written only where they are public constants.

    Parameters
    ----------
    release : Release
        What is about to be written.

    Returns
    -------
    dict
        For ``table.json``.
    """
    scaling = release.scaling
    public = scaling.fitted_on == "public"
    columns: dict[str, Any] = {}
    for j, column in enumerate(release.columns):
        entry = _column_entry(column)
        if public:
            entry["Centre"] = float(scaling.centre[j])
            entry["Spread"] = float(scaling.spread[j])
            entry["OutsideReference"] = scaling.fallback[j]
        columns[column.name] = entry
    unprotected = set(release.certificate.value("domain.unprotected"))
    for name, values in release.labels.items():
        columns[name] = {
            "Description": "Label as recorded, NOT protected"
            if name in unprotected
            else "Label after randomised response: each value may be untrue",
            "Levels": sorted(set(values)),
        }
    n_rows, n_features = release.values.shape
    return {
        "Name": "EEG features of one cohort, one row a patient in random order, with noise",
        "NumberOfRows": n_rows,
        "NumberOfColumns": n_features + len(release.labels),
        "Reference": scaling.name if public else None,
        "Columns": columns,
        "NeuroveilChainDigest": release.certificate.chain_digest,
    }


def _column_entry(column: Column) -> dict[str, Any]:
    spec = feature_spec(column.feature)
    value = f"log10 of {spec.label} in {spec.unit}" if spec.scale == "log10" else (
        f"{spec.label} in {spec.unit}"
    )  # fmt: skip
    return {
        "Description": f"{value} at {column.channel}, centred and divided by its spread, "
        "the whole row clipped, with noise",
        "Units": "1",
        "UnscaledUnits": spec.unit,
        "Transform": spec.scale,
    }


def _write_tables(release: Release, folder: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame(release.values, columns=[column.name for column in release.columns])
    for name, values in release.labels.items():
        frame[name] = values
    frame.to_parquet(folder / "table.parquet", index=False)
    # The default float format is the shortest text that reads back as the same double.
    frame.to_csv(folder / "table.csv", index=False, lineterminator="\n")


def _json_text(document: object) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _write_text(file: Path, text: str) -> None:
    with file.open("w", encoding="utf-8", newline="\n") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
