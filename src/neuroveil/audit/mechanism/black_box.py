"""Tier 3: a mechanism as a black box, told apart on the hardest pair of tables.

Releases of two neighbouring tables are scored. A pilot chooses the pair, one half of the trials
chooses the event, the other half certifies it: the bound holds whatever the score is, and it holds
for mechanisms of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from neuroveil.audit.mechanism.canaries import CanaryPair, canary_pairs
from neuroveil.audit.mechanism.estimators import LEVEL
from neuroveil.audit.mechanism.events import Certified, certify, choose_event
from neuroveil.audit.mechanism.gaussian_dp import GaussianEstimate, gaussian_estimate
from neuroveil.audit.mechanism.laws import AdditiveLaw, CodewordLaw
from neuroveil.audit.mechanism.scores import Score, known_score, learned_score
from neuroveil.audit.subject import Subject, check_releases
from neuroveil.errors import ChainError
from neuroveil.types.recording import FloatArray

_VALUES_AT_ONCE = 1 << 21
_VALUES_FOR_LEARNING = 1 << 23
_SMALLEST_RUN = 100
_PILOT_SHARE = 5
_PILOT_SHARE_WITH_LAW = 20
_PILOTS_FOR_LEARNING = 2

PURE_DELTA = 1e-5
"""Delta at which a pure claim is held against the Gaussian estimate, which needs one: a pure claim
holds at every delta."""


@dataclass(frozen=True)
class BlackBoxSettings:
    """Public settings of a black-box audit.

    Parameters
    ----------
    n_trials : int
        Certifying trials on each side, at least 100. As many again choose the event, and as many
        pairs of trials again run as the null control: 6 n_trials releases and a pilot.
    level : float
        Confidence of a bound.
    seed : int
        Seed for subjects that are repeatable.
    pairs : tuple of CanaryPair
        Pairs to try; none for :func:`~neuroveil.audit.mechanism.canaries.canary_pairs`.

    Raises
    ------
    ChainError
        If there are too few trials, or the level is no probability.
    """

    n_trials: int = 25_000
    level: float = LEVEL
    seed: int = 0
    pairs: tuple[CanaryPair, ...] = ()

    def __post_init__(self) -> None:
        if self.n_trials < _SMALLEST_RUN or not 0 < self.level < 1:
            raise ChainError(
                "audit.n_trials", f"at least {_SMALLEST_RUN}, and a level between 0 and 1",
                f"{self.n_trials} and {self.level!r}", "Ask for more trials.",
            )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Duel:
    """What a black-box run measured on the pair that it settled on.

    Parameters
    ----------
    pair : CanaryPair
        The pair of tables.
    certified : Certified
        The bound that needs no assumption.
    control : Certified
        The same with releases of the first table on both sides.
    gaussian : GaussianEstimate, optional
        The Gaussian estimate, whose fit test may have failed; none where scores cannot be normal.
    gaussian_control : GaussianEstimate, optional
        The same with releases of the first table on both sides.
    first, second, null : ndarray of float64, shape (n_trials,)
        Certifying scores on the two tables, and of the second set of releases of the first.
    """

    pair: CanaryPair
    certified: Certified
    control: Certified
    gaussian: GaussianEstimate | None
    gaussian_control: GaussianEstimate | None
    first: FloatArray
    second: FloatArray
    null: FloatArray


def duel(
    subject: Subject,
    settings: BlackBoxSettings,
    progress: Callable[[float], None] | None = None,
) -> Duel:
    """Run a subject on the hardest pair of tables and certify a bound.

    Parameters
    ----------
    subject : Subject
        What is audited.
    settings : BlackBoxSettings
        Trials, level, pairs.
    progress : callable, optional
        Called with the finished share of the trials, from 0 to 1.

    Returns
    -------
    Duel
        Bounds with their controls, and the scores.

    Raises
    ------
    ChainError
        If the subject gives what no release can be.
    """
    trials = _Trials(subject, settings, progress)
    n_trials, level = settings.n_trials, settings.level
    delta = subject.facts.delta
    pair, score = trials.best_pair(settings.pairs or canary_pairs(subject.facts))
    first, second, null = (
        trials.scores(table, 2 * n_trials, score) for table in (pair.first, pair.second, pair.first)
    )

    def bound(other: FloatArray) -> Certified:
        event = choose_event(first[:n_trials], other[:n_trials], delta, level)
        return certify(event, first[n_trials:], other[n_trials:], delta, level)

    # The score was fixed before these trials, so the estimate may use both halves.
    gaussian, control = (
        gaussian_estimate(first, other, delta or PURE_DELTA, level) for other in (second, null)
    )
    trials.finish()
    half = slice(n_trials, None)
    return Duel(
        pair, bound(second), bound(null), gaussian, control, first[half], second[half], null[half]
    )


class _Trials:
    """Runs a subject in pieces that fit into memory, each with a seed of its own."""

    def __init__(
        self,
        subject: Subject,
        settings: BlackBoxSettings,
        progress: Callable[[float], None] | None,
    ) -> None:
        self._subject = subject
        self._settings = settings
        self._progress = progress
        self._pieces = 0
        self._done = 0
        share = _PILOT_SHARE if subject.facts.law is None else _PILOT_SHARE_WITH_LAW
        self._pilot = min(settings.n_trials, max(_SMALLEST_RUN, settings.n_trials // share))
        pairs = settings.pairs or canary_pairs(subject.facts)
        learned = [pair for pair in pairs if known_score(subject.facts, pair) is None]
        self._planned = (
            6 * settings.n_trials
            + 2 * self._pilot * (len(pairs) if len(pairs) > 1 else 0)
            + 2 * sum(self._learning(pair) for pair in learned)
        )

    def best_pair(self, pairs: tuple[CanaryPair, ...]) -> tuple[CanaryPair, Score]:
        """Choose the pair that a pilot tells apart best, and how it is scored."""
        found = [(pair, self._score(pair)) for pair in pairs]
        if len(found) == 1:
            return found[0]
        return max(found, key=lambda each: self._promise(*each))

    def scores(self, table: FloatArray, n_trials: int, score: Score) -> FloatArray:
        """Release a table often and keep the scores only."""
        found = []
        while n_trials > 0:
            count = min(n_trials, max(1, _VALUES_AT_ONCE // table.size))
            found.append(score(self._run(table, count)))
            n_trials -= count
        return np.concatenate(found)

    def finish(self) -> None:
        """Say that nothing is left to do."""
        if self._progress is not None:
            self._progress(1.0)

    def _score(self, pair: CanaryPair) -> Score:
        score = known_score(self._subject.facts, pair)
        if score is not None:
            return score
        count = self._learning(pair)
        return learned_score(self._run(pair.first, count), self._run(pair.second, count), pair)

    def _learning(self, pair: CanaryPair) -> int:
        """Releases of each table to learn from, as many as fit into memory."""
        return max(
            _SMALLEST_RUN,
            min(_PILOTS_FOR_LEARNING * self._pilot, _VALUES_FOR_LEARNING // pair.first.size),
        )

    def _promise(self, pair: CanaryPair, score: Score) -> tuple[float, float]:
        """Epsilon of a pair: certified by the pilot, or the promised law's where that is more.

        A pilot is short and its order of equal pairs is chance, so the law leads where there is
        one; a pair that leaks more than the law allows still comes first.
        """
        first = self.scores(pair.first, self._pilot, score)
        second = self.scores(pair.second, self._pilot, score)
        facts, level = self._subject.facts, self._settings.level
        event = choose_event(first, second, facts.delta, level)
        bound = certify(event, first, second, facts.delta, level).bound
        if isinstance(facts.law, AdditiveLaw) or (
            isinstance(facts.law, CodewordLaw) and pair.displacement is None
        ):
            tables = pair.first, pair.second
            if pair.displacement is not None:
                tables = pair.displacement[None], np.zeros_like(pair.displacement)[None]
            bound = max(bound, facts.law.trade_off(*tables).epsilon(facts.delta or PURE_DELTA))
        spread = float(np.sqrt((first.var() + second.var()) / 2))
        apart = abs(float(first.mean() - second.mean()))
        return bound, apart / spread if spread > 0 else apart

    def _run(self, table: FloatArray, count: int) -> FloatArray:
        seed = None
        if self._subject.facts.repeatable:
            words = np.random.SeedSequence([self._settings.seed, self._pieces]).generate_state(2)
            seed = int(words[0]) << 32 | int(words[1])
        self._pieces += 1
        values = check_releases(self._subject.run(table, count, seed), count)
        self._done += count
        if self._progress is not None:
            self._progress(min(1.0, self._done / self._planned))
        return values
