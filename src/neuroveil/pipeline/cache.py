"""Per-recording cache: a second run only does what changed.

File names are keyed digests, so that neither a name nor a guessable digest of private
input stands in the file system.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import zipfile
from dataclasses import asdict
from pathlib import Path

import numpy as np

from neuroveil.errors import StudyError, StudyMistake
from neuroveil.recordings import parts_of
from neuroveil.types.recording import QualityFinding, RecordingFeatures

KEY_FILE = "cache.key"
_BLOCK_BYTES = 1 << 20


def private_folder(folder: Path, where: str = "output.internal") -> Path:
    """Make a folder that only its owner can open.

    Parameters
    ----------
    folder : Path
        Folder to make, with its parents.
    where : str
        What the error calls it.

    Returns
    -------
    Path
        The same folder. One that existed before keeps the rights that it has.

    Raises
    ------
    StudyError
        If it cannot be made or written to.
    """
    try:
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            folder.chmod(0o700)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError
    except OSError as error:
        raise StudyError([StudyMistake(
            where, "a folder that can be written to", type(error).__name__,
            "Choose another folder, or correct its rights.",
        )]) from None  # fmt: skip
    return folder


def cache_key(folder: Path) -> bytes:
    """Load the site's cache key, or draw one on first use.

    Parameters
    ----------
    folder : Path
        Internal cache folder.

    Returns
    -------
    bytes
        32 secret bytes.
    """
    file = private_folder(folder) / KEY_FILE
    draft = folder / f".{KEY_FILE}.{secrets.token_hex(8)}"
    if not file.exists():
        draft.touch(mode=0o600)
        draft.write_bytes(secrets.token_bytes(32))
        try:
            os.link(draft, file)  # never replaces the key of a run that was faster
        except FileExistsError:
            pass
        except OSError:  # a file system without hard links
            draft.replace(file)
        draft.unlink(missing_ok=True)
    return file.read_bytes()


def keyed_digest(key: bytes, recording: Path, settings_digest: str) -> str:
    """Digest a recording's bytes together with the settings it is read with.

    Parameters
    ----------
    key : bytes
        From :func:`cache_key`.
    recording : Path
        The recording; the other files that belong to it (``.eeg``, ``.fdt``, …) count too.
    settings_digest : str
        Digest of everything else that the features depend on.

    Returns
    -------
    str
        64 hexadecimal digits.

    Raises
    ------
    OSError
        If a file cannot be read.
    """
    state = hashlib.blake2b(settings_digest.encode(), key=key, digest_size=32)
    for part in parts_of(recording):
        state.update(f"|{part.suffix.lower()}|{part.stat().st_size}|".encode())
        with part.open("rb") as stream:
            while block := stream.read(_BLOCK_BYTES):
                state.update(block)
    return state.hexdigest()


def content_digest(recording: Path) -> str:
    """Digest a recording's bytes without a key, to recognise public recordings.

    Of a private recording it never leaves this process: it would show who holds a copy.

    Parameters
    ----------
    recording : Path
        The recording, with the other files that belong to it.

    Returns
    -------
    str
        64 hexadecimal digits.

    Raises
    ------
    OSError
        If a file cannot be read.
    """
    state = hashlib.sha256()
    for part in parts_of(recording):
        with part.open("rb") as stream:
            while block := stream.read(_BLOCK_BYTES):
                state.update(block)
    return state.hexdigest()


def write_features(file: Path, features: RecordingFeatures) -> None:
    """Write one recording's result, so that it is there whole or not at all.

    Parameters
    ----------
    file : Path
        Target in the cache folder.
    features : RecordingFeatures
        The result.
    """
    header = {
        "ch_names": features.ch_names,
        "features": features.features,
        "n_windows": features.n_windows,
        "n_windows_kept": features.n_windows_kept,
        "seconds": features.seconds,
        "findings": [asdict(finding) for finding in features.findings],
    }
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    draft.touch(mode=0o600)  # rows of a patient, also where the folder keeps wider rights
    with draft.open("wb") as stream:
        np.savez(
            stream,
            header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8),
            sums=features.sums,
            counts=features.counts,
        )
        stream.flush()
        os.fsync(stream.fileno())
    draft.replace(file)


def read_features(file: Path) -> RecordingFeatures | None:
    """Read one recording's result back.

    Parameters
    ----------
    file : Path
        File in the cache folder.

    Returns
    -------
    RecordingFeatures or None
        None where the file is absent or damaged; the recording is then done again.
    """
    try:
        with np.load(file, allow_pickle=False) as stored:
            header = json.loads(stored["header"].tobytes())
            sums, counts = stored["sums"], stored["counts"]
        findings = tuple(QualityFinding(**finding) for finding in header["findings"])
        return RecordingFeatures(
            ch_names=tuple(header["ch_names"]), features=tuple(header["features"]),
            sums=sums, counts=counts, n_windows=header["n_windows"],
            n_windows_kept=header["n_windows_kept"], seconds=header["seconds"],
            findings=findings,
        )  # fmt: skip
    except (OSError, EOFError, KeyError, ValueError, TypeError, zipfile.BadZipFile):
        return None
