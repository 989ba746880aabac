"""Properties of ranking and picking that must hold for anything whatever."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from neuroveil.privacy.codebook.design import PROBABILITY_BITS, CodebookDesign
from neuroveil.privacy.codebook.messages import pick
from neuroveil.privacy.codebook.ranking import top_mask
from neuroveil.types.recording import FloatArray

ANY_SCORES = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 4), st.integers(1, 12)),
    elements=st.floats(width=16, allow_nan=True, allow_infinity=True),
)


@given(ANY_SCORES, st.data())
def test_exactly_k_are_marked_and_none_beats_them(scores: FloatArray, data: st.DataObject) -> None:
    top = data.draw(st.integers(1, scores.shape[1]))
    mask = top_mask(scores, top)
    assert (mask.sum(axis=1) == top).all()
    for row, marked in zip(np.nan_to_num(scores, nan=-np.inf, posinf=np.inf), mask, strict=True):
        ranked = sorted(range(len(row)), key=lambda j: (-row[j], j))
        assert set(ranked[:top]) == set(np.flatnonzero(marked))


@given(st.integers(2, 40), st.data())
def test_ranks_reach_every_codeword_exactly_once(size: int, data: st.DataObject) -> None:
    top = data.draw(st.integers(1, size - 1))
    close = np.sort(np.array(data.draw(st.permutations(range(size)))[:top], dtype=np.int64))
    draws = [(1, rank) for rank in range(top)] + [(0, rank) for rank in range(size - top)]
    is_close, rank = np.array(draws, dtype=np.int64).T
    numbers = pick(np.tile(close, (size, 1)), is_close, rank)
    assert sorted(numbers.tolist()) == list(range(size))
    assert set(numbers[:top].tolist()) == set(close.tolist())


@given(
    st.floats(1e-6, 1000, allow_nan=False),
    st.integers(2, 1 << 24),
    st.data(),
)
def test_chance_of_a_close_codeword_is_never_one(
    epsilon: float, size: int, data: st.DataObject
) -> None:
    top = data.draw(st.integers(1, size // 2))
    design = CodebookDesign(epsilon, 3, size, top)
    assert 0 < design.threshold < 1 << PROBABILITY_BITS
    assert design.likelihood_ratio >= 1
    larger = CodebookDesign(min(1000.0, epsilon * 1.5), 3, size, top)
    assert larger.likelihood_ratio >= design.likelihood_ratio
