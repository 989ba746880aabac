"""The rule ``pld``: valid, tighter than adding up, and never less for more events."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuroveil.errors import ChainError
from neuroveil.privacy import ProtectSettings, charge_request, composition
from neuroveil.privacy.accounting import Event, epsilon_by_pld
from neuroveil.privacy.calibration import gaussian_epsilon, gaussian_sigma
from neuroveil.privacy.composition import composed_epsilon, gaussian_ratio
from neuroveil.privacy.labels import LabelPolicy
from neuroveil.types.budget import AccountingEvent
from neuroveil.types.catalogue import columns_for

DELTA = Fraction(1, 10**5)


def gaussian(
    epsilon: float, delta: Fraction = DELTA / 8, scale: float = 2.0**42
) -> AccountingEvent:
    """Integer Gaussian noise that is calibrated for its own guarantee."""
    return AccountingEvent(
        "gaussian", Fraction(repr(epsilon)), delta,
        noise_multiplier=gaussian_sigma(1.0, epsilon, float(delta)), integer_scale=scale,
        dimension=363,
    )  # fmt: skip


def pure(epsilon: str) -> AccountingEvent:
    return AccountingEvent("privunit", Fraction(epsilon), Fraction(0))


def known(epsilon: str, delta: Fraction) -> AccountingEvent:
    """Something of which only the guarantee is known."""
    return AccountingEvent("shuffled", Fraction(epsilon), delta)


def found(*events: AccountingEvent, delta: Fraction = DELTA) -> float:
    epsilon = composed_epsilon(events, delta)
    assert epsilon is not None
    return float(epsilon)


class TestGaussians:
    def test_squares_add_up(self) -> None:
        events = [gaussian(0.3), gaussian(0.5), gaussian(0.7)] * 4
        total = math.sqrt(sum(float(event.noise_multiplier or 0) ** -2 for event in events))
        by_hand = gaussian_epsilon(1.0, 1 / total, float(DELTA) / 2)
        assert found(*events) == pytest.approx(by_hand, rel=1e-4)

    def test_it_is_what_privacy_loss_distributions_say_of_the_events_themselves(self) -> None:
        events = [gaussian(0.2)] * 30 + [gaussian(0.4)] * 10
        library = [
            Event("gaussian", float(gaussian(0.2).noise_multiplier or 0), 30),
            Event("gaussian", float(gaussian(0.4).noise_multiplier or 0), 10),
        ]
        assert found(*events) == pytest.approx(epsilon_by_pld(library, float(DELTA) / 2), rel=1e-4)

    def test_one_release_costs_little_more_than_it_states(self) -> None:
        """It is taken at delta / 2, and states epsilon at delta / 8."""
        assert 0.9 < found(gaussian(1.0)) <= 1.0

    def test_one_release_that_uses_all_of_delta(self) -> None:
        assert 1.0 < found(gaussian(1.0, DELTA)) < 1.06

    def test_it_never_falls_below_50_digit_arithmetic(self) -> None:
        with mpmath.workdps(50):
            for n in (1, 10, 1000):
                events = [gaussian(0.05)] * n
                mu = mpmath.sqrt(n) / mpmath.mpf(float(events[0].noise_multiplier or 0))
                epsilon = mpmath.mpf(found(*events))
                delta = mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(
                    -mu / 2 - epsilon / mu
                )
                assert delta <= mpmath.mpf(float(DELTA)) / 2
                assert delta >= mpmath.mpf(float(DELTA)) / 2 * (1 - mpmath.mpf("2e-3"))

    @pytest.mark.parametrize("scale", [2.0**29, 2.0**10, 1.0])
    def test_a_coarse_grid_counts_by_its_guarantee_alone(self, scale: float) -> None:
        """The proof for integers needs a fine grid: such noise is one event like any other."""
        coarse = gaussian(1.0, DELTA / 8, scale)
        assert found(coarse) == 1.0  # added up
        assert composed_epsilon([gaussian(1.0, DELTA / 2, scale)], DELTA) is None

    def test_a_huge_table_on_a_barely_fine_grid_is_not_free(self) -> None:
        event = AccountingEvent(
            "gaussian", Fraction(1), DELTA, noise_multiplier=4.0, integer_scale=2.0**30,
            dimension=10**11,
        )  # fmt: skip
        assert composed_epsilon([event], DELTA) is None


class TestOtherMechanisms:
    def test_pure_releases_with_small_epsilon_gain(self) -> None:
        assert found(*[pure("1/20")] * 400) < 0.4 * 20

    def test_pure_releases_with_large_epsilon_add_up(self) -> None:
        assert found(pure("5"), pure("5")) == 10

    def test_what_adds_up_exactly_stays_exact(self) -> None:
        assert composed_epsilon([pure("1/10")] * 3, DELTA) == Fraction(3, 10)

    def test_deltas_may_use_a_quarter(self) -> None:
        assert found(known("1", DELTA / 8), known("1", DELTA / 8)) == 2
        assert composed_epsilon([known("1", DELTA / 8)] * 3, DELTA) is None

    def test_deltas_of_gaussians_are_not_counted_twice(self) -> None:
        """Their privacy loss distribution holds them."""
        assert found(*[gaussian(0.1, DELTA)] * 100) < 10

    def test_nothing_and_nothing_provable(self) -> None:
        assert composed_epsilon([], DELTA) == 0
        assert composed_epsilon([gaussian(1.0)], Fraction(0)) is None
        assert composed_epsilon([pure("1"), pure("2")], Fraction(0)) == 3
        assert composed_epsilon([known("700", Fraction(1, 10))], DELTA) is None

    def test_delta_below_the_librarys_reach_uses_the_closed_form(self) -> None:
        delta = Fraction(1, 10**15)
        event = gaussian(1.0, delta)
        by_hand = gaussian_epsilon(1.0, float(event.noise_multiplier or 0), 0.5e-15)
        assert found(event, delta=delta) == pytest.approx(by_hand, rel=1e-6)


class TestGaussianRatio:
    """The Gaussian that is as revealing as randomised response, or more."""

    @pytest.mark.parametrize("epsilon", ["1/1000000", "1/20000", "1/1000", "1/10", "1", "5", "30"])
    def test_against_50_digits(self, epsilon: str) -> None:
        exact = Fraction(epsilon)
        with mpmath.workdps(50):
            value = mpmath.mpf(exact.numerator) / exact.denominator
            error = 1 / (1 + mpmath.exp(value))
            mu = -2 * mpmath.sqrt(2) * mpmath.erfinv(2 * error - 1)
        assert mu <= gaussian_ratio(exact) <= mu * (1 + mpmath.mpf("2e-8"))

    @pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
    def test_its_trade_off_lies_below_that_of_randomised_response(self, epsilon: float) -> None:
        from scipy.stats import norm

        mu = gaussian_ratio(Fraction(repr(epsilon)))
        for step in range(1, 1000):
            alpha = step / 1000
            response = max(0, 1 - math.exp(epsilon) * alpha, math.exp(-epsilon) * (1 - alpha))
            assert norm.cdf(norm.ppf(1 - alpha) - mu) <= response + 1e-12

    def test_too_large_an_epsilon_has_none(self) -> None:
        assert gaussian_ratio(Fraction(601)) == math.inf


EVENTS = st.lists(
    st.one_of(
        st.sampled_from([0.05, 0.2, 1.0]).map(gaussian),
        st.sampled_from(["1/50", "1/2", "3"]).map(pure),
        st.sampled_from(["1/50", "1"]).map(lambda epsilon: known(epsilon, DELTA / 64)),
    ),
    max_size=12,
)


@pytest.mark.slow
@given(events=EVENTS, more=EVENTS)
def test_more_events_never_spend_less(
    events: list[AccountingEvent], more: list[AccountingEvent]
) -> None:
    fewer, all_of_them = composed_epsilon(events, DELTA), composed_epsilon(events + more, DELTA)
    if all_of_them is not None:
        assert fewer is not None
        assert fewer <= all_of_them * Fraction(10**4 + 1, 10**4)
    if fewer is not None and sum((e.delta for e in events), Fraction(0)) <= DELTA / 4:
        assert fewer <= sum((event.epsilon for event in events), Fraction(0))


def test_accountants_that_disagree_stop_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """The peer's missing factor 2 of replace-one would be noticed here."""
    half = composition.epsilon_by_pld
    monkeypatch.setattr(
        composition, "epsilon_by_pld", lambda events, delta: half(events, delta) / 2.02
    )
    with pytest.raises(ChainError, match="two accountants that agree"):
        composed_epsilon([gaussian(1.0)], DELTA)


class TestWhatAReleaseTellsTheLedger:
    COLUMNS = columns_for(("Fp1", "Cz"), ("variance", "alpha_power"))

    def request(self, mechanism: str, delta: float, *labels: LabelPolicy):
        settings = ProtectSettings(mechanism, 1.0, delta, 2.0, labels=labels)
        return charge_request(settings, self.COLUMNS, 17)

    def test_gaussian(self) -> None:
        label = LabelPolicy("diagnosis", "randomised_response", ("a", "b"), 0.5)
        rows, response = self.request("gaussian", 1e-5, label).events
        assert (rows.mechanism, rows.epsilon, rows.delta) == ("gaussian", 1, DELTA)
        assert rows.dimension == 4
        supported = gaussian_epsilon(1.0, float(rows.noise_multiplier or 0), 1e-5)
        assert supported == pytest.approx(1.0, rel=1e-8)
        assert rows.integer_scale is not None
        assert rows.integer_scale > 2.0**30
        assert (response.mechanism, response.epsilon, response.delta) == (
            "randomised_response", Fraction(1, 2), 0,
        )  # fmt: skip

    def test_laplace(self) -> None:
        (rows,) = self.request("laplace", 0.0).events
        assert rows == AccountingEvent("laplace", Fraction(1), Fraction(0))
