"""Make a reference from the feature values of public people."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from neuroveil.errors import RecordingError, StudyError, StudyMistake
from neuroveil.reference.covariance import (
    CHANNEL_SHARES,
    FEATURE_SHARES,
    choose_shrinkage,
    kronecker_factors,
    sample_weights,
    to_unit_diagonal,
)
from neuroveil.reference.estimate import (
    FLOOR_LINEAR,
    FLOOR_LOG10,
    centres,
    person_values,
    spreads,
)
from neuroveil.reference.model import Preset, Provenance, Reference
from neuroveil.types.catalogue import FEATURE_NAMES, feature_spec
from neuroveil.types.recording import FloatArray

FEWEST_PEOPLE = 3
"""Fewer people than this have no spread to speak of."""

DECIMALS = 6
"""Digits behind the point in a file: far below what seven people can tell, and few enough
that another computer comes to the same file."""


@dataclass(frozen=True, eq=False)
class ReferenceSamples:
    """Feature values of public people.

    Parameters
    ----------
    values : ndarray of float64, shape (n_samples, n_channels, n_features)
        One sample a recording (or a person), on the linear scale, in the features' units;
        NaN where missing.
    people : tuple of str
        Whose sample each is. Not kept in the reference.
    channels, features : tuple of str
        Names of the axes.

    Raises
    ------
    StudyError
        If a name stands twice or is not in the catalogue.
    RecordingError
        If shapes disagree, a value is infinite or not positive where it must be, or fewer
        than three people have a value.
    """

    values: FloatArray
    people: tuple[str, ...]
    channels: tuple[str, ...]
    features: tuple[str, ...]

    def __post_init__(self) -> None:
        _check_names(self.channels, self.features)
        shape = (len(self.people), len(self.channels), len(self.features))
        if self.values.shape != shape:
            raise _unusable("reference samples", f"shape {shape}", f"shape {self.values.shape}")
        if bool(np.isinf(self.values).any()):
            raise _unusable("reference samples", "finite values or NaN", "infinite values")
        for position, name in enumerate(self.features):
            column = self.values[:, :, position]
            if feature_spec(name).scale == "log10" and bool((column <= 0).any()):
                raise _unusable(f"reference samples, {name}", "positive values", "others")
        if len(set(self.people)) < FEWEST_PEOPLE:
            raise _unusable(
                "reference samples", f"at least {FEWEST_PEOPLE} people",
                f"{len(set(self.people))}",
            )  # fmt: skip

    @property
    def scaled(self) -> FloatArray:
        """Values on the features' public scales, shape (n_samples, n_channels, n_features)."""
        result = self.values.astype(np.float64, copy=True)
        for position, name in enumerate(self.features):
            if feature_spec(name).scale == "log10":
                result[:, :, position] = np.log10(result[:, :, position])
        return result


@dataclass(frozen=True)
class ReferenceDescription:
    """What a reference says about itself beside its numbers.

    Parameters
    ----------
    name, version : str
        See :class:`~neuroveil.reference.Reference`.
    preset : {"harmonised", "paper"}
        Feature preset that the samples were made with.
    provenance : Provenance
        Where the samples come from. The numbers of people and samples are filled in.
    caveats : tuple of str
        What a user must know.
    """

    name: str
    version: str
    preset: Preset
    provenance: Provenance
    caveats: tuple[str, ...]


def build_reference(samples: ReferenceSamples, description: ReferenceDescription) -> Reference:
    """Estimate public constants.

    Parameters
    ----------
    samples : ReferenceSamples
        Feature values of public people.
    description : ReferenceDescription
        Name, preset, provenance and caveats.

    Returns
    -------
    Reference
        Constants rounded to six decimals, the same for the same samples.

    Raises
    ------
    RecordingError
        If a column has values of fewer than three people.
    """
    scaled = samples.scaled
    by_person = person_values(scaled, samples.people)
    _check_coverage(samples, by_person)
    floors = np.array([_floor(name) for name in samples.features])
    centre = centres(by_person)
    spread, weight = spreads(by_person, floors)
    deviations = np.nan_to_num((scaled - centre) / spread, nan=0.0)
    shares = choose_shrinkage(deviations, samples.people)
    channel, feature = kronecker_factors(deviations, sample_weights(samples.people), shares)
    provenance = replace(
        description.provenance, n_people=len(by_person), n_recordings=len(samples.people)
    )
    return Reference(
        name=description.name,
        version=description.version,
        preset=description.preset,
        channels=samples.channels,
        features=samples.features,
        centre=_rounded(centre),
        spread=_rounded(spread),
        channel_covariance=_rounded(to_unit_diagonal(channel)),
        feature_covariance=_rounded(to_unit_diagonal(feature)),
        estimator=_estimator(shares, weight),
        provenance=provenance,
        caveats=description.caveats,
    )


def _estimator(shares: tuple[float, float], weight: FloatArray) -> dict[str, object]:
    return {
        "centre": "Hodges-Lehmann over people, each the mean of the person's recordings",
        "spread": (
            "Shamos over people, drawn towards the value pooled over channels by empirical "
            "Bayes on its logarithm"
        ),
        "spread_floor": {"log10": FLOOR_LOG10, "linear": FLOOR_LINEAR},
        "spread_own_weight": _rounded(weight).tolist(),
        "covariance": (
            "Kronecker product of channels and features over recordings, flip-flop maximum "
            "likelihood, each factor shrunk towards the identity and set to unit diagonal"
        ),
        "channel_shrinkage": shares[0],
        "feature_shrinkage": shares[1],
        "shrinkage_chosen_by": "leave-one-person-out likelihood",
        "shrinkage_grid": {"channel": list(CHANNEL_SHARES), "feature": list(FEATURE_SHARES)},
    }


def _floor(feature: str) -> float:
    return FLOOR_LOG10 if feature_spec(feature).scale == "log10" else FLOOR_LINEAR


def _rounded(values: FloatArray) -> FloatArray:
    # Adding zero turns -0.0 into 0.0, which would otherwise stand in the file.
    return np.asarray(np.round(values, DECIMALS) + 0.0)


def _check_names(channels: tuple[str, ...], features: tuple[str, ...]) -> None:
    mistakes = [
        StudyMistake(
            f"reference {role}", "at least one name, each once", f"{len(names)} names, "
            f"{len(set(names))} different", "List every name once.",
        )
        for role, names in (("channels", channels), ("features", features))
        if not names or len(set(names)) != len(names)
    ]  # fmt: skip
    mistakes += [
        StudyMistake(
            "reference features", "features of the catalogue", repr(name),
            f"Choose from: {', '.join(FEATURE_NAMES)}.",
        )
        for name in features
        if name not in FEATURE_NAMES
    ]  # fmt: skip
    if mistakes:
        raise StudyError(mistakes)


def _check_coverage(samples: ReferenceSamples, by_person: FloatArray) -> None:
    counts = np.isfinite(by_person).sum(axis=0)
    for row, column in np.argwhere(counts < FEWEST_PEOPLE):
        raise _unusable(
            f"reference samples, {samples.channels[row]} {samples.features[column]}",
            f"values of at least {FEWEST_PEOPLE} people", f"values of {counts[row, column]}",
        )  # fmt: skip


def _unusable(where: str, expected: str, found: str) -> RecordingError:
    return RecordingError(
        where, expected, found,
        "Use recordings that carry this feature, or leave it out of the reference: columns "
        "outside take a documented fallback.",
    )  # fmt: skip
