"""From a private feature table to a release: the only way there is.

Order matters here. Everything that can be refused is refused first, the certificate is
written, the charge is used up, and only then is noise drawn. A crash after the draw leaves
the budget spent.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from neuroveil.privacy.bounds import IntArray
from neuroveil.privacy.chain import ChainInputs, build_certificate
from neuroveil.privacy.constants import check_constants, pay_for_constants
from neuroveil.privacy.labels import check_labels, randomise
from neuroveil.privacy.plan import RowPlan, check_coverage, plan_rows
from neuroveil.privacy.postprocessing import take_steps
from neuroveil.privacy.randomness import RandomSource, permutation
from neuroveil.privacy.sampling import SystemRandomness
from neuroveil.privacy.scaling import scale_rows
from neuroveil.privacy.settings import ProtectSettings, charge_request
from neuroveil.types.charge import Charge
from neuroveil.types.recording import FloatArray
from neuroveil.types.release import Estimate, Release
from neuroveil.types.scaling import Scaling
from neuroveil.types.table import FeatureTable


def check_release(table: FeatureTable, scaling: Scaling, settings: ProtectSettings) -> None:
    """Refuse what :func:`protect` would refuse, before the ledger is charged.

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
        If no guarantee can be derived, constants of the private cohort are not
        acknowledged, or constants or labels do not fit the table.
    """
    charge_request(settings, table.columns, table.n_patients)
    if settings.projection is not None:
        check_coverage(scaling)
    check_constants(scaling, settings)
    check_labels(settings.labels, table)
    scale_rows(table, scaling)


def protect(
    table: FeatureTable, scaling: Scaling, settings: ProtectSettings, charge: Charge
) -> Release:
    """Release a feature table under subject-level differential privacy.

    Rows are scaled, projected where the study asks for it, clipped, put on an integer grid and
    randomised exactly, by the operating system's generator, which takes no seed. They come out
    in random order, with their labels, without identifiers.

    Parameters
    ----------
    table : FeatureTable
        The private table, one row for each patient on the roster.
    scaling : Scaling
        Constants for exactly the table's columns; public ones where the settings pay for
        constants from the cohort, which are then drawn first.
    settings : ProtectSettings
        Public settings of the release.
    charge : Charge
        The spend, reserved for the request that
        :func:`~neuroveil.privacy.settings.charge_request` makes of the same settings. It is
        used up before noise is drawn.

    Returns
    -------
    Release
        Protected values of shape (n_patients, m) with their certificate, and what public rules
        make of them.

    Raises
    ------
    ChainError
        If no guarantee can be derived, or the table does not fit.
    BudgetError
        If the charge has been used, or was made for something else.
    """
    check_release(table, scaling, settings)
    source, n = SystemRandomness(), table.n_patients
    scaling = check_constants(scaling, settings)
    plan = plan_rows(settings, scaling, n)
    planned = ChainInputs(settings, plan, scaling, n, plan.sampler(source), charge)
    scaling = pay_for_constants(planned, table, source)
    plan = plan_rows(settings, scaling, n).renewed(source)
    rows_int = plan.bound(scale_rows(table, scaling))
    certificate = build_certificate(replace(planned, plan=plan, scaling=scaling))
    _ = certificate.chain_digest  # what could not be written is refused before the spend
    if settings.scaling_budget is None:
        charge.consume(charge_request(settings, table.columns, n))
    draws = plan.mechanism.draw(n, source)
    messages = plan.messages(rows_int, draws)
    values = plan.mechanism.apply(rows_int, draws)
    order = permutation(n, source)
    values = np.ascontiguousarray(values[order])
    charge.bind(values.tobytes())
    return Release(
        columns=table.columns,
        values=values,
        labels=_protect_labels(table, settings, order, source),
        scaling=scaling,
        certificate=certificate,
        charge=charge,
        messages=None if messages is None else messages.reordered(order),
        estimate=_estimate(plan, table, values),
    )


def _estimate(plan: RowPlan, table: FeatureTable, values: FloatArray) -> Estimate | None:
    """What public rules make of the released values; nothing private enters."""
    inputs = plan.public_inputs(tuple(column.name for column in table.columns))
    if inputs is None:
        return None
    return Estimate(take_steps(plan.steps, values), inputs)


def _protect_labels(
    table: FeatureTable, settings: ProtectSettings, order: IntArray, source: RandomSource
) -> dict[str, tuple[str, ...]]:
    protected = {}
    for policy in (*settings.charged_labels, *settings.unprotected_labels):
        values = table.attributes[policy.name]
        if policy.is_charged:
            values = randomise(values, policy, source)
        protected[policy.name] = tuple(values[index] for index in order.tolist())
    return protected
