"""The k-closest codebook mechanism: exact chances, exact messages, unbiased rows."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from neuroveil.errors import ChainError
from neuroveil.privacy.bounds import IntArray
from neuroveil.privacy.codebook.design import CodebookDesign, best_top
from neuroveil.privacy.codebook.messages import Messages, pick
from neuroveil.privacy.codebook.ranking import top_mask
from neuroveil.privacy.codebook.vectors import SEED_BYTES, Codebook
from neuroveil.privacy.mechanisms.contract import CodebookOptions, Draws, MechanismSpec
from neuroveil.privacy.mechanisms.privunit import PrivUnit, make_privunit
from neuroveil.privacy.randomness import SimulationRandomness
from neuroveil.privacy.sampling import SystemRandomness
from neuroveil.types.recording import FloatArray

SEED = bytes(range(SEED_BYTES))


def make(
    epsilon: float = 5.0, dimension: int = 20, size: int = 4096, seed: bytes | None = SEED
) -> PrivUnit:
    spec = MechanismSpec("privunit", epsilon, 0.0, 2.0, "l2", dimension)
    return PrivUnit(spec, best_top(epsilon, dimension, size), seed)


def small(epsilon: float = 1.0) -> PrivUnit:
    """Twelve codewords, three of them close: small enough to list everything."""
    spec = MechanismSpec("privunit", epsilon, 0.0, 2.0, "l2", 3)
    return PrivUnit(spec, CodebookDesign(epsilon, 3, 12, 3), SEED)


@pytest.fixture(name="rows")
def fixture_rows() -> FloatArray:
    rows = np.random.default_rng(8).standard_normal((400, 20))
    rows[:50] *= 0.1  # shorter than the clipping norm: the lifted column matters
    return rows


def chances(mechanism: PrivUnit, close: IntArray) -> list[Fraction]:
    """Exact chance of every codeword, by listing all draws for one row."""
    design = mechanism.design
    top = Fraction(design.threshold, 1 << 128)
    result = [Fraction(0)] * design.size
    for is_close, number in ((1, design.top), (0, design.size - design.top)):
        for rank in range(number):
            codeword = int(pick(close[None], np.array([is_close]), np.array([rank]))[0])
            result[codeword] += (top if is_close else 1 - top) / number
    return result


@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 20.0, 40.0, 1000.0])
def test_no_output_is_more_than_e_to_the_epsilon_likelier_from_one_row(epsilon: float) -> None:
    """Pure epsilon in exact arithmetic, also for rankings made of NaN, ties and infinities."""
    mechanism = small(epsilon)
    rows = mechanism.bound(np.array([[1.0, 2, 3], [-5, 0.1, 0], [0, 0, 0]]))
    sets = list(mechanism.close_sets(mechanism.lift(rows), SEED))
    broken = np.array([[np.nan] * 12, [0.0] * 12, [np.inf, np.nan, -np.inf] * 4])
    sets += [np.flatnonzero(mask) for mask in top_mask(broken, 3)]
    tables = [chances(mechanism, close) for close in sets]
    for table in tables:
        assert sum(table) == 1
        assert min(table) > 0
    for one in tables:
        for other in tables:
            ratios = [a / b for a, b in zip(one, other, strict=True)]
            assert max(ratios) <= mechanism.design.likelihood_ratio
    assert max(tables[0]) / min(tables[0]) == mechanism.design.likelihood_ratio


@pytest.mark.slow
def test_released_codewords_follow_their_chances() -> None:
    """60,000 unseeded draws in 12 cells: chi-square, false alarm below 1e-7."""
    from scipy.stats import chi2

    mechanism, n = small(), 60_000
    row = mechanism.bound(np.tile([1.0, 2.0, 3.0], (n, 1)))
    numbers = mechanism.messages(row, mechanism.draw(n, SystemRandomness())).numbers
    expected = chances(mechanism, mechanism.close_sets(mechanism.lift(row[:1]), SEED)[0])
    counts = Counter(numbers.tolist())
    statistic = sum((counts[j] - n * e) ** 2 / (n * e) for j, e in enumerate(expected))
    assert float(statistic) < chi2.isf(1e-7, 11)


def test_draws_are_made_without_data_and_replay(rows: FloatArray) -> None:
    mechanism = make()
    draws = mechanism.draw(400, SystemRandomness())
    rows_int = mechanism.bound(rows)
    values = mechanism.apply(rows_int, draws)
    np.testing.assert_array_equal(mechanism.apply(rows_int, draws), values)
    close = Draws(
        np.concatenate([np.ones((400, 1), np.int64), draws.integers[:, 1:]], 1) % 40, draws.sampler
    )
    values = mechanism.apply(rows_int, close)
    neighbour = rows_int.copy()
    neighbour[70] = -neighbour[70]  # a long row: short ones share codewords
    changed = (mechanism.apply(neighbour, close) != values).any(axis=1)
    assert np.flatnonzero(changed).tolist() == [70]


def test_rows_are_functions_of_seed_and_number_bit_by_bit(rows: FloatArray) -> None:
    mechanism = make(dimension=20)
    rows_int = mechanism.bound(rows)
    draws = mechanism.draw(400, SystemRandomness())
    values, messages = mechanism.apply(rows_int, draws), mechanism.messages(rows_int, draws)
    codebook = Codebook(SEED, mechanism.design.size, 21)
    for row, number in enumerate(messages.numbers.tolist()):
        direction = codebook.directions(number, number + 1)[0].astype(float)
        length = math.sqrt(float(direction @ direction))
        by_hand = direction[:20] / length * mechanism.decoding_scale
        assert values[row].tobytes() == by_hand.tobytes()
    again = mechanism.decode(Messages(messages.numbers[::-1].copy(), messages.seeds[::-1]))
    assert again[::-1].tobytes() == values.tobytes()


def test_the_released_set_of_floats_is_the_codebook_whatever_the_row() -> None:
    """The bit-level test: any released float is one that any other row could have released."""
    mechanism = small()
    table = mechanism.decode(Messages(np.arange(12), (SEED,) * 12))
    possible = {row.tobytes() for row in table}
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.standard_normal((500, 3)), np.full((1, 3), 1 / 3), np.zeros((9, 3))])
    values = mechanism.apply(mechanism.bound(rows), mechanism.draw(510, SystemRandomness()))
    assert {row.tobytes() for row in values} <= possible
    zeros = mechanism.bound(np.zeros((3000, 3)))
    from_zero = mechanism.apply(zeros, mechanism.draw(3000, SystemRandomness()))
    # The rarest codeword has a chance of 1 / (9 e / 3 + 9): 3000 draws miss it once in 1e84.
    assert {row.tobytes() for row in from_zero} == possible


@pytest.mark.slow
@pytest.mark.parametrize("seed", [SEED, None])
def test_error_and_correlation_are_those_predicted(seed: bytes | None) -> None:
    """8,000 rows of norm C from fresh codebooks or one: within 5 standard errors (seeded)."""
    n = 8_000 if seed else 1_500
    mechanism = make(epsilon=6.0, dimension=12, size=4096, seed=seed)
    rows = np.random.default_rng(1).standard_normal((n, 12)) * 10
    rows_int = mechanism.bound(rows)
    values = mechanism.apply(rows_int, mechanism.draw(n, SimulationRandomness(4)))
    truth = mechanism.to_scaled(rows_int)
    squares = ((values - truth) ** 2).sum(axis=1) / 4
    predicted = mechanism.predict()
    allowance = 0.01 * predicted.mse_over_clip_norm_squared if seed else 0.0
    assert abs(squares.mean() - predicted.mse_over_clip_norm_squared) < (
        5 * squares.std() / math.sqrt(n) + allowance
    )
    correlation = np.corrcoef(values.ravel(), truth.ravel())[0, 1]
    assert abs(correlation - predicted.correlation) < 5 / math.sqrt(12 * n) + 0.005
    assert predicted.rmse == pytest.approx(
        2 * math.sqrt(predicted.mse_over_clip_norm_squared / 12), rel=1e-12
    )
    assert np.abs(values - truth).mean() == pytest.approx(predicted.mae, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("length", [0.0, 0.3, 2.0])
def test_fresh_codebooks_make_rows_unbiased_at_every_length(length: float) -> None:
    """4,000 releases of one row, a codebook each: the mean within 5 standard errors (seeded)."""
    n = 4_000
    mechanism = make(epsilon=4.0, dimension=6, size=256, seed=None)
    row = length * np.array([0.8, 0.0, -0.6, 0.0, 0.0, 0.0])
    rows_int = mechanism.bound(np.tile(row, (n, 1)))
    values = mechanism.apply(rows_int, mechanism.draw(n, SimulationRandomness(6)))
    error = values.std(axis=0) / math.sqrt(n)
    assert (np.abs(values.mean(axis=0) - row) < 5 * error + 1e-6).all()


@pytest.mark.slow
def test_the_bias_of_one_codebook_is_as_stated() -> None:
    """Mean square of E[output] - row over 300 codebooks, computed without drawing (seeded)."""
    mechanism = make(epsilon=5.0, dimension=20, size=256)
    design, biases = mechanism.design, []
    row = mechanism.bound(np.full((1, 20), 1.0))
    truth, lifted = mechanism.to_scaled(row)[0], mechanism.lift(row)
    source = np.random.default_rng(2)
    for _ in range(300):
        seed = source.bytes(SEED_BYTES)
        close = mechanism.close_sets(lifted, seed)[0]
        vectors = Codebook(seed, 256, 21).vectors(np.arange(256))
        outside = (1 - design.probability) / (256 - design.top)
        weight = np.full(256, outside)
        weight[close] = design.probability / design.top
        mean = (weight @ vectors)[:20] * mechanism.decoding_scale
        biases.append(((mean - truth) ** 2).sum() / 4)
    error = np.std(biases) / math.sqrt(300)
    # The stated figure leaves the row's own direction out, less than 1 % of it here.
    stated = design.bias_over_clip_norm_squared
    assert abs(np.mean(biases) - stated) < 5 * error + 0.01 * stated


def test_rows_that_share_a_codebook_are_ranked_by_its_seed_alone(rows: FloatArray) -> None:
    mechanism = make(seed=None, size=512)
    draws = mechanism.draw(5, SystemRandomness())
    assert draws.integers.shape == (5, 6)
    messages = mechanism.messages(mechanism.bound(rows[:5]), draws)
    assert len(set(messages.seeds)) == 5
    for row in range(5):
        alone = replace(mechanism, codebook_seed=messages.seeds[row])
        two = Draws(draws.integers[row : row + 1, :2], draws.sampler)
        same = alone.messages(alone.bound(rows[row : row + 1]), two)
        assert same.numbers[0] == messages.numbers[row]


def test_a_release_draws_a_fresh_seed_each_time() -> None:
    spec = MechanismSpec("privunit", 1.0, 0.0, 2.0, "l2", 20)
    mechanism = make_privunit(spec)
    seeds = {mechanism.renewed(SystemRandomness()).codebook_seed for _ in range(5)}
    assert len(seeds | {mechanism.codebook_seed}) == 6
    assert make_privunit(spec).codebook_seed == mechanism.codebook_seed
    fresh = make_privunit(replace(spec, codebook=CodebookOptions(fresh_per_row=True)))
    assert fresh.renewed(SystemRandomness()).codebook_seed is None


def test_the_lifted_row_has_the_length_of_the_clip(rows: FloatArray) -> None:
    for clip_norm in (2.0, 1.7, 1e-9, 1e9):
        mechanism = make()
        mechanism = replace(mechanism, spec=replace(mechanism.spec, clip_norm=clip_norm))
        lifted = mechanism.lift(mechanism.bound(rows * clip_norm)).astype(float)
        length = np.linalg.norm(lifted, axis=1) * 2.0**mechanism.grid_log2
        np.testing.assert_allclose(length, clip_norm, rtol=1e-7)
        assert (lifted[:, -1] >= 0).all()


def test_bounded_rows_come_back_on_the_scaled_axis(rows: FloatArray) -> None:
    mechanism = make()
    scaled = mechanism.to_scaled(mechanism.bound(rows))
    np.testing.assert_allclose(scaled, mechanism.clip.apply(rows), atol=2.0**-26)


def test_facts_state_the_codebook_and_the_chance() -> None:
    mechanism = make()
    facts = mechanism.facts()
    assert set(facts) == {"bound", "sensitivity", "mechanism", "guarantee"}
    stated = facts["mechanism"]
    assert stated["codebook_seed"].value == SEED.hex()
    chance = Fraction(mechanism.design.threshold, 1 << 128)
    assert Fraction(stated["top_probability"].value) == chance
    assert stated["top_probability"].value.endswith(f"/{1 << 128}")
    assert Fraction(stated["likelihood_ratio"].value) == mechanism.design.likelihood_ratio
    assert (stated["codebook_size"].value, stated["codebook_top"].value) == (
        mechanism.design.size, mechanism.design.top,
    )  # fmt: skip
    assert stated["decoding_scale"].value == 2.0 / mechanism.design.alignment
    assert facts["guarantee"]["epsilon_supported"].value <= 5.0
    assert stated["codebook_per_message"].value is False
    fresh = make(seed=None).facts()["mechanism"]
    assert fresh["codebook_seed"].value is None
    assert fresh["codebook_per_message"].value is True


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 5.0, 80.0, 1000.0])
def test_the_guarantee_is_pure_and_holds(epsilon: float) -> None:
    guarantee = small(epsilon).guarantee
    assert guarantee.variant == "pure_dp"
    assert guarantee.delta == 0
    assert guarantee.holds
    # Beyond 2^128 the chance of another codeword stays at 2^-128: more private than asked.
    assert guarantee.epsilon_supported == pytest.approx(
        min(epsilon, 128 * math.log(2) + math.log(3)), rel=1e-6
    )


@pytest.mark.parametrize(
    "change",
    [{"norm": "l1"}, {"delta": 1e-5}, {"epsilon": 2.0}, {"dimension": 21}, {"clip_norm": 0.0}],
)
def test_specifications_that_do_not_fit_are_refused(change: dict[str, object]) -> None:
    mechanism = make()
    with pytest.raises(ChainError):
        PrivUnit(replace(mechanism.spec, **change), mechanism.design, SEED)  # type: ignore[arg-type]


def test_a_seed_of_another_length_is_refused() -> None:
    with pytest.raises(ChainError, match="codebook_seed"):
        make(seed=b"short")


def test_rows_and_draws_must_fit(rows: FloatArray) -> None:
    mechanism = make()
    rows_int = mechanism.bound(rows)
    with pytest.raises(ChainError, match="draws"):
        mechanism.apply(rows_int, mechanism.draw(3, SystemRandomness()))
    with pytest.raises(ChainError, match="draws"):
        mechanism.apply(rows_int, make(seed=None).draw(400, SystemRandomness()))
    with pytest.raises(ChainError, match="finite"):
        mechanism.bound(np.full((2, 20), np.nan))
    with pytest.raises(ChainError, match="columns"):
        mechanism.bound(rows[:, :19])
