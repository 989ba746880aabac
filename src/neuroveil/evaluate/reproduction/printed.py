"""The numbers that the paper prints, with their places. Facts, nothing else.

The paper: N. Sadiq and M. Toorani, "Differentially Private EEG Feature Anonymization: A
Privacy-Utility Case Study in Clinical Neurophysiology", arXiv:2609.11777v1, 10 September 2026.
"""

from __future__ import annotations

from neuroveil.types.downstream import ConfusionMatrix
from neuroveil.types.reproduction import COUNTS, SCORES, Printed

EPSILONS: tuple[float, ...] = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
CLASSIFIER_EPSILON = 10.0
N_PATIENTS, N_POSITIVE = 17, 5
N_CHANNELS, N_CHANNEL_FEATURES, DIMENSION = 33, 11, 363
CLIP_NORM, DELTA = 2.0, 1e-5

_TABLE_1 = (
    ("Feature dimension", "d", "363"),
    ("Clipping threshold", "C", "2.0"),
    ("L2 sensitivity bound", "Δ₂", "4.0"),
    ("L1 sensitivity bound", "Δ₁", "76.21"),
    ("Gaussian δ", "δ", "0.00001"),
    ("Gaussian sensitivity used", "Δ₂", "4.0"),
    ("Laplace sensitivity used in implementation", "Δ₁", "4.0"),
)
_EQUATION_12 = ("8.0", "4.0", "2.0", "0.8", "0.4", "0.2")
_EQUATION_15 = ("152.42", "76.21", "38.10", "15.24", "7.62", "3.81")
_TABLE_3 = ("28.1273", "14.9225", "7.9752", "3.5675", "1.9996", "1.1602")
_TABLE_4 = {
    "rmse": ("28.7048", "14.7640", "7.9066", "3.5468", "1.9988", "1.1561"),
    "mae": ("22.9830", "11.7113", "6.3135", "2.8286", "1.5913", "0.9198"),
    "correlation": ("-0.0090", "-0.0052", "0.0105", "0.0220", "0.0522", "0.0743"),
    "snr_db": ("-48.7376", "-42.9626", "-37.5382", "-30.5752", "-25.5937", "-20.8387"),
}
_TABLE_5 = {
    "correlation": ("0.019", "0.024", "0.043", "0.103", "0.201", "0.335"),
    "snr_db": ("-40.79", "-34.51", "-28.66", "-20.54", "-14.80", "-8.61"),
}
_TABLE_7 = {
    "original": ("0.706", "0.500", "0.600", "0.750", "0.675", "0.545"),
    "gaussian": ("0.294", "0.294", "1.000", "0.000", "0.500", "0.455"),
    "paper_laplace": ("0.235", "0.214", "0.600", "0.083", "0.342", "0.316"),
}
_WILSON = {
    "original": ("0.469", "0.867", "0.231", "0.882", "0.468", "0.911"),
    "gaussian": ("0.133", "0.531", "0.566", "1.000", "0.000", "0.242"),
    "paper_laplace": ("0.096", "0.473", "0.231", "0.882", "0.015", "0.354"),
}
_WILSON_PLACES = tuple(
    f"{score}, {end}" for score in ("accuracy", "recall", "specificity") for end in ("low", "high")
)

CONFUSION: dict[str, ConfusionMatrix] = {
    "original": ConfusionMatrix(9, 3, 2, 3),
    "gaussian": ConfusionMatrix(0, 12, 0, 5),
    "paper_laplace": ConfusionMatrix(1, 11, 2, 3),
}
"""Figures 9a, 10a and 11a."""

THRESHOLDS: dict[str, Printed] = {
    name: Printed("Section 4.3", name, "threshold", text)
    for name, text in (("original", "0.40"), ("gaussian", "0.05"), ("paper_laplace", "0.10"))
}
"""Section 4.3: the thresholds that the paper picked."""


def table_1() -> tuple[Printed, ...]:
    """Give the numbers of Table 1.

    Returns
    -------
    tuple of Printed
        In the paper's order.
    """
    return tuple(Printed("Table 1", *rest) for rest in _TABLE_1)


def laplace_scales() -> dict[str, tuple[Printed, ...]]:
    """Give the Laplace scales of Equations 12 and 15, which Table 2 repeats.

    Returns
    -------
    dict of str to tuple of Printed
        ``"paper_laplace"`` as implemented, ``"laplace"`` as a guarantee would need.
    """
    return {
        "paper_laplace": _by_epsilon("Equation 12", "b", _EQUATION_12),
        "laplace": _by_epsilon("Equation 15", "b", _EQUATION_15),
    }


def table_3() -> tuple[Printed, ...]:
    """Give the noise scales of Table 3.

    Returns
    -------
    tuple of Printed
        By epsilon.
    """
    return _by_epsilon("Table 3", "σ", _TABLE_3)


def trend(name: str) -> dict[str, tuple[Printed, ...]]:
    """Give the numbers of Table 4 (Gaussian) or Table 5 (Laplace).

    Parameters
    ----------
    name : {"gaussian", "paper_laplace"}
        Mechanism.

    Returns
    -------
    dict of str to tuple of Printed
        By quantity, and then by epsilon.
    """
    place, columns = ("Table 4", _TABLE_4) if name == "gaussian" else ("Table 5", _TABLE_5)
    return {quantity: _by_epsilon(place, quantity, texts) for quantity, texts in columns.items()}


def table_7(name: str) -> tuple[Printed, ...]:
    """Give a row of Table 7.

    Parameters
    ----------
    name : {"original", "gaussian", "paper_laplace"}
        Kind of rows.

    Returns
    -------
    tuple of Printed
        The scores, in the paper's order.
    """
    pairs = zip(SCORES, _TABLE_7[name], strict=True)
    return tuple(Printed("Table 7", name, score, text) for score, text in pairs)


def wilson_intervals(name: str) -> tuple[Printed, ...]:
    """Give the Wilson intervals of Section 4.3.1.

    Parameters
    ----------
    name : {"original", "gaussian", "paper_laplace"}
        Kind of rows.

    Returns
    -------
    tuple of Printed
        Ends of the intervals of accuracy, recall and specificity.
    """
    pairs = zip(_WILSON_PLACES, _WILSON[name], strict=True)
    return tuple(Printed("Section 4.3.1", name, place, text) for place, text in pairs)


def counts(name: str) -> tuple[Printed, ...]:
    """Give a confusion matrix of Figures 9a, 10a and 11a.

    Parameters
    ----------
    name : {"original", "gaussian", "paper_laplace"}
        Kind of rows.

    Returns
    -------
    tuple of Printed
        The four counts of patients.
    """
    figure = {"original": "Figure 9a", "gaussian": "Figure 10a", "paper_laplace": "Figure 11a"}
    matrix = CONFUSION[name]
    return tuple(Printed(figure[name], name, key, str(getattr(matrix, key))) for key in COUNTS)


def _by_epsilon(place: str, quantity: str, texts: tuple[str, ...]) -> tuple[Printed, ...]:
    pairs = zip(EPSILONS, texts, strict=True)
    return tuple(Printed(place, f"ε = {epsilon:g}", quantity, text) for epsilon, text in pairs)
