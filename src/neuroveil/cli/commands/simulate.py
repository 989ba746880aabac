"""``neuroveil simulate``: a made-up cohort of real EDF+ files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from neuroveil.cli.face import Face, common_options


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--patients", type=click.IntRange(min=2), default=24, show_default=True)
@click.option("--seconds", type=click.FloatRange(min=10), default=60.0, show_default=True,
              help="Length of each recording.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True,
              help="The same seed makes the same files; these people do not exist.")  # fmt: skip
@click.option("--in-two-hospitals", type=click.IntRange(min=0), default=0, show_default=True,
              help="So many are patients of both hospitals, under two keys. Writes the hospitals' "
                   "patient lists too, for `neuroveil link`.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Say what would be written.")
@common_options
def command(face: Face, folder: Path, dry_run: bool, **options: Any) -> int:
    """Write a made-up cohort into FOLDER: EDF+ files in a BIDS layout."""
    from neuroveil.simulate import CohortSpec, simulate_cohort, write_patient_lists

    spec = CohortSpec(
        n_patients=options["patients"], seconds=options["seconds"], seed=options["seed"],
        n_in_two_hospitals=options["in_two_hospitals"],
    )  # fmt: skip
    patients = spec.n_patients
    document = {"patients": patients, "recordings": patients * spec.n_sessions,
                "in_two_hospitals": spec.n_in_two_hospitals, "folder": str(folder),
                "written": not dry_run}  # fmt: skip
    text = f"{patients} made-up patients, {document['recordings']} recordings: {folder}"
    if not dry_run:
        with face.progress() as progress:
            simulate_cohort(
                folder, spec, lambda done, total: progress(done, total, "simulating recordings")
            )
        if spec.n_in_two_hospitals:
            write_patient_lists(folder, spec)
    face.result(document, f"{'Would write' if dry_run else 'Wrote'} {text}")
    return 0
