"""``neuroveil ledger``: the privacy budget."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuroveil.cli.face import Face, common_options

if TYPE_CHECKING:
    from neuroveil.ledger import Ledger, LedgerState
    from neuroveil.types.budget import Amount

_LEDGER = click.argument("ledger", default="ledger.sqlite")
_DRY_RUN = click.option("--dry-run", is_flag=True, help="Check everything; write nothing.")
_KEY_FILE = click.option(
    "--key-file", type=click.Path(path_type=Path, dir_okay=False),
    help="Secret key of patients.  [default: beside the ledger file]",
)  # fmt: skip


_RULE = (
    "How spends add up: as sums, or by composing privacy losses, which suits many small releases."
)
_SITE_WIDE = (
    "Declare that roster keys are patient numbers of the whole site: one person, one key, in "
    "every study. Releases about different patients then count apart."
)
_MEMBERS = "Roster keys of the set, one a line. The ledger keeps keyed digests of them."
_ANCHOR = "Anchor file of a study: was this ledger exchanged or cut off since?"


def _amounts(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --epsilon and --delta."""
    for name in ("--delta", "--epsilon"):
        command = click.option(
            name, type=float, required=True, help="Limit for any one patient over all releases."
        )(command)
    return command


@click.group()
def command() -> None:
    """Set, show and check the privacy budget of one site.

    LEDGER is a file, or the URL of a PostgreSQL database (postgresql+psycopg://…).
    """


@command.command()
@_LEDGER
@_amounts
@click.option("--rule", type=click.Choice(["basic", "pld"]), default="basic", show_default=True,
              help=_RULE)  # fmt: skip
@click.option("--site-wide-keys", is_flag=True, help=_SITE_WIDE)
@_KEY_FILE
@_DRY_RUN
@common_options
def init(face: Face, ledger: str, epsilon: float, delta: float, **options: Any) -> int:
    """Start LEDGER with a limit that can never be changed."""
    from neuroveil.ledger import Ledger, Terms
    from neuroveil.ledger.limit import check_limit
    from neuroveil.ledger.location import named
    from neuroveil.pipeline.budget import exact

    written = not options["dry_run"]
    terms = Terms(options["rule"], options["site_wide_keys"], options["key_file"])
    check_limit(ledger, epsilon, delta)
    if written:
        Ledger.create(ledger, exact(epsilon), exact(delta), terms)
    document = {
        "ledger": named(ledger), "epsilon": epsilon, "delta": delta, "rule": terms.rule,
        "site_wide_keys": terms.site_wide_keys, "written": written,
    }  # fmt: skip
    face.result(
        document,
        f"{'Started' if written else 'Would start'} {named(ledger)} with epsilon = {epsilon:g}, "
        f"delta = {delta:g}. This limit stays.",
    )
    return 0


@command.command()
@_LEDGER
@click.option("--scope", required=True, help="study:NAME or patients:NAME.")
@_amounts
@click.option("--patients", type=click.File(encoding="utf-8"), help=_MEMBERS)
@_KEY_FILE
@_DRY_RUN
@common_options
def limit(face: Face, ledger: str, epsilon: float, delta: float, **options: Any) -> int:
    """Set a further limit, for one study or for a set of patients.

    It holds beside the site's, counts what was spent already, and can never be changed.
    """
    from neuroveil.pipeline.budget import exact
    from neuroveil.types.budget import Scope

    scope, written = Scope.parse(options["scope"]), not options["dry_run"]
    opened = _open(ledger, read_only=not written, key_file=options["key_file"])
    keys = [line.strip() for line in options["patients"] or () if line.strip()]
    members = opened.patient_digests(keys) if keys else ()
    place = opened.set_limit if written else opened.check_new_limit
    place(scope, exact(epsilon), exact(delta), members)
    document = {
        "scope": str(scope), "epsilon": epsilon, "delta": delta,
        "n_members": len(set(members)) or None, "written": written,
    }  # fmt: skip
    face.result(
        document,
        f"{'Set' if written else 'Would set'} epsilon = {epsilon:g}, delta = {delta:g} for "
        f"{scope}. This limit stays.",
    )
    return 0


@command.command()
@_LEDGER
@common_options
def show(face: Face, ledger: str) -> int:
    """Show limits, spends and what is left."""
    state = _open(ledger).state()
    lines = [f"{'':4}{'epsilon':>10} {'delta':>10}  for"]
    lines += [
        f"{line.number:>3} {float(line.amount[0]):>10g} {float(line.amount[1]):>10g}  "
        f"{line.spend.mechanism}, {line.spend.n_patients} patients x "
        f"{line.spend.dimension} columns, {line.created}"
        for line in state.entries
    ]
    for scope in state.scopes:
        where = "" if len(state.scopes) == 1 else f"  {scope.scope}"
        lines.append(f"{'spent':>5} {_columns(scope.spent)}{where}")
        lines.append(f"{'left':>5} {_columns(scope.remaining)}{where}")
    if state.site_wide_keys:
        lines.append("Spent and left: of the patient on whom most was spent.")
    face.result(_document(state), "\n".join(lines))
    return 0


@command.command()
@_LEDGER
@click.option("--anchor", type=click.Path(path_type=Path, exists=True), help=_ANCHOR)
@common_options
def verify(face: Face, ledger: str, anchor: Path | None) -> int:
    """Check the hash chain over all entries, and an anchor where one is given."""
    from neuroveil.pipeline.budget import read_anchor

    opened = _open(ledger)
    state = opened.state()
    if anchor is not None:
        opened.check_commitment(read_anchor(anchor))
    document = {"holds": True, "entries": len(state.entries), "anchored": anchor is not None}
    ending = ", and it is the ledger that the anchor was made for" if anchor else ""
    face.result(document, f"The chain over {len(state.entries)} spends holds{ending}.")
    return 0


@command.command()
@_LEDGER
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write to a new file.")
@_DRY_RUN
@common_options
def export(face: Face, ledger: str, out: Path | None, dry_run: bool) -> int:
    """Give all entries as JSON, without digests of patients and without hashes."""
    import json

    if out is not None and out.exists():
        raise click.BadParameter("a new file is expected, and this one exists.", param_hint="--out")
    entries = _open(ledger).export()
    document: dict[str, Any] = {"entries": entries}
    if out is None or dry_run:
        face.result(document, json.dumps(document, indent=2, ensure_ascii=False))
        return 0
    with out.open("x", encoding="utf-8") as stream:
        json.dump(document, stream, indent=2, ensure_ascii=False)
    face.result({"written": out.name, "n_entries": len(entries)}, f"Wrote {len(entries)} entries.")
    return 0


def _open(ledger: str, *, read_only: bool = True, key_file: Path | None = None) -> Ledger:
    from neuroveil.ledger import Ledger
    from neuroveil.pipeline.budget import composed_epsilon

    return Ledger(ledger, read_only=read_only, composer=composed_epsilon, key_file=key_file)


def _columns(amount: Amount) -> str:
    return f"{float(amount[0]):>8g} {float(amount[1]):>10g}"


def _plain(amount: Amount) -> dict[str, float]:
    return {"epsilon": float(amount[0]), "delta": float(amount[1])}


def _document(state: LedgerState) -> dict[str, Any]:
    return {
        "rule": state.rule,
        "site_wide_keys": state.site_wide_keys,
        "limit": _plain(state.limit),
        "spent": _plain(state.spent),
        "remaining": _plain(state.remaining),
        "scopes": [
            {
                "scope": str(scope.scope),
                "limit": _plain(scope.limit),
                "spent": _plain(scope.spent),
                "remaining": _plain(scope.remaining),
            }
            for scope in state.scopes
        ],
        "entries": [
            {
                "number": line.number,
                **_plain(line.amount),
                "mechanism": line.spend.mechanism,
                "n_patients": line.spend.n_patients,
                "dimension": line.spend.dimension,
                "created": line.created,
            }
            for line in state.entries
        ],
    }
