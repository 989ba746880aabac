"""What a chain amounts to, in words that ``docs/certificate.md`` fixes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neuroveil.privacy.mechanisms.contract import RowGuarantee
from neuroveil.privacy.randomness import SamplerFacts
from neuroveil.types.scaling import Scaling

_GIVEN = {"shuffled": ", given a trusted shuffler", "central": ", given a trusted curator"}


def blocking_reasons(
    guarantee: RowGuarantee, scaling: Scaling, sampler: SamplerFacts, *, is_paid: bool
) -> tuple[str, ...]:
    """List the broken links, at most one reason a link, in the order of the chain.

    Parameters
    ----------
    guarantee : RowGuarantee
        What the row mechanism supports.
    scaling : Scaling
        Constants that the rows were scaled with.
    sampler : SamplerFacts
        Who draws.
    is_paid : bool
        Whether a ledger has charged the release.

    Returns
    -------
    tuple of str
        Each starts with the link and a colon; empty where the guarantee holds.
    """
    reasons = []
    if not scaling.is_published:
        reasons.append(
            "preprocessing: the scaling constants were fitted on the private cohort "
            "without a budget"
        )
    if not guarantee.holds:
        supported = guarantee.epsilon_supported
        reasons.append(
            f"mechanism: the noise scale is {supported / guarantee.epsilon:.4g} times too small; "
            f"as pure DP it supports epsilon = {supported:.4g}"
        )
    if sampler.seeded:
        reasons.append("sampler: the noise can be drawn again from a seed")
    if not is_paid:
        reasons.append("composition: no ledger has paid for this draw")
    return tuple(reasons)


@dataclass(frozen=True)
class Promised:
    """What a whole release promises.

    Parameters
    ----------
    epsilon, delta : float
        Claim for the whole release.
    trust_model : str
        Towards whom it holds.
    unprotected : tuple of str
        Label columns that are released as they are.
    """

    epsilon: float
    delta: float
    trust_model: str
    unprotected: tuple[str, ...]


def verdict(promised: Promised, reasons: Sequence[str]) -> str:
    """Say what a chain amounts to in one sentence.

    Parameters
    ----------
    promised : Promised
        What the release promises.
    reasons : sequence of str
        Broken links.

    Returns
    -------
    str
        Plain English.
    """
    claim = f"epsilon = {_plain(promised.epsilon)}, delta = {_plain(promised.delta)}"
    if reasons:
        return f"Not differentially private at {claim}. {'; '.join(reasons)}."
    given = _GIVEN.get(promised.trust_model, "")
    covered = f"Differentially private for every patient{given}: {claim}."
    names = ", ".join(promised.unprotected)
    return f"{covered} Not covered: {names}." if names else covered


def _plain(value: float) -> str:
    """Write a number so that it reads back exactly, without a trailing ``.0``."""
    return repr(float(value)).removesuffix(".0")
