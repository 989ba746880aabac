"""What a hospital checks before anything masked leaves it, and before it helps to unmask.

Secure aggregation adds whatever it is given: values outside the clipping range come out as
others, too many hospitals wrap around the modulus, and a coordinator could ask for both halves of
a secret. Flower checks none of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from neuroveil.deploy.federated.hospital import Hospital
from neuroveil.deploy.federated.noise import MaskTerms, mask_terms
from neuroveil.errors import FederationError
from neuroveil.types.recording import FloatArray

STATE_RECORD, CONFIG_RECORD = "secaggplus_state", "secaggplus_configs"


def check_before_masking(
    arrays: Sequence[FloatArray], weight: float, n_hospitals: int, terms: MaskTerms
) -> None:
    """Refuse an update that masks would change in silence.

    Parameters
    ----------
    arrays : sequence of ndarray of float64, of any shape
        What is to be masked: parameters, or whole numbers in units of the grid.
    weight : float
        What the update counts for: the hospital's number of patients. It travels in clear;
        under replace-one it is public.
    n_hospitals : int
        Hospitals that take part.
    terms : MaskTerms
        Numbers of the plan.

    Raises
    ------
    FederationError
        If a value is not finite or out of range, the weight is none, or the sum could wrap.
    """
    if not all(bool(np.isfinite(array).all()) for array in arrays):
        raise _refused("finite numbers", "some that are not")
    largest = max(float(np.abs(array).max(initial=0.0)) for array in arrays)
    if largest > terms.clipping_range:
        raise _refused("numbers within the clipping range", "larger ones")
    if not 0 < weight <= terms.max_weight:
        raise _refused(f"a number of patients of at most {terms.max_weight:g}", "another")
    if n_hospitals * terms.quantisation_range >= terms.modulus:
        raise _refused("so few hospitals that no sum wraps around the modulus", f"{n_hospitals}")


def check_stage(hospital: Hospital, config: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """Refuse a message of the protocol that does not keep to the plan.

    Parameters
    ----------
    hospital : Hospital
        Who is asked.
    config : mapping
        The coordinator's message of this stage.
    state : mapping
        What the hospital holds of the round.

    Raises
    ------
    FederationError
        If numbers are not those of the plan, or a secret would be opened that must not be.
    """
    stage = config.get("stage")
    if stage == "setup":
        _check_setup(hospital, config)
    elif stage == "unmask":
        _check_unmasking(hospital, config, state)


def _check_setup(hospital: Hospital, config: Mapping[str, Any]) -> None:
    terms, n_seats = mask_terms(hospital.plan), len(hospital.plan.seats)
    wanted = {
        "threshold": terms.threshold, "clipping_range": terms.clipping_range,
        "target_range": terms.quantisation_range, "mod_range": terms.modulus,
        "max_weight": terms.max_weight,
    }  # fmt: skip
    if any(config.get(name) != value for name, value in wanted.items()):
        raise _refused("the numbers of the plan", "others")
    sampled = config.get("sample_num")
    if not isinstance(sampled, int) or not terms.threshold <= sampled <= n_seats:
        raise _refused(f"{terms.threshold} to {n_seats} hospitals", "another number")
    if config.get("share_num") != sampled:
        raise _refused("one share of every secret for each hospital", "another number")


def _check_unmasking(
    hospital: Hospital, config: Mapping[str, Any], state: Mapping[str, Any]
) -> None:
    """With both a hospital's seed and its key, its own update could be read."""
    active, dead = config.get("active_nids"), config.get("dead_nids")
    held = set(state.get("rd_seed_share_dict:K", []))
    if not isinstance(active, list) or not isinstance(dead, list):
        raise _refused("who stayed and who dropped out", "something else")
    stays, gone = set(active), set(dead)
    if stays & gone or len(stays) != len(active) or stays | gone != held:
        raise _refused("everybody who takes part, either as staying or as gone", "others")
    if len(stays) < mask_terms(hospital.plan).threshold or state.get("nid") not in stays:
        raise _refused("enough hospitals that stayed, this one among them", "fewer")


def _refused(expected: str, found: str) -> FederationError:
    return FederationError(
        "secure aggregation", expected, found,
        "Nothing was sent. Compare the plan with the coordinator's.",
    )  # fmt: skip
