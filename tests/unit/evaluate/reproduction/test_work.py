"""Pieces of work: the same result however the work is cut, and thresholds without the answer."""

from __future__ import annotations

import json

import numpy as np
import pytest

from neuroveil.evaluate.downstream import PROTECTED_GRID
from neuroveil.evaluate.reproduction import Piece, do_piece, pieces_for, simulated_cohort
from neuroveil.evaluate.reproduction.classify import calls_without_own_answer
from neuroveil.evaluate.reproduction.contenders import CONTENDERS
from neuroveil.evaluate.reproduction.printed import EPSILONS

NAMES = tuple(each.name for each in CONTENDERS)


@pytest.fixture(scope="module")
def cohort():
    return simulated_cohort(0)


def test_every_draw_is_listed_once() -> None:
    pieces = pieces_for(NAMES, EPSILONS, (200, 12), 0)
    classified = [piece for piece in pieces if piece.kind == "classifier"]
    for name in {piece.name for piece in classified}:
        draws = [draw for piece in classified if piece.name == name for draw in piece.draws]
        assert sorted(draws) == list(range(12))
    assert len({(p.kind, p.name, p.epsilon, p.first_draw) for p in pieces}) == len(pieces)


def test_no_label_stands_beside_rows_that_are_shuffled_or_not_released() -> None:
    pieces = pieces_for(NAMES, EPSILONS, (200, 5), 0)
    classified = {piece.name for piece in pieces if piece.kind == "classifier"}
    assert classified == {
        "original", "control", *(each.name for each in CONTENDERS if each.trust_model == "local"),
    }  # fmt: skip


def test_no_two_draws_share_a_seed() -> None:
    pieces = pieces_for(NAMES, EPSILONS, (20, 10), 0)
    seeds = [
        piece.draw_seed(draw)
        for piece in pieces
        for draw in (piece.draws if piece.kind == "classifier" else [0])
    ]  # fmt: skip
    assert len(set(seeds)) == len(seeds)


def test_the_seed_of_the_whole_changes_every_draw() -> None:
    one, other = (Piece("rows", "gaussian", 1.0, 0, 20, seed).draw_seed(0) for seed in (0, 1))
    assert one != other


def test_rows_give_plain_data_and_the_same_twice(cohort) -> None:
    piece = Piece("rows", "gaussian", 1.0, 0, 20, 0)
    first, second = do_piece(cohort, piece), do_piece(cohort, piece)
    assert json.loads(json.dumps(first)) == first == second
    assert first["epsilon_supported"] <= 1.0


@pytest.mark.slow
def test_a_shuffled_batch_has_the_epsilon_that_was_asked_for(cohort) -> None:
    found = do_piece(cohort, Piece("rows", "privunit_shuffled", 1.0, 0, 20, 0))
    assert found["epsilon_supported"] == 1.0


def test_at_17_patients_nothing_is_left_of_moments(cohort) -> None:
    found = do_piece(cohort, Piece("moments", "mean_covariance", 1.0, 0, 3, 0))
    assert found["epsilon_supported"] <= 1.0
    assert all(abs(value) < 0.1 for value in found["covariance_correlation"])


@pytest.mark.slow
def test_the_classifier_gives_the_same_however_draws_are_cut(cohort) -> None:
    together = do_piece(cohort, Piece("classifier", "gaussian", 10.0, 0, 2, 0))
    second = do_piece(cohort, Piece("classifier", "gaussian", 10.0, 1, 1, 0))
    assert together["draws"][1] == second["draws"][0]
    assert together["draws"][0] != together["draws"][1]
    pooled = together["draws"][0]["pooled"]
    assert pooled["false_negative"] + pooled["true_positive"] == 5


def test_a_patients_own_answer_does_not_move_the_threshold() -> None:
    generator = np.random.default_rng(1)
    probabilities = generator.uniform(size=17)
    positive = np.arange(17) >= 12
    calls = calls_without_own_answer(probabilities, positive, PROTECTED_GRID)
    for patient in (0, 5, 16):
        other = positive.copy()
        other[patient] = not other[patient]
        again = calls_without_own_answer(probabilities, other, PROTECTED_GRID)
        assert again[patient] == calls[patient]
