"""The short form of the server's benchmark: uploads at once, and SIGKILL under load."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


def measured(root, part: str) -> dict[str, object]:
    """Run one part of ``benchmarks/server.py``; it stops by itself."""
    command = [
        sys.executable, str(root / "benchmarks" / "server.py"), "--quick", "--json",
        "--only", part, "--seconds", "500",
    ]  # fmt: skip
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=580,
        stdin=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    figures: dict[str, object] = json.loads(done.stdout)[part]
    return figures


def test_uploads_at_once_without_error_or_loss(project_root):
    figures = measured(project_root, "uploads")
    n_hospitals = figures["hospitals"]
    assert figures["first_errors"] == []
    assert figures["releases"] == figures["accepted"] == n_hospitals
    assert (figures["accepted_twice"], figures["damaged_files"]) == (0, 0)
    assert figures["refusals"] == {}
    # Bodies are held in memory, in chunks: not files, and not releases.
    assert figures["peak_mib"]["server"] < 400


def test_a_server_that_is_killed_again_and_again(project_root):
    """Nothing that was acknowledged is lost, nothing counts twice, the audit log is unbroken."""
    figures = measured(project_root, "kills")
    assert figures["first_errors"] == []
    assert figures["kills"] == 4
    assert figures["interrupted"] >= 1
    assert figures["acknowledged_chunks_lost"] == 0
    assert figures["receipts_not_in_the_audit_log"] == 0
    assert figures["receipts_that_changed"] == 0
    assert figures["releases"] == figures["accepted"] == figures["receipts"] >= 1
    assert (figures["accepted_twice"], figures["damaged_files"]) == (0, 0)
