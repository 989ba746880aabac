"""Masks of secure aggregation from whole keys.

Flower 1.42 folds the 32 bytes behind a mask to 32 bits before it expands them with a generator
that was never meant for secrets. Whoever sees a masked update can try all 2^32 of them in minutes.
Here the same 32 bytes key ChaCha20 (RFC 8439), and every value is uniform below the modulus. The
protocol around it, its keys, shares and messages, stays Flower's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from neuroveil.deploy.federated.flower import require
from neuroveil.errors import FederationError
from neuroveil.privacy.bounds import IntArray

_LABEL = b"neuroveil mask 1"
_MODULES = (
    "flwr.client.mod.secure_aggregation.secaggplus_mod",
    "flwr.server.workflow.secure_aggregation.secaggplus_workflow",
)
_NAME = "pseudo_rand_gen"


def expand_seed(seed: bytes, modulus: int, shapes: Sequence[tuple[int, ...]]) -> list[IntArray]:
    """Expand a secret into masks.

    Parameters
    ----------
    seed : bytes
        Secret of at least 32 bytes, used for one round only.
    modulus : int
        A power of two of at most 2^32.
    shapes : sequence of tuple of int
        Shapes of the masks.

    Returns
    -------
    list of ndarray of int64
        Uniform from 0 to below the modulus.

    Raises
    ------
    FederationError
        If the secret is short, or the modulus is not such a power.
    """
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

    if len(seed) < 32 or not 2 <= modulus <= 1 << 32 or modulus & (modulus - 1):
        raise FederationError(
            "secure aggregation", "a secret of 32 bytes and a power of two up to 2^32", "others",
            "Use the numbers of the plan.",
        )  # fmt: skip
    key = hashlib.sha256(_LABEL + seed).digest()
    sizes = [int(np.prod(shape, dtype=np.int64)) for shape in shapes]
    stream = Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor()
    drawn = np.frombuffer(stream.update(bytes(4 * sum(sizes))), dtype="<u4").astype(np.int64)
    parts = np.split(drawn & (modulus - 1), np.cumsum(sizes)[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


def use_whole_keys() -> None:
    """Let both sides of Flower's secure aggregation expand masks here. Safe to call again.

    Raises
    ------
    FederationError
        If Flower is not installed, or has changed so that masks would stay its own.
    """
    for module in require(*_MODULES):
        if not hasattr(module, _NAME):
            raise FederationError(
                "secure aggregation", "the Flower that this was made for", "another",
                "Install flwr==1.42.0: masks of other versions have not been looked at.",
            )  # fmt: skip
        setattr(module, _NAME, expand_seed)
