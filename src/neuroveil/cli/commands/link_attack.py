"""``neuroveil link attack``: what a schema's encodings give away."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from neuroveil.cli.commands.link_keys import FILE
from neuroveil.cli.face import Face, common_options

if TYPE_CHECKING:
    from neuroveil.simulate.patient_names import Population


@click.command()
@click.option("--schema", type=FILE, default="linkage.toml", show_default=True,
              help="The project's linkage schema.")  # fmt: skip
@click.option("--people", type=click.IntRange(min=20), default=2000, show_default=True,
              help="Made-up people that are encoded.")  # fmt: skip
@click.option("--names", type=click.Choice(["nordic", "vietnamese", "english"]), default="nordic",
              show_default=True, help="Whose names they have.")  # fmt: skip
@click.option("--compare", is_flag=True, help="Try every hardening, not only the schema's own.")
@common_options
def attack(face: Face, schema: Path, people: int, names: Population, compare: bool) -> int:
    """Attack encodings of made-up people, made as the schema says.

    Frequency alignment, pattern mining and graph matching know no key; the last attack has the
    project's keys and shows why they stay in the hospitals. Nothing of a real patient is used.
    """
    from neuroveil.linkage.schema import load_schema
    from neuroveil.pipeline.linkage_attacks import STEPS, attack_schema, with_hardening

    settings = load_schema(schema)
    own = settings.encoding.hardening
    steps = tuple(dict.fromkeys((own, *STEPS))) if compare else (own,)
    n_graph = min(people, 200)
    attacked = []
    with face.progress() as progress:
        for done, each in enumerate(steps, 1):
            chosen = with_hardening(settings, each)
            attacked.append(attack_schema(chosen, people, n_graph, names))
            progress(done, len(steps), "attacking encodings")
    lines = [
        f"{' + '.join(result.hardening) or 'no hardening'}: {outcome.attack}: "
        f"{outcome.success:.1%} of {outcome.n_attacked} (blind guess {outcome.chance:.1%})"
        for result in attacked
        for outcome in result.outcomes
    ]
    face.result(
        {"people": people, "names": names, "attacked": [each.as_dict() for each in attacked]},
        "\n".join(lines),
    )
    return 0
