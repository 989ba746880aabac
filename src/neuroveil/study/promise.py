"""Sections about the promise: scaling, guarantee, budget, labels, public references."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, Strict

from neuroveil.errors import StudyMistake
from neuroveil.study.section import Delta, Names, PositiveFloat, Section, Text

Components = Annotated[
    Annotated[int, Field(ge=1)] | None,
    BeforeValidator(lambda value: None if value == "auto" else value),
]
"""A number of public components; ``"auto"`` is the same as leaving it out."""

_PURE = ("privunit", "laplace", "paper_laplace")

_LONGEST_CATEGORY = 200


class ReferenceSettings(Section):
    """Where centre and spread of every column come from."""

    scaling: Literal["public_reference", "dp_quantiles", "private_statistics"] = "public_reference"
    name: str | None = None
    epsilon: PositiveFloat | None = None
    delta: Delta | None = None
    acknowledge_no_guarantee: bool = False

    def mistakes(self) -> list[StudyMistake]:
        """List violated rules that involve more than one field.

        Returns
        -------
        list of StudyMistake
            Empty where the section is consistent.
        """
        found = []
        draws = self.scaling == "dp_quantiles"
        if draws and self.epsilon is None:
            found.append(StudyMistake(
                "reference.epsilon", "a positive number, since scaling = 'dp_quantiles'",
                "nothing",
                "Say what the scaling constants may spend; it is charged on top of the rest.",
            ))  # fmt: skip
        if not draws and (self.epsilon is not None or self.delta is not None):
            found.append(StudyMistake(
                "reference.epsilon", f"nothing, since scaling = {self.scaling!r}",
                "a budget for scaling constants",
                "Set scaling = 'dp_quantiles', or leave reference.epsilon and delta out.",
            ))  # fmt: skip
        if self.scaling == "private_statistics" and not self.acknowledge_no_guarantee:
            found.append(StudyMistake(
                "reference.acknowledge_no_guarantee", "true, since scaling = 'private_statistics'",
                "false",
                "Scaling with the cohort's own median and spread voids the end-to-end "
                "guarantee. Use scaling = 'public_reference', or acknowledge it.",
            ))  # fmt: skip
        return found

    def delta_beside(self, delta_rows: float, largest: float) -> float:
        """Give the delta that scaling constants may spend.

        Parameters
        ----------
        delta_rows : float
            What rows or moments spend.
        largest : float
            What all of it may come to without a justification.

        Returns
        -------
        float
            As set, else as much as the rows within that limit; 0 beside a pure guarantee.
        """
        if self.delta is not None:
            return self.delta
        return min(delta_rows, max(0.0, (largest - delta_rows) * (1 - 1e-9)))


class BudgetSettings(Section):
    """What may be spent on these patients over all releases, ever."""

    epsilon: PositiveFloat
    delta: Delta


def largest_delta(n_patients: int) -> float:
    """Give the largest delta that needs no justification.

    Parameters
    ----------
    n_patients : int
        Roster size.

    Returns
    -------
    float
        min(1/n², 1e-5).
    """
    return min(1.0 / max(n_patients, 1) ** 2, 1e-5)


class PrivacySettings(Section):
    """The promise."""

    unit: Literal["patient"] = "patient"
    adjacency: Literal["replace_one"] = "replace_one"
    trust_model: Literal["local", "shuffled", "central"] = "local"
    epsilon: PositiveFloat | None = None
    delta: Delta | None = None
    delta_justification: Text | None = None
    mechanism: Literal[
        "auto", "privunit", "gaussian", "laplace", "paper_laplace", "mean_covariance"
    ] = "gaussian"
    norm: Literal["l2", "l1"] = "l2"
    clip_norm: PositiveFloat = 2.0
    projection: Literal["auto", "public_pca", "none"] = "none"
    components: Components = None
    largest_codebook: Annotated[int, Field(ge=1 << 12, le=1 << 30)] | None = None
    codebook_per_row: bool = False
    ledger: str = "ledger.sqlite"
    study: Text | None = None
    budget: BudgetSettings | None = None

    def delta_for(self, n_patients: int, share: float = 1.0) -> float:
        """Give the delta that rows or moments may spend.

        Parameters
        ----------
        n_patients : int
            Roster size.
        share : float
            Part of the largest delta that is theirs where the study sets none.

        Returns
        -------
        float
            As set, else min(1/n², 1e-5) where the mechanism or the trust model needs one and
            0 for a pure guarantee.
        """
        if self.delta is not None:
            return self.delta
        return 0.0 if self._is_pure else share * largest_delta(n_patients)

    @property
    def _is_pure(self) -> bool:
        return self.trust_model != "shuffled" and self.mechanism in _PURE

    def mistakes(self) -> list[StudyMistake]:
        """List violated rules that involve more than one field.

        Returns
        -------
        list of StudyMistake
            Empty where the section is consistent.
        """
        found = [*self._delta_mistakes(), *self._shuffling_mistakes(), *self._central_mistakes()]
        if self.mechanism not in ("laplace", "auto") and self.norm == "l1":
            found.append(StudyMistake(
                "privacy.norm", f"'l2' for {self.mechanism}", "'l1'",
                "Only laplace works with a direct L1 clip.",
            ))  # fmt: skip
        if self.projection == "public_pca" and self.norm == "l1":
            found.append(StudyMistake(
                "privacy.norm", "'l2' for projected rows", "'l1'",
                "Public components are bounded in L2: set norm = 'l2' or projection = 'none'.",
            ))  # fmt: skip
        if self.projection == "none" and self.components is not None:
            found.append(StudyMistake(
                "privacy.components", "nothing, since projection = 'none'", f"{self.components}",
                "Set projection = 'public_pca', or leave components out.",
            ))  # fmt: skip
        return found

    def _delta_mistakes(self) -> list[StudyMistake]:
        needs = self.mechanism in ("gaussian", "mean_covariance") or self.trust_model == "shuffled"
        if needs and self.delta == 0:
            which = "shuffling"
            if self.trust_model != "shuffled":
                which = f"the {self.mechanism} mechanism"
            return [StudyMistake(
                "privacy.delta", f"more than 0 for {which}", "0",
                "Leave delta out, or use mechanism = 'privunit' in the local model for pure "
                "epsilon.",
            )]  # fmt: skip
        if self._is_pure and self.delta not in (None, 0):
            return [StudyMistake(
                "privacy.delta", f"0 for {self.mechanism}", "more than 0",
                "Leave delta out: this mechanism's claim is pure epsilon.",
            )]  # fmt: skip
        return []

    def _central_mistakes(self) -> list[StudyMistake]:
        is_moments, is_central = self.mechanism == "mean_covariance", self.trust_model == "central"
        found = []
        if is_moments and not is_central:
            found.append(StudyMistake(
                "privacy.trust_model", "'central' for mean_covariance", f"{self.trust_model!r}",
                "Whoever computes mean and covariance sees all rows: say so with "
                "trust_model = 'central', or release rows.",
            ))  # fmt: skip
        if is_moments and self.projection == "public_pca":
            found.append(StudyMistake(
                "privacy.projection", "'none' for mean_covariance", "'public_pca'",
                "Moments are released in all columns: set projection = 'none'.",
            ))  # fmt: skip
        return found

    def _shuffling_mistakes(self) -> list[StudyMistake]:
        if self.trust_model != "shuffled" or self.mechanism in ("auto", "privunit"):
            return []
        return [StudyMistake(
            "privacy.mechanism", "'privunit' or 'auto', since trust_model = 'shuffled'",
            f"{self.mechanism!r}",
            "Shuffling is accounted for with privunit: name it, or set trust_model = 'local'.",
        )]  # fmt: skip


class PostprocessingSettings(Section):
    """What public rules make of the released table, at no cost."""

    shrinkage: Literal["wiener", "james_stein", "none"] = "wiener"
    feature_units: bool = True
    clamp: PositiveFloat | None = None


class LabelSettings(Section):
    """What happens to one roster column such as diagnosis, age or sex."""

    column: Text
    policy: Literal["left_out", "randomised_response", "unprotected"] = "left_out"
    categories: Names | None = None
    bins: Annotated[tuple[float, ...], Strict(False)] | None = None
    epsilon: PositiveFloat | None = None
    acknowledge_unprotected: bool = False

    def mistakes(self) -> list[StudyMistake]:
        """List violated rules that involve more than one field.

        Returns
        -------
        list of StudyMistake
            Empty where the section is consistent.
        """
        if self.policy == "left_out":
            return []
        where = f"labels.{self.column}"
        found = []
        if (self.categories is None) == (self.bins is None):
            found.append(StudyMistake(
                where, "either `categories` or `bins`", "both or none",
                "List the possible values in public, before looking at the patients.",
            ))  # fmt: skip
        if len(self.category_names) < 2 or len(set(self.category_names)) < len(self.category_names):
            found.append(StudyMistake(
                where, "at least two different categories", f"{len(self.category_names)}",
                "List every possible value once (for `bins`, at least three rising edges).",
            ))  # fmt: skip
        if self.bins is not None and list(self.bins) != sorted(set(self.bins)):
            found.append(StudyMistake(
                f"{where}.bins", "rising edges", "others", "Sort the edges, each once.",
            ))  # fmt: skip
        if any(_is_awkward(name) for name in self.category_names):
            found.append(StudyMistake(
                f"{where}.categories",
                "names of at most 200 characters without blanks at their ends, that a "
                "spreadsheet does not take for a formula", "others",
                "Rename these categories.",
            ))  # fmt: skip
        if self.policy == "randomised_response" and self.epsilon is None:
            found.append(StudyMistake(
                f"{where}.epsilon", "a positive number", "nothing",
                "Say what this label may spend; it is charged on top of the rows.",
            ))  # fmt: skip
        if self.policy == "unprotected" and not self.acknowledge_unprotected:
            found.append(StudyMistake(
                f"{where}.acknowledge_unprotected", "true, since policy = 'unprotected'", "false",
                "This column would leave the hospital as it is. Choose "
                "'randomised_response', or acknowledge it.",
            ))  # fmt: skip
        return found

    @property
    def category_names(self) -> tuple[str, ...]:
        """All values that the released column can have, in public order."""
        if self.categories is not None:
            return self.categories
        edges = self.bins or ()
        return tuple(f"[{low:g}, {high:g})" for low, high in pairwise(edges))

    def categorise(self, value: str) -> str | None:
        """Put one roster value into its public category.

        Parameters
        ----------
        value : str
            The cell as it stands in the roster.

        Returns
        -------
        str or None
            The category, or None where the value fits none.
        """
        text = value.strip()
        if self.categories is not None:
            return text if text in self.categories else None
        try:
            number = float(text)
        except ValueError:
            return None
        edges = self.bins or ()
        pairs = pairwise(edges)
        for name, (low, high) in zip(self.category_names, pairs, strict=True):
            if low <= number < high:
                return name
        return None


def _is_awkward(category: str) -> bool:
    """Whether a released label would be lost, refused, or run by whoever opens the table."""
    unsafe = category.startswith(("=", "+", "-", "@")) or not category.isprintable()
    return unsafe or category != category.strip() or len(category) > _LONGEST_CATEGORY


class ProvenanceSettings(Section):
    """What a public reference says about itself; only `reference build` reads it."""

    name: Text
    version: Text = "1"
    dataset: Text
    dataset_version: Text
    source: Text
    licence: Text
    attribution: Text
    citation: Text
    people: Text
    recordings: Text
    covers: Annotated[
        tuple[Literal["adults", "children", "elderly", "sleep", "mixed"], ...], Strict(False)
    ]
    caveats: Names = ()
