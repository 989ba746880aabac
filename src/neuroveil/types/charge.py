"""A charge: budget that the ledger has already written down as spent."""

from __future__ import annotations

import hashlib
import os
import threading
from dataclasses import dataclass, field
from fractions import Fraction

from neuroveil.errors import BudgetError
from neuroveil.types.budget import (
    SITE,
    AccountingEvent,
    Amount,
    BudgetStanding,
    HeadCommitment,
    Scope,
)


@dataclass(frozen=True)
class ChargeRequest:
    """What a release is about to spend.

    Parameters
    ----------
    epsilon : Fraction
        Total epsilon of the release (rows and labels together), exact.
    delta : Fraction
        Total delta of the release, exact.
    mechanism : str
        Name of the row mechanism.
    n_patients : int
        Roster size.
    dimension : int
        Number of released columns.
    columns_digest : str
        Digest of the released column names (public).
    events : tuple of AccountingEvent
        The parts of the release; they add up to ``epsilon`` and ``delta``. None: the ledger
        takes the release for one event about which nothing else is known.
    scopes : tuple of Scope
        Studies that the release belongs to. It is always charged against the site, and
        against every set of patients that its roster touches. Says where a charge is
        booked and not what it pays for, so it plays no part in comparisons.
    patients : tuple of str
        Keyed digests of the roster's keys, one a patient; none where they are not known.
        Private. Plays no part in comparisons.
    """

    epsilon: Fraction
    delta: Fraction
    mechanism: str
    n_patients: int
    dimension: int
    columns_digest: str
    events: tuple[AccountingEvent, ...] = ()
    scopes: tuple[Scope, ...] = field(default=(), compare=False)
    patients: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @property
    def parts(self) -> tuple[AccountingEvent, ...]:
        """The events, or one that stands for the whole release."""
        return self.events or (AccountingEvent(self.mechanism, self.epsilon, self.delta),)


_SEAL = object()
_CONSUMING = threading.Lock()


class Charge:
    """Proof that the ledger has written a spend. Only the ledger can make one.

    A charge pays for one release: :meth:`consume` works once. After a crash the budget
    stays spent; the next run needs a new charge.

    Parameters
    ----------
    request : ChargeRequest
        What was charged for.
    entry : int
        Number of the ledger entry.
    limit, spent_before : tuple of Fraction
        Budget and what was spent before this charge, each as (epsilon, delta).
    prior_releases : int
        Number of earlier spends that count.
    seal : object
        Known to the ledger only.

    Raises
    ------
    BudgetError
        If somebody other than the ledger tries to make one.
    """

    __slots__ = (
        "_consumed", "_process", "_released", "commitment", "entry", "request", "standing",
    )  # fmt: skip

    def __init__(
        self,
        request: ChargeRequest,
        *,
        entry: int,
        limit: Amount,
        spent_before: Amount,
        prior_releases: int,
        seal: object,
    ) -> None:
        if seal is not _SEAL:
            raise BudgetError(
                "charge", "a charge made by the ledger", "one made by hand",
                "Reserve budget with Ledger.reserve; there is no way around the ledger.",
            )  # fmt: skip
        after = (spent_before[0] + request.epsilon, spent_before[1] + request.delta)
        self.request = request
        self.entry = entry
        self.standing = BudgetStanding(SITE, "basic", limit, spent_before, after, prior_releases)
        self.commitment: HeadCommitment | None = None
        self._consumed = False
        self._process = os.getpid()
        self._released: bytes | None = None

    @classmethod
    def in_ledger(
        cls,
        request: ChargeRequest,
        standing: BudgetStanding,
        commitment: HeadCommitment,
        seal: object,
    ) -> Charge:
        """Make a charge with everything that the ledger knows about it.

        Parameters
        ----------
        request : ChargeRequest
            What was charged for.
        standing : BudgetStanding
            Where it stands in the limit that leaves the least room.
        commitment : HeadCommitment
            To the entry that was written.
        seal : object
            Known to the ledger only.

        Returns
        -------
        Charge
            Pays for exactly this release, once.

        Raises
        ------
        BudgetError
            If somebody other than the ledger tries to make one.
        """
        charge = cls(
            request, entry=commitment.number, limit=standing.limit,
            spent_before=standing.spent_before, prior_releases=standing.prior_releases, seal=seal,
        )  # fmt: skip
        charge.standing = standing
        charge.commitment = commitment
        return charge

    @property
    def limit(self) -> Amount:
        """Epsilon and delta that may be spent."""
        return self.standing.limit

    @property
    def spent_before(self) -> Amount:
        """Epsilon and delta that were spent before this charge."""
        return self.standing.spent_before

    @property
    def prior_releases(self) -> int:
        """Number of earlier spends that count."""
        return self.standing.prior_releases

    def consume(self, request: ChargeRequest) -> None:
        """Use the charge up for the release that it was made for.

        Parameters
        ----------
        request : ChargeRequest
            What the release really is; must equal what was charged.

        Raises
        ------
        BudgetError
            If the charge was used before, or was made for something else.
        """
        if self._process != os.getpid():
            raise BudgetError(
                "charge", "use in the process that reserved it", "use in another one",
                "Reserve again where the release is made.",
            )  # fmt: skip
        if request != self.request:
            raise BudgetError(
                "charge", "a charge made for this very release",
                "one made for other parameters",
                "Reserve budget for the parameters of this release.",
            )  # fmt: skip
        with _CONSUMING:
            first, self._consumed = not self._consumed, True
        if not first:
            raise BudgetError(
                "charge", "a fresh charge", "one that has already paid for a release",
                "Reserve again: every draw of noise is a new spend.",
            )  # fmt: skip

    def bind(self, released: bytes) -> None:
        """Tie the charge to the one draw that it has paid for.

        Parameters
        ----------
        released : bytes
            The released values.

        Raises
        ------
        BudgetError
            If the charge has not paid yet, or is tied to another draw.
        """
        with _CONSUMING:
            if not self._consumed or self._released is not None:
                raise BudgetError(
                    "charge", "one draw for one charge", "another draw",
                    "Reserve again: every draw of noise is a new spend.",
                )  # fmt: skip
            self._released = hashlib.sha256(released).digest()

    def paid_for(self, released: bytes) -> bool:
        """Tell whether these are the values that the charge has paid for.

        Parameters
        ----------
        released : bytes
            Values that want to be a release.

        Returns
        -------
        bool
            False for any other values, and before :meth:`bind`.
        """
        return self._released == hashlib.sha256(released).digest()

    @property
    def is_consumed(self) -> bool:
        """Whether the charge has paid for a release."""
        return self._consumed

    def __reduce__(self) -> str:
        raise BudgetError(
            "charge", "use in the process that reserved it", "an attempt to copy or store it",
            "Reserve again where the release is made.",
        )  # fmt: skip
