"""What a hospital allows, decided at the hospital before anything of a run is executed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, Strict

from neuroveil.deploy.federated.operate.bundle import PLAN_KEY, digest_of
from neuroveil.deploy.federated.plan import FederationPlan
from neuroveil.study.federation import Setting
from neuroveil.study.section import Delta, PositiveFloat, Section
from neuroveil.study.validation import read_toml, validated

FILE = "policy.toml"
_TRAINING = "flwr-serverapp"

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=1)]


class SitePolicy(Section):
    """``policy.toml``: written by the hospital, read by nobody else.

    ``maximum_epsilon`` and ``maximum_delta`` hold for the whole of a plan; what several plans
    may spend together is the ledger's business.
    """

    allowed_apps: Annotated[tuple[Digest, ...], Strict(False)]
    privacy: Annotated[tuple[Setting, ...], Strict(False)] = ("dp_sgd", "distributed")
    maximum_epsilon: PositiveFloat = 1.0
    maximum_delta: Delta = 1e-5
    minimum_patients: Count = 20
    minimum_hospitals: Count = 3
    maximum_answers: Count = 1000
    simulation: bool = False


def load_policy(folder: Path) -> SitePolicy:
    """Read a hospital's policy.

    Parameters
    ----------
    folder : Path
        The hospital's folder.

    Returns
    -------
    SitePolicy
        Checked.

    Raises
    ------
    StudyError
        With all mistakes of the file at once.
    """
    document = read_toml(folder / FILE, FILE, "Make one with `neuroveil federate hospital init`.")
    return validated(SitePolicy, document)


@dataclass(frozen=True)
class Offer:
    """A run as the coordinator offers it, with nothing of it executed.

    Parameters
    ----------
    claimed : tuple of (str, str)
        App and version that the coordinator claims.
    identity : tuple of (str, str)
        App and version as the bundle itself states them.
    kind : str
        Kind of app that Flower would start.
    config : mapping
        Settings of the run: the bundle's own with the coordinator's in their place.
    """

    claimed: tuple[str, str]
    identity: tuple[str, str]
    kind: str
    config: Mapping[str, object]


def bundle_objections(policy: SitePolicy, claimed: str, content: bytes) -> list[str]:
    """Say why a bundle may not even be unpacked.

    Parameters
    ----------
    policy : SitePolicy
        The hospital's.
    claimed : str
        SHA-256 that the coordinator gives for it.
    content : bytes
        The bundle that came.

    Returns
    -------
    list of str
        Reasons in plain words; empty where it is one of the allowed ones.
    """
    digest = digest_of(content)
    if digest != claimed:
        return ["the bundle is not the one that the coordinator named"]
    return [] if digest in policy.allowed_apps else ["the app's digest is not among allowed_apps"]


def run_objections(offer: Offer, plan: FederationPlan) -> list[str]:
    """Say why a run of an allowed bundle is refused all the same.

    Parameters
    ----------
    offer : Offer
        What the coordinator wants to run.
    plan : FederationPlan
        What the hospital agreed to.

    Returns
    -------
    list of str
        Reasons in plain words; empty where it may run.
    """
    rules = {
        # Flower finds the code by the name that the coordinator gives.
        "the bundle has another name or version than the coordinator says": offer.claimed
        == offer.identity,
        "the run is of a kind that is not training": offer.kind == _TRAINING,
        "the run follows another plan than the one that this hospital agreed to": offer.config.get(
            PLAN_KEY
        )
        == plan.digest,
    }
    return [reason for reason, holds in rules.items() if not holds]


def plan_objections(policy: SitePolicy, plan: FederationPlan, n_patients: int) -> list[str]:
    """Say why a plan does not meet a policy.

    Privacy is judged by the hospital's own copy of the plan, which its answers follow, and never
    by what the coordinator says about the run.

    Parameters
    ----------
    policy : SitePolicy
        The hospital's.
    plan : FederationPlan
        What was agreed.
    n_patients : int
        Patients of this hospital that train, by the plan.

    Returns
    -------
    list of str
        Reasons in plain words; empty where it does.
    """
    rules = {
        "the plan's privacy setting is not among those that the policy names": plan.setting
        in policy.privacy,
        "the plan is a simulation, which protects nobody": policy.simulation or not plan.simulation,
        "the plan spends more than maximum_epsilon": plan.epsilon <= policy.maximum_epsilon,
        "the plan's delta is larger than maximum_delta": plan.delta <= policy.maximum_delta,
        "the plan asks for more answers than maximum_answers": plan.training.attempts
        <= policy.maximum_answers,
        "this hospital has fewer patients than minimum_patients": n_patients
        >= policy.minimum_patients,
        "the plan goes on with fewer hospitals than minimum_hospitals": plan.minimum_hospitals
        >= policy.minimum_hospitals,
    }
    return [reason for reason, holds in rules.items() if not holds]
