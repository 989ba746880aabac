"""Made-up public people with known centre, spread and covariance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from neuroveil.reference import (
    Provenance,
    Reference,
    ReferenceDescription,
    ReferenceSamples,
    build_reference,
)
from neuroveil.types.catalogue import feature_spec
from neuroveil.types.recording import FloatArray

CHANNELS = ("Fz", "Cz", "Pz", "O1")
FEATURES = ("alpha_power", "gamma_power", "zero_crossing_rate")
CENTRE = np.array([[0.8, -0.2, 21.0], [0.9, -0.3, 20.0], [1.2, -0.1, 19.0], [1.5, 0.0, 18.0]])
SPREAD = np.array([0.3, 0.2, 2.5])

PROVENANCE = Provenance(
    dataset="made-up people",
    dataset_version="1.0",
    source="none",
    licence="CC0",
    attribution="none is asked for",
    citation="none",
    population="people who do not exist",
    covers=("adults",),
    recordings="two a person",
    n_people=0,
    n_recordings=0,
    recording_digests=(),
    settings={"line_frequency_hz": 50.0},
    software={"numpy": "2.0"},
)
DESCRIPTION = ReferenceDescription("made-up", "1", "harmonised", PROVENANCE, ("Nobody exists.",))


@dataclass(frozen=True)
class Truth:
    """What the made-up people were drawn from."""

    channel: FloatArray
    feature: FloatArray
    centre: FloatArray
    spread: FloatArray


def correlation(size: int, decay: float) -> FloatArray:
    """Correlations that fall with distance."""
    index = np.arange(size)
    return np.asarray(decay ** np.abs(index[:, None] - index[None, :]))


def _draw(
    n_people: int, seed: int = 0, session_share: float = 0.3
) -> tuple[ReferenceSamples, Truth]:
    """Draw people with two recordings each, on the linear scale."""
    truth = Truth(correlation(4, 0.7), correlation(3, 0.5), CENTRE, np.tile(SPREAD, (4, 1)))
    rng = np.random.default_rng(seed)
    roots = np.linalg.cholesky(truth.channel), np.linalg.cholesky(truth.feature)

    def deviations(n: int) -> FloatArray:
        return np.asarray(roots[0] @ rng.standard_normal((n, 4, 3)) @ roots[1].T)

    person = np.repeat(deviations(n_people), 2, axis=0)
    scaled = truth.centre + truth.spread * (person + session_share * deviations(2 * n_people))
    is_log = np.array([feature_spec(name).scale == "log10" for name in FEATURES])
    values = np.where(is_log, 10.0 ** np.where(is_log, scaled, 0.0), scaled)
    people = tuple(f"person {number // 2}" for number in range(2 * n_people))
    return ReferenceSamples(values, people, CHANNELS, FEATURES), truth


@pytest.fixture(scope="session")
def reference() -> Reference:
    """A reference from seven made-up people."""
    return build_reference(_draw(7)[0], DESCRIPTION)


@pytest.fixture(scope="session")
def draw_people() -> Callable[..., tuple[ReferenceSamples, Truth]]:
    """Function (n_people, seed, session_share) -> samples and truth."""
    return _draw


@pytest.fixture(scope="session")
def description() -> ReferenceDescription:
    """What the made-up references say about themselves."""
    return DESCRIPTION
