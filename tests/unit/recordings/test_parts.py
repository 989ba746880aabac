"""What a recording consists of covers every file that its reader opens."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from neuroveil.pipeline.cache import keyed_digest
from neuroveil.recordings import ReadOptions
from neuroveil.recordings.formats import recognise
from neuroveil.recordings.parts import parts_of
from neuroveil.recordings.readers import open_directly


class Watch:
    """Notes every file that this process opens while it is switched on."""

    def __init__(self) -> None:
        self.opened: set[Path] | None = None
        sys.addaudithook(self._note)  # stays for good, and does nothing while switched off

    def _note(self, event: str, arguments: tuple[object, ...]) -> None:
        if self.opened is not None and event == "open":
            name = arguments[0]
            if isinstance(name, str | bytes | os.PathLike):
                self.opened.add(Path(os.fsdecode(name)).resolve())


@pytest.fixture(scope="session")
def watch():
    return Watch()


@pytest.fixture
def eeg():
    return np.random.default_rng(11).normal(0, 20, (3, 3000))


def write_eeglab(folder, eeg):
    locations = np.zeros(len(eeg), dtype=[("labels", object)])
    locations["labels"] = ["Fp1", "T7", "Cz"]
    eeg.T.astype("<f4").tofile(folder / "a.fdt")
    (folder / "other.fdt").write_bytes((folder / "a.fdt").read_bytes())
    scipy.io.savemat(folder / "a.set", {
        "data": "other.fdt", "srate": 250.0, "nbchan": 3.0, "pnts": 3000.0, "trials": 1.0,
        "chanlocs": locations,
    })  # fmt: skip
    return folder / "a.set"


def write(files, kind, folder, eeg):
    if kind == "eeglab":
        return write_eeglab(folder, eeg)
    if kind == "brainvision":
        return files.write_brainvision(folder, eeg, names=("a.vhdr", "b.eeg", "c.vmrk"))
    path = files.WRITERS[kind](folder, eeg)
    if kind == "nihon_kohden":
        version = b"EEG-1100A V01.00"
        (folder / "a.log").write_bytes(version.ljust(0x81) + version + bytes(2048))
    return path


NUMBER = {"brainvision": 3, "eeglab": 2, "persyst": 2, "nicolet": 2, "nihon_kohden": 3}
KINDS = [
    pytest.param(kind, marks=() if kind in ("persyst", "micromed") else pytest.mark.slow)
    for kind in ("persyst", "micromed", "eeglab", "brainvision", "nihon_kohden", "nicolet", "gdf",
                 "neuroscan", "egi")
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_no_other_file_is_opened(files, tmp_path, watch, eeg, kind):
    path = write(files, kind, tmp_path, eeg)
    parts = {part.resolve() for part in parts_of(path)}
    options = ReadOptions(file_channels=("Fp1", "T7", "Cz"))
    watch.opened = set()
    try:
        contents = open_directly(recognise(path, options), path, options)
        with contents.resources:
            contents.segments((0,))[0].read(0, 100)
        opened, watch.opened = watch.opened, None
    finally:
        watch.opened = None
    assert len(parts) == NUMBER.get(kind, 1)
    inside = {each for each in opened if tmp_path.resolve() in each.parents}
    assert path.resolve() in inside
    assert inside <= parts


@pytest.mark.parametrize("kind", KINDS)
def test_a_change_of_any_part_is_seen(files, tmp_path, eeg, kind):
    path = write(files, kind, tmp_path, eeg)
    digests = {keyed_digest(b"k" * 32, path, "s")}
    for part in parts_of(path):
        content = part.read_bytes()
        part.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        digests.add(keyed_digest(b"k" * 32, path, "s"))
        part.write_bytes(content)
    assert len(digests) == 1 + NUMBER.get(kind, 1)


def test_files_of_a_folder(tmp_path):
    """EGI's folders are one recording; a file in any of their folders counts."""
    folder = tmp_path / "a.mff"
    (folder / "inner").mkdir(parents=True)
    (folder / "signal1.bin").write_bytes(b"samples")
    (folder / "inner" / "epochs.xml").write_bytes(b"<epochs/>")
    before = keyed_digest(b"k" * 32, folder, "s")
    (folder / "inner" / "epochs.xml").write_bytes(b"<epochs />")
    assert keyed_digest(b"k" * 32, folder, "s") != before


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("a.cdt", ("a.cdt.dpa", "a.cdt.ceo", "a.cdt.cef")),
        ("a.dat", ("a.dap", "a.rs3", "a.ceo", "a.cef")),
        ("a.cnt", ("a.evt", "a.seg", "a.trg")),
        ("a.EEG", ("a.21e", "a.PNT", "a.log")),
        ("a.mat", ("a.fdt",)),
    ],
)
def test_files_beside_a_recording(tmp_path, name, others):
    for each in (name, *others, "b.dap", "b.fdt", "a.txt"):
        (tmp_path / each).write_bytes(b"x")
    assert {part.name for part in parts_of(tmp_path / name)} == {name, *others}


def test_a_name_with_parameters_beside_it_is_not_curry_for_that(tmp_path):
    (tmp_path / "a.edf").write_bytes(b"0".ljust(300))
    (tmp_path / "a.dap").write_bytes(b"x")
    assert recognise(tmp_path / "a.edf", ReadOptions()) == "edf"
