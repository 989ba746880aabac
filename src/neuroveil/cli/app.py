"""The command group: loads a command's module only when it is called."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Sequence

import click

from neuroveil.cli import COMMANDS
from neuroveil.errors import NeuroveilError

EXIT_INTERRUPTED = 130
EXIT_UNREAD = 5
EXIT_CODES = """\b
Exit codes:
  0  done, or: the claim holds
  1  a bug in neuroveil
  2  a mistake in the study or on the command line
  3  recordings that cannot be used
  4  refused on privacy grounds, or: the claim is broken
  5  partly done, or: cannot be checked from what is stated
"""


class LazyGroup(click.Group):
    """A group that knows its commands' names and imports them on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the commands in the order of a run.

        Parameters
        ----------
        ctx : click.Context
            Unused.

        Returns
        -------
        list of str
            Command names.
        """
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command.

        Parameters
        ----------
        ctx : click.Context
            Unused.
        cmd_name : str
            Name on the command line.

        Returns
        -------
        click.Command or None
            None where there is no such command.
        """
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"neuroveil.cli.commands.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing any of them.

        Parameters
        ----------
        ctx : click.Context
            Unused.
        formatter : click.HelpFormatter
            Where to write.
        """
        with formatter.section("Commands, in the order of a run"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, epilog=EXIT_CODES, context_settings={
    "max_content_width": 100, "help_option_names": ["-h", "--help"],
})  # fmt: skip
@click.version_option(package_name="neuroveil")
def cli() -> None:
    """Share what is in EEG recordings without exposing a patient.

    neuroveil turns recordings into one feature vector a patient and releases them under
    subject-level differential privacy, with the whole derivation beside the table.

    Start with: neuroveil demo
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        Default: the process's own.

    Returns
    -------
    int
        Exit code.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    as_json, verbose = "--json" in arguments, "-v" in arguments or "--verbose" in arguments
    try:
        result = cli.main(args=arguments, prog_name="neuroveil", standalone_mode=False)
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except (click.Abort, KeyboardInterrupt):
        if as_json:
            click.echo(json.dumps({"error": "interrupted", "exit_code": EXIT_INTERRUPTED}))
        click.echo("Stopped. Run the same command again to go on.", err=True)
        return EXIT_INTERRUPTED
    except click.ClickException as error:
        return _refuse_usage(error, as_json)
    except NeuroveilError as error:
        return _refuse(error, as_json)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone; there is nobody to tell
        return EXIT_UNREAD  # the verdict was not reached, and 0 would say that all holds
    except Exception as error:  # the last line of defence; tells no values
        return _report_failure(error, as_json, verbose)
    return result if isinstance(result, int) else 0


def _refuse(error: NeuroveilError, as_json: bool) -> int:
    if as_json:
        click.echo(json.dumps({**error.as_dict(), "exit_code": error.exit_code}))
    click.echo(f"{error}", err=True)
    return error.exit_code


def _refuse_usage(error: click.ClickException, as_json: bool) -> int:
    if as_json:
        document = {"error": "UsageError", "message": error.format_message(), "exit_code": 2}
        click.echo(json.dumps(document))
    error.show()
    return 2


def _report_failure(error: Exception, as_json: bool, verbose: bool) -> int:
    """Tell a full disk or memory, which is no bug, from everything else."""
    if isinstance(error, OSError | MemoryError):
        from neuroveil.pipeline.machine import is_of_the_machine, machine_error

        if is_of_the_machine(error):
            return _refuse(machine_error("machine", error), as_json)
    return _report_bug(error, as_json, verbose)


def _report_bug(error: Exception, as_json: bool, verbose: bool) -> int:
    """Tell where neuroveil broke, never the message or values: they may be private."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "neuroveil" in frame.filename]
    last = (ours or frames)[-1]
    place = f"{last.filename.rpartition('neuroveil')[2].lstrip('/')}:{last.lineno}"
    text = f"This is a bug in neuroveil: {type(error).__name__} at {place}."
    if as_json:
        click.echo(json.dumps({"error": "bug", "where": place, "exit_code": 1}))
    click.echo(f"{text} Please report it with this line; it holds nothing private.", err=True)
    if verbose:
        for frame in ours:
            name = frame.filename.rpartition("neuroveil")[2]
            click.echo(f"  {name}:{frame.lineno} in {frame.name}", err=True)
    return 1
