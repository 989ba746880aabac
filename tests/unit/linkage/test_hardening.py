import math

import numpy as np
import pytest

from neuroveil.errors import LinkageError
from neuroveil.linkage.hardening import (
    HardeningKeys,
    blip_epsilon_per_bit,
    diffusion_places,
    harden,
    hardened_length,
)

KEYS = HardeningKeys(bytes(range(32)), bytes(range(32, 64)))
STEPS = ["xor_fold", "rule_90", "diffusion", "sliding_xor", "blip"]


@pytest.fixture
def hardened(make_schema):
    def apply(bits: np.ndarray, *steps: str, **changes: object) -> np.ndarray:
        encoding = {"length": bits.shape[1], "hardening": list(steps), **changes}
        schema = make_schema(encoding=encoding)
        return np.unpackbits(harden(np.packbits(bits, axis=1), schema, KEYS), axis=1)

    return apply


@pytest.fixture
def bits() -> np.ndarray:
    return (np.random.default_rng(5).random((40, 512)) < 0.3).astype(np.uint8)


def test_nothing_is_done_where_the_schema_says_nothing(bits, hardened):
    assert np.array_equal(hardened(bits), bits)


def test_folding_puts_the_second_half_on_the_first(bits, hardened):
    assert np.array_equal(hardened(bits, "xor_fold"), bits[:, :256] ^ bits[:, 256:])


def test_rule_90_takes_both_neighbours_in_a_ring(bits, hardened):
    found = hardened(bits, "rule_90")
    for place in (0, 1, 300, 511):
        assert np.array_equal(found[:, place], bits[:, place - 1] ^ bits[:, (place + 1) % 512])


def test_sliding_takes_the_next_bit_in_a_ring(bits, hardened):
    found = hardened(bits, "sliding_xor")
    for place in (0, 511):
        assert np.array_equal(found[:, place], bits[:, place] ^ bits[:, (place + 1) % 512])


def test_diffusion_mixes_three_bits(bits, hardened):
    places = diffusion_places(KEYS.diffusion, 512)
    mixed = bits[:, places[0]] ^ bits[:, places[1]] ^ bits[:, places[2]]
    assert np.array_equal(hardened(bits, "diffusion"), mixed)


@pytest.mark.parametrize("length", [128, 1024, 4096])
def test_diffusion_uses_every_bit_three_times_and_never_twice_at_one_place(length):
    places = diffusion_places(KEYS.diffusion, length)
    assert all(np.array_equal(np.sort(row), np.arange(length)) for row in places)
    assert (np.diff(np.sort(places, axis=0), axis=0) > 0).all()


def test_diffusion_is_another_under_another_key():
    places = diffusion_places(KEYS.diffusion, 512), diffusion_places(bytes(32), 512)
    assert (places[0] == places[1]).mean() < 0.05


def test_blip_flips_with_the_stated_probability(bits, hardened):
    """False-alarm rate below 1e-6: within five standard deviations of 20480 flips."""
    for flip in (0.02, 0.2):
        share = (hardened(bits, "blip", blip_flip=flip) != bits).mean()
        assert abs(share - flip) < 5 * math.sqrt(flip * (1 - flip) / bits.size)


def test_the_noise_of_a_record_is_permanent_and_its_own(bits, hardened):
    twice = np.concatenate([bits, bits[::-1]])
    found = hardened(twice, "blip", blip_flip=0.2)
    assert np.array_equal(found[:40], found[:39:-1])
    noise = found[:40] ^ bits
    assert len(np.unique(noise, axis=0)) == 40


def test_people_with_the_same_encoding_get_noise_of_their_own(make_schema):
    schema = make_schema(encoding={"length": 512, "hardening": ["blip"], "blip_flip": 0.2})
    same = np.full((2, 64), 15, np.uint8)
    alone = harden(same, schema, KEYS)
    assert np.array_equal(alone[0], alone[1])
    named = harden(same, schema, KEYS, ["a", "b"])
    assert not np.array_equal(named[0], named[1])
    assert np.array_equal(named, harden(same, schema, KEYS, ["a", "b"]))
    with pytest.raises(LinkageError, match="one for each of 2"):
        harden(same, schema, KEYS, ["a"])


def test_the_noise_is_another_at_another_site(bits, make_schema):
    schema = make_schema(encoding={"length": 512, "hardening": ["blip"], "blip_flip": 0.2})
    packed = np.packbits(bits, axis=1)
    here = harden(packed, schema, KEYS)
    there = harden(packed, schema, HardeningKeys(KEYS.diffusion, bytes(32)))
    assert not np.array_equal(here, there)


def test_the_epsilon_of_a_bit_is_that_of_randomised_response():
    assert math.isclose(math.exp(blip_epsilon_per_bit(0.02)), 0.98 / 0.02)


def test_steps_follow_the_order_of_the_schema(bits, hardened):
    one = hardened(bits, "rule_90", "xor_fold")
    byhand = hardened(hardened(bits, "rule_90"), "xor_fold")
    assert np.array_equal(one, byhand)
    mixed = hardened(bits, "diffusion", "sliding_xor")
    assert not np.array_equal(mixed, hardened(bits, "sliding_xor", "diffusion"))


@pytest.mark.parametrize("step", STEPS)
def test_what_was_alike_stays_more_alike_than_what_was_not(step, bits, hardened):
    near = bits.copy()
    near[:, :8] ^= 1

    def dice(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return 2 * (one & other).sum(axis=1) / (one.sum(axis=1) + other.sum(axis=1))

    here, there = hardened(bits, step), hardened(near, step)
    assert dice(here, there).min() > dice(here, np.roll(there, 1, axis=0)).max()


def test_the_length_after_folding(make_schema):
    schema = make_schema(encoding={"length": 1024, "hardening": ["xor_fold", "rule_90"]})
    assert hardened_length(schema) == 512


def test_blocks_of_rows_are_hardened_as_one(hardened):
    many = (np.random.default_rng(6).random((8200, 256)) < 0.3).astype(np.uint8)
    whole = hardened(many, "rule_90", "blip")
    assert np.array_equal(whole[-30:], hardened(many[-30:], "rule_90", "blip"))


def test_wrong_lengths_and_missing_keys_are_refused(make_schema):
    schema = make_schema(encoding={"hardening": ["diffusion"]})
    with pytest.raises(LinkageError, match="1024 bits a record"):
        harden(np.zeros((2, 64), np.uint8), schema, KEYS)
    with pytest.raises(LinkageError, match="diffusion and blip"):
        harden(np.zeros((2, 128), np.uint8), schema)
    with pytest.raises(LinkageError, match="32 bytes"):
        HardeningKeys(b"short", bytes(32))


def test_keys_are_not_printed():
    assert repr(KEYS) == "HardeningKeys(2 keys)"
