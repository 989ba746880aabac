"""Promises of the project as a whole: its files, its documents and the price of its command."""

from __future__ import annotations

import functools
import importlib
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
DOCUMENTS = [README, *sorted((ROOT / "docs").rglob("*.md"))]
TEXT = {".py", ".md", ".toml", ".sh", ".json", ".html", ".css", ".txt", ".csv", ".j2", ".yml", ""}

# Not one of these belongs into the project. Written with brackets, so that this file does
# not hold what it looks for.
UNWANTED = {
    "a path of somebody's machine": r"(?<![\w.])/(wor[k]|roo[t]|hom[e]|User[s]|far[m])/\w",
    "a package registry's host": r"python[h]osted|pyp[i]\.(org|python)|np[m]js\.|deb\.debia[n]\.",
    "unfinished work": r"\b(TOD[O]|FIXM[E]|XX[X])\b|NotImplemente[d]Error",
}
RECORDINGS = {".edf", ".bdf", ".mat", ".set", ".fdt", ".fif", ".vhdr", ".eeg", ".h5", ".hdf5"}


@functools.cache
def project_files() -> tuple[Path, ...]:
    """All files of the project: what git tracks or would track, else what lies in the folders."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    if (ROOT / ".git").exists() and shutil.which("git"):
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        names = listed.stdout.splitlines()
        return tuple(path for name in names if (path := ROOT / name).is_file())
    folders = ("src", "tests", "docs", "tools", "examples", "benchmarks")
    return tuple(
        path
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and not {"__pycache__", "_build"} & set(path.parts)
    )


@functools.cache
def command_table() -> dict[str, Any]:
    """The command line's own list of commands: name -> (module, one-line help)."""
    return dict(importlib.import_module("neuroveil.cli").COMMANDS)


@pytest.mark.parametrize("what", UNWANTED)
def test_nothing_unwanted_stands_in_the_tree(what: str) -> None:
    pattern = re.compile(UNWANTED[what])
    hits = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in project_files()
        if path.suffix in TEXT
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if pattern.search(line)
    ]
    assert not hits, f"{what} stands in {', '.join(hits)}"


def test_no_recording_is_part_of_the_project() -> None:
    assert not [path.name for path in project_files() if path.suffix.lower() in RECORDINGS]


def test_the_readme_shows_python_on_its_first_screen() -> None:
    lines = README.read_text(encoding="utf-8").splitlines()
    assert "```python" in lines[:25]


def test_the_readme_says_early_what_is_not_protected() -> None:
    headings = [
        line for line in README.read_text(encoding="utf-8").splitlines() if line.startswith("## ")
    ]
    assert headings[0] == "## What it does not protect"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    targets = re.findall(r"!?\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
    missing = [
        target
        for target in targets
        if not re.match(r"[a-z]+:", target) and not (document.parent / target).exists()
    ]
    assert not missing


def test_the_readme_shows_the_report() -> None:
    assert "docs/images/report.png" in README.read_text(encoding="utf-8")


def test_every_command_is_in_the_readme_and_in_the_cli_page() -> None:
    readme = README.read_text(encoding="utf-8")
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    not_in_readme = [name for name in command_table() if f"neuroveil {name}" not in readme]
    not_in_page = [name for name in command_table() if f"neuroveil {name}" not in page]
    assert not not_in_readme
    assert not not_in_page


def test_documents_show_no_command_that_does_not_exist() -> None:
    known = set(command_table())
    shown = {
        (document.name, command)
        for document in DOCUMENTS
        # Every fence is matched, so that none is taken for the end of another.
        for language, block in re.findall(
            r"^```(\S*)[^\n]*\n(.*?)^```", document.read_text(), re.S | re.M
        )
        if language in {"", "console", "bash", "sh", "text"}
        for command in re.findall(r"(?:^|[$/ ])neuroveil ([a-z][a-z-]*)", block, re.M)
    }
    assert not {(name, command) for name, command in shown if command not in known}


def test_help_lists_exactly_the_commands_that_exist() -> None:
    shown = subprocess.run(
        [sys.executable, "-c", "from neuroveil.cli import main; main()", "--help"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    listed = set(re.findall(r"^  ([a-z][a-z-]*)  ", shown, re.M))
    assert listed == set(command_table())


def test_the_cli_page_is_what_the_generator_writes() -> None:
    command = [sys.executable, str(ROOT / "tools" / "generate_cli_reference.py"), "--check"]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr


def cpu_seconds(code: str, *arguments: str) -> float:
    """CPU time of a fresh interpreter that runs ``code``, the best of nine, in seconds."""
    # Read in a process of its own, so that the children of other tests do not count.
    measure = (
        "import resource, subprocess, sys\n"
        "subprocess.run([sys.executable, '-c', *sys.argv[1:]], stdout=-3, check=True)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(used.ru_utime + used.ru_stime)\n"
    )
    command = [sys.executable, "-c", measure, code, *arguments]
    return min(
        float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        for _ in range(9)
    )


@pytest.mark.alone
@pytest.mark.skipif(sys.platform == "win32", reason="CPU time of children is read the POSIX way")
def test_help_costs_at_most_150_ms_over_a_bare_interpreter() -> None:
    bare = cpu_seconds("pass")
    with_help = cpu_seconds("from neuroveil.cli import main; main()", "--help")
    assert with_help - bare <= 0.150
