"""The choice between releases: from public numbers, under the trust model, in one sentence."""

from __future__ import annotations

import math

import numpy as np
import pytest

from neuroveil.errors import ChainError
from neuroveil.privacy.central.candidates import Candidate, Forecast
from neuroveil.privacy.central.choice import Choice, choose_release, default_candidates
from neuroveil.privacy.central.forms import Setting, forecast, row_utility
from neuroveil.privacy.central.question import ReleaseQuestion
from neuroveil.privacy.mechanisms.contract import MechanismSpec
from neuroveil.privacy.mechanisms.registry import make_mechanism
from neuroveil.simulate.rows import spectrum_basis

D = 60
SPECTRUM, _ = spectrum_basis(D, 1.5, 0)


def question(n: int = 2000, epsilon: float = 1.0, **changes: object) -> ReleaseQuestion:
    public = {"delta": 1e-5, "clip_norm": 2.0, "trust": "central"} | changes
    return ReleaseQuestion(SPECTRUM, n, epsilon, **public)  # type: ignore[arg-type]


def is_ranked(choice: Choice) -> bool:
    scores = [each.score(choice.aim) for each in choice.ranking]
    return scores == sorted(scores, reverse=True)


def test_with_many_patients_and_a_curator_the_aggregate_leaves_most() -> None:
    choice = choose_release(question())
    assert choice.best.candidate == Candidate("mean_covariance", "aggregate")
    assert choice.best.covariance_correlation is not None
    assert choice.best.covariance_correlation > 0.9
    assert is_ranked(choice)


def test_with_few_patients_rows_leave_most() -> None:
    choice = choose_release(question(n=17, epsilon=10.0))
    assert choice.best.candidate == Candidate("privunit", "public_basis")
    assert choice.best.patient_correlation > 0.6


def test_without_a_curator_nothing_is_aggregated() -> None:
    for trust in ("local", "shuffled"):
        candidates = default_candidates(question(trust=trust))
        assert candidates
        assert not any(candidate.is_central for candidate in candidates)


def test_without_delta_only_pure_mechanisms_are_left() -> None:
    candidates = default_candidates(question(delta=0.0))
    assert {candidate.mechanism for candidate in candidates} == {"laplace", "privunit"}
    assert not any(candidate.is_central for candidate in candidates)


def test_a_shuffler_helps_mechanisms_with_a_pure_guarantee() -> None:
    alone = choose_release(question(trust="shuffled"), "patients")
    shuffled = choose_release(question(trust="shuffled", row_epsilon=4.44), "patients")
    assert shuffled.best.patient_correlation > 2 * alone.best.patient_correlation
    gaussian = [
        next(f for f in each.ranking if f.candidate == Candidate("gaussian", "plain"))
        for each in (alone, shuffled)
    ]
    assert gaussian[0] == gaussian[1]


@pytest.mark.parametrize("aim", ["patients", "population", "either"])
def test_the_aim_decides_what_counts(aim: str) -> None:
    choice = choose_release(question(epsilon=5.0), aim)  # type: ignore[arg-type]
    assert is_ranked(choice)
    expected = "privunit" if aim == "patients" else "mean_covariance"
    assert choice.best.candidate.mechanism == expected
    word = "each patient's own" if aim == "patients" else "those of the cohort"
    assert word in choice.explanation


def test_an_aggregate_is_about_no_patient() -> None:
    choice = choose_release(question())
    aggregate = next(each for each in choice.ranking if each.candidate.form == "aggregate")
    assert aggregate.patient_correlation == 0
    assert aggregate.score("patients") == 0


def test_the_explanation_is_one_sentence_with_the_numbers() -> None:
    choice = choose_release(question())
    text = choice.explanation
    assert text.endswith(".")
    assert text.count(". ") == 0
    assert "epsilon = 1" in text
    assert "2,000 patients" in text
    assert f"{choice.best.covariance_correlation:.2f}" in text


def test_a_useless_release_is_called_so() -> None:
    assert "too little to be of use" in choose_release(question(17, 0.5)).explanation
    assert "too little" not in choose_release(question()).explanation


def test_only_the_candidates_that_were_asked_for_are_ranked() -> None:
    wanted = [Candidate("gaussian", "plain")]
    choice = choose_release(question(), candidates=wanted)
    assert [each.candidate for each in choice.ranking] == wanted
    spec = MechanismSpec("gaussian", 1.0, 1e-5, 2.0, "l2", D)
    assert choice.best.patient_correlation == make_mechanism(spec).predict().correlation


@pytest.mark.parametrize("form", ["private_basis", "aggregate"])
def test_a_candidate_that_trust_does_not_allow_is_refused(form: str) -> None:
    wanted = [Candidate("gaussian", form)]  # type: ignore[arg-type]
    with pytest.raises(ChainError, match="trust"):
        choose_release(question(trust="local"), candidates=wanted)


def test_rows_that_were_chosen_elsewhere_are_ranked_too() -> None:
    chosen = Forecast(Candidate("privunit", "public_basis"), 0.99)
    central = [each for each in default_candidates(question()) if each.is_central]
    choice = choose_release(question(), candidates=central, also=[chosen])
    assert choice.best is chosen
    assert len(choice.ranking) == len(central) + 1
    assert "privunit rows in a public basis should leave most" in choice.explanation
    assert choose_release(question(), candidates=[], also=[chosen]).ranking == (chosen,)


def test_an_empty_list_and_an_unknown_aim_are_refused() -> None:
    with pytest.raises(ChainError):
        choose_release(question(), candidates=[])
    with pytest.raises(ChainError):
        choose_release(question(), "everything")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change",
    [
        {"n": 0}, {"epsilon": 0.0}, {"epsilon": math.nan}, {"delta": 1.0}, {"clip_norm": 0.0},
        {"trust": "everybody"}, {"row_epsilon": 5.0}, {"trust": "shuffled", "row_epsilon": 0.5},
        {"trust": "shuffled", "row_epsilon": math.nan},
    ],
    ids=str,
)  # fmt: skip
def test_bad_conditions_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(ChainError):
        question(**change)  # type: ignore[arg-type]


def test_a_private_basis_spends_a_part_and_says_which() -> None:
    setting = Setting(SPECTRUM / SPECTRUM.sum() * 4, 5000, 10.0, 1e-5, 2.0)
    found = forecast(Candidate("privunit", "private_basis"), setting)
    public = forecast(Candidate("privunit", "public_basis"), setting)
    assert found.basis_epsilon is not None
    assert 0 < found.basis_epsilon < 10
    assert found.rank is not None
    assert 0.5 < found.patient_correlation < public.patient_correlation


def test_rows_behind_a_private_basis_have_what_is_left_of_epsilon() -> None:
    """Where nearly all is seen and hardly a row clipped, it is the public basis at less epsilon."""
    energies = np.array([3.0, 0.9, 0.1])
    found = forecast(
        Candidate("privunit", "private_basis"), Setting(energies, 10**6, 4.0, 1e-5, 8.0)
    )
    assert found.basis_epsilon is not None
    rest = Setting(energies, 10**6, 4.0 - found.basis_epsilon, 1e-5, 8.0)
    public = forecast(Candidate("privunit", "public_basis"), rest)
    assert found.patient_correlation == pytest.approx(public.patient_correlation, rel=0.02)


def test_gaussian_rows_behind_a_private_basis_have_half_of_delta() -> None:
    energies = np.array([3.0, 0.9, 0.1])
    found = forecast(
        Candidate("gaussian", "private_basis"), Setting(energies, 10**6, 4.0, 1e-5, 8.0)
    )
    assert found.basis_epsilon is not None
    rest = Setting(energies, 10**6, 4.0 - found.basis_epsilon, 1e-5 / 2, 8.0)
    public = forecast(Candidate("gaussian", "public_basis"), rest)
    assert found.patient_correlation == pytest.approx(public.patient_correlation, rel=0.02)


def test_a_private_basis_of_pure_noise_is_no_use() -> None:
    setting = Setting(SPECTRUM / SPECTRUM.sum() * 4, 3, 1e-6, 1e-5, 2.0)
    found = forecast(Candidate("privunit", "private_basis"), setting)
    assert found.patient_correlation == 0
    setting = Setting(SPECTRUM / SPECTRUM.sum() * 4, 3, 1.0, 1e-5, 2.0)
    assert forecast(Candidate("privunit", "private_basis"), setting).patient_correlation < 0.1


def test_privunit_is_forecast_by_itself() -> None:
    spec = MechanismSpec("privunit", 5.0, 0.0, 2.0, "l2", D)
    gaussian = MechanismSpec("gaussian", 5.0, 1e-5, 2.0, "l2", D)
    assert row_utility(spec).rmse < row_utility(gaussian).rmse / 2


def test_the_order_of_the_spectrum_does_not_matter() -> None:
    shuffled = ReleaseQuestion(np.flip(SPECTRUM), 2000, 1.0, 1e-5, 2.0, "central")
    assert choose_release(shuffled).ranking == choose_release(question()).ranking
