"""Rows, or mean and covariance? Put together from the two choices, from public numbers only."""

from __future__ import annotations

from dataclasses import replace

from neuroveil.privacy.central.candidates import Candidate, Forecast
from neuroveil.privacy.central.choice import choose_release
from neuroveil.privacy.central.question import ReleaseQuestion
from neuroveil.privacy.choice import RowChoice, RowWishes, choose_rows
from neuroveil.privacy.mechanisms.contract import CodebookOptions
from neuroveil.privacy.public_model import public_model
from neuroveil.privacy.settings import MEAN_COVARIANCE, SET_BY_STUDY
from neuroveil.types.scaling import Scaling

_MOMENTS = Candidate(MEAN_COVARIANCE, "aggregate")


def choose_central(wishes: RowWishes, scaling: Scaling, n_patients: int) -> RowChoice:
    """Choose what is released where somebody may see all rows.

    Parameters
    ----------
    wishes : RowWishes
        What the study asks for; the mechanism is ``"auto"`` or ``"mean_covariance"``. Rows are
        compared with the guarantee that they have on their own.
    scaling : Scaling
        Constants of the columns; only public ones count.
    n_patients : int
        Roster size, public.

    Returns
    -------
    RowChoice
        Of mechanism ``"mean_covariance"``, or the rows that should leave more. Without a public
        covariance nothing can be compared, and ``"auto"`` releases rows.

    Raises
    ------
    ChainError
        If nothing can be calibrated.
    """
    question = _question(wishes, scaling, n_patients)
    if wishes.mechanism == MEAN_COVARIANCE:
        return _moments(wishes, _set_by_study(question))
    rows = choose_rows(wishes, scaling, n_patients)
    if question is None:
        return rows
    projected = rows.projection is not None
    forecast = Forecast(
        Candidate(rows.mechanism, "public_basis" if projected else "shrunk"), rows.correlation
    )
    choice = choose_release(question, "either", [_MOMENTS], also=[forecast])
    if choice.best.candidate == _MOMENTS:
        return _moments(wishes, choice.explanation, choice.best.score("either"))
    return replace(rows, sentence=choice.explanation)


def _question(wishes: RowWishes, scaling: Scaling, n_patients: int) -> ReleaseQuestion | None:
    model = public_model(scaling)
    can_compare = model is not None and model.spectrum.any() and wishes.delta > 0
    if model is None or not can_compare or wishes.norm != "l2":
        return None
    return ReleaseQuestion(
        model.spectrum, n_patients, wishes.epsilon, wishes.delta, wishes.clip_norm, "central"
    )


def _set_by_study(question: ReleaseQuestion | None) -> str:
    if question is None:
        return SET_BY_STUDY
    best = choose_release(question, "either", [_MOMENTS]).best
    return f"Set by the study: {best.candidate.label} should leave {best.describe('either')}."


def _moments(wishes: RowWishes, sentence: str, correlation: float = 0.0) -> RowChoice:
    return RowChoice(
        mechanism=MEAN_COVARIANCE, delta=wishes.delta, projection=None,
        codebook=CodebookOptions(), sentence=sentence, correlation=correlation,
    )  # fmt: skip
