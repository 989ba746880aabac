"""What a release costs: results that ``evaluate`` measures and ``report`` draws.

Everything here rests on private rows and is marked internal: it may be read where the
recordings are, and is never published.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from neuroveil.types.recording import QualityFinding


@dataclass(frozen=True)
class Estimate:
    """A figure measured over repeated draws of noise.

    Parameters
    ----------
    mean : float
        Mean over the draws.
    low, high : float
        95 % confidence interval of that mean: mean ± t · standard deviation / √draws.
    one_draw : float
        Standard deviation over the draws: by how much a single draw typically differs
        from the mean.
    """

    mean: float
    low: float
    high: float
    one_draw: float


@dataclass(frozen=True)
class UtilityFigures:
    """How far noisy rows are from one set of reference rows.

    A figure that is not defined, such as a correlation with constant rows, is ``None``.

    Parameters
    ----------
    rmse, mae : Estimate
        Root mean square error and mean absolute error over cells, on the scaled axis
        (no unit).
    correlation : Estimate, optional
        Pearson correlation over cells. It also counts what all patients have in common.
    correlation_permuted : Estimate, optional
        Control: the same with the rows of the reference exchanged between patients.
    correlation_centred : Estimate, optional
        Pearson correlation after the cohort mean of every column is taken off both sides:
        what is left of the individual.
    correlation_centred_permuted : Estimate, optional
        Control for it; near 0.
    snr_db : Estimate, optional
        Signal-to-noise ratio in dB, 10·log10(Σ reference² / Σ error²). A table of zeros
        has 0 dB.
    """

    rmse: Estimate
    mae: Estimate
    correlation: Estimate | None
    correlation_permuted: Estimate | None
    correlation_centred: Estimate | None
    correlation_centred_permuted: Estimate | None
    snr_db: Estimate | None


@dataclass(frozen=True)
class GroupUtility:
    """Utility over a group of columns.

    Parameters
    ----------
    name : str
        ``"overall"``, a feature's name, or a channel's name.
    label : str
        Name for a reader.
    against_clipped : UtilityFigures
        Compared with the clipped rows that the noise was added to: what the noise costs.
    against_unclipped : UtilityFigures
        Compared with the scaled rows before clipping: what clipping and noise cost
        together.
    """

    name: str
    label: str
    against_clipped: UtilityFigures
    against_unclipped: UtilityFigures


@dataclass(frozen=True)
class BandDistortion:
    """By how much the power of a frequency band is misread.

    Parameters
    ----------
    feature : str
        Name of the band-power feature.
    label : str
        Name for a reader.
    against_clipped, against_unclipped : Estimate
        Mean absolute change of log10(power), in decades: a value of 1 means that power
        reads ten times too high or too low.
    patient_spread : float, optional
        Standard deviation between patients of log10(power), in decades, averaged over
        channels: the yardstick. ``None`` for a single patient.
    """

    feature: str
    label: str
    against_clipped: Estimate
    against_unclipped: Estimate
    patient_spread: float | None


@dataclass(frozen=True)
class UtilityResult:
    """Intrinsic utility over repeated draws of noise. Internal: it rests on private rows.

    Parameters
    ----------
    mechanism : str
        Name of the mechanism.
    n_patients, n_features, n_draws : int
        Rows, columns, and draws of noise. None of the draws is the released one.
    seed : int
        Seed of the simulated noise.
    overall : GroupUtility
        Over all cells.
    by_feature, by_channel : tuple of GroupUtility
        Over all channels of a feature, over all features of a channel.
    bands : tuple of BandDistortion
        One entry a band-power feature.
    zeros_rmse, zeros_mae : float
        The same errors for a table of zeros, against the clipped rows (no unit).
    clipped_fraction : float
        Fraction of rows that clipping shortened.
    """

    INTERNAL: ClassVar[bool] = True

    mechanism: str
    n_patients: int
    n_features: int
    n_draws: int
    seed: int
    overall: GroupUtility
    by_feature: tuple[GroupUtility, ...]
    by_channel: tuple[GroupUtility, ...]
    bands: tuple[BandDistortion, ...]
    zeros_rmse: float
    zeros_mae: float
    clipped_fraction: float

    def to_json(self) -> dict[str, Any]:
        """Give the result as plain data, marked internal.

        Returns
        -------
        dict
            The fields by name, and ``"internal": True``.
        """
        return {"internal": self.INTERNAL, **asdict(self)}


@dataclass(frozen=True)
class FindingCount:
    """How often something was noticed in the recordings.

    Parameters
    ----------
    code : str
        Short stable name of the finding.
    message : str
        One sentence for a reader.
    channel : str, optional
        Canonical channel name that it concerns.
    n_findings : int
        In how many places it was noticed.
    total : int, optional
        Sum of the findings' own counts (windows, samples or channels), where given.
    """

    code: str
    message: str
    channel: str | None
    n_findings: int
    total: int | None


@dataclass(frozen=True)
class ExtractionSummary:
    """What went into the feature table, as counts. Internal.

    Parameters
    ----------
    n_patients, n_recordings : int
        On the roster.
    n_fallback_rows : int
        Patients without a usable recording, who get the public fallback row.
    n_windows, n_windows_kept : int
        Windows over all recordings, and those of which at least one channel was kept.
    n_cells, n_missing_cells : int
        Cells of the table, and those that take the public centre.
    seconds : float
        Recorded time over all recordings, in seconds.
    findings : tuple of FindingCount
        What was noticed, counted.
    """

    n_patients: int
    n_recordings: int
    n_fallback_rows: int
    n_windows: int
    n_windows_kept: int
    n_cells: int
    n_missing_cells: int
    seconds: float
    findings: tuple[FindingCount, ...] = ()


def count_findings(findings: Iterable[QualityFinding]) -> tuple[FindingCount, ...]:
    """Count findings by code and channel.

    Parameters
    ----------
    findings : iterable of QualityFinding
        From any number of recordings.

    Returns
    -------
    tuple of FindingCount
        Sorted by code and channel; the message is that of the first finding of its kind.
    """
    groups: dict[tuple[str, str], list[QualityFinding]] = {}
    for finding in findings:
        groups.setdefault((finding.code, finding.channel or ""), []).append(finding)
    return tuple(_counted(group) for _, group in sorted(groups.items()))


def _counted(group: list[QualityFinding]) -> FindingCount:
    counts = [finding.count for finding in group if finding.count is not None]
    return FindingCount(
        code=group[0].code,
        message=group[0].message,
        channel=group[0].channel,
        n_findings=len(group),
        total=sum(counts) if counts else None,
    )
