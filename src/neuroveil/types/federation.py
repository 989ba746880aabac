"""What a federated training gave, for pages and commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from neuroveil.types.audit import AttackResult
from neuroveil.types.downstream import Figure


@dataclass(frozen=True)
class Judged:
    """What a model does for patients who did not train it.

    Parameters
    ----------
    n_positive, n_negative : int
        Patients of both classes.
    balanced_accuracy, auc : Figure or None
        With 95 % intervals over patients; none where a class has nobody.
    loss : float
        Mean logistic loss (nat).
    """

    n_positive: int
    n_negative: int
    balanced_accuracy: Figure | None
    auc: Figure | None
    loss: float

    def to_json(self) -> dict[str, Any]:
        """Give the figures as plain data.

        Returns
        -------
        dict
            One entry a field.
        """
        return asdict(self)


@dataclass(frozen=True)
class FederationResult:
    """A finished training, with everything that a page shows.

    Parameters
    ----------
    chain : mapping
        The chain document: guarantee, links, rounds, model, plan.
    hospitals : mapping of str to Judged
        Figures on each hospital's own patients who judge, where they may be known.
    pooled : Judged or None
        On all of them together.
    audits : tuple of AttackResult
        Membership attacks on the model and on an update; internal.
    """

    chain: Mapping[str, Any]
    hospitals: Mapping[str, Judged]
    pooled: Judged | None
    audits: tuple[AttackResult, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Give everything as plain data.

        Returns
        -------
        dict
            Keys ``private``, ``chain``, ``hospitals``, ``pooled`` and ``audits``.
        """
        return {
            "private": bool(self.chain["private"]),
            "chain": dict(self.chain),
            "hospitals": {name: each.to_json() for name, each in self.hospitals.items()},
            "pooled": None if self.pooled is None else self.pooled.to_json(),
            "audits": [each.to_json() for each in self.audits],
        }
