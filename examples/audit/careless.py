"""Pipelines with one mistake each, and one without: what a replay and the check of seeds find.

neuroveil audit mechanism --callable examples/audit/careless.py:private_scaling --only replay \
    --epsilon 1 --delta 1e-5 --dimension 363 --clip-norm 2 \
    --noise gaussian --noise-scale 14.92252654

A function that takes a seed can be replayed.
"""

import numpy as np

CLIP_NORM = 2.0
STD = 14.92252654  # epsilon = 1, delta = 1e-5 at sensitivity 4


def clip(rows):
    """Shorten rows to the clipping norm."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows * np.minimum(1.0, CLIP_NORM / np.maximum(norms, 1e-300))


def careful(rows, seed):
    """Clip and add noise; nothing else."""
    return clip(rows) + np.random.default_rng(seed).normal(0.0, STD, rows.shape)


def private_scaling(rows, seed):
    """Scale by median and interquartile range of the patients themselves, without paying for it."""
    lower, centre, upper = np.percentile(rows, [25, 50, 75], axis=0)
    spread = np.where(upper - lower > 1e-9, upper - lower, 1.0)
    return careful((rows - centre) / spread, seed)


def same_seed(rows):
    """Start the generator from the same seed every time."""
    return careful(rows, 20260910)


def seed_per_row(rows, seed):
    """Give row i the seed that is i further on."""
    noisy = [careful(row[None], seed + number) for number, row in enumerate(rows)]
    return np.concatenate(noisy)
