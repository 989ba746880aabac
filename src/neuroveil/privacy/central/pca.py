"""A basis for rows, learnt under differential privacy from the rows themselves.

A part of the budget pays for a noisy second moment of all patients. Its leading directions then
stand in front of a row mechanism, which spends the rest: each patient's row is projected,
randomised in few columns, shrunk and brought back. Where a public basis fits the cohort it is
the better choice, because it costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from neuroveil.privacy.central.moment_spec import MomentSpec
from neuroveil.privacy.exact import exact
from neuroveil.privacy.mechanisms.contract import MechanismSpec


@dataclass(frozen=True)
class DpPca:
    """Public plan of a release of rows through a basis that is learnt from them.

    Parameters
    ----------
    mechanism : str
        Name of the row mechanism, of L2-clipped rows.
    epsilon_basis, delta_basis : float
        Budget of the second moment; ``delta_basis`` above 0.
    epsilon_rows, delta_rows : float
        Budget of the rows; ``delta_rows`` is 0 for mechanisms with a pure guarantee. Both
        budgets add up, because the rows are released after the basis (basic composition).
    clip_norm : float
        Largest L2 norm of a scaled row (no unit).
    shape : tuple of int
        Numbers n of patients and d of columns, public.
    """

    mechanism: str
    epsilon_basis: float
    delta_basis: float
    epsilon_rows: float
    delta_rows: float
    clip_norm: float
    shape: tuple[int, int]

    @property
    def spend(self) -> tuple[Fraction, Fraction]:
        """Epsilon and delta of basis and rows together, exact (basic composition)."""
        return (
            exact(self.epsilon_basis) + exact(self.epsilon_rows),
            exact(self.delta_basis) + exact(self.delta_rows),
        )

    @property
    def moment_spec(self) -> MomentSpec:
        """Release of the second moment that the basis comes from."""
        n_patients, dimension = self.shape
        return MomentSpec(
            self.epsilon_basis, self.delta_basis, self.clip_norm, dimension, n_patients, 0.0
        )

    def row_spec(self, rank: int) -> MechanismSpec:
        """Give the specification of the row mechanism behind the projection.

        Parameters
        ----------
        rank : int
            Number of directions.

        Returns
        -------
        MechanismSpec
            For the projected rows.
        """
        return MechanismSpec(
            self.mechanism, self.epsilon_rows, self.delta_rows, self.clip_norm, "l2", rank
        )
