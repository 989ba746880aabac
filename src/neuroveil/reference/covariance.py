"""A covariance that a handful of people can carry: channels times features.

190 columns have 17,955 covariances; seven people cannot say anything about them one by
one. If the covariance of two columns is the product of their channels' and their features'
covariance (a Kronecker product), 216 correlations remain, and every recording is worth ten
observations of the channels and nineteen of the features. Even so the largest eigenvalues
come out too large and the smallest too small, so both factors are shrunk towards the
identity by the shares that predict left-out people best.
"""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import numpy.typing as npt

from neuroveil.types.recording import FloatArray

CHANNEL_SHARES: tuple[float, ...] = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7)
FEATURE_SHARES: tuple[float, ...] = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7)
"""Shrinkage that is tried. At least 5 %, since features such as root mean square and
variance say the same: without it the factor could not be inverted in a stable way."""

MOST_FOLDS = 10
"""People are left out one by one, or in this many groups where there are more."""

MAX_ROUNDS, TOLERANCE = 500, 1e-9


def kronecker_factors(
    deviations: FloatArray, weights: FloatArray, shares: tuple[float, float]
) -> tuple[FloatArray, FloatArray]:
    """Estimate both factors by the flip-flop algorithm with shrinkage.

    Each factor in turn is the maximum-likelihood estimate given the other (Dutilleul 1999),
    then shrunk linearly towards the identity (in the manner of Ledoit & Wolf 2004), until
    nothing changes.

    Parameters
    ----------
    deviations : ndarray of float64, shape (n_samples, n_channels, n_features)
        Scaled values minus their centre (no unit), 0 where missing.
    weights : ndarray of float64, shape (n_samples,)
        Weight of each sample; they add up to 1.
    shares : tuple of float
        Shrinkage of the channel and of the feature factor, between 0 and 1.

    Returns
    -------
    channel : ndarray of float64, shape (n_channels, n_channels)
        Mean of the diagonal is 1.
    feature : ndarray of float64, shape (n_features, n_features)
        Carries the scale.
    """
    n_channels, n_features = deviations.shape[1:]
    weighted = deviations * np.sqrt(weights)[:, None, None]
    feature = np.eye(n_features)
    for _ in range(MAX_ROUNDS):
        before = feature
        channel = _mean_product(weighted, feature)
        channel = _shrink(channel * n_channels / np.trace(channel), shares[0])
        feature = _mean_product(weighted.swapaxes(1, 2), channel) / n_channels
        feature = _shrink(feature, shares[1])
        if float(np.abs(feature - before).max()) < TOLERANCE:
            break
    return channel, feature


def choose_shrinkage(deviations: FloatArray, people: tuple[str, ...]) -> tuple[float, float]:
    """Find the shares under which people are predicted best by the others.

    Parameters
    ----------
    deviations : ndarray of float64, shape (n_samples, n_channels, n_features)
        Scaled values minus their centre (no unit), 0 where missing.
    people : tuple of str
        Whose sample each is; a person is left out with all samples.

    Returns
    -------
    tuple of float
        Shares for channels and features from the grid; the larger ones on a tie.
    """
    keys = sorted(set(people))
    folds = [frozenset(keys[first::MOST_FOLDS]) for first in range(min(MOST_FOLDS, len(keys)))]
    scores = {
        shares: sum(_left_out_score(deviations, people, fold, shares) for fold in folds)
        for shares in product(CHANNEL_SHARES, FEATURE_SHARES)
    }
    return min(scores, key=lambda shares: (round(scores[shares], 9), -shares[0], -shares[1]))


def sample_weights(people: tuple[str, ...]) -> FloatArray:
    """Weights with which every person counts the same.

    Parameters
    ----------
    people : tuple of str
        Whose sample each is.

    Returns
    -------
    ndarray of float64, shape (n_samples,)
        Adds up to 1.
    """
    counts = Counter(people)
    return np.array([1 / (counts[person] * len(counts)) for person in people])


def to_unit_diagonal(covariance: FloatArray) -> FloatArray:
    """Turn a covariance into a correlation.

    Parameters
    ----------
    covariance : ndarray of float64, shape (n, n)
        Positive definite.

    Returns
    -------
    ndarray of float64, shape (n, n)
        Symmetric, with a diagonal of exactly 1.
    """
    scale = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(scale, scale)
    correlation = (correlation + correlation.T) / 2
    np.fill_diagonal(correlation, 1.0)
    return np.asarray(correlation)


def _mean_product(weighted: FloatArray, other: FloatArray) -> FloatArray:
    """Sum over samples of Z · other⁻¹ · Zᵀ, as one product of two flat matrices."""
    rows = weighted.shape[1]
    left = (weighted @ np.linalg.inv(other)).swapaxes(0, 1).reshape(rows, -1)
    return np.asarray(left @ weighted.swapaxes(0, 1).reshape(rows, -1).T)


def _shrink(matrix: FloatArray, share: float) -> FloatArray:
    target = np.eye(len(matrix)) * np.trace(matrix) / len(matrix)
    return np.asarray((1 - share) * matrix + share * target)


def _left_out_score(
    deviations: FloatArray,
    people: tuple[str, ...],
    left_out: frozenset[str],
    shares: tuple[float, float],
) -> float:
    """Negative log-likelihood of the people who are left out, up to constants."""
    kept = np.array([person not in left_out for person in people])
    channel, feature = kronecker_factors(
        deviations[kept], sample_weights(_only(people, kept)), shares
    )
    samples = deviations[~kept]
    whitened = np.linalg.inv(channel) @ samples @ np.linalg.inv(feature)
    distances = (whitened * samples).sum(axis=(1, 2))
    n_channels, n_features = samples.shape[1:]
    volume = n_features * np.linalg.slogdet(channel)[1] + n_channels * np.linalg.slogdet(feature)[1]
    mean_distance = distances @ sample_weights(_only(people, ~kept))
    return float(len(left_out) * (mean_distance + volume))


def _only(people: tuple[str, ...], kept: npt.NDArray[np.bool_]) -> tuple[str, ...]:
    return tuple(person for person, flag in zip(people, kept, strict=True) if flag)
