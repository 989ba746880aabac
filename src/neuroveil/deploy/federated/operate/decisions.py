"""What a hospital decided about every run, kept before the run starts."""

from __future__ import annotations

import datetime
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from neuroveil.errors import FederationError

FILE = "decisions.jsonl"


@dataclass(frozen=True)
class Decision:
    """One decision.

    Parameters
    ----------
    run_id : int
        Flower's number of the run.
    app : str
        Digest of the bundle that came; empty for one that could not be read.
    accepted : bool
        Whether the run may go on.
    reasons : list of str
        Why not.
    time : str
        When, in UTC.
    """

    run_id: int
    app: str
    accepted: bool
    reasons: list[str]
    time: str = ""


def read_decisions(folder: Path) -> list[Decision]:
    """Read all decisions of a hospital, oldest first.

    Parameters
    ----------
    folder : Path
        The hospital's folder.

    Returns
    -------
    list of Decision
        Empty where there were none.

    Raises
    ------
    FederationError
        If a line cannot be read.
    """
    try:
        lines = (folder / FILE).read_bytes().splitlines()
    except FileNotFoundError:
        return []
    try:
        return [Decision(**json.loads(line)) for line in lines]
    except (ValueError, TypeError, RecursionError):
        raise FederationError(
            FILE, "one decision a line", "a line that is none",
            "Move the file away and keep it: somebody has changed it, or the disk was full.",
        ) from None  # fmt: skip


def keep_decision(folder: Path, decision: Decision) -> None:
    """Keep a decision; it is on the disk when this returns.

    Parameters
    ----------
    folder : Path
        The hospital's folder.
    decision : Decision
        The decision; its time is set here.
    """
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    line = json.dumps({**asdict(decision), "time": now}) + "\n"
    number = os.open(folder / FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(number, line.encode())
        os.fsync(number)
    finally:
        os.close(number)
