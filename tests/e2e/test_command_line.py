"""The command line as people use it: processes, exit codes, files on disk."""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from neuroveil.cli import COMMANDS

pytestmark = pytest.mark.slow


def folder_bytes(folder: Path) -> bytes:
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    return b"\0".join(str(file.name).encode() + file.read_bytes() for file in files)


def spent(neuroveil, study: Path) -> float:
    return neuroveil("ledger", "show", study.parent / "ledger.sqlite", "--json").json["spent"][
        "epsilon"
    ]


def test_help_lists_exactly_the_commands_that_work(neuroveil):
    answer = neuroveil("--help")
    assert answer.code == 0
    for name, (_, text) in COMMANDS.items():
        assert re.search(rf"^\s+{name}\s", answer.out, flags=re.MULTILINE), name
        command = neuroveil(name, "--help")
        assert command.code == 0
        assert "Usage: neuroveil " + name in command.out
        assert text


def test_the_whole_job(neuroveil, study):
    folder = study.parent
    check = neuroveil("check", study, "--json")
    assert check.code == 0
    assert check.json["n_patients"] == 5
    assert check.json["n_usable"] == check.json["n_recordings"] == 10
    assert check.json["release"]["spends"] == {"epsilon": 1.0, "delta": 1e-5}
    assert not (folder / "internal").exists()
    assert not (folder / "ledger.sqlite").exists()

    extract = neuroveil("extract", study, "--json")
    assert extract.code == 0
    assert extract.json["summary"]["recordings_computed"] == 10
    table = pd.read_parquet(folder / "internal" / "features.parquet")
    assert table.shape == (5, 1 + 19 * 11 + 2)
    again = neuroveil("extract", study, "--json")
    assert again.json["summary"]["recordings_reused"] == 10
    assert again.json["summary"]["recordings_computed"] == 0

    release = neuroveil("release", study, "--json")
    assert release.code == 0, release.err
    assert release.json["formal_guarantee"] is True
    assert release.json["verdict"].startswith("Differentially private for every patient")
    assert release.json["remaining"] == {"epsilon": 1.0, "delta": 9e-5}
    files = {file.name for file in (folder / "release").iterdir()}
    assert files == {
        "table.parquet", "table.csv", "table.json", "certificate.json", "STATEMENT.md",
        "table_estimated.parquet", "table_estimated.csv", "table_estimated.json",
        "public_inputs.json", "report.html", "load_table.py", "load_table.R",
    }  # fmt: skip
    assert set(release.json["files"]) == files - {"certificate.json"}

    verify = neuroveil("verify", folder / "release", "--json")
    assert verify.code == 0, verify.out
    report = neuroveil("report", folder / "release", "--out", folder / "page.html")
    assert report.code == 0
    assert (folder / "page.html").read_bytes() == (folder / "release/report.html").read_bytes()
    assert "INTERNAL" in (folder / "internal" / "report.html").read_text()
    internal = neuroveil(
        "report", folder / "release", "--study", study, "--out", folder / "internal.html"
    )
    assert internal.code == 0
    assert (folder / "internal.html").read_bytes() == (
        folder / "internal" / "report.html"
    ).read_bytes()


def test_csv_and_parquet_hold_the_same_bits_and_the_example_loads_them(neuroveil, study):
    assert neuroveil("release", study).code == 0
    release = study.parent / "release"
    parquet = pd.read_parquet(release / "table.parquet")
    text = pd.read_csv(release / "table.csv")
    pd.testing.assert_frame_equal(parquet, text, check_exact=True)
    example = subprocess.run(
        [sys.executable, release / "load_table.py"], capture_output=True, text=True, check=True
    )
    assert "Differentially private" in example.stdout


def test_budget_is_spent_once_a_release_and_never_overdrawn(neuroveil, study):
    assert neuroveil("release", study, "--out", study.parent / "one").code == 0
    assert neuroveil("release", study, "--out", study.parent / "two").code == 0
    refused = neuroveil("release", study, "--out", study.parent / "three", "--json")
    assert refused.code == 4
    assert refused.json["error"] == "BudgetError"
    assert not (study.parent / "three").exists()
    assert spent(neuroveil, study) == 2.0
    one, two = (pd.read_csv(study.parent / name / "table.csv") for name in ("one", "two"))
    assert (one != two).all(axis=None)


def test_an_existing_release_folder_is_refused_before_anything_is_spent(neuroveil, study):
    (study.parent / "release").mkdir()
    assert neuroveil("release", study).code == 2
    assert not (study.parent / "ledger.sqlite").exists()


def test_no_budget_no_release(neuroveil, study):
    study.write_text(study.read_text().partition("[privacy.budget]")[0])
    refused = neuroveil("release", study)
    assert refused.code == 4
    assert "neuroveil ledger init" in refused.err
    assert neuroveil(
        "ledger", "init", study.parent / "ledger.sqlite", "--epsilon", 1, "--delta", 1e-5
    ).code == 0  # fmt: skip
    assert neuroveil("release", study).code == 0


def test_the_study_cannot_raise_a_limit_that_was_set(neuroveil, study):
    assert neuroveil("release", study).code == 0
    study.write_text(study.read_text().replace("epsilon = 2.0", "epsilon = 200.0"))
    assert neuroveil("release", study, "--out", study.parent / "more").code == 4


def test_dry_run_and_rehearsal_spend_and_release_nothing(neuroveil, study):
    dry = neuroveil("release", study, "--dry-run", "--json")
    assert dry.code == 0
    assert (dry.json["epsilon"], dry.json["n_patients"], dry.json["dimension"]) == (1.0, 5, 209)
    rehearsal = neuroveil("release", study, "--rehearse", "--json")
    assert rehearsal.code == 0, rehearsal.err
    assert rehearsal.json["spent"] is False
    assert "rehearsal" in (study.parent / "internal" / "rehearsal.html").read_text().lower()
    assert not (study.parent / "release").exists()
    assert not (study.parent / "ledger.sqlite").exists()


def test_epsilon_on_the_command_line_overrides_the_study_and_is_recorded(neuroveil, study):
    answer = neuroveil("release", study, "--epsilon", 0.5, "--json")
    assert answer.json["epsilon"] == 0.5
    run = json.loads((study.parent / "internal" / "run.json").read_text())
    assert "privacy.epsilon" in run["overrides"]


def test_a_bad_file_costs_one_file_and_is_listed_in_the_internal_folder(neuroveil, study):
    victim = next((study.parent / "cohort").rglob("sub-*_eeg.edf"))
    victim.write_bytes(b"<html>not found</html>")
    extract = neuroveil("extract", study, "--json")
    assert extract.code == 5
    assert extract.json["summary"]["recordings_failed"] == 1
    assert extract.json["summary"]["recordings_computed"] == 9
    assert victim.name not in extract.everything
    with (study.parent / "internal" / "problems.csv").open() as stream:
        (problem,) = csv.DictReader(stream)
    assert problem["path"] == str(victim)
    release = neuroveil("release", study, "--json")
    assert release.code == 5
    assert release.json["n"] == 5
    assert neuroveil("verify", study.parent / "release").code == 0


def test_a_patient_without_any_recording_keeps_a_row(neuroveil, study):
    patient = next((study.parent / "cohort").glob("sub-*"))
    shutil.rmtree(patient)
    check = neuroveil("check", study, "--json").json
    assert (check["n_patients"], check["n_patients_without_recording"]) == (5, 1)
    release = neuroveil("release", study, "--json").json
    assert release["n"] == 5
    assert release["summary"]["patients_without_data"] == 1
    assert len(pd.read_csv(study.parent / "release" / "table.csv")) == 5


def test_bids_app_calls_share_the_ledger_of_the_site(neuroveil, study, tmp_path):
    """Another output folder is not another budget, and the input folder is left alone."""
    bids, outs = study.parent / "cohort", [tmp_path / "one", tmp_path / "two"]
    site = tmp_path / "site" / "ledger.sqlite"
    before = folder_bytes(bids)
    flags = ("group", "--epsilon", 1, "--mechanism", "gaussian", "--json")
    for more in (("--budget-epsilon", 1), ("--ledger", site), ("--dry-run",)):
        refused = neuroveil("release", bids, outs[0], *flags, *more)
        assert refused.code == 4
        assert "neuroveil ledger init" in refused.json["remedy"]
    assert not outs[0].exists()
    assert not site.exists()
    assert neuroveil("ledger", "init", site, "--epsilon", 1.5, "--delta", 1e-4).code == 0
    dry = neuroveil("release", bids, outs[0], *flags, "--ledger", site, "--dry-run").json
    assert dry["remaining"]["epsilon"] == 1.5
    answer = neuroveil("release", bids, outs[0], *flags, "--ledger", "ledger.sqlite",
                       cwd=site.parent)  # fmt: skip
    assert answer.code == 0, answer.err
    assert neuroveil("verify", outs[0] / "release").code == 0
    again = neuroveil("release", bids, outs[1], *flags, environment={"NEUROVEIL_LEDGER": site})
    assert again.code == 4
    assert again.json["found"].startswith("epsilon = 0.5,")
    assert not (outs[1] / "release").exists()
    assert folder_bytes(bids) == before


def test_nothing_private_reaches_what_leaves_the_hospital(neuroveil, study):
    """Patient keys, and names planted in the headers, are nowhere in release or words."""
    keys = [folder.name for folder in (study.parent / "cohort").glob("sub-*")]
    for file in (study.parent / "cohort").rglob("*.edf"):
        content = bytearray(file.read_bytes())
        content[8:88] = b"CANARYNUMBER F 01-JAN-1970 Canary_Patient".ljust(80)
        file.write_bytes(bytes(content))
    said = ""
    for command in (["check"], ["extract"], ["release"], ["release", "--rehearse"]):
        answer = neuroveil(command[0], study, *command[1:], "-v")
        said += answer.everything
    published = folder_bytes(study.parent / "release").decode("latin-1") + said
    for secret in [*keys, "CANARYNUMBER", "Canary_Patient", "01-JAN-1970"]:
        assert secret not in published
    internal = folder_bytes(study.parent / "internal").decode("latin-1")
    assert "CANARYNUMBER" not in internal
    assert "Canary_Patient" not in internal


def test_paper_laplace_is_refused_as_a_release_and_shown_as_a_rehearsal(neuroveil, study):
    text = study.read_text().replace('"gaussian"', '"paper_laplace"').replace("delta = 1e-5\n", "")
    study.write_text(
        text.replace("[privacy.budget]\nepsilon = 2.0", "[privacy.budget]\nepsilon = 2.0")
    )
    refused = neuroveil("release", study)
    assert refused.code == 4
    assert not (study.parent / "release").exists()
    rehearsal = neuroveil("release", study, "--rehearse", "--json")
    assert rehearsal.code == 0
    assert "Not differentially private at epsilon = 1" in rehearsal.json["verdict"]


def test_private_scaling_leaves_no_guarantee_and_verify_says_so(neuroveil, study):
    study.write_text(
        study.read_text()
        + '\n[reference]\nscaling = "private_statistics"\nacknowledge_no_guarantee = true\n'
    )
    release = neuroveil("release", study, "--json")
    assert release.code == 0, release.err
    assert release.json["formal_guarantee"] is False
    dictionary = json.loads((study.parent / "release" / "table.json").read_text())
    assert all("Centre" not in entry for entry in dictionary["Columns"].values())
    verify = neuroveil("verify", study.parent / "release", "--json")
    assert verify.code == 4
    assert "preprocessing" in verify.out


def test_labels_are_left_out_or_charged_or_listed(neuroveil, study):
    study.write_text(
        study.read_text() + '\n[[labels]]\ncolumn = "diagnosis"\npolicy = "randomised_response"\n'
        'categories = ["epilepsy", "control"]\nepsilon = 0.5\n'
        '\n[[labels]]\ncolumn = "sex"\npolicy = "unprotected"\n'
        'categories = ["F", "M"]\nacknowledge_unprotected = true\n'
    )
    release = neuroveil("release", study, "--json")
    assert release.code == 0, release.err
    assert release.json["epsilon"] == 1.5
    assert "Not covered: sex" in release.json["verdict"]
    table = pd.read_csv(study.parent / "release" / "table.csv")
    assert list(table.columns[-2:]) == ["diagnosis", "sex"]
    assert "age" not in table.columns
    assert neuroveil("verify", study.parent / "release").code == 0


def test_a_changed_file_in_the_release_is_found(neuroveil, study):
    assert neuroveil("release", study).code == 0
    release = study.parent / "release"
    for name in ("table.csv", "table.parquet", "table.json", "STATEMENT.md", "report.html"):
        copy = study.parent / "copy"
        shutil.copytree(release, copy)
        content = bytearray((copy / name).read_bytes())
        content[len(content) // 2] ^= 1
        (copy / name).write_bytes(bytes(content))
        assert neuroveil("verify", copy).code == 4, name
        shutil.rmtree(copy)


@pytest.mark.parametrize("command", ["check", "extract", "release"])
def test_all_study_mistakes_at_once_with_exit_2(neuroveil, study, command):
    study.write_text('[privacy]\nepsilom = 1\nmechanism = "gausian"\n')
    answer = neuroveil(command, study, "--json")
    assert answer.code == 2
    assert len(answer.json["mistakes"]) == 2
    assert "Did you mean 'epsilon'" in answer.err


def test_sigkill_during_extraction_loses_no_finished_recording(neuroveil, study):
    process = subprocess.Popen(
        [sys.executable, "-m", "neuroveil", "extract", str(study), "--workers", "1", "-q"],
        start_new_session=True,
    )
    cache = study.parent / "internal" / "cache"
    deadline = time.monotonic() + 60
    while len(list(cache.glob("*.npz"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    finished = len(list(cache.glob("*.npz")))
    assert 3 <= finished <= 10  # 10 on a machine that looked away for a while
    again = neuroveil("extract", study, "--json")
    assert again.code == 0
    assert again.json["summary"]["recordings_reused"] == finished
    assert again.json["summary"]["recordings_computed"] == 10 - finished


def test_quiet_says_nothing_and_errors_still_do(neuroveil, study):
    assert neuroveil("extract", study, "--quiet").err == ""
    study.write_text("[nonsense]")
    assert neuroveil("extract", study, "--quiet").err != ""


def test_init_never_overwrites(neuroveil, tmp_path):
    assert neuroveil("init", "new.toml", "--layout", "pattern", cwd=tmp_path).code == 0
    assert neuroveil("init", "new.toml", cwd=tmp_path).code == 2
    assert 'layout = "pattern"' in (tmp_path / "new.toml").read_text()
    dry = neuroveil("init", "other.toml", "--dry-run", "--json", cwd=tmp_path)
    assert dry.json["written"] is False
    assert not (tmp_path / "other.toml").exists()
