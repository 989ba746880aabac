"""A valid certificate, written by hand from the contract, and ways to spoil it.

Status, formula and rests_on are read from the table of docs/certificate.md itself; numbers
come from mpmath. Nothing is shared with the code that verifies or with the code that releases.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[4]
VERSIONS = {"dp-accounting": "0.6.0", "neuroveil": "0.1.0", "opendp": "0.13.0", "python": "3.11.2"}


def canonical(document: object) -> bytes:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode()


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


@cache
def contract() -> dict[str, list[tuple[str, str | None, list[str]]]]:
    """Status, formula and rests_on of every fact, one entry a line of the contract's table."""
    table: dict[str, list[tuple[str, str | None, list[str]]]] = {}
    for line in (ROOT / "docs" / "certificate.md").read_text(encoding="utf-8").splitlines():
        match = re.match(r"\| `([a-z]+\.[a-z_0-9]+)`", line)
        if not match:
            continue
        _, _, status, formula, rests_on = (cell.strip() for cell in line.strip("|").split("|"))
        names = re.findall(r"`([^`]+)`", rests_on)
        before = table.setdefault(match[1], [])
        if rests_on.startswith("the same"):
            names = before[0][2] + names
        before.append((status, formula.strip("`") or None, names))
    return table


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
        self.bound = "l2"
        self.epsilon_rows = 1.0
        self.delta = 1e-5
        self.clip_norm = 2.0
        self.n = 17
        self.columns = [f"C{i:03d}__alpha" for i in range(363)]
        self.grid = -40
        self.labels: list[dict[str, Any]] = []
        self.unprotected: list[str] = []
        self.fitted_on = "public"
        self.factor = 2
        self.noise_factor = 1.0
        self.second_proof = False
        self.prior = (0, 0.0, 0.0)
        self.limit = (10.0, 1e-4)
        for name, value in changes.items():
            assert hasattr(self, name), name
            setattr(self, name, value)
        if self.mechanism != "gaussian":
            self.delta = 0.0

    @property
    def gaussian(self) -> bool:
        return self.mechanism == "gaussian"


def values_of(r: Recipe) -> dict[str, Any]:
    """Value of every fact."""
    d, norm = len(r.columns), "l2" if r.gaussian else "l1"
    l1_under_l2 = norm == "l1" and r.bound == "l2"
    sensitivity = r.factor * r.clip_norm
    if l1_under_l2:
        sensitivity = math.nextafter(sensitivity * math.sqrt(d), math.inf)
    noise = noise_of(r, sensitivity, d)
    epsilon_labels = math.fsum(label["epsilon"] for label in r.labels)
    epsilon = r.epsilon_rows + epsilon_labels
    events = [{"mechanism": r.mechanism, "noise_multiplier": noise["multiplier"], "releases": 1}]
    events += [
        {"mechanism": "randomised_response", "epsilon": label["epsilon"], "releases": 1}
        for label in r.labels
    ]
    spent = {"epsilon": r.prior[1], "delta": r.prior[2]}
    limit = {"epsilon": r.limit[0], "delta": r.limit[1]}
    return {
        "unit.entity": "patient", "unit.rows_per_unit_max": 1, "unit.dedup": "roster_key",
        "adjacency.relation": "replace_one", "adjacency.factor": r.factor,
        "adjacency.n_roster": r.n, "domain.dimension": d, "domain.n": r.n,
        "domain.columns_digest": digest(canonical(r.columns)),
        "domain.missing_policy": "public_centre", "domain.labels": list(r.labels),
        "domain.unprotected": list(r.unprotected),
        "preprocessing.features": step("features", "public", {"line_hz": 50}),
        "preprocessing.scaling": step("scaling", r.fitted_on, scaling_params(r)),
        "bound.norm": r.bound, "bound.clip_norm": r.clip_norm,
        "bound.method": "scale_to_norm_then_truncate_toward_zero", "bound.grid_log2": r.grid,
        "bound.exact_integer_check": True, "sensitivity.norm": norm,
        "sensitivity.value": sensitivity, "mechanism.name": r.mechanism,
        "mechanism.distribution": "discrete_gaussian" if r.gaussian else "discrete_laplace",
        "mechanism.consumes_norm": norm, "mechanism.noise_scale": noise["scale"],
        "mechanism.noise_std": noise["std"], "mechanism.noise_multiplier": noise["multiplier"],
        "mechanism.integer_scale": noise["scale"] * 2.0**-r.grid, "mechanism.rounding": "up",
        "sampler.library": "opendp", "sampler.version": VERSIONS["opendp"],
        "sampler.exact": True, "sampler.source": "operating_system", "sampler.seeded": False,
        "guarantee.variant": "approximate_dp" if r.gaussian else "pure_dp",
        "guarantee.epsilon": epsilon, "guarantee.delta": r.delta,
        "guarantee.epsilon_rows": r.epsilon_rows, "guarantee.epsilon_labels": epsilon_labels,
        "guarantee.epsilon_supported": noise["supported"],
        "guarantee.delta_slack": noise["slack"],
        "guarantee.delta_calibrated": r.delta - noise["slack"],
        "guarantee.proof": "Balle & Wang 2018, Theorem 8",
        "accountant.name": "analytic_gaussian" if r.gaussian else "laplace_closed_form",
        "accountant.version": VERSIONS["neuroveil"], "accountant.adjacency": "replace_one",
        "accountant.events": events, "accountant.cross_check": {
            "method": "dp-accounting, PLD", "version": "0.6.0", "epsilon": noise["second"],
            "delta": noise["second_delta"],
            "zcdp_rho": sensitivity**2 / (2 * noise["scale"] ** 2) if r.gaussian else None,
        },
        "composition.rule": "basic", "composition.limit": limit,
        "composition.spent_before": spent,
        "composition.remaining": {
            "epsilon": limit["epsilon"] - spent["epsilon"] - epsilon,
            "delta": limit["delta"] - spent["delta"] - r.delta,
        },
        "composition.prior_releases": r.prior[0], "model.trust": "local", "model.batch": r.n,
        "model.who_is_trusted": "Nobody after the row has left the hospital.",
        "postprocessing.steps": [], "postprocessing.row_order": "random_permutation",
        "utility.predicted": predicted(r, noise, d), "utility.source": "public",
        "software.versions": dict(VERSIONS), "software.lock_digest": digest(canonical(VERSIONS)),
        "software.commit": "beaa5b9",
    }  # fmt: skip


def noise_of(r: Recipe, sensitivity: float, d: int) -> dict[str, Any]:
    """Noise scale of a mechanism and what belongs to it."""
    if r.gaussian:
        scale, slack = gaussian_noise(r, sensitivity, d)
        second_delta = r.delta - slack
        second = supported = epsilon_by_mpmath(scale, second_delta, sensitivity)
        std = scale
    else:
        exact = r.factor * r.clip_norm if r.mechanism == "paper_laplace" else sensitivity
        scale = math.nextafter(exact / r.epsilon_rows, math.inf) * r.noise_factor
        if r.mechanism == "paper_laplace":
            scale = exact / r.epsilon_rows * r.noise_factor
        supported, slack, second_delta = sensitivity / scale, 0.0, 1e-9
        second, std = supported + 2 * math.log1p(-1e-9), math.sqrt(2) * scale
    return {
        "scale": scale, "std": std, "multiplier": std / sensitivity, "slack": slack,
        "supported": supported, "second": second, "second_delta": second_delta,
    }  # fmt: skip


def gaussian_noise(r: Recipe, sensitivity: float, d: int) -> tuple[float, float]:
    """Noise scale and the price of integer noise, by the first or the second proof."""

    def price(sigma: float) -> float:
        square = (sigma * 2.0**-r.grid) ** 2
        if r.second_proof:
            return r.delta * d / (24 * square) + math.exp(-99)
        return float((1 + mpmath.exp(r.epsilon_rows)) * d / (24 * square))

    epsilon = r.epsilon_rows * (1 - 1e-13)
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


def predicted(r: Recipe, noise: dict[str, Any], d: int) -> dict[str, float]:
    signal, variance = r.clip_norm**2 / d, noise["std"] ** 2
    return {
        "rmse": noise["std"],
        "mae": noise["scale"] * (math.sqrt(2 / math.pi) if r.gaussian else 1),
        "correlation": math.sqrt(signal / (signal + variance)),
        "snr_db": 10 * math.log10(signal / variance),
        "mse_over_clip_norm_squared": variance * d / r.clip_norm**2,
    }


def step(name: str, fitted_on: str, params: dict[str, Any]) -> dict[str, Any]:
    return {
        "step": name, "params": params, "params_digest": digest(canonical(params)),
        "fitted_on": fitted_on, "epsilon": 0, "delta": 0,
    }  # fmt: skip


def constants(r: Recipe) -> dict[str, list[float]]:
    """Public constants of every feature column, on its scale."""
    return {
        "Centre": [0.1 * i for i in range(len(r.columns))],
        "Spread": [1.0 + 0.3 * i for i in range(len(r.columns))],
    }


def scaling_params(r: Recipe) -> dict[str, Any]:
    if r.fitted_on == "private":
        return {"reference": "median and interquartile range"}
    document = {
        "name": "made-up v1", "columns": r.columns,
        "centre": [value.hex() for value in constants(r)["Centre"]],
        "spread": [value.hex() for value in constants(r)["Spread"]],
    }  # fmt: skip
    return {"reference": "made-up v1", "constants_digest": digest(canonical(document))}


def case_of(name: str, r: Recipe) -> int:
    """Which line of the contract applies to a fact that has several."""
    l1 = not r.gaussian
    return {
        "bound.exact_integer_check": int(r.bound == "l1"),
        "sensitivity.value": int(l1 and r.bound == "l2"),
        "mechanism.noise_scale": ["gaussian", "laplace", "paper_laplace"].index(r.mechanism),
        "mechanism.noise_std": int(l1),
        "guarantee.epsilon_supported": int(l1),
        "guarantee.delta_slack": 2 if l1 else int(r.second_proof),
    }.get(name, 0)


def certificate_of(r: Recipe) -> dict[str, Any]:
    """A whole certificate, honest about what breaks it."""
    chain: dict[str, dict[str, Any]] = {}
    values, lines = values_of(r), contract()
    assert set(lines) == set(values)
    for name, value in values.items():
        status, formula, rests_on = lines[name][case_of(name, r)]
        link, key = name.split(".")
        chain.setdefault(link, {})[key] = {
            "value": value, "status": status, "source": "the study", "formula": formula,
            "rests_on": list(rests_on),
        }  # fmt: skip
    reasons = []
    if r.fitted_on == "private":
        reasons.append("preprocessing: the scaling constants were fitted on the private cohort")
    if r.mechanism == "paper_laplace":
        reasons.append("mechanism: the noise scale is too small")
    document = {
        "schema": "neuroveil-certificate", "schema_version": 1, "formal_guarantee": not reasons,
        "verdict": "", "blocking_reasons": reasons, "chain": chain, "release": {},
        "previous_hash": None, "signature": None,
    }  # fmt: skip
    say_verdict(document)
    return document


def say_verdict(document: dict[str, Any]) -> None:
    """Write the verdict that belongs to the guarantee, the reasons and the numbers."""
    guarantee = document["chain"]["guarantee"]
    at = f"epsilon = {guarantee['epsilon']['value']!r}, delta = {guarantee['delta']['value']!r}."
    if document["formal_guarantee"]:
        names = ", ".join(document["chain"]["domain"]["unprotected"]["value"])
        rest = f" Not covered: {names}." if names else ""
        document["verdict"] = f"Differentially private for every patient: {at}{rest}"
    else:
        document["verdict"] = (
            f"Not differentially private at {at} {'; '.join(document['blocking_reasons'])}."
        )


def put(document: dict[str, Any], name: str, value: Any) -> None:
    """Set the value of a fact by its dotted name."""
    link, key = name.split(".")
    document["chain"][link][key]["value"] = value


def noisy_rows(r: Recipe, scale: float, seed: int = 7) -> Any:
    """Clipped rows of norm C plus integer noise on the grid, shape (n, d), scaled units."""
    generator = np.random.default_rng(seed)
    shape, step_size = (r.n, len(r.columns)), 2.0**r.grid
    rows = generator.normal(size=shape)
    rows *= r.clip_norm / np.linalg.norm(rows, axis=1, keepdims=True)
    draw = generator.normal if r.gaussian else generator.laplace
    return (np.trunc(rows / step_size) + np.rint(draw(0, scale / step_size, shape))) * step_size


def write_release(folder: Path, document: dict[str, Any], r: Recipe, values: Any = None) -> Path:
    """Write a release folder by the contract, bound to the certificate."""
    folder.mkdir(exist_ok=True)
    if values is None:
        values = noisy_rows(r, document["chain"]["mechanism"]["noise_scale"]["value"])
    names = [*r.columns, *(label["name"] for label in r.labels), *r.unprotected]
    beside = len(names) - len(r.columns)
    lines = [",".join(names)]
    for position, row in enumerate(values.tolist()):
        lines.append(",".join([*map(repr, row), *[f"c{position % 2}"] * beside]))
    inner = {k: document[k] for k in document if k not in ("release", "previous_hash", "signature")}
    chain_digest = digest(canonical(inner))
    dictionary: dict[str, Any] = {
        "NeuroveilChainDigest": chain_digest, "NumberOfRows": len(values),
        "NumberOfColumns": len(names), "Columns": {name: {"Units": "1"} for name in names},
        "Reference": "made-up v1",
    }  # fmt: skip
    if r.fitted_on == "public":
        for key, numbers in constants(r).items():
            for name, number in zip(r.columns, numbers, strict=True):
                dictionary["Columns"][name][key] = number
    files = {
        "table.csv": "\n".join(lines) + "\n",
        "table.parquet": "stands for the same table",
        "table.json": json.dumps(dictionary),
        "STATEMENT.md": f"# Statement\n\n{document['verdict']}\n\nChain: {chain_digest}\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    document["release"] = {name: digest(text.encode()) for name, text in files.items()}
    (folder / "certificate.json").write_text(json.dumps(document), encoding="utf-8")
    return folder


class Workshop:
    """What the tests of a module need, in one fixture."""

    Recipe = Recipe
    put = staticmethod(put)
    certificate_of = staticmethod(certificate_of)
    write_release = staticmethod(write_release)
    noisy_rows = staticmethod(noisy_rows)
    say_verdict = staticmethod(say_verdict)
    contract = staticmethod(contract)
    canonical = staticmethod(canonical)
    digest = staticmethod(digest)

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def verify(self, document: dict[str, Any]) -> Any:
        from neuroveil.privacy.verify import verify

        path = self.folder / "certificate.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        return verify(path)

    def certificate(self, **changes: Any) -> dict[str, Any]:
        return certificate_of(Recipe(**changes))


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    """Make, spoil, write and verify certificates."""
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
def honest_certificate() -> dict[str, Any]:
    """A valid certificate that nobody may change."""
    return certificate_of(Recipe())
