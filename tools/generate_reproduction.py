"""Measure what docs/reproduction.md shows, write it into the page, or check that it is there.

``python tools/generate_reproduction.py --measure FOLDER --eegmat RECORDINGS`` runs ``neuroveil
reproduce`` on the made-up cohort and on eegmat, keeps finished work in FOLDER, and writes the
figures with command and commit to docs/measured. Without arguments the page and its drawings
are written from those files; with ``--check`` nothing is written, and a difference ends with
exit code 1.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import platform
import subprocess
import sys
import types
import typing
from pathlib import Path
from typing import Any

from neuroveil.report.reproduction import introduction, verdict_counts
from neuroveil.report.reproduction_charts import reproduction_figures
from neuroveil.report.reproduction_grids import (
    classifier_grid,
    effect_grids,
    markdown,
    mechanism_grids,
    paper_grids,
)
from neuroveil.types.reproduction import Reproduction

ROOT = Path(__file__).resolve().parent.parent
PAGE, MEASURED, IMAGES = (
    ROOT / "docs" / "reproduction.md", ROOT / "docs" / "measured", ROOT / "docs" / "images"
)  # fmt: skip
BEGIN, END = "<!-- begin {}: written by tools/generate_reproduction.py -->", "<!-- end {} -->"
DRAWN = {
    "simulated": ("figure_7", "figure_8", "figure_9", "figure_10", "figure_11", "mechanisms"),
    "eegmat": ("mechanisms",),
}


def measure(cohort: str, folder: Path, recordings: Path | None) -> None:
    """Run the command on one cohort, and write its figures down.

    Parameters
    ----------
    cohort : {"simulated", "eegmat"}
        Which people.
    folder : Path
        Where finished work is kept.
    recordings : Path or None
        Folder of the recordings of eegmat.
    """
    options = ["--mechanisms", "all", "--classifier-draws", "40" if cohort == "simulated" else "20"]
    shown = ["neuroveil", "reproduce", *options]
    if recordings is not None:
        options += ["--eegmat", str(recordings)]
        shown += ["--eegmat", "FOLDER"]
    run = subprocess.run(
        [sys.executable, "-m", "neuroveil", "reproduce", *options, "--json", "--out",
         str(folder / cohort)],
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    figures = json.loads(run.stdout)
    del figures["page"], figures["verdicts"]
    record = {
        "command": " ".join([*shown, "--out", "FOLDER"]),
        "commit": _commit(),
        "python": platform.python_version(),
        "figures": figures,
    }
    MEASURED.mkdir(exist_ok=True)
    text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
    _file(cohort).write_text(text, encoding="utf-8")


def measured(cohort: str) -> tuple[Reproduction, str]:
    """Read the figures of one cohort back.

    Parameters
    ----------
    cohort : {"simulated", "eegmat"}
        Which people.

    Returns
    -------
    Reproduction
        As it was found.
    str
        How it was found.
    """
    record = json.loads(_file(cohort).read_text(encoding="utf-8"))
    words = f"Measured with `{record['command']}` at commit {record['commit']}."
    return _read(Reproduction, record["figures"]), words


def blocks() -> dict[str, str]:
    """Give the generated parts of the page.

    Returns
    -------
    dict of str to str
        Markdown by the name of the part.
    """
    simulated, how_simulated = measured("simulated")
    eegmat, how_eegmat = measured("eegmat")
    counted = verdict_counts(simulated)
    return {
        "verdicts": _joined(
            [f"{introduction(simulated)} {how_simulated}"],
            ["\n".join(["| verdict | printed numbers |", "|---|---|",
                        *(f"| {words} | {count} |" for words, count in counted.items())])],
        ),
        "side-by-side-eegmat": _joined(
            [f"{introduction(eegmat)} {how_eegmat}"], _side_by_side(eegmat)
        ),
        "side-by-side-simulated": _joined(
            [introduction(simulated)], _side_by_side(simulated)
        ),
        "effects": _joined(map(markdown, effect_grids(simulated))),
        "tables": _joined(map(markdown, paper_grids(simulated))),
    }  # fmt: skip


def written(page: str) -> str:
    """Put the generated parts into the page.

    Parameters
    ----------
    page : str
        The page as it is.

    Returns
    -------
    str
        The page as it should be.
    """
    for name, block in blocks().items():
        begin, end = BEGIN.format(name), END.format(name)
        before, _, rest = page.partition(begin)
        _, found, after = rest.partition(end)
        if not found:
            raise SystemExit(f"docs/reproduction.md has no part {name!r}.")
        page = f"{before}{begin}\n\n{block}\n{end}{after}"
    return page


def draw() -> None:
    """Write the drawings that the page shows."""
    for cohort, names in DRAWN.items():
        figures = reproduction_figures(measured(cohort)[0])
        for name in names:
            (IMAGES / f"reproduction-{cohort}-{name.replace('_', '-')}.svg").write_text(
                figures[name] + "\n", encoding="utf-8"
            )


def _side_by_side(reproduction: Reproduction) -> list[str]:
    grids = [*mechanism_grids(reproduction), classifier_grid(reproduction)]
    return [markdown(grid, level=4) for grid in grids]


def _joined(*parts: Any) -> str:
    return "\n\n".join(text.rstrip("\n") for part in parts for text in part) + "\n"


def _file(cohort: str) -> Path:
    return MEASURED / f"reproduction_{cohort}.json"


def _commit() -> str:
    return subprocess.run(
        ["git", "describe", "--always"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()


def _read(kind: Any, value: Any) -> Any:
    """Make objects of plain data again, by the types of their fields."""
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return kind(**{name: _read(hint, value[name]) for name, hint in hints.items()})
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        if value is None:
            return None
        return _read(next(part for part in parts if part is not types.NoneType), value)
    if origin is tuple:
        inner = parts[:1] * len(value) if parts[-1] is Ellipsis else parts
        return tuple(_read(part, each) for part, each in zip(inner, value, strict=True))
    if origin is dict:
        return {key: _read(parts[1], each) for key, each in value.items()}
    return value


def main() -> int:
    """Measure, write or check.

    Returns
    -------
    int
        1 if the page is not up to date, else 0.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--measure", type=Path, metavar="FOLDER", help="keep finished work here")
    parser.add_argument("--eegmat", type=Path, metavar="FOLDER", help="recordings, to measure")
    parser.add_argument("--check", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    if (arguments.measure is None) != (arguments.eegmat is None):
        parser.error("--measure and --eegmat go together")
    if arguments.measure is not None:
        measure("simulated", arguments.measure, None)
        measure("eegmat", arguments.measure, arguments.eegmat)
    page = PAGE.read_text(encoding="utf-8")
    expected = written(page)
    if arguments.check:
        if page != expected:
            print("docs/reproduction.md is not what docs/measured says; run this tool.",
                  file=sys.stderr)  # fmt: skip
        return int(page != expected)
    PAGE.write_text(expected, encoding="utf-8")
    draw()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
