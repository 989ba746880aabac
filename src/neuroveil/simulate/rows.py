"""Feature rows drawn directly, without signals."""

from __future__ import annotations

import numpy as np

from neuroveil.errors import StudyError, StudyMistake
from neuroveil.types.recording import FloatArray
from neuroveil.types.scaling import Scaling


def simulate_rows(n: int, scaling: Scaling, seed: int) -> FloatArray:
    """Draw rows of people who do not exist from the public reference.

    The rows are normal with mean 0 and the reference's covariance of scaled columns, or
    uncorrelated with variance 1 where the reference carries none. A rehearsal of a release
    uses them in place of the private table, so it spends no budget.

    Parameters
    ----------
    n : int
        Number of rows, at least 1.
    scaling : Scaling
        Public constants of the study's columns.
    seed : int
        Seed, not negative.

    Returns
    -------
    ndarray of float64, shape (n, n_features)
        Scaled rows (no unit), before clipping.

    Raises
    ------
    StudyError
        If ``n`` or ``seed`` is out of range, the constants are private, or their covariance
        is not one.
    """
    _check(n, seed)
    if scaling.fitted_on != "public":
        raise _mistake(
            "reference", "public constants", "constants fitted on the private cohort",
            "Rehearse with a public reference: rows drawn from private statistics would leak.",
        )  # fmt: skip
    normal = np.random.default_rng(seed).standard_normal((n, len(scaling.columns)))
    if scaling.covariance is None:
        return normal
    return normal @ _square_root(scaling.covariance)


def spectrum_basis(d: int, decay: float, seed: int) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues and eigenvectors that :func:`spectrum_rows` draws from.

    Parameters
    ----------
    d : int
        Number of columns, at least 1.
    decay : float
        Exponent of the spectrum, at least 0: eigenvalue j is proportional to j^-decay.
    seed : int
        Seed, not negative.

    Returns
    -------
    eigenvalues : ndarray of float64, shape (d,)
        From the largest to the smallest; they add up to ``d``, so that a column has
        variance 1 on average and rows have norms of about sqrt(d).
    basis : ndarray of float64, shape (d, d)
        Orthonormal eigenvectors, one a column, uniform over all rotations (Stewart 1980).

    Raises
    ------
    StudyError
        If a parameter is out of range.
    """
    _check(d, seed, name="d")
    if not (np.isfinite(decay) and decay >= 0):
        raise _mistake("simulate.decay", "a number of at least 0", repr(decay), "Change it.")
    eigenvalues = np.arange(1, d + 1, dtype=np.float64) ** -decay
    eigenvalues *= d / eigenvalues.sum()
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))
    basis, triangle = np.linalg.qr(rng.standard_normal((d, d)))
    # Without the signs of R's diagonal the rotation would not be uniform.
    return eigenvalues, np.asarray(basis * np.sign(np.diag(triangle)))


def spectrum_rows(n: int, d: int, decay: float, seed: int) -> FloatArray:
    """Draw rows whose covariance has a power-law spectrum in a random direction.

    Parameters
    ----------
    n : int
        Number of rows, at least 1.
    d : int
        Number of columns, at least 1.
    decay : float
        Exponent of the spectrum, see :func:`spectrum_basis`.
    seed : int
        Seed, not negative; the same seed has the same basis for every ``n``.

    Returns
    -------
    ndarray of float64, shape (n, d)
        Rows with norms of about sqrt(d), so that a clip at norm 2 reaches nearly all.

    Raises
    ------
    StudyError
        If a parameter is out of range.
    """
    _check(n, seed)
    eigenvalues, basis = spectrum_basis(d, decay, seed)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))
    return np.asarray((rng.standard_normal((n, d)) * np.sqrt(eigenvalues)) @ basis.T)


def _square_root(covariance: FloatArray) -> FloatArray:
    eigenvalues, vectors = np.linalg.eigh(covariance)
    symmetric = bool(np.allclose(covariance, covariance.T, atol=1e-9))
    if not symmetric or eigenvalues[0] < -1e-9 * eigenvalues[-1]:
        raise _mistake(
            "reference covariance", "a symmetric matrix without negative eigenvalues", "another",
            "Rebuild the reference.",
        )  # fmt: skip
    root: FloatArray = (vectors * np.sqrt(np.clip(eigenvalues, 0.0, None))) @ vectors.T
    return root


def _check(n: int, seed: int, name: str = "n") -> None:
    if n < 1:
        raise _mistake(f"simulate.{name}", "at least 1", repr(n), "Ask for more.")
    if seed < 0:
        raise _mistake("simulate.seed", "a number that is not negative", repr(seed), "Change it.")


def _mistake(where: str, expected: str, found: str, remedy: str) -> StudyError:
    return StudyError([StudyMistake(where, expected, found, remedy)])
