"""Reserve budget: the one place where a charge is made."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from neuroveil.errors import BudgetError
from neuroveil.ledger.entries import GENESIS_HASH, Entry, check_chain, spend_entry
from neuroveil.ledger.limit import check_limit
from neuroveil.ledger.store import append, create_schema, open_engine, read_all, refused_clearly
from neuroveil.types.charge import _SEAL, Charge, ChargeRequest

Amount = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class LedgerState:
    """What stands in a ledger.

    Parameters
    ----------
    limit, spent : tuple of Fraction
        Epsilon and delta.
    entries : tuple of Entry
        The spends, oldest first.
    head : str
        Hash of the newest entry. Private: it changes with every spend.
    """

    limit: Amount
    spent: Amount
    entries: tuple[Entry, ...]
    head: str

    @property
    def remaining(self) -> Amount:
        """Epsilon and delta that are left."""
        return self.limit[0] - self.spent[0], self.limit[1] - self.spent[1]

    def allows(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Tell whether a spend would fit, without making it.

        Parameters
        ----------
        epsilon, delta : Fraction
            What would be spent.

        Returns
        -------
        bool
            True where both fit.
        """
        left = self.remaining
        return epsilon <= left[0] and delta <= left[1]


class Ledger:
    """The privacy budget of one set of patients, over all releases.

    Epsilons and deltas add up (basic composition), which is valid for every mechanism.

    Parameters
    ----------
    path : Path
        SQLite file of an existing ledger; make one with :meth:`create`.
    read_only : bool
        Open for looking only.

    Raises
    ------
    BudgetError
        If there is no ledger at the path.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        if not path.is_file():
            raise BudgetError(
                "ledger", "an existing ledger", "none",
                "Set a budget with `neuroveil ledger init`, or in [privacy.budget] of the study.",
            )  # fmt: skip
        self._engine = open_engine(path, "ro" if read_only else "rw")

    @classmethod
    def create(cls, path: Path, epsilon: Fraction, delta: Fraction) -> Ledger:
        """Start a ledger with its limit. The limit can never be changed.

        Parameters
        ----------
        path : Path
            Where the SQLite file goes; must not exist.
        epsilon, delta : Fraction
            What may be spent over all releases, exact.

        Returns
        -------
        Ledger
            The new ledger.

        Raises
        ------
        BudgetError
            If a ledger is there already, or the limit makes no sense.
        """
        check_limit(path, float(epsilon), float(delta))
        path.parent.mkdir(parents=True, exist_ok=True)
        # Built aside and renamed, so that a crash never leaves a ledger without a limit.
        draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        limit = Entry(
            number=0, kind="limit", epsilon=str(epsilon), delta=str(delta), mechanism="",
            n_patients=0, dimension=0, columns_digest="", created=_now(),
            nonce=secrets.token_hex(16), previous_hash=GENESIS_HASH,
        )  # fmt: skip
        with refused_clearly():
            engine = open_engine(draft, "rwc")
            create_schema(engine)
            with engine.begin() as connection:
                append(connection, limit)
            engine.dispose()
        _move_without_overwriting(draft, path)
        return cls(path)

    def reserve(self, request: ChargeRequest) -> Charge:
        """Spend budget, durably, before any noise is drawn.

        Parameters
        ----------
        request : ChargeRequest
            What the release will spend.

        Returns
        -------
        Charge
            Pays for exactly this release, once.

        Raises
        ------
        BudgetError
            If there is no room, or the ledger is damaged, locked, full or read-only.
        """
        if request.epsilon <= 0 or not 0 <= request.delta < 1:
            raise BudgetError(
                "charge", "epsilon above 0 and delta from 0 to below 1", "another amount",
                "Ask for a positive spend.",
            )  # fmt: skip
        with refused_clearly(), self._engine.begin() as connection:
            state = _state(check_chain(read_all(connection)))
            if not state.allows(request.epsilon, request.delta):
                raise _no_room(request, state)
            number = len(state.entries) + 1
            entry = spend_entry(request, number, state.head, _now(), secrets.token_hex(16))
            append(connection, entry)
        # Only now, with the commit flushed to disk, does a charge exist.
        return Charge(
            request, entry=entry.number, limit=state.limit, spent_before=state.spent,
            prior_releases=len(state.entries), seal=_SEAL,
        )  # fmt: skip

    def state(self) -> LedgerState:
        """Read and check the whole ledger.

        Returns
        -------
        LedgerState
            Limit, spends and what is left.

        Raises
        ------
        BudgetError
            If the ledger was tampered with or cannot be read.
        """
        with refused_clearly(), self._engine.connect() as connection:
            return _state(check_chain(read_all(connection)))


def _state(entries: list[Entry]) -> LedgerState:
    limit, *spends = entries
    amounts = [entry.amount for entry in spends]
    spent = (
        sum((epsilon for epsilon, _ in amounts), Fraction()),
        sum((delta for _, delta in amounts), Fraction()),
    )
    return LedgerState(limit.amount, spent, tuple(spends), entries[-1].hash)


def _no_room(request: ChargeRequest, state: LedgerState) -> BudgetError:
    epsilon, delta = state.remaining
    return BudgetError(
        "budget", f"room for epsilon = {float(request.epsilon):g}, delta = "
        f"{float(request.delta):g}", f"epsilon = {float(epsilon):g}, delta = {float(delta):g} left",
        "Nothing was released. Ask for less, or stop: the limit protects these patients.",
    )  # fmt: skip


def _move_without_overwriting(draft: Path, path: Path) -> None:
    """Publish the finished file; a ledger that appeared meanwhile wins."""
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        raise BudgetError(
            "ledger", "no file yet", "one that another process has just made",
            "Use the existing ledger.",
        ) from None  # fmt: skip
    except OSError:  # a file system without hard links
        draft.rename(path)
    finally:
        for leftover in path.parent.glob(f"{draft.name}*"):
            leftover.unlink(missing_ok=True)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
