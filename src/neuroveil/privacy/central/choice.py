"""Which release leaves most? Answered from public numbers, before any private value is touched.

Two things can be left of a cohort. Releases of rows keep something of each patient's own values;
a release of mean and covariance keeps what is true of all patients together, and nothing of any
single one. Both are forecast for every candidate, as correlations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from neuroveil.errors import ChainError
from neuroveil.privacy.central.forecast import check_spectrum, clipped_energies
from neuroveil.privacy.central.forms import (
    ROW_MECHANISMS,
    Aim,
    Candidate,
    Forecast,
    Form,
    Setting,
    forecast,
)
from neuroveil.privacy.validate import (
    check_clip_norm,
    check_delta,
    check_dimension,
    check_epsilon,
)
from neuroveil.types.recording import FloatArray

TrustModel = Literal["local", "shuffled", "central"]

_USELESS = 0.2


@dataclass(frozen=True, eq=False)
class ReleaseQuestion:
    """Public conditions under which the release is chosen.

    Parameters
    ----------
    spectrum : ndarray of float64, shape (dimension,)
        Public eigenvalues of the covariance of scaled columns (no unit).
    n_patients : int
        Roster size, public.
    epsilon, delta : float
        Guarantee; with ``delta = 0`` only mechanisms with a pure guarantee are left.
    clip_norm : float
        Largest L2 norm of a scaled row (no unit).
    trust : {"local", "shuffled", "central"}
        Who is trusted: nobody, somebody who shuffles rows, or somebody who sees them.
    row_epsilon : float, optional
        Epsilon of a single row that shuffling brings down to ``epsilon``, for mechanisms with
        a pure guarantee; only under ``"shuffled"``.

    Raises
    ------
    ChainError
        If a value is out of its range.
    """

    spectrum: FloatArray
    n_patients: int
    epsilon: float
    delta: float
    clip_norm: float
    trust: TrustModel
    row_epsilon: float | None = None

    def __post_init__(self) -> None:
        check_spectrum(self.spectrum)
        check_dimension(self.n_patients, "adjacency.n_roster")
        check_epsilon(self.epsilon)
        if self.delta != 0:
            check_delta(self.delta)
        check_clip_norm(self.clip_norm)
        if self.trust not in ("local", "shuffled", "central"):
            raise ChainError(
                "model.trust", "local, shuffled or central", f"{self.trust!r}",
                "State who is trusted with what.",
            )  # fmt: skip
        if self.row_epsilon is None:
            return
        check_epsilon(self.row_epsilon, "model.row_epsilon")
        if self.trust != "shuffled" or self.row_epsilon < self.epsilon:
            raise ChainError(
                "model.row_epsilon", "an epsilon of at least the whole, under trust = shuffled",
                f"{self.row_epsilon!r} under {self.trust}",
                "Only a trusted shuffler makes a row's epsilon smaller.",
            )  # fmt: skip


@dataclass(frozen=True)
class Choice:
    """Candidates in order, and why.

    Parameters
    ----------
    ranking : tuple of Forecast
        From the one that should leave most.
    aim : {"patients", "population", "either"}
        What was asked to be left.
    explanation : str
        One sentence in plain English.
    """

    ranking: tuple[Forecast, ...]
    aim: Aim
    explanation: str

    @property
    def best(self) -> Forecast:
        """The candidate that should leave most."""
        return self.ranking[0]


def default_candidates(question: ReleaseQuestion) -> tuple[Candidate, ...]:
    """List the releases that the trust model and delta allow.

    Parameters
    ----------
    question : ReleaseQuestion
        Public conditions.

    Returns
    -------
    tuple of Candidate
        Rows as they are, shrunk by the public covariance, and through a public basis; with a
        trusted curator also rows through a private basis, and mean and covariance.
    """
    forms: tuple[Form, ...] = ("plain", "shrunk", "public_basis", "private_basis")
    listed = [Candidate(mechanism, form) for form in forms for mechanism in ROW_MECHANISMS]
    listed.append(Candidate("mean_covariance", "aggregate"))
    return tuple(candidate for candidate in listed if _is_allowed(candidate, question))


def choose_release(
    question: ReleaseQuestion,
    aim: Aim = "either",
    candidates: Sequence[Candidate] | None = None,
) -> Choice:
    """Rank releases by what they are predicted to leave.

    Parameters
    ----------
    question : ReleaseQuestion
        Public conditions; nothing here depends on a private value.
    aim : {"patients", "population", "either"}
        What counts: correlation of cells with each patient's own values, correlation of
        covariance entries with the cohort's, or for each candidate the one that it is made for.
    candidates : sequence of Candidate, optional
        What to compare; :func:`default_candidates` by default.

    Returns
    -------
    Choice
        Ranking with a sentence that explains it.

    Raises
    ------
    ChainError
        If the aim is unknown, or a candidate is not to be had under these conditions.
    """
    if aim not in ("patients", "population", "either"):
        raise ChainError(
            "privacy.aim", "patients, population or either", f"{aim!r}",
            "Say what the release is for.",
        )  # fmt: skip
    listed = default_candidates(question) if candidates is None else tuple(candidates)
    refused = [candidate.label for candidate in listed if not _is_allowed(candidate, question)]
    if refused or not listed:
        raise ChainError(
            "privacy.mechanism", "releases that trust model and delta allow",
            ", ".join(refused) or "none", "Change the trust model, or leave these out.",
        )  # fmt: skip
    setting = Setting(
        clipped_energies(question.spectrum, question.clip_norm),
        question.n_patients, question.epsilon, question.delta, question.clip_norm,
        question.row_epsilon,
    )  # fmt: skip
    found = [forecast(candidate, setting) for candidate in listed]
    ranking = tuple(sorted(found, key=lambda each: -each.score(aim)))
    return Choice(ranking, aim, _explain(question, ranking, aim))


def _is_allowed(candidate: Candidate, question: ReleaseQuestion) -> bool:
    if candidate.is_central and question.trust != "central":
        return False
    return question.delta > 0 or candidate.is_pure


def _explain(question: ReleaseQuestion, ranking: tuple[Forecast, ...], aim: Aim) -> str:
    best = ranking[0]
    sentence = (
        f"At epsilon = {question.epsilon:g} with {question.n_patients:,} patients, "
        f"{best.candidate.label} should leave most: {best.describe(aim)}"
    )
    if best.score(aim) < _USELESS:
        sentence += ", which is too little to be of use"
    rivals = [each for each in ranking if _is_rival(each.candidate, best.candidate)]
    runner_up = next(iter([*rivals, *ranking[1:]]), None)
    if runner_up is not None:
        sentence += f"; {runner_up.candidate.label} would leave {runner_up.describe(aim)}"
    return sentence + "."


def _is_rival(other: Candidate, best: Candidate) -> bool:
    """Whether the comparison tells more than one with a sibling of the best would."""
    same_kind = other.is_about_patients == best.is_about_patients
    return not same_kind or (best.is_about_patients and other.mechanism != best.mechanism)
