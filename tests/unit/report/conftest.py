"""Certificates, columns and results to draw, after docs/certificate.md."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from neuroveil.types.catalogue import FEATURE_NAMES, FEATURES, STANDARD_CHANNELS, columns_for
from neuroveil.types.certificate import Certificate, Fact, canonical_json, digest
from neuroveil.types.utility import (
    BandDistortion,
    Estimate,
    ExtractionSummary,
    FindingCount,
    GroupUtility,
    UtilityFigures,
    UtilityResult,
)

EXTRA = ("Fpz", "Oz", "FC1", "FC2", "FC5", "FC6", "CP1", "CP2", "CP5", "CP6", "FT9", "FT10",
         "TP9", "TP10")  # fmt: skip
CHANNELS = STANDARD_CHANNELS + EXTRA
COLUMNS = columns_for(CHANNELS, FEATURE_NAMES)


def _fact(value, status="assumed", source="setting", formula=None, rests_on=()):
    return Fact(value, status, source, formula, rests_on)


def _chain():
    return {
        "unit": {
            "entity": _fact("patient"),
            "rows_per_unit_max": _fact(1, "proven", "pooling"),
            "dedup": _fact("roster_key"),
        },
        "adjacency": {
            "relation": _fact("replace_one"),
            "factor": _fact(2, "proven", "triangle inequality", None, ("adjacency.relation",)),
            "n_roster": _fact(17, "measured", "roster"),
        },
        "domain": {
            "dimension": _fact(363, "measured", "study"),
            "n": _fact(17, "proven", "roster", "adjacency.n_roster", ("adjacency.n_roster",)),
            "columns_digest": _fact(digest(canonical_json([column.name for column in COLUMNS]))),
            "missing_policy": _fact("public_centre"),
            "labels": _fact([]),
            "unprotected": _fact([]),
        },
        "preprocessing": {
            "features": _fact({
                "step": "features", "params": {"preset": "harmonised"},
                "params_digest": "sha256:" + "cd" * 32, "fitted_on": "public",
                "epsilon": 0.0, "delta": 0.0,
            }),
            "scaling": _fact({
                "step": "scaling", "params": {"reference": "eegmat-rest7-harmonised v1"},
                "params_digest": "sha256:" + "ef" * 32, "fitted_on": "public",
                "epsilon": 0.0, "delta": 0.0,
            }),
        },
        "bound": {
            "norm": _fact("l2"),
            "clip_norm": _fact(2.0),
            "method": _fact("scale_to_norm_then_truncate_toward_zero"),
            "grid_log2": _fact(-40),
            "exact_integer_check": _fact(True, "measured"),
        },
        "sensitivity": {
            "norm": _fact("l2"),
            "value": _fact(4.0, "proven", "triangle inequality",
                           "adjacency.factor * bound.clip_norm",
                           ("adjacency.factor", "bound.clip_norm")),
        },
        "mechanism": {
            "name": _fact("gaussian"),
            "distribution": _fact("discrete_gaussian"),
            "consumes_norm": _fact("l2"),
            "noise_scale": _fact(14.92252654, "proven", "Balle & Wang 2018, Theorem 8"),
            "noise_std": _fact(14.92252654, "proven"),
            "noise_multiplier": _fact(3.730631635, "proven"),
            "integer_scale": _fact(16407437246464.0, "proven"),
            "rounding": _fact("up"),
        },
        "sampler": {
            "library": _fact("opendp"),
            "version": _fact("0.13.0", "measured"),
            "exact": _fact(True),
            "source": _fact("operating_system"),
            "seeded": _fact(False),
        },
        "guarantee": {
            "variant": _fact("approximate_dp"),
            "epsilon": _fact(1.0, "proven"),
            "delta": _fact(1e-5, "proven"),
            "epsilon_rows": _fact(1.0),
            "epsilon_labels": _fact(0.0, "proven"),
            "epsilon_supported": _fact(1.0, "proven"),
            "delta_slack": _fact(2.1e-25, "proven"),
            "delta_calibrated": _fact(1e-5, "proven"),
            "proof": _fact("Balle & Wang 2018, Theorem 8"),
        },
        "accountant": {
            "name": _fact("analytic_gaussian"),
            "version": _fact("1"),
            "adjacency": _fact("replace_one"),
            "events": _fact([{"mechanism": "gaussian", "noise_multiplier": 3.730631635}]),
            "cross_check": _fact({"name": "pld", "epsilon": 1.0001}, "measured"),
        },
        "composition": {
            "rule": _fact("basic"),
            "limit": _fact({"epsilon": 3.0, "delta": 1e-4}),
            "spent_before": _fact({"epsilon": 1.0, "delta": 1e-5}),
            "remaining": _fact({"epsilon": 1.0, "delta": 8e-5}),
            "prior_releases": _fact(1, "measured"),
        },
        "model": {
            "trust": _fact("local"),
            "batch": _fact(17, "proven"),
            "who_is_trusted": _fact("The hospital that holds the recordings."),
        },
        "postprocessing": {
            "steps": _fact([]),
            "row_order": _fact("random_permutation"),
        },
        "utility": {
            "predicted": _fact({
                "rmse": 14.9225, "mae": 11.9065, "correlation": 0.00703, "snr_db": -43.06,
                "mse_over_clip_norm_squared": 20208.0,
            }, "proven"),
            "source": _fact("public"),
        },
        "software": {
            "versions": _fact({"neuroveil": "0.1.0", "numpy": "2.1.0"}, "measured"),
            "lock_digest": _fact("sha256:" + "01" * 32, "measured"),
            "commit": _fact(None),
        },
    }  # fmt: skip


@pytest.fixture(scope="session")
def certificate() -> Certificate:
    """A Gaussian release that holds."""
    verdict = "The release is (1, 1e-05)-differentially private for every patient."
    return Certificate(True, verdict, (), _chain())


@pytest.fixture(scope="session")
def altered(certificate):
    """Make another certificate: facts by dotted name, then the fields of the certificate."""

    def alter(facts, **fields):
        chain = {link: dict(values) for link, values in certificate.chain.items()}
        for name, value in facts.items():
            link, _, field = name.partition(".")
            chain[link][field] = replace(chain[link][field], value=value)
        return replace(certificate, chain=chain, **fields)

    return alter


@pytest.fixture(scope="session")
def laplace(altered):
    """A formally calibrated Laplace release."""
    scale = 2 * math.sqrt(363) * 2.0
    return altered({
        "mechanism.name": "laplace", "mechanism.distribution": "discrete_laplace",
        "mechanism.consumes_norm": "l1", "mechanism.noise_scale": scale,
        "mechanism.noise_std": math.sqrt(2) * scale, "sensitivity.norm": "l1",
        "sensitivity.value": scale, "guarantee.variant": "pure_dp", "guarantee.delta": 0.0,
    })  # fmt: skip


@pytest.fixture(scope="session")
def paper_laplace(altered):
    """The paper's Laplace noise, too small by the square root of 363."""
    reason = (
        "mechanism: the noise scale is 19.05 times too small; as pure DP it supports "
        "epsilon = 19.05"
    )
    return altered(
        {
            "mechanism.name": "paper_laplace", "mechanism.distribution": "discrete_laplace",
            "mechanism.consumes_norm": "l1", "mechanism.noise_scale": 4.0,
            "mechanism.noise_std": math.sqrt(2) * 4.0, "guarantee.variant": "pure_dp",
            "guarantee.delta": 0.0, "guarantee.epsilon_supported": math.sqrt(363),
        },
        formal_guarantee=False,
        verdict="Not differentially private at epsilon 1.",
        blocking_reasons=(reason,),
    )  # fmt: skip


@pytest.fixture(scope="session")
def private_scaling(altered, certificate):
    """Centre and spread from the patients themselves, without budget."""
    scaling = {**certificate.value("preprocessing.scaling"), "fitted_on": "private"}
    reason = (
        "preprocessing: the scaling constants were fitted on the private cohort without a budget"
    )
    return altered(
        {"preprocessing.scaling": scaling},
        formal_guarantee=False,
        verdict="No end-to-end guarantee.",
        blocking_reasons=(reason,),
    )


@pytest.fixture(scope="session")
def columns():
    """The 363 columns of the certificate."""
    return COLUMNS


def _estimate(mean, half=0.1):
    return Estimate(mean, mean - half, mean + half, 4 * half)


def _group(name, label, level):
    clipped = UtilityFigures(
        _estimate(14.9 + level), _estimate(11.9), _estimate(0.01), _estimate(0.008),
        _estimate(0.005 + level / 50), _estimate(-0.001), _estimate(-43.1),
    )  # fmt: skip
    return GroupUtility(name, label, clipped, replace(clipped, snr_db=_estimate(-32.5)))


@pytest.fixture(scope="session")
def utility() -> UtilityResult:
    """A result of the size of the columns."""
    return UtilityResult(
        mechanism="gaussian", n_patients=17, n_features=363, n_draws=20, seed=4,
        overall=_group("overall", "all columns", 0.0),
        by_feature=tuple(_group(f.name, f.label, i / 10) for i, f in enumerate(FEATURES)),
        by_channel=tuple(_group(name, name, i / 10) for i, name in enumerate(CHANNELS)),
        bands=(
            BandDistortion("alpha_power", "alpha power (8-13 Hz)", _estimate(3.4),
                           _estimate(3.5), 0.31),
            BandDistortion("gamma_power", "gamma power (30-45 Hz)", _estimate(2.9),
                           _estimate(3.0), None),
        ),
        zeros_rmse=0.105, zeros_mae=0.08, clipped_fraction=16 / 17,
    )  # fmt: skip


@pytest.fixture(scope="session")
def extraction() -> ExtractionSummary:
    """Counts of an extraction."""
    return ExtractionSummary(
        n_patients=17, n_recordings=19, n_fallback_rows=1, n_windows=1140, n_windows_kept=1102,
        n_cells=6171, n_missing_cells=9, seconds=1159.0,
        findings=(
            FindingCount("flat_channel", "A channel is flat.", "Cz", 2, 40),
            FindingCount("short_recording", "A recording is short.", None, 1, None),
        ),
    )  # fmt: skip
