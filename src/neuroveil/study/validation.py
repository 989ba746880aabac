"""Check settings files against a model and report all of their mistakes at once."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from neuroveil.errors import StudyError, StudyMistake
from neuroveil.study.section import Section, SectionMistakes, nearest

Model = TypeVar("Model", bound=BaseModel)


def read_toml(file: Path, role: str, remedy: str) -> dict[str, Any]:
    """Read a TOML file.

    Parameters
    ----------
    file : Path
        The file, in UTF-8.
    role : str
        What it is, for errors.
    remedy : str
        What to do where it is missing.

    Returns
    -------
    dict
        The document, unchecked.

    Raises
    ------
    StudyError
        If the file cannot be read, or is no TOML.
    """
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise _single(role, "a TOML file", "no such file", remedy) from None
    except (OSError, UnicodeDecodeError) as error:
        raise _single(
            role, "a readable text file in UTF-8", type(error).__name__,
            "Check the file's rights and encoding.",
        ) from None  # fmt: skip
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also numbers and brackets without an end
        raise _single(
            role, "valid TOML", _toml_complaint(error),
            "Correct that line; text needs quotation marks, numbers a dot.",
        ) from None  # fmt: skip


def validated(
    model: type[Model], document: Mapping[str, Any], hidden: tuple[str, ...] = ()
) -> Model:
    """Check a document against a model.

    Parameters
    ----------
    model : type
        A pydantic model, whose parts are sections.
    document : mapping
        Settings as plain data.
    hidden : tuple of str
        Fields that are not settings, and so are not suggested.

    Returns
    -------
    Model
        Checked settings.

    Raises
    ------
    StudyError
        With every mistake that was found, each with its dotted path.
    """
    try:
        return model.model_validate(dict(document))
    except ValidationError as error:
        mistakes: list[StudyMistake] = []
        for item in error.errors(include_url=False):
            mistakes.extend(_translate(item, model, hidden))
        raise StudyError(mistakes) from None


def unknown_setting(
    key: str, parents: tuple[str | int, ...], model: type[BaseModel], hidden: tuple[str, ...]
) -> StudyMistake:
    """Say that a setting does not exist, and which one was probably meant.

    Parameters
    ----------
    key : str
        The unknown name.
    parents : tuple of str or int
        Where it stands.
    model : type
        The model of the whole document.
    hidden : tuple of str
        Fields that are not suggested.

    Returns
    -------
    StudyMistake
        With its dotted path.
    """
    names = [name for name in _field_names(parents, model) if name not in hidden]
    where = _dotted((*parents, key))
    return StudyMistake(where, "a known setting", "an unknown name", nearest(key, names))


def _translate(item: Any, model: type[BaseModel], hidden: tuple[str, ...]) -> list[StudyMistake]:
    """Turn one pydantic error into mistakes with dotted paths and a remedy."""
    cause = item.get("ctx", {}).get("error")
    if isinstance(cause, SectionMistakes):
        return cause.mistakes
    location: tuple[str | int, ...] = tuple(item["loc"])
    where = _dotted(location)
    kind = item["type"]
    if kind == "extra_forbidden":
        return [unknown_setting(str(location[-1]), location[:-1], model, hidden)]
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


def _field_names(parents: tuple[str | int, ...], model: type[BaseModel]) -> list[str]:
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


def _toml_complaint(error: Exception) -> str:
    """Keep the place and the complaint of the TOML reader on one line."""
    if not isinstance(error, tomllib.TOMLDecodeError):
        return type(error).__name__
    return " ".join(str(error).split())


def _single(where: str, expected: str, found: str, remedy: str) -> StudyError:
    return StudyError([StudyMistake(where, expected, found, remedy)])
