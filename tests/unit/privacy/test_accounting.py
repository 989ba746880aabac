import math

import pytest

from neuroveil.errors import ChainError
from neuroveil.privacy.accounting import (
    Event,
    cross_check,
    epsilon_by_pld,
    epsilon_by_rdp,
    epsilon_by_zcdp,
    zcdp_rho,
)
from neuroveil.privacy.calibration import gaussian_sigma

EPSILONS = [0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0]


def calibrated(epsilon: float, delta: float = 1e-5) -> Event:
    return Event("gaussian", gaussian_sigma(1.0, epsilon, delta))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_pld_agrees_with_the_closed_form(epsilon: float) -> None:
    assert epsilon_by_pld([calibrated(epsilon)], 1e-5) == pytest.approx(epsilon, rel=3e-4)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_rdp_and_zcdp_are_upper_bounds_within_their_known_gaps(epsilon: float) -> None:
    event, delta = calibrated(epsilon), 1e-5
    by_rdp = epsilon_by_rdp([event], delta)
    optimal = epsilon_by_zcdp(zcdp_rho([event]), delta)
    simple = epsilon_by_zcdp(zcdp_rho([event]), delta, "simple")
    assert epsilon <= by_rdp * (1 + 1e-9)
    assert epsilon <= optimal <= simple
    # For one Gaussian, Rényi accounting is the optimal conversion on a grid of orders.
    assert optimal <= by_rdp * (1 + 1e-6)
    assert by_rdp <= optimal * 1.02
    assert optimal <= epsilon * 1.12


def test_composition_is_the_same_in_all_three() -> None:
    events = [Event("gaussian", 4.0, 3), Event("gaussian", 6.0)]
    one = Event("gaussian", 1 / math.sqrt(3 / 16 + 1 / 36))
    for compute in (epsilon_by_pld, epsilon_by_rdp):
        assert compute(events, 1e-5) == pytest.approx(compute([one], 1e-5), rel=1e-3)
    assert zcdp_rho(events) == pytest.approx(zcdp_rho([one]))


def test_relations_do_not_change_the_answer_because_our_multiplier_has_the_sensitivity() -> None:
    event = [Event("gaussian", 3.0)]
    for compute in (epsilon_by_pld, epsilon_by_rdp):
        replaced = compute(event, 1e-5, "replace_one")
        assert replaced == pytest.approx(compute(event, 1e-5, "add_or_remove_one"), rel=1e-3)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 19.05])
def test_cross_check_of_laplace(epsilon: float) -> None:
    event = Event("laplace", math.sqrt(2) / epsilon)
    opinion = cross_check(event, epsilon, 0.0)
    assert opinion.epsilon == pytest.approx(epsilon, rel=1e-3)
    assert opinion.epsilon >= epsilon * (1 - 1e-9)
    assert opinion.zcdp_rho is None


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 20.0])
def test_cross_check_of_gaussian(epsilon: float) -> None:
    opinion = cross_check(calibrated(epsilon), epsilon, 1e-5)
    assert opinion.epsilon == pytest.approx(epsilon, rel=3e-4)
    assert opinion.delta == 1e-5
    assert opinion.zcdp_rho == pytest.approx(1 / (2 * gaussian_sigma(1.0, epsilon, 1e-5) ** 2))
    assert list(opinion.to_json()) == ["method", "version", "epsilon", "delta", "zcdp_rho"]


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(51.0, 1e-5), (9e-4, 1e-5), (1.0, 9e-13)], ids=["large", "small", "tiny"]
)
def test_cross_check_says_nothing_where_the_library_cannot_reach(
    epsilon: float, delta: float
) -> None:
    assert cross_check(calibrated(epsilon, delta), epsilon, delta).epsilon is None
    if epsilon != 1.0:
        assert cross_check(Event("laplace", math.sqrt(2) / epsilon), epsilon, 0.0).epsilon is None


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_bad_parameters_are_refused(bad: float) -> None:
    for compute in (epsilon_by_pld, epsilon_by_rdp):
        with pytest.raises(ChainError):
            compute([Event("gaussian", bad)], 1e-5)
        with pytest.raises(ChainError):
            compute([Event("gaussian", 1.0)], bad)
    with pytest.raises(ChainError):
        epsilon_by_zcdp(bad, 1e-5)


def test_events_that_are_not_gaussian_are_refused() -> None:
    for compute in (epsilon_by_pld, epsilon_by_rdp):
        with pytest.raises(ChainError, match="gaussian events"):
            compute([Event("laplace", 1.0)], 1e-5)
