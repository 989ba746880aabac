"""A hospital's own folder: its rows, the plan that it agreed to, and what it has answered.

Everything in it is private and readable by its owner only. The budget for the whole run is charged
when the folder is made, before the first round. Every answer is counted on disk before it is
computed: a coordinator that asks again, is killed, or lies about rounds gets no noise that was not
paid for.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neuroveil.deploy.federated.noise import NoiseTerms, noise_terms
from neuroveil.deploy.federated.plan import FederationPlan, read_plan, write_plan
from neuroveil.errors import FederationError
from neuroveil.evaluate.downstream.scores import Labels
from neuroveil.pipeline.cache import private_folder
from neuroveil.pipeline.internal_files import NOTICE, write_atomically, write_json
from neuroveil.types.recording import FloatArray

ROWS_FILE, SEAT_FILE, ANSWERS_FILE = "rows.npz", "seat.json", "answers.json"
FIGURES_FILE = "figures.json"
SEAT = "hospital folder"
"""What errors call the folder that a hospital answers from."""

PARTS = ("train", "validation", "test")


@dataclass(frozen=True, eq=False, repr=False)
class Part:
    """Patients that train, or that judge. Private.

    Parameters
    ----------
    inputs : ndarray of float64, shape (n, k)
        What the model is shown (no unit).
    labels : ndarray of bool, shape (n,)
        True for the positive class.
    """

    inputs: FloatArray
    labels: Labels


@dataclass(frozen=True, eq=False)
class Hospital:
    """A hospital that is ready to answer. Private.

    Parameters
    ----------
    folder : Path
        Its folder.
    name : str
        Its public name.
    plan : FederationPlan
        What it agreed to.
    noise : NoiseTerms or None
        Worked out at the hospital, from the plan.
    """

    folder: Path
    name: str
    plan: FederationPlan
    noise: NoiseTerms | None

    @property
    def n_patients(self) -> int:
        """Patients that train; public."""
        return self.plan.seat(self.name).n_patients

    def part(self, name: str) -> Part:
        """Read rows.

        Parameters
        ----------
        name : {"train", "validation", "test"}
            Which ones.

        Returns
        -------
        Part
            Private.

        Raises
        ------
        FederationError
            If they cannot be read.
        """
        try:
            with np.load(self.folder / ROWS_FILE, allow_pickle=False) as file:
                return Part(file[f"{name}_inputs"], file[f"{name}_labels"])
        except (OSError, EOFError, KeyError, ValueError):
            raise FederationError(
                "hospital folder", "the rows that it was made with", "none that can be read",
                "Make the folder anew with `neuroveil federate`.",
            ) from None  # fmt: skip

    def count_answer(self, attempt: int) -> None:
        """Count an answer before it is computed; refuse one that was given or not paid for.

        Parameters
        ----------
        attempt : int
            The coordinator's number of this exchange, rising from 1.

        Raises
        ------
        FederationError
            If the exchange was answered before, or all that was charged is used up.
        """
        with _alone(self.folder):
            self._check_unanswered(attempt)
            write_json(self.folder / ANSWERS_FILE, {"notice": NOTICE, "last": attempt})
            _flush(self.folder / ANSWERS_FILE)
            _flush(self.folder)

    def _check_unanswered(self, attempt: int) -> None:
        last = last_answer(self.folder)
        if attempt <= last:
            raise FederationError(
                "training message", f"an exchange after number {last}", f"number {attempt}",
                "An answer is given once: a second one would be noise that nobody paid for.",
            )  # fmt: skip
        if attempt > self.plan.training.attempts:
            raise FederationError(
                "training message", f"at most {self.plan.training.attempts} exchanges",
                f"number {attempt}", "The budget that was charged is used up: make a new plan.",
            )  # fmt: skip


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold a folder: several runs may ask at once, each in a process of its own."""
    import fcntl

    number = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(number, fcntl.LOCK_EX)
        yield
    finally:
        os.close(number)


def _flush(place: Path) -> None:
    """See that a file or folder is on the disk: an answer must not outlive its count."""
    number = os.open(place, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def last_answer(folder: Path) -> int:
    """Give the number of the last exchange that a hospital answered.

    Parameters
    ----------
    folder : Path
        The hospital's folder.

    Returns
    -------
    int
        0 where it has answered none.

    Raises
    ------
    FederationError
        If the count cannot be read: it must not start anew.
    """
    file = folder / ANSWERS_FILE
    try:
        return int(json.loads(file.read_bytes())["last"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise FederationError(
            "hospital folder", f"a count of answers in {ANSWERS_FILE}", "none that can be read",
            "Join anew, which is charged anew: an older copy could let answers be given twice.",
        ) from None  # fmt: skip


def write_hospital(
    folder: Path,
    plan: FederationPlan,
    name: str,
    parts: Mapping[str, Part],
    paid: Mapping[str, Any],
) -> Hospital:
    """Write the folder that a hospital answers from.

    Parameters
    ----------
    folder : Path
        Made where it does not exist; one that answers for another plan is refused.
    plan : FederationPlan
        What was agreed.
    name : str
        Public name of the hospital.
    parts : mapping of str to Part
        Rows that train and, where there are any, that judge. Private.
    paid : mapping
        What paid for the run: the ledger's entry, the release, or that it is a simulation.

    Returns
    -------
    Hospital
        Ready to answer.

    Raises
    ------
    FederationError
        If the rows do not fit the plan, or the folder is in use.
    """
    check_parts(plan, name, parts)
    if (folder / ANSWERS_FILE).exists():
        raise FederationError(
            "hospital folder", "one that has not answered yet", "one in use",
            "Every run has a folder of its own: rows and the count of answers belong together.",
        )  # fmt: skip
    private_folder(folder, SEAT)
    noise = noise_terms(plan)
    arrays: dict[str, Any] = {}
    empty = Part(np.zeros((0, plan.inputs.components)), np.zeros(0, dtype=bool))
    for each in PARTS:
        part = parts.get(each, empty)
        arrays |= {f"{each}_inputs": part.inputs, f"{each}_labels": part.labels}
    write_atomically(folder / ROWS_FILE, lambda draft: _save(draft, arrays))
    write_plan(plan, folder)
    write_json(folder / SEAT_FILE, {
        "notice": NOTICE, "name": name, "plan_digest": plan.digest, "paid": dict(paid),
        "noise": None if noise is None else asdict(noise),
    })  # fmt: skip
    write_json(folder / ANSWERS_FILE, {"notice": NOTICE, "last": 0})
    return Hospital(folder, name, plan, noise)


def _save(file: Path, arrays: Mapping[str, Any]) -> None:
    with file.open("wb") as stream:  # by name numpy would add a suffix
        np.savez(stream, **arrays)


def check_parts(plan: FederationPlan, name: str, parts: Mapping[str, Part]) -> None:
    """Refuse rows that a hospital cannot train on; to be asked before anything is charged.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed.
    name : str
        Public name of the hospital.
    parts : mapping of str to Part
        Rows that train and, where there are any, that judge. Private.

    Raises
    ------
    FederationError
        If they do not fit the plan, or nobody trains.
    """
    seat = plan.seat(name)
    trained = sum(parts[each].labels.size for each in ("train", "validation") if each in parts)
    for part in parts.values():
        shape = (part.labels.size, plan.inputs.components)
        if part.inputs.shape != shape or not bool(np.isfinite(part.inputs).all()):
            raise FederationError(
                "rows", f"finite numbers of shape {shape}", f"shape {part.inputs.shape}",
                "Make inputs with the plan's components.",
            )  # fmt: skip
    # A patient without a label counts and adds nothing, so there may be fewer rows than patients.
    if not 1 <= trained <= seat.n_patients:
        raise FederationError(
            "rows", f"at most {seat.n_patients} patients that train, and at least one", "others",
            "Write the number of patients on the roster into the plan.",
        )  # fmt: skip


def open_hospital(folder: Path) -> Hospital:
    """Open the folder that a hospital answers from.

    Parameters
    ----------
    folder : Path
        From :func:`write_hospital`.

    Returns
    -------
    Hospital
        Ready to answer.

    Raises
    ------
    FederationError
        If it is none, or its plan was exchanged.
    """
    plan = read_plan(folder)
    try:
        seat = json.loads((folder / SEAT_FILE).read_bytes())
        noise = None if seat["noise"] is None else NoiseTerms(**seat["noise"])
        name, agreed = str(seat["name"]), str(seat["plan_digest"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise FederationError(
            "hospital folder", f"a file {SEAT_FILE}", "none that can be read",
            "Make the folder with `neuroveil federate`.",
        ) from None  # fmt: skip
    if agreed != plan.digest:
        raise FederationError(
            "hospital folder", "the plan that the hospital agreed to", "another one",
            "A changed plan needs a new folder, and is charged anew.",
        )  # fmt: skip
    return Hospital(folder, name, plan, noise)
