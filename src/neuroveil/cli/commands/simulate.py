"""``neuroveil simulate``: a made-up cohort of real EDF+ files."""

from __future__ import annotations

from pathlib import Path

import click

from neuroveil.cli.face import Face, common_options


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--patients", type=click.IntRange(min=2), default=24, show_default=True)
@click.option("--seconds", type=click.FloatRange(min=10), default=60.0, show_default=True,
              help="Length of each recording.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True,
              help="The same seed makes the same files; these people do not exist.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Say what would be written.")
@common_options
def command(
    face: Face, folder: Path, patients: int, seconds: float, seed: int, dry_run: bool
) -> int:
    """Write a made-up cohort into FOLDER: EDF+ files in a BIDS layout."""
    from neuroveil.simulate import CohortSpec, simulate_cohort

    spec = CohortSpec(n_patients=patients, seconds=seconds, seed=seed)
    document = {"patients": patients, "recordings": patients * spec.n_sessions,
                "folder": str(folder), "written": not dry_run}  # fmt: skip
    text = f"{patients} made-up patients, {document['recordings']} recordings: {folder}"
    if not dry_run:
        with face.progress() as progress:
            simulate_cohort(
                folder, spec, lambda done, total: progress(done, total, "simulating recordings")
            )
    face.result(document, f"{'Would write' if dry_run else 'Wrote'} {text}")
    return 0
