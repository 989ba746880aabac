"""A forger's calculator: everything that follows from a changed fact, worked out again.

Loaded by the fixture ``arithmetic`` in conftest.py. Written from ``docs/certificate.md`` and
the cited theorems with mpmath; it shares nothing with the product, neither with the code that
makes releases nor with the code that verifies them. That verification finds nothing wrong with
an honest certificate that was worked out again (a test of its own) shows that what it finds in
a forged one is the forgery.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
from collections.abc import Callable, Collection
from fractions import Fraction
from typing import Any

from mpmath import erfc, exp, expm1, log, log10, mp, mpf, pi, sqrt

mp.dps = 40

Document = dict[str, Any]
Values = dict[str, Any]

DISTRIBUTIONS = {
    "gaussian": "discrete_gaussian", "laplace": "discrete_laplace",
    "paper_laplace": "discrete_laplace", "privunit": "k_closest_codeword",
}  # fmt: skip
CONSUMED = {"gaussian": "l2", "laplace": "l1", "paper_laplace": "l1", "privunit": "none"}
ACCOUNTANTS = {
    "gaussian": "analytic_gaussian", "laplace": "laplace_closed_form",
    "paper_laplace": "laplace_closed_form", "privunit": "two_valued_likelihood",
}  # fmt: skip
SAMPLERS = {
    "gaussian": "opendp", "laplace": "opendp", "paper_laplace": "opendp", "privunit": "python",
}  # fmt: skip
SECOND_SLACK = "e^-99"
ROUNDED_UP = 1 + mpf(10) ** -12


def up(number: Any) -> float:
    """The next double at or above a number."""
    double = float(number)
    return double if mpf(double) >= number else math.nextafter(double, math.inf)


def delta_of(epsilon: Any, sigma: Any, sensitivity: Any) -> Any:
    """Balle and Wang 2018, Theorem 8."""
    shift, slope = sensitivity / (2 * sigma), epsilon * sigma / sensitivity

    def normal(x: Any) -> Any:
        return erfc(-x / sqrt(mpf(2))) / 2

    return normal(shift - slope) - exp(epsilon) * normal(-shift - slope)


def bisect(holds: Callable[[Any], bool], low: Any, high: Any) -> Any:
    """Smallest number of an interval from which on something holds, to 25 digits and more."""
    for _ in range(110):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


@functools.cache
def sigma_for(epsilon: Any, delta: Any, sensitivity: Any) -> Any:
    """Smallest sigma of the analytic Gaussian mechanism."""
    return sensitivity * bisect(
        lambda z: delta_of(epsilon, z, mpf(1)) <= delta, mpf(10) ** -4, mpf(10) ** 4
    )


@functools.cache
def epsilon_for(sigma: Any, delta: Any, sensitivity: Any) -> Any:
    """Smallest epsilon that a sigma supports."""
    return bisect(lambda e: delta_of(e, sigma, sensitivity) <= delta, mpf(0), mpf(10) ** 6)


def slack_for(v: Values, formula: str) -> Any:
    """Price of integer noise, by the formula that the certificate states."""
    if v["mechanism.name"] != "gaussian":
        return mpf(0)
    per_cell = mpf(v["bound.dimension"]) / (24 * mpf(v["mechanism.integer_scale"]) ** 2)
    if SECOND_SLACK in formula:
        return -expm1(-per_cell) * mpf(delta_of_rows(v)) + exp(mpf(-99))
    return (1 + exp(mpf(v["mechanism.epsilon"]))) * per_cell


def delta_of_rows(v: Values) -> float:
    """What scaling leaves of delta, where it spends some."""
    return float(v.get("guarantee.delta_rows", v["guarantee.delta"]))


def is_drawn(v: Values) -> bool:
    return bool(v["preprocessing.scaling"]["fitted_on"] == "dp")


def read_values(document: Document) -> Values:
    return {
        f"{link}.{name}": fact["value"]
        for link, facts in document["chain"].items()
        for name, fact in facts.items()
    }


def sha256_of(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def recompute(document: Document, pinned: Collection[str] = ()) -> Document:
    """Work out again everything that follows from other facts, in place.

    Parameters
    ----------
    document : dict
        A certificate some of whose values were changed; it is changed further.
    pinned : collection of str
        Dotted names of facts that stay as they are although they follow from others. What
        follows from them is worked out from what they say.

    Returns
    -------
    dict
        The same document.
    """
    v = read_values(document)
    slack_formula = document["chain"]["guarantee"]["delta_slack"]["formula"]

    def put(**facts: Callable[[], Any]) -> None:
        for name, work_out in facts.items():
            dotted = name.replace("__", ".")
            if dotted not in pinned and dotted in v:
                v[dotted] = work_out()

    _foundations(v, put)
    if v["mechanism.name"] == "privunit":
        _codewords(v, put)
        _shuffling(v, put)
    else:
        for _ in range(4):  # noise and the price of its integers depend on each other
            _noise(v, put, slack_formula)
        _after_the_noise(v, put)
    _books(v, put)
    for name, value in v.items():
        link, fact = name.split(".")
        document["chain"][link][fact]["value"] = value
    if "verdict" not in pinned:
        document["verdict"] = verdict(document)
    return document


def _foundations(v: Values, put: Callable[..., None]) -> None:
    mechanism, shuffled = v["mechanism.name"], v["model.trust"] == "shuffled"
    projection = v["preprocessing.projection"]
    put(
        adjacency__factor=lambda: 2 if v["adjacency.relation"] == "replace_one" else 1,
        domain__n=lambda: v["adjacency.n_roster"],
        mechanism__distribution=lambda: DISTRIBUTIONS[mechanism],
        mechanism__consumes_norm=lambda: CONSUMED[mechanism],
        sensitivity__norm=lambda: v["mechanism.consumes_norm"],
        guarantee__variant=lambda: (
            "approximate_dp"
            if shuffled or mechanism == "gaussian" or (is_drawn(v) and v["guarantee.delta"])
            else "pure_dp"
        ),
        accountant__name=lambda: ACCOUNTANTS[mechanism],
        accountant__adjacency=lambda: v["adjacency.relation"],
        guarantee__epsilon_labels=lambda: sum(each["epsilon"] for each in v["domain.labels"]),
        mechanism__epsilon=lambda: (
            v["amplification.epsilon_local"] if shuffled else v["guarantee.epsilon_rows"]
        ),
        bound__dimension=lambda: (
            projection["params"]["components"] if projection else v["domain.dimension"]
        ),
    )
    if is_drawn(v):
        constants_drawn(v, put)
    put(
        guarantee__epsilon=lambda: (
            v["guarantee.epsilon_rows"]
            + v["guarantee.epsilon_labels"]
            + v["preprocessing.scaling"]["epsilon"]
        ),
        guarantee__delta_slack=lambda: v["guarantee.delta_slack"],
        model__batch=lambda: v["domain.n"],
    )


def _noise(v: Values, put: Callable[..., None], slack_formula: str) -> None:
    same_norm = v["bound.norm"] == v["sensitivity.norm"]
    stretch = mpf(1) if same_norm else sqrt(mpf(v["bound.dimension"]))
    put(
        sensitivity__value=lambda: up(
            v["adjacency.factor"] * stretch * mpf(v["bound.clip_norm"])
        )
    )  # fmt: skip
    epsilon, sensitivity = mpf(v["mechanism.epsilon"]), mpf(v["sensitivity.value"])

    def scale() -> float:
        if v["mechanism.name"] == "gaussian":
            needed = sigma_for(epsilon, mpf(v["guarantee.delta_calibrated"]), sensitivity)
        else:
            needed = sensitivity / epsilon
        return up(needed * ROUNDED_UP)

    put(mechanism__noise_scale=scale)
    put(
        mechanism__integer_scale=lambda: float(
            mpf(v["mechanism.noise_scale"]) / mpf(2) ** v["bound.grid_log2"]
        )
    )
    put(guarantee__delta_slack=lambda: up(slack_for(v, slack_formula)))
    put(
        guarantee__delta_calibrated=lambda: float(
            mpf(delta_of_rows(v)) - mpf(v["guarantee.delta_slack"])
        )
    )


def _after_the_noise(v: Values, put: Callable[..., None]) -> None:
    scale, sensitivity = mpf(v["mechanism.noise_scale"]), mpf(v["sensitivity.value"])
    gaussian = v["mechanism.name"] == "gaussian"
    calibrated = mpf(v["guarantee.delta_calibrated"])

    def supported() -> float:
        if not gaussian:
            return up(sensitivity / scale)
        return up(epsilon_for(scale, calibrated, sensitivity) * ROUNDED_UP)

    put(
        mechanism__noise_std=lambda: float(scale if gaussian else sqrt(mpf(2)) * scale),
        guarantee__epsilon_supported=supported,
    )
    put(mechanism__noise_multiplier=lambda: float(mpf(v["mechanism.noise_std"]) / sensitivity))
    put(
        accountant__cross_check=lambda: _second_opinion(v),
        utility__predicted=lambda: _utility_of_noise(v),
    )


def _second_opinion(v: Values) -> dict[str, Any]:
    scale, sensitivity = mpf(v["mechanism.noise_scale"]), mpf(v["sensitivity.value"])
    opinion = dict(v["accountant.cross_check"])
    opinion["version"] = v["software.versions"].get("dp-accounting", opinion["version"])
    if v["mechanism.name"] == "gaussian":
        delta = mpf(v["guarantee.delta_calibrated"])
        epsilon = epsilon_for(scale, delta, sensitivity)
        opinion["delta"] = float(delta)
        opinion["zcdp_rho"] = float((sensitivity / scale) ** 2 / 2)
    else:
        epsilon = sensitivity / scale + 2 * log(1 - mpf(opinion["delta"]))
        opinion["zcdp_rho"] = None
    reachable = 0.001 <= epsilon <= 50 and opinion["delta"] >= 1e-12
    opinion["epsilon"] = float(epsilon) if reachable else None
    return opinion


def _utility_of_noise(v: Values) -> dict[str, float]:
    std, m, bound = mpf(v["mechanism.noise_std"]), v["bound.dimension"], mpf(v["bound.clip_norm"])
    signal = bound**2 / m
    gaussian = v["mechanism.name"] == "gaussian"
    mae = std * sqrt(2 / pi) if gaussian else mpf(v["mechanism.noise_scale"])
    predicted = {
        "rmse": std, "mae": mae, "correlation": sqrt(signal / (signal + std**2)),
        "snr_db": 10 * log10(signal / std**2), "mse_over_clip_norm_squared": m * std**2 / bound**2,
    }  # fmt: skip
    return {name: float(number) for name, number in predicted.items()}


def _codewords(v: Values, put: Callable[..., None]) -> None:
    n_words, top = v["mechanism.codebook_size"], v["mechanism.codebook_top"]

    def top_probability() -> str:
        weight = exp(mpf(v["mechanism.epsilon"])) * top
        return f"{int(weight / (weight + n_words - top) * 2**128)}/{2**128}"

    def ratio() -> str:
        p = Fraction(v["mechanism.top_probability"])
        odds = (p / top) / ((1 - p) / (n_words - top))
        return f"{odds.numerator}/{odds.denominator}"

    def supported() -> float:
        odds = Fraction(v["mechanism.likelihood_ratio"])
        exact = log(mpf(odds.numerator) / mpf(odds.denominator))
        return min(up(exact), float(v["mechanism.epsilon"]))

    put(
        mechanism__sphere_dimension=lambda: v["bound.dimension"] + 1,
        mechanism__top_probability=top_probability,
    )
    put(mechanism__likelihood_ratio=ratio)
    put(guarantee__epsilon_supported=supported)
    put(
        guarantee__delta_calibrated=lambda: float(
            mpf(delta_of_rows(v)) - mpf(v["guarantee.delta_slack"])
        )
    )
    moments = inner_product(v)
    if moments is not None:
        put(mechanism__decoding_scale=lambda: float(mpf(v["bound.clip_norm"]) / moments[0]))
        put(utility__predicted=lambda: _utility_of_codewords(v, *moments))


_CAPS: dict[tuple[int, int, int], tuple[Any, Any]] = {}
"""Mean of T and of T^2 over the close codewords, by N, K and dimension of the sphere."""


def _weights(v: Values) -> tuple[Any, Any, Any]:
    """K times the gain of a close codeword, and the chance of any codeword, far and close."""
    n_words, top = v["mechanism.codebook_size"], v["mechanism.codebook_top"]
    p = Fraction(v["mechanism.top_probability"])
    p = mpf(p.numerator) / mpf(p.denominator)
    far = (1 - p) / (n_words - top)
    return top * (p / top - far), far, n_words


def learn(document: Document) -> None:
    """Read the mean inner products, which take an integral, back from an honest certificate."""
    v = read_values(document)
    if v["mechanism.name"] != "privunit":
        return
    gain, far, n_words = _weights(v)
    m, size = v["bound.dimension"], v["mechanism.sphere_dimension"]
    mean = mpf(v["bound.clip_norm"]) / mpf(v["mechanism.decoding_scale"])
    spread = (mean / mpf(v["utility.predicted"]["correlation"])) ** 2
    square = 1 - m * (1 - spread)
    key = (n_words, v["mechanism.codebook_top"], size)
    _CAPS[key] = (mean / gain, (square - n_words * far / size) / gain)


def inner_product(v: Values) -> tuple[Any, Any] | None:
    """Mean of T and of T^2 for the stated chances, where the codebook is a known one."""
    size = v["mechanism.sphere_dimension"]
    known = _CAPS.get((v["mechanism.codebook_size"], v["mechanism.codebook_top"], size))
    if known is None:
        return None
    gain, far, n_words = _weights(v)
    return gain * known[0], gain * known[1] + n_words * far / size


def _utility_of_codewords(v: Values, mean: Any, square: Any) -> dict[str, float]:
    m, bound = v["bound.dimension"], mpf(v["bound.clip_norm"])
    spread = 1 - (1 - square) / m
    error = spread / mean**2 - 1
    rmse = bound * sqrt(error / m)
    predicted = {
        "rmse": rmse, "mae": sqrt(2 / pi) * rmse, "correlation": mean / sqrt(spread),
        "snr_db": -10 * log10(error), "mse_over_clip_norm_squared": error,
    }  # fmt: skip
    return {name: float(number) for name, number in predicted.items()}


def _shuffling(v: Values, put: Callable[..., None]) -> None:
    if v["model.trust"] != "shuffled":
        return
    put(
        amplification__batch=lambda: v["domain.n"],
        amplification__share=lambda: (
            v["mechanism.codebook_top"] / v["mechanism.codebook_size"]
        ),
    )  # fmt: skip
    put(
        amplification__delta_bound=lambda: up(
            blanket(
                v["guarantee.epsilon_rows"], v["amplification.epsilon_local"],
                v["amplification.share"], v["amplification.batch"],
            )
        )
    )  # fmt: skip


@functools.cache
def blanket(epsilon: float, local: float, share: float, n: int) -> Any:
    """Balle, Bell, Gascon and Nissim 2019, Lemma 5.3, summed over all outcomes of n rows."""
    if epsilon >= local:
        return mpf(0)
    a, b, q = exp(mpf(local)), exp(mpf(epsilon)), mpf(share)
    weight = 1 / (a * q + 1 - q)
    chances = (weight * q, weight * q, weight * (1 - 2 * q), 1 - weight)
    worth = (a - b, 1 - a * b, 1 - b)
    total = mpf(0)
    for i in range(n + 1):
        for j in range(n + 1 - i):
            for k in range(n + 1 - i - j):
                amount = i * worth[0] + j * worth[1] + k * worth[2]
                if amount > 0:
                    rest = n - i - j - k
                    ways = math.comb(n, i) * math.comb(n - i, j) * math.comb(n - i - j, k)
                    chance = chances[0] ** i * chances[1] ** j * chances[2] ** k
                    total += amount * ways * chance * chances[3] ** rest
    return total / n


def _books(v: Values, put: Callable[..., None]) -> None:
    def remaining() -> dict[str, float]:
        spend = {"epsilon": v["guarantee.epsilon"], "delta": v["guarantee.delta"]}
        limit, before = v["composition.limit"], v["composition.spent_before"]
        return {
            key: float(_decimal(limit[key]) - _decimal(before[key]) - _decimal(spend[key]))
            for key in ("epsilon", "delta")
        }

    versions = v["software.versions"]
    put(
        accountant__events=lambda: _events(v),
        composition__remaining=remaining,
        software__lock_digest=lambda: sha256_of(versions),
        sampler__version=lambda: versions[SAMPLERS[v["mechanism.name"]]],
        accountant__version=lambda: versions["neuroveil"],
        preprocessing__features=lambda: _with_digest(v["preprocessing.features"]),
        preprocessing__scaling=lambda: _with_digest(v["preprocessing.scaling"]),
        preprocessing__projection=lambda: _with_digest(v["preprocessing.projection"]),
    )


def _events(v: Values) -> list[dict[str, Any]]:
    rows = {"mechanism": v["mechanism.name"], "releases": 1}
    if v["mechanism.name"] == "privunit":
        rows["epsilon"] = v["mechanism.epsilon"]
    else:
        rows["noise_multiplier"] = v["mechanism.noise_multiplier"]
    if v["model.trust"] == "shuffled":
        rows |= {
            "batch": v["domain.n"], "epsilon_central": v["guarantee.epsilon_rows"],
            "delta_central": v["guarantee.delta"],
        }  # fmt: skip
    labels = [
        {"mechanism": "randomised_response", "epsilon": label["epsilon"], "releases": 1}
        for label in v["domain.labels"]
    ]
    return [rows, *constants_counted(v), *labels]


def constants_counted(v: Values) -> list[dict[str, Any]]:
    if not is_drawn(v):
        return []
    budget = {key: v["preprocessing.scaling"][key] for key in ("epsilon", "delta")}
    return [{"mechanism": "dp_quantiles", **budget, "releases": 1}]


def constants_drawn(v: Values, put: Callable[..., None]) -> None:
    """What each quantile may spend, and the whole promise."""
    budget = v["preprocessing.scaling"]
    put(preprocessing__n_quantiles=lambda: 2 * v["domain.dimension"])
    count = v["preprocessing.n_quantiles"]
    put(
        preprocessing__quantile_epsilon=lambda: quantile_epsilon(
            count, mpf(budget["epsilon"]), mpf(budget["delta"])
        ),
        guarantee__delta=lambda: float(
            _decimal(v["guarantee.delta_rows"]) + _decimal(budget["delta"])
        ),
    )
    put(preprocessing__quantile_rho=lambda: count * v["preprocessing.quantile_epsilon"] ** 2 / 8)


def quantile_epsilon(count: int, epsilon: Any, delta: Any) -> float:
    """By adding up, or by the best of many orders of zero-concentrated privacy."""
    best = epsilon / count
    for step in range(-1600, 2801) if delta > 0 else ():
        excess = exp(mpf(step) / 200)
        order = 1 + excess
        rho = (epsilon + log(order * delta) / excess - log(1 - 1 / order)) / order
        best = max(best, sqrt(8 * rho / count)) if rho > 0 else best
    return float(best * (1 - mpf(10) ** -9))


def _with_digest(step: dict[str, Any] | None) -> dict[str, Any] | None:
    return step and {**step, "params_digest": sha256_of(step["params"])}


def _decimal(number: float) -> Fraction:
    """What a person reads: the shortest decimal of the double."""
    return Fraction(repr(number))


def verdict(document: Document) -> str:
    """The one sentence, in the form for an honest chain without a broken link."""
    v = read_values(document)
    epsilon, delta = (f"{float(v[f'guarantee.{name}'])!r}" for name in ("epsilon", "delta"))
    who = {"shuffled": "shuffler", "central": "curator"}.get(v["model.trust"])
    given = f", given a trusted {who}" if who else ""
    text = f"Differentially private for every patient{given}: epsilon = {epsilon}, delta = {delta}."
    if v["domain.unprotected"]:
        text += f" Not covered: {', '.join(v['domain.unprotected'])}."
    return text
