"""A hospital's folder: answers that are counted, steps that are clipped, plans that are kept."""

from __future__ import annotations

import itertools
import json
import math
import os
import stat
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

import neuroveil.deploy.federated.hospital as hospital_module
from neuroveil.deploy.federated.hospital import Part, last_answer, open_hospital, write_hospital
from neuroveil.deploy.federated.in_process import InProcessGrid
from neuroveil.deploy.federated.local import judge, noise_source, noisy_units, train_locally
from neuroveil.deploy.federated.models import (
    check_arrays,
    flatten,
    initial_arrays,
    logits_of,
    mean_gradient,
    parameter_shapes,
    patient_gradients,
    unflatten,
)
from neuroveil.deploy.federated.noise import noise_terms
from neuroveil.deploy.federated.plan import plan_from_json, read_plan, write_plan
from neuroveil.deploy.federated.progress import RunState
from neuroveil.deploy.federated.specs import InputSpec, ModelSpec
from neuroveil.deploy.federated.strategy import RefusingStrategy, to_record
from neuroveil.errors import ChainError, FederationError
from neuroveil.privacy.randomness import SimulationRandomness

HUGE = {"0.weight": np.array([[1.7e308, -1.7e308, 0.0]]), "0.bias": np.zeros(1)}
"""Finite, and a logit that is no number for inputs above 1.06."""


@pytest.fixture
def hospital(make_plan, make_folders):
    return open_hospital(make_folders(make_plan("dp_sgd"))[1]["h0"])


class TestAnswers:
    def test_each_is_given_once_and_in_order(self, hospital) -> None:
        hospital.count_answer(1)
        with pytest.raises(FederationError, match="given once"):
            hospital.count_answer(1)
        again = open_hospital(hospital.folder)  # as after a restart
        with pytest.raises(FederationError, match="given once"):
            again.count_answer(1)
        again.count_answer(2)

    def test_are_as_many_as_were_paid_for(self, hospital) -> None:
        with pytest.raises(FederationError, match="budget"):
            hospital.count_answer(hospital.plan.training.attempts + 1)

    def test_a_lost_count_is_not_started_anew(self, hospital) -> None:
        (hospital.folder / "answers.json").unlink()
        with pytest.raises(FederationError, match="Join anew"):
            hospital.count_answer(1)

    def test_are_given_once_to_several_who_ask_at_the_same_time(
        self, hospital, monkeypatch
    ) -> None:
        """Two runs at once: without a lock both would read the same count before either writes."""

        def slowly(folder):
            last = last_answer(folder)
            time.sleep(0.05)
            return last

        monkeypatch.setattr(hospital_module, "last_answer", slowly)
        refused = []

        def ask() -> None:
            try:
                hospital.count_answer(1)
            except FederationError as error:
                refused.append(error)

        askers = [threading.Thread(target=ask) for _ in range(4)]
        for each in askers:
            each.start()
        for each in askers:
            each.join()
        assert len(refused) == 3
        assert last_answer(hospital.folder) == 1

    def test_are_on_the_disk_before_they_are_computed(self, hospital, monkeypatch) -> None:
        """A power cut after an answer must not take its count away."""
        flushed = []
        monkeypatch.setattr(os, "fsync", lambda number: flushed.append(os.fstat(number).st_ino))
        hospital.count_answer(1)
        for place in (hospital.folder / "answers.json", hospital.folder):
            assert place.stat().st_ino in flushed


class TestTheFolder:
    def test_is_the_owners_alone(self, hospital) -> None:
        assert stat.S_IMODE(hospital.folder.stat().st_mode) == 0o700
        for file in hospital.folder.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0, file.name

    def test_keeps_to_the_plan_that_it_was_made_with(self, hospital, make_plan) -> None:
        write_plan(make_plan("dp_sgd", rounds=9), hospital.folder)
        with pytest.raises(FederationError, match="agreed"):
            open_hospital(hospital.folder)

    def test_is_made_once(self, hospital, make_parts) -> None:
        part = {"train": make_parts(hospital.plan)["h0"]}
        with pytest.raises(FederationError, match="in use"):
            write_hospital(hospital.folder, hospital.plan, "h0", part, {})

    @pytest.mark.parametrize(
        "inputs", [np.zeros((4, 2)), np.full((4, 3), np.nan), np.zeros((99, 3))]
    )
    def test_takes_rows_that_fit_only(self, make_plan, tmp_path, inputs) -> None:
        part = Part(inputs, np.zeros(inputs.shape[0], dtype=bool))
        with pytest.raises(FederationError):
            write_hospital(tmp_path / "new", make_plan(), "h0", {"train": part}, {})

    def test_says_nothing_of_rows_in_errors(self, make_plan, tmp_path) -> None:
        part = Part(np.full((4, 3), 123.456), np.zeros(3, dtype=bool))
        with pytest.raises(FederationError) as refused:
            write_hospital(tmp_path / "new", make_plan(), "h0", {"train": part}, {})
        assert "123" not in str(refused.value)


class TestSteps:
    @pytest.mark.parametrize("kind", ["logistic", "mlp"])
    def test_gradients_of_opacus_are_those_of_finite_differences(self, make_plan, kind) -> None:
        plan = make_plan(kind=kind)
        shapes, rng = parameter_shapes(plan), np.random.default_rng(3)
        vector = rng.standard_normal(plan.n_parameters)
        inputs, labels = rng.standard_normal((4, 3)), np.array([True, False, True, True])
        found = patient_gradients(plan, unflatten(vector, shapes), inputs, labels)

        def losses(at: np.ndarray) -> np.ndarray:
            logits = logits_of(plan, unflatten(at, shapes), inputs)
            return np.logaddexp(0, np.where(labels, -logits, logits))

        for i in range(plan.n_parameters):
            step = np.zeros(plan.n_parameters)
            step[i] = 1e-6
            slope = (losses(vector + step) - losses(vector - step)) / 2e-6
            np.testing.assert_allclose(found[:, i], slope, atol=1e-6)
        mean = mean_gradient(plan, unflatten(vector, shapes), inputs, labels)
        np.testing.assert_allclose(found.mean(axis=0), mean, atol=1e-12)

    def test_gradients_do_not_depend_on_who_else_is_in_the_batch(self, make_plan) -> None:
        """Not by a single bit: last digits at a kink of the perceptron are a whole gradient."""
        plan = replace(
            make_plan("dp_sgd", simulation=False, seed=None),
            inputs=InputSpec("sha256:columns", "reference", 17), model=ModelSpec("mlp", 33),
        )  # fmt: skip
        rng = np.random.default_rng(0)
        arrays = {name: rng.standard_normal(s) for name, s in parameter_shapes(plan).items()}
        inputs, labels = rng.standard_normal((40, 17)), rng.random(40) < 0.5
        everybody = patient_gradients(plan, arrays, inputs, labels)
        for size in (1, 2, 3, 5, 17, 39):
            some = patient_gradients(plan, arrays, inputs[-size:], labels[-size:])
            np.testing.assert_array_equal(some, everybody[-size:])

    def test_nobody_moves_a_sum_by_more_than_the_clipping_norm(self, make_plan) -> None:
        """Same noise, one patient more: the difference is one clipped gradient on the grid."""
        plan = make_plan("dp_sgd", gradient_norm=0.01)
        noise, start = noise_terms(plan), initial_arrays(plan)
        rng = np.random.default_rng(5)
        rows = Part(rng.standard_normal((20, 3)) * 100, rng.random(20) < 0.5)
        limit = math.ldexp(plan.privacy.gradient_norm, -noise.grid_log2)
        sums = [
            noisy_units(plan, start, Part(rows.inputs[:n], rows.labels[:n]), noise,
                        SimulationRandomness(1))
            for n in range(1, 21)
        ]  # fmt: skip
        for before, after in itertools.pairwise(sums):
            change = [int(value) for value in after - before]
            assert sum(value * value for value in change) <= limit**2
            assert sum(value * value for value in change) >= (0.999 * limit) ** 2

    def test_poisson_sampling_lets_each_take_part_on_their_own(
        self, make_plan, make_folders
    ) -> None:
        plan = make_plan("dp_sgd", sampling_rate=0.5, local_steps=1, rounds=40)
        h = open_hospital(make_folders(plan)[1]["h2"])
        rows = h.part("train")
        from neuroveil.deploy.federated.local import _sampled

        sizes = [
            _sampled(rows, 0.5, noise_source(h, attempt)).labels.size for attempt in range(1, 41)
        ]
        assert len(set(sizes)) > 3  # the size of a batch is random
        assert 8 < np.mean(sizes) < 12  # seeded: 20 patients, each with one half

    def test_local_models_stay_within_what_the_step_allows(self, hospital) -> None:
        start = initial_arrays(hospital.plan)
        updated = train_locally(hospital, start, 1)
        assert set(updated) == set(start)
        assert np.isfinite(flatten(updated, parameter_shapes(hospital.plan))).all()

    def test_a_model_that_makes_some_rows_overflow_learns_nothing_from_it(self, make_plan) -> None:
        """A failure would tell, without noise, that somebody's inputs are large."""
        plan = make_plan("dp_sgd")
        noise = noise_terms(plan)
        some = Part(np.array([[0.1, 0.2, 0.3]]), np.array([True]))
        large = Part(np.array([[0.1, 0.2, 0.3], [1.2, 1.2, 0.0]]), np.array([True, True]))
        found = [
            noisy_units(plan, HUGE, rows, noise, SimulationRandomness(1)) for rows in (some, large)
        ]
        np.testing.assert_array_equal(*found)

    def test_a_model_that_fails_on_private_rows_is_answered_like_any_other(
        self, make_plan, make_folders
    ) -> None:
        plan = make_plan("dp_sgd", test_share=0.2, simulation=False, seed=None)
        folder = make_folders(plan)[1]["h0"]
        rows = Part(np.array([[1.2, 1.2, 0.0]]), np.array([True]))
        with pytest.raises(ChainError):
            judge(plan, HUGE, rows)
        with (folder / "rows.npz").open("r+b") as file:
            kept = dict(np.load(folder / "rows.npz"))
            np.savez(file, **kept | {"test_inputs": rows.inputs, "test_labels": rows.labels})
        grid, asked = InProcessGrid({1001: folder}), {1001: "h0"}
        strategy = RefusingStrategy(plan, RunState(HUGE), asked)
        (message,) = strategy.configure_evaluate(1, to_record(HUGE), None, grid)
        (reply,) = grid.send_and_receive([message])
        assert not reply.has_error()
        assert dict(reply.content.metric_records["counts"]) == {"patients": 12}

    def test_nobody_is_judged_where_nobody_judges(self, make_plan) -> None:
        plan = make_plan()
        nobody = Part(np.zeros((0, 3)), np.zeros(0, dtype=bool))
        assert judge(plan, initial_arrays(plan), nobody).n == 0


class TestPlans:
    def test_come_back_from_json(self, make_plan) -> None:
        plan = make_plan("distributed", kind="mlp", retries=2)
        again = plan_from_json(json.loads(json.dumps(plan.to_json())))
        assert again == plan
        assert again.digest == plan.digest

    @pytest.mark.parametrize("field", ["epsilon", "gradient_norm", "sampling_rate", "rounds"])
    def test_differ_in_their_digest(self, make_plan, field) -> None:
        value = {"sampling_rate": 0.5, "rounds": 7}.get(field, 3.0)
        assert make_plan("dp_sgd", **{field: value}).digest != make_plan("dp_sgd").digest

    def test_with_unknown_parts_are_refused(self, make_plan) -> None:
        document = make_plan().to_json()
        for wrong in (document | {"more": 1}, document | {"version": 2}, {}, None, []):
            with pytest.raises(FederationError):
                plan_from_json(wrong)

    @pytest.mark.parametrize(("part", "field", "value"), [
        (None, "round_seconds", "x"),
        (None, "round_seconds", 1e308),
        (None, "simulation", 1),
        (None, "minimum_hospitals", True),
        ("inputs", "columns_digest", None),
        ("inputs", "components", float("nan")),
        ("inputs", "components", 10**22),
        ("model", "kind", "other"),
        ("model", "hidden", 10**22),
        ("training", "rounds", float("inf")),
        ("training", "retries", -1),
        ("training", "learning_rate", float("nan")),
        ("training", "aggregation", []),
        ("training", "test_share", -1.0),
        ("privacy", "epsilon", float("nan")),
        ("privacy", "delta", None),
        ("privacy", "labels", "none"),
        ("privacy", "label_epsilon", -1.0),
        ("privacy", "sampling_rate", 1.5),
    ])  # fmt: skip
    def test_with_values_that_no_study_has_are_refused(self, make_plan, part, field, value) -> None:
        document = json.loads(json.dumps(make_plan("dp_sgd").to_json()))
        assert plan_from_json(document)
        (document if part is None else document[part])[field] = value
        with pytest.raises(FederationError):
            plan_from_json(document)

    def test_that_are_nested_too_deep_are_refused(self, tmp_path) -> None:
        (tmp_path / "plan.json").write_bytes(b"[" * 100_000)
        with pytest.raises(FederationError):
            read_plan(tmp_path)

    @pytest.mark.parametrize(("setting", "changed"), [
        ("none", {"simulation": False, "seed": None}),
        ("dp_sgd", {"simulation": False, "seed": 3}),
        ("dp-sgd", {}),
        ("distributed", {"max_colluding": -100}),
        ("distributed", {"max_dropouts": -1}),
        ("dp_sgd", {"stopping": "validation"}),
        ("distributed", {"aggregation": "median"}),
        ("distributed", {"max_dropouts": 3}),
        ("none", {"minimum_hospitals": 6}),
        ("none", {"rounds": 0}),
        ("none", {"sizes": (3, 0, 3)}),
    ])  # fmt: skip
    def test_that_no_study_could_say_are_refused(self, make_plan, setting, changed) -> None:
        with pytest.raises(FederationError):
            make_plan(setting, **changed)

    def test_check_arrays_never_broadcasts(self, make_plan) -> None:
        plan = make_plan()
        good = initial_arrays(plan)
        assert check_arrays(plan, good, "model").keys() == good.keys()
        for wrong in (np.zeros(3), np.zeros((3, 1)), np.zeros(()), np.zeros((1, 3, 1))):
            with pytest.raises(FederationError):
                check_arrays(plan, good | {"0.weight": wrong}, "model")

    def test_public_start_of_a_perceptron_follows_from_the_plan(self, make_plan) -> None:
        plan = make_plan(kind="mlp")
        one, two = initial_arrays(plan), initial_arrays(replace(plan))
        other = initial_arrays(make_plan(kind="mlp", rounds=5))
        assert (one["0.weight"] == two["0.weight"]).all()
        assert (one["0.weight"] != other["0.weight"]).any()
