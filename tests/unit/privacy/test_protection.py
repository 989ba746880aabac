from __future__ import annotations

import inspect
import math
import pickle
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from neuroveil.errors import BudgetError, ChainError
from neuroveil.privacy import (
    LabelPolicy,
    ProtectSettings,
    charge_request,
    check_release,
    private_statistics_scaling,
    protect,
)
from neuroveil.privacy import sampling as sampling_module
from neuroveil.types.charge import Charge
from neuroveil.types.release import Release
from neuroveil.types.scaling import Scaling
from neuroveil.types.table import FeatureTable

Pay = Callable[[ProtectSettings, FeatureTable], Charge]
MakeTable = Callable[..., FeatureTable]


class Untouched:
    """A sampler that must not be asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, *_: object) -> None:
        self.asked += 1
        raise AssertionError("noise was drawn")


def test_a_release_has_the_shape_labels_and_certificate(
    gaussian: ProtectSettings, table: FeatureTable, scaling: Scaling, pay: Pay
) -> None:
    release = protect(table, scaling, gaussian, pay(gaussian, table))
    assert isinstance(release, Release)
    assert release.values.shape == (5, 33)
    assert release.values.dtype == np.float64
    assert release.columns == table.columns
    assert list(release.labels) == ["sex", "diagnosis"]
    assert set(release.labels["sex"]) <= {"female", "male"}
    assert sorted(release.labels["diagnosis"]) == sorted(table.attributes["diagnosis"])
    assert release.certificate.formal_guarantee
    assert release.certificate.verdict.endswith("Not covered: diagnosis.")
    assert "patient 3" not in repr(release)


def test_released_values_are_the_clipped_rows_plus_noise_of_the_stated_scale(
    make_table: MakeTable, scaling: Scaling, pay: Pay
) -> None:
    """At epsilon 1000 the noise is small enough to see the rows through it.

    33,000 cells; a relative error of 2.5 % of the standard deviation is 6.4 standard errors.
    """
    settings = ProtectSettings("gaussian", 1000.0, 1e-6, 2.0,
                               labels=(LabelPolicy("diagnosis", "unprotected"),))  # fmt: skip
    table = make_table(1000)
    release = protect(table, scaling, settings, pay(settings, table))
    order = [int(label.split()[1]) for label in release.labels["diagnosis"]]
    from neuroveil.privacy import make_mechanism, scale_rows

    mechanism = make_mechanism(settings.spec(33))
    clipped = mechanism.to_scaled(mechanism.bound(scale_rows(table, scaling)))
    noise = release.values - clipped[order]
    stated = release.certificate.value("mechanism.noise_std")
    assert noise.std() == pytest.approx(stated, rel=0.025)
    assert abs(noise.mean()) < 6 * stated / math.sqrt(noise.size)


@pytest.mark.slow
def test_rows_come_out_in_random_order_with_their_labels(
    make_table: MakeTable, scaling: Scaling, pay: Pay
) -> None:
    """Each of 3! orders appears in 200 releases; a false alarm has a chance of 6 (5/6)^200."""
    settings = ProtectSettings("laplace", 1000.0, 0.0, 2.0, norm="l1",
                               labels=(LabelPolicy("diagnosis", "unprotected"),))  # fmt: skip
    table = make_table(3)
    table.values[:] = 1.0
    for row in range(3):
        table.values[row, 3] = 2.0 * (row - 1)  # a linear column: 0 is the centre
    orders: Counter[tuple[str, ...]] = Counter()
    for _ in range(200):
        release = protect(table, scaling, settings, pay_generously(settings, table))
        orders[release.labels["diagnosis"]] += 1
        by_value = np.argsort(release.values[:, 3])
        assert [release.labels["diagnosis"][i] for i in by_value] == [
            f"diagnosis {row}" for row in range(3)
        ]
    assert len(orders) == 6


def pay_generously(settings: ProtectSettings, table: FeatureTable) -> Charge:
    """A charge from outside a ledger, where a test needs hundreds of them."""
    from neuroveil.types.charge import _SEAL

    nothing = (Fraction(0), Fraction(0))
    return Charge(
        charge_request(settings, table.columns, table.n_patients), entry=1,
        limit=(Fraction(10**6), Fraction(1, 2)), spent_before=nothing, prior_releases=0, seal=_SEAL,
    )  # fmt: skip


def test_missing_cells_and_rows_are_released_as_noise_around_the_public_centre(
    make_table: MakeTable, scaling: Scaling, pay: Pay
) -> None:
    settings = ProtectSettings("gaussian", 1000.0, 1e-5, 2.0)
    table = make_table(4)
    table.values[:] = np.nan
    release = protect(table, scaling, settings, pay(settings, table))
    stated = release.certificate.value("mechanism.noise_std")
    assert np.isfinite(release.values).all()
    assert np.abs(release.values).max() < 8 * stated


class TestTheCharge:
    def test_it_is_used_up(self, gaussian, table, scaling, pay: Pay) -> None:
        charge = pay(gaussian, table)
        protect(table, scaling, gaussian, charge)
        assert charge.is_consumed
        with pytest.raises(BudgetError, match="already paid"):
            protect(table, scaling, gaussian, charge)

    def test_it_is_used_up_before_noise_is_drawn(
        self, gaussian, table, scaling, pay: Pay, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        charge = pay(gaussian, table)
        spent_at_draw = []

        def crash(*_: object) -> None:
            spent_at_draw.append(charge.is_consumed)
            raise MemoryError

        monkeypatch.setattr(sampling_module, "_draw", crash)
        with pytest.raises(MemoryError):
            protect(table, scaling, gaussian, charge)
        assert spent_at_draw == [True]
        monkeypatch.undo()
        with pytest.raises(BudgetError):
            protect(table, scaling, gaussian, charge)

    @pytest.mark.parametrize(
        "change", [{"epsilon": 0.9}, {"delta": 1e-6}, {"labels": ()}, {"mechanism": "laplace"}],
        ids=str,
    )  # fmt: skip
    def test_one_for_other_settings_is_refused(
        self, gaussian, table, scaling, pay: Pay, change: dict[str, object]
    ) -> None:
        charge = pay(gaussian, table)
        if change.get("mechanism") == "laplace":
            change = {**change, "delta": 0.0}
        with pytest.raises(BudgetError, match="other parameters"):
            protect(table, scaling, replace(gaussian, **change), charge)
        assert not charge.is_consumed

    def test_one_for_another_number_of_patients_is_refused(
        self, gaussian, make_table: MakeTable, scaling, pay: Pay
    ) -> None:
        charge = pay(gaussian, make_table(6))
        with pytest.raises(BudgetError, match="other parameters"):
            protect(make_table(5), scaling, gaussian, charge)

    def test_a_copy_cannot_be_made(self, gaussian, table, pay: Pay) -> None:
        with pytest.raises(BudgetError):
            pickle.dumps(pay(gaussian, table))


class TestRefusalsBeforeTheSpend:
    """Nothing is drawn and nothing is spent where a release is refused."""

    @pytest.fixture(autouse=True)
    def _no_noise(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sampling_module, "_draw", Untouched())

    def refused(self, table, scaling, settings, charge: Charge, match: str) -> None:
        with pytest.raises(ChainError, match=match):
            check_release(table, scaling, settings)
        with pytest.raises(ChainError, match=match):
            protect(table, scaling, settings, charge)
        assert not charge.is_consumed

    def test_the_papers_laplace(self, gaussian, paper_laplace, table, scaling, pay: Pay) -> None:
        self.refused(table, scaling, paper_laplace, pay(gaussian, table), "supports epsilon")

    def test_private_scaling_without_acknowledgement(self, gaussian, table, pay: Pay) -> None:
        private = private_statistics_scaling(table)
        self.refused(table, private, gaussian, pay(gaussian, table), "acknowledgement")

    def test_constants_for_other_columns(
        self, gaussian, table, make_scaling, columns, pay: Pay
    ) -> None:
        other = make_scaling(columns[:-1])
        self.refused(table, other, gaussian, pay(gaussian, table), "reference constants")

    def test_a_label_that_the_roster_does_not_have(self, gaussian, table, scaling, pay) -> None:
        charge = pay(gaussian, table)
        bare = replace(table, attributes={})
        self.refused(bare, scaling, gaussian, charge, r"labels\.sex")

    def test_a_value_that_is_too_large_to_scale(self, gaussian, table, columns, pay: Pay) -> None:
        charge = pay(gaussian, table)
        table.values[0, 3] = 1e308  # a linear column
        d = len(columns)
        narrow = Scaling(columns, np.zeros(d), np.full(d, 1e-9), "public", "test", (False,) * d)
        self.refused(table, narrow, gaussian, charge, "finite after scaling")

    def test_an_infinite_value_that_slipped_into_the_table(
        self, gaussian, table, scaling, pay: Pay
    ) -> None:
        charge = pay(gaussian, table)
        table.values[0, 0] = np.inf
        self.refused(table, scaling, gaussian, charge, "finite after scaling")


def test_there_is_no_seed_parameter() -> None:
    assert list(inspect.signature(protect).parameters) == [
        "table", "scaling", "settings", "charge",
    ]  # fmt: skip


def test_two_releases_of_one_table_differ_everywhere(gaussian, table, scaling, pay: Pay) -> None:
    """Equal cells by chance: 165 cells at 2^-44."""
    first = protect(table, scaling, gaussian, pay(gaussian, table))
    second = protect(table, scaling, gaussian, pay(gaussian, table))
    assert not np.isin(first.values, second.values).any()
    assert second.certificate.value("composition.prior_releases") == 1
    assert second.certificate.value("composition.spent_before") == {"epsilon": 1.5, "delta": 1e-5}


def test_the_private_table_is_left_alone(gaussian, table, scaling, pay: Pay) -> None:
    table.values[0, 0] = np.nan
    before = table.values.copy()
    protect(table, scaling, gaussian, pay(gaussian, table))
    assert np.array_equal(before, table.values, equal_nan=True)


def test_an_acknowledged_private_scaling_is_released_without_guarantee(
    gaussian, table, pay: Pay
) -> None:
    settings = replace(gaussian, acknowledge_private_statistics=True)
    release = protect(table, private_statistics_scaling(table), settings, pay(settings, table))
    assert not release.certificate.formal_guarantee


@pytest.mark.alone
@pytest.mark.slow
def test_a_thousand_patients_take_less_than_half_a_minute(
    pay: Pay, make_table, make_scaling
) -> None:
    """363,000 exact samples; about 4 s on one idle core."""
    import time

    from neuroveil.types.catalogue import FEATURE_NAMES, columns_for

    columns = columns_for(tuple(f"E{number}" for number in range(33)), FEATURE_NAMES)
    table, settings = make_table(1000, columns), ProtectSettings("gaussian", 1.0, 1e-6, 2.0)
    charge = pay(settings, table)
    start = time.process_time()
    release = protect(table, make_scaling(columns), settings, charge)
    assert time.process_time() - start < 30
    assert release.values.shape == (1000, 363)
