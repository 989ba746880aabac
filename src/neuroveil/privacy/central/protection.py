"""From a private feature table to released moments: the only way there is.

As for rows: everything that can be refused is refused first, the certificate is made, the
charge is used up, and only then is noise drawn.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from neuroveil.privacy.central.covariance import estimate_covariance
from neuroveil.privacy.central.plan import plan_moments
from neuroveil.privacy.central.synthetic import synthetic_table
from neuroveil.privacy.chain import ChainInputs, build_certificate
from neuroveil.privacy.constants import check_constants, pay_for_constants
from neuroveil.privacy.postprocessing import InverseScaling
from neuroveil.privacy.sampling import SystemRandomness
from neuroveil.privacy.scaling import scale_rows
from neuroveil.privacy.settings import ProtectSettings, charge_request
from neuroveil.types.central_release import CentralRelease, released_bytes
from neuroveil.types.charge import Charge
from neuroveil.types.recording import FloatArray
from neuroveil.types.scaling import Scaling
from neuroveil.types.table import FeatureTable


def check_central(table: FeatureTable, scaling: Scaling, settings: ProtectSettings) -> None:
    """Refuse what :func:`protect_central` would refuse, before the ledger is charged.

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
        If no guarantee can be derived, or the constants do not fit the table, or are the
        cohort's own without an acknowledgement.
    """
    charge_request(settings, table.columns, table.n_patients)
    check_constants(scaling, settings)
    scale_rows(table, scaling)


def protect_central(
    table: FeatureTable, scaling: Scaling, settings: ProtectSettings, charge: Charge
) -> CentralRelease:
    """Release mean and covariance of all patients, and a synthetic table made of them.

    Parameters
    ----------
    table : FeatureTable
        The private table, one row for each patient on the roster.
    scaling : Scaling
        Constants for exactly the table's columns.
    settings : ProtectSettings
        Public settings, with trust model ``"central"``.
    charge : Charge
        The spend, reserved for the request that
        :func:`~neuroveil.privacy.settings.charge_request` makes of the same settings. It is
        used up before noise is drawn.

    Returns
    -------
    CentralRelease
        Noisy sums with their certificate, and what public rules make of them.

    Raises
    ------
    ChainError
        If no guarantee can be derived, or the table does not fit.
    BudgetError
        If the charge has been used, or was made for something else.
    """
    check_central(table, scaling, settings)
    source, n = SystemRandomness(), table.n_patients
    plan = plan_moments(settings, len(table.columns), n)
    planned = ChainInputs(
        settings, plan, check_constants(scaling, settings), n, source.facts, charge
    )
    scaling = pay_for_constants(planned, table, source)
    rows_int = plan.mechanism.bound(scale_rows(table, scaling))
    certificate = build_certificate(replace(planned, scaling=scaling))
    _ = certificate.chain_digest  # what could not be written is refused before the spend
    if settings.scaling_budget is None:
        charge.consume(charge_request(settings, table.columns, n))
    sums = plan.mechanism.apply_integers(rows_int, plan.mechanism.draw(source))
    assert sums.total is not None
    charge.bind(released_bytes(sums.total, sums.products))
    estimate = estimate_covariance(plan.mechanism.moments(sums))
    return CentralRelease(
        columns=table.columns,
        total=sums.total,
        products=sums.products,
        mean=estimate.mean,
        covariance=estimate.covariance,
        synthetic=_in_units(synthetic_table(estimate, n, source).values, scaling),
        scaling=scaling,
        certificate=certificate,
        charge=charge,
    )


def _in_units(rows: FloatArray, scaling: Scaling) -> FloatArray:
    """Give synthetic rows the features' units, where the constants are published."""
    if not scaling.is_published:
        return rows
    log10 = np.array([column.scale == "log10" for column in scaling.columns])
    return InverseScaling(scaling.centre, scaling.spread, log10).apply(rows)
