"""Feed damaged recordings to every reader and report what happens.

``python tools/fuzz_recordings.py --minutes 10 --json`` damages small files of every format
that our own writers make, and reads each in a process of its own with limits. A damaged file
may be refused, or read where the damage left a valid file. It is a finding when

- our own EDF reader, which runs without such a process, crashes, hangs or raises anything
  but a refusal;
- a name from a header, or the path, appears in an outcome;
- a recording holds more samples than its file has bytes for, or not float32 values;
- anything but a refusal comes out of the way that the product takes.

A crash or a hang of another reader is counted as ``contained``: it costs that file only.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np  # noqa: E402

from neuroveil.errors import RecordingError  # noqa: E402
from neuroveil.recordings import ReadOptions, opened_recording  # noqa: E402
from neuroveil.recordings.child import limit_resources  # noqa: E402
from neuroveil.recordings.formats import OWN_READERS, recognise  # noqa: E402
from neuroveil.recordings.opening import harmonise  # noqa: E402
from neuroveil.recordings.readers import READERS, open_directly  # noqa: E402

TESTS = Path(__file__).resolve().parent.parent / "tests" / "unit" / "recordings"
CANARY = "CANARYNAME7F3A"
SECONDS = 20.0
MEMORY = 3 << 30
FULL_WAY_EVERY = 40
COMPRESSED = frozenset({"matlab", "hdf5"})
NUMBERS = (
    0,
    1,
    -1,
    2,
    127,
    128,
    255,
    256,
    32767,
    -32768,
    65535,
    1 << 24,
    (1 << 31) - 1,
    -(1 << 31),
)
OPTIONS = ReadOptions(channels=("Fp1", "T7"), file_channels=("Fp1", "T7", "Cz"), role="a file")


def load(name: str) -> ModuleType:
    """Load a module of the tests from its file."""
    import importlib.util

    spec = importlib.util.spec_from_file_location(f"fuzz_{name}", TESTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def seeds(root: Path) -> dict[str, list[Path]]:
    """Write one good recording of every kind; give its files, the one to open first."""
    import h5py  # noqa: F401  (loaded once, before the processes part)
    import mne
    import pymatreader  # noqa: F401
    from scipy.io import savemat

    mne.set_log_level("CRITICAL")
    vendors, edf = load("vendor_files"), load("conftest")
    matrices, structs, through = (
        load("test_matrices"),
        load("test_eeglab_fieldtrip"),
        load("test_through_mne"),
    )
    eeg = np.random.default_rng(0).normal(0, 20, (3, 2000))
    writers: dict[str, Callable[[Path], Path]] = {
        name: partial(write, values=eeg) for name, write in vendors.WRITERS.items()
    }
    signals = [
        edf.Signal(f"EEG {name}", row) for name, row in zip(("Fp1", "T3", "Cz"), eeg, strict=True)
    ]

    def plain(name: str, **plan: Any) -> Callable[[Path], Path]:
        def write(folder: Path) -> Path:
            (folder / name).write_bytes(edf.edf_bytes(edf.EdfPlan(signals, samples=250, **plan)))
            return folder / name

        return write

    def variables(name: str, write: Callable[[Path, dict[str, Any]], None]) -> Any:
        def made(folder: Path) -> Path:
            write(folder / name, {
                "data": eeg, "fs": 250.0, "labels": matrices.cell(list(vendors.NAMES)),
                "unit": "uV", "name": CANARY,
            })  # fmt: skip
            return folder / name

        return made

    def saved(name: str, content: dict[str, Any]) -> Callable[[Path], Path]:
        def write(folder: Path) -> Path:
            savemat(folder / name, content)
            return folder / name

        return write

    def fif(folder: Path) -> Path:
        through.raw_of(eeg, CANARY).save(folder / "a_raw.fif", verbose="ERROR")
        return folder / "a_raw.fif"

    long = np.resize(eeg, (3, structs.N_TIMES))
    writers |= {
        "edf": plain("a.edf"), "bdf": plain("a.bdf", kind="BDF"),
        "edf_d": plain("a.edf", variant="+D", onsets=[f"+{2 * i}" for i in range(8)]),
        "mat5": variables("a.mat", matrices.write_mat5), "mat5_plain": variables("a.mat", savemat),
        "mat73": variables("a.mat", matrices.write_mat73),
        "h5": variables("a.h5", matrices.write_h5),
        "eeglab": saved("a.set", {"EEG": structs.dataset(long.astype(np.float32))}),
        "fieldtrip": saved("a.mat", structs.fieldtrip([eeg])),
        "fif": fif,
    }  # fmt: skip
    made = {}
    for name, write in writers.items():
        folder = root / name
        folder.mkdir()
        first = write(folder)
        made[name] = [first, *sorted(part for part in folder.iterdir() if part != first)]
    return made


def damage(data: bytes, draw: random.Random) -> bytes:
    """Change a few places, mostly near the start, where headers are."""
    changed = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 2, 3, 6))):
        if not changed:
            break
        end = len(changed) if draw.random() < 0.25 else min(len(changed), 6000)
        at = draw.randrange(end)
        kind = draw.randrange(8)
        if kind == 0:
            changed[at] ^= 1 << draw.randrange(8)
        elif kind == 1:
            number = draw.choice(NUMBERS) & 0xFFFFFFFF
            changed[at : at + 4] = number.to_bytes(4, draw.choice(("little", "big")))
        elif kind == 2:
            changed[at : at + 2] = (draw.choice(NUMBERS) & 0xFFFF).to_bytes(2, "little")
        elif kind == 3:
            changed[at : at + 8] = (
                str(draw.choice((*NUMBERS, 1e30, "nan", "-", ""))).ljust(8).encode()[:8]
            )
        elif kind == 4:
            del changed[at : at + draw.choice((1, 2, 16, 256))]
        elif kind == 5:
            changed[at:at] = draw.randbytes(draw.choice((1, 2, 16, 256)))
        elif kind == 6:
            changed[at : at + 16] = draw.randbytes(16)
        else:
            del changed[draw.randrange(len(changed)) :]
    return bytes(changed)


def look(path: Path, n_bytes: int) -> str:
    """Read a file whole with its reader, in this process; say how it went."""
    try:
        reader = recognise(path, OPTIONS)
        contents = open_directly(reader, path, OPTIONS)
        with contents.resources:
            recording = harmonise(contents, OPTIONS)
            said = repr(recording.findings) + repr((recording.ch_names, recording.eog_names))
            n_samples = 0
            for segment in recording.segments:
                if reader in COMPRESSED and segment.n_times > 10**7:
                    return "refused:unfolds"
                if reader not in COMPRESSED and n_samples + segment.n_times > 2 * n_bytes:
                    return "finding:more samples than bytes"
                values = segment.read(0, segment.n_times)
                n_samples += segment.n_times
                if (
                    values.shape != (segment.n_channels, segment.n_times)
                    or values.dtype != np.float32
                ):
                    return "finding:shape or type"
            outcome = "read"
    except RecordingError as error:
        said, outcome = f"{error}{error.as_dict()}", f"refused:{error.code}"
        if not error.code:
            return "finding:refusal without a code"
    if CANARY in said or path.name in said or str(path.parent) in said:
        return "finding:a name came out"
    return outcome


def in_a_process(task: Callable[[], str], own: bool) -> str:
    """Do something in a copy of this process with limits; give its outcome."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receive)
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        limit_resources(MEMORY, int(SECONDS))
        try:
            outcome = task()
        except BaseException as error:
            outcome = f"exception:{type(error).__name__}"
        os.write(send, outcome.encode())
        os._exit(0)
    os.close(send)
    ready, _, _ = select.select([receive], [], [], SECONDS)
    if not ready:
        os.kill(child, signal.SIGKILL)
    said = os.read(receive, 1000).decode() if ready else ""
    os.close(receive)
    _, status = os.waitpid(child, 0)
    if not ready:
        said = "hang"
    elif not said:
        said = (
            f"crash:{signal.Signals(os.WTERMSIG(status)).name}"
            if os.WIFSIGNALED(status)
            else "crash"
        )
    bad = said.startswith(("crash", "hang", "exception"))
    if bad:
        return f"finding:{said}" if own else f"contained:{said}"
    return said


def full_way(path: Path) -> str:
    """Open and read as the product does; only a refusal may come out."""
    try:
        with opened_recording(path, OPTIONS) as recording:
            for segment in recording.segments:
                for start in range(0, segment.n_times, 1 << 16):
                    segment.read(start, min(start + (1 << 16), segment.n_times))
        return "full way:read"
    except RecordingError as error:
        leaked = CANARY in str(error) or path.name in str(error)
        return "finding:a name came out" if leaked else "full way:refused"
    except Exception as error:
        return f"finding:full way raised {type(error).__name__}"


def case(parts: list[Path], folder: Path, draw: random.Random) -> Path:
    """Write a damaged copy of a recording; give the file to open."""
    victim = draw.choice(parts) if draw.random() < 0.3 else parts[0]
    for part in parts:
        data = part.read_bytes()
        (folder / part.name).write_bytes(damage(data, draw) if part == victim else data)
    return folder / parts[0].name


class Fuzzer:
    """Damages files and counts what happens.

    Parameters
    ----------
    files : dict
        Parts of one good recording by kind.
    seed : int
        Of the damage.
    keep : Path or None
        Where files of findings are kept.
    """

    def __init__(self, files: dict[str, list[Path]], seed: int, keep: Path | None) -> None:
        self.files, self.draw, self.keep = files, random.Random(seed), keep
        self.counts: dict[str, collections.Counter[str]] = collections.defaultdict(
            collections.Counter
        )
        self.findings: list[dict[str, str]] = []
        self.n_cases = 0

    def good_files(self) -> None:
        """All files have to be readable before they are damaged."""
        for name, parts in self.files.items():
            outcome = in_a_process(partial(look, parts[0], 1 << 40), own=False)
            if outcome != "read":
                self.findings.append({"kind": name, "outcome": f"the good file: {outcome}"})

    def one(self, folder: Path) -> None:
        """Damage and read the next file."""
        name = list(self.files)[self.n_cases % len(self.files)]
        self.n_cases += 1
        path = case(self.files[name], folder, self.draw)
        n_bytes = sum(part.stat().st_size for part in folder.iterdir())
        own = any(name.startswith(reader) for reader in (*OWN_READERS, "bdf"))
        outcomes = [in_a_process(partial(look, path, n_bytes), own)]
        if self.n_cases % FULL_WAY_EVERY == 0 or outcomes[0].startswith("contained:crash"):
            outcomes.append(full_way(path))
        for said in outcomes:
            self.counts[name][said] += 1
            if said.startswith("finding"):
                self.findings.append({"kind": name, "outcome": said, "case": str(self.n_cases)})
                self._keep(name, folder)

    def _keep(self, name: str, folder: Path) -> None:
        """Keep the files of a finding."""
        if self.keep is None:
            return
        kept = self.keep / f"{name}-{self.n_cases}"
        kept.mkdir(parents=True, exist_ok=True)
        for part in folder.iterdir():
            (kept / part.name).write_bytes(part.read_bytes())


def main() -> int:
    """Fuzz for the time given and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", default=None, help="one kind of file")
    parser.add_argument("--keep", type=Path, default=None, help="folder for files of findings")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    seed = chosen.seed if chosen.seed is not None else random.SystemRandom().randrange(1 << 32)
    with tempfile.TemporaryDirectory() as place:
        files = seeds(Path(place))
        fuzzer = Fuzzer(
            {chosen.only: files[chosen.only]} if chosen.only else files, seed, chosen.keep
        )
        fuzzer.good_files()
        end = time.monotonic() + 60 * chosen.minutes
        while time.monotonic() < end:
            with tempfile.TemporaryDirectory(dir=place) as scratch:
                fuzzer.one(Path(scratch))
    outcomes = {name: dict(n.most_common()) for name, n in sorted(fuzzer.counts.items())}
    report = {
        "minutes": chosen.minutes, "seed": seed, "cases": fuzzer.n_cases,
        "readers": sorted(READERS), "findings": fuzzer.findings, "outcomes": outcomes,
    }  # fmt: skip
    if chosen.json:
        print(json.dumps(report))
    else:
        print(f"{fuzzer.n_cases} damaged files, seed {seed}: {len(fuzzer.findings)} findings")
        for name, found in outcomes.items():
            print(f"  {name}: " + ", ".join(f"{what} {n}" for what, n in found.items()))
        for finding in fuzzer.findings:
            print(f"  FINDING {finding}")
    return 1 if fuzzer.findings else 0


if __name__ == "__main__":
    sys.exit(main())
