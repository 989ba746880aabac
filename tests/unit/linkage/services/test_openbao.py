"""Against a real OpenBao server: it computes what we compute, and denies what it should."""

import socket
import time

import pytest

from neuroveil.errors import LinkageError, StudyError
from neuroveil.linkage.key_service import PURPOSES, LinkageKey, LocalKeyService
from neuroveil.linkage.openbao import OpenBaoKeyService, deposit_in_openbao, fetch_wrapped
from neuroveil.linkage.openbao_client import OpenBaoAddress, OpenBaoClient
from neuroveil.linkage.services import (
    ADMINISTRATOR_VARIABLE,
    SECRET_ID_VARIABLE,
    deposit,
    described,
    fetched,
    opened_service,
)
from neuroveil.linkage.wrapping import create_hospital_key, unwrap, wrap

pytestmark = pytest.mark.slow
SECRET = bytes(range(32))
LOCAL = LocalKeyService(LinkageKey(SECRET), bytes(32))


def numbers(count: int) -> list[bytes]:
    return [f"neuroveil-id:1:own:{number}".encode() for number in range(count)]


def test_the_server_computes_the_same_ids_and_field_keys(hospital, make_schema):
    service = OpenBaoKeyService(hospital("hospital-1"))
    assert service.key_id == LOCAL.key_id
    assert service.macs(numbers(3)) == LOCAL.macs(numbers(3))
    schema = make_schema()
    assert service.field_keys(schema).keys == LOCAL.field_keys(schema).keys
    assert service.hardening_keys().diffusion == LOCAL.hardening_keys().diffusion
    assert service.hardening_keys().noise == service.hardening_keys().noise


def test_large_lists_go_in_batches_of_250(hospital, monkeypatch):
    client, sizes = hospital("hospital-2"), []
    request = client.request

    def counted(method, path, body):
        sizes.append(len(body["batch_input"]))
        return request(method, path, body)

    monkeypatch.setattr(client, "request", counted)
    macs = OpenBaoKeyService(client).macs(numbers(601))
    assert sizes == [250, 250, 101]
    assert macs == LOCAL.macs(numbers(601))


def test_a_hospitals_role_may_compute_and_nothing_else(hospital, openbao_server):
    client = hospital("hospital-3")
    denied = [
        ("GET", "transit/keys/neuroveil-mac"),
        ("GET", "transit/export/hmac-key/neuroveil-mac"),
        ("GET", "transit/backup/neuroveil-mac"),
        ("POST", "transit/keys/neuroveil-mac/config"),
        ("POST", "transit/keys/neuroveil-mac/rotate"),
        ("DELETE", "transit/keys/neuroveil-mac"),
        ("POST", "transit/keys/neuroveil-new"),
        ("POST", "transit/hmac/neuroveil-mac/sha2-512"),
        ("GET", "transit/wrapping_key"),
        ("GET", "sys/mounts"),
        ("GET", "auth/approle/role/hospital-3"),
    ]
    for method, path in denied:
        with pytest.raises(LinkageError, match="HTTP 403"):
            client.request(method, path, {} if method == "POST" else None)
    another = OpenBaoClient(openbao_server.address("another"))
    another._token = client._token
    with pytest.raises(LinkageError, match="HTTP 403"):
        OpenBaoKeyService(another).macs(numbers(1))


def test_not_even_an_administrator_reads_the_key_out(openbao_server):
    client = openbao_server.admin()
    for purpose in PURPOSES:
        for path in (f"export/hmac-key/neuroveil-{purpose}", f"backup/neuroveil-{purpose}"):
            with pytest.raises(LinkageError):
                client.request("GET", f"transit/{path}")
        about = client.request("GET", f"transit/keys/neuroveil-{purpose}")["data"]
        assert (about["type"], about["exportable"]) == ("hmac", False)
        assert about["allow_plaintext_backup"] is False


def test_a_hospital_without_rights_cannot_compute_ids(hospital):
    client = hospital("without-rights", policy='path "secret/*" { capabilities = ["read"] }')
    with pytest.raises(LinkageError, match="HTTP 403"):
        OpenBaoKeyService(client).macs(numbers(1))


def test_a_token_is_renewed_and_a_revoked_hospital_is_locked_out(hospital, openbao_server):
    """Tokens live two seconds and are renewed for three; then the role must log in again."""
    client = hospital("hospital-4", token_ttl="2s", token_max_ttl="3s")
    service, tokens = OpenBaoKeyService(client), set()
    end = time.monotonic() + 4.5
    while time.monotonic() < end:
        assert service.macs(numbers(1)) == LOCAL.macs(numbers(1))
        tokens.add(client._token)
        time.sleep(0.4)
    assert len(tokens) >= 2
    openbao_server.admin().request("DELETE", "auth/approle/role/hospital-4")

    def ask_until_the_last_token_has_ended() -> None:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            service.macs(numbers(1))
            time.sleep(0.2)

    with pytest.raises(LinkageError, match="revoked"):
        ask_until_the_last_token_has_ended()


def test_a_token_that_ended_unnoticed_is_replaced(hospital, monkeypatch):
    """As after a laptop has slept: the client's clock says that there was time left."""
    client = hospital("hospital-11", token_ttl="1s", token_max_ttl="1s")
    first = client._token
    client._renew_after = float("inf")
    time.sleep(1.5)
    assert OpenBaoKeyService(client).macs(numbers(1)) == LOCAL.macs(numbers(1))
    assert client._token != first


def test_a_revoked_secret_does_not_log_in_again(openbao_server):
    role = openbao_server.role("hospital-5", openbao_server.address().policy())
    client = OpenBaoClient(openbao_server.address())
    client.log_in(role)
    admin = openbao_server.admin()
    admin.request("POST", "auth/approle/role/hospital-5/secret-id/destroy",
                  {"secret_id": role.secret_id})  # fmt: skip
    with pytest.raises(LinkageError, match="HTTP 40"):
        client.log_in(role)
    assert role.secret_id not in repr(role)


def test_a_token_is_given_back(hospital):
    client = hospital("hospital-6")
    token = client._token
    client.close()
    client._token = token
    with pytest.raises(LinkageError, match="HTTP 403"):
        client.request("GET", "auth/token/lookup-self")


def test_a_key_is_never_replaced_and_another_name_is_another_key(openbao_server):
    with pytest.raises(LinkageError, match="no key of this name"):
        deposit_in_openbao(openbao_server.admin(), LinkageKey.generate())
    key = LinkageKey.generate()
    client = openbao_server.admin("second")
    deposit_in_openbao(client, key)
    assert OpenBaoKeyService(client).key_id == LocalKeyService(key).key_id


def test_a_key_that_was_rotated_inside_the_server_is_refused(openbao_server):
    client = openbao_server.admin("rotated")
    client.request("POST", "transit/keys/rotated-mac", {"type": "hmac", "key_size": 32})
    client.request("POST", "transit/keys/rotated-mac/rotate", {})
    with pytest.raises(LinkageError, match="first version"):
        OpenBaoKeyService(client).macs(numbers(1))


def test_a_server_of_another_authority_is_refused(openbao_server):
    client = OpenBaoClient(OpenBaoAddress(openbao_server.url))
    with pytest.raises(LinkageError, match="certificate"):
        client.request("GET", "sys/health")
    with pytest.raises(LinkageError, match="certificates"):
        OpenBaoClient(OpenBaoAddress(openbao_server.url, openbao_server.ca_file / "none"))


def test_a_server_that_is_not_there():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        port = taken.getsockname()[1]
        client = OpenBaoClient(OpenBaoAddress(f"http://127.0.0.1:{port}"))
        with pytest.raises(LinkageError, match="an answer"):
            client.request("GET", "sys/health")


@pytest.mark.parametrize(
    "url",
    [
        "http://bao.hospital.example:8200", "ftp://127.0.0.1", "127.0.0.1:8200", "https://",
        "https://127.0.0.1:99999", "https://127.0.0.1:port", "https://[::1", "https://127.0.0.1:0",
        "https://user:secret@127.0.0.1:8200", "https://127.0.0.1:8200/?token=secret",
        "https://127.0.0.1:8200/v1", "http://localhost.evil.example",
    ],
)  # fmt: skip
def test_numbers_are_never_sent_in_the_open(url):
    with pytest.raises(LinkageError, match="https") as refusal:
        OpenBaoAddress(url)
    assert "secret" not in str(refusal.value)


def test_odd_paths_and_tokens_are_refused_by_the_server_or_before(openbao_server):
    for path in ("secret/data/ø", "a b?c#d", "../sys/x\n", "%2e%2e/sys"):
        with pytest.raises(LinkageError, match="OpenBao server"):
            openbao_server.admin().request("GET", path)
    for token in ("\N{SNOWMAN}", "two\nlines"):
        client = OpenBaoClient(openbao_server.address(), token)
        with pytest.raises(LinkageError, match="a token that can be sent") as refusal:
            client.request("GET", "sys/health")
        assert token not in str(refusal.value)


def test_a_central_server_hands_out_what_it_cannot_open(hospital, openbao_server, tmp_path):
    ours = create_hospital_key(tmp_path / "ours.key", "a long phrase")
    document = wrap(LinkageKey(SECRET), ours.public_key)
    admin = openbao_server.admin()
    for name in ("ours", "theirs"):
        admin.request("POST", f"secret/data/linkage/{name}", {"data": document})
    policy = 'path "secret/data/linkage/ours" { capabilities = ["read"] }'
    client = hospital("central-reader", policy=policy)
    received = fetch_wrapped(client, "secret/data/linkage/ours")
    assert unwrap(received, ours, LOCAL.key_id).secret == SECRET
    for path in ("secret/data/linkage/theirs", "secret/metadata/linkage"):
        with pytest.raises(LinkageError, match="HTTP 403"):
            fetch_wrapped(client, path)


def test_settings_open_the_service_and_refuse_another_key(
    openbao_server, write_settings, monkeypatch
):
    role = openbao_server.role("hospital-7", openbao_server.address().policy())
    monkeypatch.setenv(SECRET_ID_VARIABLE, role.secret_id)
    settings = {
        "url": openbao_server.url, "ca_file": openbao_server.ca_file, "role_id": role.role_id,
    }  # fmt: skip
    with opened_service(write_settings("openbao", LOCAL.key_id, settings)) as service:
        assert service.current.macs(numbers(1)) == LOCAL.macs(numbers(1))
        assert service.previous is None
    wrong = write_settings("openbao", "0" * 32, settings)
    with pytest.raises(LinkageError, match="another key"), opened_service(wrong):
        pass
    monkeypatch.delenv(SECRET_ID_VARIABLE)
    with pytest.raises(StudyError, match=SECRET_ID_VARIABLE), opened_service(wrong):
        pass


def test_a_rotation_window_knows_old_and_new(openbao_server, write_settings, monkeypatch):
    new = LinkageKey.generate()
    new_id = LocalKeyService(new).key_id
    settings = {"url": openbao_server.url, "ca_file": openbao_server.ca_file, "name": "newer"}
    file = write_settings("openbao", new_id, settings)
    monkeypatch.setenv(ADMINISTRATOR_VARIABLE, openbao_server.root)
    with pytest.raises(LinkageError, match="another key"):
        deposit(file, LinkageKey(SECRET))
    deposit(file, new)
    policy = described(file)["policy"] + "\n" + openbao_server.address().policy()
    role = openbao_server.role("hospital-8", policy)
    monkeypatch.setenv(SECRET_ID_VARIABLE, role.secret_id)
    settings |= {"role_id": role.role_id, "previous_name": "neuroveil"}
    with opened_service(write_settings("openbao", new_id, settings)) as service:
        assert service.previous is not None
        assert service.previous.key_id == LOCAL.key_id
        assert service.current.key_id == new_id


def test_fetching_by_settings(openbao_server, write_settings, monkeypatch, tmp_path):
    openbao_server.admin().request("POST", "secret/data/linkage/nine", {"data": {"a": "b"}})
    policy = 'path "secret/data/linkage/nine" { capabilities = ["read"] }'
    role = openbao_server.role("hospital-9", policy)
    monkeypatch.setenv(SECRET_ID_VARIABLE, role.secret_id)
    settings = {
        "url": openbao_server.url, "ca_file": openbao_server.ca_file, "role_id": role.role_id,
    }  # fmt: skip
    file = write_settings("openbao", "0" * 32, settings)
    assert fetched(file, "secret/data/linkage/nine") == {"a": "b"}
