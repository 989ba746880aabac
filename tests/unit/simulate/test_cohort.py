"""Files, layout, determinism and what happens when a run is repeated or broken off."""

from __future__ import annotations

import csv
import hashlib
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from neuroveil.errors import StudyError
from neuroveil.simulate import CohortSpec, plan_cohort, simulate_cohort
from neuroveil.types.catalogue import STANDARD_CHANNELS


def digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def test_default_cohort_is_what_was_promised(cohort: Any) -> None:
    truth = cohort.truth
    assert len(truth.patients) == 24
    assert {patient.hospital for patient in truth.patients} == {"hospital-1", "hospital-2"}
    assert all(len(truth.sessions_of(patient.patient)) == 2 for patient in truth.patients)
    assert {session.sfreq for session in truth.sessions} == {250, 256, 500}
    assert sum(patient.diagnosis == "epilepsy" for patient in truth.patients) == 12
    assert {kind for session in truth.sessions for kind in session.kinds} == {"EEG", "EOG", "ECG"}
    assert any("EOG" not in session.kinds for session in truth.sessions)
    rates = [{s.sfreq for s in truth.sessions_of(p.patient)} for p in truth.patients]
    assert any(len(each) == 2 for each in rates)


@pytest.mark.slow
def test_files_open_with_mne_as_they_are_described(cohort: Any) -> None:
    import mne

    for session in cohort.truth.sessions:
        path = cohort.path(session)
        raw = mne.io.read_raw_edf(path, verbose="error")
        assert raw.info["sfreq"] == session.sfreq
        assert tuple(raw.ch_names) == session.labels
        assert raw.n_times == session.n_times
        assert (raw.info["highpass"], raw.info["lowpass"]) == (0.1, 95.0)
        sidecar = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        assert sidecar["SamplingFrequency"] == session.sfreq
        assert sidecar["RecordingDuration"] == session.seconds
        channels = table(path.with_name(path.name.replace("_eeg.edf", "_channels.tsv")))
        assert tuple(row["name"] for row in channels) == session.labels
        assert tuple(row["type"] for row in channels) == session.kinds
        bad = tuple(row["name"] for row in channels if row["status"] == "bad")
        assert bad == session.flat_channels


def test_files_are_edf_plus_without_a_person_in_the_header(cohort: Any) -> None:
    header = cohort.path(cohort.truth.sessions[0]).read_bytes()[:256]
    assert header[:8] == b"0       "
    assert header[8:88].decode("ascii").split() == ["X", "X", "X", "X"]
    assert header[88:168].decode("ascii").split() == ["Startdate", "X", "X", "X", "X"]
    assert header[192:197] == b"EDF+C"


def test_hospitals_name_their_channels_in_their_own_way(cohort: Any) -> None:
    hospital = {patient.patient: patient.hospital for patient in cohort.truth.patients}
    for session in cohort.truth.sessions:
        eeg = session.labels[: len(STANDARD_CHANNELS)]
        if hospital[session.patient] == "hospital-1":
            assert eeg == STANDARD_CHANNELS
        else:
            assert eeg[0] == "EEG Fp1-REF"
            assert "EEG T3-REF" in eeg
            assert "EEG T7-REF" not in eeg


def test_participants_table_holds_the_roster_and_no_name(cohort: Any) -> None:
    rows = table(cohort.folder / "participants.tsv")
    assert list(rows[0]) == ["participant_id", "age", "sex", "diagnosis", "hospital"]
    assert [row["participant_id"] for row in rows] == [p.patient for p in cohort.truth.patients]
    assert all(18 <= int(row["age"]) <= 80 for row in rows)
    assert {row["sex"] for row in rows} == {"F", "M"}
    dictionary = json.loads((cohort.folder / "participants.json").read_text(encoding="utf-8"))
    assert set(dictionary) == {"age", "sex", "diagnosis", "hospital"}
    assert set(dictionary["diagnosis"]["Levels"]) == {row["diagnosis"] for row in rows}


def test_every_participant_has_a_folder_and_nothing_else_is_there(cohort: Any) -> None:
    names = {path.name for path in cohort.folder.iterdir()}
    top = {"README", "dataset_description.json", "participants.tsv", "participants.json"}
    assert names == top | {patient.patient for patient in cohort.truth.patients}
    assert not list(cohort.folder.rglob("*unfinished*"))
    assert not list(cohort.folder.parent.glob(".*"))


def test_truth_is_not_written_down(cohort: Any) -> None:
    peak = cohort.truth.patients[0].signature.alpha_peak_hz
    written = b"".join(
        path.read_bytes()
        for path in cohort.folder.rglob("*")
        if path.suffix != ".edf" and path.is_file()
    )
    assert repr(peak).encode() not in written
    assert b"alpha" not in written


def test_same_specification_gives_the_same_bytes(tmp_path: Path, small_spec: CohortSpec) -> None:
    first = simulate_cohort(tmp_path / "first", small_spec)
    second = simulate_cohort(tmp_path / "second", small_spec)
    assert first == second
    assert digests(tmp_path / "first") == digests(tmp_path / "second")


def test_another_seed_gives_other_people(small_spec: CohortSpec) -> None:
    ours, others = plan_cohort(small_spec), plan_cohort(replace(small_spec, seed=4))
    for one, other in zip(ours.patients, others.patients, strict=True):
        assert one.signature != other.signature


def test_first_people_of_a_larger_cohort_are_the_same(small_spec: CohortSpec) -> None:
    small = plan_cohort(replace(small_spec, n_hospitals=1))
    large = plan_cohort(replace(small_spec, n_hospitals=1, n_patients=9))
    assert large.patients[:4] == small.patients
    assert large.sessions[:8] == small.sessions


def test_repeated_call_does_nothing(tmp_path: Path, small_spec: CohortSpec) -> None:
    truth = simulate_cohort(tmp_path / "cohort", small_spec)
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "cohort").rglob("*")}
    calls: list[tuple[int, int]] = []
    again = simulate_cohort(tmp_path / "cohort", small_spec, lambda *call: calls.append(call))
    assert again == truth
    assert calls == []
    assert times == {path: path.stat().st_mtime_ns for path in (tmp_path / "cohort").rglob("*")}


def test_interrupted_run_goes_on_where_it_stopped(tmp_path: Path, small_spec: CohortSpec) -> None:
    class Interrupted(Exception):
        pass

    def stop_after_three(done: int, total: int) -> None:
        assert total == 8
        if done == 3:
            raise Interrupted

    target = tmp_path / "cohort"
    with pytest.raises(Interrupted):
        simulate_cohort(target, small_spec, stop_after_three)
    assert not target.exists()
    (unfinished,) = tmp_path.glob(".cohort.unfinished-*")
    kept = {path: path.stat().st_mtime_ns for path in unfinished.rglob("*.edf")}
    assert len(kept) == 3
    simulate_cohort(target, small_spec)
    assert not unfinished.exists()
    moved = {target / path.relative_to(unfinished): when for path, when in kept.items()}
    assert all(path.stat().st_mtime_ns == when for path, when in moved.items())
    simulate_cohort(tmp_path / "whole", small_spec)
    assert digests(target) == digests(tmp_path / "whole")


def test_progress_counts_the_recordings(tmp_path: Path, small_spec: CohortSpec) -> None:
    calls: list[tuple[int, int]] = []
    simulate_cohort(tmp_path / "cohort", small_spec, lambda *call: calls.append(call))
    assert calls == [(done, 8) for done in range(1, 9)]


def test_empty_folder_is_taken(tmp_path: Path, small_spec: CohortSpec) -> None:
    (tmp_path / "cohort").mkdir()
    simulate_cohort(tmp_path / "cohort", small_spec)
    assert (tmp_path / "cohort" / "participants.tsv").is_file()


@pytest.mark.parametrize("name", ["notes.txt", "dataset_description.json"])
def test_folder_with_something_else_is_refused(
    tmp_path: Path, small_spec: CohortSpec, name: str
) -> None:
    (tmp_path / name).write_text("[]", encoding="utf-8")
    with pytest.raises(StudyError, match="something else"):
        simulate_cohort(tmp_path, small_spec)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_another_cohort_is_refused(tmp_path: Path, small_spec: CohortSpec) -> None:
    simulate_cohort(tmp_path / "cohort", small_spec)
    before = digests(tmp_path / "cohort")
    with pytest.raises(StudyError, match="something else"):
        simulate_cohort(tmp_path / "cohort", replace(small_spec, seed=99))
    assert digests(tmp_path / "cohort") == before


def test_incomplete_cohort_is_refused(tmp_path: Path, small_spec: CohortSpec) -> None:
    simulate_cohort(tmp_path / "cohort", small_spec)
    next((tmp_path / "cohort").rglob("*.edf")).unlink()
    with pytest.raises(StudyError, match="1 of 8 recordings missing"):
        simulate_cohort(tmp_path / "cohort", small_spec)


def test_a_file_in_the_way_is_refused(tmp_path: Path, small_spec: CohortSpec) -> None:
    (tmp_path / "cohort").write_text("", encoding="utf-8")
    with pytest.raises(StudyError, match="output folder"):
        simulate_cohort(tmp_path / "cohort", small_spec)


def test_sizes_can_be_chosen(tmp_path: Path) -> None:
    spec = CohortSpec(
        n_patients=3, n_hospitals=3, n_sessions=1, seconds=10.0, sampling_rates=(1000,),
        line_frequency=60.0, epilepsy_share=1.0,
    )  # fmt: skip
    truth = simulate_cohort(tmp_path / "cohort", spec)
    assert [patient.hospital for patient in truth.patients] == [
        "hospital-1", "hospital-2", "hospital-3",
    ]  # fmt: skip
    assert len(list((tmp_path / "cohort").rglob("*.edf"))) == 3
    assert all(session.sfreq == 1000 for session in truth.sessions)
    assert all(patient.focus is not None for patient in truth.patients)


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_patients": 0}, {"n_patients": 10_000}, {"n_patients": 2.0}, {"n_patients": True},
        {"n_hospitals": 0}, {"n_hospitals": 25}, {"n_sessions": 0}, {"seconds": 5.0},
        {"seconds": float("nan")}, {"seconds": float("inf")}, {"sampling_rates": ()},
        {"sampling_rates": (100,)}, {"sampling_rates": (250.0,)}, {"sampling_rates": [250]},
        {"epilepsy_share": 1.5}, {"epilepsy_share": -0.1}, {"line_frequency": 55.0},
        {"seed": -1}, {"seed": 1.5},
    ],
    ids=str,
)  # fmt: skip
def test_bad_settings_are_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(StudyError) as refusal:
        CohortSpec(**wrong)
    assert f"simulate.{next(iter(wrong))}" in {each.where for each in refusal.value.mistakes}


def test_all_bad_settings_are_named_at_once() -> None:
    with pytest.raises(StudyError) as refusal:
        CohortSpec(seconds=1.0, epilepsy_share=2.0, seed=-5)
    assert [mistake.where for mistake in refusal.value.mistakes] == [
        "simulate.seconds", "simulate.epilepsy_share", "simulate.seed",
    ]  # fmt: skip


def test_digest_follows_every_setting() -> None:
    base = CohortSpec()
    others = [
        replace(base, n_patients=23), replace(base, n_hospitals=3), replace(base, n_sessions=3),
        replace(base, seconds=61.0), replace(base, sampling_rates=(250,)),
        replace(base, epilepsy_share=0.4), replace(base, line_frequency=60.0),
        replace(base, n_in_two_hospitals=3), replace(base, seed=1),
    ]  # fmt: skip
    assert len({spec.digest for spec in [base, *others]}) == 10


@pytest.mark.alone
def test_default_cohort_takes_under_eight_seconds(tmp_path: Path) -> None:
    """Processor time, which a busy machine stretches less than the clock."""
    start = time.process_time()
    simulate_cohort(tmp_path / "cohort")
    assert time.process_time() - start < 8
