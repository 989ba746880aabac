"""Public scaling constants as one frozen object, and where they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from neuroveil.errors import StudyError, StudyMistake
from neuroveil.reference.fallback import column_constants
from neuroveil.types.catalogue import FEATURE_NAMES, Column, feature_spec
from neuroveil.types.certificate import canonical_json, digest
from neuroveil.types.recording import FloatArray
from neuroveil.types.scaling import Scaling

Preset = Literal["harmonised", "paper"]
Population = Literal["adults", "children", "elderly", "sleep", "mixed"]

PRESETS: tuple[Preset, ...] = ("harmonised", "paper")
POPULATIONS: tuple[Population, ...] = ("adults", "children", "elderly", "sleep", "mixed")

SCHEMA = "neuroveil-reference"
SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Provenance:
    """Where the constants come from. All of it is public.

    Parameters
    ----------
    dataset, dataset_version : str
        Name and version of the public data set.
    source : str
        Persistent identifier of the data set.
    licence : str
        Licence of the data set.
    attribution : str
        The sentence that the licence asks for.
    citation : str
        The publication that describes the data.
    population : str
        Who was recorded, for a reader.
    covers : tuple of str
        Populations that these people stand for, see :data:`POPULATIONS`.
    recordings : str
        Which recordings were used, for a reader.
    n_people, n_recordings : int
        How many.
    recording_digests : tuple of str
        SHA-256 of every recording, sorted, so that a release of the same people can be
        refused. The recordings are public.
    settings : mapping
        Settings of the feature extraction, as plain data.
    software : mapping of str to str
        Version by package.
    """

    dataset: str
    dataset_version: str
    source: str
    licence: str
    attribution: str
    citation: str
    population: str
    covers: tuple[Population, ...]
    recordings: str
    n_people: int
    n_recordings: int
    recording_digests: tuple[str, ...]
    settings: Mapping[str, Any]
    software: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Reference:
    """Centre, spread and covariance of the catalogue's features in public EEG.

    Made by :func:`~neuroveil.reference.build_reference` or read by
    :func:`~neuroveil.reference.load_reference`.

    Parameters
    ----------
    name, version : str
        A name with lower-case letters, digits and hyphens, and a version such as ``"1"``.
        The constants of one version never change.
    preset : {"harmonised", "paper"}
        Feature preset that the constants belong to.
    channels, features : tuple of str
        What is covered.
    centre, spread : ndarray of float64, shape (n_channels, n_features)
        On each feature's public scale (log10 of its unit, or its unit).
    channel_covariance : ndarray of float64, shape (n_channels, n_channels)
        Unit diagonal (no unit).
    feature_covariance : ndarray of float64, shape (n_features, n_features)
        Unit diagonal (no unit). The covariance of two scaled columns is the product of
        their channels' and their features' entry.
    estimator : mapping
        How the constants were estimated, as plain data.
    provenance : Provenance
        Where they come from.
    caveats : tuple of str
        What a user must know about them.
    """

    name: str
    version: str
    preset: Preset
    channels: tuple[str, ...]
    features: tuple[str, ...]
    centre: FloatArray
    spread: FloatArray
    channel_covariance: FloatArray
    feature_covariance: FloatArray
    estimator: Mapping[str, Any]
    provenance: Provenance
    caveats: tuple[str, ...]

    @property
    def title(self) -> str:
        """Name and version as they stand in certificates, for example ``"some-name v1"``."""
        return f"{self.name} v{self.version}"

    @property
    def digest(self) -> str:
        """SHA-256 over everything but the software versions, as ``sha256:<hex>``."""
        document = self.to_json()
        del document["digest"], document["provenance"]["software"]
        return digest(canonical_json(document))

    def to_json(self) -> dict[str, Any]:
        """Give the reference as plain data, as it is written to a file.

        Returns
        -------
        dict
            With its own digest under ``digest``, filled in by
            :func:`~neuroveil.reference.save_reference`.
        """
        provenance = asdict(self.provenance)
        for name in ("covers", "recording_digests"):
            provenance[name] = list(provenance[name])
        return {
            "schema": SCHEMA,
            "schema_version": SCHEMA_VERSION,
            "name": self.name,
            "version": self.version,
            "preset": self.preset,
            "digest": "",
            "provenance": provenance,
            "caveats": list(self.caveats),
            "estimator": dict(self.estimator),
            "channels": list(self.channels),
            "features": list(self.features),
            "scales": [feature_spec(name).scale for name in self.features],
            "units": [feature_spec(name).unit for name in self.features],
            "centre": self.centre.tolist(),
            "spread": self.spread.tolist(),
            "channel_covariance": self.channel_covariance.tolist(),
            "feature_covariance": self.feature_covariance.tolist(),
        }

    def covers(self, column: Column) -> bool:
        """Whether there are constants for exactly this column.

        Parameters
        ----------
        column : Column
            A feature on a channel.

        Returns
        -------
        bool
            False where a fallback stands in.
        """
        return column.channel in self.channels and column.feature in self.features

    def scaling_for(self, columns: tuple[Column, ...]) -> Scaling:
        """Give the constants of a study's columns, in the study's order.

        A column outside the reference takes a public fallback, see
        :mod:`neuroveil.reference.fallback`; in the covariance it is uncorrelated with all
        others and has variance 1.

        Parameters
        ----------
        columns : tuple of Column
            What the study releases.

        Returns
        -------
        Scaling
            Public constants with covariance; ``fallback`` marks columns outside.

        Raises
        ------
        StudyError
            If no column is given, one stands twice, or a feature is not in the catalogue.
        """
        _check_columns(columns)
        constants = [column_constants(self, column) for column in columns]
        centre, spread = np.array(constants, dtype=np.float64).T
        inside = [self.covers(column) for column in columns]
        return Scaling(
            columns=columns,
            centre=np.ascontiguousarray(centre),
            spread=np.ascontiguousarray(spread),
            fitted_on="public",
            name=self.title,
            fallback=tuple(not covered for covered in inside),
            covariance=self._covariance(columns, np.array(inside)),
        )

    def _covariance(self, columns: tuple[Column, ...], inside: Any) -> FloatArray:
        covariance = np.eye(len(columns))
        covered = [column for column, flag in zip(columns, inside, strict=True) if flag]
        channel = [self.channels.index(column.channel) for column in covered]
        feature = [self.features.index(column.feature) for column in covered]
        covariance[np.ix_(inside, inside)] = (
            self.channel_covariance[np.ix_(channel, channel)]
            * self.feature_covariance[np.ix_(feature, feature)]
        )
        return covariance


def _check_columns(columns: tuple[Column, ...]) -> None:
    mistakes = [
        StudyMistake(
            "features.names", "features of the catalogue", repr(name),
            f"Choose from: {', '.join(FEATURE_NAMES)}.",
        )
        for name in sorted({column.feature for column in columns} - set(FEATURE_NAMES))
    ]  # fmt: skip
    if not columns or len(set(columns)) != len(columns):
        mistakes.append(StudyMistake(
            "features.names", "at least one column, each once",
            f"{len(columns)} columns, {len(set(columns))} different",
            "List every channel and every feature once.",
        ))  # fmt: skip
    if mistakes:
        raise StudyError(mistakes)
