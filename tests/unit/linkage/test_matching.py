import itertools

import numpy as np
import pytest

from neuroveil.errors import LinkageError
from neuroveil.linkage.bloom import encode_records
from neuroveil.linkage.dice import ScoredPairs
from neuroveil.linkage.matching import REASONS, SiteList, assign_one_to_one, match_lists
from neuroveil.linkage.schema import MatchingSection

RULES = MatchingSection(threshold=0.8, review_from=0.6)


def pairs(*triples: tuple[int, int, float]) -> ScoredPairs:
    left, right, scores = zip(*triples, strict=True)
    return ScoredPairs(np.array(left), np.array(right), np.array(scores))


def ones(n_records: int) -> np.ndarray:
    """Encodings that differ, for matchings whose candidates are given."""
    return np.packbits(np.eye(n_records, 64, dtype=np.uint8), axis=1)


def listed(n_records: int, ids: list[str] | None = None) -> SiteList:
    return SiteList(ones(n_records), ids)


def found(matching) -> set[tuple[int, int]]:
    return set(zip(matching.matches.left.tolist(), matching.matches.right.tolist(), strict=True))


def review(matching) -> list[tuple[int, int, str]]:
    return [
        (i, j, REASONS[reason])
        for i, j, reason in zip(
            matching.review.left.tolist(), matching.review.right.tolist(),
            matching.review_reasons.tolist(), strict=True,
        )
    ]  # fmt: skip


def test_the_best_assignment_is_found_in_every_small_case():
    generator = np.random.default_rng(9)
    for _ in range(60):
        scores = generator.random((4, 3)) * (generator.random((4, 3)) < 0.6)
        i, j = np.nonzero(scores)
        if not len(i):
            continue
        chosen = assign_one_to_one(ScoredPairs(i, j, scores[i, j]))
        assert len(set(i[chosen])) == len(set(j[chosen])) == len(chosen)
        best = max(
            sum(scores[rows[column], column] for column in range(3))
            for rows in itertools.permutations(range(4), 3)
        )
        assert np.isclose(scores[i, j][chosen].sum(), best)


def test_equal_identifiers_come_first_whatever_the_encodings_say():
    candidates = pairs((0, 1, 0.95), (1, 1, 0.9))
    matching = match_lists(listed(2, ["a", ""]), listed(2, ["a", ""]), RULES, candidates)
    assert found(matching) == {(0, 0), (1, 1)}
    assert matching.n_exact == 1
    assert matching.matches.scores[0] == 1.0
    assert review(matching) == [(0, 1, "rival")]


def test_somebody_without_a_number_who_looks_like_a_matched_person_is_for_a_person():
    """Perhaps the same patient under a second key; with another number it is somebody else."""
    candidates = pairs((0, 0, 0.7), (1, 0, 0.9), (2, 0, 0.95), (3, 0, 0.79))
    left, right = listed(4, ["a", "", "b", ""]), listed(1, ["a"])
    matching = match_lists(left, right, RULES, candidates)
    assert found(matching) == {(0, 0)}
    assert review(matching) == [(1, 0, "rival")]


def test_different_numbers_are_never_matched_by_likeness():
    matching = match_lists(listed(1, ["a"]), listed(1, ["b"]), RULES, pairs((0, 0, 0.99)))
    assert found(matching) == set()
    assert review(matching) == [(0, 0, "different_numbers")]


def test_a_record_without_number_may_match_one_with():
    matching = match_lists(listed(1, ["a"]), listed(1, [""]), RULES, pairs((0, 0, 0.99)))
    assert found(matching) == {(0, 0)}


def test_the_loser_of_two_candidates_and_the_grey_zone_go_to_a_person():
    candidates = pairs((0, 0, 0.95), (1, 0, 0.85), (2, 2, 0.7), (0, 2, 0.65), (3, 3, 0.5))
    matching = match_lists(listed(4), listed(4), RULES, candidates)
    assert found(matching) == {(0, 0)}
    assert review(matching) == [(1, 0, "rival"), (2, 2, "grey_zone")]
    assert matching.counts() == {
        "matches": 1, "exact": 0, "review": 2, "grey_zone": 1, "rival": 1, "different_numbers": 0,
    }  # fmt: skip


def test_encodings_of_real_lists_are_matched(make_schema, make_keys, people):
    schema = make_schema()
    bits = encode_records(people, schema, make_keys(schema))
    matching = match_lists(SiteList(bits[:2]), SiteList(bits[2:]), RULES)
    assert found(matching) == {(0, 0)}


def test_lists_of_identifiers_alone_are_matched():
    left, right = SiteList(global_ids=["a", "", "c"]), SiteList(global_ids=["c", "d", ""])
    matching = match_lists(left, right, RULES)
    assert found(matching) == {(2, 0)}
    assert len(matching.review) == 0


def test_wrong_lists_are_refused():
    with pytest.raises(LinkageError, match="neither"):
        SiteList()
    with pytest.raises(LinkageError, match="2 encodings and 1 identifiers"):
        SiteList(ones(2), ["a"])
    with pytest.raises(LinkageError, match="1 repeated"):
        SiteList(global_ids=["a", "a"])


def test_a_threshold_that_tells_nobody_apart_is_refused(monkeypatch):
    monkeypatch.setattr("neuroveil.linkage.matching._LARGEST_COMPONENT", 2)
    crowd = pairs(*[(i, j, 0.9) for i in range(3) for j in range(3)])
    with pytest.raises(LinkageError, match="Learn the threshold"):
        match_lists(listed(3), listed(3), RULES, crowd)
