"""Read the ``result.json`` of a training strictly, from a folder that nobody vouches for."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from neuroveil.deploy.federated.chain import SCHEMA
from neuroveil.deploy.federated.plan import FederationPlan, plan_from_json
from neuroveil.deploy.federated.progress import RoundRecord
from neuroveil.errors import CertificateError, NeuroveilError
from neuroveil.privacy.verify.document import load_json, read_bytes
from neuroveil.types.certificate import Fact

RESULT_FILE = "result.json"


@dataclass(frozen=True)
class ModelEntry:
    """What a result says of the model.

    Parameters
    ----------
    file, digest : str
        Name of the file, and its ``sha256:…``.
    round : int
        Round that it is of.
    chosen_by : {"fixed_rounds", "validation"}
        How that round was chosen.
    """

    file: str
    digest: str
    round: int
    chosen_by: Literal["fixed_rounds", "validation"]


@dataclass(frozen=True)
class StatedResult:
    """The fields of ``result.json``, no more and no fewer, with their types.

    Parameters
    ----------
    schema : {"neuroveil-federation-chain"}
        Name of the format.
    schema_version : {1}
        Its version.
    private, formal_guarantee : bool
        Whether it was no simulation, and whether the chain supports a guarantee.
    verdict : str
        One sentence.
    blocking_reasons : tuple of str
        What stands against a guarantee.
    chain : mapping of str to mapping of str to Fact
        Facts by link.
    epsilon_spent : float
        After all exchanges.
    attempts : int
        Exchanges that were begun.
    rounds : tuple of RoundRecord
        Rounds that counted.
    model : ModelEntry
        The model.
    plan_digest : str
        ``sha256:…``.
    plan : FederationPlan
        What was agreed.
    """

    schema: Literal["neuroveil-federation-chain"]
    schema_version: Literal[1]
    private: bool
    formal_guarantee: bool
    verdict: str
    blocking_reasons: tuple[str, ...]
    chain: Mapping[str, Mapping[str, Fact]]
    epsilon_spent: float
    attempts: int
    rounds: tuple[RoundRecord, ...]
    model: ModelEntry
    plan_digest: str
    plan: FederationPlan


def read_result(folder: Path) -> tuple[dict[str, Any], FederationPlan]:
    """Read what a training says of itself.

    Parameters
    ----------
    folder : Path
        With ``result.json``.

    Returns
    -------
    dict
        Plain data with exactly the fields of :class:`StatedResult`, each of its type.
    FederationPlan
        The plan that it holds.

    Raises
    ------
    CertificateError
        If there is none; if it is no strict JSON (a key twice, NaN, infinity); if a field is
        missing, unknown or of another type; or if the plan is none that could be carried out.
    """
    document = load_json(read_bytes(folder / RESULT_FILE, RESULT_FILE), RESULT_FILE)
    if document.get("schema") != SCHEMA:
        raise _refused(f"a document with schema {SCHEMA}", "another")
    plan = document.get("plan")
    if isinstance(plan, dict):  # its own format and version stand beside the fields
        agreed = {name: plan[name] for name in plan if name not in ("schema", "version")}
        _require({**document, "plan": agreed}, StatedResult, "")
    else:
        _require(document, StatedResult, "")
    try:
        return document, plan_from_json(plan)
    except NeuroveilError as error:
        raise _refused(f"a plan with {error.expected}", error.found) from None


def _require(value: object, form: Any, where: str) -> None:
    """Walk data and type hints side by side. Names in messages are the format's own."""
    origin, inner = get_origin(form), get_args(form)
    if is_dataclass(form) and isinstance(form, type):
        names = [each.name for each in fields(form)]
        if not isinstance(value, dict) or set(value) != set(names):
            raise _refused(f"exactly the fields of {where or 'the format'}", "others")
        hints = get_type_hints(form)
        for name in names:
            _require(value[name], hints[name], f"{where}.{name}".strip("."))
    elif origin is tuple:
        _require_type(isinstance(value, list), where)
        for each in value if isinstance(value, list) else []:
            _require(each, inner[0], where)
    elif isinstance(origin, type) and issubclass(origin, Mapping):
        _require_type(isinstance(value, dict), where)
        for each in value.values() if isinstance(value, dict) else []:
            _require(each, inner[1], where)
    elif origin in (Union, types.UnionType):
        if value is not None or types.NoneType not in inner:
            _require(value, next(each for each in inner if each is not types.NoneType), where)
    elif origin is Literal:
        _require_type(any(type(value) is type(each) and value == each for each in inner), where)
    elif form is float:
        _require_type(type(value) in (int, float), where)
    elif form is not Any:
        _require_type(type(value) is form, where)


def _require_type(holds: bool, where: str) -> None:
    if not holds:
        raise _refused(f"{where} of the type that the format says", "something else")


def _refused(expected: str, found: str) -> CertificateError:
    return CertificateError(
        RESULT_FILE, expected, found, "Ask for the original file; this one cannot be verified."
    )
