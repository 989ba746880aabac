"""A matching is read back whole, about the very lists that were matched, or not at all."""

import contextlib
import resource
import stat
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from neuroveil.errors import LinkageError, MachineError, StudyError
from neuroveil.keys.sealing import SecretFile
from neuroveil.linkage.blocking import BlockingPlan, blocked_pairs
from neuroveil.linkage.dice import NO_PAIRS, ScoredPairs
from neuroveil.linkage.encoded_list import EncodedList, MadeWith
from neuroveil.linkage.linked import MatchedLists
from neuroveil.linkage.local_map import read_local_map, write_local_map
from neuroveil.linkage.matched_folder import read_decided, write_matched
from neuroveil.linkage.private_files import read_table, write_private


def encoded(seed: int, n_records: int = 4) -> EncodedList:
    bits = np.random.default_rng(seed).integers(0, 256, (n_records, 128), dtype=np.uint8)
    return EncodedList(MadeWith("0" * 64, 1, "0" * 32), bits, None)


def pairs(*found: tuple[int, int, float]) -> ScoredPairs:
    return ScoredPairs(*(np.array(column) for column in zip(*found, strict=True)))


LISTS = {"north": encoded(1), "south": encoded(2), "west": encoded(3)}
MATCHED = MatchedLists(
    {(0, 1): pairs((0, 3, 1.0), (2, 1, 0.8)), (0, 2): NO_PAIRS, (1, 2): pairs((0, 0, 0.9))},
    {(0, 1): pairs((1, 0, 0.7)), (0, 2): pairs((3, 3, 0.65)), (1, 2): NO_PAIRS},
    {(0, 1): ["grey_zone"], (0, 2): ["rival"], (1, 2): []},
    1,
)


@pytest.fixture
def folder(tmp_path):
    write_matched(tmp_path, MATCHED, LISTS)
    return tmp_path


def edit(file, change) -> None:
    file.write_text(change(file.read_text(encoding="utf-8")), encoding="utf-8")


def listed(found: dict) -> dict:
    return {
        place: sorted(zip(each.left.tolist(), each.right.tolist(), strict=True))
        for place, each in found.items()
    }


def test_pairs_come_back_as_they_were_found(folder):
    decided = read_decided(folder, LISTS)
    assert listed(decided.same) == {(0, 1): [(0, 3), (2, 1)], (1, 2): [(0, 0)]}
    assert listed(decided.undecided) == {(0, 1): [(1, 0)], (0, 2): [(3, 3)]}
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in folder.iterdir())


def test_answers_are_read_from_what_a_spreadsheet_makes_of_the_file(folder):
    """Sorted otherwise, with semicolons, a byte order mark, decimal commas and other line ends."""
    file = folder / "review.csv"
    heading, first, second = file.read_text().splitlines()
    lines = [heading, second + "no", first + " YES "]
    text = "\r\n".join(line.replace(",", ";").replace("0.7000", "0,7") for line in lines)
    file.write_text("\ufeff" + text + "\r\n", encoding="utf-8", newline="")
    decided = read_decided(folder, LISTS)
    assert listed(decided.same)[0, 1] == [(0, 3), (1, 0), (2, 1)]
    assert decided.undecided == {}


def test_lists_may_be_named_in_another_order(folder):
    decided = read_decided(folder, {name: LISTS[name] for name in ("west", "south", "north")})
    assert listed(decided.same) == {(1, 2): [(1, 2), (3, 0)], (0, 1): [(0, 0)]}


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("review.csv", lambda text: text.splitlines()[0] + "\n"),
        ("review.csv", lambda text: text + text.splitlines()[1] + "\n"),
        ("review.csv", lambda text: text.replace("north,1,", "north,0,")),
        ("review.csv", lambda text: ""),
        ("matches.csv", lambda text: ""),
        ("matches.csv", lambda text: "\0" * 20),
        ("matches.csv", lambda text: text.replace("south,0", "south,-1")),
        ("matches.csv", lambda text: text + "north,0,north,1,1.0\n"),
        ("matches.csv", lambda text: text[:-30]),
        ("match.json", lambda text: "[]"),
        ("match.json", lambda text: text.replace('"format_version": 1', '"format_version": 2')),
        ("match.json", lambda text: text.replace('"review"', '"other"')),
    ],
)
def test_what_was_changed_or_lost_is_refused(folder, name, change):
    """A pair that vanishes would otherwise become two people without a word."""
    edit(folder / name, change)
    with pytest.raises(LinkageError):
        read_decided(folder, LISTS)


@pytest.mark.parametrize("name", ["matches.csv", "review.csv", "match.json"])
def test_a_missing_file_is_refused(folder, name):
    (folder / name).unlink()
    with pytest.raises(LinkageError):
        read_decided(folder, LISTS)


def test_an_answer_that_is_none_is_named_by_its_line(folder):
    edit(folder / "review.csv", lambda text: text.replace("rival,", "rival,maybe"))
    with pytest.raises(LinkageError, match=r"review\.csv, line 3") as refusal:
        read_decided(folder, LISTS)
    assert "maybe" not in str(refusal.value)


def test_lists_that_were_encoded_again_are_refused(folder):
    """Their rows stand in another order, so the row numbers would mean other people."""
    north = LISTS["north"]
    again = north.take(np.array([1, 0, 2, 3]))
    other_key = replace(north, made_with=replace(north.made_with, key_id="1" * 32))
    for lists in (
        {**LISTS, "north": again},
        {**LISTS, "north": other_key},
        {name: LISTS[name] for name in ("north", "south")},
        {**LISTS, "east": encoded(4)},
        {"nord": LISTS["north"], "south": LISTS["south"], "west": LISTS["west"]},
    ):
        with pytest.raises(LinkageError, match="the very lists that were matched"):
            read_decided(folder, lists)


def test_a_local_map_belongs_to_one_encoded_list(tmp_path):
    file, north = tmp_path / "local-map.csv", LISTS["north"]
    write_local_map(file, {"P1": 1, "P0": 0, "P3": 3, "P2": 2}, north)
    assert read_local_map(file, north) == {0: "P0", 1: "P1", 2: "P2", 3: "P3"}
    with pytest.raises(LinkageError, match="this very list"):
        read_local_map(file, north.take(np.array([1, 0, 2, 3])))
    for old, new in (("P2,2", "P2,0"), ("P2,2", "P2,two"), (f"P2,2,{north.digest}\n", "")):
        edit(file, lambda text, old=old, new=new: text.replace(old, new))
        with pytest.raises(LinkageError, match="this very list") as refusal:
            read_local_map(file, north)
        assert "P2" not in str(refusal.value)


def test_a_table_without_its_heading_is_no_empty_table(tmp_path):
    file = tmp_path / "table.csv"
    for text in ("", "\n", "other\n1\n", "left,right\n1\n"):
        file.write_text(text)
        with pytest.raises(LinkageError, match="truth: expected CSV"):
            read_table(file, ("left", "right"), "truth")
    file.write_text("left,right\n")
    assert read_table(file, ("left", "right"), "truth") == []
    with pytest.raises(LinkageError, match="no such file"):
        read_table(tmp_path / "none.csv", ("left",), "truth")


@contextlib.contextmanager
def small_disk() -> Iterator[None]:
    """The system's own limit on the size of files stands for the disk.

    It holds for the whole process, pytest's own log included, so it ends before the test does.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_leaves_no_half_file_behind(tmp_path):
    file = tmp_path / "encoded.parquet"
    kind = SecretFile("key", "a key", "neuroveil", "take it", "aes-256-gcm")
    bits = np.random.default_rng(1).integers(0, 256, (3000, 32), dtype=np.uint8)
    plan = BlockingPlan(256, 8, 1, 0.3, 0.9)
    with small_disk(), pytest.raises(MachineError, match="room for it"):
        write_private(file, bytes(100_000), "encoded patient list")
    with small_disk(), pytest.raises(StudyError, match="File too large"):
        kind.write_new(file, bytes(100_000))
    with small_disk(), pytest.raises(MachineError, match="finished table"):
        blocked_pairs(bits, bits, plan, tmp_path / "tables")
    left = [each.name for each in tmp_path.rglob("*") if each.is_file()]
    assert left == ["run.json"]


def test_a_file_that_is_there_is_never_replaced(tmp_path):
    write_private(tmp_path / "encoded.parquet", b"all", "encoded patient list")
    with pytest.raises(LinkageError, match="existing one"):
        write_private(tmp_path / "encoded.parquet", b"other", "encoded patient list")
    with pytest.raises(LinkageError, match="can be written to"):
        write_private(tmp_path / "none" / "file", b"all", "encoded patient list")
    assert (tmp_path / "encoded.parquet").read_bytes() == b"all"
