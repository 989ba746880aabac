"""``neuroveil verify``: re-derive a certificate or a claim."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from neuroveil.cli.arguments import ExistingPath
from neuroveil.cli.face import Face, common_options

if TYPE_CHECKING:
    from neuroveil.privacy.verify import Check, VerificationResult

_MARKS = {"holds": "holds  ", "broken": "BROKEN ", "unchecked": "unclear"}


@click.command()
@click.argument("target", type=ExistingPath())
@click.option(
    "--public-key",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Demand a signature by the key in this file.",
)
@click.option(
    "--previous",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Demand that the certificate follows this one.",
)
@click.option(
    "--export-registry",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write what holds as an entry for a registry of deployments.",
)
@common_options
def command(face: Face, target: Path, **files: Path | None) -> int:
    """Re-derive every number of TARGET, and check a release's files.

    TARGET is a release folder, a certificate.json, a model that a trusted server has trained, or
    a claim.toml that describes somebody else's pipeline. Ends with 0 (holds), 4 (does not hold,
    with the broken link) or 5 (cannot be checked from what is stated).

    A signature is checked where there is one; whose it is only you can know, so get the
    site's public key from the site and ask for it.
    """
    from neuroveil.privacy.verify import read_public_key, verify

    key_file, export = files["public_key"], files["export_registry"]
    public_key = read_public_key(key_file) if key_file else None
    if _is_training(target):
        return _verify_training(face, target, public_key, files)
    result = verify(target, public_key, files["previous"])
    face.result(result.as_dict(), verification_text(result, face.verbose))
    if export:
        from neuroveil.privacy.registry_export import write_entry

        write_entry(target, result, export)
        face.say(f"Wrote an entry for a registry of deployments to {export.name}.")
    return int(result.exit_code)


def _is_training(target: Path) -> bool:
    return (target / "result.json").is_file() and not (target / "certificate.json").exists()


def _verify_training(
    face: Face, folder: Path, public_key: str | None, files: dict[str, Path | None]
) -> int:
    from neuroveil.deploy.federated.verify import verify_training

    if files["previous"] or files["export_registry"]:
        raise click.UsageError(
            "A training follows no other certificate, and registries have no entry for it: leave "
            "out --previous and --export-registry."
        )
    result = verify_training(folder, public_key)
    face.result(result.as_dict(), verification_text(result, face.verbose))
    return int(result.exit_code)


def verification_text(result: VerificationResult, verbose: bool) -> str:
    """Say what verification found.

    Parameters
    ----------
    result : VerificationResult
        Of a release, a claim or a training.
    verbose : bool
        Whether checks that hold are listed, too.

    Returns
    -------
    str
        Plain English, one line a finding; the verdict comes last.
    """
    lines = [
        f"{_MARKS[check.outcome]} {check.link}: {check.sentence}"
        for check in result.checks
        if check.outcome != "holds" or verbose
    ]
    n_held = sum(check.outcome == "holds" for check in result.checks)
    lines.append(f"{n_held} of {len(result.checks)} checks hold.")
    if not verbose:
        lines += [check.sentence for check in result.checks if _is_good_signature(check)]
    lines += [f"Note: {note}" for note in result.notes] if verbose else []
    return "\n".join([*lines, result.sentence])


def _is_good_signature(check: Check) -> bool:
    """Whose signature it is stands in every answer, and not only with -v."""
    return check.id == "signature.value" and check.outcome == "holds"
