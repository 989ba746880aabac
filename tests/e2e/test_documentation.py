"""The commands and the Python of the README and the tutorials, typed in as they stand there."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
EXIT_DONE, EXIT_BROKEN, EXIT_UNCHECKED = 0, 4, 5


def blocks(document: Path) -> Iterator[tuple[str, str]]:
    """Fenced blocks of a document as (language, text), in order."""
    yield from FENCE.findall(document.read_text(encoding="utf-8"))


def commands(text: str) -> list[list[str]]:
    """Calls of neuroveil in a console block, without prompts and comments."""
    lines = [line.removeprefix("$ ").partition("  #")[0].split() for line in text.splitlines()]
    return [words[1:] for words in lines if words[:1] == ["neuroveil"]]


def run(arguments: list[str], folder: Path, expected: int = EXIT_DONE) -> str:
    """Run a call as a process in a folder; it must end with the expected code."""
    finished = subprocess.run(
        [sys.executable, "-m", "neuroveil", *arguments],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert finished.returncode == expected, f"{' '.join(arguments)}:\n{finished.stderr}"
    return finished.stdout


def edit(study: Path, toml: str) -> None:
    """Do what a reader does with a TOML block: set these lines in that section of the study."""
    section = ""
    lines = study.read_text(encoding="utf-8").splitlines()
    for wanted in toml.splitlines():
        if wanted.startswith("["):
            section = wanted
            lines = [section if line == f"# {section}" else line for line in lines]
            continue
        key = wanted.split(" = ")[0]
        start = lines.index(section) + 1
        place = next(
            number
            for number, line in enumerate(lines[start:], start)
            if re.match(rf"(# *)?{re.escape(key)} *=", line)
        )
        assert not any(line.startswith("[") for line in lines[start:place]), key
        lines[place] = wanted
    study.write_text("\n".join(lines) + "\n", encoding="utf-8")


def follow(document: Path, folder: Path) -> None:
    """Type in everything that a document says, in order."""
    for language, text in blocks(document):
        if language == "console":
            for arguments in commands(text):
                run(arguments, folder)
        elif language == "toml":
            edit(folder / "study.toml", text)
        elif language == "python":
            subprocess.run([sys.executable, "-c", text], cwd=folder, check=True)


@pytest.mark.slow
def test_the_tutorial_from_top_to_bottom(tmp_path: Path) -> None:
    follow(ROOT / "docs" / "tutorial.md", tmp_path)
    assert (tmp_path / "release" / "certificate.json").is_file()
    assert (tmp_path / "internal" / "report.html").is_file()
    assert (tmp_path / "public-report.html").is_file()


@pytest.mark.slow
def test_the_tutorial_says_what_a_release_folder_holds(tmp_path: Path) -> None:
    run(["simulate", "cohort", "--patients", "2", "--seconds", "10"], tmp_path)
    run(["init", "study.toml", "--folder", "cohort"], tmp_path)
    run(["release", "study.toml", "--budget-epsilon", "1"], tmp_path)
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    table = "\n".join(line for line in text.splitlines() if line.startswith("| `"))
    listed = set(re.findall(r"`([\w.]+)`", table))
    assert listed == {path.name for path in (tmp_path / "release").iterdir()}


@pytest.mark.slow
def test_the_first_screen_of_the_readme(tmp_path: Path) -> None:
    first_screen = list(blocks(ROOT / "README.md"))[:2]
    run(["simulate", "recordings", "--patients", "4", "--seconds", "20"], tmp_path)
    (console, lines), (python, program) = first_screen
    assert (console, python) == ("console", "python")
    calls = commands(lines)
    assert len(calls) == 5
    for number, arguments in enumerate(calls):
        run(arguments, tmp_path)
        if number == 0:
            edit(tmp_path / "study.toml", "[privacy.budget]\nepsilon = 2.0\ndelta = 1e-4")
    shutil.move(tmp_path / "release", tmp_path / "first release")
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)


@pytest.mark.slow
def test_the_real_patients(tmp_path: Path, eegmat: Path) -> None:
    example = tmp_path / "examples" / "eegmat"
    example.mkdir(parents=True)
    study = (ROOT / "examples" / "eegmat" / "study.toml").read_text(encoding="utf-8")
    moved, n_moved = re.subn(r'(?m)^folder = "[^"]*"', f'folder = "{eegmat.as_posix()}"', study)
    assert n_moved == 1
    (example / "study.toml").write_text(moved, encoding="utf-8")
    shown = [
        text for language, text in blocks(ROOT / "docs" / "eegmat.md") if language == "console"
    ]
    calls = [arguments for text in shown for arguments in commands(text)]
    assert len(calls) >= 5
    for arguments in calls:
        run(arguments, tmp_path)
    assert len((example / "release" / "table.csv").read_text().splitlines()) == 1 + 17


def test_the_claim_of_the_paper_breaks_in_the_words_of_the_page() -> None:
    page = ROOT / "docs" / "how-privacy-claims-break.md"
    (_, console), (_, quoted) = list(blocks(page))[:2]
    (arguments,) = commands(console)
    output = run(arguments, ROOT, expected=EXIT_BROKEN)
    assert quoted.splitlines()
    for line in quoted.splitlines():
        assert line in output


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("public_scaling", EXIT_DONE),
        ("paper_gaussian", EXIT_BROKEN),
        ("left_out", EXIT_UNCHECKED),
    ],
)
def test_the_other_example_claims_end_as_they_say(claim: str, expected: int) -> None:
    run(["verify", f"examples/claims/{claim}.toml"], ROOT, expected)
