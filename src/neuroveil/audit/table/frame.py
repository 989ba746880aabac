"""What an audit of a table looks at: the private table, the release, and what to compare with.

Three targets are attacked in the same way: the release, the table without any protection, and
the settings of the paper. The last two show what the defence is worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from neuroveil.audit.table.additive import AdditiveChannel
from neuroveil.audit.table.channels import Candidates, Channel, ReleasedRows
from neuroveil.audit.table.moments import MomentsChannel
from neuroveil.audit.table.unprotected import UnprotectedChannel
from neuroveil.errors import RecordingError
from neuroveil.privacy import private_statistics_scaling, scale_rows
from neuroveil.privacy.bounds import IntArray
from neuroveil.privacy.mechanisms.contract import MechanismSpec
from neuroveil.privacy.mechanisms.laplace import PaperLaplace
from neuroveil.types.recording import FloatArray
from neuroveil.types.scaling import Scaling
from neuroveil.types.table import FeatureTable

FEWEST_PATIENTS = 5
"""With fewer patients no attack on a table is called testable: they show nothing of others."""

PAPER_CLIP_NORM = 2.0

_FAR = 1e6  # beyond any clipping norm in use, far from what squares would overflow at


@dataclass(frozen=True)
class Claim:
    """What is claimed for a target.

    Parameters
    ----------
    epsilon, delta : float
        For one patient under replace-one.
    trust_model : str
        ``"local"``: whoever knows which row is whose is covered. ``"shuffled"`` and
        ``"central"``: the claim is about all rows together.
    """

    epsilon: float
    delta: float
    trust_model: str

    @property
    def largest_auc(self) -> float:
        """The largest area under the curve that the claim allows: 1 - (1 - delta)^2/(1 + e^eps).

        Under the straight lines from (0, delta) over the corner at false alarms of
        (1 - delta)/(1 + e^eps) to (1 - delta, 1).
        """
        return 1 - (1 - self.delta) ** 2 / (1 + float(np.exp(min(self.epsilon, 700.0))))


@dataclass(frozen=True, eq=False, repr=False)
class Target:
    """Something that is attacked, with the rows behind it.

    Parameters
    ----------
    name : str
        ``"release"``, ``"unprotected"`` or ``"paper"``.
    label : str
        Name for a reader.
    channel : Channel or MomentsChannel
        The public mechanism.
    scaling : Scaling
        Constants that rows are scaled with.
    rows : ndarray of float64, shape (n_patients, n_features)
        Scaled rows of the table (no unit). Private.
    reference : ndarray of float64, shape (n_reference, n_features), optional
        Scaled rows of another session (no unit). Private.
    claim : Claim, optional
        What is claimed; nothing for unprotected rows.
    """

    name: str
    label: str
    channel: Channel | MomentsChannel
    scaling: Scaling
    rows: FloatArray
    reference: FloatArray | None = None
    claim: Claim | None = None

    @cached_property
    def row_channel(self) -> Channel:
        """The channel of a target that releases rows."""
        assert not isinstance(self.channel, MomentsChannel)  # asked for only where rows are out
        return self.channel

    @property
    def releases_rows(self) -> bool:
        """Whether rows are released; statistics of all patients otherwise."""
        return not isinstance(self.channel, MomentsChannel)

    @cached_property
    def candidates(self) -> Candidates:
        """The table's rows, ready for comparison."""
        return self.row_channel.against(self.rows)

    @cached_property
    def far_candidates(self) -> Candidates:
        """For each patient the row that differs most within the clipping norm."""
        return self.row_channel.against(far_rows(self))

    @cached_property
    def reference_candidates(self) -> Candidates:
        """The other session's rows, or the table's own where there is none."""
        if self.reference is None:
            return self.candidates
        return self.row_channel.against(self.reference)


@dataclass(frozen=True, eq=False, repr=False)
class Attribute:
    """Something about patients that an attacker wants to guess. Private.

    Parameters
    ----------
    name : str
        Column that it was read from.
    values : tuple of str
        One a patient of the table; ``""`` where it is not known. Never printed.
    """

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class AuditFrame:
    """Everything that attacks on a table may look at. Private.

    Parameters
    ----------
    table : FeatureTable
        The private table that the release was made from.
    reference : FeatureTable, optional
        Another session of the same people, with the same columns; it may hold others too.
    targets : tuple of Target
        The release first.
    released : ReleasedRows, optional
        The rows of the release itself, in their random order.
    order : ndarray of int64, shape (n_patients,), optional
        Which row of the table each released row is, where the hospital has kept that.
    attribute : Attribute, optional
        What is to be guessed from released rows.
    """

    table: FeatureTable
    reference: FeatureTable | None
    targets: tuple[Target, ...]
    released: ReleasedRows | None = None
    order: IntArray | None = field(default=None)
    attribute: Attribute | None = None

    @property
    def n_patients(self) -> int:
        """Number of patients in the table."""
        return self.table.n_patients

    @cached_property
    def mates(self) -> IntArray:
        """Row of each patient in the reference, -1 where there is none; shape (n_patients,)."""
        if self.reference is None:
            return np.arange(self.n_patients)
        place = {patient: row for row, patient in enumerate(self.reference.patients)}
        return np.array([place.get(patient, -1) for patient in self.table.patients])


def make_targets(
    table: FeatureTable,
    reference: FeatureTable | None,
    scaling: Scaling,
    channel: Channel | MomentsChannel,
    claim: Claim,
) -> tuple[Target, ...]:
    """Put the release beside the unprotected table and the settings of the paper.

    Parameters
    ----------
    table : FeatureTable
        The private table.
    reference : FeatureTable or None
        Another session.
    scaling : Scaling
        Constants of the release.
    channel : Channel or MomentsChannel
        Mechanism of the release.
    claim : Claim
        What the release claims.

    Returns
    -------
    tuple of Target
        ``release``, ``unprotected`` and ``paper``: Laplace noise of scale 2C / epsilon on rows
        that are scaled with the median and interquartile range of the cohort itself.
    """
    rows, others = scale_rows(table, scaling), _scaled_or_none(reference, scaling)
    private = private_statistics_scaling(table)
    spec = MechanismSpec(
        "paper_laplace", claim.epsilon, 0.0, PAPER_CLIP_NORM, "l2", table.n_features
    )
    return (
        Target("release", "the release", channel, scaling, rows, others, claim),
        Target("unprotected", "the table without protection",
               UnprotectedChannel(table.n_features), scaling, rows, others),
        Target("paper", "the paper's Laplace settings", AdditiveChannel(PaperLaplace(spec)),
               private, scale_rows(table, private), _scaled_or_none(reference, private),
               Claim(claim.epsilon, 0.0, "local")),
    )  # fmt: skip


def check_table(table: FeatureTable, n_released: int) -> None:
    """Refuse a table that an attack could not be scored with.

    Parameters
    ----------
    table : FeatureTable
        The private table.
    n_released : int
        Patients that the certificate states.

    Raises
    ------
    RecordingError
        If it has another number of patients, or fewer than two.
    """
    if table.n_patients != n_released:
        raise RecordingError(
            "table", f"{n_released} patients, as the certificate states", f"{table.n_patients}",
            "Name the feature table that this release was made from.",
        )  # fmt: skip
    if table.n_patients < 2:
        raise RecordingError(
            "table", "at least two patients", f"{table.n_patients}",
            "With one patient there is nobody whom an attack could confuse with another.",
        )  # fmt: skip


def check_order(order: Sequence[int], n_patients: int) -> IntArray:
    """Refuse an order that does not name every row of the table once.

    Parameters
    ----------
    order : sequence of int
        Which row of the table each released row is, from 0.
    n_patients : int
        Rows of the table.

    Returns
    -------
    ndarray of int64, shape (n_patients,)
        The same order.

    Raises
    ------
    RecordingError
        If a row is missing or stands twice.
    """
    if sorted(order) != list(range(n_patients)):
        raise RecordingError(
            "row order", f"each of {n_patients} patients once", f"{len(order)} entries that differ",
            "Give one patient a line, in the order of the released rows.",
        )  # fmt: skip
    return np.array(order, dtype=np.int64)


def far_rows(target: Target) -> FloatArray:
    """Give for each row the one that differs most, as long as clipping allows.

    The opposite direction for rows; for sums, see
    :meth:`~neuroveil.audit.table.moments.MomentsChannel.farthest`.

    Parameters
    ----------
    target : Target
        With scaled rows.

    Returns
    -------
    ndarray of float64, shape (n_patients, n_features)
        Scaled rows (no unit); clipping brings them to the clipping norm.
    """
    if isinstance(target.channel, UnprotectedChannel):
        return -target.rows
    if isinstance(target.channel, MomentsChannel):
        return target.channel.farthest(target.rows) * _FAR
    return -target.rows * _FAR


def _scaled_or_none(table: FeatureTable | None, scaling: Scaling) -> FloatArray | None:
    return None if table is None else scale_rows(table, scaling)
