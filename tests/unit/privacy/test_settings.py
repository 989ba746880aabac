from dataclasses import replace
from fractions import Fraction

import pytest

from neuroveil.errors import ChainError
from neuroveil.privacy import LabelPolicy, ProtectSettings, charge_request
from neuroveil.types.catalogue import Column
from neuroveil.types.certificate import canonical_json, digest


def test_the_request_has_the_exact_decimals(columns: tuple[Column, ...]) -> None:
    labels = (
        LabelPolicy("sex", "randomised_response", ("female", "male"), 0.2),
        LabelPolicy("age", "randomised_response", ("young", "old"), 0.3),
        LabelPolicy("diagnosis", "unprotected"),
    )
    settings = ProtectSettings("gaussian", 0.1, 1e-5, 2.0, labels=labels)
    request = charge_request(settings, columns, 17)
    assert request.epsilon == Fraction(6, 10)
    assert request.delta == Fraction(1, 100_000)
    assert (request.mechanism, request.n_patients, request.dimension) == ("gaussian", 17, 33)
    names = [column.name for column in columns]
    assert request.columns_digest == digest(canonical_json(names))


def test_a_pure_mechanism_spends_no_delta(laplace: ProtectSettings, columns) -> None:
    assert charge_request(laplace, columns, 17).delta == 0


def test_the_papers_laplace_cannot_be_charged_for(paper_laplace: ProtectSettings, columns) -> None:
    with pytest.raises(ChainError, match=r"supports epsilon = 5\.745 instead of 1") as refusal:
        charge_request(paper_laplace, columns, 17)
    assert refusal.value.exit_code == 4
    with pytest.raises(ChainError):
        charge_request(paper_laplace, columns[:1], 17)


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": 0.0}, {"epsilon": float("nan")}, {"delta": 0.0}, {"delta": 1.0},
        {"clip_norm": 0.0}, {"norm": "l1"}, {"norm": "linf"}, {"mechanism": "geometric"},
        {"mechanism": "laplace"},
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_calibrated_is_refused(
    gaussian: ProtectSettings, columns: tuple[Column, ...], change: dict[str, object]
) -> None:
    with pytest.raises(ChainError):
        charge_request(replace(gaussian, **change), columns, 17)  # type: ignore[arg-type]


def test_no_columns_or_no_patients_are_refused(gaussian: ProtectSettings, columns) -> None:
    with pytest.raises(ChainError, match=r"domain\.dimension"):
        charge_request(gaussian, (), 17)
    with pytest.raises(ChainError, match=r"adjacency\.n_roster"):
        charge_request(gaussian, columns, 0)


def test_no_setting_is_a_seed() -> None:
    assert not any("seed" in name for name in ProtectSettings.__dataclass_fields__)
