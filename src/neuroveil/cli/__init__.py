"""The command line: parse, call one public function, render."""

from __future__ import annotations

COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("init", "Write a commented study file to start from."),
    "check": ("check", "Say what would be used and what is wrong; writes nothing."),
    "extract": ("extract", "Recordings to the private feature table; goes on where it stopped."),
    "plan": ("plan", "What each way of sharing would leave; reads no signal, spends nothing."),
    "release": ("release", "Spend budget and write a protected table with its certificate."),
    "verify": ("verify", "Re-derive a certificate or a claim, and check a release's files."),
    "audit": ("audit", "Attack a release or a mechanism; results are internal."),
    "report": ("report", "One HTML page about a release; internal or public."),
    "evaluate": ("evaluate", "What each way of sharing leaves for a classifier; internal."),
    "keys": ("keys", "Make and show the key that signs a site's certificates."),
    "link": ("link", "Find the same patient in two hospitals, by encodings and keyed ids."),
    "submit": ("submit", "Send a release to a coordinator's server; shows first what would leave."),
    "consortium": ("consortium", "Propose, approve, review and fetch on a trusted server."),
    "serve": ("serve", "Receive hospitals' releases and verify every certificate anew."),
    "federate": ("federate", "Train one model at several hospitals; rows stay where they are."),
    "ledger": ("ledger", "Set, show and check the privacy budget."),
    "reference": ("reference", "List the public scaling constants, or build your own."),
    "simulate": ("simulate", "Write a made-up cohort of real EDF+ files."),
    "demo": ("demo", "The whole job on a made-up cohort."),
    "reproduce": ("reproduce", "The paper's tables and figures beside ours."),
}
"""Module below ``neuroveil.cli.commands`` and one line of help, by command name."""


def main() -> None:
    """Run the command line and leave the process with the right exit code."""
    from neuroveil.cli.app import run

    raise SystemExit(run())
