"""What an attack got right, beside what guessing would have got."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from neuroveil.errors import LinkageError


@dataclass(frozen=True)
class AttackOutcome:
    """Success of one attack on one list.

    Parameters
    ----------
    attack : str
        Its name.
    n_attacked : int
        Records, or pieces, that it tried to name.
    n_right : int
        How many it named right.
    chance : float
        Share that somebody would get right who has not seen the encodings.
    """

    attack: str
    n_attacked: int
    n_right: int
    chance: float

    @property
    def success(self) -> float:
        """Share that was named right; 0 where nothing could be attacked."""
        return self.n_right / self.n_attacked if self.n_attacked else 0.0

    def as_dict(self) -> dict[str, float | int | str]:
        """Give the outcome as plain data.

        Returns
        -------
        dict
            Attack, counts, success and chance.
        """
        return {
            "attack": self.attack, "attacked": self.n_attacked, "right": self.n_right,
            "success": round(self.success, 4), "chance": round(self.chance, 4),
        }  # fmt: skip


def best_blind_guess(truth: Sequence[Hashable]) -> float:
    """Give what always naming the commonest value gets right.

    Parameters
    ----------
    truth : sequence
        The value behind each encoding.

    Returns
    -------
    float
        Its share.
    """
    return Counter(truth).most_common(1)[0][1] / len(truth)


def require_same_people(n_encodings: int, n_values: int) -> None:
    """Refuse an attack whose truth does not belong to the encodings.

    Parameters
    ----------
    n_encodings, n_values : int
        Rows of the encodings, and of what stands behind them.

    Raises
    ------
    LinkageError
        If the numbers differ, or there is nothing to attack.
    """
    if n_encodings != n_values or n_encodings < 2:
        raise LinkageError(
            "attack", "at least two encodings, each with the value behind it",
            f"{n_encodings} encodings and {n_values} values", "Attack a list with its truth.",
        )  # fmt: skip
