"""The way from a private table to a release, whatever is released."""

from __future__ import annotations

from neuroveil.privacy import protection
from neuroveil.privacy.central.protection import check_central, protect_central
from neuroveil.privacy.settings import ProtectSettings
from neuroveil.types.central_release import CentralRelease
from neuroveil.types.charge import Charge
from neuroveil.types.release import Release
from neuroveil.types.scaling import Scaling
from neuroveil.types.table import FeatureTable


def check_any(table: FeatureTable, scaling: Scaling, settings: ProtectSettings) -> None:
    """Refuse what :func:`release_any` would refuse, before the ledger is charged.

    Parameters
    ----------
    table : FeatureTable
        The private table, one row for each patient on the roster.
    scaling : Scaling
        Constants for exactly the table's columns.
    settings : ProtectSettings
        Public settings of the release.

    Raises
    ------
    ChainError
        If no guarantee can be derived, or the table does not fit.
    """
    (check_central if settings.is_central else protection.check_release)(table, scaling, settings)


def release_any(
    table: FeatureTable, scaling: Scaling, settings: ProtectSettings, charge: Charge
) -> Release | CentralRelease:
    """Release rows, or statistics of all patients together, as the settings say.

    Parameters
    ----------
    table : FeatureTable
        The private table, one row for each patient on the roster.
    scaling : Scaling
        Constants for exactly the table's columns.
    settings : ProtectSettings
        Public settings of the release.
    charge : Charge
        The spend that pays for it.

    Returns
    -------
    Release or CentralRelease
        With its certificate.

    Raises
    ------
    ChainError
        If no guarantee can be derived, or the table does not fit.
    BudgetError
        If the charge has been used, or was made for something else.
    """
    if settings.is_central:
        return protect_central(table, scaling, settings, charge)
    return protection.protect(table, scaling, settings, charge)
