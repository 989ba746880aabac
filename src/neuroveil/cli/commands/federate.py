"""``neuroveil federate``: hospitals that train one model together."""

from __future__ import annotations

import click

from neuroveil.cli.commands import (
    federate_coordinator,
    federate_hospital,
    federate_plan,
    federate_run,
    federate_verify,
)


@click.group()
def command() -> None:
    """Train one model at several hospitals; recordings, features and rows stay where they are.

    Start with: neuroveil federate plan, which compares where privacy may enter, and neuroveil
    federate simulate, which tries it on one machine. Needs the extras federated and torch.
    """


for each in (
    federate_plan.plan,
    federate_plan.simulate,
    federate_plan.join,
    federate_coordinator.coordinator,
    federate_hospital.hospital,
    federate_run.run_,
    federate_run.status_,
    federate_verify.verify_,
):
    command.add_command(each)
