"""A lower bound of epsilon of the real step, measured by an attacker who knows all but one bit.

Every patient lies in a direction of its own and has a gradient far beyond the clipping norm, which
the label turns round: the worst pair of neighbours, C and -C. What is seen in a direction depends
on one patient and on noise of its own, so one training gives as many trials as there are patients.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from neuroveil.audit.mechanism.estimators import epsilon_bounds
from neuroveil.deploy.federated.hospital import Hospital, Part
from neuroveil.deploy.federated.local import train_locally
from neuroveil.deploy.federated.models import initial_arrays
from neuroveil.deploy.federated.noise import noise_terms
from neuroveil.deploy.federated.specs import InputSpec

pytestmark = pytest.mark.slow

CLAIM, DELTA, LEVEL = 2.0, 1e-5, 0.999
N_PATIENTS, STEPS, LEARNING_RATE = 200, 2, 1e-3


@pytest.fixture
def observe(make_plan, tmp_path):
    """Trains many times; gives what is seen of patients of either class, in clipping norms."""

    def run(sampling_rate: float, trainings: int, too_little: float = 1.0):
        plan = make_plan(
            "dp_sgd", sizes=(N_PATIENTS,), minimum_hospitals=1, epsilon=CLAIM, rounds=1,
            penalty=0.0, local_steps=STEPS, learning_rate=LEARNING_RATE,
            sampling_rate=sampling_rate,
            inputs=InputSpec("sha256:columns", "reference", N_PATIENTS),
        )  # fmt: skip
        noise = noise_terms(plan)
        weak = replace(noise, noise_std=noise.noise_std / too_little,
                       share_std=noise.share_std / too_little)  # fmt: skip
        hospital, start = Hospital(tmp_path, "h0", plan, weak), initial_arrays(plan)
        seen: dict[bool, list[np.ndarray]] = {True: [], False: []}
        for number in range(1, trainings + 1):  # each number has noise of its own, from the seed
            labels = np.arange(N_PATIENTS) % 2 == number % 2
            part = Part(40.0 * np.eye(N_PATIENTS), labels)
            (moved,) = train_locally(hospital, start, number, part)["0.weight"]
            for side, values in seen.items():
                values.append(moved[labels == side] / LEARNING_RATE)
        return np.concatenate(seen[True]), np.concatenate(seen[False])

    return run


def lower_bound(positive: np.ndarray, negative: np.ndarray) -> float:
    """Choose a threshold on one half of the trials, and certify it on the other."""
    half = positive.size // 2
    thresholds = np.quantile(np.r_[positive[:half], negative[:half]], np.linspace(0.5, 0.999, 60))

    def bounds(rows: slice, at: np.ndarray) -> np.ndarray:
        counts = [(each[rows, None] >= at).sum(0).astype(float) for each in (positive, negative)]
        return epsilon_bounds(*counts, half, DELTA, LEVEL)

    best = thresholds[[int(bounds(slice(half), thresholds).argmax())]]
    return float(bounds(slice(half, 2 * half), best)[0])


@pytest.mark.parametrize("sampling_rate", [1.0, 0.5])
def test_the_step_keeps_its_promise_and_the_attack_has_power(observe, sampling_rate) -> None:
    """Seeded, so the same each time; over seeds a sound step would be accused once in 2000."""
    positive, negative = observe(sampling_rate, 100)
    # Both steps of everybody who is drawn arrive clipped, and nothing else does.
    expected = STEPS / N_PATIENTS  # summed over steps, divided by q n; drawn with probability q
    assert positive.mean() == pytest.approx(expected, rel=0.15)
    assert negative.mean() == pytest.approx(-expected, rel=0.15)
    assert 0.3 < lower_bound(positive, negative) <= CLAIM


@pytest.mark.parametrize("sampling_rate", [1.0, 0.5])
def test_a_step_with_a_quarter_of_its_noise_is_caught(observe, sampling_rate) -> None:
    assert lower_bound(*observe(sampling_rate, 60, too_little=4.0)) > CLAIM
