"""Derive again what a training says of itself: every link of its chain, its rounds, its model."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuroveil.deploy.federated.chain import federation_chain
from neuroveil.deploy.federated.model_file import model_fault, read_model_file
from neuroveil.deploy.federated.plan import PLAN_FILE, TRUSTED_SERVER, FederationPlan
from neuroveil.deploy.federated.progress import MODEL_FILE, ROUNDS_FILE, RoundRecord, RunState
from neuroveil.deploy.federated.result_file import read_result
from neuroveil.deploy.federated.rounds import Rounds, best_round, round_faults
from neuroveil.deploy.federated.signature import SIGNATURE_FILE, SIGNED_FILES, check_signature
from neuroveil.errors import CertificateError, NeuroveilError
from neuroveil.privacy.verify.document import load_json, read_bytes
from neuroveil.privacy.verify.findings import broken, holds
from neuroveil.privacy.verify.result import Check, Outcome, VerificationResult
from neuroveil.types.certificate import digest

_SAME = 1e-6
"""Relative difference of two machines' arithmetic; no promise depends on the seventh digit."""

_MOST_STEPS = 10**6
"""More than any training takes; an account of so many would keep a verifier busy for hours."""

_FIGURES = "figures.json"
_OF_ROUNDS = ("plan_digest", "attempts", "rounds")
_KNOWN = re.compile(
    r"(result|plan|rounds|figures|failure|nodes|run)\.json|(model|best)-[0-9a-f]{16}\.safetensors"
    r"|model\.safetensors|run\.lock"
)
_PUBLISHED = re.compile("|".join(map(re.escape, (*SIGNED_FILES, SIGNATURE_FILE))))
"""All that a training writes into its folder."""

_FIELDS = {
    "verdict": ("private", "formal_guarantee", "blocking_reasons", "verdict"),
    "spending": ("epsilon_spent",),
    "model": ("model",),
    "plan": ("plan_digest", "plan"),
}
_NOTES = (
    "Whether hospitals did what the plan says rests on the hospitals, and whether these are all "
    "the trainings of their patients on their ledgers.",
    "Versions of software are as stated. A result is not signed: whoever can write to the folder "
    "can make another one for another model.",
)
_NOTES_OF_SERVER = (
    "Whether the server did what the plan says, and linked people as it says, rests on who runs "
    "it, and whether these are all releases about these people on its ledger.",
    "Versions of software are as stated. The signature says who vouches; compare the key with "
    "the one that you were given.",
)


@dataclass(frozen=True)
class TrainingVerification(VerificationResult):
    """Every check of a training, by links that a release does not have."""

    @property
    def links(self) -> dict[str, Outcome]:
        """Outcome of every link, in the order in which they were looked at."""
        found: dict[str, Outcome] = {}
        for check in self.checks:
            if found.get(check.link) != "broken":
                found[check.link] = check.outcome
        return found


def verify_training(folder: Path, server_key: str | None = None) -> TrainingVerification:
    """Verify the folder of a training that is finished.

    Parameters
    ----------
    folder : Path
        The coordinator's folder of the training, with ``result.json`` and the model; or what a
        trusted server has published.
    server_key : str, optional
        Who has to have signed it, 64 hexadecimal digits; only trusted servers sign.

    Returns
    -------
    TrainingVerification
        Every check; exit code 0 where everything holds, 4 where something is broken.

    Raises
    ------
    CertificateError
        If ``result.json`` is missing or not strictly of its format, or its plan promises what
        cannot be derived.
    """
    document, plan = read_result(folder)
    records = tuple(
        RoundRecord(**{**each, "hospitals_in": tuple(each["hospitals_in"])})
        for each in document["rounds"]
    )
    # More exchanges than were paid for are a fault of their own, and no reason to compute long.
    attempts = min(max(document["attempts"], 0), plan.training.attempts)
    state = RunState({}, attempts, records, best_round(plan, records))
    number = state.best_round or len(records)
    model = list(_check_model(folder, plan, number, document["model"]["digest"]))
    expected = _derived(plan, state, document["model"]["digest"])
    checks = [
        *_check_chain(document["chain"], expected["chain"]),
        *_check_fields(document, expected),
        *_check_rounds(plan, records, document["attempts"]),
        *model,
        *_check_folder(folder, document, plan),
    ]
    is_of_server = plan.setting == TRUSTED_SERVER
    if is_of_server or server_key is not None:
        checks += check_signature(folder, server_key)
    if is_of_server:
        return TrainingVerification(
            "training", "training by a server", tuple(checks), _NOTES_OF_SERVER
        )
    return TrainingVerification("training", "federated training", tuple(checks), _NOTES)


def _derived(plan: FederationPlan, state: RunState, model: str) -> dict[str, Any]:
    """What ``result.json`` has to say, given the plan and the rounds."""
    try:
        _require_promise(plan)
        found: dict[str, Any] = json.loads(json.dumps(federation_chain(plan, state, model)))
    except (NeuroveilError, ArithmeticError, ValueError) as error:
        expected = error.expected if isinstance(error, NeuroveilError) else "possible numbers"
        raise CertificateError(
            "result.json", f"a plan whose guarantee can be derived, with {expected}",
            "another", "Ask for the original file; this one cannot be verified.",
        ) from None  # fmt: skip
    return found


def _require_promise(plan: FederationPlan) -> None:
    """Refuse amounts that no study can ask for, and labels that nothing covers."""
    terms, is_of_rows = plan.privacy, plan.setting == "local_features"
    is_charged = terms.labels == "randomised_response"
    within = 0 < terms.label_epsilon < terms.epsilon if is_charged else terms.label_epsilon == 0
    smallest = min(plan.inputs.components, plan.model.hidden, plan.training.retries + 1)
    steps = plan.training.attempts * plan.training.local_steps
    possible = {
        "inputs, hidden units and retries that can be": smallest >= 1,
        f"at most {_MOST_STEPS} steps": steps <= _MOST_STEPS,
    }
    if plan.setting != "none":  # where nothing is promised, the amounts say nothing
        possible |= {
            "a positive epsilon and a delta from 0 to below 1": terms.epsilon
            > 0
            <= terms.delta
            < 1,
            "labels that its setting protects, or names": (terms.labels == "with_the_row")
            != is_of_rows,
            "a label's epsilon below that of row and label": within,
            "a positive gradient_norm": terms.gradient_norm > 0,
            "a sampling_rate above 0, at most 1": 0 < terms.sampling_rate <= 1,
        }
    for expected, is_so in possible.items():
        if not is_so:
            raise CertificateError("federation plan", expected, "another", "")


def _check_chain(stated: dict[str, Any], expected: dict[str, Any]) -> Iterator[Check]:
    for link, facts in expected.items():
        if link == "software":
            continue  # says what was installed there, which nobody can derive here
        found = stated.get(link, {})
        wrong = [f"{link}.{name}" for name in facts if not _same(found.get(name), facts[name])]
        wrong += ["facts that this chain does not have"] if set(found) - set(facts) else []
        if wrong:
            yield broken(
                link, f"Derived again from the plan, these differ: {', '.join(wrong)}.",
                stated=_values(found, facts), recomputed=_values(facts, facts),
            )  # fmt: skip
        else:
            yield holds(link, f"All {len(facts)} facts follow from the plan.")
    if set(stated) != set(expected):
        yield broken("chain", "The chain has not the links of its setting.")


def _values(facts: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
    return {name: facts[name]["value"] for name in names if name in facts}


def _check_fields(document: dict[str, Any], expected: dict[str, Any]) -> Iterator[Check]:
    for link, names in _FIELDS.items():
        for name in names:
            about = name.replace("_", " ")
            stated, derived = document[name], expected[name]
            if _same(stated, derived):
                yield holds(f"{link}.{name}", f"The field {about} follows from plan and rounds.")
            else:
                yield broken(f"{link}.{name}", f"The field {about} does not follow from plan and "
                             "rounds.", stated=stated, recomputed=derived)  # fmt: skip


def _check_rounds(plan: FederationPlan, rounds: Rounds, attempts: int) -> Iterator[Check]:
    faults = list(round_faults(plan, rounds, attempts))
    for sentence in faults:
        yield broken("rounds", sentence)
    if not faults:
        yield holds("rounds", f"{len(rounds)} rounds in {attempts} exchanges, of "
                    f"{plan.training.attempts} that were paid for.")  # fmt: skip


def _check_model(folder: Path, plan: FederationPlan, number: int, stated: str) -> Iterator[Check]:
    try:
        content = read_model_file(folder / MODEL_FILE, plan)
        fault = model_fault(content, plan, number)
    except CertificateError as error:
        yield broken("model.file", f"The model was refused: {error.found} instead of "
                     f"{error.expected}.")  # fmt: skip
        return
    if digest(content) == stated:
        yield holds("model.digest", "The model's file has the stated digest.", source="SHA-256")
    else:
        yield broken("model.digest", "The model's file is another than the stated one.",
                     stated=stated, recomputed=digest(content), source="SHA-256")  # fmt: skip
    if fault is None:
        yield holds("model.file", "It holds the plan's parameters and no code.")
    else:
        yield broken("model.file", fault)


def _check_folder(folder: Path, document: dict[str, Any], plan: FederationPlan) -> Iterator[Check]:
    """What else lies there has to tell the same story."""
    faults = []
    known = _PUBLISHED if plan.setting == TRUSTED_SERVER else _KNOWN
    others = [each for each in folder.iterdir() if not known.fullmatch(each.name)]
    if others:
        faults.append(f"{len(others)} more than a training writes lie in the folder.")
    if (folder / _FIGURES).exists() and not plan.figures_may_leave:
        faults.append("Figures on private rows lie in the folder; they should be at the hospitals.")
    try:
        if (folder / PLAN_FILE).exists() and not _same(_read(folder / PLAN_FILE), document["plan"]):
            faults.append(f"{PLAN_FILE} is another plan.")
        if (folder / ROUNDS_FILE).exists():
            rounds = _read(folder / ROUNDS_FILE)
            if not all(_same(rounds.get(name), document[name]) for name in _OF_ROUNDS):
                faults.append(f"{ROUNDS_FILE} tells of other rounds.")
    except CertificateError as error:
        faults.append(f"A file was refused: {error.found} instead of {error.expected}.")
    for sentence in faults:
        yield broken("folder", sentence)
    if not faults:
        yield holds("folder", "The other files are those of this training.")


def _read(file: Path) -> dict[str, Any]:
    return load_json(read_bytes(file, file.name), file.name)


def _same(stated: Any, expected: Any) -> bool:
    """Equal, where whole numbers are whole, truth is no number, and rounding is forgiven."""
    if isinstance(stated, dict) and isinstance(expected, dict):
        return set(stated) == set(expected) and all(
            _same(stated[name], expected[name]) for name in expected
        )
    if isinstance(stated, list) and isinstance(expected, list):
        return len(stated) == len(expected) and all(map(_same, stated, expected))
    pair = {type(stated), type(expected)}
    if float in pair and pair <= {int, float}:
        return math.isclose(stated, expected, rel_tol=_SAME)
    return type(stated) is type(expected) and bool(stated == expected)
