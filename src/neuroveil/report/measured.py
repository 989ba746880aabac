"""Parts of the internal page: measured utility, and what went into the table."""

from __future__ import annotations

from typing import Any

from neuroveil.report.links import NOISE_NAMES
from neuroveil.report.text import number, percent
from neuroveil.types.moment_utility import MomentUtility
from neuroveil.types.utility import Estimate, ExtractionSummary, UtilityResult

_FIGURES = {
    "rmse": "RMSE (no unit)",
    "mae": "MAE (no unit)",
    "correlation": "Correlation",
    "correlation_permuted": "Control: rows exchanged",
    "correlation_centred": "Correlation, cohort mean removed",
    "correlation_centred_permuted": "Control: mean removed, rows exchanged",
    "snr_db": "SNR (dB)",
}


def measured_parts(utility: UtilityResult) -> dict[str, Any]:
    """Prepare measured utility for the page.

    Parameters
    ----------
    utility : UtilityResult
        Measured utility. Internal.

    Returns
    -------
    dict
        Tables and charts by the names that the template uses.
    """
    from neuroveil.report.charts import band_distortion, individual_correlation

    sides = utility.overall.against_clipped, utility.overall.against_unclipped
    overall: list[tuple[str, Estimate | None, Estimate | None]] = [
        (label, getattr(sides[0], name), getattr(sides[1], name))
        for name, label in _FIGURES.items()
    ]
    return {
        "utility": utility,
        "noise_kind": NOISE_NAMES.get(utility.mechanism, utility.mechanism),
        "overall": overall,
        "clipped_percent": percent(utility.clipped_fraction),
        "feature_chart": individual_correlation(utility.by_feature, "feature"),
        "channel_chart": individual_correlation(utility.by_channel, "channel"),
        "band_chart": band_distortion(utility.bands) if utility.bands else None,
    }


_MOMENTS = {
    "covariance_correlation": "Correlation of covariance entries",
    "covariance_correlation_permuted": "Control: columns exchanged",
    "covariance_rmse": "RMSE of a covariance entry (no unit)",
    "mean_rmse": "RMSE of an entry of the mean (no unit)",
    "marginal_distance": "Distance of a synthetic column's distribution (0 to 1)",
    "marginal_distance_without_noise": "Control: synthetic rows from the true moments",
    "n_directions": "Directions that stand out of the noise",
}


def moment_parts(utility: MomentUtility) -> dict[str, Any]:
    """Prepare the measured utility of mean and covariance for the page.

    Parameters
    ----------
    utility : MomentUtility
        Measured utility. Internal.

    Returns
    -------
    dict
        The figures by the names that the template uses.
    """
    zeros = {
        "covariance_rmse": utility.zeros_covariance_rmse,
        "mean_rmse": utility.zeros_mean_rmse,
    }
    return {
        "moments": utility,
        "moment_rows": [
            (label, getattr(utility, name), zeros.get(name)) for name, label in _MOMENTS.items()
        ],
        "clipped_percent": percent(utility.clipped_fraction),
    }


def input_parts(extraction: ExtractionSummary) -> dict[str, Any]:
    """Prepare the counts of the extraction for the page.

    Parameters
    ----------
    extraction : ExtractionSummary
        What went in. Internal.

    Returns
    -------
    dict
        The summary and its counts with their names.
    """
    rejected = extraction.n_windows - extraction.n_windows_kept
    counts = [
        ("patients", number(extraction.n_patients)),
        ("recordings", number(extraction.n_recordings)),
        ("hours recorded", number(extraction.seconds / 3600, 3)),
        ("windows", number(extraction.n_windows)),
        ("windows rejected", _share(rejected, extraction.n_windows)),
        ("cells missing", _share(extraction.n_missing_cells, extraction.n_cells)),
        ("patients without a usable recording", number(extraction.n_fallback_rows)),
    ]  # fmt: skip
    return {"extraction": extraction, "counts": counts}


def _share(part: int, whole: int) -> str:
    if not whole:
        return number(part)
    return f"{number(part)} ({percent(part / whole) if part else '0 %'})"
