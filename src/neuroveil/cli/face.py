"""What every command shares: --json, --quiet, -v, progress, and where output goes."""

from __future__ import annotations

import functools
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])
Progress = Callable[[int, int, str], None]

_PLAIN_SECONDS = 5.0


@dataclass(frozen=True)
class Face:
    """How a command speaks.

    Parameters
    ----------
    as_json : bool
        One machine-readable object on standard output, and nothing else there.
    quiet : bool
        No progress and no words.
    verbose : bool
        More words.
    """

    as_json: bool
    quiet: bool
    verbose: bool

    def say(self, text: str) -> None:
        """Say something to a person, on standard error.

        Parameters
        ----------
        text : str
            One or more lines.
        """
        if not self.quiet:
            click.echo(text, err=True)

    def detail(self, text: str) -> None:
        """Say something that only ``-v`` asks for.

        Parameters
        ----------
        text : str
            One or more lines.
        """
        if self.verbose:
            click.echo(text, err=True)

    def result(self, document: dict[str, Any], text: str) -> None:
        """Give the command's result on standard output.

        Parameters
        ----------
        document : dict
            For ``--json``.
        text : str
            For a person.
        """
        if self.as_json:
            click.echo(json.dumps(document, ensure_ascii=False, allow_nan=False))
        else:
            click.echo(text)

    @contextmanager
    def progress(self) -> Iterator[Progress]:
        """Show progress while a block runs.

        Yields
        ------
        callable
            Takes (done, total, what).
        """
        if self.quiet:
            yield lambda done, total, what: None
        elif sys.stderr.isatty():
            yield from self._bar()
        else:
            yield _plain_progress()

    def _bar(self) -> Iterator[Progress]:
        from rich.console import Console
        from rich.progress import Progress as Bar

        with Bar(console=Console(stderr=True), transient=True) as bar:
            tasks: dict[str, Any] = {}

            def update(done: int, total: int, what: str) -> None:
                if what not in tasks:
                    tasks[what] = bar.add_task(what, total=total)
                bar.update(tasks[what], completed=done, total=total)

            yield update


def _plain_progress() -> Progress:
    """Write a line now and then, for logs and pipes."""
    last: dict[str, float] = {}

    def update(done: int, total: int, what: str) -> None:
        now = time.monotonic()
        if done < total and now - last.setdefault(what, now) < _PLAIN_SECONDS:
            return
        last[what] = now
        click.echo(f"{what}: {done} of {total}", err=True)

    return update


def common_options(function: Command) -> Command:
    """Give a command --json, --quiet and -v, and hand it a :class:`Face`.

    Parameters
    ----------
    function : callable
        Takes the face as its first argument.

    Returns
    -------
    callable
        For click.
    """

    @click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
    @click.option("--quiet", "-q", is_flag=True, help="No progress, no words.")
    @click.option("--verbose", "-v", is_flag=True, help="More words.")
    @functools.wraps(function)
    def wrapped(as_json: bool, quiet: bool, verbose: bool, **arguments: Any) -> Any:
        return function(Face(as_json, quiet, verbose), **arguments)

    return wrapped  # type: ignore[return-value]
