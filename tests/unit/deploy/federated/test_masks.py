"""Masks: what Flower's own would be, and that ours take their place on both sides."""

from __future__ import annotations

import numpy as np
import pytest

from neuroveil.deploy.federated.flower import require
from neuroveil.deploy.federated.masks import expand_seed, use_whole_keys
from neuroveil.errors import FederationError

SHAPES = [(1,), (4, 3), (2,)]


def folded_alike() -> tuple[bytes, bytes]:
    """Two secrets of 32 bytes that exclusive-or to the same 32 bits."""
    first = bytes(range(32))
    return first, first[4:8] + first[:4] + first[8:]


def test_flowers_own_masks_have_a_key_of_32_bits() -> None:
    """The reason for ours: two secrets out of 2^224 others give the same masks."""
    (utilities,) = require("flwr.common.secure_aggregation.secaggplus_utils")
    one, other = folded_alike()
    for a, b in zip(
        utilities.pseudo_rand_gen(one, 1 << 32, SHAPES),
        utilities.pseudo_rand_gen(other, 1 << 32, SHAPES), strict=True,
    ):  # fmt: skip
        np.testing.assert_array_equal(a, b)


def test_our_masks_use_the_whole_key() -> None:
    one, other = (expand_seed(seed, 1 << 32, SHAPES) for seed in folded_alike())
    assert all((a != b).any() for a, b in zip(one, other, strict=True))
    again = expand_seed(folded_alike()[0], 1 << 32, SHAPES)
    assert all((a == b).all() for a, b in zip(one, again, strict=True))
    assert [mask.shape for mask in one] == SHAPES


@pytest.mark.parametrize("modulus", [2, 1 << 20, 1 << 32])
def test_masks_are_spread_over_the_whole_modulus(modulus: int) -> None:
    (mask,) = expand_seed(bytes(range(32)), modulus, [(20000,)])
    assert mask.min() >= 0
    assert mask.max() < modulus
    # A mean of 20000 uniform numbers; this key always gives the same ones.
    assert abs(mask.mean() / modulus - (modulus - 1) / modulus / 2) < 0.01


@pytest.mark.parametrize(
    ("seed", "modulus"),
    [(b"short", 1 << 32), (bytes(32), 1 << 33), (bytes(32), 1000), (bytes(32), 1)],
)
def test_weak_secrets_and_other_moduli_are_refused(seed: bytes, modulus: int) -> None:
    with pytest.raises(FederationError):
        expand_seed(seed, modulus, SHAPES)


def test_both_sides_of_flower_use_them() -> None:
    use_whole_keys()
    client, server = require(
        "flwr.client.mod.secure_aggregation.secaggplus_mod",
        "flwr.server.workflow.secure_aggregation.secaggplus_workflow",
    )
    assert client.pseudo_rand_gen is expand_seed
    assert server.pseudo_rand_gen is expand_seed
