from neuroveil.privacy.mechanisms.contract import RowGuarantee
from neuroveil.privacy.randomness import SamplerFacts
from neuroveil.privacy.verdict import Promised, blocking_reasons, verdict

REAL = SamplerFacts("opendp", "1", True, "operating_system", False)
SEEDED = SamplerFacts("numpy", "1", False, "seeded_generator", True)
HOLDS = RowGuarantee("pure_dp", 1.0, 0.0, 1.0, "a theorem")
UNDER_NOISED = RowGuarantee("pure_dp", 0.5, 0.0, 9.526279, "none")


def test_the_form_with_a_guarantee() -> None:
    assert verdict(Promised(1.0, 1e-5, "local", ()), ()) == (
        "Differentially private for every patient: epsilon = 1, delta = 1e-05."
    )
    assert verdict(Promised(0.1, 0.0, "local", ("age", "sex")), ()) == (
        "Differentially private for every patient: epsilon = 0.1, delta = 0. Not covered: age, sex."
    )
    assert verdict(Promised(1.0, 1e-6, "shuffled", ()), ()) == (
        "Differentially private for every patient, given a trusted shuffler: epsilon = 1, "
        "delta = 1e-06."
    )


def test_the_form_without_one() -> None:
    promised = Promised(1.0, 0.0, "shuffled", ("age",))
    assert verdict(promised, ("sampler: a", "composition: b")) == (
        "Not differentially private at epsilon = 1, delta = 0. sampler: a; composition: b."
    )


def test_numbers_read_back_exactly() -> None:
    for value in (0.1, 1 / 3, 1e-17, 12.5):
        assert f"epsilon = {value!r}," in verdict(Promised(value, 0.0, "local", ()), ())


def test_reasons_stand_in_the_order_of_the_chain(scaling, table) -> None:
    from neuroveil.privacy import private_statistics_scaling

    private = private_statistics_scaling(table)
    reasons = blocking_reasons(UNDER_NOISED, private, SEEDED, is_paid=False)
    links = [reason.split(":")[0] for reason in reasons]
    assert links == ["preprocessing", "mechanism", "sampler", "composition"]
    assert reasons[1].endswith("19.05 times too small; as pure DP it supports epsilon = 9.526")
    assert blocking_reasons(HOLDS, scaling, REAL, is_paid=True) == ()
