"""The way to a server: from options and variables, and what they leave open from ``[server]``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuroveil.study import Study, load_study

_PATHS = ("key", "ca", "server_key", "encoded")


@dataclass(frozen=True)
class Way:
    """Where a server is, and with which files to go there; ``None`` where nobody has said it.

    Parameters
    ----------
    address : str, optional
        ``https://HOST:PORT``.
    key : Path, optional
        This hospital's key.
    ca : Path, optional
        Certificate of the server's own authority.
    server_key : Path, optional
        File with the server's public key.
    study : str, optional
        Name of the study on a trusted server.
    encoded : Path, optional
        Folder that ``neuroveil link encode`` wrote.
    with_label : bool
        Whether the label under ``[evaluation]`` goes with the rows.
    """

    address: str | None = None
    key: Path | None = None
    ca: Path | None = None
    server_key: Path | None = None
    study: str | None = None
    encoded: Path | None = None
    with_label: bool = False


def way_to_server(stated: Mapping[str, Any], study: Study | None) -> Way:
    """Put together what is known of the way to a server.

    Parameters
    ----------
    stated : mapping of str to value
        Fields of :class:`Way` by name, from options and variables; these come first.
    study : Study, optional
        Its section ``[server]`` says the rest; paths there are relative to its file.

    Returns
    -------
    Way
        Each field from the first place that states it.
    """
    found: dict[str, Any] = {}
    if study is not None and study.server is not None:
        found = study.server.model_dump(exclude_none=True)
        found |= {name: study.path(found[name]) for name in _PATHS if name in found}
    return Way(**found | {name: value for name, value in stated.items() if value is not None})


def study_beside(release: Path) -> Study | None:
    """Find the study file that a release folder belongs to.

    Parameters
    ----------
    release : Path
        A release folder.

    Returns
    -------
    Study or None
        From ``study.toml`` in the folder above, where that names ``release`` as its release
        folder; otherwise None.

    Raises
    ------
    StudyError
        With every mistake that was found in such a file.
    """
    place = release.resolve()
    file = place.parent / "study.toml"
    if not file.is_file():
        return None
    study = load_study(file)
    return study if study.path(study.output.release) == place else None
