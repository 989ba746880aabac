"""Reconstruction: how much of a patient's row comes back from the released one.

The attacker knows the rows of other patients, never the one that is attacked, and works out
what to expect of a row given its release. Only what goes beyond the average of the others
counts as reconstructed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from neuroveil.audit.mechanism.estimators import LEVEL
from neuroveil.audit.table.channels import ReleasedRows, block_size
from neuroveil.audit.table.codewords import CodewordCandidates, CodewordChannel, messages_of
from neuroveil.audit.table.effort import Effort, Progress
from neuroveil.audit.table.frame import AuditFrame, Target
from neuroveil.audit.table.judging import MARGIN, Yardstick, common_limits, judge
from neuroveil.audit.table.prior import Prior, fit_prior
from neuroveil.audit.table.rates import POWER_FACTOR, interval
from neuroveil.privacy.bounds import IntArray
from neuroveil.privacy.codebook.messages import decode
from neuroveil.types.audit import AttackResult, AuditCurve, AuditFigure
from neuroveil.types.recording import FloatArray

_MOST_FOLDS = 20
_LINKS_A_ROW = 5  # a mean square needs fewer draws than a rate of matches
_VARIES = 1e-9
_MOST_POINTS = 50
_YARDSTICK = Yardstick(0.0, 0.5)
_LABELS = {
    "r_squared": "Share of a column's variance that is rebuilt (R², mean over columns)",
    "r_squared_codeword": "The same by the likelihood of the codeword",
}


@dataclass(frozen=True, eq=False, repr=False)
class Rebuilt:
    """Squared errors of rebuilt rows, by patient and column. Private.

    Parameters
    ----------
    errors, wrong, before : ndarray of float64, shape (n_patients, n_varying)
        Mean squares of the rebuilt row's error, of its error where another patient's released
        row was taken, and of the error of the other patients' mean; only columns that vary.
    n_draws : int
        Fresh releases of each row.
    """

    errors: FloatArray
    wrong: FloatArray
    before: FloatArray
    n_draws: int

    def explained(
        self, errors: FloatArray, weights: FloatArray, before: FloatArray | None = None
    ) -> FloatArray:
        """Give the share of variance that is explained, column by column.

        Parameters
        ----------
        errors : ndarray of float64, shape (n_patients, n_columns)
            :attr:`errors` or :attr:`wrong`, or some of their columns.
        weights : ndarray of float64, shape (n_tables, n_patients)
            How often each patient counts.
        before : ndarray of float64, shape (n_patients, n_columns), optional
            The same columns of :attr:`before`; all by default.

        Returns
        -------
        ndarray of float64, shape (n_tables, n_columns)
            R^2 against the prior mean; not a number where nothing varies.
        """
        before = self.before if before is None else before
        with np.errstate(invalid="ignore", divide="ignore"):
            shares: FloatArray = 1 - (weights @ errors) / (weights @ before)
        return shares


def attack_reconstruction(
    frame: AuditFrame, target: Target, effort: Effort, progress: Progress | None = None
) -> AttackResult:
    """Attack a target by rebuilding rows from released ones.

    Parameters
    ----------
    frame : AuditFrame
        The table.
    target : Target
        What is attacked; it must release rows.
    effort : Effort
        How long it may take.
    progress : callable, optional
        Called with (done, total).

    Returns
    -------
    AttackResult
        Internal. ``r_squared`` is the mean over columns, so that columns of another scaling
        count alike; ``r_squared_codeword`` that of an attacker who weighs codewords by their
        likelihood instead of filtering decoded rows.
    """
    found = rebuild_rows(target, effort, progress)
    n = frame.n_patients
    generator = effort.generator("reconstruction, bootstrap")
    tables = generator.multinomial(n, np.full(n, 1 / n), size=effort.n_bootstraps)
    weights = tables.astype(np.float64)
    figures = tuple(_figure(name, rebuilt, weights) for name, rebuilt in found.items())
    rebuilt = found["r_squared"]
    return AttackResult(
        attack="reconstruction",
        title="Reconstruction",
        question="How much of a patient's row can be rebuilt from the released one?",
        target=target.name,
        verdict=judge(n, figures, _YARDSTICK),
        sentence=_sentence(target, figures),
        figures=figures,
        curves=_curves(rebuilt, weights),
        limits=_limits(frame, target),
        settings={
            "mechanism": target.channel.name,
            "draws_of_each_row": rebuilt.n_draws,
            "columns_that_vary": int(rebuilt.before.shape[1]),
            "prior": "mean and shrunk covariance of other patients",
            "margin": MARGIN,
            "bootstrap_tables": effort.n_bootstraps,
            "seed": effort.seed,
        },
    )


@dataclass(frozen=True, eq=False, repr=False)
class _Method:
    """A way to rebuild rows: what is seen of a release, and what is known of others."""

    bounded: FloatArray
    back: FloatArray
    view: Callable[[ReleasedRows], FloatArray]
    guess: Callable[[Prior, FloatArray], FloatArray]


def rebuild_rows(
    target: Target, effort: Effort, progress: Progress | None = None
) -> dict[str, Rebuilt]:
    """Release rows anew and rebuild each from what other patients have taught.

    Parameters
    ----------
    target : Target
        What is attacked.
    effort : Effort
        How long it may take.
    progress : callable, optional
        Called with (done, total).

    Returns
    -------
    dict of str to Rebuilt
        Errors by name of the figure: ``r_squared``, and ``r_squared_codeword`` where
        codewords are released.
    """
    rows, (n, _) = target.rows, target.rows.shape
    source, choices = effort.source("reconstruction"), effort.generator("reconstruction")
    fold = choices.permutation(np.arange(n) % min(n, _MOST_FOLDS))
    methods = _methods(target)
    priors = {
        name: [
            fit_prior(rows[fold != number], method.bounded[fold != number], method.back)
            for number in range(int(fold.max()) + 1)
        ]
        for name, method in methods.items()
    }
    cost = n * max(target.row_channel.cells_a_row, _MOST_FOLDS * target.channel.dimension)
    n_draws = effort.draws(-(-effort.n_links // (_LINKS_A_ROW * n)), cost)
    a_block = block_size(n * rows.shape[1])
    sums = {name: (np.zeros_like(rows), np.zeros_like(rows)) for name in methods}
    for start in range(0, n_draws, a_block):
        which = np.tile(np.arange(n), min(a_block, n_draws - start))
        released = target.candidates.draw(which, source)
        owners = which, (which + int(choices.integers(1, n))) % n  # the second is another one
        for name, method in methods.items():
            seen = method.view(released)
            for owner, into in zip(owners, sums[name], strict=True):
                _add_errors(rows, [partial(method.guess, prior) for prior in priors[name]],
                            fold[owner], (seen, owner), into)  # fmt: skip
        if progress is not None:
            progress(min(start + a_block, n_draws), n_draws)
    means = np.array([priors["r_squared"][number].mean_row for number in fold])
    varies = np.ptp(rows, axis=0) > _VARIES
    before = np.square(rows - means)[:, varies]
    return {
        name: Rebuilt(right[:, varies] / n_draws, wrong[:, varies] / n_draws, before, n_draws)
        for name, (right, wrong) in sums.items()
    }


def _methods(target: Target) -> dict[str, _Method]:
    channel, candidates = target.row_channel, target.candidates
    basis = getattr(channel, "basis", None)
    back = np.eye(channel.dimension) if basis is None else basis.T
    noise = channel.noise_variance
    methods = {
        "r_squared": _Method(
            candidates.rows,
            back,
            channel.values,
            lambda prior, seen: prior.given_noisy(seen, noise),
        )
    }
    if isinstance(candidates, CodewordCandidates):
        mechanism, chances = candidates.channel.mechanism, candidates.channel.log_chances
        threshold = closeness_threshold(candidates.channel)
        methods["r_squared_codeword"] = _Method(
            mechanism.to_scaled(candidates.lifted),
            np.vstack([back, np.zeros(back.shape[1])]),  # a codeword has the lifted coordinate too
            lambda released: decode(messages_of(released), mechanism.design),
            lambda prior, seen: prior.given_codeword(seen, threshold, chances),
        )
    return methods


def _add_errors(
    rows: FloatArray,
    guesses: list[Callable[[FloatArray], FloatArray]],
    fold: IntArray,
    released: tuple[FloatArray, IntArray],
    sums: FloatArray,
) -> None:
    """Rebuild every released row as if it were that of a given patient; add squared errors."""
    seen, owner = released
    for number, guess in enumerate(guesses):
        chosen = fold == number
        mine = owner[chosen]
        np.add.at(sums, mine, np.square(guess(seen[chosen]) - rows[mine]))


def closeness_threshold(channel: CodewordChannel) -> float:
    """Give the inner product from which a codeword is among the K closest of N.

    Codewords are spread evenly over the sphere, so that it is nearly the same for every row.

    Parameters
    ----------
    channel : CodewordChannel
        The public mechanism.

    Returns
    -------
    float
        Of a unit codeword with a row of the clipping norm (no unit).
    """
    from scipy.stats import beta

    design = channel.mechanism.design
    half = (design.sphere_dimension - 1) / 2
    share = design.top / design.size
    return float(2 * beta.isf(share, half, half) - 1) * channel.mechanism.spec.clip_norm


def _figure(name: str, rebuilt: Rebuilt, weights: FloatArray) -> AuditFigure:
    once = np.ones((1, weights.shape[1]))
    errors, wrong = rebuilt.errors, rebuilt.wrong
    value, control = (_mean(rebuilt.explained(each, once))[0] for each in (errors, wrong))
    samples, null = (_mean(rebuilt.explained(each, weights)) for each in (errors, wrong))
    low, high = interval(samples[np.isfinite(samples)])
    control_low, control_high = interval(null[np.isfinite(null)])
    spread = float(null[np.isfinite(null)].std()) if np.isfinite(null).any() else float("inf")
    return AuditFigure(
        name=name, label=_LABELS[name],
        value=float(value), low=low, high=high, level=LEVEL, n=weights.shape[1],
        control=float(control), control_low=control_low, control_high=control_high,
        smallest_detectable=max(MARGIN, POWER_FACTOR * spread),
    )  # fmt: skip


def _mean(shares: FloatArray) -> FloatArray:
    """Mean over columns, in each table over those that vary in it."""
    defined = np.isfinite(shares)
    totals = np.where(defined, shares, 0.0).sum(axis=1)
    counts = defined.sum(axis=1)
    return np.where(counts > 0, totals / np.maximum(counts, 1), np.nan)


def _curves(rebuilt: Rebuilt, weights: FloatArray) -> tuple[AuditCurve, ...]:
    n_columns = rebuilt.before.shape[1]
    if n_columns == 0:
        return ()
    once = np.ones((1, weights.shape[1]))
    column = rebuilt.explained(rebuilt.errors, once)[0]
    places = np.unique(np.linspace(0, n_columns - 1, _MOST_POINTS).round().astype(int))
    chosen = np.argsort(-column, kind="stable")[places]
    samples = rebuilt.explained(rebuilt.errors[:, chosen], weights, rebuilt.before[:, chosen])
    low, high = np.nanpercentile(samples, [2.5, 97.5], axis=0)
    wrong = rebuilt.explained(rebuilt.wrong, once)[0][chosen]
    return (
        AuditCurve(
            "columns", "Columns from the best rebuilt to the worst", "columns", "R²",
            tuple((places + 1.0).tolist()), tuple(column[chosen].tolist()),
            tuple(low.tolist()), tuple(high.tolist()), tuple(wrong.tolist()),
        ),
    )  # fmt: skip


def _limits(frame: AuditFrame, target: Target) -> tuple[str, ...]:
    return (
        "The attacker expects rows to be Gaussian; somebody with a better model of EEG may rebuild "
        "more.",
        "A value of 0 means nothing beyond the mean of other patients; the wrong-row control is "
        "below 0 where a release is trusted that belongs to somebody else.",
        *common_limits(frame, target, frame.n_patients),
    )


def _sentence(target: Target, figures: tuple[AuditFigure, ...]) -> str:
    best = max(figure.value for figure in figures)
    if not np.isfinite(best):
        return "All patients have the same row, so that there is nothing to rebuild."
    return (
        f"From {target.label}, somebody who knows other patients' rows rebuilds "
        f"{100 * max(best, 0.0):.0f} % of what a row has beyond their average."
    )
