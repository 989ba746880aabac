"""Arguments that several commands take, and the study made from them."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from neuroveil.study import Study

Command = TypeVar("Command", bound=Callable[..., Any])

LEDGER_VARIABLE = "NEUROVEIL_LEDGER"
"""Where a site says once which ledger BIDS-App style calls are charged to."""


class ExistingPath(click.Path):
    """A path at which something lies; without it, a mistake on the command line.

    What is judged (a release, a certificate) ends with 4 where it is broken. A mistyped path
    must not look like that. The message does not repeat the path, which may hold a name.
    """

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Turn the text of an argument into a path.

        Parameters
        ----------
        value : object
            What was typed.
        param, ctx : click objects
            For the message.

        Returns
        -------
        Path
            The path.

        Raises
        ------
        click.BadParameter
            If nothing lies there.
        """
        path: Path = super().convert(value, param, ctx)  # type: ignore[assignment]
        if not path.exists():
            self.fail("there is no such file or folder; check the path.", param, ctx)
        return path


def study_arguments(function: Command) -> Command:
    """Give a command STUDY, and the BIDS-App form BIDS_DIR OUT_DIR group.

    Parameters
    ----------
    function : callable
        A click command function.

    Returns
    -------
    callable
        The same with arguments ``study``, ``out_dir`` and ``level``.
    """
    for argument in (
        click.argument("level", required=False, type=click.Choice(["group"])),
        click.argument("out_dir", required=False, type=click.Path(path_type=Path)),
        click.argument("study", type=click.Path(path_type=Path), default="study.toml"),
    ):
        function = argument(function)
    return function


def workers_option(function: Command) -> Command:
    """Give a command ``--workers``.

    Parameters
    ----------
    function : callable
        A click command function.

    Returns
    -------
    callable
        The same with an option ``workers``.
    """
    option = click.option(
        "--workers", type=click.IntRange(min=1), default=None,
        help="Processes for reading recordings.  [default: all cores]",
    )  # fmt: skip
    return option(function)


def ledger_option(function: Command) -> Command:
    """Give a command ``--ledger``.

    Parameters
    ----------
    function : callable
        A click command function.

    Returns
    -------
    callable
        The same with an option ``ledger``.
    """
    option = click.option(
        "--ledger", metavar="LEDGER",
        help="Overrides the study's ledger. BIDS_DIR OUT_DIR group needs one that exists, here "
        f"or in the variable {LEDGER_VARIABLE}.",
    )  # fmt: skip
    return option(function)


@dataclass(frozen=True)
class Place:
    """Where recordings are read.

    Parameters
    ----------
    workers : int or None
        Processes of this machine, or jobs of SLURM.
    scheduler : str or None
        Address of a Dask scheduler, or ``"slurm"``; None for this machine alone.
    """

    workers: int | None
    scheduler: str | None


def place_options(function: Command) -> Command:
    """Give a command ``--workers`` and ``--scheduler``, and hand it a :class:`Place`.

    Parameters
    ----------
    function : callable
        A click command function.

    Returns
    -------
    callable
        The same with an argument ``place``.
    """

    @workers_option
    @click.option(
        "--scheduler", metavar="ADDRESS", default=None,
        help="Read recordings on a Dask cluster: address of its scheduler (tcp://... or "
        "tls://...), or 'slurm' to start --workers jobs. All machines need the same files.",
    )  # fmt: skip
    @functools.wraps(function)
    def wrapped(workers: int | None, scheduler: str | None, **arguments: Any) -> Any:
        return function(place=Place(workers, scheduler), **arguments)

    return wrapped  # type: ignore[return-value]


def load(study: Path, out_dir: Path | None, overrides: dict[str, Any]) -> Study:
    """Load a study file, or make the default study of a BIDS folder.

    Parameters
    ----------
    study : Path
        Study file, folder with a ``study.toml``, or BIDS folder.
    out_dir : Path or None
        Output folder of a BIDS-App style call.
    overrides : dict
        Settings by dotted name; None values are left out. A ledger is looked for from here,
        not from the study's folder.

    Returns
    -------
    Study
        Checked settings.
    """
    from neuroveil.study import load_study, study_for_bids

    chosen = {name: value for name, value in overrides.items() if value is not None}
    if out_dir is not None and os.environ.get(LEDGER_VARIABLE):
        chosen.setdefault("privacy.ledger", os.environ[LEDGER_VARIABLE])
    if "://" not in chosen.get("privacy.ledger", "://"):
        chosen["privacy.ledger"] = str(Path(chosen["privacy.ledger"]).absolute())
    if out_dir is not None:
        return study_for_bids(study, out_dir, chosen)
    return load_study(study, chosen)
