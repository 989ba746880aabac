"""What a made-up cohort should look like."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from neuroveil.errors import StudyError, StudyMistake
from neuroveil.types.certificate import canonical_json, digest

MAX_PATIENTS = 9999
"""Subject labels have four digits at most."""

SHORTEST_SESSION_SECONDS = 10.0
LOWEST_SAMPLING_RATE_HZ = 200
"""Below this the mains frequency and its surroundings would not fit."""


@dataclass(frozen=True)
class CohortSpec:
    """Size and make-up of a simulated cohort.

    The same specification gives the same cohort, and the first patients of a larger cohort
    with the same seed are the same people.

    Parameters
    ----------
    n_patients : int
        Number of patients, 1 to 9999.
    n_hospitals : int
        Number of hospitals that they are spread over, at most ``n_patients``.
    n_sessions : int
        Recordings a patient.
    seconds : float
        Typical length of a recording, in seconds; each differs from it by up to a tenth.
    sampling_rates : tuple of int
        Sampling rates in Hz that the hospitals' devices use, in whole hertz.
    epilepsy_share : float
        Share of patients with the diagnosis ``epilepsy``, from 0 to 1.
    line_frequency : float
        Mains frequency in Hz, 50 or 60.
    n_in_two_hospitals : int
        How many of the patients are the first ones again, seen at the last hospital under
        another key: the last rows of the roster. At most half of the patients, and none with
        one hospital.
    seed : int
        Seed of the whole cohort, not negative. Allowed because nobody in it exists.

    Raises
    ------
    StudyError
        If a value is out of range; all such mistakes are reported together.
    """

    n_patients: int = 24
    n_hospitals: int = 2
    n_sessions: int = 2
    seconds: float = 60.0
    sampling_rates: tuple[int, ...] = (250, 256, 500)
    epilepsy_share: float = 0.5
    line_frequency: float = 50.0
    n_in_two_hospitals: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        mistakes = [
            StudyMistake(
                f"simulate.{name}", expected, repr(getattr(self, name)), "Change this setting."
            )
            for name, expected, holds in self._rules()
            if not holds
        ]
        if mistakes:
            raise StudyError(mistakes)

    def _rules(self) -> list[tuple[str, str, bool]]:
        rates = self.sampling_rates
        return [
            (
                "n_patients",
                f"a whole number from 1 to {MAX_PATIENTS}",
                _is_whole(self.n_patients, 1, MAX_PATIENTS),
            ),
            (
                "n_hospitals",
                "a whole number from 1 to the number of patients",
                _is_whole(self.n_hospitals, 1, self.n_patients),
            ),
            ("n_sessions", "a whole number from 1 to 99", _is_whole(self.n_sessions, 1, 99)),
            (
                "seconds",
                f"a length from {SHORTEST_SESSION_SECONDS:g} to 86400 seconds",
                _is_between(self.seconds, SHORTEST_SESSION_SECONDS, 86400.0),
            ),
            (
                "sampling_rates",
                f"one or more whole numbers from {LOWEST_SAMPLING_RATE_HZ} to 5000 Hz",
                isinstance(rates, tuple)
                and len(rates) > 0
                and all(_is_whole(rate, LOWEST_SAMPLING_RATE_HZ, 5000) for rate in rates),
            ),
            ("epilepsy_share", "a share from 0 to 1", _is_between(self.epilepsy_share, 0.0, 1.0)),
            (
                "n_in_two_hospitals",
                "a whole number from 0 to the patients of the last of several hospitals",
                self._fit_into_the_last_hospital(),
            ),
            ("line_frequency", "50 or 60 Hz", self.line_frequency in (50, 60)),
            ("seed", "a whole number that is not negative", _is_whole(self.seed, 0, 2**63)),
        ]

    def _fit_into_the_last_hospital(self) -> bool:
        """Whether so many can be in two hospitals; any number may, where the others are wrong."""
        if not _is_whole(self.n_patients, 1, MAX_PATIENTS):
            return True
        if not _is_whole(self.n_hospitals, 1, self.n_patients):
            return True
        most = self.n_patients // self.n_hospitals if self.n_hospitals > 1 else 0
        return _is_whole(self.n_in_two_hospitals, 0, most)

    @property
    def digest(self) -> str:
        """SHA-256 over all settings, as ``sha256:<hex>``."""
        return digest(canonical_json(asdict(self)))


def _is_whole(value: object, low: int, high: object) -> bool:
    return (
        isinstance(value, int)
        and not isinstance(value, bool)
        and isinstance(high, int)
        and low <= value <= high
    )


def _is_between(value: object, low: float, high: float) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and math.isfinite(value)
        and low <= value <= high
    )
