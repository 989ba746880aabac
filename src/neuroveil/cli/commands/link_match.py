"""``neuroveil link match``, ``resolve`` and ``learn``: the work of the linkage unit."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuroveil.cli.commands.link_encode import ENCODED_FILE, MAP_FILE
from neuroveil.cli.commands.link_keys import FILE
from neuroveil.cli.face import Face, common_options
from neuroveil.errors import LinkageError, StudyError, StudyMistake

if TYPE_CHECKING:
    from neuroveil.linkage.dice import ScoredPairs
    from neuroveil.linkage.encoded_list import EncodedList
    from neuroveil.linkage.linked import MatchedLists, ResolvedLists

PAIR_COLUMNS = ("left", "left_row", "right", "right_row", "score")
_SCHEMA = click.option("--schema", type=FILE, default="linkage.toml", show_default=True,
                       help="The project's linkage schema.")  # fmt: skip


@click.command()
@click.argument("encoded", type=FILE, nargs=-1, required=True)
@_SCHEMA
@click.option("--out", type=FILE, default="linked", show_default=True, help="A new folder.")
@common_options
def match(face: Face, encoded: tuple[Path, ...], schema: Path, out: Path) -> int:
    """Find pairs of the same person in the folders ENCODED, one a hospital.

    With one folder, people are found who stand there twice. OUT gets matches.csv and review.csv:
    pairs that a person should decide, by writing yes or no into its column 'same'. Go on with:
    neuroveil link resolve

    Ends with 5 where there are pairs to review.
    """
    from neuroveil.linkage.linked import match_all
    from neuroveil.linkage.schema import load_schema
    from neuroveil.pipeline.cache import private_folder

    rules = load_schema(schema)
    names = _names(encoded)
    lists = [_encoded(folder, name) for folder, name in zip(encoded, names, strict=True)]
    with face.progress() as progress:
        matched = match_all(lists, rules, progress)
    private_folder(out)
    _write_pairs(out, matched, names)
    counts = matched.counts()
    document = {**counts, "lists": list(names), "out": out.name}
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
    from neuroveil.linkage.dice import NO_PAIRS, joined
    from neuroveil.linkage.linked import resolve_people

    names = _names(encoded)
    lists = [_encoded(folder, name) for folder, name in zip(encoded, names, strict=True)]
    same = _read_pairs(matched / "matches.csv", names, None)
    decided = _read_pairs(matched / "review.csv", names, "yes")
    matches = {
        place: joined([same.get(place, NO_PAIRS), decided.get(place, NO_PAIRS)])
        for place in {*same, *decided}
    }
    undecided = _read_pairs(matched / "review.csv", names, "")
    resolved = resolve_people([each.n_records for each in lists], matches, undecided)
    _write_people(out, resolved, names, encoded)
    counts = resolved.counts()
    document = {**counts, "lists": list(names), "out": out.name}
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
    rows = _truth(truth, left, right) if truth else _equal_ids(*lists)
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


def _names(folders: Sequence[Path]) -> tuple[str, ...]:
    names = tuple(folder.absolute().name for folder in folders)
    if len(set(names)) != len(names):
        raise StudyError([StudyMistake(
            "ENCODED", "folders with different names", "the same name twice",
            "Name each folder after its hospital.",
        )])  # fmt: skip
    return names


def _write_pairs(out: Path, matched: MatchedLists, names: tuple[str, ...]) -> None:
    places = sorted(matched.matches)
    matches, review = (
        [
            (names[place[0]], left, names[place[1]], right, f"{score:.4f}")
            for place in places
            for left, right, score in zip(
                pairs[place].left.tolist(), pairs[place].right.tolist(),
                pairs[place].scores.tolist(), strict=True,
            )
        ]
        for pairs in (matched.matches, matched.review)
    )  # fmt: skip
    reasons = [reason for place in places for reason in matched.reasons[place]]
    open_pairs = [(*pair, reason, "") for pair, reason in zip(review, reasons, strict=True)]
    _write(out / "matches.csv", PAIR_COLUMNS, matches)
    _write(out / "review.csv", (*PAIR_COLUMNS, "reason", "same"), open_pairs)


def _write_people(
    out: Path, resolved: ResolvedLists, names: tuple[str, ...], folders: Sequence[Path]
) -> None:
    lines: list[tuple[Any, ...]] = []
    for number, (name, folder) in enumerate(zip(names, folders, strict=True)):
        keys = _local_keys(folder / MAP_FILE)
        if keys and set(keys) != set(range(len(resolved.people.of_record[number]))):
            raise _wrong_map()
        groups = resolved.undecided[number].tolist()
        for row, person in enumerate(resolved.people.of_record[number].tolist()):
            key = keys.get(row, f"{name}:{row}")
            lines.append((key, person, groups[row] or "", name, row))
    if len({line[0] for line in lines}) != len(lines):
        raise LinkageError(
            "local maps", "patient keys that differ between hospitals", "a key in two of them",
            "Put the hospital's name before its patient keys, in its list and its recordings.",
        )  # fmt: skip
    _write(out, ("patient", "person", "undecided", "hospital", "row"), lines)


def _local_keys(path: Path) -> dict[int, str]:
    if not path.is_file():
        return {}
    try:
        return {int(row["row"]): row["patient"] for row in _table(path, ("patient", "row"))}
    except ValueError:
        raise _wrong_map() from None


def _wrong_map() -> LinkageError:
    return LinkageError(
        "local map", "a patient key for each row of its list", "other rows",
        "Keep the two files of `neuroveil link encode` together.",
    )  # fmt: skip


def _read_pairs(
    path: Path, names: tuple[str, ...], wanted: str | None
) -> dict[tuple[int, int], ScoredPairs]:
    """Read the pairs of a file, or those about which a person has said what is wanted."""
    import numpy as np

    from neuroveil.linkage.dice import ScoredPairs

    found: dict[tuple[int, int], list[tuple[int, int, float]]] = {}
    places = {name: place for place, name in enumerate(names)}
    columns = PAIR_COLUMNS if wanted is None else (*PAIR_COLUMNS, "same")
    for line, row in enumerate(_table(path, columns), 2):
        said = None if wanted is None else row["same"].strip().lower()
        try:
            pair = int(row["left_row"]), int(row["right_row"]), float(row["score"])
            place = places[row["left"]], places[row["right"]]
            if said not in (None, "", "yes", "no"):
                raise ValueError
        except (KeyError, ValueError):
            raise LinkageError(
                f"{path.name}, line {line}", "a pair of these lists, with yes, no or nothing",
                "something else", "Fill in the column 'same' and change nothing else.",
            ) from None  # fmt: skip
        if said == wanted:
            found.setdefault(place, []).append(pair)
    return {
        place: ScoredPairs(*(np.array(column) for column in zip(*pairs, strict=True)))
        for place, pairs in found.items()
    }


def _truth(path: Path, left: Path, right: Path) -> tuple[Any, Any]:
    import numpy as np

    rows = [
        {key: row for row, key in _local_keys(folder / MAP_FILE).items()}
        for folder in (left, right)
    ]
    try:
        pairs = [
            (rows[0][each["left"]], rows[1][each["right"]])
            for each in _table(path, ("left", "right"))
        ]
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


def _table(path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
        rows = list(csv.DictReader(io.StringIO(text), strict=True))
    except (OSError, UnicodeDecodeError, csv.Error):
        rows = [{}]
    if any(row.get(column) is None for row in rows for column in columns):
        raise LinkageError(
            "table", f"CSV with the columns {', '.join(columns)}", "another file",
            "Name the file as neuroveil wrote it.",
        )  # fmt: skip
    return rows


def _write(path: Path, columns: Sequence[str], lines: Iterable[Sequence[Any]]) -> None:
    from neuroveil.linkage.encoded_list import write_private

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(lines)
    write_private(path, text.getvalue().encode(), path.stem)
