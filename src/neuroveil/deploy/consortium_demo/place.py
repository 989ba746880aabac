"""Folders, keys and a server for the demonstration; nobody in it exists."""

from __future__ import annotations

import csv
import os
import secrets
import shutil
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from neuroveil.deploy.server.database import Database
from neuroveil.deploy.server.hospitals import add_hospital
from neuroveil.deploy.server.people import Role, add_person
from neuroveil.deploy.server.setup import create_server, terms_of
from neuroveil.errors import StudyError, StudyMistake
from neuroveil.keys import create_key
from neuroveil.simulate import CohortSpec, simulate_cohort
from neuroveil.study import load_study

HOSPITALS = ("North", "South", "West")
STUDY = "demonstration"
COHORT = CohortSpec(n_patients=26, n_hospitals=3, n_sessions=1, seconds=12.0, n_in_two_hospitals=2)

_DECIDES: dict[str, tuple[Role, str | None]] = {
    **{f"{name} administrator": ("site_administrator", name) for name in HOSPITALS},
    "investigator": ("principal_investigator", None),
    "reviewer": ("reviewer", None),
    "auditor": ("auditor", None),
}
_STUDY_FILE = """\
# One hospital's study of the demonstration: made-up patients, real EDF+ files.
[input]
layout = "bids"
folder = "cohort"
population = "adults"
"""
_SCHEMA = f"""\
name = "{STUDY}"
[identifier]
column = "number"
scheme = "project"
pattern = "[0-9]{{6}}"
"""
_HOST = "127.0.0.1"


@dataclass(frozen=True)
class Place:
    """Where everything of the demonstration lies.

    Parameters
    ----------
    root : Path
        The folder of all.
    port : int
        Where the server listens.
    passphrase : str
        Of the linkage key, made up for this run.
    """

    root: Path
    port: int
    passphrase: str

    @property
    def server(self) -> Path:
        """The server's folder."""
        return self.root / "server"

    @property
    def server_key(self) -> Path:
        """The key that receipts are checked with."""
        return self.root / "server.pub"

    def way(self, who: str) -> list[str]:
        """Give the arguments that say where the server is, and who asks.

        Parameters
        ----------
        who : str
            A hospital or a person.

        Returns
        -------
        list of str
            For the command line.
        """
        key, authority = self.root / f"{who}.key", self.server / "ca.pem"
        return ["--to", f"https://{_HOST}:{self.port}", "--key", str(key), "--ca", str(authority)]

    def environment(self, **more: str) -> dict[str, str]:
        """Give the environment of a process.

        Parameters
        ----------
        **more : str
            Further variables.

        Returns
        -------
        dict of str to str
            This process's own, without its proxies and without settings of neuroveil.
        """
        proxies = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY", "NEUROVEIL_")
        usual = {
            name: value
            for name, value in os.environ.items()
            if not name.upper().startswith(proxies)
        }
        return {**usual, "OMP_NUM_THREADS": "1", **more}


def make_place(root: Path, epsilon: float, say: Callable[[str], None]) -> Place:
    """Make three hospitals with patients, a server that knows them, and everybody's keys.

    Parameters
    ----------
    root : Path
        A new folder.
    epsilon : float
        Budget of the server.
    say : callable
        Told what is being done.

    Returns
    -------
    Place
        Ready; nothing runs yet.

    Raises
    ------
    StudyError
        If the folder is in use.
    """
    if root.exists() and any(root.iterdir()):
        raise StudyError([StudyMistake(
            "demo folder", "a new folder", "one with files in it",
            "Name another folder, or remove this one.",
        )])  # fmt: skip
    say(f"Simulating {COHORT.n_patients} records of "
        f"{COHORT.n_patients - COHORT.n_in_two_hospitals} people in three hospitals.")  # fmt: skip
    simulate_cohort(root / "all", COHORT)
    _divide(root)
    say("Making a server with a private authority of its own, and everybody's keys.")
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        place = Place(root, int(probe.getsockname()[1]), secrets.token_urlsafe(16))
    _make_server(place, epsilon)
    return place


def _divide(root: Path) -> None:
    """Give every hospital its patients; the last rows are the first people once more."""
    with (root / "all" / "participants.tsv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    numbers = [f"{100000 + row}" for row in range(len(rows))]
    numbers[-COHORT.n_in_two_hospitals :] = numbers[: COHORT.n_in_two_hospitals]
    for place, name in enumerate(HOSPITALS, start=1):
        folder = root / name
        (folder / "cohort").mkdir(parents=True)
        own = [
            (row, number)
            for row, number in zip(rows, numbers, strict=True)
            if row["hospital"] == f"hospital-{place}"
        ]
        for row, _ in own:
            source = root / "all" / row["participant_id"]
            source.rename(folder / "cohort" / source.name)
        _write(folder / "cohort" / "participants.tsv", [list(rows[0])], "\t")
        _write(folder / "cohort" / "participants.tsv", [list(row.values()) for row, _ in own], "\t")
        patients = [[row["participant_id"], number] for row, number in own]
        _write(folder / "list.csv", [["patient", "number"], *patients], ",")
        (folder / "study.toml").write_text(_STUDY_FILE, encoding="utf-8")
    (root / "linkage.toml").write_text(_SCHEMA, encoding="utf-8")
    shutil.rmtree(root / "all")


def _write(file: Path, rows: list[list[str]], delimiter: str) -> None:
    with file.open("a", encoding="utf-8", newline="") as stream:
        csv.writer(stream, delimiter=delimiter, lineterminator="\n").writerows(rows)


def _make_server(place: Place, epsilon: float) -> None:
    terms = terms_of(load_study(place.root / HOSPITALS[0] / "study.toml"), STUDY)
    made = create_server(
        place.server, terms, (_HOST,), {"host": _HOST, "port": place.port},
        {"epsilon": epsilon, "delta": 1e-4},
    )  # fmt: skip
    place.server_key.write_text(made.public_key, encoding="ascii")
    database = Database(made.settings.database_location)
    for name in HOSPITALS:
        add_hospital(database, name, create_key(place.root / f"{name}.key").public_key)
    for name, (role, hospital) in _DECIDES.items():
        key = create_key(place.root / f"{name}.key")
        add_person(database, name, role, key.public_key, hospital)
