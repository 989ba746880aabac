"""A plan in words and as a figure."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from neuroveil.report.planning import plan_figure, plan_words
from neuroveil.types.planning import (
    AttackBounds,
    Coverage,
    Drop,
    Drops,
    MomentFigures,
    OptionForecast,
    Plan,
    RowFigures,
)

PURE = AttackBounds(0.4621, 0.37, 0.5, 0.7311, 0.0)
APPROXIMATE = AttackBounds(0.4621, 0.11, 0.5, 0.8808, 1.6e-5)


def rows(score: float, epsilon: float, form="plain", mechanism="privunit", trust="local"):
    figures = RowFigures(1.0, 0.14, 0.15, 0.6, score, score, 0.66, 0.59)
    attack = PURE if mechanism == "privunit" and trust == "local" else APPROXIMATE
    label = f"{mechanism} rows, {form}"
    return OptionForecast(
        label, mechanism, form, trust, epsilon, 0.0, None, None, attack, rows=figures
    )


def moments(score: float | None, epsilon: float):
    figures = MomentFigures(0.1, 0.1, score, None if score is None else 3)
    return OptionForecast(
        "mean and covariance of all patients", "mean_covariance", "aggregate", "central", epsilon,
        1e-5, None, None, APPROXIMATE, moments=figures,
    )  # fmt: skip


@pytest.fixture
def plan() -> Plan:
    forecasts = (
        rows(0.45, 5.0, "public_basis"), rows(0.3, 5.0, "public_basis", trust="shuffled"),
        rows(0.04, 5.0, mechanism="gaussian"), moments(0.9, 5.0),
        rows(0.12, 1.0, "public_basis"), rows(0.01, 1.0, mechanism="gaussian"), moments(0.2, 1.0),
    )  # fmt: skip
    listed = (
        Drop("feature", "variance", 19, 0.44, 0.47, 0.9, 0.45, 0.46),
        Drop("channel", "Cz", 10, 0.44, 0.45, 0.2, 0.45, 0.43),
    )
    return Plan(
        n_patients=17, n_columns=190, clip_norm=2.0, delta=1e-5, trust_model="central",
        effect_size=0.8, auc_before=0.714, coverage=Coverage("r v1", 190, 0, (), (), ()),
        forecasts=forecasts, price=(), drops=Drops("privunit rows", 5.0, listed),
        notes=("A last note.",),
    )  # fmt: skip


def test_words_say_what_is_left_and_what_an_attacker_gains(plan) -> None:
    words = plan_words(plan)
    assert words[-1] == "A last note."
    best = next(each for each in words if each.startswith("At epsilon = 5, privunit"))
    for part in ("keep a part of what is individual", "correlate 0.45", "of 0.71 (d' = 0.8)",
                 "0.66 by the strongest", "0.59 by a typical", "at most 0.4621",
                 "belief of 0.5 to at most 0.7311."):  # fmt: skip
        assert part in best
    assert any("too noisy to be of use" in each for each in words)
    assert any("covariances that correlate 0.90" in each for each in words)
    assert any("leaving out the feature variance would gain most" in each for each in words)


def test_words_name_exceptions_trust_and_gaps(plan) -> None:
    trusted = rows(0.8, 5.0, "public_basis", trust="shuffled")
    gap = replace(plan.coverage, n_outside=3, sentences=("Three columns are not covered.",))
    lost = replace(plan.drops, listed=plan.drops.listed[1:])
    words = plan_words(replace(plan, forecasts=(trusted,), coverage=gap, drops=lost))
    assert words[0] == "Three columns are not covered."
    assert "somebody trusted has to shuffle them" in words[1]
    assert "keep most of what is individual" in words[1]
    assert "except with a probability of 0.000016" in words[1]
    assert "no channel and no feature is worth leaving out" in words[2]


def test_the_figure_tells_every_point_in_words(plan) -> None:
    root = ElementTree.fromstring(plan_figure(plan))
    text = "".join(root.find("{http://www.w3.org/2000/svg}desc").itertext())
    for part in ("privunit 0.12 at 1, 0.45 at 5", "gaussian, plain 0.01 at 1, 0.04 at 5",
                 "shuffled privunit 0.30 at 5",
                 "mean_covariance 0.20 at 1, 0.90 at 5"):  # fmt: skip
        assert part in text
    assert plan_figure(plan) == plan_figure(plan)


def test_one_epsilon_without_a_public_covariance_is_drawn(plan) -> None:
    bare = replace(plan, forecasts=(rows(0.1, 2.0), moments(None, 2.0)))
    text = plan_figure(bare)
    assert "privunit 0.10 at 2" in text
    assert "At epsilon = 2, the mean" not in " ".join(plan_words(bare))
