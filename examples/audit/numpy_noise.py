"""Noise from numpy, drawn in floating point: last bits give rows away.

neuroveil audit mechanism --callable examples/audit/numpy_noise.py:gaussian \
    --epsilon 1 --delta 1e-5 --clip-norm 2 --noise gaussian --noise-scale 14.92252654
"""

import numpy as np

CLIP_NORM = 2.0
GAUSSIAN_STD = 14.92252654  # epsilon = 1, delta = 1e-5 at sensitivity 4
LAPLACE_SCALE = 4.0  # epsilon = 1 at sensitivity 4, for one column

_GENERATOR = np.random.default_rng()


def clip(rows):
    """Shorten rows to the clipping norm."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows * np.minimum(1.0, CLIP_NORM / np.maximum(norms, 1e-300))


def gaussian(rows, n_trials):
    """Add Gaussian noise of the right scale, as a float."""
    return clip(rows) + _GENERATOR.normal(0.0, GAUSSIAN_STD, (n_trials, *rows.shape))


def laplace(rows, n_trials):
    """Add Laplace noise of the right scale for one column, as a float."""
    return clip(rows) + _GENERATOR.laplace(0.0, LAPLACE_SCALE, (n_trials, *rows.shape))
