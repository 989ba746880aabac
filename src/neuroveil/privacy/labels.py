"""Labels beside protected rows: randomised response under the same budget, or as they are.

Every category is public and fixed by the study. A label comes out of the draw with a
probability that takes only two values, as a ratio of whole numbers; the ratio of the two
is rounded down from a proven lower bound of e^epsilon, so it never exceeds e^epsilon.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from neuroveil.errors import ChainError
from neuroveil.privacy.exact import exact_down, exp_down
from neuroveil.privacy.randomness import RandomSource
from neuroveil.privacy.validate import check_epsilon
from neuroveil.types.table import FeatureTable

_WEIGHT_BITS = 32
_OTHER_WEIGHT = 1 << _WEIGHT_BITS


@dataclass(frozen=True)
class LabelPolicy:
    """What happens to one label column.

    Parameters
    ----------
    name : str
        Column of the roster.
    policy : {"randomised_response", "unprotected"}
        Randomised under the budget, or released as it is.
    categories : tuple of str
        All values that may come out, public; for randomised response at least two. A value
        that is not among them counts as unknown.
    epsilon : float
        What randomised response spends; 0 for unprotected labels.

    Raises
    ------
    ChainError
        If categories or epsilon do not fit the policy.
    """

    name: str
    policy: Literal["randomised_response", "unprotected"]
    categories: tuple[str, ...] = ()
    epsilon: float = 0.0

    def __post_init__(self) -> None:
        where = f"labels.{self.name}"
        if self.policy not in ("randomised_response", "unprotected"):
            raise ChainError(
                where, "randomised_response or unprotected", f"{self.policy!r}",
                "Leave the column out, or choose one of these policies.",
            )  # fmt: skip
        if self.policy == "unprotected":
            if self.epsilon != 0:
                raise ChainError(
                    f"{where}.epsilon", "0 for an unprotected label", f"{self.epsilon!r}",
                    "Unprotected labels are outside the guarantee; no epsilon covers them.",
                )  # fmt: skip
            return
        check_epsilon(self.epsilon, f"{where}.epsilon")
        if len(self.categories) < 2 or len(set(self.categories)) != len(self.categories):
            raise ChainError(
                f"{where}.categories", "at least two different categories",
                f"{len(self.categories)} of which {len(set(self.categories))} differ",
                "List every possible value once.",
            )  # fmt: skip

    @property
    def is_charged(self) -> bool:
        """Whether the column spends budget."""
        return self.policy == "randomised_response"


def check_labels(policies: Sequence[LabelPolicy], table: FeatureTable) -> None:
    """Refuse label columns that are listed twice or that the table does not have.

    Parameters
    ----------
    policies : sequence of LabelPolicy
        What the study says.
    table : FeatureTable
        The private table.

    Raises
    ------
    ChainError
        If a column stands twice or is absent.
    """
    names = [policy.name for policy in policies]
    if len(set(names)) != len(names):
        raise ChainError(
            "labels", "every column once", "a column that is listed twice",
            "Each release of a label is a spend of its own; list it once.",
        )  # fmt: skip
    for name in names:
        if name not in table.attributes:
            raise ChainError(
                f"labels.{name}", "a column of the roster", "none of that name",
                "Correct the name, or add the column to the roster.",
            )  # fmt: skip


def keep_weight(epsilon: float) -> int:
    """Give the weight of the true category, where every other one has weight 2^32.

    Parameters
    ----------
    epsilon : float
        Epsilon of the label.

    Returns
    -------
    int
        At most e^epsilon 2^32, so that the ratio of weights is at most e^epsilon.
    """
    return exp_down(exact_down(epsilon), _WEIGHT_BITS)


def randomise(values: Sequence[str], policy: LabelPolicy, source: RandomSource) -> tuple[str, ...]:
    """Draw k-ary randomised response for a label column.

    The true category has weight w <= e^epsilon 2^32 and each of the others 2^32. An unknown
    value gives a uniform category: 1/k lies between the two probabilities that a known
    value gives, so the ratio stays within e^epsilon.

    Parameters
    ----------
    values : sequence of str
        One private value a patient.
    policy : LabelPolicy
        Categories and epsilon.
    source : RandomSource
        Where the randomness comes from.

    Returns
    -------
    tuple of str
        One category a patient, in the same order.

    References
    ----------
    Warner 1965; Kairouz, Oh and Viswanath 2016 for k categories.
    """
    weight = keep_weight(policy.epsilon)
    return tuple(_respond(value, policy.categories, weight, source) for value in values)


def _respond(value: str, categories: tuple[str, ...], weight: int, source: RandomSource) -> str:
    if value not in categories:
        return categories[source.below(len(categories))]
    draw = source.below(weight + (len(categories) - 1) * _OTHER_WEIGHT)
    others = [category for category in categories if category != value]
    return value if draw < weight else others[(draw - weight) // _OTHER_WEIGHT]
