"""The coordinator's state on disk: the model, and what happened in every round.

Everything here is public to the hospitals: protected updates, numbers of patients, names.
The number of an exchange is written before anybody is asked, so that a coordinator that is killed
never uses it twice: hospitals would refuse.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from neuroveil.deploy.federated.flower import require
from neuroveil.deploy.federated.models import Arrays, check_arrays, initial_arrays
from neuroveil.deploy.federated.plan import FederationPlan
from neuroveil.errors import FederationError
from neuroveil.pipeline.internal_files import write_atomically, write_json
from neuroveil.types.certificate import canonical_json, digest

ROUNDS_FILE = "rounds.json"
MODEL_FILE = "model.safetensors"

_DAMAGED = (
    OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError
)  # fmt: skip
"""What a file raises that is no JSON, or JSON of another form."""


@dataclass(frozen=True)
class RoundRecord:
    """What happened in a round that counted.

    Parameters
    ----------
    round, attempt : int
        Number of the round, and of the exchange that it was.
    hospitals_in : tuple of str
        Whose updates are in the model.
    hospitals_out : mapping of str to str
        Why the others' are not.
    loss : float or None
        Mean logistic loss on patients who judge (nat), where it may be known.
    seconds : float
        Time from the first message to the new model, in seconds.
    bytes_sent, bytes_received : int
        Content of all messages, by the coordinator, in bytes.
    """

    round: int
    attempt: int
    hospitals_in: tuple[str, ...]
    hospitals_out: Mapping[str, str]
    loss: float | None
    seconds: float
    bytes_sent: int
    bytes_received: int


@dataclass(frozen=True, eq=False)
class RunState:
    """Where a run stands.

    Parameters
    ----------
    arrays : dict of str to ndarray of float64, in the shapes of the plan
        The common model.
    attempts : int
        Exchanges that were begun.
    rounds : tuple of RoundRecord
        Rounds that counted.
    best_round : int
        Round whose model is kept, where validation chooses; otherwise the last.
    best_arrays : dict of str to ndarray of float64, optional
        That model, where it is not the last.
    """

    arrays: Arrays
    attempts: int = 0
    rounds: tuple[RoundRecord, ...] = ()
    best_round: int = 0
    best_arrays: Arrays | None = field(default=None)

    @property
    def final(self) -> Arrays:
        """The model that the run gives."""
        return self.arrays if self.best_arrays is None else self.best_arrays

    def begun(self) -> RunState:
        """Count one more exchange.

        Returns
        -------
        RunState
            With the same model.
        """
        return replace(self, attempts=self.attempts + 1)


def to_bytes(arrays: Arrays, metadata: Mapping[str, str]) -> bytes:
    """Write parameters as safetensors: numbers and names, and no code.

    Parameters
    ----------
    arrays : dict of str to ndarray of float64, in the shapes of the plan
        Parameters.
    metadata : mapping of str to str
        Goes along.

    Returns
    -------
    bytes
        Content of a ``.safetensors`` file.
    """
    (numpy_format,) = require("safetensors.numpy")
    # One entry: the format writes several in an order that differs from run to run.
    about = {"neuroveil": canonical_json(dict(metadata)).decode()}
    content: bytes = numpy_format.save(dict(arrays), metadata=about)
    return content


def from_bytes(content: bytes, plan: FederationPlan) -> Arrays:
    """Read parameters of a plan's model.

    Parameters
    ----------
    content : bytes
        Content of a ``.safetensors`` file.
    plan : FederationPlan
        What was agreed.

    Returns
    -------
    dict of str to ndarray of float64, in the shapes of the plan
        Checked parameters.

    Raises
    ------
    FederationError
        If they are not those of the plan.
    """
    (numpy_format,) = require("safetensors.numpy")
    try:
        found = numpy_format.load(content)
    except Exception:  # the library's own error type is not exported in all of its versions
        raise _unreadable("a model in the safetensors format") from None
    return check_arrays(plan, found, "saved model")


def save_state(folder: Path, plan: FederationPlan, state: RunState) -> None:
    """Write where a run stands: first the models, then what names them.

    Parameters
    ----------
    folder : Path
        The coordinator's folder.
    plan : FederationPlan
        What was agreed.
    state : RunState
        Where it stands.
    """
    models = {"model": state.arrays}
    if state.best_arrays is not None:
        models["best"] = state.best_arrays
    names, kept = {}, set()
    for role, arrays in models.items():
        content = to_bytes(arrays, {"plan_digest": plan.digest})
        name = f"{role}-{digest(content).removeprefix('sha256:')[:16]}.safetensors"
        if not (folder / name).exists():
            _write(folder / name, content)
        names[role] = {"file": name, "digest": digest(content)}
        kept.add(name)
    write_json(folder / ROUNDS_FILE, {
        "plan_digest": plan.digest, "attempts": state.attempts, "models": names,
        "best_round": state.best_round, "rounds": [asdict(each) for each in state.rounds],
    })  # fmt: skip
    for file in folder.glob("*-????????????????.safetensors"):
        if file.name not in kept:
            file.unlink(missing_ok=True)


def _write(file: Path, content: bytes) -> None:
    write_atomically(file, lambda draft: draft.write_bytes(content))


def write_model(folder: Path, plan: FederationPlan, state: RunState) -> str:
    """Write the final model.

    Parameters
    ----------
    folder : Path
        The coordinator's folder.
    plan : FederationPlan
        What was agreed.
    state : RunState
        Where the run stands.

    Returns
    -------
    str
        Digest of the file, ``sha256:…``.
    """
    about = model_metadata(plan, state.best_round or len(state.rounds))
    content = to_bytes(state.final, about)
    _write(folder / MODEL_FILE, content)
    return digest(content)


def model_metadata(plan: FederationPlan, number: int) -> dict[str, str]:
    """Give what a final model's file says of itself.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed.
    number : int
        Round that the model is of.

    Returns
    -------
    dict of str to str
        Plan and round; for a simulation also that nothing of it is private.
    """
    about = {"plan_digest": plan.digest, "round": str(number)}
    if plan.simulation:
        about["notice"] = "not private: made by a simulation"
    return about


def load_state(folder: Path, plan: FederationPlan) -> RunState:
    """Read where a run stands, or start it.

    Parameters
    ----------
    folder : Path
        The coordinator's folder.
    plan : FederationPlan
        What was agreed.

    Returns
    -------
    RunState
        After the last round that counted.

    Raises
    ------
    FederationError
        If the folder holds another plan's run, or files do not match.
    """
    file = folder / ROUNDS_FILE
    if not file.exists():
        return RunState(initial_arrays(plan))
    try:
        document = json.loads(file.read_bytes())
        agreed, rounds = document["plan_digest"], tuple(map(_record, document["rounds"]))
        attempts, best = int(document["attempts"]), int(document["best_round"])
        models = {role: _model(folder, plan, named) for role, named in document["models"].items()}
        latest = models["model"]
    except _DAMAGED:
        raise _unreadable("the rounds so far, with their models") from None
    if agreed != plan.digest:
        raise FederationError(
            "coordinator folder", "rounds of this plan", "those of another",
            "Every plan has a folder of its own.",
        )  # fmt: skip
    if not max([0, *(each.attempt for each in rounds)]) <= attempts <= plan.training.attempts:
        raise _unreadable("as many exchanges as its rounds took, and no more than were paid for")
    return RunState(latest, attempts, rounds, best, models.get("best"))


def _record(document: dict[str, Any]) -> RoundRecord:
    return RoundRecord(**{**document, "hospitals_in": tuple(document["hospitals_in"])})


def _model(folder: Path, plan: FederationPlan, named: dict[str, str]) -> Arrays:
    content = (folder / Path(named["file"]).name).read_bytes()
    if digest(content) != named["digest"]:
        raise _unreadable("the model that the rounds led to")
    return from_bytes(content, plan)


def _unreadable(expected: str) -> FederationError:
    return FederationError(
        "coordinator folder", expected, "something else",
        "Restore the folder from a copy, or begin anew with a new plan.",
    )  # fmt: skip
