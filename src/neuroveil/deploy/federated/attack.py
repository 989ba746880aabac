"""Membership attacks on a federated training: on its last model, and on one update on its way.

The attacker is the strongest that the audit room knows for trained models: many shadow trainings,
each with a random half of the patients, by the same plan with the same noise. For updates the
attacker sees what the coordinator sees in the first round: a hospital's own update, or under masks
the sum of all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from neuroveil.audit.table.trained_models import (
    Confidence,
    LabelArray,
    LiraSettings,
    TrainingData,
    attack_trained_model,
)
from neuroveil.deploy.federated.direct import train_directly, with_seats
from neuroveil.deploy.federated.hospital import Part
from neuroveil.deploy.federated.models import (
    Arrays,
    flatten,
    initial_arrays,
    logits_of,
    parameter_shapes,
    patient_gradients,
)
from neuroveil.deploy.federated.plan import TRUSTED_SERVER, FederationPlan
from neuroveil.pipeline.pool import Progress, no_progress
from neuroveil.types.audit import AttackResult
from neuroveil.types.recording import FloatArray

_SHADOWS = LiraSettings()


def attack_training(
    plan: FederationPlan,
    parts: Mapping[str, Part],
    settings: LiraSettings = _SHADOWS,
    progress: Progress = no_progress,
) -> tuple[AttackResult, ...]:
    """Attack the way of training that a plan describes.

    Parameters
    ----------
    plan : FederationPlan
        A simulation's plan; of any setting but ``local_features``, of which nothing is attacked.
    parts : mapping of str to Part
        Rows that train, by hospital.
    settings : LiraSettings
        Number of shadow trainings.
    progress : callable
        Called with (done, total, what).

    Returns
    -------
    tuple of AttackResult
        On the last model, and on an update of the first round. Internal. Nothing where rows are
        protected before training: their release is audited, and nothing is added to it.
    """
    if plan.setting == "local_features":
        return ()
    everybody = _Everybody(plan, parts)
    data = TrainingData(everybody.columns, everybody.labels, np.arange(everybody.labels.size))
    found = []
    for title, target, train in (
        ("Membership in the model", "the final model", everybody.train_to_the_end),
        ("Membership in an update", everybody.what_is_seen, everybody.first_update),
    ):
        result = attack_trained_model(
            data, train, settings,
            lambda done, total, what=title: progress(done, total, what.lower()),  # type: ignore[misc]
        )  # fmt: skip
        found.append(replace(result, title=title, target=target))
    return tuple(found)


class _Everybody:
    """All patients of a simulation in one table, with their hospital beside them."""

    def __init__(self, plan: FederationPlan, parts: Mapping[str, Part]) -> None:
        self._plan = plan
        self._names = tuple(parts)
        hospitals = np.repeat(
            np.arange(len(self._names)), [parts[name].labels.size for name in self._names]
        )
        inputs = np.concatenate([parts[name].inputs for name in self._names])
        self.labels = np.concatenate([parts[name].labels for name in self._names])
        # The hospital travels as a last column: who is where is known to the attacker.
        self.columns = np.column_stack([inputs, hospitals])
        self._trained = 0

    @property
    def what_is_seen(self) -> str:
        """What somebody beyond the hospitals sees of a round."""
        if self._plan.privacy.is_masked:
            return "the sum of all updates of a round"
        if self._plan.setting == TRUSTED_SERVER:
            return "the noisy sum of the first step, which the server does not publish"
        return "a hospital's update of the first round"

    def train_to_the_end(self, rows: FloatArray, labels: LabelArray) -> Confidence:
        """Run the whole plan on a half of the patients."""
        plan, parts = self._half(rows, labels)
        arrays = train_directly(plan, parts)

        def confidence(rows: FloatArray, labels: LabelArray) -> FloatArray:
            logits = logits_of(plan, arrays, rows[:, :-1])
            return np.asarray(0.5 * (1 + np.tanh(np.where(labels, logits, -logits) / 2)))

        return confidence

    def first_update(self, rows: FloatArray, labels: LabelArray) -> Confidence:
        """Take what is seen of the first round, and ask how well a patient's gradient fits it."""
        plan, parts = self._half(rows, labels)
        start = initial_arrays(plan)
        seen = self._seen(plan, parts, start)

        def confidence(rows: FloatArray, labels: LabelArray) -> FloatArray:
            own = patient_gradients(plan, start, rows[:, :-1], np.asarray(labels, dtype=bool))
            length = np.maximum(np.linalg.norm(own, axis=1), 1e-12)
            updates = seen[rows[:, -1].astype(int)]
            fit = -(own * updates).sum(axis=1) / length / np.maximum(_length(updates), 1e-12)
            return np.asarray(0.5 * (1 + np.tanh(fit)))

        return confidence

    def _seen(self, plan: FederationPlan, parts: Mapping[str, Part], start: Arrays) -> FloatArray:
        """Change of the model that the coordinator sees of each hospital."""
        shapes = parameter_shapes(plan)
        origin = flatten(start, shapes)
        if plan.privacy.is_masked:
            whole = flatten(train_directly(plan, parts, rounds=1), shapes) - origin
            return np.tile(whole, (len(self._names), 1))
        changes = []
        for name in self._names:
            alone = replace(plan, seats=(plan.seat(name),), minimum_hospitals=1)
            after = train_directly(alone, {name: parts[name]}, rounds=1)
            changes.append(flatten(after, shapes) - origin)
        return np.array(changes)

    def _half(self, rows: FloatArray, labels: LabelArray) -> tuple[FederationPlan, dict[str, Part]]:
        """These patients at their hospitals, under a plan with a seed of its own."""
        self._trained += 1
        place, truth = rows[:, -1].astype(int), np.asarray(labels, dtype=bool)
        parts = {
            name: Part(rows[place == number, :-1], truth[place == number])
            for number, name in enumerate(self._names)
        }
        plan = with_seats(replace(self._plan, seed=self._trained), parts)
        # A single hospital's own noise, whatever the aggregation makes of several.
        return replace(plan, training=replace(plan.training, aggregation="mean")), parts


def _length(rows: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.norm(rows, axis=1))
