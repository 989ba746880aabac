"""What a study promises: the public settings that a release is made with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from neuroveil.errors import ChainError
from neuroveil.privacy.bounds import Norm
from neuroveil.privacy.composition import row_event
from neuroveil.privacy.exact import exact
from neuroveil.privacy.labels import LabelPolicy
from neuroveil.privacy.mechanisms.contract import MechanismSpec
from neuroveil.privacy.mechanisms.registry import make_mechanism
from neuroveil.privacy.validate import check_dimension
from neuroveil.types.budget import AccountingEvent
from neuroveil.types.catalogue import Column
from neuroveil.types.certificate import canonical_json, digest
from neuroveil.types.charge import ChargeRequest


@dataclass(frozen=True)
class ProtectSettings:
    """Public settings of a release. There is no seed among them.

    Parameters
    ----------
    mechanism : str
        Name of the row mechanism.
    epsilon, delta : float
        Guarantee for one patient's row; ``delta = 0`` for mechanisms with a pure guarantee.
    clip_norm : float
        Largest norm of a scaled row (no unit).
    norm : {"l2", "l1"}
        Norm that is clipped.
    labels : tuple of LabelPolicy
        Label columns that go along; others stay behind.
    acknowledge_private_statistics : bool
        Whether somebody has accepted that scaling by the cohort's own statistics leaves no
        end-to-end guarantee.
    preprocessing : mapping
        Public settings of filtering, windows and features, as plain data.
    software_versions : mapping of str to str
        Version by package, of what prepared the table.
    commit : str, optional
        Source revision.
    """

    mechanism: str
    epsilon: float
    delta: float
    clip_norm: float
    norm: Norm = "l2"
    labels: tuple[LabelPolicy, ...] = ()
    acknowledge_private_statistics: bool = False
    preprocessing: Mapping[str, Any] = field(default_factory=dict)
    software_versions: Mapping[str, str] = field(default_factory=dict)
    commit: str | None = None

    def spec(self, dimension: int) -> MechanismSpec:
        """Give the specification of the row mechanism.

        Parameters
        ----------
        dimension : int
            Number of released columns.

        Returns
        -------
        MechanismSpec
            For :func:`~neuroveil.privacy.mechanisms.registry.make_mechanism`.
        """
        return MechanismSpec(
            self.mechanism, self.epsilon, self.delta, self.clip_norm, self.norm, dimension
        )

    @property
    def charged_labels(self) -> tuple[LabelPolicy, ...]:
        """Label columns that spend budget."""
        return tuple(policy for policy in self.labels if policy.is_charged)

    @property
    def unprotected_labels(self) -> tuple[LabelPolicy, ...]:
        """Label columns that are released as they are."""
        return tuple(policy for policy in self.labels if not policy.is_charged)

    @property
    def epsilon_labels(self) -> Fraction:
        """What all label columns spend together, exact."""
        return sum((exact(policy.epsilon) for policy in self.charged_labels), Fraction(0))

    @property
    def epsilon_total(self) -> Fraction:
        """What rows and labels spend together, exact (basic composition)."""
        return exact(self.epsilon) + self.epsilon_labels


def columns_digest(columns: Sequence[Column]) -> str:
    """Digest of the released column names, which are public.

    Parameters
    ----------
    columns : sequence of Column
        Released columns in order.

    Returns
    -------
    str
        ``sha256:<hex>`` of the JSON list of names.
    """
    return digest(canonical_json([column.name for column in columns]))


def charge_request(
    settings: ProtectSettings, columns: Sequence[Column], n_patients: int
) -> ChargeRequest:
    """Say what a release will spend, for the ledger.

    Parameters
    ----------
    settings : ProtectSettings
        Public settings of the release.
    columns : sequence of Column
        Released columns.
    n_patients : int
        Roster size, public.

    Returns
    -------
    ChargeRequest
        Epsilon and delta as exact rationals of the decimals in the settings.

    Raises
    ------
    ChainError
        If the mechanism cannot be calibrated, or does not support its epsilon.
    """
    check_dimension(n_patients, "adjacency.n_roster")
    mechanism = make_mechanism(settings.spec(len(columns)))
    guarantee = mechanism.guarantee
    if settings.mechanism == "paper_laplace" or not guarantee.holds:
        raise ChainError(
            "privacy.mechanism", "a mechanism that supports its epsilon",
            f"{settings.mechanism}, whose noise supports epsilon = "
            f"{guarantee.epsilon_supported:.4g} instead of {guarantee.epsilon:g}",
            "Release with gaussian or laplace; this one can only be simulated.",
        )  # fmt: skip
    labels = [
        AccountingEvent(policy.policy, exact(policy.epsilon), Fraction(0))
        for policy in settings.charged_labels
    ]
    return ChargeRequest(
        epsilon=settings.epsilon_total,
        delta=exact(settings.delta),
        mechanism=settings.mechanism,
        n_patients=n_patients,
        dimension=len(columns),
        columns_digest=columns_digest(columns),
        events=(row_event(mechanism), *labels),
    )
