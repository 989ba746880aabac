"""Limits by study and by set of patients; who counts for whom."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuroveil.errors import BudgetError
from neuroveil.ledger import Ledger, Terms
from neuroveil.types.budget import SITE, Scope

ONE, TWO = Scope("study", "one"), Scope("study", "two")


def spent(ledger: Ledger, scope: Scope = SITE) -> Fraction:
    (found,) = [state.spent[0] for state in ledger.state().scopes if state.scope == scope]
    return found


class TestOverlappingCohorts:
    """Replace-one adjacency: a patient is touched by the releases that the roster holds."""

    def test_disjoint_cohorts_count_in_parallel(self, site_ledger, request_for):
        a, b = (site_ledger.patient_digests(keys) for keys in (["1", "2"], ["3", "4"]))
        for patients in (a, b):
            charge = site_ledger.reserve(request_for("7", patients=patients))
            assert charge.spent_before == (0, 0)
            assert charge.prior_releases == 0
        assert spent(site_ledger) == 7
        assert site_ledger.state().remaining[0] == 3

    def test_overlapping_cohorts_compose(self, site_ledger, request_for):
        a, b = (site_ledger.patient_digests(keys) for keys in (["1", "2"], ["2", "3"]))
        site_ledger.reserve(request_for("7", patients=a))
        with pytest.raises(BudgetError, match="epsilon = 3, delta"):
            site_ledger.reserve(request_for("7", patients=b))
        charge = site_ledger.reserve(request_for("3", patients=b))
        assert charge.spent_before[0] == 7
        assert charge.prior_releases == 1

    def test_the_patient_who_has_spent_the_most_binds(self, site_ledger, request_for):
        digests = site_ledger.patient_digests("12345")
        site_ledger.reserve(request_for("1", patients=digests[:3]))
        site_ledger.reserve(request_for("2", patients=digests[2:4]))
        site_ledger.reserve(request_for("4", patients=digests[4:]))
        standing = site_ledger.standing(request_for("1", patients=digests))
        assert standing.spent_before[0] == 4  # patient 5: 4; patient 3: 1 + 2
        assert standing.prior_releases == 3
        assert site_ledger.standing(request_for("1", patients=digests[:4])).spent_before[0] == 3
        assert site_ledger.standing(request_for("1", patients=digests[:2])).spent_before[0] == 1

    def test_epsilon_and_delta_may_bind_through_different_patients(self, site_ledger, request_for):
        a, b = site_ledger.patient_digests("12")
        site_ledger.reserve(request_for("8", "0", patients=(a,)))
        site_ledger.reserve(request_for("1", "9/10000", patients=(b,)))
        standing = site_ledger.standing(request_for("1", "1/100000", patients=(a, b)))
        assert standing.spent_before == (8, Fraction(9, 10000))
        with pytest.raises(BudgetError):
            site_ledger.reserve(request_for("1", "2/10000", patients=(a, b)))

    def test_an_unknown_roster_counts_for_everybody(self, site_ledger, request_for):
        a, b = site_ledger.patient_digests("12")
        site_ledger.reserve(request_for("4", patients=(a,)))
        site_ledger.reserve(request_for("3"))  # somebody
        assert site_ledger.standing(request_for(patients=(a,))).spent_before[0] == 7
        assert site_ledger.standing(request_for(patients=(b,))).spent_before[0] == 3
        with pytest.raises(BudgetError):
            site_ledger.reserve(request_for("4"))  # it might be patient 1

    def test_without_site_wide_keys_everything_adds_up(self, ledger, request_for):
        with pytest.raises(BudgetError, match="site-wide"):
            ledger.patient_digests(["1"])
        with pytest.raises(BudgetError, match="site-wide"):
            ledger.reserve(request_for(patients=("0" * 32,)))
        ledger.reserve(request_for("7"))
        with pytest.raises(BudgetError):
            ledger.reserve(request_for("7"))

    def test_spellings_of_a_key_are_one_patient(self, site_ledger, request_for):
        (a,) = site_ledger.patient_digests(["Sub-07"])
        (b,) = site_ledger.patient_digests([" sub-07 "])
        assert a == b
        assert site_ledger.patient_digests(["sub-7"]) != (a,)

    @pytest.mark.parametrize("n", [1, 3])
    def test_a_roster_is_given_whole_or_not_at_all(self, site_ledger, request_for, n):
        from dataclasses import replace

        patients = site_ledger.patient_digests("12")
        request = replace(request_for(patients=patients), n_patients=n)
        with pytest.raises(BudgetError, match="whole roster"):
            site_ledger.reserve(request)

    def test_roster_keys_themselves_are_refused(self, site_ledger, request_for):
        with pytest.raises(BudgetError, match="keyed digests"):
            site_ledger.reserve(request_for(patients=("sub-01", "sub-02")))

    def test_a_list_that_is_used_again_is_kept_once(self, site_ledger, request_for, ledger_path):
        import sqlite3

        patients = site_ledger.patient_digests("123")
        for _ in range(3):
            site_ledger.reserve(request_for(patients=patients))
        rows = sqlite3.connect(ledger_path).execute("SELECT count(*) FROM neuroveil_roster")
        assert rows.fetchone() == (1,)
        assert spent(site_ledger) == 3


class TestScopes:
    def test_a_study_has_a_limit_of_its_own(self, ledger, request_for):
        ledger.set_limit(ONE, Fraction(2), Fraction(1, 1000))
        ledger.reserve(request_for("2", studies=("one",)))
        with pytest.raises(BudgetError, match="budget of this study"):
            ledger.reserve(request_for("1", studies=("one",)))
        charge = ledger.reserve(request_for("5", studies=("two",)))  # no limit but the site's
        assert charge.standing.scope == SITE
        assert charge.spent_before[0] == 2  # every release is charged against the site
        assert spent(ledger) == 7
        assert spent(ledger, ONE) == 2

    def test_the_sites_limit_holds_beside_it(self, ledger, request_for):
        ledger.set_limit(ONE, Fraction(100), Fraction(1, 1000))
        with pytest.raises(BudgetError, match=r"budget: .*epsilon = 10, delta"):
            ledger.reserve(request_for("11", studies=("one",)))

    def test_a_release_of_two_studies_is_charged_to_both(self, ledger, request_for):
        ledger.set_limit(ONE, Fraction(2), Fraction(1, 1000))
        ledger.set_limit(TWO, Fraction(3), Fraction(1, 1000))
        charge = ledger.reserve(request_for("2", studies=("one", "two")))
        assert charge.standing.scope == ONE
        assert charge.standing.remaining[0] == 0
        assert (spent(ledger, ONE), spent(ledger, TWO), spent(ledger)) == (2, 2, 2)

    def test_a_later_limit_counts_earlier_spends(self, ledger, request_for):
        ledger.reserve(request_for("3", studies=("one",)))
        ledger.set_limit(ONE, Fraction(2), Fraction(1, 1000))
        with pytest.raises(BudgetError, match="epsilon = -1"):
            ledger.reserve(request_for("1", studies=("one",)))

    def test_a_set_of_patients_is_protected_in_every_study(self, site_ledger, request_for):
        digests = site_ledger.patient_digests("1234")
        young = Scope("patients", "young")
        site_ledger.set_limit(young, Fraction(1), Fraction(1, 1000), digests[:1])
        site_ledger.reserve(request_for("1", patients=digests[:2], studies=("one",)))
        with pytest.raises(BudgetError, match="budget of a set of patients"):
            site_ledger.reserve(request_for("1", patients=digests[:2], studies=("two",)))
        with pytest.raises(BudgetError, match="budget of a set of patients"):
            site_ledger.reserve(request_for("1"))  # might hold one of them
        charge = site_ledger.reserve(request_for("5", patients=digests[1:]))
        assert charge.standing.scope == SITE
        assert spent(site_ledger, young) == 1
        assert spent(site_ledger) == 6

    def test_limits_are_set_once_and_make_sense(self, ledger, site_ledger_elsewhere):
        ledger.set_limit(ONE, Fraction(2), Fraction(1, 1000))
        for scope in (ONE, SITE):
            with pytest.raises(BudgetError, match="has a limit"):
                ledger.set_limit(scope, Fraction(3), Fraction(1, 1000))
        with pytest.raises(BudgetError, match="ledger limit"):
            ledger.set_limit(TWO, Fraction(0), Fraction(1, 1000))
        with pytest.raises(BudgetError, match="Name the patients"):
            ledger.set_limit(Scope("patients", "none"), Fraction(1), Fraction(1, 1000))
        with pytest.raises(BudgetError, match="Name the patients"):
            ledger.set_limit(TWO, Fraction(1), Fraction(1, 1000), ["0" * 32])
        with pytest.raises(BudgetError, match="site-wide"):
            ledger.set_limit(
                Scope("patients", "some"), Fraction(1), Fraction(1, 1000),
                site_ledger_elsewhere.patient_digests("1"),
            )  # fmt: skip

    def test_a_dry_run_refuses_the_same_and_writes_nothing(self, ledger):
        before = ledger.state()
        ledger.check_new_limit(ONE, Fraction(2), Fraction(1, 1000))
        with pytest.raises(BudgetError):
            ledger.check_new_limit(SITE, Fraction(2), Fraction(1, 1000))
        assert ledger.state() == before

    @pytest.mark.parametrize("kind", ["site", "patients"])
    def test_only_studies_can_be_named_by_a_request(self, ledger, request_for, kind):
        from dataclasses import replace

        scope = SITE if kind == "site" else Scope("patients", "young")
        with pytest.raises(BudgetError, match="found by the ledger itself"):
            ledger.reserve(replace(request_for(), scopes=(scope,)))

    @pytest.mark.parametrize("text", ["", "study", "study:", "site:x", "ward:1", "study: ", "\n"])
    def test_what_is_no_scope(self, text):
        with pytest.raises(BudgetError, match="ledger scope"):
            Scope.parse(text)

    @pytest.mark.parametrize("text", ["site", "study:a b", "patients:über 80: men"])
    def test_scopes_read_back(self, text):
        assert str(Scope.parse(text)) == text


@pytest.fixture
def site_ledger_elsewhere(tmp_path):
    return Ledger.create(
        tmp_path / "elsewhere.sqlite", Fraction(1), Fraction(1, 1000), Terms(site_wide_keys=True)
    )


RELEASES = st.lists(
    st.tuples(
        st.integers(1, 4),  # epsilon
        st.one_of(st.none(), st.frozensets(st.sampled_from("abcde"), min_size=1)),  # roster
        st.sampled_from([(), ("one",), ("two",), ("one", "two")]),
    ),
    max_size=8,
)


@pytest.mark.slow
@settings(max_examples=25)
@given(releases=RELEASES)
def test_no_patient_ever_exceeds_a_limit_and_room_is_not_wasted(
    releases, tmp_path_factory, request_for
):
    """Against bookkeeping by hand: one list of spends a patient, and one for a stranger."""
    folder = tmp_path_factory.mktemp("ledger")
    ledger = Ledger.create(
        folder / "l.sqlite", Fraction(9), Fraction(1, 10), Terms(site_wide_keys=True)
    )
    ledger.set_limit(ONE, Fraction(6), Fraction(1, 10))
    young = Scope("patients", "young")
    ledger.set_limit(young, Fraction(5), Fraction(1, 10), ledger.patient_digests("ab"))
    people = "abcde?"  # the last one is on no roster that is known
    total = dict.fromkeys(people, 0)
    in_one = dict.fromkeys(people, 0)
    for epsilon, roster, studies in releases:
        touched = people if roster is None else sorted(roster)
        fits = all(total[who] + epsilon <= 9 for who in touched)
        fits &= all(total[who] + epsilon <= 5 for who in touched if who in "ab")
        fits &= "one" not in studies or all(in_one[who] + epsilon <= 6 for who in touched)
        patients = ledger.patient_digests(sorted(roster)) if roster else ()
        request = request_for(str(epsilon), "0", patients=patients, studies=studies)
        if not fits:
            with pytest.raises(BudgetError):
                ledger.reserve(request)
            continue
        ledger.reserve(request)
        for who in touched:
            total[who] += epsilon
            in_one[who] += epsilon * ("one" in studies)
    assert spent(ledger) == max(total.values())
    assert spent(ledger, ONE) == max(in_one.values())
    assert spent(ledger, young) == max(total["a"], total["b"])
