"""Which mechanism, and how many public components? Chosen from public information only.

Candidates are compared by the correlation that they are predicted to leave between estimated
and bounded rows. The prediction sees the public covariance, the number of patients and of
columns, epsilon, delta, the clipping norm and the trust model, and no row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from neuroveil.errors import ChainError
from neuroveil.privacy.bounds import Norm
from neuroveil.privacy.codebook.design import CodebookDesign, affordable_codewords
from neuroveil.privacy.mechanisms.contract import CodebookOptions, MechanismSpec
from neuroveil.privacy.mechanisms.registry import make_mechanism
from neuroveil.privacy.plan import check_coverage, shuffled_design
from neuroveil.privacy.public_model import PublicModel, public_model
from neuroveil.privacy.settings import SET_BY_STUDY, Projection, TrustModel
from neuroveil.privacy.validate import check_dimension
from neuroveil.types.scaling import Scaling

ProjectionWish = Literal["auto", "public_pca", "none"]

AUTOMATIC = ("privunit", "gaussian", "laplace")
"""Mechanisms that ``auto`` compares."""

_PURE = ("privunit", "laplace", "paper_laplace")
_COMPONENTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
_EXAMPLE_COMPONENTS = 16
_USELESS = 0.2


@dataclass(frozen=True)
class RowWishes:
    """What a study asks for.

    Parameters
    ----------
    mechanism : str
        ``"auto"`` or a mechanism's name.
    epsilon, delta : float
        Guarantee, in the trust model; a pure mechanism spends no delta in the local one.
    clip_norm : float
        Largest norm of a scaled row (no unit).
    norm : {"l2", "l1"}
        Norm that is clipped.
    trust_model : {"local", "shuffled"}
        Whom the guarantee holds towards.
    projection : {"auto", "public_pca", "none"}
        ``"auto"``: where the public reference covers every column and it is predicted to help.
    components : int, optional
        Number of public components; none for the best predicted number.
    largest_codebook : int, optional
        Largest number of codewords; none for what is affordable.
    fresh_per_row : bool
        Whether every row has a codebook of its own.
    """

    mechanism: str
    epsilon: float
    delta: float
    clip_norm: float
    norm: Norm = "l2"
    trust_model: TrustModel = "local"
    projection: ProjectionWish = "auto"
    components: int | None = None
    largest_codebook: int | None = None
    fresh_per_row: bool = False


@dataclass(frozen=True)
class RowChoice:
    """What is done to rows, and why.

    Parameters
    ----------
    mechanism : str
        Name of the mechanism.
    delta : float
        What it spends.
    projection : Projection, optional
        On public components.
    codebook : CodebookOptions
        For privunit.
    sentence : str
        Who chose it and why, in plain English.
    correlation : float
        What is predicted to be left.
    """

    mechanism: str
    delta: float
    projection: Projection | None
    codebook: CodebookOptions
    sentence: str
    correlation: float


@dataclass(frozen=True)
class _Candidate:
    mechanism: str
    components: int | None
    correlation: float

    @property
    def label(self) -> str:
        if self.components is None:
            return self.mechanism
        parts = "component" if self.components == 1 else "components"
        return f"{self.mechanism} in {self.components} public {parts}"


def choose_rows(wishes: RowWishes, scaling: Scaling, n_patients: int) -> RowChoice:
    """Choose mechanism and number of components by predicted correlation.

    Parameters
    ----------
    wishes : RowWishes
        What the study asks for.
    scaling : Scaling
        Constants of the columns; only public ones count.
    n_patients : int
        Roster size, public.

    Returns
    -------
    RowChoice
        Resolved: nothing is left to be chosen.

    Raises
    ------
    ChainError
        If a projection is asked for that the reference does not support, or no mechanism can
        be calibrated.
    """
    check_dimension(n_patients, "adjacency.n_roster")
    if wishes.projection == "public_pca":
        check_coverage(scaling)
    question = _Question(wishes, scaling, n_patients)
    ranked = sorted(question.candidates(), key=lambda each: -each.correlation)
    if not ranked:
        raise ChainError(
            "privacy.mechanism", "a mechanism that delta and trust model allow", "none",
            "Allow a delta above 0, or name privunit.",
        )  # fmt: skip
    best = ranked[0]
    dimension = best.components or len(scaling.columns)
    return RowChoice(
        mechanism=best.mechanism,
        delta=wishes.delta if question.spends_delta(best.mechanism) else 0.0,
        projection=_projection(wishes, best),
        codebook=question.codebook(dimension),
        sentence=_sentence(wishes, ranked),
        correlation=best.correlation,
    )


def _projection(wishes: RowWishes, best: _Candidate) -> Projection | None:
    if best.components is None:
        return None
    rule = SET_BY_STUDY
    if wishes.components is None:
        rule = "largest predicted correlation, from the public covariance, epsilon and n alone"
    return Projection(best.components, rule)


def _sentence(wishes: RowWishes, ranked: list[_Candidate]) -> str:
    """Explain a choice by what it leaves and what the next best mechanism would leave."""
    best = ranked[0]
    chosen = "Chosen from public numbers" if wishes.mechanism == "auto" else "Set by the study"
    sentence = (
        f"{chosen}: {best.label} should leave values that correlate "
        f"{best.correlation:.2f} with each patient's own"
    )
    if best.correlation < _USELESS:
        sentence += ", which is too little to be of use for single patients"
    rival = next((each for each in ranked if each.mechanism != best.mechanism), None)
    rival = rival or next((each for each in ranked if not each.components), None)
    if rival is not None and rival is not best:
        sentence += f"; {rival.label} would leave {rival.correlation:.2f}"
    return sentence + "."


@dataclass(frozen=True, eq=False)
class _Question:
    wishes: RowWishes
    scaling: Scaling
    n_patients: int

    def candidates(self) -> Iterator[_Candidate]:
        """Every mechanism that is allowed, with and without projection."""
        wished = self.wishes.mechanism
        for name in AUTOMATIC if wished == "auto" else (wished,):
            if wished == "auto" and not self.is_allowed(name):
                continue
            for components in self.dimensions():
                yield _Candidate(name, components, self.predict(name, components))

    def is_allowed(self, name: str) -> bool:
        """Whether delta, norm and trust model allow a mechanism."""
        wishes = self.wishes
        if wishes.trust_model == "shuffled":
            return name == "privunit"
        if name == "gaussian" and wishes.delta == 0:
            return False
        return name == "laplace" or wishes.norm == "l2"

    def spends_delta(self, name: str) -> bool:
        """Whether a mechanism needs delta in this trust model."""
        return self.wishes.trust_model == "shuffled" or name not in _PURE

    def dimensions(self) -> list[int | None]:
        """Numbers of components to try; None stands for rows as they are."""
        wishes, d = self.wishes, len(self.scaling.columns)
        if wishes.projection == "none" or wishes.norm != "l2":
            return [None]
        is_covered = public_model(self.scaling) is not None and not any(self.scaling.fallback)
        if wishes.projection == "auto" and not is_covered:
            return [None]
        if wishes.components is not None:
            return [wishes.components]
        tried: list[int | None] = [m for m in (*_COMPONENTS, d) if m <= d]
        return tried if wishes.projection == "public_pca" else [*tried, None]

    def codebook(self, dimension: int) -> CodebookOptions:
        """How many codewords are worth it."""
        largest = self.wishes.largest_codebook
        affordable = affordable_codewords(self.n_patients, dimension)
        return CodebookOptions(largest or affordable, self.wishes.fresh_per_row)

    def predict(self, name: str, components: int | None) -> float:
        """Predict the correlation of estimated and bounded rows."""
        wishes = self.wishes
        dimension = components or len(self.scaling.columns)
        spec = MechanismSpec(
            name, wishes.epsilon, wishes.delta if self.spends_delta(name) else 0.0,
            wishes.clip_norm, wishes.norm, dimension, self.codebook(dimension),
        )  # fmt: skip
        noise, plain = self._noise(spec)
        if wishes.norm != "l2" or self.model is None:
            return plain
        return self.model.moments(dimension, wishes.clip_norm).correlation(noise)

    @property
    def model(self) -> PublicModel | None:
        """What public data say about these columns."""
        return public_model(self.scaling)

    def _noise(self, spec: MechanismSpec) -> tuple[float, float]:
        """Mean square error a coordinate, and correlation without a public covariance."""
        if self.wishes.trust_model == "shuffled":
            spec = self._local(spec)
        utility = make_mechanism(spec).predict()
        return utility.rmse**2, utility.correlation

    def _local(self, spec: MechanismSpec) -> MechanismSpec:
        """Give what a row is released with where a shuffler is trusted.

        Its epsilon is about the same for every number of coordinates.
        """
        example = min(_EXAMPLE_COMPONENTS, len(self.scaling.columns))
        design: CodebookDesign = shuffled_design(
            spec.epsilon, spec.delta, self.n_patients, example, self.codebook(example).largest
        ).design
        return replace(spec, epsilon=design.epsilon, delta=0.0)
