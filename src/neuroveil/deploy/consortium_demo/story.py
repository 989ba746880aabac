"""The demonstration from a proposal to a published release; every step is a command."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuroveil.deploy.consortium_demo.line import BreakingLine
from neuroveil.deploy.consortium_demo.place import HOSPITALS, STUDY, Place, make_place
from neuroveil.errors import MachineError

Say = Callable[[str], None]

_SECONDS_FOR_A_STEP = 300.0
_SECONDS_TO_START = 120.0
_BYTES_BEFORE_THE_BREAK = 30_000


@dataclass(frozen=True)
class ConsortiumResult:
    """What came of the demonstration.

    Parameters
    ----------
    release : Path
        The published release, as a hospital has fetched it.
    verdict : str
        Its guarantee in one sentence.
    verified : bool
        Whether ``neuroveil verify`` accepts it.
    n_records, n_patients : int
        Rows that were sent, and people that they are about.
    n_audit_entries : int
        Entries of the audit log; its chain was checked.
    seconds : float
        How long all of it took.
    """

    release: Path
    verdict: str
    verified: bool
    n_records: int
    n_patients: int
    n_audit_entries: int
    seconds: float


def run_consortium_demo(root: Path, epsilon: float, say: Say) -> ConsortiumResult:
    """Let three hospitals send their rows to a server, one of them in two attempts.

    Parameters
    ----------
    root : Path
        A new folder.
    epsilon : float
        Budget of the server, and epsilon of the release.
    say : callable
        Told what is being done, in plain words.

    Returns
    -------
    ConsortiumResult
        Figures and where the release is.

    Raises
    ------
    StudyError
        If the folder is in use.
    MachineError
        If a step fails or takes too long.
    """
    start = time.monotonic()
    place = make_place(root, epsilon, say)
    with _server(place), ThreadPoolExecutor(len(HOSPITALS)) as together:
        say("The investigator proposes a study; each hospital's administrator approves it.")
        study = place.root / HOSPITALS[0] / "study.toml"
        sites = [word for name in HOSPITALS for word in ("--hospital", name)]
        title = ["--title", "A look at a consortium"]
        _act(place, "investigator", "propose", STUDY, "--study-file", str(study), *title, *sites)
        list(together.map(lambda name: _act(place, f"{name} administrator", "approve", STUDY),
                          HOSPITALS))  # fmt: skip
        say("The hospitals extract features and encode their patients, all at once.")
        _run(place, "link", "keygen", str(place.root / "linkage.keystore"))
        list(together.map(lambda name: _prepare(place, name), HOSPITALS))
        say("They send their rosters: GlobalIDs, and no feature yet.")
        list(together.map(lambda name: _run(place, *_rows(place, name, "roster")), HOSPITALS))
        linked = _act(place, "auditor", "status", STUDY)["linked"]
        n_twice = linked["n_records"] - linked["n_patients"]
        say(f"The server has found {n_twice} people in two hospitals.")
        _send_rows(place, together, say)
        say("The investigator asks for a release, and a reviewer, who is somebody else, agrees.")
        _act(place, "investigator", "request", STUDY, "--epsilon", f"{epsilon:g}")
        _act(place, "reviewer", "review", STUDY, "--approve")
        _wait_until_published(place)
        say("Published, and the rows are deleted. A hospital fetches the release and verifies it.")
        release = place.root / "release"
        known = ["--server-key", str(place.server_key)]
        _act(place, HOSPITALS[0], "fetch", STUDY, "--out", str(release), *known)
        audit = place.root / "audit-log.json"
        log = _act(place, "auditor", "audit-log", "--out", str(audit), *known)
    verified = _run(place, "verify", str(release), may_fail=True)
    return ConsortiumResult(
        release=release, verdict=json.loads((release / "certificate.json").read_text())["verdict"],
        verified=verified.get("outcome") == "holds", n_records=linked["n_records"],
        n_patients=linked["n_patients"], n_audit_entries=log["entries"],
        seconds=time.monotonic() - start,
    )  # fmt: skip


def _prepare(place: Place, name: str) -> None:
    folder = place.root / name
    _run(place, "extract", str(folder / "study.toml"), "--workers", "1")
    _run(place, "link", "encode", str(folder / "list.csv"), "--schema",
         str(place.root / "linkage.toml"), "--key", str(place.root / "linkage.keystore"),
         "--out", str(folder / "encoded"))  # fmt: skip


def _send_rows(place: Place, together: ThreadPoolExecutor, say: Say) -> None:
    """All hospitals send at once; the last one is killed while a chunk is on its way."""
    *others, unlucky = HOSPITALS
    say(f"They send their rows under pseudonyms. The line of {unlucky} breaks, and its process "
        f"is killed.")  # fmt: skip
    sent = [together.submit(_run, place, *_rows(place, name, "features")) for name in others]
    line = BreakingLine(_BYTES_BEFORE_THE_BREAK)
    line.start()
    process = subprocess.Popen(
        _words(_rows(place, unlucky, "features")), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env=place.environment(https_proxy=line.url),
    )  # fmt: skip
    try:
        is_broken = line.is_broken.wait(_SECONDS_FOR_A_STEP)
    finally:
        process.kill()
        process.wait()
        line.close()
    if not is_broken:
        raise _failed("an upload", "one that never began")
    for each in sent:
        each.result()
    say(f"{unlucky} runs the same command again.")
    _run(place, *_rows(place, unlucky, "features"))


def _wait_until_published(place: Place) -> None:
    end = time.monotonic() + _SECONDS_FOR_A_STEP
    while time.monotonic() < end:
        status = _act(place, "auditor", "status", STUDY)
        if status["state"] == "published" and not status["holds_rows"]:
            return
        if any(each["state"] == "failed" for each in status["releases"]):
            break
        time.sleep(0.5)
    raise _failed("a release", "none")


def _rows(place: Place, name: str, kind: str) -> list[str]:
    folder = place.root / name
    return ["submit", str(folder / "study.toml"), "--rows", kind, "--study", STUDY, "--encoded",
            str(folder / "encoded"), *place.way(name), "--server-key",
            str(place.server_key)]  # fmt: skip


def _act(place: Place, who: str, *words: str) -> dict[str, Any]:
    return _run(place, "consortium", *words, *place.way(who))


def _run(place: Place, *words: str, may_fail: bool = False) -> dict[str, Any]:
    """Run one command as a process of its own, and give its JSON."""
    # Only those who encode patients need the linkage key.
    secret = {"NEUROVEIL_KEY_PASSPHRASE": place.passphrase} if words[0] == "link" else {}
    try:
        done = subprocess.run(
            _words(list(words)), capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL, env=place.environment(**secret), timeout=_SECONDS_FOR_A_STEP,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise _failed(f"`neuroveil {words[0]}` to end", "one that does not") from None
    if done.returncode != 0 and not may_fail:
        said = " ".join(done.stderr.split())[-500:]
        raise _failed(f"`neuroveil {words[0]}` to succeed", f"exit code {done.returncode}: {said}")
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def _words(words: list[str]) -> list[str]:
    return [sys.executable, "-m", "neuroveil", *words, "--json"]


@contextmanager
def _server(place: Place) -> Iterator[None]:
    """Run the server while a block runs; its log lies beside its folder."""
    command = [sys.executable, "-m", "neuroveil", "serve", "run", str(place.server)]
    with (place.root / "server.log").open("ab") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=place.environment()
        )
    try:
        end = time.monotonic() + _SECONDS_TO_START
        while process.poll() is None and time.monotonic() < end:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", place.port)) == 0:
                    break
            time.sleep(0.05)
        else:
            raise _failed("a server that starts", "one that does not; see server.log")
        yield
    finally:
        process.terminate()
        try:
            process.wait(_SECONDS_TO_START)
        except subprocess.TimeoutExpired:
            process.kill()


def _failed(expected: str, found: str) -> MachineError:
    return MachineError(
        "demonstration", expected, found,
        "Look at server.log in the demonstration's folder, and try again in a new folder.",
    )  # fmt: skip
