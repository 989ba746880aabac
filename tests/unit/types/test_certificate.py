"""Certificates survive a round trip, and digests follow every part of the chain."""

from dataclasses import replace

import pytest

from neuroveil.errors import CertificateError
from neuroveil.types.certificate import (
    Certificate,
    Fact,
    canonical_json,
    certificate_from_json,
    digest,
)


@pytest.fixture
def certificate() -> Certificate:
    fact = Fact(2.0, "assumed", "setting of the study")
    derived = Fact(
        4.0, "proven", "triangle inequality", "2 * bound.clip_norm", ("bound.clip_norm",)
    )
    return Certificate(
        formal_guarantee=True, verdict="It holds.", blocking_reasons=(),
        chain={"bound": {"clip_norm": fact}, "sensitivity": {"value": derived}},
    )  # fmt: skip


def test_round_trip(certificate):
    bound = certificate.bound_to({"table.csv": digest(b"x")})
    assert certificate_from_json(bound.to_json()) == bound
    assert bound.value("sensitivity.value") == 4.0


def test_binding_to_files_leaves_the_chain_digest_alone(certificate):
    assert certificate.bound_to({"a": "b"}).chain_digest == certificate.chain_digest


@pytest.mark.parametrize(
    "change",
    [
        {"formal_guarantee": False},
        {"verdict": "It holds!"},
        {"blocking_reasons": ("bound: none",)},
        {"chain": {"bound": {"clip_norm": Fact(2.0, "proven", "setting of the study")}}},
    ],
)
def test_the_chain_digest_follows_every_claim(certificate, change):
    assert replace(certificate, **change).chain_digest != certificate.chain_digest


@pytest.mark.parametrize("document", [None, [], {}, {"schema": "neuroveil-certificate"}, "x"])
def test_anything_else_is_refused(document):
    with pytest.raises(CertificateError, match="Name a release folder"):
        certificate_from_json(document)


def test_canonical_json_has_one_spelling_and_no_nan():
    assert canonical_json({"b": 1, "a": "µ"}) == '{"a":"µ","b":1}'.encode()
    with pytest.raises(ValueError, match="JSON"):
        canonical_json(float("nan"))
