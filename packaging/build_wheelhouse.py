"""Collect neuroveil and everything it needs as wheels, for machines without internet.

Run it on a machine with internet, with the same Python version and the same kind of processor
and operating system as the machine that the wheels are for::

    python packaging/build_wheelhouse.py wheelhouse                     # hospital
    python packaging/build_wheelhouse.py wheelhouse --extras server     # coordinator
    python packaging/build_wheelhouse.py wheelhouse --check             # and try it

The folder then holds ``wheels/`` and ``requirements.txt``, which names every wheel with its
version and its SHA-256. On the other machine, pip takes nothing else than exactly these files::

    python -m venv neuroveil
    neuroveil/bin/python -m pip install --no-index --find-links wheelhouse/wheels \
        --only-binary :all: --require-hashes -r wheelhouse/requirements.txt

Needs nothing beyond Python and pip.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def requirement_of(wheel: Path) -> str:
    """Name a wheel, its version and its digest, as pip wants it with --require-hashes."""
    # NAME-VERSION(-BUILD)-PYTHON-ABI-PLATFORM.whl; a name has no hyphen in it here.
    name, version = wheel.name.split("-")[:2]
    content = hashlib.sha256(wheel.read_bytes()).hexdigest()
    return f"{name.replace('_', '-').lower()}=={version} --hash=sha256:{content}"


def write_requirements(folder: Path) -> Path:
    """Write down what is in the wheelhouse."""
    lines = sorted(requirement_of(wheel) for wheel in (folder / "wheels").glob("*.whl"))
    if not lines:
        sys.exit("No wheels there.")
    file = folder / "requirements.txt"
    file.write_text("\n".join(lines) + "\n", encoding="ascii")
    return file


def collect(folder: Path, extras: str) -> None:
    """Build neuroveil's own wheel and fetch those of its dependencies."""
    what = f"{ROOT}[{extras}]" if extras else str(ROOT)
    # Programs that ship with a wheel need no compiler here; a source archive would.
    command = [sys.executable, "-m", "pip", "wheel", "--prefer-binary", "--wheel-dir",
               str(folder / "wheels"), what]  # fmt: skip
    subprocess.run(command, check=True)


def check(folder: Path) -> None:
    """Install from the wheelhouse into a fresh environment, without network, and run it."""
    with tempfile.TemporaryDirectory() as place:
        venv.create(place, with_pip=True)
        python = Path(place) / ("Scripts" if os.name == "nt" else "bin") / "python"
        command = [str(python), "-m", "pip", "install", "--quiet", "--no-index", "--only-binary",
                   ":all:", "--find-links", str(folder / "wheels"), "--require-hashes", "-r",
                   str(folder / "requirements.txt")]  # fmt: skip
        # Nothing of this machine's pip configuration: another index would hide a missing wheel.
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PIP_")}
        clean = {**kept, "PIP_CONFIG_FILE": os.devnull}
        clean.pop("PYTHONPATH", None)
        subprocess.run(command, check=True, env=clean)
        subprocess.run([str(python), "-m", "pip", "check", "--quiet"], check=True, env=clean)
        subprocess.run([str(python), "-m", "neuroveil", "--version"], check=True, env=clean)


def main() -> None:
    """Collect, write down, and try where wanted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="new folder for the wheels")
    parser.add_argument("--extras", default="", help="for example: server")
    parser.add_argument("--check", action="store_true", help="install from it and run it")
    chosen = parser.parse_args()
    if chosen.folder.exists() and any(chosen.folder.iterdir()):
        sys.exit(f"{chosen.folder} is not empty: old wheels would stay beside new ones.")
    collect(chosen.folder, chosen.extras)
    file = write_requirements(chosen.folder)
    wheels = list((chosen.folder / "wheels").glob("*.whl"))
    size = sum(wheel.stat().st_size for wheel in wheels) >> 20
    print(f"{len(wheels)} wheels, {size} MiB, listed with their digests in {file}")
    if chosen.check:
        check(chosen.folder)
        print("Installed from it into a fresh environment without network; it runs.")


if __name__ == "__main__":
    main()
