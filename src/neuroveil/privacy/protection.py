"""From a private feature table to a release: the only way there is.

Order matters here. Everything that can be refused is refused first, the certificate is
written, the charge is used up, and only then is noise drawn. A crash after the draw leaves
the budget spent.
"""

from __future__ import annotations

import numpy as np

from neuroveil.errors import ChainError
from neuroveil.privacy.bounds import IntArray
from neuroveil.privacy.chain import ChainInputs, build_certificate
from neuroveil.privacy.labels import check_labels, randomise
from neuroveil.privacy.mechanisms.registry import make_mechanism
from neuroveil.privacy.randomness import RandomSource, permutation
from neuroveil.privacy.sampling import SystemRandomness
from neuroveil.privacy.scaling import scale_rows
from neuroveil.privacy.settings import ProtectSettings, charge_request
from neuroveil.types.charge import Charge
from neuroveil.types.release import Release
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
    if scaling.fitted_on == "private" and not settings.acknowledge_private_statistics:
        raise ChainError(
            "preprocessing.scaling", "public constants, or an acknowledgement",
            "constants that were fitted on the private cohort",
            "Use a public reference; statistics of the cohort leave no end-to-end guarantee.",
        )  # fmt: skip
    check_labels(settings.labels, table)
    scale_rows(table, scaling)


def protect(
    table: FeatureTable, scaling: Scaling, settings: ProtectSettings, charge: Charge
) -> Release:
    """Release a feature table under subject-level differential privacy.

    Rows are scaled, clipped, put on an integer grid and given exact integer noise from the
    operating system's generator, which takes no seed. They come out in random order, with
    their labels, without identifiers.

    Parameters
    ----------
    table : FeatureTable
        The private table, one row for each patient on the roster.
    scaling : Scaling
        Constants for exactly the table's columns.
    settings : ProtectSettings
        Public settings of the release.
    charge : Charge
        The spend, reserved for the request that
        :func:`~neuroveil.privacy.settings.charge_request` makes of the same settings. It is
        used up before noise is drawn.

    Returns
    -------
    Release
        Protected values of shape (n_patients, n_features) with their certificate.

    Raises
    ------
    ChainError
        If no guarantee can be derived, or the table does not fit.
    BudgetError
        If the charge has been used, or was made for something else.
    """
    check_release(table, scaling, settings)
    mechanism = make_mechanism(settings.spec(table.n_features))
    rows_int = mechanism.bound(scale_rows(table, scaling))
    source = SystemRandomness()
    certificate = build_certificate(
        ChainInputs(settings, mechanism, scaling, table.n_patients, source.facts, charge)
    )
    _ = certificate.chain_digest  # what could not be written is refused before the spend
    charge.consume(charge_request(settings, table.columns, table.n_patients))
    values = mechanism.apply(rows_int, mechanism.draw(table.n_patients, source))
    order = permutation(table.n_patients, source)
    return Release(
        columns=table.columns,
        values=np.ascontiguousarray(values[order]),
        labels=_protect_labels(table, settings, order, source),
        scaling=scaling,
        certificate=certificate,
        charge=charge,
    )


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
