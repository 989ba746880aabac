"""What a contender does to rows: its public settings and its plan."""

from __future__ import annotations

from neuroveil.evaluate.reproduction.contenders import Contender
from neuroveil.evaluate.reproduction.printed import CLIP_NORM, DELTA
from neuroveil.privacy.choice import RowWishes, choose_rows
from neuroveil.privacy.mechanisms.contract import CodebookOptions
from neuroveil.privacy.plan import RowPlan, plan_rows
from neuroveil.privacy.settings import Postprocessing, ProtectSettings
from neuroveil.types.scaling import Scaling

LARGEST_CODEBOOK = 1 << 15
"""Codewords in a draw, at most. Releases take up to 2^19, which leaves more at epsilon = 20."""


def settings_for(
    chosen: Contender, epsilon: float, scaling: Scaling, n_patients: int
) -> ProtectSettings:
    """Give the public settings of a release with a contender.

    Parameters
    ----------
    chosen : Contender
        What to protect with.
    epsilon : float
        Epsilon of a patient's row, in the contender's trust model.
    scaling : Scaling
        Constants of the columns; only public ones count.
    n_patients : int
        Number of rows.

    Returns
    -------
    ProtectSettings
        At clipping norm 2 and delta = 1e-5, as in the paper. Without a public model there is
        no post-processing: what the mechanism gives is what is measured.
    """
    if not chosen.uses_public_model:
        bare = Postprocessing("none", inverse_scaling=False)
        return ProtectSettings(
            chosen.mechanism, epsilon, chosen.delta, CLIP_NORM,
            trust_model=chosen.trust_model, postprocessing=bare,
            codebook=CodebookOptions(LARGEST_CODEBOOK),
        )  # fmt: skip
    assert chosen.trust_model != "central"
    wishes = RowWishes(
        chosen.mechanism, epsilon, DELTA, CLIP_NORM, trust_model=chosen.trust_model,
        projection="public_pca", largest_codebook=LARGEST_CODEBOOK,
    )  # fmt: skip
    choice = choose_rows(wishes, scaling, n_patients)
    return ProtectSettings(
        choice.mechanism, epsilon, choice.delta, CLIP_NORM, trust_model=chosen.trust_model,
        projection=choice.projection, codebook=choice.codebook, choice=choice.sentence,
    )  # fmt: skip


def plan_contender(chosen: Contender, epsilon: float, scaling: Scaling, n_patients: int) -> RowPlan:
    """Plan what a contender does to rows.

    Parameters
    ----------
    chosen : Contender
        One that releases rows.
    epsilon : float
        Epsilon of a patient's row, in the contender's trust model.
    scaling : Scaling
        Constants of the columns.
    n_patients : int
        Number of rows.

    Returns
    -------
    RowPlan
        Calibrated.
    """
    settings = settings_for(chosen, epsilon, scaling, n_patients)
    return plan_rows(settings, scaling, n_patients)
