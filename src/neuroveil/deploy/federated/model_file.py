"""Whether a model's file is what a plan's training writes: numbers and names, and no code.

Read byte by byte, without the library that wrote it, so that nothing of an unknown file is run.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from neuroveil.deploy.federated.models import parameter_shapes
from neuroveil.deploy.federated.plan import FederationPlan
from neuroveil.deploy.federated.progress import model_metadata
from neuroveil.privacy.verify.document import load_json, read_bytes
from neuroveil.types.certificate import canonical_json

_LARGEST_HEADER = 10_000
_ROLE = "model file"


def read_model_file(file: Path, plan: FederationPlan) -> bytes:
    """Read a model's file, as large as the plan's model can be and no larger.

    Parameters
    ----------
    file : Path
        ``model.safetensors``.
    plan : FederationPlan
        What was agreed.

    Returns
    -------
    bytes
        Its content.

    Raises
    ------
    CertificateError
        If it is missing, no regular file, or larger.
    """
    return read_bytes(file, _ROLE, 8 + _LARGEST_HEADER + 8 * plan.n_parameters)


def model_fault(content: bytes, plan: FederationPlan, number: int) -> str | None:
    """Look for anything in a model's file that the plan's training would not have written.

    Parameters
    ----------
    content : bytes
        Of the file.
    plan : FederationPlan
        What was agreed.
    number : int
        Round that the model is of.

    Returns
    -------
    str or None
        The fault in plain English; None where there is none.

    Raises
    ------
    CertificateError
        If the header is no strict JSON.
    """
    size = int.from_bytes(content[:8], "little")
    if not 2 <= size <= min(_LARGEST_HEADER, len(content) - 8):
        return "It is not in the safetensors format."
    header = load_json(content[8 : 8 + size], _ROLE)
    numbers = content[8 + size :]
    about = {"neuroveil": canonical_json(model_metadata(plan, number)).decode()}
    if header.pop("__metadata__", None) != about:
        return "Its header names another plan, another round, or something else altogether."
    if len(numbers) != 8 * plan.n_parameters or not _are_parameters(header, plan):
        return "It does not hold the parameters of the plan, in 64-bit numbers and nothing else."
    if not bool(np.isfinite(np.frombuffer(numbers, dtype="<f8")).all()):
        return "It holds numbers that are not finite."
    return None


def _are_parameters(header: dict[str, Any], plan: FederationPlan) -> bool:
    """Every parameter in its shape, one after the other from the first byte on."""
    shapes, end = parameter_shapes(plan), 0
    if set(header) != set(shapes) or not all(isinstance(each, dict) for each in header.values()):
        return False
    places = {name: entry.get("data_offsets") for name, entry in header.items()}
    if not all(_is_place(place) for place in places.values()):
        return False
    for name in sorted(shapes, key=lambda each: places[each][0]):
        begin, end = end, end + 8 * math.prod(shapes[name])
        expected = {"dtype": "F64", "shape": list(shapes[name]), "data_offsets": [begin, end]}
        if header[name] != expected:
            return False
    return True


def _is_place(place: object) -> bool:
    return isinstance(place, list) and len(place) == 2 and all(type(n) is int for n in place)
