"""Read a study file and report all of its mistakes at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from neuroveil.errors import StudyError
from neuroveil.study.model import Study
from neuroveil.study.validation import read_toml, unknown_setting, validated

_NOT_IN_THE_FILE = ("root", "overrides")


def load_study(path: Path | str, overrides: Mapping[str, Any] | None = None) -> Study:
    """Load and check a study file.

    Parameters
    ----------
    path : path or str
        The TOML file, or a folder that holds a ``study.toml``.
    overrides : mapping of str to value, optional
        Settings by dotted name that replace the file's, for example
        ``{"privacy.epsilon": 1.0}``. They are recorded in ``Study.overrides``.

    Returns
    -------
    Study
        The checked settings; paths are relative to the file's folder.

    Raises
    ------
    StudyError
        With every mistake that was found, each with its dotted path.
    """
    path = Path(path)
    file = path / "study.toml" if path.is_dir() else path
    document = read_toml(file, "study file", "Write one with `neuroveil init`, or name the file.")
    for name, value in (overrides or {}).items():
        _set_dotted(document, name, value)
    return _validated(document, file.parent, tuple(overrides or ()))


def study_for_bids(root: Path, out: Path, overrides: Mapping[str, Any] | None = None) -> Study:
    """Make the default study of a BIDS folder, for a BIDS-App style call.

    Parameters
    ----------
    root : Path
        BIDS folder with a ``participants.tsv``. Nothing is written into it.
    out : Path
        Folder for all output: ``internal``, ``release`` and the ledger.
    overrides : mapping of str to value, optional
        Settings by dotted name.

    Returns
    -------
    Study
        The checked settings; paths are relative to ``out``.

    Raises
    ------
    StudyError
        With every mistake that was found.
    """
    document: dict[str, Any] = {"input": {"layout": "bids", "folder": str(root.resolve())}}
    for name, value in (overrides or {}).items():
        _set_dotted(document, name, value)
    return _validated(document, out, tuple(overrides or ()))


def dump_study(study: Study) -> str:
    """Write a study back as TOML, with every default spelled out.

    Parameters
    ----------
    study : Study
        Checked settings.

    Returns
    -------
    str
        TOML text that :func:`load_study` reads to the same study.
    """
    import tomli_w

    return tomli_w.dumps(study.model_dump(mode="json", exclude_none=True))


def study_json_schema() -> dict[str, Any]:
    """Describe the study file as a JSON Schema, for editors.

    Returns
    -------
    dict
        A JSON Schema (draft 2020-12).
    """
    schema = Study.model_json_schema()
    for private in _NOT_IN_THE_FILE:
        schema["properties"].pop(private, None)
    return schema


def _set_dotted(document: dict[str, Any], name: str, value: Any) -> None:
    section, _, field = name.partition(".")
    part = document.setdefault(section, {})
    if isinstance(part, dict):
        part[field] = value


def _validated(document: dict[str, Any], root: Path, overrides: tuple[str, ...]) -> Study:
    mistakes = [
        unknown_setting(key, (), Study, _NOT_IN_THE_FILE)
        for key in _NOT_IN_THE_FILE
        if key in document
    ]
    stated = {key: value for key, value in document.items() if key not in _NOT_IN_THE_FILE}
    try:
        study = validated(
            Study, {**stated, "root": root, "overrides": overrides}, hidden=_NOT_IN_THE_FILE
        )
    except StudyError as error:
        raise StudyError([*mistakes, *error.mistakes]) from None
    if mistakes:
        raise StudyError(mistakes)
    return study
