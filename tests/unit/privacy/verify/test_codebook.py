"""Forged codebooks: probabilities, ratios, decoding and what is said about them."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuroveil.privacy.verify.arithmetic import precise
from neuroveil.privacy.verify.codebook import exponential_bounds

PRIVUNIT = {"mechanism": "privunit", "epsilon_rows": 5.0}
ONE = 1 << 128


def sentence(result: Any, name: str) -> str:
    return " ".join(check.sentence for check in result.checks if check.id == name)


@given(st.floats(1e-12, 300))
def test_bounds_of_the_exponential_hold_to_150_digits(x: float) -> None:
    low, high = exponential_bounds(Fraction(x))
    with mpmath.workdps(150):
        exact = mpmath.exp(mpmath.mpf(x))
        assert mpmath.mpf(low.numerator) / low.denominator < exact
        assert exact < mpmath.mpf(high.numerator) / high.denominator
    assert high - low < low / 10**89


def shifted(document: Any, units: int) -> str:
    """The stated probability, moved by units of 2^-128."""
    text = document["chain"]["mechanism"]["top_probability"]["value"]
    return f"{int(text.partition('/')[0]) + units}/{ONE}"


def with_ratio(workshop: Any, document: Any) -> Any:
    """Recompute what follows from the probability."""
    mechanism = document["chain"]["mechanism"]
    size, top = mechanism["codebook_size"]["value"], mechanism["codebook_top"]["value"]
    p = Fraction(int(mechanism["top_probability"]["value"].partition("/")[0]), ONE)
    ratio = p * (size - top) / ((1 - p) * top)
    workshop.put(document, "mechanism.likelihood_ratio", f"{ratio.numerator}/{ratio.denominator}")
    with precise():
        logarithm = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
    supported = math.nextafter(float(logarithm), math.inf)
    workshop.put(document, "guarantee.epsilon_supported", min(supported, 5.0))
    return document


@pytest.mark.parametrize("units", [1, 2, 1 << 60])
def test_one_unit_too_much_breaks_the_mechanism(workshop: Any, units: int) -> None:
    """2^-128 above the exact chance is above e^epsilon, and no rounding hides it."""
    document = workshop.certificate(**PRIVUNIT)
    workshop.put(document, "mechanism.top_probability", shifted(document, units))
    result = workshop.verify(with_ratio(workshop, document))
    assert "mechanism" in result.broken_links
    assert "more than e^epsilon" in sentence(result, "mechanism.top_probability")


def test_a_little_too_little_is_within_the_rounding(workshop: Any) -> None:
    document = workshop.certificate(**PRIVUNIT)
    workshop.put(document, "mechanism.top_probability", shifted(document, -(1 << 6)))
    assert workshop.verify(with_ratio(workshop, document)).exit_code == 0
    workshop.put(document, "mechanism.top_probability", shifted(document, -(1 << 60)))
    result = workshop.verify(with_ratio(workshop, document))
    assert "rounded down to a multiple" in sentence(result, "mechanism.top_probability")


@pytest.mark.parametrize("epsilon", [0.1, 1.3, 2.2])
def test_the_decimal_that_was_charged_is_enough(workshop: Any, epsilon: float) -> None:
    """Doubles lie above their decimals here; noise made for the decimal is on the safe side."""
    document = workshop.certificate(mechanism="privunit", epsilon_rows=epsilon)
    mechanism = document["chain"]["mechanism"]
    size, top = mechanism["codebook_size"]["value"], mechanism["codebook_top"]["value"]
    with mpmath.workdps(80):
        grown = mpmath.exp(mpmath.mpf(str(epsilon))) * top
        p = int(mpmath.floor(grown / (grown + size - top) * ONE))
    workshop.put(document, "mechanism.top_probability", f"{p}/{ONE}")
    assert workshop.verify(with_ratio(workshop, document)).exit_code == 0


@pytest.mark.parametrize(
    "value",
    [f"0/{ONE}", f"{ONE}/{ONE}", f"{ONE + 1}/{ONE}", "1/2", "1/0", f"1/{ONE // 2}", "0.6",
     f"-1/{ONE}", "1/" + "9" * 401, f"01/{ONE}/2", f" 1/{ONE}"],
)  # fmt: skip
def test_probability_that_is_none(workshop: Any, value: str) -> None:
    document = workshop.certificate(**PRIVUNIT)
    workshop.put(document, "mechanism.top_probability", value)
    assert "mechanism" in workshop.verify(document).broken_links


def test_probability_not_over_2_to_128(workshop: Any) -> None:
    """The same number in other words is another probability."""
    document = workshop.certificate(**PRIVUNIT)
    top = int(shifted(document, 0).partition("/")[0])
    workshop.put(document, "mechanism.top_probability", f"{2 * top}/{2 * ONE}")
    assert "mechanism" in workshop.verify(document).broken_links


ALONE: list[tuple[str, Any, str]] = [
    ("mechanism.epsilon", 4.9, "mechanism"),
    ("mechanism.codebook_size", 4097, "mechanism"),
    ("mechanism.codebook_size", 81, "mechanism"),
    ("mechanism.codebook_top", 40, "mechanism"),
    ("mechanism.codebook_top", 2049, "mechanism"),
    ("mechanism.codebook_top", 0, "mechanism"),
    ("mechanism.codebook_seed", None, "mechanism"),
    ("mechanism.codebook_seed", "00" * 15, "mechanism"),
    ("mechanism.codebook_seed", "0G" * 16, "mechanism"),
    ("mechanism.codebook_per_message", True, "mechanism"),
    ("mechanism.codebook_generator", "another", "mechanism"),
    ("mechanism.sphere_dimension", 363, "mechanism"),
    ("mechanism.sphere_dimension", 365, "mechanism"),
    ("mechanism.likelihood_ratio", "148/1", "mechanism"),
    ("mechanism.rounding", "up", "mechanism"),
    ("mechanism.distribution", "discrete_gaussian", "mechanism"),
    ("mechanism.consumes_norm", "l2", "mechanism"),
    ("mechanism.choice", "", "mechanism"),
    ("sensitivity.norm", "l2", "sensitivity"),
    ("sensitivity.value", 4.0, "sensitivity"),
    ("bound.norm", "l1", "bound"),
    ("bound.grid_log2", 0, "bound"),
    ("bound.dimension", 362, "bound"),
    ("sampler.library", "opendp", "sampler"),
    ("sampler.version", "3.0", "sampler"),
    ("guarantee.delta", 1e-9, "guarantee"),
    ("guarantee.variant", "approximate_dp", "guarantee"),
    ("guarantee.epsilon_supported", 4.99, "guarantee"),
    ("guarantee.epsilon_supported", 5.001, "guarantee"),
    ("guarantee.delta_slack", 1e-12, "guarantee"),
    ("accountant.name", "analytic_gaussian", "accountant"),
    ("accountant.events", [{"mechanism": "privunit", "epsilon": 4.0, "releases": 1}], "accountant"),
    ("accountant.events", [{"mechanism": "privunit", "epsilon": 5.0, "releases": True}],
     "accountant"),
    ("accountant.cross_check", {"method": "m", "version": "1", "epsilon": 5.0, "delta": 0.0,
                                "zcdp_rho": None}, "accountant"),
    ("utility.estimate", {"correlation": 0.9}, "utility"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "link"), ALONE)
def test_one_field_alone(workshop: Any, name: str, value: Any, link: str) -> None:
    document = workshop.certificate(**PRIVUNIT)
    workshop.put(document, name, value)
    result = workshop.verify(document)
    assert result.exit_code == 4
    assert link in result.broken_links


def test_ratio_in_lowest_terms(workshop: Any) -> None:
    document = workshop.certificate(**PRIVUNIT)
    text = document["chain"]["mechanism"]["likelihood_ratio"]["value"]
    top, _, bottom = text.partition("/")
    workshop.put(document, "mechanism.likelihood_ratio", f"{2 * int(top)}/{2 * int(bottom)}")
    assert "mechanism" in workshop.verify(document).broken_links


@pytest.mark.parametrize("factor", [1 - 1e-8, 1 + 1e-8])
def test_decoding_scale_is_derived_again(workshop: Any, factor: float) -> None:
    document = workshop.certificate(**PRIVUNIT)
    scale = document["chain"]["mechanism"]["decoding_scale"]["value"]
    workshop.put(document, "mechanism.decoding_scale", scale * (1 + 1e-11))
    assert workshop.verify(document).exit_code == 0
    workshop.put(document, "mechanism.decoding_scale", scale * factor)
    assert workshop.verify(document).broken_links == ("mechanism", "verdict")


@pytest.mark.parametrize("key", ["rmse", "mae", "correlation", "mse_over_clip_norm_squared"])
def test_utility_is_recomputed(workshop: Any, key: str) -> None:
    document = workshop.certificate(**PRIVUNIT)
    document["chain"]["utility"]["predicted"]["value"][key] *= 1.0001
    assert workshop.verify(document).broken_links == ("utility", "verdict")


def test_epsilon_halved_consistently_but_not_the_probability(workshop: Any) -> None:
    document, other = workshop.certificate(**PRIVUNIT), workshop.certificate(
        mechanism="privunit", epsilon_rows=2.5
    )  # fmt: skip
    document["chain"]["guarantee"] = other["chain"]["guarantee"]
    document["chain"]["composition"] = other["chain"]["composition"]
    workshop.put(document, "mechanism.epsilon", 2.5)
    workshop.put(document, "accountant.events", other["chain"]["accountant"]["events"]["value"])
    workshop.say_verdict(document)
    result = workshop.verify(document)
    assert "mechanism" in result.broken_links
    assert "more than e^epsilon" in sentence(result, "mechanism.top_probability")


@pytest.mark.parametrize(
    ("epsilon", "top", "aligned", "mse"),
    [(1.0, 22656, 0.0208, 2294), (5.0, 2117, 0.0968, 105.3), (10.0, 38, 0.1697, 33.6)],
)
def test_published_alignments_and_errors(
    workshop: Any, epsilon: float, top: int, aligned: float, mse: float
) -> None:
    """The mathematics' table is for the whole sphere; 65,536 codewords come within 1 %."""
    document = workshop.certificate(
        mechanism="privunit", epsilon_rows=epsilon, size=1 << 16, top=top, limit=(20.0, 0.0)
    )
    assert workshop.verify(document).exit_code == 0
    scale = document["chain"]["mechanism"]["decoding_scale"]["value"]
    predicted = document["chain"]["utility"]["predicted"]["value"]
    assert 2.0 / scale == pytest.approx(aligned, rel=0.01)
    assert predicted["mse_over_clip_norm_squared"] == pytest.approx(mse, rel=0.01)


@given(st.integers(-(2**61), 2**61), st.integers(-(2**61), 2**61))
def test_absurd_sizes_never_crash(
    honest_codebook: str, tmp_path_factory: Any, size: int, top: int
) -> None:
    import json

    from neuroveil.privacy.verify import verify

    document = json.loads(honest_codebook)
    document["chain"]["mechanism"]["codebook_size"]["value"] = size
    document["chain"]["mechanism"]["codebook_top"]["value"] = top
    path = tmp_path_factory.mktemp("sizes") / "certificate.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert verify(path).exit_code == 4


@pytest.fixture(scope="module")
def honest_codebook(certificates: Any) -> str:
    return str(certificates(mechanism="privunit"))
