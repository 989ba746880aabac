"""Finished units of an evaluation as files: there whole, or not at all. Private."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from neuroveil.evaluate.downstream.nested import Judged, Round
from neuroveil.evaluate.downstream.units import Done
from neuroveil.pipeline.internal_files import write_atomically
from neuroveil.types.downstream import ConfusionMatrix


def write_done(file: Path, done: Done) -> None:
    """Keep what a unit found.

    Parameters
    ----------
    file : Path
        Target in the internal folder; readable by its owner only.
    done : Done
        The result. Private.
    """
    rounds = (done.actual, done.control)
    sides = [(each.on_shared, each.on_clear) for each in rounds]
    paper = []
    if done.paper is not None:
        threshold, counted = done.paper
        paper = [
            threshold, counted.true_negative, counted.false_positive, counted.false_negative,
            counted.true_positive,
        ]  # fmt: skip
    arrays: dict[str, Any] = {
        "folds": np.stack([each.folds for each in rounds]),
        "probabilities": np.stack([[side.probabilities for side in pair] for pair in sides]),
        "called": np.stack([[side.called for side in pair] for pair in sides]),
        "control_labels": done.control_labels,
        "paper": np.array(paper, dtype=np.float64),
    }

    def write(draft: Path) -> None:
        with draft.open("wb") as stream:
            np.savez(stream, **arrays)

    write_atomically(file, write)


def read_done(file: Path) -> Done | None:
    """Read back what a unit found.

    Parameters
    ----------
    file : Path
        File in the internal folder.

    Returns
    -------
    Done or None
        None where the file is absent or damaged; the unit is then done again.
    """
    try:
        with np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        rounds = [
            Round(folds, *(Judged(*pair) for pair in zip(likely, called, strict=True)))
            for folds, likely, called in zip(
                arrays["folds"], arrays["probabilities"], arrays["called"], strict=True
            )
        ]
        paper = arrays["paper"]
        counted = ConfusionMatrix(*(int(count) for count in paper[1:])) if paper.size else None
        return Done(
            rounds[0], rounds[1], arrays["control_labels"],
            None if counted is None else (float(paper[0]), counted),
        )  # fmt: skip
    except (OSError, EOFError, KeyError, ValueError, TypeError, IndexError, zipfile.BadZipFile):
        return None
