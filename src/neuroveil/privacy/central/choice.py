"""Which release leaves most? Answered from public numbers, before any private value is touched.

Two things can be left of a cohort. Releases of rows keep something of each patient's own values;
a release of mean and covariance keeps what is true of all patients together, and nothing of any
single one. Both are forecast for every candidate, as correlations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neuroveil.errors import ChainError
from neuroveil.privacy.central.candidates import ROW_MECHANISMS, Aim, Candidate, Forecast, Form
from neuroveil.privacy.central.forms import Setting, forecast
from neuroveil.privacy.central.question import ReleaseQuestion

_USELESS = 0.2


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
    also: Sequence[Forecast] = (),
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
    also : sequence of Forecast
        Forecasts that were made elsewhere from public numbers, to be ranked with the others:
        for example of the rows that :func:`~neuroveil.privacy.choice.choose_rows` chose.

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
    if refused or not (listed or also):
        raise ChainError(
            "privacy.mechanism", "releases that trust model and delta allow",
            ", ".join(refused) or "none", "Change the trust model, or leave these out.",
        )  # fmt: skip
    setting = Setting(
        question.spectrum, question.n_patients, question.epsilon, question.delta,
        question.clip_norm, question.row_epsilon,
    )  # fmt: skip
    found = [*also, *(forecast(candidate, setting) for candidate in listed)]
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
