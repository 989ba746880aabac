"""What could keep a paid release from being written is found before it is paid."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from neuroveil.errors import MachineError, StudyError
from neuroveil.pipeline import claim
from neuroveil.pipeline.claim import check_apart, check_target, claimed, uninterrupted


def test_a_claim_gives_an_empty_draft_and_leaves_nothing(tmp_path):
    with claimed(tmp_path / "deep" / "release", 100) as draft:
        assert list(draft.iterdir()) == []
        assert draft.parent == tmp_path / "deep"
        (draft / "file").write_text("x")
    assert list((tmp_path / "deep").iterdir()) == []


def test_two_releases_cannot_claim_the_same_folder(tmp_path):
    with claimed(tmp_path / "release", 1):
        with pytest.raises(StudyError, match="another release"), claimed(tmp_path / "release", 1):
            pass
        with claimed(tmp_path / "other", 1):
            pass
    with claimed(tmp_path / "release", 1):
        pass


_KILLED = """
import os, sys
from pathlib import Path
from neuroveil.pipeline.claim import claimed
with claimed(Path(sys.argv[1]), 1) as draft:
    (draft / "half").write_text("x")
    os.kill(os.getpid(), 9)
"""


def test_what_a_killed_run_left_behind_is_swept(tmp_path):
    target = tmp_path / "release"
    subprocess.run([sys.executable, "-c", _KILLED, str(target)], check=False)
    assert len(list(tmp_path.iterdir())) == 2
    with claimed(target, 1) as draft:
        assert list(draft.iterdir()) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["x" * 300, "b\udcff\udcfe"])
def test_names_that_no_file_system_or_library_takes_are_refused(tmp_path, name):
    with pytest.raises(StudyError, match="Nothing was spent"), claimed(tmp_path / name, 1):
        pass
    assert list(tmp_path.iterdir()) == []


def test_an_existing_folder_and_a_dangling_link_are_refused(tmp_path):
    (tmp_path / "release").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("release", "link"):
        with pytest.raises(StudyError, match="existing one"):
            check_target(tmp_path / name)


def test_room_is_asked_for_by_the_size_of_the_table(tmp_path, monkeypatch):
    monkeypatch.setattr(
        claim.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(0, 0, 1 << 28)
    )
    check_target(tmp_path / "release", 100 * 363)
    with pytest.raises(StudyError, match=r"569 MiB of free disk space, found 256 MiB"):
        check_target(tmp_path / "release", 10_000 * 704)


@pytest.mark.parametrize(
    ("internal", "release"),
    [("a", "a"), ("a", "a/b"), ("a/b", "a"), ("a", "x/../a/b"), ("..", "r")],
)
def test_internal_and_release_folders_never_meet(tmp_path, internal, release):
    base = tmp_path / "base"
    (base / "x").mkdir(parents=True)
    with pytest.raises(StudyError, match="folders that meet"):
        check_apart(base / internal, base / release)
    check_apart(base / "one", base / "two")


def test_a_link_into_the_internal_folder_is_seen(tmp_path):
    (tmp_path / "internal").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "internal")
    with pytest.raises(StudyError, match="folders that meet"):
        check_apart(tmp_path / "internal", tmp_path / "link" / "release")


@pytest.fixture
def _default_interruption():
    """Other tests import libraries that handle interruptions in their own way."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_default_interruption")
def test_an_interruption_waits_until_what_was_paid_for_is_written():
    steps = []

    def interrupted_while_writing() -> None:
        with uninterrupted():
            os.kill(os.getpid(), signal.SIGINT)
            steps.append("written")

    with pytest.raises(KeyboardInterrupt):
        interrupted_while_writing()
    assert steps == ["written"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_errors_after_the_charge_say_that_budget_was_spent(release):
    from neuroveil.pipeline.release import paid

    said = pytest.raises(MachineError, match=r"Budget was spent \(entry 1 of the ledger\)")
    with said, paid(release.charge):
        raise OSError(28, "No space", str(Path("/secret/name")))
