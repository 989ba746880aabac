"""Pitfalls found in peers (MECHANISMS section 9), one test each.

Two of the list have nothing to go wrong in here: this room estimates no variance, and the
audit's estimators are tested with the audit.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
import pytest

from neuroveil.errors import ChainError, NeuroveilError
from neuroveil.privacy import ProtectSettings, charge_request, make_mechanism, protect
from neuroveil.privacy.accounting import Event, epsilon_by_pld, epsilon_by_rdp
from neuroveil.privacy.bounds import ClipL1, ClipL2
from neuroveil.privacy.calibration import gaussian_epsilon, gaussian_sigma
from neuroveil.privacy.sampling import SystemRandomness


def test_replace_one_factor_left_out_of_an_rdp_accountant() -> None:
    event = [Event("gaussian", 1.0)]
    exact = gaussian_epsilon(1.0, 1.0, 1e-5)
    assert epsilon_by_rdp(event, 1e-5) >= exact
    assert epsilon_by_pld(event, 1e-5) == pytest.approx(exact, rel=1e-3)


def test_nan_released_as_0(gaussian: ProtectSettings) -> None:
    mechanism = make_mechanism(gaussian.spec(2))
    with pytest.raises(ChainError, match="finite values"):
        mechanism.bound(np.array([[math.nan, 1.0]]))


@pytest.mark.parametrize("epsilon", [1e-6, 1e-4, 1.0])
def test_silent_integer_saturation(epsilon: float, make_table, scaling, pay) -> None:
    """Standard deviation of released values at scales far beyond 32 and near 64 bits.

    13,200 cells: 8 % are more than 8 standard errors.
    """
    settings = ProtectSettings("laplace", epsilon, 0.0, 2.0)
    table = make_table(400)
    release = protect(table, scaling, settings, pay(settings, table))
    stated = release.certificate.value("mechanism.noise_std")
    assert release.values.std() == pytest.approx(stated, rel=0.08)


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma_over_sensitivity"),
    [  # roots of Balle and Wang's equation in 60-digit arithmetic
        (20.0, 1e-5, 0.290041418033),
        (20.0, 1e-17, 0.468601710014),
        (1.0, 1e-15, 7.48700946799),
        (0.01, 1e-17, 742.41876093),
        (100.0, 1e-15, 0.120176179148),
    ],
)
def test_sigma_wrong_by_cancellation(
    epsilon: float, delta: float, sigma_over_sensitivity: float
) -> None:
    assert gaussian_sigma(1.0, epsilon, delta) == pytest.approx(sigma_over_sensitivity, rel=1e-11)


@pytest.mark.parametrize("epsilon", [709.0, 710.0, 800.0, 1000.0])
def test_epsilon_from_710_on_giving_no_noise(epsilon: float) -> None:
    for name, delta in (("gaussian", 1e-5), ("laplace", 0.0)):
        mechanism = make_mechanism(ProtectSettings(name, epsilon, delta, 2.0).spec(363))
        assert mechanism.predict().rmse > 0.05
    with pytest.raises(ChainError):
        make_mechanism(ProtectSettings("gaussian", 1001.0, 1e-5, 2.0).spec(363))


def test_scale_0_releasing_raw_data() -> None:
    for draw in (SystemRandomness().discrete_gaussian, SystemRandomness().discrete_laplace):
        with pytest.raises(ChainError, match=r"mechanism\.integer_scale"):
            draw(0.0, (1, 1))


@pytest.mark.parametrize("change", [{"epsilon": 0.0}, {"delta": 0.0}], ids=str)
def test_epsilon_or_delta_0_hanging(gaussian, columns, change: dict[str, float]) -> None:
    start = time.process_time()
    with pytest.raises(ChainError):
        charge_request(replace(gaussian, **change), columns, 17)
    assert time.process_time() - start < 60


@pytest.mark.parametrize("name", ["epsilon", "delta", "clip_norm"])
def test_nan_parameters_accepted(gaussian, columns, name: str) -> None:
    with pytest.raises(ChainError, match="found nan"):
        charge_request(replace(gaussian, **{name: math.nan}), columns, 17)


@pytest.mark.parametrize("epsilon", [10.0, 20.0])
def test_classical_gaussian_formula_above_epsilon_1(epsilon: float) -> None:
    classical = math.sqrt(2 * math.log(1.25 / 1e-5)) / epsilon
    assert gaussian_sigma(1.0, epsilon, 1e-5) > classical
    assert gaussian_epsilon(1.0, classical, 1e-5) > epsilon


@pytest.mark.parametrize("clip", [ClipL2(2.0), ClipL1(2.0)], ids=repr)
def test_asymmetric_bounds_giving_sensitivity_0(clip: ClipL2 | ClipL1) -> None:
    """The bound is a ball round the public centre, so both of its ends are as far away."""
    ends = clip.apply(np.array([[9.0, 0.0], [-9.0, 0.0]]))
    assert np.abs(ends[0] - ends[1]).sum() == 4.0
    assert clip.sensitivity("replace_one", "l2", 2) == 4.0


@pytest.mark.parametrize("multiplier", [0.5, 5.0, 500.0])
def test_rdp_orders_near_1_giving_epsilon_0(multiplier: float) -> None:
    event = [Event("gaussian", multiplier)]
    exact = gaussian_epsilon(1.0, multiplier, 1e-5)
    assert exact > 0
    assert epsilon_by_rdp(event, 1e-5) >= exact


def test_errors_and_representations_that_print_a_private_value(
    gaussian, table, scaling, pay
) -> None:
    secret = 123456.789
    table.values[2, 3] = secret
    charge = pay(gaussian, table)
    release = protect(table, scaling, gaussian, charge)
    texts = [repr(table), repr(release), repr(charge), repr(charge.request)]
    table.values[2, 4] = math.inf
    for attempt in (
        lambda: protect(table, scaling, gaussian, charge),
        lambda: make_mechanism(gaussian.spec(33)).bound(table.values),
    ):
        with pytest.raises(NeuroveilError) as refusal:
            attempt()
        texts += [str(refusal.value), repr(refusal.value)]
    for text in texts:
        assert "123456" not in text
        assert "patient 2" not in text
        assert "inf" not in text.replace("influence", "").replace("infinite", "")
