"""Training by a trusted server: its noise, what one person can change, its files and forgeries."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from scipy.stats import chi2, norm

from neuroveil.audit.table.trained_models import LiraSettings
from neuroveil.deploy.federated.attack import attack_training
from neuroveil.deploy.federated.central import (
    central_forecast,
    central_plan,
    central_request,
    check_training,
    rehearse_training,
    train_centrally,
)
from neuroveil.deploy.federated.cohort import made_up
from neuroveil.deploy.federated.direct import train_directly
from neuroveil.deploy.federated.hospital import Part
from neuroveil.deploy.federated.inputs import model_inputs
from neuroveil.deploy.federated.local import judge, noisy_units
from neuroveil.deploy.federated.models import flatten, initial_arrays, parameter_shapes
from neuroveil.deploy.federated.noise import epsilon_after, noise_terms
from neuroveil.deploy.federated.plan import plan_from_json, read_plan, write_plan
from neuroveil.deploy.federated.progress import from_bytes
from neuroveil.deploy.federated.recipient import probabilities
from neuroveil.deploy.federated.signature import sign_training
from neuroveil.deploy.federated.specs import Seat
from neuroveil.deploy.federated.verify import verify_training
from neuroveil.deploy.hospital.connection import Answer
from neuroveil.deploy.hospital.consortium import ConsortiumClient
from neuroveil.deploy.manifest import manifest_of_training
from neuroveil.errors import BudgetError, CertificateError, ChainError, FederationError
from neuroveil.keys import create_key
from neuroveil.ledger import Ledger
from neuroveil.reference import default_reference
from neuroveil.types.catalogue import columns_for
from neuroveil.types.certificate import digest
from neuroveil.types.table import FeatureTable

CHANNELS = ("C3", "C4", "O1", "O2")
FILES = {"result.json", "model.safetensors", "report.html", "signature.json"}


def scaling_of(channels: tuple[str, ...] = CHANNELS):
    reference = default_reference("harmonised")
    return reference.scaling_for(columns_for(channels, reference.features))


SCALING = scaling_of()


def plan_of(n: int = 60, epsilon: float = 1.0, **changed: Any):
    plan = central_plan(SCALING, n, epsilon, 1e-5, "linked_pool")
    return replace(plan, **changed)


def table_of(n: int, seed: int = 0) -> FeatureTable:
    rng = np.random.default_rng(seed)
    columns = SCALING.columns
    values = np.exp(rng.normal(0.0, 1.0, (n, len(columns))))
    values[0, :3] = np.nan
    return FeatureTable(
        tuple(f"person-{number}" for number in range(n)), columns, values,
        np.full(n, 60, dtype=np.int64), np.full(n, 60.0),
    )  # fmt: skip


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    return create_key(tmp_path_factory.mktemp("keys") / "server.pem")


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    file = tmp_path_factory.mktemp("ledger") / "ledger.sqlite"
    return Ledger.create(file, Fraction(500), Fraction(1, 10))


@pytest.fixture(scope="module")
def published(tmp_path_factory, key, ledger) -> Path:
    """A training with real noise. Nothing below depends on what the noise was."""
    folder = tmp_path_factory.mktemp("training")
    plan, labels = plan_of(), np.arange(60, dtype=np.int8) % 3 - 1
    part = check_training(plan, table_of(60), labels, SCALING)
    train_centrally(plan, part, ledger.reserve(central_request(plan)), folder, key)
    return folder


@pytest.fixture
def copied(published, tmp_path) -> Path:
    for file in published.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


class TestNoise:
    @pytest.mark.parametrize(("n", "epsilon"), [(30, 0.5), (60, 1.0), (300, 4.0)])
    def test_is_that_of_one_gaussian_mechanism(self, n, epsilon) -> None:
        """Balle and Wang 2018, equation 6, with sensitivity 2 C sqrt(T)."""
        plan = plan_of(n, epsilon)
        noise = noise_terms(plan)
        shift = 2 * plan.privacy.gradient_norm * math.sqrt(plan.training.rounds)

        def delta(std: float) -> float:
            a, b = shift / (2 * std), plan.epsilon * std / shift
            return float(norm.cdf(a - b) - math.exp(plan.epsilon) * norm.cdf(-a - b))

        assert delta(noise.noise_std) <= plan.delta - noise.delta_slack
        assert delta(noise.noise_std * 0.999) > plan.delta
        assert noise.steps == plan.training.rounds
        assert noise.share_std == noise.noise_std
        assert epsilon_after(plan, plan.training.rounds) == pytest.approx(epsilon, rel=1e-3)

    def test_every_step_of_released_models_carries_it(self, tmp_path, key, ledger) -> None:
        """Nobody's label is known, so that the model is noise alone. Bounds at 5e-7 each."""
        plan, n_trainings = plan_of(300), 12
        nobody = Part(np.zeros((0, plan.inputs.components)), np.zeros(0, dtype=bool))
        vectors = []
        for number in range(n_trainings):
            folder = tmp_path / str(number)
            folder.mkdir()
            train_centrally(plan, nobody, ledger.reserve(central_request(plan)), folder, key)
            arrays = from_bytes((folder / "model.safetensors").read_bytes(), plan)
            vectors.append(flatten(arrays, parameter_shapes(plan)))
        spec = plan.training
        kept = (1 - spec.learning_rate * spec.penalty) ** (2 * np.arange(spec.rounds))
        std = spec.learning_rate * noise_terms(plan).noise_std / plan.n_patients
        found = float((np.array(vectors) ** 2).sum() / (std**2 * kept.sum()))
        freedom = n_trainings * plan.n_parameters
        assert chi2.ppf(5e-7, freedom) < found < chi2.isf(5e-7, freedom)
        assert len({vector.tobytes() for vector in vectors}) == n_trainings


class _NoNoise:
    """What is left of a step without its noise, to see what one person changes."""

    def discrete_gaussian(self, scale: float, shape: tuple[int, ...]) -> np.ndarray:
        return np.zeros(shape, dtype=np.int64)


class TestOnePerson:
    @pytest.mark.parametrize("size", [0.0, 1.0, 1e3, 1e300])
    def test_changes_a_sum_by_at_most_twice_the_clipping_norm(self, size) -> None:
        """In whole numbers, exactly; also where the model is so large that gradients overflow."""
        plan, rng = plan_of(12), np.random.default_rng(int(min(size, 9)))
        noise, k = noise_terms(plan), plan.inputs.components
        arrays = {name: np.full(value.shape, size) for name, value in initial_arrays(plan).items()}

        def units(inputs: np.ndarray, labels: np.ndarray) -> np.ndarray:
            return noisy_units(plan, arrays, Part(inputs, labels), noise, _NoNoise())

        inputs = rng.standard_normal((6, k))
        inputs *= math.sqrt(k) / np.linalg.norm(inputs, axis=1)[:, None]
        labels = np.arange(6) % 2 == 0
        largest = Fraction(plan.privacy.gradient_norm) / Fraction(2) ** noise.grid_log2
        base, longest = units(inputs, labels), 0
        for row in (-inputs[0], inputs[0] * 0.5, 1e150 * inputs[0], rng.standard_normal(k)):
            for label in (True, False):
                other, others = inputs.copy(), labels.copy()
                other[0], others[0] = row, label
                moved = [int(each) for each in units(other, others) - base]
                longest = max(longest, sum(each * each for each in moved))
        known = [int(each) for each in units(inputs[1:], labels[1:]) - base]
        assert longest <= (2 * largest) ** 2
        assert sum(each * each for each in known) <= largest**2  # somebody's label becomes unknown

    def test_who_has_no_label_counts_and_adds_nothing(self) -> None:
        plan, table = plan_of(60), table_of(60)
        labels = np.arange(60, dtype=np.int8) % 3 - 1
        part = check_training(plan, table, labels, SCALING)
        assert part.labels.size == plan.n_patients == 60  # and takes as long as anybody
        assert part.labels.sum() == 20
        known = Part(part.inputs[labels != -1], part.labels[labels != -1])
        assert np.isfinite(known.inputs).all()
        steps = [noisy_units(plan, initial_arrays(plan), each, noise_terms(plan), _NoNoise())
                 for each in (part, known)]  # fmt: skip
        assert steps[0].any()
        assert np.array_equal(*steps)
        nobody = check_training(plan, table, np.full(60, -1, dtype=np.int8), SCALING)
        noise, arrays = noise_terms(plan), initial_arrays(plan)
        assert not noisy_units(plan, arrays, nobody, noise, _NoNoise()).any()

    def test_has_the_same_inputs_wherever_the_row_stands(self) -> None:
        """To the last digit: somebody of another hospital may take another place."""
        plan, rng = plan_of(61), np.random.default_rng(4)
        rows = rng.standard_normal((61, len(SCALING.columns)))
        inputs = model_inputs(rows, SCALING, plan.inputs)
        for place in (1, 7, 60):
            moved = model_inputs(np.roll(rows, -place, axis=0), SCALING, plan.inputs)
            assert np.array_equal(np.roll(moved, place, axis=0), inputs)
            few = model_inputs(rows[:place], SCALING, plan.inputs)
            assert np.array_equal(few, inputs[:place])

    def test_whose_cells_are_missing_is_at_the_public_centre(self) -> None:
        plan = plan_of(2)
        table = table_of(2)
        table.values[1] = np.nan
        part = check_training(plan, table, np.ones(2, dtype=np.int8), SCALING)
        centre = model_inputs(np.zeros((1, len(SCALING.columns))), SCALING, plan.inputs)
        assert part.inputs[1] == pytest.approx(centre[0])


class TestRefusals:
    @pytest.mark.parametrize(("n_rows", "labels"), [
        (59, np.ones(60, dtype=np.int8)), (60, np.ones(59, dtype=np.int8)),
        (60, np.full(60, 2, dtype=np.int8)), (60, np.full(60, -2, dtype=np.int8)),
    ])  # fmt: skip
    def test_rows_that_are_not_the_plans(self, n_rows, labels) -> None:
        with pytest.raises(FederationError):
            check_training(plan_of(60), table_of(n_rows), labels, SCALING)

    def test_other_columns(self) -> None:
        plan = central_plan(scaling_of(CHANNELS[:3]), 60, 1.0, 1e-5, "linked_pool")
        with pytest.raises(FederationError):
            check_training(plan, table_of(60), np.ones(60, dtype=np.int8), SCALING)

    def test_a_plan_that_is_none_of_real_people(self, make_plan) -> None:
        labels = np.ones(60, dtype=np.int8)
        for plan in (plan_of(60, simulation=True, seed=3), make_plan("dp_sgd", sizes=(20,) * 3)):
            with pytest.raises(FederationError):
                check_training(plan, table_of(60), labels, SCALING)

    def test_a_charge_for_something_else_or_used_before(self, tmp_path, key, ledger) -> None:
        plan, cheaper = plan_of(), plan_of(60, 0.5)
        part = Part(np.zeros((0, plan.inputs.components)), np.zeros(0, dtype=bool))
        with pytest.raises(BudgetError):
            train_centrally(plan, part, ledger.reserve(central_request(cheaper)), tmp_path, key)
        charge = ledger.reserve(central_request(plan))
        charge.consume(central_request(plan))
        with pytest.raises(BudgetError):
            train_centrally(plan, part, charge, tmp_path, key)
        assert not list(tmp_path.iterdir())

    CHANGED: tuple[Callable[[Any], Any], ...] = (
        lambda p: replace(p, seats=(Seat("a", 30), Seat("b", 30))),
        lambda p: replace(p, seed=1),
        lambda p: replace(p, duplicates="apart"),
        lambda p: replace(p, duplicates="as_they_come"),
        lambda p: replace(p, training=replace(p.training, retries=1)),
        lambda p: replace(p, training=replace(p.training, local_steps=2)),
        lambda p: replace(p, training=replace(p.training, stopping="validation")),
        lambda p: replace(p, training=replace(p.training, aggregation="median")),
        lambda p: replace(p, training=replace(p.training, test_share=0.25)),
        lambda p: replace(p, privacy=replace(p.privacy, sampling_rate=0.5)),
        lambda p: replace(p, privacy=replace(p.privacy, labels="unprotected")),
        lambda p: replace(p, privacy=replace(p.privacy, secure_aggregation=True)),
    )

    @pytest.mark.parametrize("number", range(len(CHANGED)))
    def test_a_plan_without_one_cohort_and_whole_steps(self, number) -> None:
        with pytest.raises(FederationError):
            self.CHANGED[number](plan_of())

    def test_a_federation_with_linked_people(self, make_plan) -> None:
        with pytest.raises(FederationError):
            make_plan("dp_sgd", duplicates="linked_pool")

    def test_hospitals_do_not_follow_a_servers_plan(self, tmp_path) -> None:
        write_plan(plan_of(), tmp_path)
        with pytest.raises(FederationError, match="several hospitals"):
            read_plan(tmp_path)


class TestFiles:
    def test_hold(self, published, key) -> None:
        for server_key in (None, key.public_key):
            result = verify_training(published, server_key)
            assert result.exit_code == 0, result.broken_links
        assert {file.name for file in published.iterdir()} == FILES
        document = json.loads((published / "result.json").read_text())
        unit, trust = document["chain"]["unit"], document["chain"]["model"]
        assert unit["dedup"]["value"] == "linked_pool"
        assert "hospitals_of_a_patient" not in unit
        assert trust["trust_model"]["value"] == "central"
        assert "server" in trust["who_is_trusted"]["value"]
        assert document["private"]
        assert document["formal_guarantee"]
        assert plan_from_json(document["plan"]) == plan_of()

    def test_tell_nothing_about_private_rows(self, published) -> None:
        page = (published / "report.html").read_text(encoding="utf-8")
        assert "Training by a trusted server" in page
        assert "How good it is does not stand here" in page
        assert "Hospitals in" not in page
        everything = b"".join(file.read_bytes() for file in published.iterdir())
        assert b"person-" not in everything
        rounds = json.loads((published / "result.json").read_text())["rounds"]
        assert all(each["loss"] is None and each["seconds"] == 0 for each in rounds)

    def test_are_of_use_to_a_recipient(self, published) -> None:
        found = probabilities(published, table_of(5, 1), SCALING)
        assert found.shape == (5,)
        assert ((found > 0) & (found < 1)).all()
        other = scaling_of(CHANNELS[:3])
        with pytest.raises(ChainError):
            probabilities(published, table_of(5, 1), other)
        fewer = table_of(5, 1)
        fewer = replace(fewer, columns=other.columns, values=fewer.values[:, : len(other.columns)])
        with pytest.raises(FederationError):
            probabilities(published, fewer, other)

    def test_can_be_rehearsed(self, tmp_path, key) -> None:
        rehearse_training(plan_of(), tmp_path, key)
        assert not list(tmp_path.iterdir())


def forge(folder: Path, key, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the result, and sign it again as a server could that lies."""
    document = json.loads((folder / "result.json").read_bytes())
    change(document)
    (folder / "result.json").write_text(json.dumps(document))
    sign_training(folder, key)


def fact(link: str, name: str, value: Any) -> Callable[[dict[str, Any]], object]:
    return lambda document: document["chain"][link][name].update(value=value)


FORGED: dict[str, tuple[str, Callable[[dict[str, Any]], object]]] = {
    "another policy": ("unit", fact("unit", "dedup", "linked_keep_longest")),
    "another policy in the plan": (
        "unit", lambda d: d["plan"].update(duplicates="linked_keep_longest")),
    "nobody trusted": ("model", fact("model", "trust_model", "federated")),
    "half the sensitivity": ("sensitivity", fact("sensitivity", "value", 1.0)),
    "more noise": ("mechanism", fact("mechanism", "noise_std", 1e3)),
    "fewer steps": ("mechanism", fact("mechanism", "steps", 1)),
    "a seed called none": ("sampler", fact("sampler", "seeded", 0)),
    "a lower epsilon": ("guarantee", fact("guarantee", "epsilon", 0.1)),
    "figures": ("domain", fact("domain", "figures", "leave")),
    "a step less": ("rounds", lambda d: (d["rounds"].pop(), d.update(attempts=3))),
    "a step too many": ("rounds", lambda d: d.update(attempts=5)),
    "a loss": ("rounds", lambda d: d["rounds"][0].update(loss=0.5)),
    "a time": ("rounds", lambda d: d["rounds"][1].update(seconds=0.5)),
    "a size": ("rounds", lambda d: d["rounds"][1].update(bytes_sent=1)),
    "less spent": ("spending", lambda d: d.update(epsilon_spent=0.5)),
    "another verdict": ("verdict", lambda d: d.update(verdict="Anonymous.")),
    "more people": ("adjacency", lambda d: d["plan"]["seats"][0].update(n_patients=90)),
}  # fmt: skip


@pytest.mark.parametrize("what", FORGED)
def test_a_forged_field_breaks_its_link_though_it_is_signed(copied, key, what) -> None:
    link, change = FORGED[what]
    forge(copied, key, change)
    result = verify_training(copied, key.public_key)
    assert result.exit_code == 4
    assert link in result.broken_links
    assert "signature" not in result.broken_links


@pytest.mark.parametrize("change", [
    lambda d: d["plan"]["seats"].append({"name": "b", "n_patients": 3}),
    lambda d: d["plan"].update(seed=1),
    lambda d: d["plan"].update(duplicates="apart"),
    lambda d: d["plan"].pop("duplicates"),
    lambda d: d["plan"]["training"].update(rounds=10**9),
    lambda d: d["plan"]["training"].update(retries=2),
    lambda d: d["plan"]["privacy"].update(sampling_rate=0.1),
    lambda d: d["plan"]["privacy"].update(epsilon=-1.0),
])  # fmt: skip
def test_a_plan_that_no_server_follows_is_refused(copied, key, change) -> None:
    forge(copied, key, change)
    with pytest.raises(CertificateError):
        verify_training(copied, key.public_key)


class TestSignature:
    def test_of_another_key_is_found(self, copied, key) -> None:
        other = create_key(copied.parent / f"{copied.name}-other.pem")
        sign_training(copied, other)
        assert verify_training(copied).exit_code == 0
        assert verify_training(copied, key.public_key).broken_links == ("signature",)

    @pytest.mark.parametrize("name", sorted(FILES))
    def test_covers_every_file(self, copied, key, name) -> None:
        with (copied / name).open("ab") as file:
            file.write(b" ")
        result = verify_training(copied, key.public_key)
        # JSON may end with a space; then it is the same signature.
        assert ("signature" in result.broken_links) == (name != "signature.json")

    def test_that_is_missing_or_none_is_broken(self, copied, key) -> None:
        file = copied / "signature.json"
        good = json.loads(file.read_text())
        for content in ("", "[]", "{}", json.dumps(good | {"signature": "00" * 64}),
                        json.dumps(good | {"schema": "neuroveil-receipt"})):  # fmt: skip
            file.write_text(content)
            assert verify_training(copied, key.public_key).broken_links == ("signature",)
        file.unlink()
        assert verify_training(copied).broken_links == ("signature",)

    def test_of_a_file_too_many_is_broken(self, copied, key) -> None:
        (copied / "figures.json").write_text("{}")
        assert "folder" in verify_training(copied, key.public_key).broken_links


@pytest.mark.slow
def test_a_model_beats_chance() -> None:
    """Seeded: 300 made-up people, epsilon 4; and what people are told beforehand."""
    scaling = scaling_of()
    plan = central_plan(scaling, 300, 4.0, 1e-5, "linked_hospital_order")
    simulated = replace(plan, simulation=True, seed=11)
    train, new = (made_up(scaling, n, 2.0, (11, i)) for i, n in enumerate((300, 1000)))
    parts = [Part(model_inputs(r.rows, scaling, plan.inputs), r.labels) for r in (train, new)]
    arrays = train_directly(simulated, {plan.seats[0].name: parts[0]})
    calls = judge(simulated, arrays, parts[1])
    half = len(calls.positive) // 2
    sensitivity = calls.positive[half:].sum() / calls.positive.sum()
    specificity = calls.negative[:half].sum() / calls.negative.sum()
    assert (sensitivity + specificity) / 2 > 0.75
    assert "300 made-up people" in central_forecast(plan, scaling)


@pytest.mark.slow
def test_attacks_work_on_a_servers_training() -> None:
    """Seeded. With epsilon 1 the model gives nobody away."""
    plan = replace(plan_of(40), simulation=True, seed=5)
    people = made_up(SCALING, 40, 2.0, (5, 0))
    part = Part(model_inputs(people.rows, SCALING, plan.inputs), people.labels)
    found = attack_training(plan, {plan.seats[0].name: part}, LiraSettings(n_shadows=64))
    assert [each.verdict for each in found] == ["no_attack_succeeded"] * 2
    assert "does not publish" in found[1].target


class Publishing:
    """Answers as a trusted server would that has published a training of this plan."""

    def __init__(self, folder: Path, plan: str) -> None:
        self.folder, self.plan = folder, plan

    def ask(self, method: str, target: str, body: bytes = b"", slow: bool = False) -> Answer:
        parts = urlsplit(target)
        name = Path(parts.path).name
        if name == "six":
            asked = {"release": "0" * 32, "mechanism": "dp_training", "plan": self.plan}
            return Answer(200, {"releases": [asked]})
        if name == "files":
            return Answer(200, manifest_of_training(self.folder).to_json())
        offset = int(parse_qs(parts.query)["offset"][0])
        return Answer(200, {}, (self.folder / name).read_bytes()[offset:])


def test_what_is_fetched_is_the_training_that_was_reviewed(published, key, tmp_path):
    stated = json.loads((published / "result.json").read_bytes())["plan_digest"]
    client = ConsortiumClient(Publishing(published, stated))  # type: ignore[arg-type]
    assert client.fetch("six", tmp_path / "out", key.public_key).startswith("Holds")
    client = ConsortiumClient(Publishing(published, digest(b"another")))  # type: ignore[arg-type]
    with pytest.raises(CertificateError, match="reviewed"):
        client.fetch("six", tmp_path / "other", key.public_key)
    assert [each.name for each in tmp_path.iterdir()] == ["out"]
