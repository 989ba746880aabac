"""Valid certificates, written by hand from the contract, and ways to spoil them.

Status, formula and rests_on are read from the table of docs/certificate.md itself; numbers
come from mpmath, scipy and numpy. Nothing is shared with the code that verifies or with the
code that releases.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import integrate, special, stats

ROOT = Path(__file__).resolve().parents[4]
VERSIONS = {"dp-accounting": "0.6.0", "neuroveil": "0.1.0", "opendp": "0.13.0", "python": "3.11.2"}
SEED = "00112233445566778899aabbccddeeff"


def canonical(document: object) -> bytes:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode()


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


@cache
def contract() -> list[tuple[str, str, str, str | None, list[str]]]:
    """Name, case, status, formula and rests_on of every line of the contract's table."""
    table: list[tuple[str, str, str, str | None, list[str]]] = []
    first: dict[str, list[str]] = {}
    for line in (ROOT / "docs" / "certificate.md").read_text(encoding="utf-8").splitlines():
        match = re.match(r"\| `([a-z]+\.[a-z_0-9]+)`(?: \(([^)]*)\))? \|", line)
        if not match:
            continue
        _, _, status, formula, rests_on = (cell.strip() for cell in line.strip("|").split("|"))
        names = re.findall(r"`([^`]+)`", rests_on)
        if rests_on.startswith("the same"):
            names = first[match[1]] + names
        first.setdefault(match[1], names)
        table.append((match[1], match[2] or "", status, formula.strip("`") or None, names))
    return table


def counts(case: str, r: Recipe) -> bool:
    """Whether a line of the table is for a recipe."""
    in_norm_of_bound = r.gaussian or r.bound == "l1"
    special_cases = {
        "in the norm of the bound": in_norm_of_bound, "l1, under an l2 bound": True,
        "where this is smaller": r.second_proof,
    }  # fmt: skip
    if "under an l2 bound" in case and in_norm_of_bound:
        return False
    own = {r.mechanism, r.trust, r.bound, r.amplification if r.trust == "shuffled" else "", r.rule,
           "projected" if r.components else "not projected",
           "drawn" if r.drawn else "not drawn"}  # fmt: skip
    return all(
        special_cases.get(part, bool(own & set(part.split(", "))))
        for part in filter(None, case.split("; "))
    )


def profile(epsilon: Any, sigma: Any, sensitivity: Any) -> Any:
    """Balle & Wang 2018, Theorem 8, in mpmath's current precision."""
    half, slope = sensitivity / (2 * sigma), epsilon * sigma / sensitivity
    return mpmath.ncdf(half - slope) - mpmath.exp(epsilon) * mpmath.ncdf(-half - slope)


@cache
def sigma_by_mpmath(epsilon: float, delta: Any, sensitivity: float) -> float:
    """Smallest sigma by bisection with 80 digits, rounded up to a double."""
    with mpmath.workdps(80):
        e, d, s = mpmath.mpf(epsilon), mpmath.mpf(delta), mpmath.mpf(sensitivity)
        low, high = s / 1000, s * 100 * (1 + 1 / e)
        assert profile(e, low, s) > d >= profile(e, high, s)
        for _ in range(110):
            middle = mpmath.sqrt(low * high)
            low, high = (middle, high) if profile(e, middle, s) > d else (low, middle)
        return math.nextafter(float(high), math.inf)


class Recipe:
    """Numbers of a certificate that are free; everything else follows from them."""

    def __init__(self, **changes: Any) -> None:
        self.mechanism = "gaussian"
        self.trust = "local"
        self.amplification = "privacy_blanket"
        self.epsilon_local: float | None = None
        self.bound = "l2"
        self.epsilon_rows = 1.0
        self.delta = 1e-5
        self.delta_justification: str | None = None
        self.clip_norm = 2.0
        self.n = 17
        self.columns = [f"C{i:03d}__alpha" for i in range(363)]
        self.components: int | None = None
        self.steps: list[tuple[str, dict[str, Any]]] = []
        self.grid = -40
        self.size, self.top = 4096, 41
        self.per_message = False
        self.labels: list[dict[str, Any]] = []
        self.unprotected: list[str] = []
        self.fitted_on = "public"
        self.drawn: tuple[float, float] | None = None
        self.factor = 2
        self.noise_factor = 1.0
        self.second_proof = False
        self.rule = "basic"
        self.prior = (0, 0.0, 0.0)
        self.prior_events: list[dict[str, Any]] = []
        self.remaining: float | None = None
        self.limit = (10.0, 1e-4)
        for name, value in changes.items():
            assert hasattr(self, name), name
            setattr(self, name, value)
        if not self.gaussian and self.trust != "shuffled":
            self.delta = 0.0
        self.whole_delta = self.delta + (self.drawn[1] if self.drawn else 0.0)
        self.d = len(self.columns)
        self.m = self.components or self.d
        self.epsilon = self.epsilon_local if self.trust == "shuffled" else self.epsilon_rows
        self.norm = {"gaussian": "l2", "privunit": "none"}.get(self.mechanism, "l1")

    @property
    def gaussian(self) -> bool:
        return self.mechanism == "gaussian"

    @property
    def privunit(self) -> bool:
        return self.mechanism == "privunit"


@cache
def cap_moments(size: int, top: int, sphere: int) -> tuple[float, float]:
    """t1 and t2 of the contract, by adaptive quadrature over the share V ~ Beta(K, N - K)."""
    half = (sphere - 1) / 2
    norm = math.exp(special.gammaln(sphere / 2) - special.gammaln(half)) / math.sqrt(math.pi)

    def mean(integral: Callable[[float], float]) -> float:
        law = stats.beta(top, size - top)
        ends = [law.ppf(1e-14), *law.ppf([0.01, 0.5, 0.99]), law.isf(1e-14)]
        parts = [
            integrate.quad(lambda v: law.pdf(v) * integral(v), a, b, epsabs=0, epsrel=1e-12)[0]
            for a, b in pairwise(ends)
        ]
        return size / top * math.fsum(parts)

    def first(share: float) -> float:
        t = 1 - 2 * special.betaincinv(half, half, share)
        return norm * (1 - t * t) ** half / (2 * half)

    def second(share: float) -> float:
        t = 1 - 2 * special.betaincinv(half, half, share)
        return special.betainc(half, 1.5, 1 - t * t) / (2 * sphere)

    return mean(first), mean(second)


def book_of(r: Recipe) -> dict[str, Any]:
    """Probability, ratio and moments of a codebook."""
    with mpmath.workdps(80):
        grown = mpmath.exp(mpmath.mpf(r.epsilon)) * r.top
        p = Fraction(int(mpmath.floor(grown / (grown + r.size - r.top) * 2**128)), 2**128)
    p = p * Fraction(r.noise_factor) if r.noise_factor != 1 else p
    ratio = p / r.top / ((1 - p) / (r.size - r.top))
    t1, t2 = cap_moments(r.size, r.top, r.m + 1)
    inside, outside = float(p / r.top), float((1 - p) / (r.size - r.top))
    a = r.top * t1 * (inside - outside)
    b = r.top * t2 * inside + (r.size / (r.m + 1) - r.top * t2) * outside
    mse = (1 - (1 - b) / r.m) / a**2 - 1
    rmse = r.clip_norm * math.sqrt(mse / r.m)
    return {
        "p": f"{p.numerator * (2**128 // p.denominator)}/{2**128}",
        "ratio": f"{ratio.numerator}/{ratio.denominator}", "scale": r.clip_norm / a,
        "supported": min(math.nextafter(float(mpmath.log(mpmath.mpf(ratio.numerator)
                         / ratio.denominator)), math.inf), r.epsilon),
        "predicted": {
            "rmse": rmse, "mae": math.sqrt(2 / math.pi) * rmse,
            "correlation": a / math.sqrt(1 - (1 - b) / r.m), "snr_db": -10 * math.log10(mse),
            "mse_over_clip_norm_squared": mse,
        },
    }  # fmt: skip


@cache
def shuffled_delta(bound: str, epsilon: float, local: float, share: float, n: int) -> float:
    """delta_bound by plain enumeration of all counts; for small batches."""
    a, b = math.exp(local), math.exp(epsilon)
    if epsilon >= local:
        return 0.0
    if bound == "clones_2021":
        total = 0.0
        for c in range(n):
            k = np.arange(c + 2)
            one, two = stats.binom.pmf(k - 1, c, 0.5), stats.binom.pmf(k, c, 0.5)
            likely = a / (a + 1)
            p, q = likely * one + (1 - likely) * two, (1 - likely) * one + likely * two
            total += stats.binom.pmf(c, n - 1, 1 / a) * np.maximum(p - b * q, 0).sum()
        return float(total)
    g = 1 / (a * share + 1 - share)
    weights = [g * share, g * share, g * (1 - 2 * share), 1 - g]
    losses = [a - b, 1 - a * b, 1 - b, 0.0]
    law = stats.multinomial(n, weights)
    return math.fsum(
        float(law.pmf([i, j, k, n - i - j - k])) * height
        for i, j, k in product(range(n + 1), repeat=3)
        if i + j + k <= n and (height := i * losses[0] + j * losses[1] + k * losses[2]) > 0
    ) / n  # fmt: skip


def additive_of(r: Recipe) -> dict[str, Any]:
    """Sensitivity, noise scale and what belongs to it."""
    sensitivity = r.factor * r.clip_norm
    if r.norm == "l1" and r.bound == "l2":
        sensitivity = math.nextafter(sensitivity * math.sqrt(r.m), math.inf)
    if r.gaussian:
        scale, slack = gaussian_noise(r, sensitivity)
        second_delta = r.delta - slack
        second = supported = epsilon_by_mpmath(scale, second_delta, sensitivity)
        std = scale
    else:
        exact = r.factor * r.clip_norm if r.mechanism == "paper_laplace" else sensitivity
        scale = math.nextafter(exact / r.epsilon, math.inf) * r.noise_factor
        if r.mechanism == "paper_laplace":
            scale = exact / r.epsilon * r.noise_factor
        supported, slack, second_delta = sensitivity / scale, 0.0, 1e-9
        second, std = supported + 2 * math.log1p(-1e-9), math.sqrt(2) * scale
    signal, variance = r.clip_norm**2 / r.m, std**2
    return {
        "sensitivity": sensitivity, "scale": scale, "std": std, "slack": slack,
        "multiplier": std / sensitivity, "supported": supported,
        "cross_check": {
            "method": "dp-accounting, PLD", "version": "0.6.0", "epsilon": second,
            "delta": second_delta,
            "zcdp_rho": sensitivity**2 / (2 * scale**2) if r.gaussian else None,
        },
        "predicted": {
            "rmse": std, "mae": scale * (math.sqrt(2 / math.pi) if r.gaussian else 1),
            "correlation": math.sqrt(signal / (signal + variance)),
            "snr_db": 10 * math.log10(signal / variance),
            "mse_over_clip_norm_squared": variance * r.m / r.clip_norm**2,
        },
    }  # fmt: skip


def gaussian_noise(r: Recipe, sensitivity: float) -> tuple[float, float]:
    """Noise scale and the price of integer noise, by the first or the second proof."""

    def price(sigma: float) -> float:
        square = (sigma * 2.0**-r.grid) ** 2
        if r.second_proof:
            return r.delta * r.m / (24 * square) + math.exp(-99)
        return float((1 + mpmath.exp(r.epsilon)) * r.m / (24 * square))

    epsilon = r.epsilon * (1 - 1e-13)
    rough = price(sigma_by_mpmath(epsilon, r.delta, sensitivity))
    scale = sigma_by_mpmath(epsilon, r.delta - rough, sensitivity) * r.noise_factor
    return scale, price(scale) * (1 + 1e-9)


@cache
def epsilon_by_mpmath(sigma: float, delta: float, sensitivity: float) -> float:
    with mpmath.workdps(60):
        sg, d, s = mpmath.mpf(sigma), mpmath.mpf(delta), mpmath.mpf(sensitivity)
        low, high = mpmath.mpf(0), mpmath.mpf(1)
        while profile(high, sg, s) > d:
            high *= 2
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if profile(middle, sg, s) > d else (low, middle)
        return float(high)


def values_of(r: Recipe) -> dict[str, Any]:
    """Value of every fact that a recipe could need."""
    found = book_of(r) if r.privunit else additive_of(r)
    epsilon_labels = math.fsum(label["epsilon"] for label in r.labels)
    slack = found.get("slack", 0.0)
    shuffled = r.trust == "shuffled"
    rows: dict[str, Any] = {"mechanism": r.mechanism, "releases": 1}
    rows |= {"epsilon": r.epsilon} if r.privunit else {"noise_multiplier": found["multiplier"]}
    if shuffled:
        rows |= {"batch": r.n, "epsilon_central": r.epsilon_rows, "delta_central": r.delta}
    labels = [
        {"mechanism": "randomised_response", "epsilon": label["epsilon"], "releases": 1}
        for label in r.labels
    ]
    values = {
        "unit.entity": "patient", "unit.rows_per_unit_max": 1, "unit.dedup": "roster_key",
        "adjacency.relation": "replace_one", "adjacency.factor": r.factor,
        "adjacency.n_roster": r.n, "domain.dimension": r.d, "domain.n": r.n,
        "domain.columns_digest": digest(canonical(r.columns)),
        "domain.missing_policy": "public_centre", "domain.labels": list(r.labels),
        "domain.unprotected": list(r.unprotected),
        "preprocessing.features": step("features", "public", {"line_hz": 50}),
        "preprocessing.scaling": step("scaling", r.fitted_on, scaling_params(r)),
        **drawn_values(r),
        "preprocessing.projection": step("projection", "public", projection_params(r))
        if r.components else None,
        "bound.norm": r.bound, "bound.clip_norm": r.clip_norm, "bound.dimension": r.m,
        "bound.method": "scale_to_norm_then_truncate_toward_zero", "bound.grid_log2": r.grid,
        "bound.exact_integer_check": True, "sensitivity.norm": r.norm,
        "sensitivity.value": found.get("sensitivity"), "mechanism.name": r.mechanism,
        "mechanism.choice": "set in the study", "mechanism.epsilon": r.epsilon,
        "mechanism.distribution": {"gaussian": "discrete_gaussian",
                                   "privunit": "k_closest_codeword"}.get(
                                       r.mechanism, "discrete_laplace"),
        "mechanism.consumes_norm": r.norm, "mechanism.noise_scale": found.get("scale"),
        "mechanism.noise_std": found.get("std"),
        "mechanism.noise_multiplier": found.get("multiplier"),
        "mechanism.integer_scale": found["scale"] * 2.0**-r.grid,
        "mechanism.sphere_dimension": r.m + 1,
        "mechanism.codebook_generator": "neuroveil codebook 1",
        "mechanism.codebook_per_message": r.per_message,
        "mechanism.codebook_seed": None if r.per_message else SEED,
        "mechanism.codebook_size": r.size, "mechanism.codebook_top": r.top,
        "mechanism.top_probability": found.get("p"),
        "mechanism.likelihood_ratio": found.get("ratio"),
        "mechanism.decoding_scale": found["scale"],
        "mechanism.rounding": "down" if r.privunit else "up",
        "sampler.library": "python" if r.privunit else "opendp",
        "sampler.version": VERSIONS["python" if r.privunit else "opendp"],
        "sampler.exact": True, "sampler.source": "operating_system", "sampler.seeded": False,
        "guarantee.variant": "approximate_dp" if r.whole_delta else "pure_dp",
        "guarantee.epsilon": r.epsilon_rows + epsilon_labels + (r.drawn or (0.0,))[0],
        "guarantee.delta": r.whole_delta, "guarantee.delta_rows": r.delta,
        "guarantee.delta_justification": r.delta_justification,
        "guarantee.epsilon_rows": r.epsilon_rows, "guarantee.epsilon_labels": epsilon_labels,
        "guarantee.epsilon_supported": found["supported"], "guarantee.delta_slack": slack,
        "guarantee.delta_calibrated": r.delta - slack,
        "guarantee.proof": "a theorem", "amplification.bound": r.amplification,
        "amplification.epsilon_local": r.epsilon, "amplification.batch": r.n,
        "amplification.share": r.top / r.size,
        "amplification.delta_bound": shuffled_delta(
            r.amplification, r.epsilon_rows, r.epsilon, r.top / r.size, r.n
        ) * (1 + 1e-7) if shuffled else None,
        "accountant.name": {"gaussian": "analytic_gaussian", "privunit": "two_valued_likelihood"}
        .get(r.mechanism, "laplace_closed_form"),
        "accountant.version": VERSIONS["neuroveil"], "accountant.adjacency": "replace_one",
        "accountant.events": [rows, *drawn_events(r), *labels],
        "accountant.cross_check": found.get("cross_check"),
        "model.trust": r.trust, "model.batch": r.n, "model.who_is_trusted": "Nobody.",
        "postprocessing.steps": steps_of(r), "postprocessing.row_order": "random_permutation",
        "utility.predicted": found["predicted"],
        "utility.estimate": {"correlation": kept(r)} if any(s[0] == "wiener" for s in r.steps)
        else None,
        "utility.source": "public", "software.versions": dict(VERSIONS),
        "software.lock_digest": digest(canonical(VERSIONS)), "software.commit": "beaa5b9",
    }  # fmt: skip
    return values | composition_of(r, values["guarantee.epsilon"])


def kept(r: Recipe) -> float:
    """What Wiener's filter leaves under the public covariance; any number for projected rows."""
    if r.components:
        return 0.5
    lower = public_inputs(r)["covariance"]
    matrix = np.zeros((r.m, r.m))
    for i, line in enumerate(lower):
        matrix[i, : i + 1] = [float.fromhex(x) for x in line]
    values = np.linalg.eigvalsh(matrix + np.tril(matrix, -1).T)
    variance = next(params["noise_variance"] for name, params in r.steps if name == "wiener")
    return float(np.sqrt((values**2 / (values + variance)).sum() / values.sum()))


def drawn_values(r: Recipe) -> dict[str, Any]:
    """Facts about scaling constants that were drawn, and the step that says so."""
    names = ("quantiles", "n_quantiles", "quantile_epsilon", "quantile_rho")
    if r.drawn is None:
        return {f"preprocessing.{name}": None for name in names}
    epsilon, delta = r.drawn
    count = 2 * r.d
    each = max(epsilon / count, quantile_epsilon(count, epsilon, delta)) * (1 - 1e-9)
    params = {
        **scaling_params(r), "public_reference": "made-up v0",
        "public_constants_digest": digest(b"made-up v0"),
    }  # fmt: skip
    grid = {
        "mechanism": "exponential_of_ranks", "probabilities": [0.5], "absolute_deviation": True,
        "grid": "student_t_2", "scale": 1.0, "points": 1025,
    }  # fmt: skip
    found = dict(zip(names, (grid, count, each, count * each**2 / 8), strict=True))
    return {f"preprocessing.{name}": value for name, value in found.items()} | {
        "preprocessing.scaling": step("scaling", "dp", params)
        | {"epsilon": epsilon, "delta": delta}
    }


def drawn_events(r: Recipe) -> list[dict[str, Any]]:
    if r.drawn is None:
        return []
    epsilon, delta = r.drawn
    return [{"mechanism": "dp_quantiles", "epsilon": epsilon, "delta": delta, "releases": 1}]


@cache
def quantile_epsilon(count: int, epsilon: float, delta: float) -> float:
    """Largest epsilon of one quantile by zCDP, over a fine grid of orders; 0 without delta."""
    if delta == 0:
        return 0.0
    orders = 1 + np.exp(np.linspace(-8, 14, 400_001))
    fixed = -np.log(orders * delta) / (orders - 1) + np.log1p(-1 / orders)
    # epsilon = rho * order + fixed, so the largest rho is the best over all orders.
    return math.sqrt(8 * float(((epsilon - fixed) / orders).max()) / count)


def composition_of(r: Recipe, epsilon: float) -> dict[str, Any]:
    spent = {"epsilon": r.prior[1], "delta": r.prior[2]}
    limit = {"epsilon": r.limit[0], "delta": r.limit[1]}
    left = {
        "epsilon": r.limit[0] - r.prior[1] - epsilon,
        "delta": r.limit[1] - r.prior[2] - r.whole_delta,
    }
    if r.rule == "pld":
        left = {"epsilon": r.remaining, "delta": 0}
    return {
        "composition.rule": r.rule, "composition.scope": "study", "composition.limit": limit,
        "composition.spent_before": spent, "composition.prior_events": list(r.prior_events),
        "composition.remaining": left, "composition.prior_releases": r.prior[0],
    }  # fmt: skip


def step(name: str, fitted_on: str, params: dict[str, Any]) -> dict[str, Any]:
    return {
        "step": name, "params": params, "params_digest": digest(canonical(params)),
        "fitted_on": fitted_on, "epsilon": 0, "delta": 0,
    }  # fmt: skip


def constants(r: Recipe) -> dict[str, list[float]]:
    """Public constants of every feature column, on its scale."""
    return {
        "Centre": [0.01 * i for i in range(r.d)],
        "Spread": [0.1 + 0.01 * (i % 7) for i in range(r.d)],
    }


def public_inputs(r: Recipe) -> dict[str, Any]:
    """Entries of public_inputs.json that a recipe uses, as they stand there."""
    rng = np.random.default_rng(5)
    root = rng.normal(size=(r.m, r.m)) / r.m
    covariance = root @ root.T
    arrays = {
        "mean": rng.normal(size=r.m) / 10, "centre": constants(r)["Centre"],
        "spread": constants(r)["Spread"],
        "covariance": [covariance[i, : i + 1] for i in range(r.m)],
        "basis": np.linalg.qr(rng.normal(size=(r.d, r.m)))[0].T,
    }  # fmt: skip
    used = {"basis"} if r.components else set()
    for name, _ in r.steps:
        used |= set({"wiener": ("mean", "covariance"), "inverse_scaling": ("centre", "spread")}
                    .get(name, ()))  # fmt: skip
    return {"columns": r.columns} | {name: as_hex(arrays[name]) for name in sorted(used)}


def as_hex(array: Any) -> Any:
    return [as_hex(entry) if np.ndim(entry) else float(entry).hex() for entry in array]


def steps_of(r: Recipe) -> list[dict[str, Any]]:
    uses = {"wiener": ("mean", "covariance"), "projection_back": ("basis",),
            "inverse_scaling": ("centre", "spread")}  # fmt: skip
    inputs = public_inputs(r) if r.steps else {}
    return [
        {
            "step": name, "params": params,
            "public_inputs_digest": digest(canonical({k: inputs[k] for k in uses.get(name, ())})),
        }
        for name, params in r.steps
    ]  # fmt: skip


def projection_params(r: Recipe) -> dict[str, Any]:
    return {
        "kind": "public_pca", "reference": "made-up v1", "rule": "fixed", "components": r.m,
        "variance_share": 0.8, "basis_digest": digest(canonical(public_inputs(r)["basis"])),
    }  # fmt: skip


def scaling_params(r: Recipe) -> dict[str, Any]:
    if r.fitted_on == "private":
        return {"reference": "median and interquartile range"}
    document = {
        "name": "made-up v1", "columns": r.columns,
        "centre": as_hex(constants(r)["Centre"]), "spread": as_hex(constants(r)["Spread"]),
    }  # fmt: skip
    return {"reference": "made-up v1", "constants_digest": digest(canonical(document))}


def certificate_of(r: Recipe) -> dict[str, Any]:
    """A whole certificate, honest about what breaks it."""
    chain: dict[str, dict[str, Any]] = {}
    values = values_of(r)
    of_rows = [line for line in contract() if not line[1].startswith("mean_covariance")]
    assert {line[0] for line in of_rows} == set(values)
    for name, case, status, formula, rests_on in of_rows:
        if counts(case, r):
            link, key = name.split(".")
            chain.setdefault(link, {})[key] = {
                "value": values[name], "status": status, "source": "the study",
                "formula": formula, "rests_on": list(rests_on),
            }  # fmt: skip
    reasons = []
    if r.fitted_on == "private":
        reasons.append("preprocessing: the scaling constants were fitted on the private cohort")
    if r.mechanism == "paper_laplace":
        reasons.append("mechanism: the noise scale is too small")
    document = {
        "schema": "neuroveil-certificate", "schema_version": 2, "formal_guarantee": not reasons,
        "verdict": "", "blocking_reasons": reasons, "chain": chain, "release": {},
        "previous_hash": None, "signature": None,
    }  # fmt: skip
    say_verdict(document)
    return document


def say_verdict(document: dict[str, Any]) -> None:
    """Write the verdict that belongs to the guarantee, the reasons and the numbers."""
    guarantee = document["chain"]["guarantee"]
    at = f"epsilon = {guarantee['epsilon']['value']!r}, delta = {guarantee['delta']['value']!r}."
    who = {"shuffled": "shuffler", "central": "curator"}
    trusted = who.get(document["chain"]["model"]["trust"]["value"])
    given = f", given a trusted {trusted}" if trusted else ""
    if document["formal_guarantee"]:
        names = ", ".join(document["chain"]["domain"]["unprotected"]["value"])
        rest = f" Not covered: {names}." if names else ""
        document["verdict"] = f"Differentially private for every patient{given}: {at}{rest}"
    else:
        document["verdict"] = (
            f"Not differentially private at {at} {'; '.join(document['blocking_reasons'])}."
        )


def put(document: dict[str, Any], name: str, value: Any) -> None:
    """Set the value of a fact by its dotted name."""
    link, key = name.split(".")
    document["chain"][link][key]["value"] = value


_MADE: dict[str, str] = {}


class Workshop:
    """What the tests of a module need, in one fixture."""

    Recipe = Recipe
    put = staticmethod(put)
    certificate_of = staticmethod(certificate_of)
    say_verdict = staticmethod(say_verdict)
    contract = staticmethod(contract)
    constants = staticmethod(constants)
    public_inputs = staticmethod(public_inputs)
    canonical = staticmethod(canonical)
    digest = staticmethod(digest)

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def verify(self, document: dict[str, Any], **options: Any) -> Any:
        from neuroveil.privacy.verify import verify

        path = self.folder / "certificate.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        return verify(path, **options)

    def certificate(self, **changes: Any) -> dict[str, Any]:
        """A fresh copy; one recipe is worked out once."""
        key = repr(sorted(changes.items()))
        if key not in _MADE:
            _MADE[key] = json.dumps(certificate_of(Recipe(**changes)))
        document: dict[str, Any] = json.loads(_MADE[key])
        return document


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    """Make, spoil and verify certificates."""
    return Workshop(tmp_path)


@pytest.fixture
def claim(tmp_path: Path) -> Callable[[str], Any]:
    """Verify a claim given as TOML text."""
    from neuroveil.privacy.verify import verify

    def check(text: str) -> Any:
        path = tmp_path / "claim.toml"
        path.write_text(text, encoding="utf-8")
        return verify(path)

    return check


@pytest.fixture(scope="session")
def certificates() -> Callable[..., str]:
    """Text of a valid certificate by its recipe."""
    return lambda **changes: json.dumps(certificate_of(Recipe(**changes)))
