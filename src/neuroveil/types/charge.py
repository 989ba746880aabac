"""A charge: budget that the ledger has already written down as spent."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from neuroveil.errors import BudgetError


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
    """

    epsilon: Fraction
    delta: Fraction
    mechanism: str
    n_patients: int
    dimension: int
    columns_digest: str


_SEAL = object()


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
        Number of earlier entries in the ledger.
    seal : object
        Known to the ledger only.

    Raises
    ------
    BudgetError
        If somebody other than the ledger tries to make one.
    """

    __slots__ = ("_consumed", "entry", "limit", "prior_releases", "request", "spent_before")

    def __init__(
        self,
        request: ChargeRequest,
        *,
        entry: int,
        limit: tuple[Fraction, Fraction],
        spent_before: tuple[Fraction, Fraction],
        prior_releases: int,
        seal: object,
    ) -> None:
        if seal is not _SEAL:
            raise BudgetError(
                "charge", "a charge made by the ledger", "one made by hand",
                "Reserve budget with Ledger.reserve; there is no way around the ledger.",
            )  # fmt: skip
        self.request = request
        self.entry = entry
        self.limit = limit
        self.spent_before = spent_before
        self.prior_releases = prior_releases
        self._consumed = False

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
        if self._consumed:
            raise BudgetError(
                "charge", "a fresh charge", "one that has already paid for a release",
                "Reserve again: every draw of noise is a new spend.",
            )  # fmt: skip
        if request != self.request:
            raise BudgetError(
                "charge", "a charge made for this very release",
                "one made for other parameters",
                "Reserve budget for the parameters of this release.",
            )  # fmt: skip
        self._consumed = True

    @property
    def is_consumed(self) -> bool:
        """Whether the charge has paid for a release."""
        return self._consumed

    def __reduce__(self) -> str:
        raise BudgetError(
            "charge", "use in the process that reserved it", "an attempt to copy or store it",
            "Reserve again where the release is made.",
        )  # fmt: skip
