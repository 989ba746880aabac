"""``neuroveil consortium``: what people decide in a study on a trusted server."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from neuroveil.cli.commands.submit import open_key
from neuroveil.cli.face import Face, common_options

if TYPE_CHECKING:
    from neuroveil.deploy.hospital.consortium import ConsortiumClient

Command = TypeVar("Command", bound=Callable[..., Any])

_PATH = click.Path(path_type=Path)
_STUDY = click.argument("study")
_MECHANISMS = ("auto", "privunit", "mean_covariance", "dp_training")
_DECLINE = click.option("--decline", is_flag=True, help="Say no instead.")


@click.group()
def command() -> None:
    """Decide in a study on a trusted server: each command is signed by your own key.

    A principal investigator proposes a study; a site administrator of each hospital approves it;
    hospitals send rosters and rows with `neuroveil submit --rows`; the principal investigator
    asks for a release, a reviewer approves it, and everybody who takes part can fetch it.
    """


def way(function: Command) -> Command:
    """Give a command the way to a server, and hand it an opened client.

    Parameters
    ----------
    function : callable
        Takes face and client first.

    Returns
    -------
    callable
        For click.
    """

    @click.option("--to", "url", metavar="URL", required=True, envvar="NEUROVEIL_SERVER",
                  help="The server, https://HOST:PORT, or NEUROVEIL_SERVER.")  # fmt: skip
    @click.option("--key", type=_PATH, required=True, envvar="NEUROVEIL_PERSON_KEY",
                  help="Your own key, or NEUROVEIL_PERSON_KEY.")  # fmt: skip
    @click.option("--ca", type=_PATH, envvar="NEUROVEIL_CA",
                  help="Certificate of the server's own authority, or NEUROVEIL_CA.")  # fmt: skip
    @functools.wraps(function)
    def wrapped(face: Face, url: str, key: Path, ca: Path | None, **arguments: Any) -> Any:
        with _client(url, key, ca) as client:
            return function(face, client, **arguments)

    return wrapped  # type: ignore[return-value]


@contextmanager
def _client(url: str, key: Path, ca: Path | None) -> Iterator[ConsortiumClient]:
    from neuroveil.deploy.hospital.consortium import ConsortiumClient
    from neuroveil.deploy.hospital.submit import connect

    connection = connect(url, ca, open_key(key))
    try:
        yield ConsortiumClient(connection)
    finally:
        connection.close()


@command.command()
@_STUDY
@click.option("--study-file", type=_PATH, required=True,
              help="The study file that all hospitals will use.")  # fmt: skip
@click.option("--title", required=True, help="What it is about, for those who approve it.")
@click.option("--hospital", "hospitals", multiple=True, required=True,
              help="A hospital's name on the server; once for each, in order.")  # fmt: skip
@click.option("--policy", type=click.Choice(["pool", "keep_longest", "hospital_order"]),
              default="pool", show_default=True,
              help="What becomes of the rows of somebody in two hospitals.")  # fmt: skip
@click.option("--smallest", type=click.IntRange(1),
              help="Fewest people to release about; the server's number at least.")  # fmt: skip
@click.option("--with-label", is_flag=True,
              help="Hospitals send the label under [evaluation], too, so that a model can be "
              "trained.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Show the proposal; send nothing.")
@common_options
@way
def propose(face: Face, client: ConsortiumClient, study: str, **chosen: Any) -> int:
    """Propose STUDY, a new name of small letters, digits and hyphens (principal investigator).

    Columns, reference, signal settings and clipping norm come from the study file.
    """
    from neuroveil.deploy.hospital.consortium import proposal_for
    from neuroveil.study import load_study

    proposal = proposal_for(
        load_study(chosen["study_file"]), chosen["title"], chosen["hospitals"], chosen["policy"],
        chosen["smallest"], chosen["with_label"],
    )  # fmt: skip
    if chosen["dry_run"]:
        face.result({"proposal": proposal, "sent": False}, json.dumps(proposal, indent=1))
        return 0
    _tell(face, client.propose(study, proposal))
    return 0


@command.command()
@_STUDY
@_DECLINE
@common_options
@way
def approve(face: Face, client: ConsortiumClient, study: str, decline: bool) -> int:
    """Approve STUDY for your hospital, as its status shows it (site administrator)."""
    _tell(face, client.decide(study, not decline))
    return 0


@command.command()
@_STUDY
@click.option("--epsilon", type=float, required=True, help="For one patient.")
@click.option("--delta", type=float, help="Default: min(1/n^2, 1e-5).")
@click.option("--mechanism", type=click.Choice(_MECHANISMS), default="auto", show_default=True,
              help="Shuffled rows, mean and covariance, or the table that should leave more; "
              "dp_training is a model of the label.")  # fmt: skip
@click.option("--components", type=click.IntRange(1),
              help="With dp_training: public components that the model sees.  "
              "[default: about the square root of the number of people]")  # fmt: skip
@common_options
@way
def request(face: Face, client: ConsortiumClient, study: str, **wish: Any) -> int:
    """Ask for a release of STUDY; nothing is spent yet (principal investigator)."""
    asked = client.request(
        study, wish["epsilon"], wish["mechanism"], wish["delta"], wish["components"]
    )
    face.result(
        asked,
        f"Asked for {asked['mechanism']} of {asked['n_patients']} people at epsilon "
        f"{asked['epsilon']:g}, delta {asked['delta']:.3g}.\n{asked['forecast']}\n"
        "A reviewer has to approve it.",
    )
    return 0


@command.command()
@_STUDY
@click.option("--approve", is_flag=True, help="Say yes, which spends the budget.")
@click.option("--decline", is_flag=True, help="Say no.")
@common_options
@way
def review(face: Face, client: ConsortiumClient, study: str, approve: bool, decline: bool) -> int:
    """Look at the release of STUDY that was asked for, and approve or decline it (reviewer).

    Without --approve or --decline it only shows the request, and decides nothing.
    """
    if approve and decline:
        raise click.UsageError("Give --approve or --decline, not both.")
    if approve or decline:
        _tell(face, client.review(study, approve))
        return 0
    _tell(face, client.status(study))
    face.say("Nothing was decided: --approve spends the budget, --decline says no.")
    return 0


@command.command()
@click.argument("study", required=False)
@common_options
@way
def status(face: Face, client: ConsortiumClient, study: str | None) -> int:
    """Say how far STUDY is and who has to do what; without STUDY, list yours."""
    document = client.status(study)
    if study is not None:
        _tell(face, document)
        return 0
    lines = [f"{each['study']}  {each['state']}" for each in document["studies"]]
    face.result(document, "\n".join(lines) or "None yet.")
    return 0


@command.command()
@_STUDY
@click.option("--out", type=_PATH, required=True, help="A new folder for the release.")
@click.option("--server-key", type=_PATH,
              help="File with the server's public key, which must have signed.")  # fmt: skip
@common_options
@way
def fetch(face: Face, client: ConsortiumClient, study: str, out: Path, server_key: Path) -> int:
    """Fetch the published release of STUDY, and verify it before it is there."""
    public_key = _public_key(server_key)
    with face.progress() as progress:
        verdict = client.fetch(study, out, public_key, progress)
    face.result({"out": out.name, "verdict": verdict}, f"{out.name}: {verdict}")
    return 0


@command.command()
@_STUDY
@common_options
@way
def abandon(face: Face, client: ConsortiumClient, study: str) -> int:
    """End STUDY without a release; the server deletes its rows."""
    _tell(face, client.abandon(study))
    return 0


@command.command("audit-log")
@click.option("--out", type=_PATH, required=True, help="A new file for the export.")
@click.option("--server-key", type=_PATH,
              help="File with the server's public key; the log must be signed by it.")  # fmt: skip
@common_options
@way
def audit_log(face: Face, client: ConsortiumClient, out: Path, server_key: Path) -> int:
    """Export the server's audit log, checked and signed (auditor)."""
    from neuroveil.errors import StudyError, StudyMistake

    document = client.audit_log(_public_key(server_key))
    try:
        with out.open("x", encoding="utf-8") as stream:
            stream.write(json.dumps(document, indent=1) + "\n")
    except OSError as error:
        raise StudyError([StudyMistake(
            "--out", "a new file", error.strerror or "none", "Name another file."
        )]) from None  # fmt: skip
    entries = len(document["entries"])
    face.result(
        {"entries": entries, "head": document["head"], "out": out.name},
        f"{entries} entries, unbroken, written to {out.name}.\nhead  {document['head']}",
    )
    return 0


def _public_key(file: Path | None) -> str | None:
    from neuroveil.privacy.verify import read_public_key

    return None if file is None else read_public_key(file)


def _tell(face: Face, status: dict[str, Any]) -> None:
    face.result(status, _words(status))


def _label(label: dict[str, Any]) -> str:
    """Say what hospitals send beside the features, for those who approve it."""
    values = label.get("positive") or label.get("terms") or ["the key words of the paper"]
    return f"{label['label']}, positive: {', '.join(values)}; sent with the rows"


def _words(status: dict[str, Any]) -> str:
    lines = [f"{status['study']}: {status['title']}", f"state        {status['state']}"]
    if status["label"]:
        lines.append(f"label        {_label(status['label'])}")
    for each in status["hospitals"]:
        approved = "approved" if each["approved"] else "not yet approved"
        roster, rows = each["roster"]["state"], each["features"]["state"]
        lines.append(f"hospital     {each['name']}: {approved}, roster {roster}, rows {rows}")
    if status["linked"]:
        lines.append(f"people       {status['linked']['n_patients']}")
    for each in status["releases"]:
        lines.append(
            f"release      {each['state']}: {each['mechanism']}, epsilon {each['epsilon']:g}, "
            f"delta {each['delta']:.3g}, asked for by {each['requested_by']}"
        )
        outcome = each["outcome"] or {}
        if "remedy" in outcome:
            lines.append(f"             expected {outcome['expected']}, found {outcome['found']}. "
                         f"{outcome['remedy']}")  # fmt: skip
        elif each["state"] == "requested":
            lines.append(f"             {each['forecast']}")
    held = "still here" if status["holds_rows"] else "not here"
    return "\n".join([*lines, f"raw rows     {held}", f"next         {status['next']}"])
