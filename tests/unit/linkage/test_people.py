import numpy as np
import pytest

from neuroveil.errors import LinkageError
from neuroveil.linkage.dice import ScoredPairs
from neuroveil.linkage.people import find_duplicates, join_people
from neuroveil.linkage.schema import MatchingSection

RULES = MatchingSection(threshold=0.8, review_from=0.6)


def pairs(*rows: tuple[int, int]) -> ScoredPairs:
    found = np.array(rows, dtype=np.int64).reshape(-1, 2)
    return ScoredPairs(found[:, 0], found[:, 1], np.ones(len(found)))


def test_people_are_followed_over_three_hospitals():
    matches = {(0, 1): pairs((0, 1)), (1, 2): pairs((1, 0)), (0, 2): pairs((2, 1))}
    people = join_people([3, 2, 2], matches)
    assert [rows.tolist() for rows in people.of_record] == [[0, 1, 2], [3, 0], [0, 2]]
    assert people.n_people == 4
    assert people.n_records == 7
    people.require_settled()


def test_a_person_twice_in_one_list_is_a_conflict():
    matches = {(0, 1): pairs((0, 0)), (1, 2): pairs((0, 0)), (0, 2): pairs((1, 0))}
    people = join_people([2, 1, 1], matches)
    assert people.n_conflicts == 1
    with pytest.raises(LinkageError, match="two records in one list"):
        people.require_settled()


def test_duplicates_inside_a_list_are_no_conflict_where_they_were_looked_for():
    people = join_people([3], {(0, 0): pairs((0, 2))})
    assert people.of_record[0].tolist() == [0, 1, 0]
    assert people.n_conflicts == 0


def test_undecided_pairs_say_how_many_rows_a_person_might_have():
    undecided = {(0, 1): pairs((0, 1), (1, 1))}
    people = join_people([3, 2], {(0, 1): pairs((0, 0))}, undecided)
    assert people.rows_per_person_max == 3
    with pytest.raises(LinkageError, match="one person 3 rows"):
        people.require_settled()


def test_an_undecided_pair_that_is_settled_another_way_costs_nothing():
    people = join_people([1, 1], {(0, 1): pairs((0, 0))}, {(0, 1): pairs((0, 0))})
    assert people.rows_per_person_max == 1


def test_rows_that_do_not_exist_are_refused():
    with pytest.raises(LinkageError, match="rows of list 2"):
        join_people([1, 1], {(0, 1): pairs((0, 1))})


def test_no_lists_hold_nobody():
    assert join_people([0], {}).n_people == 0


def test_two_local_keys_of_one_patient_are_found():
    generator = np.random.default_rng(2)
    bits = generator.random((4, 256)) < 0.3
    bits[3] = bits[1]
    bits[3, :4] ^= True
    packed = np.packbits(bits, axis=1)
    found = find_duplicates(RULES, packed)
    assert list(zip(found.same.left, found.same.right, strict=True)) == [(1, 3)]
    by_number = find_duplicates(RULES, packed, ["a", "b", "a", "c"])
    assert list(zip(by_number.same.left, by_number.same.right, strict=True)) == [(0, 2)]
    assert list(zip(by_number.review.left, by_number.review.right, strict=True)) == [(1, 3)]
    assert len(find_duplicates(RULES, None, ["a", "", ""]).same) == 0
