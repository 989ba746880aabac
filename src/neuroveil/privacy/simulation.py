"""Draws for evaluation: what a mechanism would leave, without a release.

A simulation takes a seed, spends nothing and protects nobody. It is a type of its own that
no writer accepts.
"""

from __future__ import annotations

from collections.abc import Iterator

from neuroveil.privacy.bounds import IntArray
from neuroveil.privacy.central.dp_scaling import draw_scaling, planned_scaling
from neuroveil.privacy.central.plan import plan_moments
from neuroveil.privacy.chain import ChainInputs, build_certificate
from neuroveil.privacy.plan import RowPlan, plan_rows
from neuroveil.privacy.postprocessing import take_steps
from neuroveil.privacy.randomness import SimulationRandomness
from neuroveil.privacy.scaling import scale_rows
from neuroveil.privacy.settings import ProtectSettings
from neuroveil.privacy.validate import check_dimension
from neuroveil.types.certificate import Certificate
from neuroveil.types.release import Simulation
from neuroveil.types.scaling import Scaling
from neuroveil.types.table import FeatureTable


def rehearse(scaling: Scaling, settings: ProtectSettings, n_patients: int) -> Certificate:
    """Write the certificate that a simulated draw has: the whole chain, and no guarantee.

    Parameters
    ----------
    scaling : Scaling
        Constants of the columns.
    settings : ProtectSettings
        Public settings, as for a release.
    n_patients : int
        Roster size, public.

    Returns
    -------
    Certificate
        Without a guarantee, since the noise has a seed and no ledger has paid. Constants that
        a release would draw are planned: the public ones stand in their place.

    Raises
    ------
    ChainError
        If the mechanism cannot be calibrated.
    """
    source = SimulationRandomness(0)
    if settings.scaling_budget is not None and scaling.fitted_on == "public":
        scaling = planned_scaling(scaling)
    if settings.is_central:
        moments = plan_moments(settings, len(scaling.columns), n_patients)
        return build_certificate(
            ChainInputs(settings, moments, scaling, n_patients, source.facts, None)
        )
    plan = plan_rows(settings, scaling, n_patients)
    sampler = plan.sampler(source)
    return build_certificate(ChainInputs(settings, plan, scaling, n_patients, sampler, None))


def simulate(
    table: FeatureTable,
    scaling: Scaling,
    settings: ProtectSettings,
    seed: int,
    n_draws: int = 1,
) -> Iterator[Simulation]:
    """Draw what a mechanism would leave of a table, as often as asked.

    Every mechanism can be simulated, the paper's under-noised Laplace included. Labels are
    not part of a simulation.

    Parameters
    ----------
    table : FeatureTable
        The private table.
    scaling : Scaling
        Constants for exactly the table's columns; public ones where the settings pay for
        constants from the cohort, which are then drawn anew each time.
    settings : ProtectSettings
        Public settings, as for a release.
    seed : int
        Seed of the generator; the draws of one call are independent of each other.
    n_draws : int
        Number of draws.

    Yields
    ------
    Simulation
        One draw: randomised and clipped values of shape (n_patients, m) in the order of the
        table, the estimate that a release would hold, and a certificate without guarantee.
        Every draw has its own codebook, where the mechanism has one.

    Raises
    ------
    ChainError
        If the mechanism cannot be calibrated, or the constants do not fit the table.
    """
    check_dimension(n_draws, "n_draws")
    source, budget = SimulationRandomness(seed), settings.scaling_budget
    certificate = rehearse(scaling, settings, table.n_patients)
    fixed = _bounded(table, scaling, settings) if budget is None else None
    for _ in range(n_draws):
        if budget is None:
            constants = scaling
        else:  # as in a release, constants are drawn with every draw
            spec = budget.spec(len(table.columns), table.n_patients)
            constants = draw_scaling(table, scaling, spec, source)
        plan, rows_int = fixed or _bounded(table, constants, settings)
        mechanism = plan.mechanism.renewed(source)
        values = mechanism.apply(rows_int, mechanism.draw(table.n_patients, source))
        estimated = take_steps(plan.steps, values) if plan.steps else None
        yield Simulation(values, mechanism.to_scaled(rows_int), certificate, estimated)


def _bounded(
    table: FeatureTable, scaling: Scaling, settings: ProtectSettings
) -> tuple[RowPlan, IntArray]:
    plan = plan_rows(settings, scaling, table.n_patients)
    return plan, plan.bound(scale_rows(table, scaling))
