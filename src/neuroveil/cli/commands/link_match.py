"""``neuroveil link match``, ``resolve`` and ``learn``: the work of the linkage unit."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuroveil.cli.commands.link_encode import ENCODED_FILE, MAP_FILE, new_folder
from neuroveil.cli.commands.link_keys import FILE
from neuroveil.cli.face import Face, common_options
from neuroveil.errors import LinkageError, StudyError, StudyMistake

if TYPE_CHECKING:
    from neuroveil.linkage.encoded_list import EncodedList
    from neuroveil.linkage.linked import ResolvedLists

_UNFINISHED = "unfinished"
_SCHEMA = click.option("--schema", type=FILE, default="linkage.toml", show_default=True,
                       help="The project's linkage schema.")  # fmt: skip


@click.command()
@click.argument("encoded", type=FILE, nargs=-1, required=True)
@_SCHEMA
@click.option("--out", type=FILE, default="linked", show_default=True, help="A new folder.")
@click.option("--within/--no-within", default=True, show_default=True,
              help="Look inside each list for people who stand there twice by likeness, and not "
              "by their number alone.")  # fmt: skip
@common_options
def match(face: Face, encoded: tuple[Path, ...], schema: Path, out: Path, within: bool) -> int:
    """Find pairs of the same person in the folders ENCODED, one a hospital.

    People are also found who stand twice in one folder. OUT gets matches.csv and review.csv:
    pairs that a person should decide, by writing yes or no into its column 'same'. Go on with:
    neuroveil link resolve

    An interrupted run of long lists goes on where it stopped, with the same OUT.

    Ends with 5 where there are pairs to review.
    """
    from neuroveil.linkage.linked import match_all
    from neuroveil.linkage.matched_folder import (
        ABOUT_FILE,
        MATCHES_FILE,
        REVIEW_FILE,
        write_matched,
    )
    from neuroveil.linkage.private_files import require_new
    from neuroveil.linkage.schema import load_schema

    rules = load_schema(schema)
    for name in (MATCHES_FILE, REVIEW_FILE, ABOUT_FILE):
        require_new(out / name, name)
    lists = _lists(encoded)
    new_folder(out)
    new_folder(out / _UNFINISHED)
    with face.progress() as progress:
        parts = out / _UNFINISHED
        matched = match_all(list(lists.values()), rules, progress, parts, within=within)
    write_matched(out, matched, lists)
    shutil.rmtree(out / _UNFINISHED, ignore_errors=True)
    counts = matched.counts()
    document = {**counts, "lists": list(lists), "out": out.name}
    face.result(document, "\n".join(f"{name}: {count}" for name, count in counts.items()))
    return 5 if counts["review"] else 0


@click.command()
@click.argument("matched", type=FILE)
@click.argument("encoded", type=FILE, nargs=-1, required=True)
@click.option("--out", type=FILE, default="people.csv", show_default=True, help="A new file.")
@common_options
def resolve(face: Face, matched: Path, encoded: tuple[Path, ...], out: Path) -> int:
    """Say who is one person, from the folder MATCHED and the decisions in its review.csv.

    ENCODED are the same folders as before. OUT lists every record with the number of its person;
    a study names it under [linkage], and the number of people becomes its n. Where a folder holds
    its local map, OUT has the hospital's own patient keys.

    Ends with 5 while pairs are undecided, or a person stands twice in one hospital's list.
    """
    from neuroveil.linkage.linked import resolve_people
    from neuroveil.linkage.matched_folder import read_decided
    from neuroveil.linkage.private_files import require_new

    require_new(out, "people file")
    lists = _lists(encoded)
    decided = read_decided(matched, lists)
    n_records = [each.n_records for each in lists.values()]
    resolved = resolve_people(n_records, decided.same, decided.undecided)
    _write_people(out, resolved, lists, encoded)
    counts = resolved.counts()
    document = {**counts, "lists": list(lists), "out": out.name}
    face.result(document, "\n".join(f"{name}: {count}" for name, count in counts.items()))
    return 5 if counts["undecided"] or counts["conflicts"] else 0


@click.command()
@click.argument("left", type=FILE)
@click.argument("right", type=FILE)
@_SCHEMA
@click.option("--truth", type=FILE,
              help="CSV with columns left and right: patient keys of the same people. Default: "
              "equal GlobalIDs.")  # fmt: skip
@click.option("--learned-on", default="people of two lists whose truth is known",
              show_default=True, help="Which pairs these are, for the schema.")  # fmt: skip
@common_options
def learn(
    face: Face, left: Path, right: Path, schema: Path, truth: Path | None, learned_on: str
) -> int:
    """Learn the thresholds of a schema on two encoded lists whose truth is known.

    Prints the section [matching] for the schema. Learn on people other than those who will be
    linked, and on lists about as long.
    """
    import tomli_w

    from neuroveil.linkage.encoded_list import require_alike
    from neuroveil.linkage.schema import load_schema
    from neuroveil.linkage.thresholds import learn_thresholds

    lists = _encoded(left, "left"), _encoded(right, "right")
    require_alike(*lists, load_schema(schema))
    if lists[0].bits is None or lists[1].bits is None:
        raise LinkageError(
            "encoded lists", "record encodings", "GlobalIDs alone",
            "Add fields to the schema and encode again.",
        )  # fmt: skip
    maps = (left / MAP_FILE, right / MAP_FILE)
    rows = _truth(truth, maps, lists) if truth else _equal_ids(*lists)
    learned = learn_thresholds(lists[0].bits, lists[1].bits, rows, learned_on)
    section = learned.section.model_dump(mode="json")
    accuracy = {
        "precision": learned.accuracy.precision, "recall": learned.accuracy.recall,
        "f1": learned.accuracy.f1, "pairs": learned.accuracy.n_true,
    }  # fmt: skip
    face.say(
        f"On {accuracy['pairs']} pairs: precision {accuracy['precision']:.4f}, recall "
        f"{accuracy['recall']:.4f}, F1 {accuracy['f1']:.4f} (on the rosy side: the same pairs)."
    )
    face.result(
        {"matching": section, "accuracy": accuracy}, tomli_w.dumps({"matching": section}).rstrip()
    )
    return 0


def _encoded(folder: Path, name: str) -> EncodedList:
    from neuroveil.linkage.encoded_list import read_encoded

    return read_encoded(folder / ENCODED_FILE, f"encoded list {name!r}")


def _lists(folders: Sequence[Path]) -> dict[str, EncodedList]:
    """Read the hospitals' lists, by the names of their folders."""
    names = [folder.absolute().name for folder in folders]
    if len(set(names)) != len(names):
        raise StudyError([StudyMistake(
            "ENCODED", "folders with different names", "the same name twice",
            "Name each folder after its hospital.",
        )])  # fmt: skip
    return {name: _encoded(folder, name) for folder, name in zip(folders, names, strict=True)}


def _write_people(
    out: Path, resolved: ResolvedLists, lists: Mapping[str, EncodedList], folders: Sequence[Path]
) -> None:
    from neuroveil.linkage.local_map import read_local_map
    from neuroveil.linkage.private_files import write_table

    lines: list[tuple[Any, ...]] = []
    for number, ((name, encoded), folder) in enumerate(zip(lists.items(), folders, strict=True)):
        path = folder / MAP_FILE
        keys = read_local_map(path, encoded) if path.exists() else {}
        groups = resolved.undecided[number].tolist()
        for row, person in enumerate(resolved.people.of_record[number].tolist()):
            key = keys.get(row, f"{name}:{row}")
            lines.append((key, person, groups[row] or "", name, row))
    if len({line[0] for line in lines}) != len(lines):
        raise LinkageError(
            "local maps", "patient keys that differ between hospitals", "a key in two of them",
            "Put the hospital's name before its patient keys, in its list and its recordings.",
        )  # fmt: skip
    write_table(out, ("patient", "person", "undecided", "hospital", "row"), lines, "people file")


def _truth(
    path: Path, maps: tuple[Path, Path], lists: tuple[EncodedList, EncodedList]
) -> tuple[Any, Any]:
    import numpy as np

    from neuroveil.linkage.local_map import read_local_map
    from neuroveil.linkage.private_files import read_table

    rows = [
        {key: row for row, key in read_local_map(file, encoded).items()}
        for file, encoded in zip(maps, lists, strict=True)
    ]
    truth = read_table(path, ("left", "right"), "pairs of the same people")
    try:
        pairs = [(rows[0][each["left"]], rows[1][each["right"]]) for each in truth]
    except KeyError:
        raise LinkageError(
            "pairs of the same people", "patient keys of the two local maps", "another key",
            "Learn where both local maps are: on lists of people who do not exist, or at one "
            "hospital that has two lists.",
        ) from None  # fmt: skip
    found = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def _equal_ids(left: EncodedList, right: EncodedList) -> tuple[Any, Any]:
    import numpy as np

    places = {each: row for row, each in enumerate(right.global_ids or ()) if each}
    pairs = [
        (row, places[each]) for row, each in enumerate(left.global_ids or ()) if each in places
    ]
    found = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]
