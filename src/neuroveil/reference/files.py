"""Reference files: read with every check, write once, list what is built in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

from neuroveil.errors import StudyError, StudyMistake
from neuroveil.reference.checks import reference_from_json
from neuroveil.reference.model import PRESETS, Reference

LARGEST_FILE_BYTES = 20_000_000
"""No reference of the catalogue's features comes near this; it keeps a wrong file out."""

# A list of numbers over several lines; texts hold no line breaks in JSON, so none is touched.
_NUMBER_ROWS = re.compile(r"\[\n\s*(-?\d[^\[\]{}\"]*?)\n\s*\]")


def list_references() -> tuple[str, ...]:
    """List the references that come with neuroveil.

    Returns
    -------
    tuple of str
        Names with versions that :func:`load_reference` takes, sorted, for example
        ``"eegmat-rest7-harmonised v1"``.
    """
    return tuple(sorted(load_reference(path).title for path in _built_in()))


def default_reference(preset: str) -> Reference:
    """Give the built-in reference for a feature preset.

    Parameters
    ----------
    preset : {"harmonised", "paper"}
        The study's preset.

    Returns
    -------
    Reference
        The newest version.

    Raises
    ------
    StudyError
        If there is none for this preset.
    """
    if preset not in PRESETS:
        raise _mistake(
            "signal.preset", f"one of {', '.join(PRESETS)}", repr(preset), "Choose one of these."
        )
    return load_reference(f"eegmat-rest7-{preset}")


def load_reference(name_or_path: str | Path) -> Reference:
    """Read a reference and check every part of it.

    Parameters
    ----------
    name_or_path : str or path
        Name of a built-in reference, with or without its version (the newest is taken), or
        the path of a file that ends in ``.json``.

    Returns
    -------
    Reference
        The constants.

    Raises
    ------
    StudyError
        If there is no such reference, or the file is not a sound one; names all fields
        that are wrong.
    """
    path = Path(name_or_path)
    if path.suffix != ".json":
        path = _find_built_in(str(name_or_path))
    return reference_from_json(_parse(_read(path)))


def save_reference(reference: Reference, path: Path | str) -> None:
    """Write a reference to a file, once.

    Parameters
    ----------
    reference : Reference
        The constants.
    path : path
        A new file that ends in ``.json``.

    Raises
    ------
    StudyError
        If the reference could not be read again, for example because its name has blanks
        in it; or if the file exists and holds something else: the constants of a version
        never change, since certificates name them.
    """
    target = Path(path)
    content = reference_bytes(reference)
    reference_from_json(_parse(content))
    if target.suffix != ".json":
        raise _mistake("reference file", "a name that ends in .json", "another", "Rename it.")
    if target.exists():
        if target.read_bytes() != content:
            raise _mistake(
                "reference file", "a new file", "one that holds something else",
                "Give the reference a new version, and its file a new name.",
            )  # fmt: skip
        return
    unfinished = target.with_name(f".{target.name}.unfinished")
    unfinished.write_bytes(content)
    unfinished.replace(target)


def reference_bytes(reference: Reference) -> bytes:
    """Spell a reference as its file holds it.

    Parameters
    ----------
    reference : Reference
        The constants.

    Returns
    -------
    bytes
        JSON in UTF-8, one row of a matrix on a line, the same bytes for the same constants.
    """
    document = reference.to_json() | {"digest": reference.digest}
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    text = _NUMBER_ROWS.sub(lambda match: "[" + " ".join(match[1].split()) + "]", text)
    return (text + "\n").encode()


def _built_in() -> list[Path]:
    folder = Path(str(files("neuroveil.reference") / "data"))
    return sorted(folder.glob("*.json"))


def _find_built_in(name: str) -> Path:
    wanted = re.sub(r"[\s_-]+", "_", name.strip().lower())
    by_stem = {path.stem: path for path in _built_in()}
    versions = [
        (int(match[1]), path)
        for stem, path in by_stem.items()
        if (match := re.fullmatch(re.escape(wanted) + r"_v(\d+)", stem))
    ]
    if wanted in by_stem:
        return by_stem[wanted]
    if versions:
        return max(versions)[1]
    raise _mistake(
        "reference.name", f"one of {', '.join(list_references())}, or a .json file", repr(name),
        "Choose one of these, or build one with `neuroveil reference build`.",
    )  # fmt: skip


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE_BYTES + 1)
    except OSError as error:
        raise _mistake(
            "reference file", "a file that can be read", type(error).__name__,
            "Check the path in [reference], relative to the study file.",
        ) from None  # fmt: skip
    if len(content) > LARGEST_FILE_BYTES:
        raise _mistake(
            "reference file", f"at most {LARGEST_FILE_BYTES} bytes", "more",
            "Name a file that `neuroveil reference build` has written.",
        )  # fmt: skip
    return content


def _parse(content: bytes) -> Any:
    try:
        return json.loads(
            content.decode(), object_pairs_hook=_each_key_once, parse_constant=_no_constant
        )
    except (ValueError, RecursionError):
        raise _mistake(
            "reference file", "JSON with each key once and finite numbers", "something else",
            "Name a file that `neuroveil reference build` has written.",
        ) from None  # fmt: skip


def _each_key_once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    pairs = list(pairs)
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError("a key stands twice")
    return document


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _mistake(where: str, expected: str, found: str, remedy: str) -> StudyError:
    return StudyError([StudyMistake(where, expected, found, remedy)])
