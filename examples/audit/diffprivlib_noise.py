"""Noise from diffprivlib, as a program: for libraries that need an environment of their own.

diffprivlib 0.6.6 does not import beside a current scikit-learn, so give it its own Python:

python -m venv peer && peer/bin/pip install diffprivlib "scikit-learn<1.6"
neuroveil audit mechanism --command "peer/bin/python examples/audit/diffprivlib_noise.py laplace" \
    --epsilon 1 --clip-norm 2 --noise laplace --noise-scale 4

Reads an array of shape (n_trials, n_rows, 1) on standard input, and writes one of the same shape.
"""

import io
import sys

import numpy as np
from diffprivlib.mechanisms import GaussianAnalytic, Laplace

SENSITIVITY = 4.0  # two rows of norm 2 at opposite ends, in one column

MECHANISMS = {
    "gaussian": lambda: GaussianAnalytic(epsilon=1.0, delta=1e-5, sensitivity=SENSITIVITY),
    "laplace": lambda: Laplace(epsilon=1.0, sensitivity=SENSITIVITY),
}


def main():
    """Randomise every cell of every trial."""
    mechanism = MECHANISMS[sys.argv[1]]()
    tables = np.load(io.BytesIO(sys.stdin.buffer.read()))
    clipped = np.clip(tables, -SENSITIVITY / 2, SENSITIVITY / 2)
    noisy = [mechanism.randomise(cell) for cell in clipped.ravel().tolist()]
    np.save(sys.stdout.buffer, np.array(noisy, dtype=float).reshape(tables.shape))


if __name__ == "__main__":
    main()
