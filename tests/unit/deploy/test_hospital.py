"""What leaves a hospital, and on which way."""

from __future__ import annotations

import datetime
import json
import shutil
from pathlib import Path

import pytest

from neuroveil.deploy.hospital.connection import Address, Answer, proxy_for
from neuroveil.deploy.hospital.preview import announcement, preview
from neuroveil.deploy.hospital.submit import submit
from neuroveil.deploy.receipt import RECEIPT, signed
from neuroveil.deploy.tls import create_identity, days_left
from neuroveil.errors import CertificateError, MachineError, StudyError

pytestmark = pytest.mark.slow


class FarServer:
    """Answers as a server would that has a release already; ``changes`` spoil its answers."""

    def __init__(self, key, manifest, skew: float = 0.0, days: float = 300.0, **changes: object):
        now = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=skew)
        self.health = {"status": "ok", "time": now.isoformat(timespec="seconds")}
        self.days, self.asked = days, []
        receipt = signed(key, RECEIPT, {"content_id": manifest.content_id, "audit_number": 1})
        self.state = {"state": "accepted", "receipt": receipt} | changes

    def ask(self, method: str, target: str, body: bytes = b"", slow: bool = False) -> Answer:
        self.asked.append((method, target, body))
        if isinstance(self.state.get("status"), int):
            return Answer(self.state["status"], self.state)
        return Answer(200, self.health if target == "/healthz" else self.state)

    def server_days_left(self) -> float:
        return self.days


@pytest.mark.parametrize(
    ("skew", "days", "words"),
    [(0, 300, []), (9, 300, ["clock"]), (-9, 300, ["clock"]), (0, 12, ["12 days"]),
     (60, 1, ["clock", "1 days"])],
)  # fmt: skip
def test_clocks_and_ending_certificates_are_warned_of(site, manifest, skew, days, words):
    server = FarServer(site.key, manifest, skew, days)
    result = submit(site.release, preview(site.release), server)
    assert len(result.warnings) == len(words)
    assert all(word in text for word, text in zip(words, result.warnings, strict=True))


def test_what_is_there_already_is_not_sent_again(site, manifest):
    server = FarServer(site.key, manifest)
    assert submit(site.release, preview(site.release), server).n_bytes == 0
    assert [body for _, _, body in server.asked if body] == [announcement(manifest)]


def test_a_receipt_of_another_server_or_about_another_release_is_refused(site, manifest):
    shown = preview(site.release)
    good = FarServer(site.key, manifest)
    submit(site.release, shown, good, site.key.public_key)
    with pytest.raises(CertificateError, match="receipt"):
        submit(site.release, shown, good, "ab" * 32)
    for receipt in (None, {}, signed(site.key, RECEIPT, {"content_id": "0" * 64})):
        server = FarServer(site.key, manifest, receipt=receipt)
        with pytest.raises(CertificateError, match="receipt"):
            submit(site.release, shown, server)


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [(422, "broken_certificate", CertificateError), (422, "incompatible", CertificateError),
     (401, "unknown_key", StudyError), (507, "no_room", MachineError), (502, "", MachineError)],
)  # fmt: skip
def test_refusals_of_a_server_become_errors_with_exit_codes(site, manifest, status, code, kind):
    words = {"error": code, "expected": "a\x1b[31m", "found": "b" * 9999, "remedy": "c"}
    with pytest.raises(kind) as error:
        submit(site.release, preview(site.release), FarServer(
            site.key, manifest, status=status, **words
        ))  # fmt: skip
    assert "\x1b" not in str(error.value)
    assert len(str(error.value)) < 2000


def test_a_preview_lists_every_byte(site, manifest):
    shown = preview(site.release).as_dict()
    assert shown["content_id"] == manifest.content_id
    assert shown["bytes"] == sum(path.stat().st_size for path in site.release.iterdir())
    assert shown["manifest_bytes"] == len(announcement(manifest))


@pytest.mark.parametrize("spoil", ["extra", "link", "change", "gone", "listed"])
def test_nothing_that_does_not_hold_is_sent(site, tmp_path, spoil):
    folder = Path(shutil.copytree(site.release, tmp_path / "copy"))
    if spoil == "extra":
        (folder / "patients.csv").write_text("name")
    elif spoil == "link":
        (tmp_path / "outside").write_bytes((folder / "table.csv").read_bytes())
        (folder / "table.csv").unlink()
        (folder / "table.csv").symlink_to(tmp_path / "outside")
    elif spoil == "change":
        (folder / "report.html").write_text("patient 3")
    elif spoil == "gone":
        (folder / "certificate.json").unlink()
    else:
        (folder / "notes.txt").write_text("patient 3")
        document = json.loads((folder / "certificate.json").read_text())
        document["release"]["notes.txt"] = "sha256:" + "0" * 64
        (folder / "certificate.json").write_text(json.dumps(document))
    with pytest.raises(CertificateError):
        preview(folder)


@pytest.mark.parametrize(
    "url",
    ["http://a.example", "a.example", "https://", "https://a.example/path", "https://a:x",
     "https://user:word@a.example", "https://a.example?x", "ftp://a.example", "https://[::1"],
)  # fmt: skip
def test_addresses_that_are_none(url):
    with pytest.raises(StudyError):
        Address(url)


def test_the_host_header_is_what_http_clients_send():
    assert Address("https://A.example").host_header == "a.example"
    assert Address("https://a.example:8443").host_header == "a.example:8443"
    assert Address("https://[::1]:8443").host_header == "[::1]:8443"


def test_proxies_of_the_environment(monkeypatch):
    address = Address("https://server.example:8443")
    for name in ("https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert proxy_for(address) is None
    monkeypatch.setenv("https_proxy", "http://me:p%40ss@proxy.example:3128")
    proxy = proxy_for(address)
    assert proxy is not None
    assert (proxy.host, proxy.port) == ("proxy.example", 3128)
    assert proxy.headers == {"Proxy-Authorization": "Basic bWU6cEBzcw=="}
    monkeypatch.setenv("no_proxy", "server.example")
    assert proxy_for(address) is None
    monkeypatch.delenv("no_proxy")
    monkeypatch.setenv("https_proxy", "socks5://proxy.example")
    with pytest.raises(StudyError, match="HTTPS_PROXY"):
        proxy_for(address)


def test_a_private_authority_signs_one_server_certificate(tmp_path):
    files = create_identity(tmp_path, ("server.example", "127.0.0.1", "::1"))
    assert 390 < days_left(files.certificate.read_bytes()) < 398
    assert files.key.stat().st_mode & 0o077 == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ca.pem", "tls.key", "tls.pem"]
    with pytest.raises(StudyError):
        create_identity(tmp_path, ("server.example",))
    with pytest.raises(StudyError):
        Address("https://server.example", files.key).context()
