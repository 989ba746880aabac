"""What follows the mechanism: the link postprocessing, as far as the certificate shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from neuroveil.privacy.verify.basis import is_drawn, row_dimension
from neuroveil.privacy.verify.document import canonical_digest
from neuroveil.privacy.verify.findings import broken, finding, holds, missing
from neuroveil.privacy.verify.forms import postprocessing
from neuroveil.privacy.verify.result import Check
from neuroveil.privacy.verify.statement import Statement, as_number

USES: dict[str, tuple[str, ...]] = {
    "wiener": ("mean", "covariance"), "james_stein": (), "projection_back": ("basis",),
    "unclipping": (), "clamp": (), "inverse_scaling": ("centre", "spread"),
}  # fmt: skip
"""Entries of the public inputs that each step uses."""

_STEPS = "postprocessing.steps"
_FREE = "post-processing, Dwork & Roth 2014, Proposition 2.1"


def steps_of(statement: Statement) -> list[Mapping[str, Any]]:
    """Give the steps, where they have their form.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Returns
    -------
    list of mapping
        ``{step, params, public_inputs_digest}``; empty where there are none, or something else.
    """
    steps = statement.raw(_STEPS)
    return steps if postprocessing().fits(steps) else []


def is_projected(statement: Statement) -> bool:
    """Whether rows are projected on public components.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Returns
    -------
    bool
        True where the certificate describes a projection.
    """
    return statement.raw("preprocessing.projection") is not None


def check_postprocessing(statement: Statement) -> Iterator[Check]:
    """Check that what follows the mechanism uses public inputs only.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Yields
    ------
    Check
        The steps.
    """
    steps = statement.listing(_STEPS)
    if steps is None:
        yield missing(_STEPS)
    elif statement.is_claim:
        public = all(isinstance(s, Mapping) and s.get("public_inputs_digest") for s in steps)
        yield finding(
            "holds" if public else "unchecked", _STEPS,
            f"{len(steps)} step(s) follow the noise, on public inputs only."
            if public
            else "A step does not name its public inputs.", source=_FREE,
        )  # fmt: skip
    elif not postprocessing().fits(steps):
        yield broken(_STEPS, "Not the steps that there are, each once and in their order.")
    else:
        faults = list(_faults(statement, steps))
        if faults:
            yield from (broken(_STEPS, fault) for fault in faults)
        else:
            sentence = f"{len(steps)} step(s) follow the mechanism, on public inputs only."
            yield holds(_STEPS, sentence, source=_FREE)


def _faults(statement: Statement, steps: list[Mapping[str, Any]]) -> Iterator[str]:
    names = [entry["step"] for entry in steps]
    public = statement.text("preprocessing.scaling", "fitted_on") != "private"
    if {"wiener", "james_stein"} <= set(names):
        yield "Two kinds of shrinkage exclude each other."
    if steps and names[-1] != "inverse_scaling":
        yield "The last step gives features in their own units."
    if steps and ("projection_back" in names) != is_projected(statement):
        yield "Projected rows, and only those, are put back on the features."
    if steps and not public:
        yield "There are no published constants to put rows back into feature units."
    if "wiener" in names and is_drawn(statement):
        yield "A public covariance goes with public constants of scaling."
    for entry in steps:
        if not USES[entry["step"]] and entry["public_inputs_digest"] != canonical_digest({}):
            yield "A step without public inputs has the digest of something."
        yield from _parameter_faults(statement, entry)


def _parameter_faults(statement: Statement, entry: Mapping[str, Any]) -> Iterator[str]:
    name, params = entry["step"], entry["params"]
    if name == "projection_back" and params["components"] != row_dimension(statement):
        yield "Rows are put back from another number of components than they have."
    if name == "clamp" and (as_number(params["low"]) or 0) >= (as_number(params["high"]) or 0):
        yield "The lower end of clamping is not below the upper one."
    columns = statement.integer("domain.dimension") or 0
    if name == "inverse_scaling" and params["log10_columns"] > columns:
        yield "More columns are on a logarithmic scale than there are."
