"""A service is kept up, given up, and ended with everything below it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from neuroveil.deploy.federated.operate.supervise import Service, supervise
from neuroveil.errors import FederationError

pytestmark = pytest.mark.slow

STUBBORN_CHILD = """
import pathlib, signal, subprocess, sys, time
folder = pathlib.Path(sys.argv[1])
code = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    "print(1, flush=True); time.sleep(600)"
)
child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
child.stdout.readline()
(folder / "grandchild").write_text(str(child.pid))
time.sleep(600)
"""

FAILS_ONCE = """
import pathlib, sys, time
folder = pathlib.Path(sys.argv[1])
starts = folder / "starts"
starts.write_text(starts.read_text() + "x" if starts.exists() else "x")
if starts.read_text() == "x":
    sys.exit(3)
(folder / "second").write_text("up")
time.sleep(600)
"""


@pytest.fixture
def make_service(tmp_path) -> Callable[[str], Service]:
    def make(code: str) -> Service:
        (tmp_path / "made_up_service.py").write_text(code)
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        return Service("service", "made_up_service", tmp_path, environment, tmp_path / "log")

    return make


def stop_when(file: Path) -> Callable[[], None]:
    """Tell this process to stop, as an operator would, once a file is there."""

    def look() -> None:
        if file.exists():
            os.kill(os.getpid(), signal.SIGTERM)

    return look


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # An orphan that nobody has waited for yet is dead as well.
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def test_nothing_is_left_behind_even_if_it_will_not_go(make_service, tmp_path):
    before = signal.getsignal(signal.SIGTERM)
    supervise(make_service(STUBBORN_CHILD), print, stop_when(tmp_path / "grandchild"))
    assert not is_alive(int((tmp_path / "grandchild").read_text()))
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_service_that_ends_by_itself_is_started_again(make_service, tmp_path):
    said: list[str] = []
    supervise(make_service(FAILS_ONCE), said.append, stop_when(tmp_path / "second"))
    assert (tmp_path / "starts").read_text() == "xx"
    assert said == ["The service ended by itself; it starts again in 1 s."]


def test_a_service_that_never_stays_up_is_given_up_with_its_log_named(make_service, tmp_path):
    with pytest.raises(FederationError, match=r"end of log in its folder"):
        supervise(make_service("print('why', flush=True)\n1/0\n"), print, lambda: None, restarts=1)
    log = (tmp_path / "log").read_text()
    assert log.count("ZeroDivisionError") == 2
    assert (tmp_path / "log").stat().st_mode & 0o077 == 0
