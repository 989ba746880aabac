"""Attacks on the encodings of a linkage schema, on people who do not exist."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from neuroveil.errors import StudyError, StudyMistake
from neuroveil.linkage.attacks.compromise import compromised_key_attack
from neuroveil.linkage.attacks.frequency import align_frequencies
from neuroveil.linkage.attacks.graph import MOST_PEOPLE, match_graphs
from neuroveil.linkage.attacks.outcome import AttackOutcome
from neuroveil.linkage.attacks.patterns import mine_patterns
from neuroveil.linkage.bloom import KEY_BYTES, BitArray, FieldKeys, encode_records
from neuroveil.linkage.grams import canonical_value, cut_into_grams
from neuroveil.linkage.hardening import HardeningKeys, harden
from neuroveil.linkage.schema import Hardening, LinkageSchema
from neuroveil.simulate import simulate_patient_list, written_elsewhere
from neuroveil.simulate.patient_list import FIELDS
from neuroveil.simulate.patient_names import Population

ATTACK_SEED = 7
"""Of the made-up people and of keys that protect nobody."""

STEPS: tuple[tuple[Hardening, ...], ...] = (
    (), ("xor_fold",), ("rule_90",), ("sliding_xor",), ("diffusion",), ("blip",),
)  # fmt: skip
"""Hardenings that are compared: none, and each on its own."""

_NAMED = 500  # records that somebody with the keys is asked to name among all

Lists = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class AttackedHardening:
    """What attacks get out of encodings with one hardening.

    Parameters
    ----------
    hardening : tuple of str
        Steps; empty for none.
    outcomes : tuple of AttackOutcome
        One an attack.
    """

    hardening: tuple[Hardening, ...]
    outcomes: tuple[AttackOutcome, ...]

    def as_dict(self) -> dict[str, object]:
        """Give it as plain data.

        Returns
        -------
        dict
            Hardening and outcomes.
        """
        return {
            "hardening": list(self.hardening),
            "outcomes": [outcome.as_dict() for outcome in self.outcomes],
        }


def attack_schema(
    schema: LinkageSchema,
    n_people: int = 2000,
    n_graph: int = 200,
    population: Population = "nordic",
    seed: int = ATTACK_SEED,
) -> AttackedHardening:
    """Encode made-up patients as a schema says, and attack them.

    Parameters
    ----------
    schema : LinkageSchema
        Its fields must be among those of simulated lists.
    n_people : int
        Encoded people, and as many others in the attacker's public list.
    n_graph : int
        How many of them graph matching aligns.
    population : {"nordic", "vietnamese", "english"}
        Whose names.
    seed : int
        Of the made-up people, and of keys for them alone.

    Returns
    -------
    AttackedHardening
        For the schema's own hardening.

    Raises
    ------
    StudyError
        If the schema has a field that simulated lists do not have, or a number is too small.
    """
    _require_known(schema, n_people, n_graph)
    rng = np.random.default_rng(seed)
    people = simulate_patient_list(n_people, rng, population)
    public = simulate_patient_list(n_people, rng, population)
    keys = FieldKeys({field.name: rng.bytes(KEY_BYTES) for field in schema.field})
    shared, ours, theirs = (rng.bytes(KEY_BYTES) for _ in range(3))
    bits = _encoded(people, schema, keys, HardeningKeys(shared, ours))
    truth, values = _values(people, schema), _values(public, schema)
    grams, public_grams = _grams(truth, schema), _grams(values, schema)
    # Somebody with the project's keys has a list of the same people, as another place spells
    # them, but not the hospital's own key of the noise.
    known = written_elsewhere(people, rng, 0.1)
    stolen = _encoded(known, schema, keys, HardeningKeys(shared, theirs))
    names = ["\x1f".join(value) for value in truth]
    outcomes = (
        align_frequencies(bits, names, ["\x1f".join(value) for value in values]),
        *mine_patterns(bits, grams, public_grams),
        match_graphs(bits[:n_graph], grams[:n_graph]),
        compromised_key_attack(bits[:_NAMED], names[:_NAMED], stolen, names),
    )
    return AttackedHardening(schema.encoding.hardening, outcomes)


def with_hardening(schema: LinkageSchema, steps: tuple[Hardening, ...]) -> LinkageSchema:
    """Give the same schema with other steps.

    Parameters
    ----------
    schema : LinkageSchema
        Public settings.
    steps : tuple of str
        Hardening.

    Returns
    -------
    LinkageSchema
        A copy.
    """
    encoding = schema.encoding.model_copy(update={"hardening": steps})
    return schema.model_copy(update={"encoding": encoding})


def _require_known(schema: LinkageSchema, n_people: int, n_graph: int) -> None:
    unknown = sorted({field.name for field in schema.field} - set(FIELDS))
    mistakes = []
    if unknown or not schema.field:
        mistakes.append(StudyMistake(
            "field", f"fields out of: {', '.join(FIELDS)}", ", ".join(unknown) or "none",
            "Attacks run on made-up people, who have these fields only.",
        ))  # fmt: skip
    if not 20 <= n_graph <= min(n_people, MOST_PEOPLE):
        mistakes.append(StudyMistake(
            "attack", f"from 20 people, at most {MOST_PEOPLE} of them for graph matching",
            f"{n_people} and {n_graph}", "Change the numbers.",
        ))  # fmt: skip
    if mistakes:
        raise StudyError(mistakes)


def _encoded(
    people: Lists, schema: LinkageSchema, keys: FieldKeys, hardening: HardeningKeys
) -> BitArray:
    bits = encode_records(people, schema, keys)
    return harden(bits, schema, hardening, [str(row) for row in range(len(bits))])


def _values(people: Lists, schema: LinkageSchema) -> list[tuple[str, ...]]:
    order = schema.encoding.date_order
    columns = [
        [canonical_value(value, field.kind, order, field.name) for value in people[field.name]]
        for field in schema.field
    ]
    return list(zip(*columns, strict=True))


def _grams(values: Sequence[tuple[str, ...]], schema: LinkageSchema) -> list[frozenset[str]]:
    return [
        frozenset(
            f"{field.name}:{gram}"
            for field, text in zip(schema.field, value, strict=True)
            for gram in cut_into_grams(text, field.kind)
        )
        for value in values
    ]
