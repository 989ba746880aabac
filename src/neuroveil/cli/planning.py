"""A plan as tables for a terminal."""

from __future__ import annotations

import io
import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from neuroveil.types.planning import OptionForecast, Plan

_WIDTH = 116
_SHOWN_DROPS = 3


def plan_text(plan: Plan, left: dict[str, float] | None, *, full: bool) -> str:
    """Write a plan for a person.

    Parameters
    ----------
    plan : Plan
        The plan.
    left : dict, optional
        Epsilon and delta that the ledger has left, where there is one.
    full : bool
        Whether every channel and feature that could be left out is listed.

    Returns
    -------
    str
        Words and tables.
    """
    from rich.console import Console

    from neuroveil.report.planning import plan_words

    console = Console(file=io.StringIO(), width=_WIDTH, color_system=None)
    console.print(
        f"Plan for {plan.n_patients:,} patients x {plan.n_columns:,} columns, clipping norm "
        f"{plan.clip_norm:g}, delta {plan.delta:.3g}, trust model {plan.trust_model}. "
        "No private value was looked at.\n"
    )
    for epsilon in plan.epsilons:
        console.print(_forecasts(plan, epsilon, left))
    _attackers(console, plan)
    console.print(_price(plan))
    _needs(console, plan)
    _drops(console, plan, full=full)
    for sentence in plan_words(plan):
        lines = textwrap.wrap(
            sentence, _WIDTH - 2, initial_indent="- ", subsequent_indent="  ",
            break_on_hyphens=False,
        )  # fmt: skip
        console.print("\n".join(lines), markup=False, highlight=False)
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())


def _table(title: str, *headings: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", padding=(0, 1))
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="right" if place else "left", no_wrap=True)
    return table


def _forecasts(plan: Plan, epsilon: float, left: dict[str, float] | None) -> Table:
    title = f"epsilon = {epsilon:g}"
    if left is not None:
        verdict = "fits" if epsilon <= left["epsilon"] else "DOES NOT FIT"
        title += f" ({verdict} the ledger, which has epsilon = {left['epsilon']:g} left)"
    table = _table(
        title, "release", "spends", "noise", "corr.", "centred", "RMSE", "SNR dB",
        f"AUC {plan.auc_before:.2f} ->",
    )  # fmt: skip
    for forecast in plan.forecasts:
        if forecast.epsilon == epsilon:
            table.add_row(*_cells(forecast))
    return table


def _cells(forecast: OptionForecast) -> tuple[str, ...]:
    start = (forecast.label, f"{forecast.epsilon:g}, {forecast.delta:.2g}")
    if forecast.rows is not None:
        rows = forecast.rows
        return (
            *start, f"{rows.noise_std:.3g}", f"{rows.correlation:.3f}",
            f"{rows.correlation_centred:.3f}", f"{rows.rmse:.3g}",
            f"{round(rows.snr_db, 1) + 0.0:.1f}",  # and never a zero with a sign
            f"{rows.auc_pattern:.2f} / {rows.auc_column:.2f}",
        )  # fmt: skip
    assert forecast.moments is not None
    kept = forecast.moments.covariance_correlation
    covariances = "unknown" if kept is None else f"cov. {kept:.2f}"
    return (*start, f"{forecast.moments.covariance_rmse:.3g}", covariances, *("",) * 4)


def _attackers(console: Console, plan: Plan) -> None:
    """One row a guarantee and mechanism: forms do not change what an attacker gains."""
    table = _table(
        "the strongest attacker", "release", "epsilon", "advantage at most", "by this noise",
        "belief at most", "except with",
    )  # fmt: skip
    seen = set()
    for forecast in plan.forecasts:
        attack = forecast.attack
        key = (forecast.mechanism, forecast.trust_model, forecast.epsilon)
        if key in seen or forecast.form not in ("plain", "aggregate"):
            continue
        seen.add(key)
        own = "" if attack.advantage_of_noise is None else f"{attack.advantage_of_noise:.4f}"
        table.add_row(
            forecast.label, f"{forecast.epsilon:g}", f"{attack.advantage:.4f}", own,
            f"{attack.prior:g} -> {attack.posterior:.4f}",
            f"{attack.posterior_exception:.1e}" if attack.posterior_exception else "never",
        )  # fmt: skip
    console.print(table)


def _price(plan: Plan) -> Table:
    mechanisms = list(plan.price[0].correlations)
    epsilon = plan.price[0].epsilon
    table = _table(
        f"the price of the dimension: correlation of plain rows at epsilon = {epsilon:g}",
        "size", "columns d", "sqrt d", "typical cell C/sqrt d", *mechanisms,
    )  # fmt: skip
    for price in plan.price:
        kept = (f"{price.correlations[name]:.4f}" for name in mechanisms)
        table.add_row(
            price.label, str(price.dimension), f"{price.root:.2f}", f"{price.typical_cell:.3f}",
            *kept,
        )  # fmt: skip
    return table


def _needs(console: Console, plan: Plan) -> None:
    if not plan.needs:
        return
    first = plan.needs[0]
    table = _table(
        f"what a correlation of {first.target:g} needs", "release",
        f"epsilon at n = {plan.n_patients}", f"n at epsilon = {first.at_epsilon:g}",
    )  # fmt: skip
    for need in plan.needs:
        epsilon = f"{need.epsilon:g}" if need.epsilon else f"more than {need.epsilon_tried:g}"
        patients = "does not help"
        if need.depends_on_n:
            patients = f"{need.n_patients:,}" if need.n_patients else f"more than {need.n_tried:,}"
        table.add_row(need.label, epsilon, patients)
    console.print(table)


def _drops(console: Console, plan: Plan, *, full: bool) -> None:
    if plan.drops is None:
        return
    listed: tuple[Any, ...] = plan.drops.listed
    if not full:
        kinds = ("channel", "feature")
        listed = tuple(
            drop
            for kind in kinds
            for drop in [each for each in plan.drops.listed if each.kind == kind][:_SHOWN_DROPS]
        )
    table = _table(
        f"left out of {plan.drops.label} at epsilon = {plan.drops.epsilon:g}"
        + ("" if full else " (all of them with -v)"),
        "left out", "columns", "others before", "others after", "estimated",
        "all before", "all after",
    )  # fmt: skip
    for drop in listed:
        table.add_row(
            f"{drop.kind} {drop.name}", str(drop.n_columns), f"{drop.kept_before:.3f}",
            f"{drop.kept_after:.3f}", f"{drop.recovered:.3f}", f"{drop.all_before:.3f}",
            f"{drop.all_after:.3f}",
        )  # fmt: skip
    console.print(table)
