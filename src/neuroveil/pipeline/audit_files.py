"""Files of an audit: attacks that are done, so that a long run goes on, and the pages."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from neuroveil.pipeline.cache import private_folder
from neuroveil.pipeline.internal_files import write_json, write_text
from neuroveil.types.audit import AttackResult, AuditCurve, AuditFigure

UNFINISHED = "unfinished.json"
RESULTS = "audit.json"
NOTICE = "Internal: results of attacks. Not for publication."


def settings_key(settings: Mapping[str, Any]) -> str:
    """Name what is audited and how, so that results of another audit are not taken up.

    Parameters
    ----------
    settings : mapping
        Plain data.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    text = json.dumps(settings, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


class AuditFolder:
    """Where an audit writes: a folder that only its owner can open.

    Parameters
    ----------
    folder : Path
        Made where it does not exist.
    key : str
        From :func:`settings_key`.
    """

    def __init__(self, folder: Path, key: str) -> None:
        self.folder = private_folder(folder)
        self._key = key

    def done(self) -> dict[str, AttackResult]:
        """Give the attacks of an interrupted run with the same settings.

        Returns
        -------
        dict of str to AttackResult
            By name of the attack; empty where there is no such run.
        """
        try:
            document = json.loads((self.folder / UNFINISHED).read_text(encoding="utf-8"))
            if document["key"] != self._key:
                return {}
            return {name: result_from_json(each) for name, each in document["results"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}

    def keep(self, results: Mapping[str, AttackResult]) -> None:
        """Keep the attacks that are done.

        Parameters
        ----------
        results : mapping of str to AttackResult
            By name of the attack.
        """
        plain = {name: each.to_json() for name, each in results.items()}
        write_json(self.folder / UNFINISHED, {"notice": NOTICE, "key": self._key, "results": plain})

    def finish(self, document: Mapping[str, Any], pages: Mapping[str, str]) -> None:
        """Write results and pages in place of earlier ones, and end the unfinished run.

        Parameters
        ----------
        document : mapping
            Plain data.
        pages : mapping of str to str
            HTML by file name.
        """
        for name in self._earlier_pages() - set(pages):
            (self.folder / name).unlink(missing_ok=True)
        for name, page in pages.items():
            write_text(self.folder / name, page)
        write_json(self.folder / RESULTS, {"notice": NOTICE, **document, "pages": list(pages)})
        (self.folder / UNFINISHED).unlink(missing_ok=True)

    def _earlier_pages(self) -> set[str]:
        """Pages of an earlier audit in this folder; they would seem to belong to this one."""
        try:
            document = json.loads((self.folder / RESULTS).read_text(encoding="utf-8"))
            return {name for name in document["pages"] if Path(name).name == name}
        except (OSError, ValueError, KeyError, TypeError):
            return set()


def result_from_json(document: Mapping[str, Any]) -> AttackResult:
    """Read one result back, with the open ends of its intervals.

    Parameters
    ----------
    document : mapping
        As of :meth:`~neuroveil.types.audit.AttackResult.to_json`.

    Returns
    -------
    AttackResult
        The same result. What JSON could not hold becomes infinite at the ends of intervals,
        and not a number elsewhere.

    Raises
    ------
    KeyError, TypeError
        If it is no such document.
    """
    plain = {name: value for name, value in document.items() if name != "internal"}
    plain["figures"] = tuple(_figure(each) for each in document["figures"])
    plain["curves"] = tuple(_curve(each) for each in document["curves"])
    plain["limits"] = tuple(document["limits"])
    return AttackResult(**plain)


def _figure(document: Mapping[str, Any]) -> AuditFigure:
    known = {
        "value": _number(document["value"], math.nan),
        "low": _number(document["low"], -math.inf),
        "high": _number(document["high"], math.inf),
    }
    return AuditFigure(**{**document, **known})


def _curve(document: Mapping[str, Any]) -> AuditCurve:
    series = {
        name: tuple(_number(value, math.nan) for value in document[name])
        for name in ("x", "y", "low", "high", "control")
    }
    return AuditCurve(**{**document, **series})


def _number(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value
