"""The one suite that every row mechanism passes; a new mechanism joins by one line in CASES."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from neuroveil.audit.mechanism.black_box import BlackBoxSettings
from neuroveil.audit.mechanism.black_box_result import audit_black_box
from neuroveil.audit.mechanism.canaries import dense_row
from neuroveil.audit.mechanism.codeword_noise import audit_codewords
from neuroveil.audit.mechanism.noise import audit_noise
from neuroveil.audit.replay import ReplayedSubject, audit_replay
from neuroveil.audit.subjects.ours import at_dimension, our_mechanism
from neuroveil.errors import ChainError
from neuroveil.privacy.codebook.vectors import Codebook
from neuroveil.privacy.mechanisms.contract import CodebookOptions, MechanismSpec, RowMechanism
from neuroveil.privacy.mechanisms.privunit import PrivUnit
from neuroveil.privacy.mechanisms.registry import MECHANISM_NAMES, make_mechanism
from neuroveil.privacy.randomness import SimulationRandomness
from neuroveil.privacy.sampling import SystemRandomness
from neuroveil.types.recording import FloatArray

CASES: list[MechanismSpec] = [
    MechanismSpec("gaussian", 1.0, 1e-5, 2.0, "l2", 363),
    MechanismSpec("laplace", 1.0, 0.0, 2.0, "l2", 363),
    MechanismSpec("laplace", 1.0, 0.0, 2.0, "l1", 363),
    MechanismSpec("paper_laplace", 1.0, 0.0, 2.0, "l2", 363),
    MechanismSpec("privunit", 1.0, 0.0, 2.0, "l2", 363, CodebookOptions(4096)),
    MechanismSpec("privunit", 1.0, 0.0, 2.0, "l2", 363, CodebookOptions(4096, fresh_per_row=True)),
]
FORMAL = [spec for spec in CASES if spec.name != "paper_laplace"]
ADDITIVE = [spec for spec in CASES if spec.name != "privunit"]
FALSE_ALARM = 1e-7
CERTAIN = 1 - FALSE_ALARM


def label(spec: MechanismSpec) -> str:
    return f"{spec.name}-{spec.norm}" + ("-fresh" if spec.codebook.fresh_per_row else "")


every_additive_mechanism = pytest.mark.parametrize("spec", ADDITIVE, ids=label)
every_mechanism = pytest.mark.parametrize("spec", CASES, ids=label)
# A codebook of its own for each of thousands of rows would take half an hour; each of them is
# one that the mechanism with a shared codebook can have.
AUDITED = [spec for spec in CASES if not spec.codebook.fresh_per_row]


def rows(dimension: int) -> st.SearchStrategy[FloatArray]:
    return arrays(np.float64, (2, dimension), elements=st.floats(-1e6, 1e6))


def test_the_suite_covers_every_mechanism() -> None:
    assert {spec.name for spec in CASES} == set(MECHANISM_NAMES)


@every_additive_mechanism
@given(data=st.data())
def test_neighbours_are_at_most_the_sensitivity_apart_in_integers(
    spec: MechanismSpec, data: st.DataObject
) -> None:
    """Any two rows that one patient could have; distances are exact."""
    dimension = data.draw(st.integers(1, 12))
    mechanism = make_mechanism(replace(spec, dimension=dimension))
    facts = mechanism.facts()
    first, second = mechanism.bound(data.draw(rows(dimension))).tolist()
    steps = [a - b for a, b in zip(first, second, strict=True)]
    limit = Fraction(facts["sensitivity"]["value"].value) / Fraction(2) ** grid_log2(mechanism)
    if facts["sensitivity"]["norm"].value == "l2":
        assert sum(step**2 for step in steps) <= limit**2
    else:
        assert sum(abs(step) for step in steps) <= limit


def grid_log2(mechanism: RowMechanism) -> int:
    return int(mechanism.facts()["bound"]["grid_log2"].value)


def extreme_pair(spec: MechanismSpec) -> FloatArray:
    """Two rows at the ends of the ball, as far apart as the mechanism's norm allows."""
    corner = np.full(spec.dimension, 1.0)
    axis = np.zeros(spec.dimension)
    axis[0] = 1.0
    direction = axis if spec.norm == "l1" or spec.name == "gaussian" else corner
    return np.stack([direction, -direction]) * 1e3


@every_additive_mechanism
def test_the_sensitivity_is_attained(spec: MechanismSpec) -> None:
    mechanism = make_mechanism(spec)
    first, second = mechanism.to_scaled(mechanism.bound(extreme_pair(spec)))
    order = 2 if mechanism.facts()["sensitivity"]["norm"].value == "l2" else 1
    distance = np.linalg.norm(first - second, ord=order)
    assert distance == pytest.approx(mechanism.facts()["sensitivity"]["value"].value, rel=1e-9)


@every_mechanism
def test_draws_can_be_replayed_on_a_neighbouring_table(spec: MechanismSpec) -> None:
    mechanism = make_mechanism(spec)
    pair = mechanism.bound(extreme_pair(spec))
    draws = mechanism.draw(2, SystemRandomness())
    values = mechanism.apply(pair, draws)
    assert (mechanism.apply(pair, draws) == values).all()
    swapped = mechanism.apply(pair[::-1].copy(), draws)
    if spec in ADDITIVE:
        shift = mechanism.to_scaled(pair[::-1] - pair)
        assert (swapped - values == shift).all()


@every_mechanism
def test_public_randomness_is_all_that_is_renewed(spec: MechanismSpec) -> None:
    """A renewed mechanism has the same specification, guarantee and forecast."""
    mechanism = make_mechanism(spec)
    renewed = mechanism.renewed(SystemRandomness())
    assert (renewed.spec, renewed.guarantee) == (spec, mechanism.guarantee)
    assert renewed.predict() == mechanism.predict()
    shares_codebook = spec.name == "privunit" and not spec.codebook.fresh_per_row
    assert (renewed != mechanism) == shares_codebook


@every_mechanism
def test_drawing_does_not_look_at_the_rows(spec: MechanismSpec) -> None:
    mechanism = make_mechanism(spec)
    first = mechanism.draw(3, SimulationRandomness(5)).integers
    mechanism.bound(np.random.default_rng(0).normal(size=(3, spec.dimension)))
    assert (mechanism.draw(3, SimulationRandomness(5)).integers == first).all()


@every_additive_mechanism
@pytest.mark.parametrize("value", [0.0, 1.0, 2 / math.sqrt(363)])
def test_every_released_float_is_a_multiple_of_the_grid(spec: MechanismSpec, value: float) -> None:
    """MECHANISMS section 3: floats from 0, 1 and 2/sqrt(d) all look alike in their low bits."""
    mechanism = make_mechanism(spec)
    table = np.zeros((20, spec.dimension))
    table[:, 0 if value == 1.0 else slice(None)] = value
    values = mechanism.apply(mechanism.bound(table), mechanism.draw(20, SystemRandomness()))
    units = np.ldexp(values, -grid_log2(mechanism))
    assert (units == np.rint(units)).all()
    assert (np.abs(units) < 2.0**53).all()  # so that no bit was lost on the way to floats
    odd = (units.astype(np.int64) & 1).mean()
    assert stats.binomtest(int(odd * units.size), units.size).pvalue > FALSE_ALARM


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("value", [0.0, 1.0, 2 / math.sqrt(3)])
def test_every_released_float_is_one_that_any_row_can_give(value: float, fresh: bool) -> None:
    """MECHANISMS section 3 for codewords: floats are those of the codebook, whatever the row."""
    options = CodebookOptions(4096, fresh)
    mechanism = make_mechanism(MechanismSpec("privunit", 1.0, 0.0, 2.0, "l2", 3, options))
    assert isinstance(mechanism, PrivUnit)
    table = np.zeros((20, 3))
    table[:, 0 if value == 1.0 else slice(None)] = value
    rows_int = mechanism.bound(table)
    draws = mechanism.draw(20, SystemRandomness())
    messages, values = mechanism.messages(rows_int, draws), mechanism.apply(rows_int, draws)
    for seed, number, row in zip(messages.seeds, messages.numbers, values, strict=True):
        codeword = Codebook(seed, mechanism.design.size, 4).vectors(np.array([number]))[0]
        assert row.tobytes() == (codeword[:3] * mechanism.decoding_scale).tobytes()


@every_mechanism
def test_a_smaller_epsilon_never_has_a_smaller_error(spec: MechanismSpec) -> None:
    stds = [
        make_mechanism(replace(spec, epsilon=epsilon)).predict().rmse
        for epsilon in (1e-6, 1e-3, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0, 100.0, 1000.0)
    ]
    assert stds == sorted(stds, reverse=True)
    assert stds[-1] > 0


@every_mechanism
@pytest.mark.parametrize("epsilon", [1e-6, 1000.0])
@pytest.mark.parametrize("delta", [1e-17, 0.1])
@pytest.mark.parametrize("clip_norm", [1e-9, 1e9])
def test_the_ends_of_the_ranges_can_be_calibrated_and_drawn(
    spec: MechanismSpec, epsilon: float, delta: float, clip_norm: float
) -> None:
    delta = delta if spec.delta else 0.0
    mechanism = make_mechanism(
        replace(spec, epsilon=epsilon, delta=delta, clip_norm=clip_norm, dimension=4)
    )
    if spec in FORMAL:
        assert mechanism.guarantee.holds
    assert mechanism.facts()["guarantee"]["delta_calibrated"].value <= delta
    rows_int = mechanism.bound(np.full((2, 4), 1e12))
    values = mechanism.apply(rows_int, mechanism.draw(2, SystemRandomness()))
    assert np.isfinite(values).all()
    assert np.abs(values).max() < 1e3 * (clip_norm + mechanism.predict().rmse)


@every_mechanism
@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": 0.0}, {"epsilon": -1.0}, {"epsilon": math.nan}, {"epsilon": math.inf},
        {"epsilon": 1e-9}, {"epsilon": 2000.0}, {"delta": -1e-5}, {"delta": math.nan},
        {"delta": 1.0}, {"clip_norm": 0.0}, {"clip_norm": math.nan}, {"clip_norm": -2.0},
        {"clip_norm": math.inf}, {"dimension": 0}, {"dimension": -1}, {"norm": "linf"},
    ],
    ids=str,
)  # fmt: skip
def test_bad_parameters_are_refused(spec: MechanismSpec, change: dict[str, object]) -> None:
    with pytest.raises(ChainError):
        make_mechanism(replace(spec, **change))  # type: ignore[arg-type]


@every_mechanism
@pytest.mark.parametrize(
    "table",
    [
        np.array([[math.nan] + [0.0] * 362]), np.array([[math.inf] + [0.0] * 362]),
        np.zeros((2, 362)), np.zeros((2, 364)), np.zeros(363), np.zeros((0, 363)),
        np.zeros((2, 363), dtype=np.float32),
    ],
    ids=["NaN", "infinite", "narrow", "wide", "one axis", "no row", "float32"],
)  # fmt: skip
def test_bad_rows_are_refused(spec: MechanismSpec, table: FloatArray) -> None:
    with pytest.raises(ChainError):
        make_mechanism(spec).bound(table)


@every_mechanism
def test_replay_moves_one_row_by_at_most_the_sensitivity(spec: MechanismSpec) -> None:
    """Audit, tier 1: the same draws on nine kinds of neighbouring tables. Fixed seed."""
    subject = our_mechanism(at_dimension(spec, 8), simulated=True)
    result = audit_replay(ReplayedSubject(subject), n_rows=3, n_rounds=1)
    assert result.verdict == "no_attack_succeeded"
    assert result.figure("moved_others").value == 0.0


def audited(*, all_on_system: bool) -> list[Any]:
    """Every mechanism with simulated noise, and with the exact noise of a release."""
    simulated = [pytest.param(spec, True, id=f"{label(spec)}-simulation") for spec in AUDITED]
    system = [
        pytest.param(spec, False, id=f"{label(spec)}-system", marks=pytest.mark.slow)
        for spec in AUDITED
        if all_on_system or spec in FORMAL
    ]
    return simulated + system


@pytest.mark.parametrize(("spec", "simulated"), audited(all_on_system=True))
def test_released_noise_has_the_promised_scale_and_law(
    spec: MechanismSpec, simulated: bool
) -> None:
    """Audit, tier 2: 18,150 cells, or 2,000 codewords. False alarms: below 1e-7."""
    seed = 8 if simulated else None
    if spec.name == "privunit":
        subject = our_mechanism(at_dimension(spec, 3), simulated=simulated)
        row = dense_row(subject.facts)
        result = audit_codewords(subject.facts, subject.run(row, 2000, seed), row, CERTAIN)
    else:
        subject = our_mechanism(spec, simulated=simulated)
        rows = np.repeat(dense_row(subject.facts), 50, axis=0)
        released = subject.run(rows, 1, seed).reshape(rows.shape)
        result = audit_noise(subject.facts, released, rows, CERTAIN)
    if spec.name == "paper_laplace":
        assert result.verdict == "violated"
        assert result.figure("noise_scale").low < 4.0 < result.figure("noise_scale").high
    else:
        assert result.verdict == "no_attack_succeeded"


@pytest.mark.parametrize(("spec", "simulated"), audited(all_on_system=False))
def test_a_short_black_box_audit_finds_what_there_is(spec: MechanismSpec, simulated: bool) -> None:
    """Audit, tier 3: all canary pairs. False alarms: below 3e-7.

    The paper's Laplace is the control, since an audit that never alarms would prove nothing. In
    few columns it is nearly right, so it runs in all of them, which takes simulated noise.
    """
    is_broken = spec.name == "paper_laplace"
    subject = our_mechanism(spec if is_broken else at_dimension(spec, 3), simulated=simulated)
    settings = BlackBoxSettings(5000 if is_broken else 1000, CERTAIN, seed=9)
    result = audit_black_box(subject, settings)
    assert result.verdict == ("violated" if is_broken else "no_attack_succeeded")
    assert result.figure("epsilon_lower_bound").control == 0.0


@every_mechanism
def test_predictions_are_public_and_finite(spec: MechanismSpec) -> None:
    utility = make_mechanism(spec).predict().to_json()
    assert all(math.isfinite(value) for value in utility.values())
    assert set(utility) == {"rmse", "mae", "correlation", "snr_db", "mse_over_clip_norm_squared"}
