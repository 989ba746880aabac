"""Release folders made by the command line and then tampered with, file by file."""

import csv
import hashlib
import io
import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from neuroveil.errors import CertificateError
from neuroveil.privacy.verify import verify

pytestmark = pytest.mark.slow

ALIKE = {"load_table.py", "load_table.R", "public_inputs.json"}
"""Files that two releases of one study have in common: examples, and public constants."""


@pytest.fixture(scope="module")
def pair(neuroveil, small_cohort, tmp_path_factory) -> tuple[Path, Path]:
    """Two releases about the same patients, the second with half the epsilon."""
    place = tmp_path_factory.mktemp("pair")
    shutil.copytree(small_cohort, place / "cohort")
    study = place / "study.toml"
    text = """
[input]
layout = "bids"
folder = "cohort"
population = "adults"
[privacy]
mechanism = "gaussian"
epsilon = {epsilon}
delta = 1e-5
[privacy.budget]
epsilon = 2.0
delta = 1e-4
"""
    for name, epsilon in (("first", 1.0), ("second", 0.5)):
        study.write_text(text.format(epsilon=epsilon))
        answer = neuroveil("release", study, "--out", place / name)
        assert answer.code == 0, answer.err
        assert verify(place / name).exit_code == 0
    return place / "first", place / "second"


@pytest.fixture
def folder(pair, tmp_path) -> Path:
    """A copy of the first release, to spoil."""
    return Path(shutil.copytree(pair[0], tmp_path / "copy"))


def broken(folder: Path) -> tuple[str, ...]:
    """Links that verification calls broken; refusing to read the certificate is one of them."""
    try:
        return verify(folder).broken_links
    except CertificateError:
        return ("refused",)


def flip(file: Path, _: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def cut(file: Path, _: Path) -> None:
    file.write_bytes(file.read_bytes()[:-2])


def append(file: Path, _: Path) -> None:
    file.write_bytes(file.read_bytes() + b"x")


def empty(file: Path, _: Path) -> None:
    file.write_bytes(b"")


def remove(file: Path, _: Path) -> None:
    file.unlink()


def rename(file: Path, _: Path) -> None:
    file.rename(file.with_name(f"{file.name}.txt"))


def exchange(file: Path, other: Path) -> None:
    """Put the file of the other release in its place."""
    shutil.copy(other / file.name, file)


def link(file: Path, _: Path) -> None:
    """The right content, but somewhere else, where it can change."""
    outside = file.parent.parent / file.name
    shutil.move(file, outside)
    file.symlink_to(outside)


def make_folder(file: Path, _: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize(
    "tamper", [flip, cut, append, empty, remove, rename, exchange, link, make_folder]
)
def test_every_file_is_bound(pair, tmp_path, tamper):
    """Whatever is done to any one file is found, and the link is release."""
    for name in sorted(file.name for file in pair[0].iterdir()):
        place = Path(shutil.copytree(pair[0], tmp_path / name / "release"))
        if tamper is exchange and (pair[1] / name).read_bytes() == (place / name).read_bytes():
            assert name in ALIKE
            continue
        tamper(place / name, pair[1])
        found = broken(place)
        if name == "certificate.json" and tamper is not exchange:
            # A flipped bit may make another figure of a figure: then its own link breaks, too.
            assert found == ("refused",) or "release" in found, (name, found)
        else:
            assert "release" in found, (name, found)


@pytest.mark.parametrize("extra", ["notes.txt", ".hidden", "certificate.json~", "table.csv.bak"])
def test_file_that_is_not_listed(folder, extra):
    (folder / extra).write_text("patient 3 is the one with the spikes")
    assert broken(folder) == ("release",)


def test_folder_or_link_that_is_not_listed(folder):
    (folder / "more").mkdir()
    assert broken(folder) == ("release",)
    (folder / "more").rmdir()
    (folder / "more").symlink_to(folder / "table.csv")
    assert broken(folder) == ("release",)


def test_certificate_of_one_release_with_the_files_of_another(pair, folder):
    """Each is right by itself; together they are not."""
    shutil.copy(pair[1] / "certificate.json", folder / "certificate.json")
    assert broken(folder) == ("release",)


# From here on the forger states the digests anew.


def state_digests(folder: Path) -> None:
    path = folder / "certificate.json"
    document = json.loads(path.read_text())
    for name in document["release"]:
        data = (folder / name).read_bytes()
        document["release"][name] = "sha256:" + hashlib.sha256(data).hexdigest()
    path.write_text(json.dumps(document))


def checks(folder: Path) -> set[str]:
    state_digests(folder)
    result = verify(folder)
    assert set(result.broken_links) <= {"release"}
    return {check.id for check in result.checks if check.outcome == "broken"}


def rewrite(folder: Path, change) -> None:
    """Change the table, in the CSV file and in the Parquet file alike."""
    frame = pd.read_parquet(folder / "table.parquet")
    frame = change(frame)
    frame.to_csv(folder / "table.csv", index=False, lineterminator="\n")
    frame.to_parquet(
        folder / "table.parquet", index=False, compression=None, use_dictionary=False
    )  # fmt: skip


def test_rewriting_alone_is_not_found(folder):
    """What the following tests find is the change, and not the way it is written."""
    rewrite(folder, lambda frame: frame)
    assert checks(folder) == set()


def test_all_files_of_another_release(pair, folder):
    for file in pair[1].iterdir():
        if file.name != "certificate.json":
            shutil.copy(file, folder / file.name)
    assert {"release.dictionary", "release.statement", "release.noise"} <= checks(folder)


def test_table_of_another_release(pair, folder):
    """Its noise is twice as large as the certificate says."""
    for name in ("table.csv", "table.parquet"):
        shutil.copy(pair[1] / name, folder / name)
    assert "release.noise" in checks(folder)


def test_row_of_another_release(pair, folder):
    """The estimate was made from the row that stood there; without it, the noise has to tell."""
    other = pd.read_parquet(pair[1] / "table.parquet")

    def swap(frame):
        return pd.concat([frame.iloc[:-1], other.iloc[-1:]])

    rewrite(folder, swap)
    assert "release.estimate" in checks(folder)


@pytest.mark.parametrize("rows", [1, 5])
def test_rows_without_noise(folder, rows):
    def quiet(frame):
        values = frame.to_numpy(copy=True)
        values[:rows] = 2.0**-5
        return pd.DataFrame(values, columns=frame.columns)

    rewrite(folder, quiet)
    assert "release.noise_everywhere" in checks(folder)


@pytest.mark.parametrize("change", ["less", "more"])
def test_fewer_or_more_rows(folder, change):
    def resize(frame):
        return frame.iloc[:-1] if change == "less" else pd.concat([frame, frame.iloc[:1]])

    rewrite(folder, resize)
    assert "release.table" in checks(folder)


def test_table_that_is_not_on_the_grid(folder):
    rewrite(folder, lambda frame: frame * (1 + 2.0**-50))
    assert "release.table" in checks(folder)


def test_csv_and_parquet_disagree(folder):
    """The example that goes with the release loads the Parquet file: it may hold nothing else."""
    frame = pd.read_parquet(folder / "table.parquet")
    frame.iloc[0, 0] = 0.0
    frame.to_parquet(
        folder / "table.parquet", index=False, compression=None, use_dictionary=False
    )  # fmt: skip
    assert checks(folder) == {"release.parquet"}


def test_parquet_that_cannot_be_compared(folder):
    frame = pd.read_parquet(folder / "table.parquet")
    frame.to_parquet(folder / "table.parquet", index=False, compression="zstd")
    assert checks(folder) == {"release.parquet"}


def test_estimate_that_does_not_follow_from_the_table(folder):
    path = folder / "table_estimated.csv"
    lines = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"))))
    lines[1][0] = repr(float(lines[1][0]) * 1.01)
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows(lines)
    assert {"release.estimate", "release.parquet"} == checks(folder)


@pytest.mark.parametrize("name", ["table.json", "table_estimated.json"])
def test_dictionary_that_leads_to_other_units(folder, name):
    dictionary = json.loads((folder / name).read_text(encoding="utf-8"))
    next(iter(dictionary["Columns"].values()))["Centre"] += 1.0
    (folder / name).write_text(json.dumps(dictionary))
    assert "release.constants" in checks(folder)


def test_statement_with_another_epsilon(folder):
    path = folder / "STATEMENT.md"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("epsilon = 1,", "epsilon = 0.1,"), encoding="utf-8")
    assert checks(folder) == {"release.statement"}


def test_command_says_which_link_is_broken(neuroveil, pair, folder):
    """As a process: 0 for the honest folder, 4 for tampered ones, with the link in words."""
    honest = neuroveil("verify", pair[0], "--json")
    assert (honest.code, honest.json["broken_links"]) == (0, [])
    (folder / "table.csv").write_bytes((pair[1] / "table.csv").read_bytes())
    answer = neuroveil("verify", folder)
    assert answer.code == 4
    assert "release" in answer.everything
    assert "table.csv" in answer.everything
    state_digests(folder)
    forged = neuroveil("verify", folder, "--json")
    assert (forged.code, forged.json["broken_links"]) == (4, ["release"])
    (folder / "certificate.json").unlink()
    assert neuroveil("verify", folder).code == 4
