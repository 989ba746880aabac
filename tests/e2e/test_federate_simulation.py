"""Ctrl-C in a simulation with Ray's processes; long, since a simulation takes its time to start."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.long]

STUDY = """
[input]
folder = "none"
[privacy]
epsilon = 1.0
delta = 1e-5
[federation]
setting = "dp_sgd"
simulation = true
seed = 1
rounds = 60
retries = 2
hospitals = [{name = "a", patients = 30}, {name = "b", patients = 30}, {name = "c", patients = 30}]
"""


def test_a_simulation_that_is_stopped_ends_at_once_and_goes_on(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    command = [
        sys.executable, "-m", "neuroveil", "federate", "simulate", "study.toml", "--no-audit",
        "--json",
    ]  # fmt: skip
    more = {"cwd": tmp_path, "stdin": subprocess.DEVNULL, "text": True}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
    end = time.monotonic() + 300
    while not list(tmp_path.glob("internal/federation/*/coordinator/rounds.json")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert (out, "Run the same command again" in said) == ("", True)
    again = subprocess.run(command, capture_output=True, check=True, timeout=500, **more)
    chain = json.loads(again.stdout)["chain"]
    assert [each["round"] for each in chain["rounds"]] == list(range(1, 61))
