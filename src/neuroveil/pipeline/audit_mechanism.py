"""Audit a mechanism: replay, noise scale, randomness, last bits, black box, time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neuroveil.audit.bits import audit_bits
from neuroveil.audit.mechanism.black_box import BlackBoxSettings
from neuroveil.audit.mechanism.black_box_result import audit_black_box
from neuroveil.audit.mechanism.canaries import canary_pairs, dense_row
from neuroveil.audit.mechanism.codeword_noise import audit_codewords
from neuroveil.audit.mechanism.laws import AdditiveLaw, CodewordLaw
from neuroveil.audit.mechanism.moved import moved_pairs
from neuroveil.audit.mechanism.noise import audit_noise
from neuroveil.audit.mechanism.released import with_released_table
from neuroveil.audit.randomness import audit_randomness
from neuroveil.audit.replay import audit_replay
from neuroveil.audit.subject import Subject, check_releases
from neuroveil.audit.subjects.process import CommandSubject
from neuroveil.audit.timing import audit_timing
from neuroveil.errors import ChainError, StudyError, StudyMistake
from neuroveil.pipeline.audit_files import AuditFolder, settings_key
from neuroveil.pipeline.audit_targets import AuditTarget
from neuroveil.pipeline.pool import Progress, no_progress
from neuroveil.report.audit_mechanism import ClaimWords, mechanism_pages
from neuroveil.types.audit import AttackResult, Verdict, overall_verdict

ATTACKS = ("replay", "noise_scale", "randomness", "last_bits", "black_box", "timing")
"""Attacks by name, in the order in which they run."""

_EXIT_CODES: dict[Verdict, int] = {"violated": 4, "not_testable": 5}
_NOISE_ROWS = 17
_FEWEST_NOISE_CELLS = 2000
_CODEWORDS_A_RELEASE = 1000


@dataclass(frozen=True)
class AuditSizes:
    """How much is run.

    Parameters
    ----------
    n_trials : int
        Certifying trials a side of the black box; six times as many releases are made.
    n_bits : int
        Releases of each row for the last bits.
    n_releases : int
        Releases of 17 rows for the scale of the noise, more where rows are short; for codewords,
        thousands of releases of one row.
    n_cells : int
        Values of each of two runs for the check of randomness.
    n_calls : int
        Timed releases of each row.
    n_rounds : int
        Rounds of the replay.
    seed : int
        Of replayed tables and of repeatable subjects.
    """

    n_trials: int = 25_000
    n_bits: int = 100_000
    n_releases: int = 10
    n_cells: int = 20_000
    n_calls: int = 400
    n_rounds: int = 3
    seed: int = 0


QUICK = AuditSizes(
    n_trials=4000, n_bits=10_000, n_releases=1, n_cells=4000, n_calls=100, n_rounds=1
)
"""Sizes for a first look, under a minute for most mechanisms."""


@dataclass(frozen=True)
class MechanismAudit:
    """A finished audit. Internal.

    Parameters
    ----------
    target : AuditTarget
        What was audited.
    results : tuple of AttackResult
        In the order of :data:`ATTACKS`.
    skipped : tuple of (str, str)
        Attacks that could not be run, with the reason in words.
    """

    target: AuditTarget
    results: tuple[AttackResult, ...]
    skipped: tuple[tuple[str, str], ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The severest verdict of all attacks."""
        return overall_verdict(self.results)

    @property
    def exit_code(self) -> int:
        """4 where the claim is violated, 5 where nothing was testable, else 0."""
        return _EXIT_CODES.get(self.verdict, 0)

    def to_json(self) -> dict[str, Any]:
        """Give the audit as plain data, marked internal.

        Returns
        -------
        dict
            Verdict, claim, results, and what was skipped.
        """
        return {
            "internal": True,
            "verdict": self.verdict,
            "exit_code": self.exit_code,
            "claim": asdict(self.words),
            "results": [result.to_json() for result in self.results],
            "skipped": [{"attack": name, "reason": reason} for name, reason in self.skipped],
        }

    @property
    def words(self) -> ClaimWords:
        """The claim, for the pages."""
        facts = self.target.subject.facts
        return ClaimWords(
            facts.name, facts.epsilon, facts.delta, facts.dimension, facts.clip_norm, facts.norm
        )


def audit_mechanism(
    target: AuditTarget,
    sizes: AuditSizes,
    folder: Path,
    only: tuple[str, ...] = (),
    progress: Progress = no_progress,
) -> MechanismAudit:
    """Attack a mechanism in all ways that its form allows, and write pages about it.

    Attacks that an interrupted run with the same settings had finished are taken from it.

    Parameters
    ----------
    target : AuditTarget
        What is audited.
    sizes : AuditSizes
        How much is run.
    folder : Path
        Internal folder for results and pages.
    only : tuple of str
        Names of attacks; none for all.
    progress : callable
        Called with (done, total, what).

    Returns
    -------
    MechanismAudit
        All results.

    Raises
    ------
    StudyError
        If the target gives what cannot be audited, or no attack is left to run.
    """
    key = settings_key({"target": target.key, "sizes": asdict(sizes)})
    place = AuditFolder(folder, key)
    done = place.done()
    runs = _attacks(target, sizes, progress)
    names, skipped = planned(target, only)
    if not names:
        raise StudyError([StudyMistake(
            "--only", "an attack that this target allows", ", ".join(skipped),
            "; ".join(skipped.values()),
        )])  # fmt: skip
    for name in names:
        if name in done:
            continue
        try:
            done[name] = runs[name]()
        except ChainError as error:  # nothing of ours was refused: the subject or claim is wrong
            raise StudyError([
                StudyMistake(error.where, error.expected, error.found, error.remedy)
            ]) from error  # fmt: skip
        place.keep(done)
    results = tuple(done[name] for name in names)
    audit = MechanismAudit(target, results, tuple(skipped.items()))
    place.finish(audit.to_json(), mechanism_pages(audit.words, results))
    return audit


def planned(
    target: AuditTarget, only: tuple[str, ...] = ()
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Say which attacks would be run.

    Parameters
    ----------
    target : AuditTarget
        What is audited.
    only : tuple of str
        Names of attacks; none for all.

    Returns
    -------
    names : tuple of str
        Attacks, in their order.
    skipped : dict of str to str
        Attacks that the form of the target does not allow, with the reason.
    """
    skipped = {}
    if target.pipeline is None:
        skipped["replay"] = "nothing makes its draws repeatable; let a function take a seed"
    if not isinstance(target.subject.facts.law, AdditiveLaw | CodewordLaw):
        skipped["noise_scale"] = "the law of its noise is not stated"
    if isinstance(target.subject, CommandSubject):
        skipped["timing"] = "starting a program takes longer than a release"
    wanted = [name for name in ATTACKS if not only or name in only]
    runs = tuple(name for name in wanted if name not in skipped)
    return runs, {name: reason for name, reason in skipped.items() if name in wanted}


def _attacks(
    target: AuditTarget, sizes: AuditSizes, progress: Progress
) -> dict[str, Callable[[], AttackResult]]:
    def tell(what: str) -> Callable[[int, int], None]:
        return lambda done, total: progress(done, total, what)

    def seed_of(subject: Subject) -> int | None:
        return sizes.seed if subject.facts.repeatable else None

    def replay() -> AttackResult:
        assert target.pipeline is not None  # else it is skipped
        return audit_replay(
            target.pipeline, target.n_rows, sizes.n_rounds, sizes.seed, tell("replay")
        )

    def noise() -> AttackResult:
        fresh = _noise(target.subject, sizes.n_releases, seed_of(target.subject))
        if target.released is None:
            return fresh
        return with_released_table(fresh, target.subject.facts, target.released)

    def randomness() -> AttackResult:
        return audit_randomness(target.subject, sizes.n_cells, seed_of(target.subject))

    def bits() -> AttackResult:
        subject = target.few_columns
        return audit_bits(subject, sizes.n_bits, seed_of(subject), progress=tell("last bits"))

    def black_box() -> AttackResult:
        subject, total = target.few_columns, 100
        pairs = (
            *canary_pairs(subject.facts), *moved_pairs(subject, target.n_rows, sizes.seed),
        )  # fmt: skip
        settings = BlackBoxSettings(n_trials=sizes.n_trials, seed=sizes.seed, pairs=pairs)
        return audit_black_box(
            subject, settings,
            lambda share: progress(round(total * share), total, "black box"),
        )  # fmt: skip

    def timing() -> AttackResult:
        return audit_timing(target.few_columns, sizes.n_calls, seed_of(target.few_columns))

    found = (replay, noise, randomness, bits, black_box, timing)
    return dict(zip(ATTACKS, found, strict=True))


def _noise(subject: Subject, n_releases: int, seed: int | None) -> AttackResult:
    """Scale and law of the noise, from releases of zeros or of one row."""
    facts = subject.facts
    if isinstance(facts.law, CodewordLaw):
        row = facts.law.mechanism.to_scaled(facts.law.mechanism.bound(dense_row(facts)))
        n_trials = _CODEWORDS_A_RELEASE * n_releases
        released = check_releases(subject.run(row, n_trials, seed), n_trials)
        return audit_codewords(facts, released, row)
    zeros = np.zeros((_NOISE_ROWS, facts.dimension))
    n_releases = max(n_releases, math.ceil(_FEWEST_NOISE_CELLS / zeros.size))
    releases = check_releases(subject.run(zeros, n_releases, seed), n_releases)
    if releases.shape[1] != zeros.size:
        raise ChainError(
            "subject", f"{zeros.size} values for {_NOISE_ROWS} rows", f"{releases.shape[1]}",
            "The scale of noise is measured on released rows; leave this attack out with --only.",
        )  # fmt: skip
    released = releases.reshape(-1, facts.dimension)
    return audit_noise(facts, released, np.zeros_like(released))
