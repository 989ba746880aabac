"""Every mechanism at the epsilon that is asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from neuroveil.errors import StudyError
from neuroveil.evaluate.reproduction import simulated_cohort
from neuroveil.evaluate.reproduction.contenders import (
    CONTENDERS,
    PAPERS,
    contender,
    contenders_for,
)
from neuroveil.evaluate.reproduction.plans import plan_contender
from neuroveil.types.scaling import Scaling

EPSILON = 2.0


@pytest.fixture(scope="module")
def known() -> Scaling:
    return simulated_cohort(0).scaling


@pytest.mark.parametrize(
    "name", ["gaussian", "laplace", "privunit", "gaussian_public", "privunit_public",
             pytest.param("privunit_shuffled", marks=pytest.mark.slow)],
)  # fmt: skip
def test_the_guarantee_is_the_one_that_was_asked_for(known: Scaling, name: str) -> None:
    about = contender(name)
    plan = plan_contender(about, EPSILON, known, 17)
    if plan.shuffled is None:
        assert plan.mechanism.guarantee.holds
        assert plan.spec.delta == about.delta
        assert plan.mechanism.guarantee.epsilon_supported == pytest.approx(EPSILON, rel=0.01)
    else:
        assert plan.shuffled.holds
        assert (plan.shuffled.epsilon, plan.shuffled.delta) == (EPSILON, about.delta)
        assert plan.shuffled.n_batch == 17


def test_the_papers_laplace_has_no_guarantee_at_its_epsilon(known: Scaling) -> None:
    guarantee = plan_contender(contender("paper_laplace"), EPSILON, known, 17).mechanism.guarantee
    assert not guarantee.holds
    assert guarantee.epsilon_supported == pytest.approx(EPSILON * np.sqrt(363), rel=1e-9)


def test_public_ones_are_projected_and_estimated_and_the_others_are_bare(known: Scaling) -> None:
    for each in CONTENDERS:
        if each.trust_model != "local":
            continue
        plan = plan_contender(each, EPSILON, known, 17)
        assert plan.is_projected == each.uses_public_model
        assert bool(plan.steps) == each.uses_public_model


def test_without_a_public_covariance_the_public_ones_are_left_out(known: Scaling) -> None:
    bare = replace(known, covariance=None)
    names = {each.name for each in contenders_for("all", bare)}
    assert names == {each.name for each in CONTENDERS if not each.uses_public_model}
    outside = replace(known, fallback=(True, *known.fallback[1:]))
    assert {each.name for each in contenders_for("all", outside)} == names


def test_the_papers_come_first_and_no_other_lacks_a_guarantee() -> None:
    tested = {"gaussian", "laplace", "privunit", "gaussian_public", "privunit_public",
              "privunit_shuffled", "mean_covariance"}  # fmt: skip
    assert {each.name for each in CONTENDERS} == {*tested, "paper_laplace"}
    assert tuple(each.name for each in CONTENDERS[:2]) == PAPERS


@pytest.mark.parametrize("which", ["some", "gaussian", ""])
def test_anything_but_the_papers_or_all_is_refused(known: Scaling, which: str) -> None:
    with pytest.raises(StudyError, match="'paper' or 'all'"):
        contenders_for(which, known)
