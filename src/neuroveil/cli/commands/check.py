"""``neuroveil check``: what would be used and what is wrong."""

from __future__ import annotations

import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from neuroveil.cli.arguments import ledger_option, load, study_arguments
from neuroveil.cli.face import Face, common_options

if TYPE_CHECKING:
    from neuroveil.pipeline.check import CheckReport

BAD_DATA = 3
WIDTH = 100


@click.command()
@study_arguments
@ledger_option
@common_options
def command(
    face: Face, study: Path, out_dir: Path | None, level: str | None, ledger: str | None
) -> int:
    """Check a study and suggest settings; spends no budget and writes nothing."""
    from neuroveil.pipeline.check import check_study

    settings = load(study, out_dir, {"privacy.ledger": ledger})
    with face.progress() as progress:
        report = check_study(settings, progress)
    code = BAD_DATA if report.n_usable == 0 else 0
    face.result({**asdict(report), "exit_code": code}, "\n".join(_lines(report)))
    return code


def _lines(report: CheckReport) -> list[str]:
    lines = [
        f"{report.n_patients} patients, {report.n_usable} of {report.n_recordings} recordings "
        f"usable, {report.hours:.1f} hours.",
    ]
    if report.n_patients_without_recording:
        lines.append(
            f"{report.n_patients_without_recording} patients have no recording; they stay on "
            "the roster and get the public fallback row."
        )
    counts = {"formats": report.formats, "sampling rates (Hz)": report.sampling_rates}
    for what, by in counts.items():
        lines.append(f"{what}: " + ", ".join(f"{key} ({n})" for key, n in sorted(by.items())))
    lines += _table(report)
    lines += [f"   warning  {text}" for text in report.warnings]
    if report.suggestions:
        lines += ["", "Settings to consider in the study:"]
    for suggestion in report.suggestions:
        lines.append(f"  {suggestion.line()}")
        about = f"# {suggestion.n_recordings} recordings: {suggestion.why}"
        lines += textwrap.wrap(about, WIDTH, initial_indent="    ", subsequent_indent="    # ")
    lines += ["", _outlook(report.release)]
    return lines


def _table(report: CheckReport) -> list[str]:
    """One row a kind of problem: how many recordings, whether they can be used, and what."""
    if not report.problems:
        return ["No problems."]
    code_width = max(len("problem"), *(len(problem.code) for problem in report.problems))
    head = f"{'recordings':>10}  {'used':4}  {'problem':{code_width}}  "
    rows = ["", f"{head}what it is, and what to do", "-" * WIDTH]
    for problem in report.problems:
        used = "no" if problem.blocking else "yes"
        start = f"{problem.n_recordings:>10}  {used:4}  {problem.code:{code_width}}  "
        text = f"{problem.what} {problem.remedy}".strip()
        width = max(30, WIDTH - len(start))
        first, *rest = textwrap.wrap(text, width) or [""]
        rows += [start + first, *(" " * len(start) + line for line in rest)]
    return [*rows, ""]


def _outlook(release: dict[str, object]) -> str:
    spends, left = release.get("spends"), release.get("left")
    text = "A release would"
    if isinstance(spends, dict):
        text += f" spend epsilon = {spends['epsilon']:g}, delta = {spends['delta']:g}"
        if isinstance(left, dict):
            text += f" of epsilon = {left['epsilon']:g}, delta = {left['delta']:g} left"
    choice = f" {release['choice']}" if "choice" in release else ""
    if "refused" in release:
        joint = "; it would" if isinstance(spends, dict) else ""
        return f"{text}{joint} be refused: {release['refused']}{choice}"
    return f"{text}.{choice}"
