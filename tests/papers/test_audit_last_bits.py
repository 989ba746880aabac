"""Last bits of other libraries' noise: the lower bounds of the issue, written down.

diffprivlib does not import beside the scikit-learn of this project, so it runs as a program in
an environment of its own, which this test makes with pip.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from neuroveil.audit.bits import audit_bits
from neuroveil.audit.subject import Subject, SubjectFacts
from neuroveil.audit.subjects.function import FunctionSubject
from neuroveil.audit.subjects.loading import load_function
from neuroveil.audit.subjects.process import CommandSubject
from neuroveil.types.audit import AttackResult

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "audit"
NUMPY_TRIALS, PEER_TRIALS, EXACT_TRIALS = 4_000_000, 200_000, 40_000

WriteDown = Callable[[str, Mapping[str, Any]], Path]


def claim(name: str, delta: float) -> SubjectFacts:
    """The claim of all of them: epsilon = 1 for one column, clipped to 2."""
    return SubjectFacts(name, 1.0, delta, 1, 2.0)


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that has diffprivlib."""
    folder = tmp_path_factory.mktemp("peer") / "environment"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    wanted = ["diffprivlib", "scikit-learn<1.6"]
    subprocess.run([python, "-m", "pip", "install", "--quiet", *wanted], check=True)
    return python


def figures_of(result: AttackResult) -> dict[str, float | int]:
    """What is written down of one audit."""
    bound = result.figure("epsilon_lower_bound")
    return {
        "claimed": 1.0, "bound": round(bound.value, 3), "control": bound.control or 0.0,
        "share": round(result.figure("share").value, 5),
        "share_other": round(result.figure("share_other").value, 5),
        "n_trials": result.settings["n_trials"],
    }  # fmt: skip


@pytest.mark.long
def test_last_bits_of_peers(peer: Path, write_down: WriteDown) -> None:
    """Bounds at 95 %, certified on a held-out half; OpenDP passes."""
    program = str(EXAMPLES / "diffprivlib_noise.py")
    bars: dict[str, tuple[Subject, int, float]] = {}
    for family, delta, of_numpy, of_peer in (
        ("gaussian", 1e-5, 8.5, 6.1),
        ("laplace", 0.0, 9.9, 6.9),
    ):
        facts = claim(family, delta)
        numpy_noise = load_function(f"{EXAMPLES}/numpy_noise.py:{family}")
        exact_noise = load_function(f"{EXAMPLES}/opendp_noise.py:{family}")
        command = CommandSubject(facts, (str(peer), program, family))
        bars |= {
            f"numpy {family}": (FunctionSubject(facts, numpy_noise), NUMPY_TRIALS, of_numpy),
            f"diffprivlib {family}": (command, PEER_TRIALS, of_peer),
            f"opendp {family}": (FunctionSubject(facts, exact_noise), EXACT_TRIALS, 0.0),
        }
    found = {name: audit_bits(subject, n) for name, (subject, n, _) in bars.items()}
    write_down("audit-last-bits", {name: figures_of(result) for name, result in found.items()})
    for name, (_, _, bar) in bars.items():
        assert found[name].figure("epsilon_lower_bound").value >= bar
        expected = "violated" if bar else "no_attack_succeeded"
        assert found[name].verdict == expected


def test_the_page_states_what_was_measured() -> None:
    """The table of docs/audit-lowlevel.md against docs/measured/audit-last-bits.json."""
    docs = Path(__file__).resolve().parents[2] / "docs"
    page = (docs / "audit-lowlevel.md").read_text(encoding="utf-8")
    measured = json.loads((docs / "measured" / "audit-last-bits.json").read_text(encoding="utf-8"))
    names = {
        "numpy gaussian": "numpy, Gaussian", "numpy laplace": "numpy, Laplace",
        "diffprivlib gaussian": "diffprivlib 0.6.6, GaussianAnalytic",
        "diffprivlib laplace": "diffprivlib 0.6.6, Laplace",
        "opendp gaussian": "OpenDP, Gaussian", "opendp laplace": "OpenDP, Laplace",
    }  # fmt: skip
    assert measured["figures"].keys() == names.keys()
    for key, name in names.items():
        found = measured["figures"][key]
        shares = [f"{100 * found[side]:.1f} %" if found[side] else "never"
                  for side in ("share", "share_other")]  # fmt: skip
        bound = f"{found['bound']:.2f}" if found["bound"] else "0"
        assert f"| {name} | {found['n_trials']:,} | {shares[0]} | {shares[1]} | {bound} |" in page
