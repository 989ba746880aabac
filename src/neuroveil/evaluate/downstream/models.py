"""Classifiers that learn from training rows and say how likely the positive class is.

Nothing of a test row reaches what is learned. What a recipient knows in public anyway, such as
the size of the noise and the covariance of the public reference, may be used: that is
post-processing and costs nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from neuroveil.evaluate.downstream.noise_aware import noise_aware_classifier
from neuroveil.evaluate.downstream.rows import Lesson, Rows
from neuroveil.evaluate.downstream.scores import Labels
from neuroveil.types.recording import FloatArray

Judge = Callable[[Rows], FloatArray]
"""Gives the probability of the positive class for every row that it is shown."""


@dataclass(frozen=True)
class Model:
    """A classifier, and the settings among which it chooses inside the training rows.

    Parameters
    ----------
    name, label : str
        Key, and name for a reader.
    candidates : tuple of float
        Values of its one setting; a single one where there is nothing to choose.
    fit : callable
        Takes a lesson, one of the candidates and a seed, and gives a judge.
    """

    name: str
    label: str
    candidates: tuple[float, ...]
    fit: Callable[[Lesson, float, int], Judge]


def multilayer_perceptron(
    train: FloatArray, labels: Labels, seed: int
) -> Callable[..., FloatArray]:
    """Learn with the multilayer perceptron of the paper.

    Columns are standardised with mean and standard deviation of the training rows; 100 hidden
    rectified linear units, Adam, penalty 1e-4, at most 200 passes, no early stopping.

    Parameters
    ----------
    train : ndarray of float64, shape (n_train, n_features)
        Training rows (no unit).
    labels : ndarray of bool, shape (n_train,)
        True for the positive class; both classes present.
    seed : int
        Seed of weights and of the order of rows.

    Returns
    -------
    callable
        From rows of shape (n_test, n_features) to the probability of the positive class, of
        shape (n_test,).

    References
    ----------
    Section 4.3 of the paper; scikit-learn's ``MLPClassifier``.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    network = MLPClassifier(
        hidden_layer_sizes=(100,), activation="relu", solver="adam", alpha=1e-4,
        learning_rate="constant", max_iter=200, early_stopping=False, random_state=seed,
    )  # fmt: skip
    with warnings.catch_warnings():
        # 200 passes are the paper's limit; whether they were enough is part of what is judged.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return _standardised(network, train, labels)


def _standardised(classifier: Any, train: FloatArray, labels: Labels) -> Callable[..., FloatArray]:
    """Fit on standardised rows; what scikit-learn checks again at every call was checked before."""
    import sklearn
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler()
    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        classifier.fit(scaler.fit_transform(train), labels)

    def probabilities(rows: FloatArray) -> FloatArray:
        likely: FloatArray = classifier.predict_proba(scaler.transform(rows))[:, 1]
        return likely

    return probabilities


def _perceptron(lesson: Lesson, candidate: float, seed: int) -> Judge:
    judge = multilayer_perceptron(lesson.rows.values, lesson.labels, seed)
    return lambda rows: judge(rows.values)


def _logistic(lesson: Lesson, candidate: float, seed: int) -> Judge:
    from sklearn.linear_model import LogisticRegression

    # A penalty per column: with many columns each of them counts for less.
    strength = candidate / lesson.rows.values.shape[1]
    judge = _standardised(
        LogisticRegression(C=strength, max_iter=500), lesson.rows.values, lesson.labels
    )
    return lambda rows: judge(rows.values)


def _noise_aware(lesson: Lesson, candidate: float, seed: int) -> Judge:
    return noise_aware_classifier(lesson)


MODELS: dict[str, Model] = {
    "mlp": Model("mlp", "multilayer perceptron (the paper's)", (0.0,), _perceptron),
    "logistic": Model(
        "logistic", "logistic regression, penalty chosen inside", (0.01, 0.1, 1.0, 10.0), _logistic
    ),
    "noise_aware": Model(
        "noise_aware", "Bayes classifier that knows the noise", (0.0,), _noise_aware
    ),
}
"""Classifiers by name."""
