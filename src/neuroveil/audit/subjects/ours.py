"""A row mechanism of this package under audit, with the randomness of a real release."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from neuroveil.audit.mechanism.laws import AdditiveLaw, CodewordLaw
from neuroveil.audit.subject import ReleaseLaw, SubjectFacts
from neuroveil.errors import ChainError
from neuroveil.privacy.bounds import IntArray
from neuroveil.privacy.codebook.messages import pick
from neuroveil.privacy.mechanisms.additive import AdditiveMechanism
from neuroveil.privacy.mechanisms.contract import Draws, MechanismSpec, RowMechanism
from neuroveil.privacy.mechanisms.privunit import PrivUnit
from neuroveil.privacy.mechanisms.registry import make_mechanism
from neuroveil.privacy.randomness import RandomSource, SimulationRandomness
from neuroveil.privacy.sampling import SystemRandomness
from neuroveil.types.codewords import Messages
from neuroveil.types.recording import FloatArray

_TRIALS_AT_ONCE = 4096


@dataclass(frozen=True)
class OurMechanism:
    """A calibrated mechanism of this package, audited as it stands.

    Parameters
    ----------
    mechanism : RowMechanism
        Calibrated, with its codebook where it has one.
    simulated : bool
        Whether noise is repeatable and drawn by numpy: fit for replay, not for statements
        about the sampler of a release.
    """

    mechanism: RowMechanism
    simulated: bool = False

    @property
    def facts(self) -> SubjectFacts:
        """What the mechanism claims for a row."""
        spec = self.mechanism.spec
        return SubjectFacts(
            name=spec.name,
            epsilon=spec.epsilon,
            delta=spec.delta,
            dimension=spec.dimension,
            clip_norm=spec.clip_norm,
            norm=spec.norm,
            law=law_of(self.mechanism),
            repeatable=self.simulated,
        )

    def run(self, rows: FloatArray, n_trials: int, seed: int | None) -> FloatArray:
        """Bound and randomise one table several times.

        Parameters
        ----------
        rows : ndarray of float64, shape (n_rows, dimension)
            Scaled rows (no unit), finite; clipped here, as in a release.
        n_trials : int
            How many releases.
        seed : int, optional
            For a simulated subject; none for the operating system's randomness.

        Returns
        -------
        ndarray of float64, shape (n_trials, n_rows * dimension)
            One flattened release a trial.

        Raises
        ------
        ChainError
            If a seed is given where there is none to take, or none where one is needed.
        """
        if (seed is not None) != self.simulated:
            raise ChainError(
                "seed", "one for a simulated subject, and none for a real one",
                "none" if seed is None else "one", "A release has no seed: audit it without.",
            )  # fmt: skip
        source: RandomSource = SystemRandomness() if seed is None else SimulationRandomness(seed)
        rows_int = self.mechanism.bound(rows)
        draws = self.mechanism.draw(n_trials * len(rows_int), source)
        return apply_often(self.mechanism, rows_int, draws).reshape(n_trials, -1)


def apply_often(mechanism: RowMechanism, rows_int: IntArray, draws: Draws) -> FloatArray:
    """Randomise one table several times, as ``apply`` does on copies of it.

    Where rows share a codebook, each row's close codewords are looked up once for all trials;
    the values are those of ``apply``, bit by bit.

    Parameters
    ----------
    mechanism : RowMechanism
        Calibrated.
    rows_int : ndarray of int64, shape (n_rows, dimension)
        One bounded table, in units of the grid.
    draws : Draws
        For every row of every trial, trial after trial.

    Returns
    -------
    ndarray of float64, shape (n_trials * n_rows, dimension)
        Released rows on the scaled axis (no unit).
    """
    n_rows = len(rows_int)
    n_trials = len(draws.integers) // n_rows
    if not isinstance(mechanism, PrivUnit) or mechanism.codebook_seed is None:
        return mechanism.apply(np.tile(rows_int, (n_trials, 1)), draws)
    seed = mechanism.codebook_seed
    numbers = np.empty(n_trials * n_rows, dtype=np.int64)
    for row, close in enumerate(mechanism.close_sets(mechanism.lift(rows_int), seed)):
        for start in range(row, len(numbers), n_rows * _TRIALS_AT_ONCE):
            these = slice(start, start + n_rows * _TRIALS_AT_ONCE, n_rows)
            drawn = draws.integers[these]
            sets = np.broadcast_to(close, (len(drawn), len(close)))
            numbers[these] = pick(sets, drawn[:, 0], drawn[:, 1])
    return mechanism.decode(Messages(numbers, (seed,) * len(numbers)))


def our_mechanism(spec: MechanismSpec, *, simulated: bool = False) -> OurMechanism:
    """Calibrate a mechanism for an audit, with a codebook of its own where it has one.

    Parameters
    ----------
    spec : MechanismSpec
        Public specification.
    simulated : bool
        Whether noise is repeatable.

    Returns
    -------
    OurMechanism
        The subject.

    Raises
    ------
    ChainError
        If the mechanism cannot be calibrated.
    """
    return OurMechanism(make_mechanism(spec).renewed(SystemRandomness()), simulated)


def at_dimension(spec: MechanismSpec, dimension: int) -> MechanismSpec:
    """Give the same mechanism for another number of columns.

    Exact samplers are slow, and what tells two rows apart lies along one direction: millions of
    trials need few columns.

    Parameters
    ----------
    spec : MechanismSpec
        Public specification.
    dimension : int
        Number of columns.

    Returns
    -------
    MechanismSpec
        With that dimension.
    """
    return replace(spec, dimension=dimension)


def law_of(mechanism: RowMechanism) -> ReleaseLaw | None:
    """Say which law a mechanism's noise is meant to follow.

    Parameters
    ----------
    mechanism : RowMechanism
        Calibrated.

    Returns
    -------
    ReleaseLaw or None
        None where every row has a codebook of its own.
    """
    if isinstance(mechanism, PrivUnit):
        return None if mechanism.codebook_seed is None else CodewordLaw(mechanism)
    if isinstance(mechanism, AdditiveMechanism):
        is_gaussian = mechanism.distribution == "discrete_gaussian"
        return AdditiveLaw("gaussian" if is_gaussian else "laplace", mechanism.noise_scale)
    return None
