"""Rows that are rebuilt from fresh releases, and how far they are from the truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from neuroveil.audit.table.channels import ReleasedRows, block_size
from neuroveil.audit.table.codewords import CodewordCandidates, CodewordChannel, messages_of
from neuroveil.audit.table.effort import Effort, Progress
from neuroveil.audit.table.frame import Target
from neuroveil.audit.table.prior import Prior, fit_prior
from neuroveil.privacy.bounds import IntArray
from neuroveil.privacy.codebook.messages import decode
from neuroveil.types.recording import FloatArray

_MOST_FOLDS = 20
_LINKS_A_ROW = 5  # a mean square needs fewer draws than a rate of matches
_VARIES = 1e-9


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
