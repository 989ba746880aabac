"""Classifiers that learn from training rows and say how likely the positive class is.

All have one form: training rows, training labels, test rows and a seed in, probabilities out.
Nothing of the test rows reaches what is learned.
"""

from __future__ import annotations

import warnings

from neuroveil.evaluate.downstream.scores import Labels
from neuroveil.types.recording import FloatArray


def multilayer_perceptron(
    train: FloatArray, labels: Labels, test: FloatArray, seed: int
) -> FloatArray:
    """Learn with the multilayer perceptron of the paper.

    Columns are standardised with mean and standard deviation of the training rows; 100 hidden
    rectified linear units, Adam, penalty 1e-4, at most 200 passes, no early stopping.

    Parameters
    ----------
    train : ndarray of float64, shape (n_train, n_features)
        Training rows (no unit).
    labels : ndarray of bool, shape (n_train,)
        True for the positive class; both classes present.
    test : ndarray of float64, shape (n_test, n_features)
        Rows to judge (no unit).
    seed : int
        Seed of weights and of the order of rows.

    Returns
    -------
    ndarray of float64, shape (n_test,)
        Probability of the positive class, from 0 to 1.

    References
    ----------
    Section 4.3 of the paper; scikit-learn's ``MLPClassifier``.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(
        StandardScaler(),
        MLPClassifier(
            hidden_layer_sizes=(100,), activation="relu", solver="adam", alpha=1e-4,
            learning_rate="constant", max_iter=200, early_stopping=False, random_state=seed,
        ),
    )  # fmt: skip
    with warnings.catch_warnings():
        # 200 passes are the paper's limit; whether they were enough is part of what is judged.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(train, labels)
    probabilities: FloatArray = model.predict_proba(test)[:, 1]
    return probabilities
