"""``neuroveil ledger``: the privacy budget."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuroveil.cli.face import Face, common_options

if TYPE_CHECKING:
    from neuroveil.ledger import LedgerState

_PATH = click.argument("ledger", type=click.Path(path_type=Path), default="ledger.sqlite")


@click.group()
def command() -> None:
    """Set, show and check the privacy budget of one set of patients."""


@command.command()
@_PATH
@click.option("--epsilon", type=float, required=True, help="Limit over all releases.")
@click.option("--delta", type=float, required=True, help="Limit over all releases.")
@click.option("--dry-run", is_flag=True, help="Check the limit; write nothing.")
@common_options
def init(face: Face, ledger: Path, epsilon: float, delta: float, dry_run: bool) -> int:
    """Start LEDGER with a limit that can never be changed."""
    from neuroveil.ledger import Ledger
    from neuroveil.ledger.limit import check_limit
    from neuroveil.pipeline.budget import exact

    check_limit(ledger, epsilon, delta)
    if not dry_run:
        Ledger.create(ledger, exact(epsilon), exact(delta))
    document = {"ledger": ledger.name, "epsilon": epsilon, "delta": delta, "written": not dry_run}
    face.result(
        document,
        f"{'Would start' if dry_run else 'Started'} {ledger.name} with epsilon = {epsilon:g}, "
        f"delta = {delta:g}. This limit stays.",
    )
    return 0


@command.command()
@_PATH
@common_options
def show(face: Face, ledger: Path) -> int:
    """Show limit, spends and what is left."""
    state = _state(ledger)
    lines = [f"{'':4}{'epsilon':>10} {'delta':>10}  for"]
    lines += [
        f"{entry.number:>3} {float(entry.amount[0]):>10g} {float(entry.amount[1]):>10g}  "
        f"{entry.mechanism}, {entry.n_patients} patients x {entry.dimension} columns, "
        f"{entry.created}"
        for entry in state.entries
    ]
    lines.append(f"{'spent':>5} {float(state.spent[0]):>8g} {float(state.spent[1]):>10g}")
    lines.append(f"{'left':>5} {float(state.remaining[0]):>8g} {float(state.remaining[1]):>10g}")
    face.result(_document(state), "\n".join(lines))
    return 0


@command.command()
@_PATH
@common_options
def verify(face: Face, ledger: Path) -> int:
    """Check the hash chain over all entries."""
    state = _state(ledger)
    face.result(
        {"holds": True, "entries": len(state.entries)},
        f"The chain over {len(state.entries)} spends holds.",
    )
    return 0


def _state(ledger: Path) -> LedgerState:
    from neuroveil.ledger import Ledger

    return Ledger(ledger, read_only=True).state()


def _document(state: LedgerState) -> dict[str, Any]:
    def amount(pair: tuple[Any, Any]) -> dict[str, float]:
        return {"epsilon": float(pair[0]), "delta": float(pair[1])}

    return {
        "limit": amount(state.limit),
        "spent": amount(state.spent),
        "remaining": amount(state.remaining),
        "entries": [
            {
                "number": entry.number,
                **amount(entry.amount),
                "mechanism": entry.mechanism,
                "n_patients": entry.n_patients,
                "dimension": entry.dimension,
                "created": entry.created,
            }
            for entry in state.entries
        ],
    }
