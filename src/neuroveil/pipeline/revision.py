"""The source revision that a certificate names."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

_SECONDS = 5


@cache
def source_revision() -> str | None:
    """Find the git revision of a source checkout.

    Returns
    -------
    str or None
        Hexadecimal revision, or None for an installed package, a changed checkout, or
        where git is absent.
    """
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists() or not (root / "pyproject.toml").is_file():
        return None
    changed = _git(root, "status", "--porcelain", "--", "src")
    revision = _git(root, "rev-parse", "HEAD")
    if changed != "" or revision is None or not re.fullmatch("[0-9a-f]{7,64}", revision):
        return None
    return revision


def _git(root: Path, *arguments: str) -> str | None:
    try:
        answer = subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, text=True, check=True,
            timeout=_SECONDS,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()
