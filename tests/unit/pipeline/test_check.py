"""What a check says about a cohort with the problems that cohorts have."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from neuroveil.pipeline.check import CheckReport, check_study
from neuroveil.pipeline.inspection import FEW
from neuroveil.simulate import CohortSpec, simulate_cohort
from neuroveil.study import load_study
from neuroveil.types.catalogue import STANDARD_CHANNELS

STUDY = """\
[input]
layout = "pattern"
folder = "."
pattern = "{patient}.edf"
population = "adults"

[privacy]
epsilon = 1.0
"""
WIDTHS = {"label": 16, "transducer": 80, "unit": 8, "physical_min": 8, "physical_max": 8}


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> bytes:
    folder = tmp_path_factory.mktemp("one") / "cohort"
    simulate_cohort(folder, CohortSpec(n_patients=1, n_hospitals=1, seconds=10.0))
    return next(folder.rglob("*.edf")).read_bytes()


def with_field(data: bytes, field: str, change: Callable[[str, int], str]) -> bytes:
    """Write one field of every signal of an EDF header anew."""
    n = int(data[252:256])
    names = list(WIDTHS)
    start = 256 + n * sum(WIDTHS[name] for name in names[: names.index(field)])
    width, changed = WIDTHS[field], bytearray(data)
    for i in range(n):
        at = slice(start + i * width, start + (i + 1) * width)
        changed[at] = change(data[at].decode("latin-1").strip(), i).ljust(width)[:width].encode()
    return bytes(changed)


def without_unit(data: bytes) -> bytes:
    return with_field(data, "unit", lambda *_: "")


def in_volts(data: bytes) -> bytes:
    """Microvolts by the wrong name."""
    return with_field(data, "unit", lambda *_: "V")


def bipolar(data: bytes) -> bytes:
    pairs = ("Fp1-F7", "F7-T3", "T3-T5", "T5-O1")
    return with_field(data, "label", lambda _, i: pairs[i] if i < 4 else f"X{i}")


def without_pz(data: bytes) -> bytes:
    return with_field(data, "label", lambda text, _: "X9" if "PZ" in text.upper() else text)


@pytest.fixture
def check(tmp_path) -> Callable[..., CheckReport]:
    """Check a cohort with these files."""

    def run(*files: bytes) -> CheckReport:
        for number, data in enumerate(files):
            (tmp_path / f"p{number:03}.edf").write_bytes(data)
        (tmp_path / "study.toml").write_text(STUDY)
        return check_study(load_study(tmp_path / "study.toml"))

    return run


def settings_of(report: CheckReport) -> dict[str, object]:
    return {suggestion.setting: suggestion.value for suggestion in report.suggestions}


def test_a_cohort_without_problems(check, good):
    report = check(good, good)
    assert (report.n_usable, report.n_recordings) == (2, 2)
    assert not [problem for problem in report.problems if problem.blocking]
    assert not report.suggestions


def test_problems_are_counted_by_kind(check, good):
    cut = good[: len(good) // 2]
    report = check(good, cut, good[: len(good) // 3], b"<html>", without_unit(good), bipolar(good))
    kinds = {problem.code: problem for problem in report.problems}
    assert report.n_usable == 3
    assert (kinds["truncated"].n_recordings, kinds["truncated"].blocking) == (2, False)
    for code in ("damaged", "unit_unknown", "bipolar_file"):
        assert (kinds[code].n_recordings, kinds[code].blocking) == (1, True)
    blocking = [problem.blocking for problem in report.problems]
    assert blocking == sorted(blocking, reverse=True)


def test_a_unit_is_suggested_where_it_makes_the_files_eeg(check, good):
    report = check(good, without_unit(good), without_unit(good))
    assert settings_of(report)["input.unit"] == "uV"
    (suggestion,) = report.suggestions
    assert suggestion.n_recordings == 2
    assert suggestion.line() == 'input.unit = "uV"'


def test_an_override_is_suggested_only_where_it_breaks_no_other_file(check, good):
    report = check(good, in_volts(good))
    assert settings_of(report)["input.unit_override"] == "uV"


def test_the_bipolar_montage_is_suggested_where_most_files_are_bipolar(check, good):
    found = settings_of(check(bipolar(good), bipolar(good), good))
    assert found["montage.kind"] == "bipolar"
    assert found["montage.channels"] == sorted(("Fp1-F7", "F7-T7", "T7-P7", "P7-O1"))
    assert "montage.kind" not in settings_of(check(bipolar(good), good, good))


def test_a_channel_that_nobody_has_is_named(check, good):
    found = settings_of(check(without_pz(good), without_pz(good)))
    assert found["montage.channels"] == [name for name in STANDARD_CHANNELS if name != "Pz"]
    assert "montage.channels" not in settings_of(check(without_pz(good), good))


@pytest.mark.slow
def test_many_files_are_looked_into_by_processes(check, good):
    files = [good, without_unit(good), b"no EDF"] * (FEW // 2)
    report = check(*files)
    assert report.n_usable == FEW // 2
    blocking = {p.code: p.n_recordings for p in report.problems if p.blocking}
    assert blocking == {"unit_unknown": FEW // 2, "damaged": FEW // 2}
    assert settings_of(report)["input.unit"] == "uV"


@pytest.mark.slow
def test_filters_that_only_some_headers_state(eegmat, tmp_path):
    """The data's authors filtered all recordings at 45 Hz; part of the headers say so."""
    (tmp_path / "study.toml").write_text(
        STUDY.replace('folder = "."', f'folder = "{eegmat}"')
        .replace("{patient}", "{patient}_{session}")
    )  # fmt: skip
    report = check_study(load_study(tmp_path / "study.toml"))
    assert settings_of(report)["input.lowpass_hz"] == 45.0
    assert "input.lowpass_hz = 45" in [suggestion.line() for suggestion in report.suggestions]
