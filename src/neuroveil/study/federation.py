"""``[federation]``: one model that hospitals train together; rows stay where they are."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, Strict

from neuroveil.errors import StudyMistake
from neuroveil.study.promise import Components
from neuroveil.study.section import PositiveFloat, Section, Text

Setting = Literal["local_features", "dp_sgd", "distributed", "none"]

# Far above any use, and low enough that nothing overflows after the budget has been charged.
_Count = Annotated[int, Field(ge=1, le=1_000_000)]
_CountFromZero = Annotated[int, Field(ge=0, le=1_000_000)]
_Seconds = Annotated[float, Field(gt=0, le=30 * 86_400, allow_inf_nan=False)]
_Size = Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]
_Rate = Annotated[float, Field(ge=1e-4, le=1, allow_inf_nan=False)]
_Share = Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)]
_NotNegative = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]


class HospitalSettings(Section):
    """One hospital: its public name, its number of patients, and for simulations its study."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
    patients: _Count
    study: Text | None = None


class FederationSettings(Section):
    """Who trains what, in how many rounds, and where privacy enters.

    ``patients`` counts those who train. Numbers of patients are public. Everything here is
    agreed on before the first round and is the same at all hospitals. ``separation`` says how far
    apart the classes of made-up patients are, in standard deviations.
    """

    setting: Setting = "dp_sgd"
    simulation: bool = False
    seed: Annotated[int, Field(ge=0)] | None = None
    hospitals: Annotated[tuple[HospitalSettings, ...], Strict(False)] = ()
    model: Literal["logistic", "mlp"] = "logistic"
    hidden: _Count = 16
    components: Components = None
    rounds: _Count = 4
    retries: _CountFromZero = 0
    local_steps: _Count = 1
    learning_rate: _Size = 1.0
    penalty: _NotNegative = 0.05
    proximal: _NotNegative = 0.0
    aggregation: Literal["mean", "median", "trimmed_mean"] = "mean"
    trimmed: _Count = 1
    sampling_rate: _Rate = 1.0
    gradient_norm: PositiveFloat | None = None
    minimum_hospitals: Annotated[int, Field(ge=2)] = 3
    max_dropouts: _CountFromZero = 1
    max_colluding: _CountFromZero = 1
    secure_aggregation: bool = False
    stopping: Literal["fixed_rounds", "validation"] = "fixed_rounds"
    test_share: _Share | None = None
    separation: _Size = 2.0
    enrol_seconds: _Seconds = 600.0
    round_seconds: _Seconds = 300.0

    def mistakes(self) -> list[StudyMistake]:
        """List violated rules that involve more than one field.

        Returns
        -------
        list of StudyMistake
            Empty where the section is consistent.
        """
        found = self._hospital_mistakes()
        if self.setting == "none" and not self.simulation:
            found.append(StudyMistake(
                "federation.setting", "a setting with a guarantee, or simulation = true",
                "'none'",
                "Without protection, updates give patients away: choose local_features, dp_sgd or "
                "distributed, or mark the study as a simulation.",
            ))  # fmt: skip
        if self.seed is not None and not self.simulation:
            found.append(StudyMistake(
                "federation.seed", "nothing, since simulation = false", "a seed",
                "Noise that can be repeated protects nobody: seeds belong to simulations.",
            ))  # fmt: skip
        if self.stopping == "validation" and self.setting in ("dp_sgd", "distributed"):
            found.append(StudyMistake(
                "federation.stopping", f"'fixed_rounds', since setting = {self.setting!r}",
                "'validation'",
                "A choice by private validation rows would have to be charged: fix the rounds.",
            ))  # fmt: skip
        return found + self._summing_mistakes()

    def _hospital_mistakes(self) -> list[StudyMistake]:
        found, names = [], [hospital.name for hospital in self.hospitals]
        if len(set(names)) != len(names):
            found.append(StudyMistake(
                "federation.hospitals", "each hospital once", "a name that stands twice",
                "Give every hospital a name of its own.",
            ))  # fmt: skip
        if len(names) == 1:
            found.append(StudyMistake(
                "federation.hospitals", "at least two hospitals", "one",
                "A hospital that is alone needs no federation: list the others.",
            ))  # fmt: skip
        elif self.hospitals and len(names) < self.minimum_hospitals:
            found.append(StudyMistake(
                "federation.minimum_hospitals", f"at most {len(names)}, the number of hospitals",
                f"{self.minimum_hospitals}", "List more hospitals, or lower the minimum.",
            ))  # fmt: skip
        return found

    def _summing_mistakes(self) -> list[StudyMistake]:
        """Rules about how updates come together."""
        found, sums_only = [], self.setting == "distributed" or self.secure_aggregation
        if sums_only and self.aggregation != "mean":
            found.append(StudyMistake(
                "federation.aggregation", "'mean', since only sums of updates are seen",
                f"{self.aggregation!r}",
                "Medians need every hospital's update in the clear: choose one of the two.",
            ))  # fmt: skip
        if self.aggregation == "trimmed_mean" and 2 * self.trimmed >= self.minimum_hospitals:
            found.append(StudyMistake(
                "federation.trimmed", "fewer than half of minimum_hospitals at either end",
                f"{self.trimmed}", "Trim fewer, or ask for more hospitals.",
            ))  # fmt: skip
        n, apart = len(self.hospitals), self.max_dropouts + self.max_colluding
        if sums_only and n and 2 * (n - self.max_dropouts) <= n + self.max_colluding:
            found.append(StudyMistake(
                "federation.max_dropouts",
                "so few that those who stay are more than half of all and of those who collude",
                f"{self.max_dropouts} of {n} with {self.max_colluding} colluding",
                "Otherwise masks could be opened for two different groups: lower either number.",
            ))  # fmt: skip
        if self.setting == "distributed" and n and apart >= n:
            found.append(StudyMistake(
                "federation.max_colluding", f"fewer than {n} with those that may drop out",
                f"{apart}", "Somebody must be left whose noise counts.",
            ))  # fmt: skip
        if self.setting == "distributed" and self.local_steps != 1:
            found.append(StudyMistake(
                "federation.local_steps", "1, since setting = 'distributed'",
                f"{self.local_steps}",
                "One sum of clipped gradients is protected a round; ask for more rounds.",
            ))  # fmt: skip
        if self.setting == "distributed" and self.sampling_rate != 1:
            found.append(StudyMistake(
                "federation.sampling_rate", "1, since setting = 'distributed'",
                f"{self.sampling_rate:g}", "Every patient enters every sum.",
            ))  # fmt: skip
        return found
