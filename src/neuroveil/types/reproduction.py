"""The paper's printed numbers beside ours: what ``evaluate`` finds and ``report`` draws.

Figures of a cohort of real people rest on private rows, and are internal.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from neuroveil.types.utility import Estimate

Verdict = Literal[
    "setting", "follows_from_theory", "does_not_follow", "inside_band", "outside_band",
    "too_few_draws", "needs_their_data",
]  # fmt: skip

VERDICT_WORDS: dict[Verdict, str] = {
    "setting": "a setting, taken over",
    "follows_from_theory": "follows from theory",
    "does_not_follow": "does not follow from theory",
    "inside_band": "inside the band",
    "outside_band": "outside the band",
    "too_few_draws": "too few draws to say",
    "needs_their_data": "cannot be checked without their data",
}
"""What each verdict is called on paper."""

TRUSTS_NOBODY = "nobody"
"""Who has to be trusted where every row is randomised on its own."""

COUNTS: tuple[str, ...] = ("true_negative", "false_positive", "false_negative", "true_positive")
SCORES: tuple[str, ...] = (
    "accuracy", "precision", "recall", "specificity", "balanced_accuracy", "f1",
)  # fmt: skip
"""Columns of the paper's Table 7, in its order."""


@dataclass(frozen=True)
class Printed:
    """A number as the paper prints it.

    Parameters
    ----------
    table : str
        Where it stands, for example ``"Table 4"``.
    row, quantity : str
        Its row, and its column.
    text : str
        Its digits.
    """

    table: str
    row: str
    quantity: str
    text: str

    @property
    def value(self) -> float:
        """The number (unit of its quantity)."""
        return float(self.text)

    @property
    def rounding(self) -> float:
        """Half a step of its last digit."""
        return 0.5 * 10.0 ** -len(self.text.partition(".")[2])


@dataclass(frozen=True)
class Comparison:
    """A printed number beside ours.

    Parameters
    ----------
    printed : Printed
        What the paper says.
    ours : float or None
        What theory says, or the mean over our draws; None where there is nothing to compare.
    interval : tuple of float or None
        95 % interval of that mean, over draws.
    band : tuple of float or None
        Where one further draw is to be expected.
    n_draws : int
        Draws behind it; 0 for theory.
    verdict : str
        A key of :data:`VERDICT_WORDS`.
    note : str
        What a reader should know, or nothing.
    """

    printed: Printed
    ours: float | None
    interval: tuple[float, float] | None
    band: tuple[float, float] | None
    n_draws: int
    verdict: Verdict
    note: str = ""


@dataclass(frozen=True)
class ReproducedTable:
    """One table of the paper, number by number.

    Parameters
    ----------
    name, title : str
        For example ``"Table 4"``, and what it shows.
    comparisons : tuple of Comparison
        In the paper's order.
    notes : tuple of str
        Sentences to stand below it.
    """

    name: str
    title: str
    comparisons: tuple[Comparison, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class MechanismFigures:
    """What one way of protecting leaves at one epsilon.

    Parameters
    ----------
    name, label : str
        Short name, and name for a reader.
    trust : str
        Who has to be trusted.
    epsilon, delta : float
        What was asked for; delta is 0 for a pure guarantee.
    epsilon_supported : float
        The epsilon that the noise really supports at that delta.
    n_draws : int
        Draws of noise.
    rmse, mae, correlation, correlation_centred, snr_db : Estimate, optional
        Of cells against the clipped rows, on the scaled axis (no unit; SNR in dB);
        ``correlation_centred`` after the cohort mean was taken off both. None where no row is
        released.
    covariance_correlation : Estimate, optional
        Of the cohort's covariance entries, where only those are released (no unit).
    """

    name: str
    label: str
    trust: str
    epsilon: float
    delta: float
    epsilon_supported: float
    n_draws: int
    rmse: Estimate | None = None
    mae: Estimate | None = None
    correlation: Estimate | None = None
    correlation_centred: Estimate | None = None
    snr_db: Estimate | None = None
    covariance_correlation: Estimate | None = None

    @property
    def holds(self) -> bool:
        """Whether the guarantee is what was asked for."""
        return self.epsilon_supported <= self.epsilon * (1 + 1e-12)


@dataclass(frozen=True)
class ClassifierFigures:
    """How the paper's classifier does on one kind of rows, over draws.

    Every draw has its own noise and its own starting weights.

    Parameters
    ----------
    name, label : str
        Short name, and name for a reader.
    epsilon : float or None
        Of the protection; None for unprotected rows.
    n_draws : int
        Draws.
    scores : dict of str to Estimate or None
        :data:`SCORES` at the threshold that the paper's protocol picks on all patients.
    ranges : dict of str to tuple of float, or None
        Smallest and largest of each score and count over the draws.
    counts : dict of str to Estimate
        :data:`COUNTS` of the confusion matrix.
    honest : dict of str to Estimate or None
        Scores where each patient's threshold was picked on the other patients.
    auc : Estimate
        Area under the curve of the pooled probabilities. Without any signal it lies below 0.5,
        since whoever is left out lowers the share of that class in what is learned from.
    threshold : Estimate
        The picked threshold.
    below_everybody : float
        Share of draws whose F1 stays below that of calling every patient positive.
    """

    name: str
    label: str
    epsilon: float | None
    n_draws: int
    scores: dict[str, Estimate | None]
    ranges: dict[str, tuple[float, float] | None]
    counts: dict[str, Estimate]
    honest: dict[str, Estimate | None]
    auc: Estimate
    threshold: Estimate
    below_everybody: float


@dataclass(frozen=True)
class Effect:
    """A step of the paper that does not support its claim, and the size of what follows.

    Parameters
    ----------
    name, title : str
        Short name, and heading.
    text : str
        In plain words, with the measured size.
    header : tuple of str
        Heads of a small table, or nothing.
    rows : tuple of tuple of str
        Its rows.
    """

    name: str
    title: str
    text: str
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class CohortFacts:
    """Which people the numbers are about.

    Parameters
    ----------
    name : {"simulated", "eegmat", "study"}
        Kind of cohort.
    description : str
        In a sentence.
    n_patients, n_positive, n_features : int
        Its size.
    is_internal : bool
        Whether the figures rest on rows of real people.
    """

    name: str
    description: str
    n_patients: int
    n_positive: int
    n_features: int
    is_internal: bool


@dataclass(frozen=True)
class Reproduction:
    """All of it.

    Parameters
    ----------
    cohort : CohortFacts
        Whose rows.
    seed, n_draws, n_classifier_draws : int
        Seed of everything that was drawn, and how often.
    tables : tuple of ReproducedTable
        The paper's Tables 1, 3, 4, 5 and 7.
    mechanisms : tuple of MechanismFigures
        The paper's mechanisms, or all of them, by epsilon.
    classifiers : tuple of ClassifierFigures
        Behind Table 7 and Figures 9 to 11.
    effects : tuple of Effect
        Where the paper's steps do not carry its claims.
    """

    cohort: CohortFacts
    seed: int
    n_draws: int
    n_classifier_draws: int
    tables: tuple[ReproducedTable, ...]
    mechanisms: tuple[MechanismFigures, ...]
    classifiers: tuple[ClassifierFigures, ...]
    effects: tuple[Effect, ...]

    def mechanism(self, name: str) -> tuple[MechanismFigures, ...]:
        """Give the figures of one mechanism, by rising epsilon.

        Parameters
        ----------
        name : str
            Its short name.

        Returns
        -------
        tuple of MechanismFigures
            Empty where it was not measured.
        """
        found = (figures for figures in self.mechanisms if figures.name == name)
        return tuple(sorted(found, key=lambda figures: figures.epsilon))

    def classifier(self, name: str) -> ClassifierFigures:
        """Give the figures of the classifier on one kind of rows.

        Parameters
        ----------
        name : str
            ``"original"``, ``"control"``, or a mechanism's short name.

        Returns
        -------
        ClassifierFigures
            Over all draws.

        Raises
        ------
        KeyError
            If it was not measured.
        """
        return {figures.name: figures for figures in self.classifiers}[name]

    def to_json(self) -> dict[str, Any]:
        """Give everything as plain data.

        Returns
        -------
        dict
            The fields by name; ``"internal"`` says whether real people are behind it.
        """
        return {"internal": self.cohort.is_internal, **asdict(self)}
