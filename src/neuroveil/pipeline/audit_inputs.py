"""What an audit of a table reads: the release folder, and private feature tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from neuroveil.audit.table.belonging import check_belonging
from neuroveil.audit.table.channels import ReleasedRows
from neuroveil.audit.table.frame import AuditFrame, check_order, check_table, make_targets
from neuroveil.audit.table.moments import MomentsChannel
from neuroveil.audit.table.rebuild import PublicFiles, channel_of, claim_of, scaling_of
from neuroveil.errors import CertificateError, RecordingError
from neuroveil.pipeline.reports import read_json, read_release
from neuroveil.privacy import private_statistics_scaling
from neuroveil.privacy.bounds import IntArray
from neuroveil.types.catalogue import Column
from neuroveil.types.codewords import Messages
from neuroveil.types.recording import FloatArray
from neuroveil.types.table import FeatureTable

if TYPE_CHECKING:
    import pandas as pd

_LARGEST_INPUTS = 1 << 28  # a basis of a thousand columns and their covariance, with room

_KEY, _BESIDE = "patient", ("n_windows", "seconds")
_MOST_BESIDE = 1e12  # more than a life in milliseconds
_MOST_FEATURE = 1e100  # far beyond any EEG, and its square is still a number


def load_frame(
    release: Path, table: Path, reference: Path | None = None, order: Path | None = None
) -> AuditFrame:
    """Read everything that attacks on a table look at.

    Parameters
    ----------
    release : Path
        Release folder.
    table : Path
        The private feature table that it was made from, Parquet or CSV.
    reference : Path, optional
        The feature table of another session.
    order : Path, optional
        Text file with one roster key a line, in the order of the released rows.

    Returns
    -------
    AuditFrame
        Private.

    Raises
    ------
    CertificateError
        If the release cannot be read, or its settings call for other noise than it states.
    RecordingError
        If a table cannot be read or does not belong to the release.
    """
    files = read_public(release)
    rows = read_feature_table(table, files.columns)
    check_table(rows, int(files.certificate.value("domain.n")))
    others = None
    if reference is not None:
        others = read_feature_table(reference, files.columns, role="reference")
    scaling = scaling_of(files) or private_statistics_scaling(rows)
    channel = channel_of(files)
    targets = make_targets(rows, others, scaling, channel, claim_of(files.certificate))
    known = None if order is None else _read_order(order, rows.patients)
    if isinstance(channel, MomentsChannel):
        return AuditFrame(rows, others, targets)
    released = read_rows(release, files)
    check_belonging(targets[0], released)
    return AuditFrame(rows, others, targets, released, known)


def read_public(release: Path) -> PublicFiles:
    """Read the documents of a release folder.

    Parameters
    ----------
    release : Path
        Release folder.

    Returns
    -------
    PublicFiles
        Not judged; see ``neuroveil verify``.

    Raises
    ------
    CertificateError
        If one of them cannot be read.
    """
    if not release.is_dir():
        raise CertificateError(
            "release", "a release folder", "something else",
            "Name a folder that `neuroveil release` wrote.",
        )  # fmt: skip
    certificate, columns = read_release(release)
    names = ("table_estimated.json", "synthetic.json", "table.json")
    described = next((release / name for name in names if (release / name).exists()), None)
    dictionary = {} if described is None else read_json(described, "data dictionary")
    inputs, constants = release / "public_inputs.json", {}
    if certificate.value("preprocessing.projection") is not None:
        constants = read_json(inputs, "public inputs", _LARGEST_INPUTS)
    return PublicFiles(certificate, columns, dictionary, constants)


def read_rows(release: Path, files: PublicFiles) -> ReleasedRows:
    """Read the released rows as they stand in the folder.

    Parameters
    ----------
    release : Path
        Release folder.
    files : PublicFiles
        Its documents.

    Returns
    -------
    ReleasedRows
        Codewords where the mechanism releases them, values otherwise.

    Raises
    ------
    CertificateError
        If they cannot be read, or have another shape than is certified.
    """
    import pandas as pd

    n, m = (int(files.certificate.value(name)) for name in ("domain.n", "bound.dimension"))
    try:
        if files.certificate.value("mechanism.name") == "privunit":
            frame = pd.read_csv(release / "messages.csv", dtype={"seed": str, "number": np.int64})
            seeds = tuple(bytes.fromhex(seed) for seed in frame["seed"])
            rows = ReleasedRows(messages=Messages(frame["number"].to_numpy(), seeds))
            fits = rows.n_rows == n
        else:
            frame = pd.read_parquet(release / "table.parquet")
            values = np.ascontiguousarray(frame.iloc[:, :m].to_numpy(dtype=np.float64))
            rows, fits = ReleasedRows(values), values.shape == (n, m)
    except (OSError, ValueError, KeyError):
        fits = False
    if not fits:
        raise CertificateError(
            "released table", f"{n} rows of {m} values", "another table",
            "Run `neuroveil verify` on the folder.",
        )  # fmt: skip
    return rows


def read_feature_table(
    file: Path, columns: tuple[Column, ...], role: str = "table"
) -> FeatureTable:
    """Read a private feature table, as ``neuroveil extract`` writes it.

    Columns besides ``patient``, ``n_windows``, ``seconds`` and the features are kept as
    attributes. A reference may lack columns, for example those of electrodes that another
    hospital does not place: they count as missing.

    Parameters
    ----------
    file : Path
        Parquet, or CSV with a header.
    columns : tuple of Column
        The feature columns of the release.
    role : {"table", "reference"}
        What an error calls it.

    Returns
    -------
    FeatureTable
        With exactly these columns, in this order.

    Raises
    ------
    RecordingError
        If the file cannot be read, a column or key is missing, a cell is no number, or a
        patient stands twice.
    """
    frame = _read(file, role)
    if _KEY not in frame.columns:
        raise RecordingError(
            role, f"a column {_KEY!r} with roster keys", "none of that name",
            "Name the features.parquet that `neuroveil extract` wrote.",
        )  # fmt: skip
    keys = frame[_KEY]
    if bool(keys.isna().any()) or bool((keys.astype(str) == "").any()):
        raise RecordingError(
            role, "a roster key in every row", "rows without one", "Give every row its key."
        )
    values = _values(frame, columns, role)
    features = {column.name for column in columns}
    beside = [str(name) for name in frame.columns if name not in {_KEY, *_BESIDE, *features}]
    counts = [_beside(frame, name, role) for name in _BESIDE]
    return FeatureTable(
        patients=tuple(keys.astype(str)),
        columns=columns,
        values=values,
        n_windows=counts[0].astype(np.int64),
        seconds=counts[1],
        attributes={
            name: tuple("" if missing else str(value) for value, missing in
                        zip(frame[name], frame[name].isna(), strict=True))
            for name in beside
        },
    )  # fmt: skip


def _read(file: Path, role: str) -> pd.DataFrame:
    import pandas as pd

    try:
        if file.suffix.lower() == ".parquet":
            return pd.read_parquet(file)
        separator = "\t" if file.suffix.lower() == ".tsv" else ","
        return pd.read_csv(file, sep=separator, dtype={_KEY: str})
    except (OSError, ValueError, UnicodeError) as error:
        raise RecordingError(
            role, "a feature table in Parquet, CSV or TSV", type(error).__name__,
            "Name the features.parquet that `neuroveil extract` wrote.",
        ) from None  # fmt: skip


def _values(frame: pd.DataFrame, columns: Sequence[Column], role: str) -> FloatArray:
    missing = [column.name for column in columns if column.name not in frame.columns]
    if missing and (role == "table" or len(missing) == len(columns)):
        raise RecordingError(
            role, f"all {len(columns)} feature columns of the release",
            f"{len(columns) - len(missing)} of them",
            "Name the feature table that the release was made from, or one with its columns.",
        )  # fmt: skip
    wanted = frame.reindex(columns=[column.name for column in columns])
    try:
        values = np.ascontiguousarray(wanted.to_numpy(dtype=np.float64, na_value=np.nan))
    except (TypeError, ValueError):
        raise RecordingError(
            role, "numbers in every feature column", "text",
            "Leave cells that are missing empty.",
        ) from None  # fmt: skip
    if bool((np.abs(values[np.isfinite(values)]) > _MOST_FEATURE).any()):
        raise RecordingError(
            role, f"values that a feature of EEG can have, below {_MOST_FEATURE:g}",
            "larger ones", "Extract the features again.",
        )  # fmt: skip
    return values


def _beside(frame: pd.DataFrame, name: str, role: str) -> FloatArray:
    if name not in frame.columns:
        return np.zeros(len(frame))
    try:
        cells: FloatArray = frame[name].to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        cells = np.full(len(frame), np.inf)
    cells = np.where(np.isnan(cells), 0.0, cells)
    if bool(((cells < 0) | (cells > _MOST_BESIDE)).any()):
        raise RecordingError(
            role, f"counts of windows and seconds of 0 to {_MOST_BESIDE:g}", "something else",
            "Correct these columns, or leave them out.",
        )  # fmt: skip
    return cells


def _read_order(file: Path, patients: tuple[str, ...]) -> IntArray:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError) as error:
        raise RecordingError(
            "row order", "a text file with one roster key a line", type(error).__name__,
            "Leave --order out where the order was not kept.",
        ) from None  # fmt: skip
    place = {patient: row for row, patient in enumerate(patients)}
    keys = [line.strip() for line in lines if line.strip()]
    return check_order([place.get(key, -1) for key in keys], len(patients))
