"""``neuroveil audit mechanism``: ways to name a target, exit codes, one object of JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from neuroveil.cli import app
from neuroveil.cli.commands import audit_mechanism as face
from neuroveil.pipeline import audit_mechanism as pipeline

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "audit"
SCALING = [
    "--callable", f"{EXAMPLES}/careless.py:private_scaling", "--epsilon", "1", "--delta", "1e-5",
    "--dimension", "363", "--clip-norm", "2", "--noise", "gaussian", "--noise-scale", "14.92252654",
]  # fmt: skip


@pytest.fixture
def audit(capsys, tmp_path):
    """Run the command and give its exit code, its JSON and its words."""

    def call(*arguments):
        out = tmp_path / "audit"
        code = app.run(["audit", "mechanism", *arguments, "--json", "--out", str(out)])
        said = capsys.readouterr()
        return code, json.loads(said.out), said.err

    return call


def test_private_scaling_is_violated_and_ends_with_4(audit):
    code, document, _ = audit(*SCALING, "--only", "replay", "--quick")
    assert code == document["exit_code"] == 4
    assert document["verdict"] == "violated"
    figures = {each["name"]: each["value"] for each in document["results"][0]["figures"]}
    assert figures["moved"] == pytest.approx(12.0)
    assert figures["epsilon_supported"] == pytest.approx(3.41, abs=0.005)
    assert Path(document["pages"]).is_file()
    assert document["internal"] is True


def test_a_careful_pipeline_ends_with_0(audit):
    careful = [SCALING[0], SCALING[1].replace("private_scaling", "careful"), *SCALING[2:]]
    code, document, _ = audit(*careful, "--only", "replay", "--quick")
    assert (code, document["verdict"]) == (0, "no_attack_succeeded")


@pytest.mark.parametrize("name", ["same_seed", "seed_per_row"])
def test_careless_seeds_are_violated(audit, name):
    code, document, _ = audit(
        "--callable", f"{EXAMPLES}/careless.py:{name}", "--epsilon", "1", "--delta", "1e-5",
        "--dimension", "3", "--clip-norm", "2", "--only", "randomness", "--quick",
    )  # fmt: skip
    assert (code, document["verdict"]) == (4, "violated")


def test_numpy_noise_is_violated_by_its_last_bits(audit):
    code, document, said = audit(
        "--callable", f"{EXAMPLES}/numpy_noise.py:laplace", "--epsilon", "1", "--clip-norm", "2",
        "--only", "last_bits", "--trials", "5000",
    )  # fmt: skip
    assert (code, document["verdict"]) == (4, "violated")
    assert "last bits:" in said


@pytest.mark.slow
@pytest.mark.parametrize(("name", "delta"), [("gaussian", "1e-5"), ("laplace", "0")])
def test_opendp_passes_bits_and_randomness(audit, name, delta):
    """Real draws. False alarms: below 1e-6, since the event about bits would have to be e times
    as frequent on one side."""
    code, document, _ = audit(
        "--callable", f"{EXAMPLES}/opendp_noise.py:{name}", "--epsilon", "1", "--delta", delta,
        "--clip-norm", "2", "--only", "last_bits", "--only", "randomness", "--trials", "300",
        "--quick",
    )  # fmt: skip
    assert code == 0
    assert {each["verdict"] for each in document["results"]} == {"no_attack_succeeded"}


def test_nothing_testable_ends_with_5(audit):
    code, document, _ = audit(
        "--mechanism", "gaussian", "--epsilon", "30", "--delta", "1e-5", "--clip-norm", "2",
        "--only", "last_bits", "--trials", "200",
    )  # fmt: skip
    assert (code, document["verdict"]) == (5, "not_testable")


def test_a_dry_run_names_attacks_and_writes_nothing(audit, tmp_path):
    code, document, _ = audit(*SCALING, "--dry-run")
    assert code == 0
    assert document["attacks"][0] == "replay"
    assert not (tmp_path / "audit").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        [], ["--mechanism", "gaussian"], ["x", "--mechanism", "gaussian", "--epsilon", "1"],
        ["--callable", "x:y", "--command", "cat", "--epsilon", "1"], ["--mechanism", "gaussian",
        "--epsilon", "one"], ["--mechanism", "gaussian", "--epsilon", "1", "--only", "guess"],
    ],
)  # fmt: skip
def test_mistakes_of_usage_end_with_2(audit, arguments):
    code, document, _ = audit(*arguments)
    assert (code, document["error"]) == (2, "UsageError")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--mechanism", "gaussian", "--epsilon", "-1", "--delta", "1e-5"],
        ["--mechanism", "gaussian", "--epsilon", "1"],
        ["--mechanism", "none", "--epsilon", "1"],
        ["--callable", "none_such:release", "--epsilon", "1"],
        ["--command", "/none/such", "--epsilon", "1", "--quick"],
        ["--command", "cat", "--epsilon", "1", "--noise", "gaussian"],
    ],
)
def test_claims_and_targets_that_cannot_be_are_mistakes_and_no_broken_claim(audit, arguments):
    code, document, _ = audit(*arguments)
    assert (code, document["error"]) == (2, "StudyError")


@pytest.mark.parametrize("name", ["none_such.json", "certificate.json", "none_such"])
def test_a_target_that_cannot_be_read_is_a_mistake(audit, tmp_path, name):
    if name == "certificate.json":
        (tmp_path / name).write_text("{}")
    code, document, _ = audit(str(tmp_path / name))
    assert (code, document["error"]) == (2, "StudyError")


def test_the_names_of_attacks_are_those_that_run():
    assert face.ATTACKS == pipeline.ATTACKS


def test_words_say_what_each_attack_found(capsys, tmp_path):
    out = str(tmp_path / "audit")
    code = app.run(["audit", "mechanism", *SCALING, "--only", "replay", "--out", out])
    said = capsys.readouterr().out
    assert code == 4
    assert "VIOLATED  Replay with the same draws: Exchanging one patient" in said
    assert "The claim is violated." in said
    assert "keep inside" in said
