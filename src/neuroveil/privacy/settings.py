"""What a study promises: the public settings that a release is made with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from neuroveil.errors import ChainError
from neuroveil.privacy.bounds import Norm
from neuroveil.privacy.central.dp_scaling import ScalingBudget, require_useful
from neuroveil.privacy.central.plan import plan_moments
from neuroveil.privacy.composition import row_event
from neuroveil.privacy.exact import exact
from neuroveil.privacy.labels import LabelPolicy
from neuroveil.privacy.mechanisms.contract import CodebookOptions, MechanismSpec
from neuroveil.privacy.plan import row_mechanism
from neuroveil.privacy.validate import check_delta_for, check_dimension
from neuroveil.types.budget import AccountingEvent
from neuroveil.types.catalogue import Column
from neuroveil.types.certificate import canonical_json, digest
from neuroveil.types.charge import ChargeRequest

TrustModel = Literal["local", "shuffled", "central"]

Dedup = Literal[
    "roster_key",
    "linked_pool", "linked_keep_longest", "linked_keep_newest", "linked_hospital_order",
    "linked_pool_undecided_together", "linked_keep_longest_undecided_together",
    "linked_keep_newest_undecided_together", "linked_hospital_order_undecided_together",
]  # fmt: skip

SET_BY_STUDY = "set by the study"
MEAN_COVARIANCE = "mean_covariance"


@dataclass(frozen=True)
class Projection:
    """Projection of scaled rows on a public basis, before they are bounded.

    Parameters
    ----------
    components : int
        Number m of public principal components that are kept.
    rule : str
        How that number was chosen, in words, from public information only.

    Raises
    ------
    ChainError
        If there is no component.
    """

    components: int
    rule: str = SET_BY_STUDY

    def __post_init__(self) -> None:
        check_dimension(self.components, "privacy.components")


@dataclass(frozen=True)
class Postprocessing:
    """What is made of released values by public rules, at no cost.

    Parameters
    ----------
    shrinkage : {"wiener", "james_stein", "none"}
        Wiener needs a public covariance, and is left out where there is none.
    inverse_scaling : bool
        Whether an estimate in feature units is written beside the protected table; always
        so for projected rows.
    clamp : float, optional
        Largest absolute value of the estimate on the scaled axis, in public spreads.
    """

    shrinkage: Literal["wiener", "james_stein", "none"] = "wiener"
    inverse_scaling: bool = True
    clamp: float | None = None


@dataclass(frozen=True)
class ProtectSettings:
    """Public settings of a release. There is no seed among them.

    Parameters
    ----------
    mechanism : str
        Name of the row mechanism, or ``"mean_covariance"``.
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
    trust_model : {"local", "shuffled", "central"}
        ``"shuffled"``: epsilon and delta hold towards everybody but the one who shuffles.
        ``"central"``: towards everybody but those who hold all rows; for mean_covariance, and
        for rows whose scaling constants were computed from all rows.
    projection : Projection, optional
        On the public basis of the reference; none for rows as they are.
    postprocessing : Postprocessing
        Public estimates beside the protected table.
    codebook : CodebookOptions
        For privunit.
    choice : str
        Who chose the mechanism and why, from public information only.
    delta_justification : str, optional
        Why delta is larger than min(1/n^2, 1e-5), in words.
    scaling_budget : ScalingBudget, optional
        What scaling constants from the cohort may spend, on top of rows and labels; none for
        constants that are not drawn.
    dedup : str
        How people who stand on the roster twice were found, and what became of their rows; see
        ``docs/certificate.md``.
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
    trust_model: TrustModel = "local"
    projection: Projection | None = None
    postprocessing: Postprocessing = field(default=Postprocessing())
    codebook: CodebookOptions = field(default=CodebookOptions())
    choice: str = SET_BY_STUDY
    delta_justification: str | None = None
    scaling_budget: ScalingBudget | None = None
    dedup: Dedup = "roster_key"

    def spec(self, dimension: int) -> MechanismSpec:
        """Give the specification of the row mechanism.

        Parameters
        ----------
        dimension : int
            Number d of feature columns.

        Returns
        -------
        MechanismSpec
            For :func:`~neuroveil.privacy.mechanisms.registry.make_mechanism`, for as many
            coordinates as are kept. In the shuffled model epsilon and delta are those of the
            batch, see :func:`~neuroveil.privacy.plan.row_mechanism`.

        Raises
        ------
        ChainError
            If more components are asked for than there are columns.
        """
        if self.projection is not None:
            if self.projection.components > dimension:
                raise ChainError(
                    "privacy.components", f"at most {dimension}, the number of columns",
                    f"{self.projection.components}", "Keep fewer components.",
                )  # fmt: skip
            dimension = self.projection.components
        return MechanismSpec(
            self.mechanism, self.epsilon, self.delta, self.clip_norm, self.norm, dimension,
            self.codebook,
        )  # fmt: skip

    @property
    def is_central(self) -> bool:
        """Whether statistics of all patients together are released, and no rows."""
        if self.mechanism == MEAN_COVARIANCE:
            return True
        return self.trust_model == "central" and self.scaling_budget is None

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
        """What rows, labels and scaling spend together, exact (basic composition)."""
        scaling = self.scaling_budget
        own = exact(scaling.epsilon) if scaling is not None else Fraction(0)
        return exact(self.epsilon) + self.epsilon_labels + own

    @property
    def delta_total(self) -> Fraction:
        """What rows and scaling spend together, exact (basic composition)."""
        scaling = self.scaling_budget
        own = exact(scaling.delta) if scaling is not None else Fraction(0)
        return exact(self.delta) + own


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
        If the mechanism cannot be calibrated, or does not support its epsilon, or delta is
        large for the roster and nobody says why, or scaling constants would be useless.
    """
    check_dimension(n_patients, "adjacency.n_roster")
    # First by itself: what is no number cannot be added up exactly.
    check_delta_for(n_patients, settings.delta, settings.delta_justification)
    check_delta_for(n_patients, float(settings.delta_total), settings.delta_justification)
    if settings.scaling_budget is not None:
        _check_scaling(settings, settings.scaling_budget, len(columns), n_patients)
    if settings.is_central:
        return _central_request(settings, columns, n_patients)
    mechanism, shuffled = row_mechanism(settings, len(columns), n_patients)
    guarantee = mechanism.guarantee
    if settings.mechanism == "paper_laplace" or not guarantee.holds:
        raise ChainError(
            "privacy.mechanism", "a mechanism that supports its epsilon",
            f"{settings.mechanism}, whose noise supports epsilon = "
            f"{guarantee.epsilon_supported:.4g} instead of {guarantee.epsilon:g}",
            "Release with privunit, gaussian or laplace; this one can only be simulated.",
        )  # fmt: skip
    rows = row_event(mechanism)
    if shuffled is not None:
        rows = AccountingEvent(settings.mechanism, exact(settings.epsilon), exact(settings.delta))
    labels = [
        AccountingEvent(policy.policy, exact(policy.epsilon), Fraction(0))
        for policy in settings.charged_labels
    ]
    return ChargeRequest(
        epsilon=settings.epsilon_total,
        delta=settings.delta_total,
        mechanism=settings.mechanism,
        n_patients=n_patients,
        dimension=len(columns),
        columns_digest=columns_digest(columns),
        events=(rows, *_scaling_events(settings), *labels),
    )


def _check_scaling(
    settings: ProtectSettings, budget: ScalingBudget, n_columns: int, n_patients: int
) -> None:
    """Constants from all rows need a curator, and replace public components."""
    if settings.trust_model != "central":
        raise ChainError(
            "privacy.trust_model", "central, since scaling constants come from all patients",
            settings.trust_model,
            "Whoever computes them sees all rows: set trust_model = 'central', or scale with a "
            "public reference.",
        )  # fmt: skip
    if settings.projection is not None:
        raise ChainError(
            "privacy.projection", "none, since constants come from the cohort", "a projection",
            "Public components go with public constants: set projection = 'none'.",
        )  # fmt: skip
    require_useful(budget.spec(n_columns, n_patients))


def _scaling_events(settings: ProtectSettings) -> tuple[AccountingEvent, ...]:
    return () if settings.scaling_budget is None else (settings.scaling_budget.event,)


def _central_request(
    settings: ProtectSettings, columns: Sequence[Column], n_patients: int
) -> ChargeRequest:
    """Ask for both moments as one event."""
    plan_moments(settings, len(columns), n_patients)  # refuses what cannot be released
    moments = AccountingEvent(settings.mechanism, exact(settings.epsilon), exact(settings.delta))
    return ChargeRequest(
        epsilon=settings.epsilon_total,
        delta=settings.delta_total,
        mechanism=settings.mechanism,
        n_patients=n_patients,
        dimension=len(columns),
        columns_digest=columns_digest(columns),
        events=(moments, *_scaling_events(settings)),
    )
