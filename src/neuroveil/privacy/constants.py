"""The constants that a release scales with: which may be used, and how they are paid for."""

from __future__ import annotations

from neuroveil.errors import ChainError
from neuroveil.privacy.central.dp_scaling import draw_scaling, planned_scaling
from neuroveil.privacy.chain import ChainInputs, build_certificate
from neuroveil.privacy.randomness import RandomSource
from neuroveil.privacy.settings import ProtectSettings, charge_request
from neuroveil.types.scaling import Scaling
from neuroveil.types.table import FeatureTable


def check_constants(scaling: Scaling, settings: ProtectSettings) -> Scaling:
    """Refuse constants that a release cannot be made with.

    Parameters
    ----------
    scaling : Scaling
        Constants of the columns; public ones where the settings pay for quantiles.
    settings : ProtectSettings
        Public settings of the release.

    Returns
    -------
    Scaling
        What the release is planned with: the same, or a stand-in for quantiles to be drawn.

    Raises
    ------
    ChainError
        If constants of the private cohort are not acknowledged, or were not drawn by the
        release itself.
    """
    if settings.scaling_budget is not None:
        return planned_scaling(scaling)
    if scaling.fitted_on == "dp":
        raise ChainError(
            "preprocessing.scaling", "a budget for constants from the cohort", "none",
            "Give public constants with a scaling_budget: the release draws its own quantiles.",
        )  # fmt: skip
    if scaling.fitted_on == "private" and not settings.acknowledge_private_statistics:
        raise ChainError(
            "preprocessing.scaling", "public constants, or an acknowledgement",
            "constants that were fitted on the private cohort",
            "Use a public reference; statistics of the cohort leave no end-to-end guarantee.",
        )  # fmt: skip
    return scaling


def pay_for_constants(inputs: ChainInputs, table: FeatureTable, source: RandomSource) -> Scaling:
    """Use the charge up and draw the constants that the settings pay for.

    Parameters
    ----------
    inputs : ChainInputs
        With planned constants. What could not be written is refused before the spend.
    table : FeatureTable
        The private table, one row for each patient on the roster.
    source : RandomSource
        Where the randomness comes from.

    Returns
    -------
    Scaling
        Released constants; the planned ones where none are paid for, and then nothing is spent.

    Raises
    ------
    ChainError
        If the table does not fit.
    BudgetError
        If the charge has been used, or was made for something else.
    """
    planned, budget, charge = inputs.scaling, inputs.settings.scaling_budget, inputs.charge
    if budget is None or planned.public is None or charge is None:
        return planned
    _ = build_certificate(inputs).chain_digest
    charge.consume(charge_request(inputs.settings, table.columns, table.n_patients))
    spec = budget.spec(len(table.columns), table.n_patients)
    return draw_scaling(table, planned.public, spec, source)
