"""Where a step of the paper does not carry its claim, and how much that matters.

The paper names most of these limits itself. What is added here is their size.
"""

from __future__ import annotations

from collections.abc import Mapping

from neuroveil.evaluate.reproduction import printed
from neuroveil.evaluate.reproduction.printed import EPSILONS
from neuroveil.evaluate.reproduction.theory import (
    epsilon_of_paper_laplace,
    epsilon_with_private_scaling,
    paper_mechanism,
    paper_scale,
    sensitivity,
)
from neuroveil.types.reproduction import ClassifierFigures, Effect, MechanismFigures
from neuroveil.types.utility import Estimate

_ALL_POSITIVE_F1 = 2 * printed.N_POSITIVE / (printed.N_POSITIVE + printed.N_PATIENTS)


def laplace_scale() -> Effect:
    """Show what Laplace noise of the paper's scale promises, and what a promise would cost.

    Returns
    -------
    Effect
        From theory.
    """
    rows = []
    for epsilon in EPSILONS:
        formal = paper_mechanism("laplace", epsilon).predict()
        small = paper_mechanism("paper_laplace", epsilon)
        rows.append((
            f"{epsilon:g}", f"{paper_scale(epsilon):g}", f"{sensitivity('l1') / epsilon:.2f}",
            f"{small.guarantee.epsilon_supported:.1f}", f"{epsilon_of_paper_laplace(epsilon):.3g}",
            f"{small.predict().correlation:.3f}", f"{formal.correlation:.4f}",
        ))  # fmt: skip
    factor = sensitivity("l1") / sensitivity("l2")
    return Effect(
        "laplace_scale",
        f"The Laplace scale is {factor:.1f} times too small",
        "Laplace noise on every coordinate hides a change measured in L1, and the paper scales it "
        f"to the L2 bound 4.0 where the L1 bound is {sensitivity('l1'):.2f}. The paper says so "
        "and claims no guarantee for these runs. Its Table 5 is nevertheless indexed by ε, and "
        "reads as if Laplace left more than Gaussian noise at the same ε. It does not: at its ε "
        f"there is no guarantee, the pure ε of the noise is √363 = {factor:.2f} times larger, "
        "and with the scale that a guarantee needs nothing is left.",
        ("ε in Table 5", "b used", "b needed", "pure ε it has", "ε at δ = 10⁻⁵ it has",
         "correlation with b used", "correlation with b needed"),
        tuple(rows),
    )  # fmt: skip


def private_scaling() -> Effect:
    """Show what scaling by the cohort's own statistics does to the Gaussian guarantee.

    Returns
    -------
    Effect
        From theory.
    """
    rows = tuple(
        (f"{epsilon:g}", f"{epsilon_with_private_scaling(epsilon):.2f}") for epsilon in EPSILONS
    )
    moved = printed.CLIP_NORM * (2 * (printed.N_PATIENTS + 1)) ** 0.5
    return Effect(
        "private_scaling",
        "Median and interquartile range come from the patients themselves",
        "Replacing one of 17 patients changes the scaling of all, so that every row can move. The "
        f"bound Δ₂ = 4.0 then fails: two cohorts that differ in one patient can be {moved:.1f} "
        "apart after clipping. The paper states that its bound takes the scaling as fixed. Counted "
        "in, the Gaussian noise of Table 3 has at least this ε (δ = 10⁻⁵):",
        ("ε in Table 3", "ε with the scaling counted, at least"),
        rows,
    )


def one_draw(gaussian: tuple[MechanismFigures, ...]) -> Effect:
    """Show how far a single draw of noise strays.

    Parameters
    ----------
    gaussian : tuple of MechanismFigures
        Ours at the paper's epsilons, rising.

    Returns
    -------
    Effect
        Measured.
    """
    numbers = printed.trend("gaussian")["correlation"]
    n_negative = sum(number.value < 0 for number in numbers)
    rows, signs = [], []
    for number, ours in zip(numbers, gaussian, strict=True):
        figure, rmse = _known(ours.correlation), _known(ours.rmse)
        rows.append((
            number.row.removeprefix("ε = "), number.text, f"{figure.mean:.4f}",
            f"{figure.one_draw:.4f}", f"{100 * rmse.one_draw / rmse.mean:.2f} %",
        ))  # fmt: skip
        if figure.mean < 2 * figure.one_draw:
            signs.append(f"{ours.epsilon:g}")
    text = (
        "Every number of Tables 4 and 5 is one draw of noise. For errors that is harmless: over "
        "thousands of cells they hardly stray. For correlations it is not."
    )
    if signs:
        text += (
            f" At ε = {', '.join(signs)} a draw strays by more than half of what is to be "
            "measured, so that even the sign of the printed number is chance; "
            f"{n_negative} of them are negative where theory has none."
        )
    header = ("ε", "printed correlation", "mean of our draws", "one draw strays by",
              "RMSE strays by")  # fmt: skip
    return Effect("one_draw", "One draw of noise for each setting", text, header, tuple(rows))


def tuned_threshold(classifiers: Mapping[str, ClassifierFigures]) -> Effect:
    """Show what is gained by picking the threshold on the patients that are judged.

    Parameters
    ----------
    classifiers : mapping of str to ClassifierFigures
        Ours, by kind of rows.

    Returns
    -------
    Effect
        Measured.
    """
    rows = []
    for name in ("original", "control", "gaussian", "paper_laplace"):
        ours = classifiers[name]
        pooled, honest = _known(ours.scores["f1"]), _known(ours.honest["f1"])
        rows.append((
            ours.label, f"{pooled.mean:.3f}", f"{honest.mean:.3f}",
            f"{pooled.mean - honest.mean:+.3f}",
            _mean(ours.scores["balanced_accuracy"]), _mean(ours.honest["balanced_accuracy"]),
            _mean(ours.auc),
        ))  # fmt: skip
    gap = float(rows[1][3])
    return Effect(
        "tuned_threshold",
        "The threshold is picked on the patients that it is judged on",
        "The paper picks the threshold with the best F1 on all 17 predictions and then reports "
        "that F1. Picked on the other 16 patients instead, from the same predictions, it is "
        "lower. With labels exchanged between patients, where there is nothing to find, the gain "
        f"is {gap:+.3f}. That is an upper end: a threshold from the others leans the wrong way "
        "where there is no signal, since they hold one fewer of the class that was left out, so "
        "that its balanced accuracy falls below one half. Calling everybody positive has an F1 of "
        f"{_ALL_POSITIVE_F1:.3f}, without any data.",
        ("rows", "F1 as in the paper", "F1, threshold from the others", "gain",
         "balanced accuracy as in the paper", "from the others", "pooled AUC"),
        tuple(rows),
    )  # fmt: skip


def seventeen_patients(classifiers: Mapping[str, ClassifierFigures]) -> Effect:
    """Show how much a table of 17 patients says about a classifier.

    Parameters
    ----------
    classifiers : mapping of str to ClassifierFigures
        Ours, by kind of rows.

    Returns
    -------
    Effect
        Measured.
    """
    original, laplace = classifiers["original"], classifiers["paper_laplace"]
    ranges = original.ranges["f1"]
    assert ranges is not None  # F1 is defined wherever a patient is positive
    share = 100 * laplace.below_everybody
    return Effect(
        "seventeen_patients",
        "Seventeen patients, starting weights not fixed",
        f"On unprotected rows that do not change, the starting weights alone move F1 between "
        f"{ranges[0]:.2f} and {ranges[1]:.2f} over {original.n_draws} runs. The paper's F1 for "
        f"Laplace rows, 0.316, is below the {_ALL_POSITIVE_F1:.3f} of calling everybody positive "
        f"although the threshold was tuned for F1; that happens in {share:.0f} % of our draws. "
        "With one patient left out, the others hold one fewer of that patient's class, so that a "
        "classifier without any signal leans the wrong way. Table 7, with one draw of each, can "
        "show that little is left; it cannot rank two mechanisms.",
    )


def _known(figure: Estimate | None) -> Estimate:
    assert figure is not None  # of rows with noise, and of scores with positive patients
    return figure


def _mean(figure: Estimate | None) -> str:
    return "not defined" if figure is None else f"{figure.mean:.2f}"
