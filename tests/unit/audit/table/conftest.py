"""Made-up tables, and frames of them under any mechanism, without a release folder."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from neuroveil.audit.table.additive import AdditiveChannel
from neuroveil.audit.table.channels import Channel
from neuroveil.audit.table.codewords import CodewordChannel
from neuroveil.audit.table.effort import Effort
from neuroveil.audit.table.frame import AuditFrame, Claim, make_targets
from neuroveil.audit.table.moments import MomentsChannel
from neuroveil.privacy.central.mean_covariance import MeanCovariance
from neuroveil.privacy.central.moment_spec import MomentSpec
from neuroveil.privacy.mechanisms.contract import MechanismSpec
from neuroveil.privacy.mechanisms.registry import make_mechanism
from neuroveil.types.catalogue import FEATURE_NAMES, columns_for
from neuroveil.types.recording import FloatArray
from neuroveil.types.scaling import Scaling
from neuroveil.types.table import FeatureTable

DELTA, CLIP_NORM = 1e-5, 2.0


@pytest.fixture
def effort() -> Effort:
    return Effort("test", n_trials=2000, n_links=1000, n_bootstraps=40, cells=60_000_000)


@pytest.fixture
def make_table() -> Callable[[FloatArray], FeatureTable]:
    """A table whose scaled rows, with centre 0 and spread 1, are these rows."""

    def make(rows: FloatArray) -> FeatureTable:
        n, d = rows.shape
        channels = tuple(f"E{number}" for number in range(1 + d // len(FEATURE_NAMES)))
        columns = columns_for(channels, FEATURE_NAMES)[:d]
        powers = np.array([column.scale == "log10" for column in columns])
        return FeatureTable(
            tuple(f"patient {number}" for number in range(n)), columns,
            np.where(powers, 10.0**rows, rows), np.full(n, 60), np.full(n, 61.0),
        )  # fmt: skip

    return make


@pytest.fixture
def make_channel() -> Callable[..., Channel | MomentsChannel]:
    def make(name: str, epsilon: float, d: int, n: int) -> Channel | MomentsChannel:
        if name == "moments":
            return MomentsChannel(MeanCovariance(MomentSpec(epsilon, DELTA, CLIP_NORM, d, n)))
        delta = DELTA if name == "gaussian" else 0.0
        mechanism = make_mechanism(MechanismSpec(name, epsilon, delta, CLIP_NORM, "l2", d))
        return (CodewordChannel if name == "privunit" else AdditiveChannel)(mechanism)

    return make


@pytest.fixture
def make_frame(
    make_table: Callable[[FloatArray], FeatureTable],
    make_channel: Callable[..., Channel | MomentsChannel],
) -> Callable[..., AuditFrame]:
    """A frame of scaled rows under a mechanism, with another session where one is given."""

    def make(
        rows: FloatArray, name: str, epsilon: float, reference: FloatArray | None = None,
        trust_model: str = "local",
    ) -> AuditFrame:  # fmt: skip
        n, d = rows.shape
        table = make_table(rows)
        other = None if reference is None else make_table(reference)
        scaling = Scaling(table.columns, np.zeros(d), np.ones(d), "public", "made up", (False,) * d)
        delta = DELTA if name in ("gaussian", "moments") else 0.0
        claim = Claim(epsilon, delta, "central" if name == "moments" else trust_model)
        targets = make_targets(table, other, scaling, make_channel(name, epsilon, d, n), claim)
        return AuditFrame(table, other, targets)

    return make


@pytest.fixture
def rows() -> FloatArray:
    """Seventeen dense rows of 30 columns."""
    return np.random.default_rng(1).normal(size=(17, 30))
