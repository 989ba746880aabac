"""Run the project's checks and tests, step by step, with a summary at the end.

``make test`` calls this; without make, ``python tools/run_checks.py test`` inside the
project's virtual environment does the same. Standard library only.

Sets: ``fast`` (tests without the mark *slow*), ``full`` (the rest), ``check`` (style, types,
layers, dependencies, docstrings, doctests), ``docs``, and ``test``, which is all of them. Apart
from these, ``long`` runs the tests marked *long* (hours), which write their figures down in
``docs/measured``.
Every step runs even when an earlier one failed, so that one run shows everything.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOTHING_COLLECTED = 5  # pytest's exit code where a selection is empty

# Scripts that are shipped with a release and run only beside its table.
EXAMPLES = ("--ignore-glob", "*/examples/*")

# import-linter has no ``python -m`` form.
LINT_IMPORTS = "from importlinter.cli import lint_imports_command; lint_imports_command()"

# One thread a process: the tests already keep two processes busy, and numerical libraries
# that start a thread a core on top of that slow each other down.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Step:
    """One command of a set.

    Parameters
    ----------
    name : str
        What the summary calls it.
    arguments : tuple of str
        What follows ``python`` on the command line; it runs in the project's root.
    may_be_empty : bool
        Whether a test selection without any test is fine.
    """

    name: str
    arguments: tuple[str, ...]
    may_be_empty: bool = False


def test_steps(title: str, selection: str) -> list[Step]:
    """Give the two pytest runs of a set: side by side, then those that need the machine alone.

    Parameters
    ----------
    title : str
        Name of the set.
    selection : str
        Expression over pytest marks.

    Returns
    -------
    list of Step
        Two steps.
    """
    processes = os.environ.get("NEUROVEIL_TEST_PROCESSES", "2")
    together = (
        "-m",
        "pytest",
        "-n",
        processes,
        "--dist",
        "loadfile",
        "-m",
        f"{selection} and not alone",
    )
    alone = ("-m", "pytest", "-n", "0", "-m", f"{selection} and alone")
    return [Step(f"{title} set", together), Step(f"{title} set, alone", alone, may_be_empty=True)]


def check_steps() -> list[Step]:
    """Give the static checks and the doctests.

    Returns
    -------
    list of Step
        Quickest first.
    """
    sources = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("*.py"))
    return [
        Step("style", ("-m", "ruff", "check", ".")),
        Step("format", ("-m", "ruff", "format", "--check", ".")),
        Step("dependencies", ("-m", "deptry", "src")),
        Step("docstrings", ("-m", "numpydoc", "lint", *sources)),
        Step("layers", ("-c", LINT_IMPORTS)),
        Step("types", ("-m", "mypy")),
        Step(
            "doctests", ("-m", "pytest", "--doctest-modules", *EXAMPLES, "src"), may_be_empty=True
        ),
    ]


def steps_of(chosen: str) -> list[Step]:
    """Give the steps of a set.

    Parameters
    ----------
    chosen : {"fast", "full", "long", "check", "docs", "test"}
        Name of the set.

    Returns
    -------
    list of Step
        In running order.
    """
    fast = test_steps("fast", "not slow and not long")
    full = test_steps("full", "slow and not long")
    docs = [
        Step("docs", ("-m", "sphinx", "-W", "--keep-going", "-q", "docs", "docs/_build/html")),
    ]
    sets = {"fast": fast, "full": full, "check": check_steps(), "docs": docs}
    sets["long"] = [Step("long set", ("-m", "pytest", "-n", "0", "-m", "long"), may_be_empty=True)]
    sets["test"] = fast + sets["check"] + docs + full
    return sets[chosen]


def run(step: Step) -> tuple[bool, float]:
    """Run one step with its output on the terminal.

    Parameters
    ----------
    step : Step
        What to run.

    Returns
    -------
    tuple of (bool, float)
        Whether it passed, and how many seconds it took.
    """
    print(f"\n--- {step.name}: python {' '.join(step.arguments[:8])}", flush=True)
    start = time.monotonic()
    finished = subprocess.run(
        [sys.executable, *step.arguments], cwd=ROOT, env={**os.environ, **ONE_THREAD},
        check=False,
    )  # fmt: skip
    allowed = {0, NOTHING_COLLECTED} if step.may_be_empty else {0}
    return finished.returncode in allowed, time.monotonic() - start


def main() -> int:
    """Run the set named on the command line.

    Returns
    -------
    int
        0 when every step passed, otherwise 1.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("set", choices=["fast", "full", "long", "check", "docs", "test"])
    steps = steps_of(parser.parse_args().set)
    results = [(step, *run(step)) for step in steps]
    print("\nSummary")
    for step, passed, seconds in results:
        print(f"  {'passed' if passed else 'FAILED'}  {seconds:6.1f} s  {step.name}")
    failed = sum(not passed for _, passed, _ in results)
    print(f"{len(results) - failed} of {len(results)} steps passed.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
