"""Ledgers with the rule ``pld``."""

from fractions import Fraction

import pytest

from neuroveil.errors import BudgetError
from neuroveil.ledger import Ledger, Terms
from neuroveil.privacy.calibration import gaussian_sigma
from neuroveil.privacy.composition import composed_epsilon
from neuroveil.types.budget import AccountingEvent
from neuroveil.types.charge import Charge

DELTA = Fraction(1, 10**5)


def noise(epsilon: str) -> tuple[AccountingEvent, ...]:
    """Integer Gaussian noise with a hundredth of the limit's delta."""
    each = DELTA / 100
    multiplier = gaussian_sigma(1.0, float(Fraction(epsilon)), float(each))
    return (
        AccountingEvent(
            "gaussian", Fraction(epsilon), each, noise_multiplier=multiplier,
            integer_scale=2.0**44, dimension=363,
        ),
    )  # fmt: skip


@pytest.fixture
def pld_ledger(ledger_path):
    Ledger.create(ledger_path, Fraction(1), DELTA, Terms("pld", site_wide_keys=True))
    return Ledger(ledger_path, composer=composed_epsilon)


@pytest.fixture
def release(pld_ledger, request_for):
    def make(epsilon: str = "1/20", patients: tuple[str, ...] = (), known: bool = True):
        events = noise(epsilon) if known else ()
        delta = str(events[0].delta) if known else "0"
        digests = pld_ledger.patient_digests(patients) if patients else ()
        return pld_ledger.reserve(request_for(epsilon, delta, digests, events=events))

    return make


def test_without_a_composer_it_is_refused(pld_ledger, ledger_path, request_for):
    for attempt in (Ledger(ledger_path).state, lambda: Ledger(ledger_path).reserve(request_for())):
        with pytest.raises(BudgetError, match="who composes"):
            attempt()


@pytest.mark.slow
def test_more_releases_fit_than_by_sums(release, pld_ledger):
    """Added up, 5 releases at 1/5 are the limit."""
    charges: list[Charge] = []
    with pytest.raises(BudgetError, match="Nothing was released"):
        charges.extend(release("1/5") for _ in range(100))
    assert len(charges) == 30
    state = pld_ledger.state()
    assert state.spent[0] <= 1
    assert state.remaining == (1 - state.spent[0], 0)


def test_every_figure_of_a_charge_follows_from_its_events(release):
    release("1/20", "ab")
    release("1/2", "b", known=False)
    release("1/4", "c")
    charge = release("1/20", "abc")
    standing = charge.standing
    assert standing.spent_before == (composed_epsilon(standing.prior_events, DELTA), DELTA)
    together = (*standing.prior_events, *charge.request.parts)
    assert standing.spent_after == (composed_epsilon(together, DELTA), DELTA)
    assert [event.epsilon for event in standing.prior_events] == [Fraction(1, 20), Fraction(1, 2)]
    assert standing.prior_releases == 3  # of anybody on this roster
    assert standing.remaining[1] == 0


def test_the_first_charge_has_nothing_before_it(release):
    standing = release().standing
    assert (standing.spent_before, standing.prior_releases) == ((0, 0), 0)
    assert standing.spent_after[1] == DELTA


def test_disjoint_cohorts_count_in_parallel_here_too(release, pld_ledger):
    release("1", "a")
    spent = pld_ledger.state().spent
    assert release("1", "b").standing.spent_before == (0, 0)
    assert pld_ledger.state().spent == spent
    with pytest.raises(BudgetError):
        release("1", "ab")


def test_what_nothing_can_be_proven_for_does_not_fit(pld_ledger, request_for):
    with pytest.raises(BudgetError, match="Nothing was released"):
        pld_ledger.reserve(request_for("1/100", str(DELTA / 2)))  # more than a quarter of delta
    assert pld_ledger.state().entries == ()
