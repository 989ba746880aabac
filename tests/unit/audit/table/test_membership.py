"""Membership against closed forms, with controls, and on tables that are as odd as they come."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from neuroveil.audit.mechanism.estimators import epsilon_cap
from neuroveil.audit.table.additive import AdditiveChannel
from neuroveil.audit.table.effort import Effort
from neuroveil.audit.table.frame import AuditFrame, Claim
from neuroveil.audit.table.games import Kind, make_game, other_patients
from neuroveil.audit.table.membership import attack_membership, play
from neuroveil.audit.table.membership_figures import VIOLATION_LEVEL
from neuroveil.privacy.mechanisms.laplace import PaperLaplace
from neuroveil.types.recording import FloatArray

MakeFrame = Callable[..., AuditFrame]


def test_area_is_that_of_two_normal_laws(make_frame: MakeFrame, effort: Effort) -> None:
    """Opposite rows of norm C under Gaussian noise: Phi(2C / (sqrt(2) sigma)); 12,000 trials."""
    rows = np.random.default_rng(0).normal(size=(17, 30)) * 50  # all are clipped
    frame = make_frame(rows, "gaussian", 2.0)
    target = frame.targets[0]
    assert isinstance(target.channel, AdditiveChannel)
    sigma = target.channel.mechanism.noise_scale
    many = replace(effort, n_trials=12_000)
    area = play(frame, target, Kind("farthest", True), many).game.curve().area
    assert area == pytest.approx(stats.norm.cdf(4 / (np.sqrt(2) * sigma)), abs=0.02)


def test_codewords_of_opposite_rows_reach_what_epsilon_allows(
    make_frame: MakeFrame, rows: FloatArray, effort: Effort
) -> None:
    """Close sets that do not overlap: the whole of the ratio is in one codeword."""
    frame = make_frame(rows * 50, "privunit", 3.0)
    game = play(frame, frame.targets[0], Kind("farthest", True), effort).game
    ratio = float(frame.targets[0].channel.mechanism.design.likelihood_ratio)  # type: ignore[union-attr]
    for score in np.unique(np.round(game.inside, 9)):
        assert min(abs(score - each) for each in (-np.log(ratio), 0, np.log(ratio))) < 1e-8
    assert game.curve().area <= frame.targets[0].claim.largest_auc + 0.02  # type: ignore[union-attr]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gaussian", "paper_laplace", "privunit", "moments"])
def test_controls_are_chance_and_claims_hold(
    make_frame: MakeFrame, rows: FloatArray, effort: Effort, name: str
) -> None:
    frame = make_frame(rows, name, 2.0)
    result = attack_membership(frame, frame.targets[0], effort)
    for figure in result.figures:
        if figure.name.startswith("auc"):
            assert figure.control == pytest.approx(0.5, abs=0.1)
            assert figure.low <= figure.value <= figure.high
            # Whole batches are expensive: few of them are drawn here, and it is said.
            most = 0.9 if figure.name == "auc_row_unknown" else 0.75
            assert 0.5 < figure.smallest_detectable < most  # type: ignore[operator]
    assert result.figure("epsilon_lower_bound").control < 0.5  # type: ignore[operator]
    slack = 0.1 if name == "moments" else 0.04  # fewer trials of sums are affordable
    assert result.figure("auc_farthest").value >= result.figure("auc").value - slack
    assert result.figure("realised_fpr_1e-2").value <= 0.01
    assert json.dumps(result.to_json(), allow_nan=False)


def test_a_claim_that_is_broken_is_called_violated(
    make_frame: MakeFrame, rows: FloatArray, effort: Effort
) -> None:
    """The paper's Laplace at "epsilon = 1" supports sqrt(30) = 5.5 on 30 columns."""
    frame = make_frame(rows, "paper_laplace", 1.0)
    result = attack_membership(frame, frame.targets[0], replace(effort, n_trials=20_000))
    assert result.verdict == "violated"
    assert "does not hold" in result.sentence
    assert 1.0 < result.figure("epsilon_lower_bound").value < 5.5


@pytest.mark.parametrize("name", ["gaussian", "privunit"])
def test_not_knowing_the_row_makes_it_harder(
    make_frame: MakeFrame, rows: FloatArray, effort: Effort, name: str
) -> None:
    frame = make_frame(rows, name, 4.0)
    result = attack_membership(frame, frame.targets[0], effort)
    known, unknown = result.figure("auc").value, result.figure("auc_row_unknown").value
    assert 0.5 < unknown < known - 0.05


def test_a_shuffled_claim_is_about_rows_in_random_order(
    make_frame: MakeFrame, rows: FloatArray, effort: Effort
) -> None:
    frame = make_frame(rows, "privunit", 3.0, trust_model="shuffled")
    result = attack_membership(frame, frame.targets[0], effort)
    assert "all rows in random order" in result.figure("auc").label
    assert result.figure("auc").value < result.figure("auc_row_known").value


@pytest.mark.slow
def test_more_noise_never_raises_the_risk(
    make_frame: MakeFrame, rows: FloatArray, effort: Effort
) -> None:
    """From epsilon = 20 down to 0.5; areas are measured to .03 (2,000 seeded trials a side)."""
    for name in ("gaussian", "paper_laplace", "privunit"):
        areas = []
        for epsilon in (20.0, 8.0, 3.0, 1.0, 0.5):
            frame = make_frame(rows, name, epsilon)
            both = [
                play(frame, frame.targets[0], kind, effort).game.curve().area
                for kind in (Kind("another", True), Kind("farthest", True))
            ]
            areas.append(both)
        assert (np.diff(areas, axis=0) <= 0.03).all(), name
        assert areas[0][0] > areas[-1][0] + 0.05, name


ODD_TABLES = {
    "two patients": np.random.default_rng(3).normal(size=(2, 5)),
    "exact copies": np.repeat(np.random.default_rng(4).normal(size=(3, 5)), 2, axis=0),
    "constant columns": np.ones((6, 5)),
    "rows of nothing": np.zeros((6, 5)),
    "missing cells": np.where(np.arange(30).reshape(6, 5) % 4 == 0, np.nan, 1.5),
}


@pytest.mark.parametrize("odd", ODD_TABLES)
@pytest.mark.parametrize("name", ["gaussian", "privunit", "moments"])
def test_odd_tables(make_frame: MakeFrame, effort: Effort, odd: str, name: str) -> None:
    frame = make_frame(ODD_TABLES[odd], name, 2.0)
    small = replace(effort, n_trials=200, n_bootstraps=20, cells=20_000_000)
    for target in frame.targets:
        result = attack_membership(frame, target, small)
        assert all(np.isfinite(figure.value) for figure in result.figures)
        if odd == "two patients" and result.verdict != "violated":
            assert result.verdict == "not_testable"
        if odd in ("constant columns", "rows of nothing"):  # everybody has the same row
            assert result.figure("auc").value == 0.5


def test_substitutes_are_somebody_else() -> None:
    patients = np.arange(1000) % 3
    others = other_patients(patients, 3, np.random.default_rng(0))
    assert not (patients == others).any()
    assert set(others.tolist()) == {0, 1, 2}


def test_a_game_is_played_with_the_claimed_mechanism_alone(
    make_frame: MakeFrame, rows: FloatArray
) -> None:
    """The paper's target has its own scaling and Laplace noise of 2C / epsilon."""
    frame = make_frame(rows, "gaussian", 4.0)
    paper: Any = frame.targets[2]
    assert isinstance(paper.channel.mechanism, PaperLaplace)
    assert paper.channel.mechanism.noise_scale == pytest.approx(1.0)
    assert paper.claim == Claim(4.0, 0.0, "local")
    assert paper.scaling.fitted_on == "private"
    assert make_game(paper, Kind("another", True)).cells_a_trial > 0


def test_every_rate_says_what_it_could_have_seen(
    make_frame: MakeFrame, rows: FloatArray, effort: Effort
) -> None:
    frame = make_frame(rows, "gaussian", 2.0)
    result = attack_membership(frame, frame.targets[0], effort)
    for figure in result.figures:
        if not figure.name.startswith("realised"):  # that one judges the threshold, not the release
            assert figure.control is not None
            assert figure.smallest_detectable is not None


def test_what_a_bound_could_have_seen_is_meant_for_the_verdict(
    make_frame: MakeFrame, rows: FloatArray, effort: Effort
) -> None:
    """A verdict takes 99.99 %: so few trials can never show a violation, and it is said."""
    frame = make_frame(rows, "gaussian", 3.0)
    few = replace(effort, n_trials=220)
    result = attack_membership(frame, frame.targets[0], few)
    n_trials = result.figure("epsilon_lower_bound").n
    assert epsilon_cap(n_trials, 1e-5, VIOLATION_LEVEL) < 3.0 < epsilon_cap(n_trials, 1e-5)
    assert result.figure("epsilon_lower_bound").smallest_detectable == np.inf
    assert any("could not have been shown" in limit for limit in result.limits)


def test_progress_goes_on_evenly_to_the_end(
    make_frame: MakeFrame, rows: FloatArray, effort: Effort
) -> None:
    told: list[tuple[int, int]] = []
    frame = make_frame(rows, "gaussian", 2.0)
    small = replace(effort, n_trials=30, n_bootstraps=5)
    attack_membership(
        frame, frame.targets[0], small, lambda done, total: told.append((done, total))
    )
    assert told == [(done, 90) for done in range(1, 91)]
