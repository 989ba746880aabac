"""The parts of a plan: coverage, options, price, needs, what could be left out."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from neuroveil.errors import ChainError, StudyError
from neuroveil.evaluate.draws import decoded_alone
from neuroveil.evaluate.planning import plan_release
from neuroveil.evaluate.planning.coverage import coverage_of
from neuroveil.evaluate.planning.drops import list_drops
from neuroveil.evaluate.planning.entry import PlanWishes
from neuroveil.evaluate.planning.forecast import forecast_option
from neuroveil.evaluate.planning.needs import need_of
from neuroveil.evaluate.planning.options import Option, offered_options
from neuroveil.evaluate.planning.price import price_of_dimension
from neuroveil.privacy.plan import plan_rows
from neuroveil.simulate import simulate_rows
from neuroveil.types.catalogue import columns_for

SHRUNK = Option("privunit", "shrunk", "local")


@pytest.mark.parametrize(
    ("trust_model", "delta", "expected"),
    [
        ("local", 1e-5, {"privunit", "gaussian", "laplace"}),
        ("local", 0.0, {"privunit", "laplace"}),
        ("shuffled", 1e-5, {"privunit", "gaussian", "laplace", "shuffled privunit"}),
        ("central", 0.0, {"privunit", "laplace"}),
        ("central", 1e-5,
         {"privunit", "gaussian", "laplace", "shuffled privunit", "mean and covariance"}),
    ],
)  # fmt: skip
def test_options_follow_from_trust_and_delta(ask, trust_model, delta, expected) -> None:
    options = offered_options(ask(trust_model=trust_model, delta=delta))
    assert {option.label().partition(" rows")[0].partition(" of")[0] for option in options} == (
        expected
    )


def test_what_the_reference_does_not_cover_is_said_plainly(ask, scale) -> None:
    covered = coverage_of(ask())
    assert (covered.n_outside, covered.sentences) == (0, ())
    partly = ask(scaling=scale(columns_for(("Cz", "AF7"), ("alpha_power", "high_gamma_power"))))
    coverage = coverage_of(partly)
    assert (coverage.n_columns, coverage.n_outside) == (4, 3)
    assert (coverage.channels, coverage.features) == (("AF7",), ("high_gamma_power",))
    assert "does not cover 3 of the 4 columns" in coverage.sentences[0]
    assert {option.form for option in offered_options(partly)} == {"plain", "shrunk", "aggregate"}
    nowhere = ask(scaling=scale(columns_for(("E1", "E2"), ("alpha_power",))))
    assert "does not cover any of the 2 columns" in coverage_of(nowhere).sentences[0]
    without = ask(scaling=replace(ask().scaling, covariance=None))
    assert "no public covariance" in coverage_of(without).sentences[0]
    private = ask(scaling=replace(without.scaling, fitted_on="private"))
    assert "no end-to-end guarantee" in coverage_of(private).sentences[0]


@pytest.mark.parametrize(
    ("label", "dimension", "root"), [("33 x 11", 363, 19.05), ("64 x 11", 704, 26.53),
                                     ("33 x 12", 396, 19.90)],
)  # fmt: skip
def test_the_price_of_the_dimension(ask, label, dimension, root) -> None:
    """The worked examples; with sigma(1, 1e-5) = 14.9225 and b = 2 sqrt(d) C."""
    price = price_of_dimension(label, dimension, ask(n_patients=17), 1.0)
    assert price.root == pytest.approx(root, abs=0.005)
    signal = 4.0 / dimension
    expected = np.sqrt(signal / (signal + 14.92252654**2))
    assert price.correlations["gaussian"] == pytest.approx(expected, rel=1e-6)
    noise = 2 * (4 * np.sqrt(dimension)) ** 2
    assert price.correlations["laplace"] == pytest.approx(np.sqrt(signal / (signal + noise)))
    assert price.correlations["privunit"] > price.correlations["gaussian"]


@pytest.mark.slow
def test_a_needed_epsilon_is_just_enough(ask) -> None:
    question = ask(n_patients=50)
    need = need_of(SHRUNK, question, 0.5, 2.0)
    assert not need.depends_on_n
    assert need.n_patients is None
    assert forecast_option(SHRUNK, question, need.epsilon).score >= 0.5
    assert forecast_option(SHRUNK, question, need.epsilon * 0.85).score < 0.5
    assert need_of(SHRUNK, question, 0.999, 2.0).epsilon is None


def test_a_needed_number_of_patients_is_just_enough(ask) -> None:
    option = Option("mean_covariance", "aggregate", "central")
    need = need_of(option, ask(), 0.8, 2.0)
    assert need.depends_on_n
    assert forecast_option(option, ask(n_patients=need.n_patients), 2.0).score >= 0.8
    assert forecast_option(option, ask(n_patients=need.n_patients * 85 // 100), 2.0).score < 0.8


@pytest.mark.slow
@pytest.mark.parametrize("option", [SHRUNK, Option("privunit", "public_basis", "local")])
def test_what_leaving_out_changes_is_what_draws_show(ask, option) -> None:
    """20,000 rows; the best linear estimate is fitted to the draws. Fixed seeds, to 3 %."""
    question, epsilon, n = ask(), 8.0, 20_000
    settings = option.settings(question, epsilon)
    drops = list_drops(settings, question)
    assert len(drops) == 11
    assert list(drops) == sorted(drops, key=lambda drop: -drop.all_after)
    for drop in (drops[0], drops[-1]):
        columns = question.scaling.columns
        kept = np.array([getattr(column, drop.kind) != drop.name for column in columns])
        rows = simulate_rows(n, question.scaling, 4)
        for mask, whole, others in (
            (np.ones(30, dtype=bool), drop.all_before, drop.kept_before),
            (kept, drop.all_after, drop.kept_after),
        ):
            part = tuple(column for column, stays in zip(columns, mask, strict=True) if stays)
            shorter = replace(
                question.scaling, columns=part, centre=question.scaling.centre[mask],
                spread=question.scaling.spread[mask], fallback=(False,) * len(part),
                covariance=question.scaling.covariance[np.ix_(mask, mask)],
            )  # fmt: skip
            plan = plan_rows(settings, shorter, question.n_patients)
            released = decoded_alone(
                plan.mechanism, plan.bound(rows[:, mask]), np.random.default_rng(5)
            )
            best, *_ = np.linalg.lstsq(released, rows, rcond=None)
            explained = np.square(released @ best).sum(axis=0)
            total = np.square(rows).sum(axis=0)
            found = np.sqrt(explained.sum() / total.sum())
            assert whole == pytest.approx(found, rel=0.03)
            assert others == pytest.approx(
                np.sqrt(explained[kept].sum() / total[kept].sum()), rel=0.03
            )
        lost = np.sqrt(explained[~kept].sum() / total[~kept].sum())
        assert drop.recovered == pytest.approx(lost, rel=0.05)


@pytest.mark.slow
def test_a_plan_is_whole_and_ordered(ask) -> None:
    question = ask(n_patients=40, epsilons=(1.0, 8.0), trust_model="local")
    seen = []
    plan = plan_release(
        question, PlanWishes(0.3, True, {"64 x 11": 704}, "6 x 5"),
        lambda done, total, what: seen.append((done, total, what)),
    )  # fmt: skip
    assert plan.epsilons == (1.0, 8.0)
    assert len(plan.forecasts) == 2 * len(offered_options(question))
    for epsilon in plan.epsilons:
        scores = [f.score for f in plan.forecasts if f.epsilon == epsilon]
        assert scores == sorted(scores, reverse=True)
        assert plan.best(epsilon).score == scores[0]
    assert [price.dimension for price in plan.price] == [30, 704]
    assert {need.label for need in plan.needs} == {
        f"{name} rows in public components" for name in ("privunit", "gaussian", "laplace")
    }
    assert plan.drops.label == plan.best(8.0).label
    assert len(plan.drops.listed) == 11
    assert {what for *_, what in seen} == {
        "forecasting", "searching what is needed", "leaving out one at a time",
    }  # fmt: skip
    assert json.loads(json.dumps(plan.to_json()))["forecasts"][0]["rows"]["correlation"] > 0


def test_a_large_delta_is_noted(ask) -> None:
    plan = plan_release(ask(delta=1e-4, trust_model="local"), PlanWishes(drops=False))
    assert any("reason in writing" in note for note in plan.notes)
    assert plan.drops is None


@pytest.mark.parametrize(
    ("changes", "error", "where"),
    [
        ({"epsilons": ()}, StudyError, "plan.epsilon"),
        ({"effect_size": 0.0}, StudyError, "plan.effect_size"),
        ({"effect_size": float("nan")}, StudyError, "plan.effect_size"),
        ({"prior": 1.0}, StudyError, "plan.prior"),
        ({"trust_model": "nobody"}, StudyError, "plan.trust_model"),
        ({"epsilons": (float("nan"),)}, ChainError, "privacy.epsilon"),
        ({"delta": 2.0}, ChainError, "privacy.delta"),
        ({"n_patients": 0}, ChainError, "adjacency.n_roster"),
        ({"clip_norm": -1.0}, ChainError, "privacy.clip_norm"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(ask, changes, error, where) -> None:
    with pytest.raises(error, match=where):
        ask(**changes)


def test_a_target_is_a_correlation() -> None:
    with pytest.raises(StudyError, match=r"plan\.target"):
        PlanWishes(target=1.0)
