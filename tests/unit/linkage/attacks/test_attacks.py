"""Each attack works on encodings that ask for it, and finds nothing in random bits."""

from collections.abc import Callable

import numpy as np
import pytest

from neuroveil.errors import LinkageError
from neuroveil.linkage.attacks.compromise import compromised_key_attack, dictionary_attack
from neuroveil.linkage.attacks.frequency import align_frequencies
from neuroveil.linkage.attacks.graph import align, match_graphs
from neuroveil.linkage.attacks.outcome import AttackOutcome
from neuroveil.linkage.attacks.patterns import find_patterns, mine_patterns
from neuroveil.linkage.global_id import global_ids
from neuroveil.linkage.identifiers import IdentifierRules, encode_identifier
from neuroveil.linkage.key_service import LinkageKey, LocalKeyService

pytestmark = pytest.mark.slow


@pytest.fixture
def random_bits(surnames) -> np.ndarray:
    return np.packbits(np.random.default_rng(3).random((1000, 1024)) < 0.3, axis=1)


def test_repeated_encodings_are_named_by_their_frequency(surnames, random_bits):
    found = align_frequencies(surnames.bits, surnames.names, surnames.public)
    assert found.success > 1.5 * found.chance
    # Random bits never repeat, so what is right is right by chance: below every blind guess.
    blind = align_frequencies(random_bits, surnames.names, surnames.public)
    assert blind.success <= blind.chance


def test_frequencies_that_agree_exactly_name_everybody():
    names = ["a"] * 3 + ["b"] * 2 + ["c"]
    bits = np.array([[{"a": 1, "b": 2, "c": 4}[name]] for name in names], np.uint8)
    assert align_frequencies(bits, names, names).success == 1.0


def test_patterns_are_positions_of_one_piece(surnames, random_bits):
    grams = surnames.grams(surnames.names)
    pieces, values = mine_patterns(surnames.bits, grams, surnames.grams(surnames.public))
    assert pieces.n_attacked > 100
    assert pieces.success > 1.5 * pieces.chance
    assert values.success > values.chance
    assert find_patterns(random_bits, surnames.grams(surnames.public)) == []


def test_who_looks_like_whom_gives_people_away(surnames, random_bits):
    grams = surnames.grams(surnames.names)[:120]
    assert match_graphs(surnames.bits[:120], grams).success > 0.7
    different = [frozenset((f"piece {row}", "all")) for row in range(60)]
    assert match_graphs(random_bits[:60], different).success < 0.2


def test_a_permuted_graph_is_put_in_order():
    generator = np.random.default_rng(5)
    table = generator.random((40, 6))
    graph = np.exp(-((table[:, None] - table[None]) ** 2).sum(axis=2))
    order = generator.permutation(40)
    found = align(graph[np.ix_(order, order)] ** 2, graph)
    assert (found == order).mean() > 0.9


def test_the_key_opens_every_global_id_and_another_key_none():
    """The linkage key of the project, as the hospitals hold it."""
    rules = IdentifierRules("project", "[0-9]{6}")
    numbers = [f"{number:06d}" for number in range(2000)]

    def under(key: LinkageKey) -> Callable[[str], str]:
        service = LocalKeyService(key)
        return lambda number: global_ids([encode_identifier(number, rules, "number")], service)[0]

    key = LinkageKey.generate()
    ids = [under(key)(number) for number in numbers[:50]]
    assert dictionary_attack(ids, numbers[:50], numbers, under(key)).success == 1.0
    other = under(LinkageKey.generate())
    assert dictionary_attack(ids, numbers[:50], numbers, other).success == 0.0


def test_the_keys_open_every_encoding(surnames):
    found = compromised_key_attack(
        surnames.bits, surnames.names, surnames.bits[::-1].copy(), surnames.names[::-1]
    )
    assert found.success > 0.99  # a few names have the same pieces in another order


def test_an_outcome_counts():
    assert AttackOutcome("none", 0, 0, 0.1).success == 0.0
    assert AttackOutcome("some", 8, 2, 0.1).as_dict()["success"] == 0.25


def test_truth_of_other_people_is_refused(surnames):
    with pytest.raises(LinkageError, match="1000 encodings and 3 values"):
        align_frequencies(surnames.bits, surnames.names[:3], surnames.public)
    with pytest.raises(LinkageError, match="at most 600"):
        match_graphs(surnames.bits, surnames.grams(surnames.names))
