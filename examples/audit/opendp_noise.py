"""Noise from OpenDP: exact, on a grid that does not depend on the row.

neuroveil audit mechanism --callable examples/audit/opendp_noise.py:gaussian \
    --epsilon 1 --delta 1e-5 --clip-norm 2 --noise gaussian --noise-scale 14.92252655
"""

import numpy as np
import opendp.prelude as dp

CLIP_NORM = 2.0
GAUSSIAN_STD = 14.92252655  # epsilon = 1, delta = 1e-5 at sensitivity 4, rounded up
LAPLACE_SCALE = 4.0  # epsilon = 1 at sensitivity 4, for one column

dp.enable_features("contrib")
_DOMAIN = dp.vector_domain(dp.atom_domain(T=float, nan=False))
_GAUSSIAN = dp.m.make_gaussian(_DOMAIN, dp.l2_distance(T=float), scale=GAUSSIAN_STD)
_LAPLACE = dp.m.make_laplace(_DOMAIN, dp.l1_distance(T=float), scale=LAPLACE_SCALE)


def clip(rows):
    """Shorten rows to the clipping norm."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows * np.minimum(1.0, CLIP_NORM / np.maximum(norms, 1e-300))


def gaussian(rows, n_trials):
    """Add exact Gaussian noise to every row of every trial."""
    return _add(_GAUSSIAN, rows, n_trials)


def laplace(rows, n_trials):
    """Add exact Laplace noise, of the right scale for one column."""
    return _add(_LAPLACE, rows, n_trials)


def _add(measurement, rows, n_trials):
    # One long vector is the quickest to hand over; its cells get noise independently.
    table = np.tile(clip(rows).ravel(), n_trials)
    return np.array(measurement(table.tolist())).reshape(n_trials, *rows.shape)
