"""``neuroveil audit``: attacks on a release, and on the mechanism behind it.

``neuroveil audit mechanism ...`` names a form of the audit; anything else is the main form,
:data:`MAIN_FORM`, which need not be named: ``neuroveil audit RELEASE --table TABLE``.
"""

from __future__ import annotations

import importlib

import click

FORMS: dict[str, str] = {"table": "audit_table", "mechanism": "audit_mechanism"}
"""Module below ``neuroveil.cli.commands`` by name of the form."""

MAIN_FORM = "table"
"""The form that is meant where none is named."""


class AuditGroup(click.Group):
    """A group that knows its forms, imports them on demand, and has one that goes unnamed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the forms.

        Parameters
        ----------
        ctx : click.Context
            Unused.

        Returns
        -------
        list of str
            Names.
        """
        return list(FORMS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one form.

        Parameters
        ----------
        ctx : click.Context
            Unused.
        cmd_name : str
            Name on the command line.

        Returns
        -------
        click.Command or None
            None where there is no such form.
        """
        if cmd_name not in FORMS:
            return None
        module = importlib.import_module(f"neuroveil.cli.commands.{FORMS[cmd_name]}")
        found: click.Command = module.command
        return found

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the name of the main form where none is given.

        Parameters
        ----------
        ctx : click.Context
            Context of the group.
        args : list of str
            What follows ``neuroveil audit``.

        Returns
        -------
        list of str
            What is left for the form.
        """
        named = args and (args[0] in FORMS or args[0] in ctx.help_option_names)
        if args and not named:
            args = [MAIN_FORM, *args]
        return super().parse_args(ctx, args)


@click.group(cls=AuditGroup)
def command() -> None:
    """Attack a release or a mechanism, and say what was found and what could have been.

    neuroveil audit RELEASE --table TABLE attacks a released table; that form need not be named.

    An audit that finds nothing proves nothing: every figure comes with its interval, a null
    control and what would have been seen. Results are internal.

    Ends with 4 where a claim is violated, and with 5 where nothing could be tested.
    """
