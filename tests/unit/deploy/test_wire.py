"""What a signature covers, and who is let in."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from neuroveil.deploy import wire
from neuroveil.deploy.receipt import RECEIPT, holds, signed
from neuroveil.deploy.server import authentication
from neuroveil.deploy.server.authentication import authenticate
from neuroveil.deploy.server.hospitals import find_hospital, remove_hospital
from neuroveil.deploy.server.refusals import Refusal
from neuroveil.keys import create_key

PLACE = ("PUT", "server.example:8443", "/v1/submissions/1/files/table.csv?offset=0")


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> SimpleNamespace:
    """A key is all that is needed of a hospital here."""
    return SimpleNamespace(key=create_key(tmp_path_factory.mktemp("site") / "site.key"))


def request(key, body=b"body", place=PLACE):
    return wire.read_signed(*place, wire.sign_request(key, *place, body))


def refused(database, signed_request, body=b"body") -> str:
    with pytest.raises(Refusal) as refusal:
        authenticate(database, signed_request, body, find_hospital)
    return refusal.value.code


def test_a_signed_request_is_let_in_once(database, hospital, site):
    one = request(site.key)
    assert authenticate(database, one, b"body", find_hospital) == hospital
    assert refused(database, one) == "replayed_request"
    assert authenticate(database, request(site.key), b"body", find_hospital) == hospital


@pytest.mark.parametrize(
    "change",
    [
        {"method": "POST"}, {"host": "other.example:8443"}, {"target": PLACE[2] + "0"},
        {"values": {wire.NONCE: "0" * 32}}, {"values": {wire.TIME: "1000000000.000"}},
        {"values": {wire.BODY: "sha256:" + "0" * 64}}, {"values": {wire.SIGNATURE: "0" * 128}},
    ],
    ids=lambda change: str(next(iter(change.values())))[:30],
)  # fmt: skip
def test_nothing_can_be_changed_after_signing(database, hospital, site, change):
    one = request(site.key)
    if "values" in change:
        change = {"values": {**one.values, **change["values"]}}
    assert refused(database, replace(one, **change)) == "bad_signature"


def test_another_body_is_refused(database, hospital, site):
    assert refused(database, request(site.key), b"other") == "bad_signature"


def test_foreign_and_removed_keys_are_refused(database, hospital, site, tmp_path):
    assert refused(database, request(create_key(tmp_path / "foreign.key"))) == "unknown_key"
    remove_hospital(database, "North")
    assert refused(database, request(site.key)) == "unknown_key"


@pytest.mark.parametrize(
    "header", [wire.KEY, wire.TIME, wire.NONCE, wire.BODY, wire.SIGNATURE]
)  # fmt: skip
@pytest.mark.parametrize("value", ["", "x", "0" * 31 + "\n", "é" * 32])
def test_headers_that_are_missing_or_not_in_their_form(database, site, header, value):
    headers = wire.sign_request(site.key, *PLACE, b"") | {header: value}
    assert wire.read_signed(*PLACE, headers) is None
    assert refused(database, None) == "no_signature"


@pytest.mark.parametrize(
    ("seconds", "let_in"), [(-14, True), (14, True), (-16, False), (16, False)]
)
def test_clocks_may_differ_by_fifteen_seconds(
    database, hospital, site, monkeypatch, seconds, let_in
):
    one = request(site.key)
    monkeypatch.setattr(authentication.time, "time", lambda: one.sent_at + seconds)
    if let_in:
        assert authenticate(database, one, b"body", find_hospital) == hospital
        assert refused(database, one) == "replayed_request"
    else:
        assert refused(database, one) == "clock_skew"


def test_a_nonce_is_kept_as_long_as_its_request_could_be_sent_again(
    database, hospital, site, monkeypatch
):
    one = request(site.key)
    for seconds in (-14.9, 0, 14.9):
        monkeypatch.setattr(authentication.time, "time", lambda s=seconds: one.sent_at + s)
        if seconds == -14.9:
            authenticate(database, one, b"body", find_hospital)
        else:
            assert refused(database, one) == "replayed_request"


def test_a_receipt_is_bound_to_its_kind_its_facts_and_its_key(site, tmp_path):
    receipt = signed(site.key, RECEIPT, {"content_id": "1"})
    assert holds(receipt, RECEIPT, site.key.public_key)
    assert not holds(receipt, "another kind")
    assert not holds({**receipt, "content_id": "2"}, RECEIPT)
    assert not holds({**receipt, "more": 1}, RECEIPT)
    assert not holds(receipt, RECEIPT, create_key(tmp_path / "other.key").public_key)
    for nonsense in (None, [], {}, {"schema": RECEIPT}, {**receipt, "signature": 3}):
        assert not holds(nonsense, RECEIPT)
