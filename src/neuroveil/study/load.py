"""Read a study file and report all of its mistakes at once."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from neuroveil.errors import StudyError, StudyMistake
from neuroveil.study.model import Study
from neuroveil.study.section import Section, SectionMistakes, nearest

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
    document = _read_toml(file)
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


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise _single(
            "study file", "a study.toml", "no such file",
            "Write one with `neuroveil init`, or name the file.",
        ) from None  # fmt: skip
    except (OSError, UnicodeDecodeError) as error:
        raise _single(
            "study file", "a readable text file in UTF-8", type(error).__name__,
            "Check the file's rights and encoding.",
        ) from None  # fmt: skip
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _single(
            "study file", "valid TOML", _toml_complaint(error),
            "Correct that line; text needs quotation marks, numbers a dot.",
        ) from None  # fmt: skip


def _toml_complaint(error: tomllib.TOMLDecodeError) -> str:
    """Keep the place and the complaint of the TOML reader on one line."""
    return " ".join(str(error).split())


def _set_dotted(document: dict[str, Any], name: str, value: Any) -> None:
    section, _, field = name.partition(".")
    part = document.setdefault(section, {})
    if isinstance(part, dict):
        part[field] = value


def _validated(document: dict[str, Any], root: Path, overrides: tuple[str, ...]) -> Study:
    mistakes = [_unknown(key, ()) for key in _NOT_IN_THE_FILE if key in document]
    try:
        study = Study.model_validate({
            **{key: value for key, value in document.items() if key not in _NOT_IN_THE_FILE},
            "root": root,
            "overrides": overrides,
        })  # fmt: skip
    except ValidationError as error:
        for item in error.errors(include_url=False):
            mistakes.extend(_translate(item))
        raise StudyError(mistakes) from None
    if mistakes:
        raise StudyError(mistakes)
    return study


def _translate(item: Any) -> list[StudyMistake]:
    """Turn one pydantic error into mistakes with dotted paths and a remedy."""
    cause = item.get("ctx", {}).get("error")
    if isinstance(cause, SectionMistakes):
        return cause.mistakes
    location: tuple[str | int, ...] = tuple(item["loc"])
    where = _dotted(location)
    kind = item["type"]
    if kind == "extra_forbidden":
        return [_unknown(str(location[-1]), location[:-1])]
    if kind == "missing":
        return [StudyMistake(where, "a value", "nothing", "Add it; it has no default.")]
    if kind == "literal_error":
        expected = str(item["ctx"]["expected"])
        options = [part.strip(" '") for part in expected.replace(" or ", ",").split(",")]
        remedy = nearest(item["input"], options)
        return [StudyMistake(where, f"one of {expected}", _found(item["input"]), remedy)]
    return [StudyMistake(where, _expected(item), _found(item["input"]), "Correct the value.")]


def _expected(item: Any) -> str:
    message = str(item["msg"])
    for prefix in ("Input should be ", "Input should ", "Value error, "):
        message = message.removeprefix(prefix)
    return message


def _found(value: object) -> str:
    """Describe what was found; settings are public, but long text is not repeated."""
    if isinstance(value, bool | int | float):
        return json.dumps(value) if value == value else "nan"  # noqa: PLR0124
    if isinstance(value, str) and len(value) <= 40:
        return repr(value)
    return f"a value of type {type(value).__name__}"


def _unknown(key: str, parents: tuple[str | int, ...]) -> StudyMistake:
    names = [name for name in _field_names(parents) if name not in _NOT_IN_THE_FILE]
    where = _dotted((*parents, key))
    return StudyMistake(where, "a known setting", "an unknown name", nearest(key, names))


def _field_names(parents: tuple[str | int, ...]) -> list[str]:
    model: type[BaseModel] = Study
    for part in parents:
        if isinstance(part, int):
            continue
        annotation = model.model_fields[part].annotation
        candidates = [annotation, *getattr(annotation, "__args__", ())]
        sections = [c for c in candidates if isinstance(c, type) and issubclass(c, Section)]
        if not sections:
            return []
        model = sections[0]
    return list(model.model_fields)


def _dotted(location: tuple[str | int, ...]) -> str:
    return ".".join(str(part + 1) if isinstance(part, int) else part for part in location)


def _single(where: str, expected: str, found: str, remedy: str) -> StudyError:
    return StudyError([StudyMistake(where, expected, found, remedy)])
