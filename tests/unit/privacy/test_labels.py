import itertools
import math
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from neuroveil.errors import ChainError
from neuroveil.privacy.exact import exact
from neuroveil.privacy.labels import LabelPolicy, check_labels, keep_weight, randomise
from neuroveil.privacy.sampling import SystemRandomness
from neuroveil.types.table import FeatureTable

STAGES = LabelPolicy("stage", "randomised_response", ("a", "b", "c"), 1.0)
FALSE_ALARM = 1e-7


class Counting:
    """A source that plays every number below the limit once, to get exact probabilities."""

    def __init__(self) -> None:
        self.limit = 0
        self.next = 0

    def below(self, limit: int) -> int:
        self.limit = limit
        return self.next


def probabilities(value: str, policy: LabelPolicy) -> dict[str, Fraction]:
    """Exact output probabilities, from the draw's first and last number of each category."""
    source = Counting()
    randomise((value,), policy, source)  # type: ignore[arg-type]
    weight, other = keep_weight(policy.epsilon), 1 << 32
    if source.limit == len(policy.categories):
        edges = list(range(source.limit + 1))
    else:
        edges = [0, *range(weight, source.limit + 1, other)]
    found: dict[str, Fraction] = {}
    for low, high in itertools.pairwise(edges):
        answers = set()
        for source.next in (low, (low + high) // 2, high - 1):
            answers |= set(randomise((value,), policy, source))  # type: ignore[arg-type]
        assert len(answers) == 1
        answer = answers.pop()
        found[answer] = found.get(answer, Fraction(0)) + Fraction(high - low, source.limit)
    assert edges[-1] == source.limit
    return found


@given(
    st.floats(1e-6, 50.0),
    st.integers(2, 12),
)
def test_the_ratio_of_probabilities_never_exceeds_e_to_the_epsilon(epsilon: float, k: int) -> None:
    """Exact, over all pairs of true labels, the unknown one included."""
    policy = LabelPolicy(
        "stage", "randomised_response", tuple(f"category {i}" for i in range(k)), epsilon
    )
    tables = [probabilities(value, policy) for value in (*policy.categories[:2], "", "else")]
    for table in tables:
        assert sum(table.values()) == 1
        assert set(table) == set(policy.categories)
    bound = Fraction(keep_weight(epsilon), 1 << 32)
    for first in tables:
        for second in tables:
            assert all(first[c] <= bound * second[c] for c in policy.categories)


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 0.5, 1.0, 3.0, 20.0])
def test_the_weight_is_below_e_to_the_epsilon_and_tight(epsilon: float) -> None:
    ratio = Fraction(keep_weight(epsilon), 1 << 32)
    # Partial sums of the exponential series with a bound on the rest, in rationals.
    x, term, total = exact(epsilon), Fraction(1), Fraction(0)
    for order in range(1, 200):
        total += term
        term = term * x / order
    upper = total + 2 * term
    assert ratio <= upper
    assert ratio >= total - Fraction(2, 1 << 32)


def test_frequencies_over_many_patients() -> None:
    """False alarms: 1e-7."""
    counts = Counter(randomise(("a",) * 30_000, STAGES, SystemRandomness()))
    keep = math.e / (math.e + 2)
    expected = [30_000 * keep, 15_000 * (1 - keep), 15_000 * (1 - keep)]
    assert stats.chisquare([counts[c] for c in "abc"], expected).pvalue > FALSE_ALARM


@pytest.mark.parametrize("value", ["", "unknown", "A", "d"])
def test_an_unknown_value_gives_a_uniform_category(value: str) -> None:
    """False alarms: 1e-7."""
    counts = Counter(randomise((value,) * 9000, STAGES, SystemRandomness()))
    assert stats.chisquare([counts[c] for c in "abc"]).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    ("policy", "categories", "epsilon"),
    [
        ("randomised_response", ("a",), 1.0),
        ("randomised_response", ("a", "a"), 1.0),
        ("randomised_response", (), 1.0),
        ("randomised_response", ("a", "b"), 0.0),
        ("randomised_response", ("a", "b"), math.nan),
        ("randomised_response", ("a", "b"), -1.0),
        ("unprotected", (), 1.0),
        ("left_out", (), 0.0),
    ],
)
def test_policies_that_make_no_sense_are_refused(policy, categories, epsilon: float) -> None:
    with pytest.raises(ChainError, match=r"labels\.stage"):
        LabelPolicy("stage", policy, categories, epsilon)


def test_a_column_that_is_absent_or_listed_twice_is_refused(table: FeatureTable) -> None:
    with pytest.raises(ChainError, match="a column of the roster"):
        check_labels((STAGES,), table)
    twice = LabelPolicy("sex", "randomised_response", ("female", "male"), 0.5)
    with pytest.raises(ChainError, match="every column once"):
        check_labels((twice, LabelPolicy("sex", "unprotected")), table)
