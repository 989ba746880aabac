"""A forger's calculator for mean and covariance, written from ``docs/certificate.md`` alone.

Loaded by the fixture ``moments_arithmetic`` in conftest.py; common work is done by
``forger_arithmetic.py``, which is handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from types import ModuleType
from typing import Any

from mpmath import exp, expm1, mpf, pi, sqrt

Values = dict[str, Any]
SECOND_PROOF = "(mechanism.n_coordinates + B)"


def recompute(
    document: dict[str, Any], tools: ModuleType, pinned: Collection[str] = ()
) -> dict[str, Any]:
    """Work out again everything that follows from other facts, in place.

    Parameters
    ----------
    document : dict
        A certificate of moments some of whose values were changed; it is changed further.
    tools : module
        ``forger_arithmetic``.
    pinned : collection of str
        Dotted names of facts that stay as they are although they follow from others.

    Returns
    -------
    dict
        The same document.
    """
    v = tools.read_values(document)
    second = document["chain"]["guarantee"]["epsilon_slack"]["formula"].startswith(SECOND_PROOF)

    def put(**facts: Callable[[], Any]) -> None:
        for name, work_out in facts.items():
            dotted = name.replace("__", ".")
            if dotted not in pinned and dotted in v:
                v[dotted] = work_out()

    _foundations(v, put, tools)
    for _ in range(4):  # noise and the price of its integers depend on each other
        _noise(v, put, tools, second=second)
    _after_the_noise(v, put, tools)
    _books(v, put, tools)
    for name, value in v.items():
        link, fact = name.split(".")
        document["chain"][link][fact]["value"] = value
    document["verdict"] = tools.verdict(document)
    return document


def _foundations(v: Values, put: Callable[..., None], tools: ModuleType) -> None:
    d, clip, share = (
        v["domain.dimension"],
        mpf(v["bound.clip_norm"]),
        mpf(v["mechanism.mean_share"]),
    )
    joint = share / 2 + (1 - share) + share**2 / (16 * (1 - share))
    put(
        domain__n=lambda: v["adjacency.n_roster"],
        bound__dimension=lambda: d,
        mechanism__n_coordinates=lambda: d * (d + 1) // 2 + d,
        sensitivity__value=lambda: tools.up(sqrt(joint)),
        sensitivity__sum=lambda: tools.up(v["adjacency.factor"] * clip),
        sensitivity__second_moment=lambda: tools.up(sqrt(mpf(v["adjacency.factor"])) * clip**2),
    )
    if tools.is_drawn(v):
        tools.constants_drawn(v, put)
    scaling = v["preprocessing.scaling"]
    put(
        model__batch=lambda: v["domain.n"],
        guarantee__epsilon=lambda: v["guarantee.epsilon_rows"] + scaling["epsilon"],
        preprocessing__scaling=lambda: tools._with_digest(scaling),
    )


def _noise(v: Values, put: Callable[..., None], tools: ModuleType, *, second: bool) -> None:
    share, epsilon = mpf(v["mechanism.mean_share"]), mpf(v["guarantee.epsilon_rows"])
    calibrated, moved = mpf(v["guarantee.delta_calibrated"]), mpf(v["sensitivity.value"])
    target = epsilon - mpf(v["guarantee.epsilon_slack"])
    put(
        mechanism__noise_scale=lambda: tools.up(
            tools.sigma_for(target, calibrated, moved) * tools.ROUNDED_UP
        )
    )
    scale, both = mpf(v["mechanism.noise_scale"]), mpf(v["sensitivity.second_moment"])
    total, step = mpf(v["sensitivity.sum"]), mpf(2) ** v["bound.grid_log2"]
    put(
        mechanism__noise_std_diagonal=lambda: tools.up(both * scale / sqrt(1 - share)),
        mechanism__noise_std_off_diagonal=lambda: tools.up(both * scale / sqrt(2 * (1 - share))),
        mechanism__noise_std_sum=lambda: tools.up(total * scale / sqrt(share)),
    )
    scales = (
        mpf(v["mechanism.noise_std_off_diagonal"]) / step**2,
        mpf(v["mechanism.noise_std_sum"]) / step,
    )
    put(mechanism__integer_scale=lambda: float(min(scales)))
    count, square = mpf(v["mechanism.n_coordinates"]), mpf(v["mechanism.integer_scale"]) ** 2
    cost, delta, reach = count / (24 * square), mpf(tools.delta_of_rows(v)), epsilon + 100
    ball = count + 2 * sqrt(count * reach) + 2 * reach
    shift = (count + ball) / (24 * square) + 3 * count * exp(-2 * pi**2 * square)
    price = -expm1(-cost) * delta + exp(mpf(-99)) if second else (1 + exp(epsilon)) * cost
    put(
        guarantee__epsilon_slack=lambda: tools.up(shift) if second else 0.0,
        guarantee__delta_slack=lambda: tools.up(price),
    )
    put(guarantee__delta_calibrated=lambda: float(delta - mpf(v["guarantee.delta_slack"])))


def _after_the_noise(v: Values, put: Callable[..., None], tools: ModuleType) -> None:
    scale, moved = mpf(v["mechanism.noise_scale"]), mpf(v["sensitivity.value"])
    share, n, twice = mpf(v["mechanism.mean_share"]), v["domain.n"], 2 * scale**2
    found = tools.epsilon_for(scale, mpf(v["guarantee.delta_calibrated"]), moved)
    supported = (found + mpf(v["guarantee.epsilon_slack"])) * tools.ROUNDED_UP
    put(
        mechanism__noise_multiplier=lambda: float(scale / moved),
        guarantee__zcdp_rho=lambda: float(moved**2 / twice),
        guarantee__zcdp_rho_sum=lambda: float(share / twice),
        guarantee__zcdp_rho_second_moment=lambda: float((1 - share) / twice),
        guarantee__epsilon_supported=lambda: tools.up(supported),
        aggregates__statistics=lambda: _statistics(v),
        utility__predicted=lambda: {
            "mean_rmse": v["mechanism.noise_std_sum"] / n,
            "covariance_rmse": v["mechanism.noise_std_off_diagonal"] / n,
        },
    )
    opinion = {
        **v["accountant.cross_check"],
        "delta": v["guarantee.delta_calibrated"], "zcdp_rho": v["guarantee.zcdp_rho"],
        "epsilon": float(found) if 0.001 <= found <= 50 else None,
    }  # fmt: skip
    put(accountant__cross_check=lambda: opinion)


def _books(v: Values, put: Callable[..., None], tools: ModuleType) -> None:
    moments = {
        "mechanism": "mean_covariance", "releases": 1,
        "noise_multiplier": v["mechanism.noise_multiplier"],
    }  # fmt: skip
    limit, before = v["composition.limit"], v["composition.spent_before"]
    left = {
        key: float(
            tools._decimal(limit[key])
            - tools._decimal(before[key])
            - tools._decimal(v[f"guarantee.{key}"])
        )
        for key in ("epsilon", "delta")
    }
    put(
        accountant__events=lambda: [moments, *tools.constants_counted(v)],
        composition__remaining=lambda: left,
        software__lock_digest=lambda: tools.sha256_of(v["software.versions"]),
    )


def _statistics(v: Values) -> list[dict[str, Any]]:
    share, grid = v["mechanism.mean_share"], v["bound.grid_log2"]
    return [
        {"name": "sum", "sensitivity_norm": "l2", "sensitivity": v["sensitivity.sum"],
         "noise_scale": v["mechanism.noise_std_sum"], "grid_log2": grid, "share": share},
        {"name": "second_moment", "sensitivity_norm": "l2",
         "sensitivity": v["sensitivity.second_moment"],
         "noise_scale": v["mechanism.noise_std_off_diagonal"], "grid_log2": 2 * grid,
         "share": 1 - share},
    ]  # fmt: skip
