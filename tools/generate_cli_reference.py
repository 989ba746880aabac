"""Write docs/cli.md from the command line itself, or check that it is up to date.

Run ``python tools/generate_cli_reference.py`` after changing a command; with ``--check``
nothing is written and a difference ends with exit code 1.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import click

from neuroveil.cli.app import cli

PAGE = Path(__file__).resolve().parent.parent / "docs" / "cli.md"
WIDTH = 88  # of a help text, in characters, whatever terminal this runs in

INTRODUCTION = """\
<!-- Written by tools/generate_cli_reference.py from the commands themselves. Do not edit. -->

# Commands

Every command takes `--json` (one machine-readable object on standard output), `--quiet` and
`-v`. Words and progress go to standard error, results to standard output.

| exit code | meaning |
|---|---|
| 0 | done; for `verify`: the claim holds |
| 1 | a bug in neuroveil |
| 2 | a mistake in the study file or on the command line |
| 3 | data that cannot be used |
| 4 | refused on privacy grounds; for `verify`: the claim is broken |
| 5 | partly done, with the list; for `verify`: it cannot be checked from what is stated |
"""


def sections(command: click.Command, path: str, parent: click.Context | None) -> list[str]:
    """Give the section of a command, followed by those of its subcommands.

    Parameters
    ----------
    command : click.Command
        The command.
    path : str
        What a person types to call it.
    parent : click.Context, optional
        Context of the command above it.

    Returns
    -------
    list of str
        Markdown sections.
    """
    name = path.rpartition(" ")[2]
    context = click.Context(
        command, info_name=name, parent=parent, terminal_width=WIDTH, max_content_width=WIDTH
    )
    found = []
    if parent is not None:
        level = "#" * (path.count(" ") + 1)
        found.append(f"{level} {path}\n\n```text\n{command.get_help(context).rstrip()}\n```\n")
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            below = command.get_command(context, child)
            if below is not None and not below.hidden:
                found += sections(below, f"{path} {child}", context)
    return found


def main() -> int:
    """Write or check the page.

    Returns
    -------
    int
        1 when ``--check`` finds a difference, otherwise 0.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare only, write nothing")
    check = parser.parse_args().check
    page = "\n".join([INTRODUCTION, *sections(cli, "neuroveil", None)])
    if not check:
        PAGE.write_text(page, encoding="utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == page:
        return 0
    print("docs/cli.md is out of date: run tools/generate_cli_reference.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
