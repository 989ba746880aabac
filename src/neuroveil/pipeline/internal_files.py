"""What stays in the hospital: the feature table, the run record, the list of bad files."""

from __future__ import annotations

import csv
import json
import secrets
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from neuroveil.pipeline.cache import private_folder
from neuroveil.pipeline.extract import Extraction
from neuroveil.pipeline.settings import find_roster, software_versions
from neuroveil.study import Study
from neuroveil.types.catalogue import feature_spec
from neuroveil.types.table import FeatureTable
from neuroveil.types.utility import count_findings

NOTICE = "Internal: holds patient rows. Not for publication."


def write_atomically(file: Path, write: Callable[[Path], object]) -> None:
    """Write a private file whole or not at all.

    Parameters
    ----------
    file : Path
        Target.
    write : callable
        Writes everything to the path that it is given.
    """
    draft = file.with_name(f".{secrets.token_hex(8)}.{file.name}")
    try:
        draft.touch(mode=0o600)
        write(draft)
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)


def write_text(file: Path, text: str) -> None:
    """Write a text file whole or not at all.

    Parameters
    ----------
    file : Path
        Target; its folder is made where it does not exist.
    text : str
        What to write.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, lambda draft: draft.write_text(text, encoding="utf-8"))


def write_json(file: Path, document: object) -> None:
    """Write a JSON file whole or not at all.

    Parameters
    ----------
    file : Path
        Target.
    document : JSON value
        What to write.
    """
    write_text(file, json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def write_extraction(study: Study, extraction: Extraction, seconds: float) -> dict[str, str]:
    """Write everything that an extraction leaves behind.

    Parameters
    ----------
    study : Study
        Checked settings.
    extraction : Extraction
        Its result.
    seconds : float
        How long it took.

    Returns
    -------
    dict of str to str
        Written files by role, relative to the study's folder.
    """
    folder = private_folder(study.path(study.output.internal))
    table = extraction.table
    write_atomically(folder / "features.parquet", lambda draft: _write_parquet(draft, table))
    write_json(folder / "features.json", _dictionary(table))
    write_json(folder / "run.json", _run_record(study, extraction, seconds))
    written = {"table": "features.parquet", "dictionary": "features.json", "run": "run.json"}
    problems = folder / "problems.csv"
    if extraction.failures:
        write_atomically(problems, lambda draft: _write_problems(draft, study, extraction))
        written["problems"] = problems.name
    else:
        problems.unlink(missing_ok=True)
    return {role: f"{study.output.internal}/{name}" for role, name in written.items()}


def _write_parquet(file: Path, table: FeatureTable) -> None:
    import pandas as pd

    frame = pd.DataFrame(table.values, columns=[column.name for column in table.columns])
    frame.insert(0, "patient", table.patients)
    frame["n_windows"] = table.n_windows
    frame["seconds"] = table.seconds
    frame.to_parquet(file, index=False)


def _dictionary(table: FeatureTable) -> dict[str, Any]:
    document: dict[str, Any] = {"Notice": NOTICE, "NumberOfRows": table.n_patients, "Columns": {}}
    document["Columns"]["patient"] = {"Description": "Roster key. Private."}
    for column in table.columns:
        document["Columns"][column.name] = {
            "Description": f"{feature_spec(column.feature).label} at {column.channel}, mean over "
            "all kept 2-second windows of all recordings of the patient",
            "Units": column.unit,
            "Scale": "linear",
        }
    document["Columns"]["n_windows"] = {"Description": "Kept windows that the row rests on"}
    document["Columns"]["seconds"] = {"Description": "Recorded time", "Units": "s"}
    document["Software"] = table.metadata["software"]
    return document


def _run_record(study: Study, extraction: Extraction, seconds: float) -> dict[str, Any]:
    # The way to a server is no part of what was done to recordings.
    settings = study.model_dump(mode="json", exclude={"server"})
    return {
        "notice": NOTICE,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "study_digest": sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest(),
        "overrides": list(study.overrides),
        "software": software_versions(),
        "seconds": round(seconds, 3),
        "summary": extraction.summary(),
        "findings": [asdict(counted) for counted in count_findings(extraction.findings)],
        "failures": [error.as_dict() for _, error in extraction.failures],
        "keyed_input_digests": list(extraction.input_digests),
    }


def _write_problems(file: Path, study: Study, extraction: Extraction) -> None:
    """List bad files with their paths: the one place where a person finds them by name."""
    paths = [
        recording.path for entry in find_roster(study).entries for recording in entry.recordings
    ]
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["recording", "path", "expected", "found", "remedy"])
        for number, error in extraction.failures:
            path = paths[number - 1]
            writer.writerow([number, path, error.expected, error.found, error.remedy])
