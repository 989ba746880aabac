"""The paper's tables on a cohort: rows from anywhere, work in parallel, results kept."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neuroveil.errors import MachineError
from neuroveil.evaluate.reproduction import (
    Piece,
    ReproductionCohort,
    conclude,
    contenders_for,
    do_piece,
    pieces_for,
)
from neuroveil.evaluate.reproduction.printed import EPSILONS
from neuroveil.pipeline.cache import cache_key, private_folder
from neuroveil.pipeline.internal_files import write_json, write_text
from neuroveil.pipeline.pool import Progress, no_progress, run_tasks
from neuroveil.pipeline.settings import software_versions
from neuroveil.report.reproduction import reproduction_page
from neuroveil.report.reproduction_charts import reproduction_figures
from neuroveil.types.reproduction import Reproduction


@dataclass(frozen=True)
class ReproductionPlan:
    """How much is to be done.

    Parameters
    ----------
    mechanisms : {"paper", "all"}
        The paper's two mechanisms, or every one there is.
    n_draws, n_classifier_draws : int
        Draws of noise; other mechanisms than the paper's are drawn a fifth as often, and at
        least 20 times.
    seed : int
        Seed of everything that is drawn.
    epsilons : tuple of float
        Epsilons of Tables 3 to 5.
    """

    mechanisms: str = "paper"
    n_draws: int = 200
    n_classifier_draws: int = 40
    seed: int = 0
    epsilons: tuple[float, ...] = EPSILONS

    def pieces(self, cohort: ReproductionCohort) -> tuple[Piece, ...]:
        """List everything that has to be done for a cohort.

        Parameters
        ----------
        cohort : ReproductionCohort
            The rows.

        Returns
        -------
        tuple of Piece
            The slowest first.
        """
        names = tuple(each.name for each in contenders_for(self.mechanisms, cohort.scaling))
        counts = (self.n_draws, self.n_classifier_draws)
        return pieces_for(names, self.epsilons, counts, self.seed)


@dataclass(frozen=True)
class _Task:
    number: int
    piece: Piece
    cohort: ReproductionCohort


@dataclass(frozen=True)
class _Outcome:
    piece: Piece
    result: dict[str, Any] | None


def reproduce(
    cohort: ReproductionCohort,
    plan: ReproductionPlan,
    folder: Path | None = None,
    n_workers: int | None = None,
    progress: Progress = no_progress,
) -> Reproduction:
    """Compute the paper's tables on a cohort.

    Parameters
    ----------
    cohort : ReproductionCohort
        The rows.
    plan : ReproductionPlan
        How much is to be done.
    folder : Path, optional
        Where results of pieces are kept, so that an interrupted run goes on where it stopped;
        without one nothing is written.
    n_workers : int, optional
        Processes; default: all cores.
    progress : callable
        Called with (done, total, what).

    Returns
    -------
    Reproduction
        Internal where the cohort is of real people.

    Raises
    ------
    MachineError
        If a piece brings its process down.
    """
    pieces = plan.pieces(cohort)
    kept = None
    if folder is not None:
        kept = _Kept(private_folder(private_folder(folder) / "cache"), cohort)
    results = {piece: found for piece in pieces if kept and (found := kept.read(piece)) is not None}
    todo = [piece for piece in pieces if piece not in results]
    tasks = (_Task(number, piece, cohort) for number, piece in enumerate(todo, start=1))
    workers = min(n_workers or os.cpu_count() or 1, max(len(todo), 1))
    progress(len(results), len(pieces), "drawing and measuring")
    for outcome in run_tasks(tasks, workers, _do, _crashed) if todo else ():
        if outcome.result is None:
            raise MachineError(
                "reproduction", "room to work", "a process that ended early",
                "Close other programs, or use fewer --workers, and run the same command again.",
            )  # fmt: skip
        results[outcome.piece] = outcome.result
        if kept is not None:
            kept.write(outcome.piece, outcome.result)
        progress(len(results), len(pieces), "drawing and measuring")
    return conclude(cohort.facts, {piece: results[piece] for piece in pieces})


def write_reproduction(reproduction: Reproduction, folder: Path) -> Path:
    """Write the page, its figures and all numbers into a folder of the owner's.

    Parameters
    ----------
    reproduction : Reproduction
        What was found.
    folder : Path
        Where to.

    Returns
    -------
    Path
        The page.
    """
    private_folder(folder)
    figures = reproduction_figures(reproduction)
    for name, drawn in figures.items():
        write_text(folder / f"{name}.svg", drawn)
    write_json(folder / "reproduction.json", reproduction.to_json())
    page = folder / "reproduction.html"
    write_text(page, reproduction_page(reproduction, figures))
    return page


def _do(task: _Task) -> _Outcome:
    return _Outcome(task.piece, do_piece(task.cohort, task.piece))


def _crashed(task: _Task) -> _Outcome:
    return _Outcome(task.piece, None)


class _Kept:
    """Results on disk, under keyed names that say nothing about the rows."""

    def __init__(self, folder: Path, cohort: ReproductionCohort) -> None:
        self._folder = folder
        self._key = cache_key(folder)
        rows = np.ascontiguousarray(cohort.scaled)
        state = hashlib.blake2b(key=self._key, digest_size=32)
        for part in (rows, cohort.positive, cohort.scaling.covariance):
            state.update(b"none" if part is None else part.tobytes())
        names = [column.name for column in cohort.scaling.columns]
        about = {"columns": names, "software": software_versions()}
        state.update(json.dumps(about, sort_keys=True).encode())
        self._cohort = state.digest()

    def read(self, piece: Piece) -> dict[str, Any] | None:
        try:
            found = json.loads(self._file(piece).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None  # not done yet, or damaged: done again
        return found if isinstance(found, dict) else None

    def write(self, piece: Piece, result: Mapping[str, Any]) -> None:
        write_json(self._file(piece), result)

    def _file(self, piece: Piece) -> Path:
        state = hashlib.blake2b(self._cohort, key=self._key, digest_size=32)
        state.update(json.dumps(asdict(piece), sort_keys=True).encode())
        return self._folder / f"{state.hexdigest()}.json"
