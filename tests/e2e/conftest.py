"""The command line as a process, and a small cohort to run it on."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from neuroveil.simulate import CohortSpec, simulate_cohort

STUDY = """\
[input]
layout = "bids"
folder = "cohort"
population = "adults"

[privacy]
mechanism = "gaussian"
epsilon = 1.0
delta = 1e-5

[privacy.budget]
epsilon = 2.0
delta = 1e-4
"""


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict:
        return json.loads(self.out)

    @property
    def everything(self) -> str:
        return self.out + self.err


@pytest.fixture(scope="session")
def neuroveil():
    usual = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "100"}
    usual.pop("NEUROVEIL_LEDGER", None)

    def call(
        *arguments: object, cwd: Path | None = None, environment: dict[str, object] | None = None
    ) -> Answer:
        more = {name: str(value) for name, value in (environment or {}).items()}
        done = subprocess.run(
            [sys.executable, "-m", "neuroveil", *map(str, arguments)],
            check=False, capture_output=True, text=True, cwd=cwd, env=usual | more, timeout=600,
        )  # fmt: skip
        return Answer(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture(scope="session")
def small_cohort(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("cohort") / "cohort"
    simulate_cohort(folder, CohortSpec(n_patients=5, n_hospitals=2, n_sessions=2, seconds=12.0))
    return folder


@pytest.fixture
def study(tmp_path, small_cohort) -> Path:
    """A study file beside its own copy of the small cohort."""
    shutil.copytree(small_cohort, tmp_path / "cohort")
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path / "study.toml"
