"""Rosters: who takes part is fixed by a list or by file names, never by a header."""

from __future__ import annotations

import os

import pytest

from neuroveil.errors import RecordingError
from neuroveil.recordings import roster_from_bids, roster_from_manifest, roster_from_pattern


def touch(root, *names):
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    return root


def table(path, *rows, separator=","):
    path.write_text("\n".join(separator.join(row) for row in rows) + "\n", encoding="utf-8")
    return path


def shape(roster):
    return {e.patient: [(r.path.name, r.session) for r in e.recordings] for e in roster.entries}


def codes(roster):
    return {finding.code: finding.count for finding in roster.findings}


@pytest.fixture
def bids(tmp_path):
    table(tmp_path / "participants.tsv", ["participant_id", "age", "group"],
          ["sub-02", "31", "patient"], ["sub-01", "n/a", "control"], ["sub-03", "9", "patient"],
          separator="\t")  # fmt: skip
    return touch(
        tmp_path, "sub-01/eeg/sub-01_task-rest_eeg.edf", "sub-01/eeg/sub-01_task-rest_eeg.json",
        "sub-02/ses-a/eeg/sub-02_ses-a_eeg.vhdr", "sub-02/ses-a/eeg/sub-02_ses-a_eeg.eeg",
        "sub-02/ses-b/eeg/sub-02_ses-b_eeg.set", "sub-09/eeg/sub-09_eeg.edf",
        "sub-01/anat/sub-01_T1w.nii.gz",
    )  # fmt: skip


def test_bids(bids):
    roster = roster_from_bids(bids)
    assert shape(roster) == {
        "sub-01": [("sub-01_task-rest_eeg.edf", "")],
        "sub-02": [("sub-02_ses-a_eeg.vhdr", "a"), ("sub-02_ses-b_eeg.set", "b")],
        "sub-03": [],
    }
    assert roster.entries[0].attributes == {"age": "n/a", "group": "control"}
    assert (roster.n_patients, roster.n_recordings) == (3, 3)
    assert codes(roster) == {"patients_without_recording": 1, "unclaimed_files": 1}


def test_hidden_files_of_other_systems_are_no_recordings(bids):
    before = shape(roster_from_bids(bids))
    touch(bids, "sub-01/eeg/._sub-01_task-rest_eeg.edf", "sub-03/eeg")
    assert shape(roster_from_bids(bids)) == before


def test_a_folder_that_may_not_be_seen_does_not_count_as_empty(bids, monkeypatch):
    """Root may see everything, so the system's refusal is made up."""
    usual = os.scandir, os.listdir

    def forbidden(number):
        def look(folder="."):
            if "sub-02" in str(folder):
                raise PermissionError
            return usual[number](folder)

        return look

    monkeypatch.setattr(os, "scandir", forbidden(0))
    monkeypatch.setattr(os, "listdir", forbidden(1))
    with pytest.raises(RecordingError, match="Correct the rights") as caught:
        roster_from_bids(bids)
    assert "sub-02" not in str(caught.value)


def test_bids_with_chosen_patients_and_sessions(bids):
    roster = roster_from_bids(bids, patients=("sub-02",), sessions=("b",))
    assert shape(roster) == {"sub-02": [("sub-02_ses-b_eeg.set", "b")]}
    with pytest.raises(RecordingError, match="1 x chosen patient who is not on the list"):
        roster_from_bids(bids, patients=("sub-02", "sub-77"))


def test_bids_with_another_list_and_without_prefix(bids):
    other = table(bids / "mine.csv", ["participant_id"], ["01"])
    assert shape(roster_from_bids(bids, participants=other)) == {
        "01": [("sub-01_task-rest_eeg.edf", "")]
    }


def test_all_mistakes_of_a_list_at_once_and_no_key_among_them(bids):
    table(bids / "participants.tsv", ["participant_id"], ["sub-Kay"], ["sub-Kay"], ["sub-kay"],
          ["sub-K ay"], ["sub-02"], separator="\t")  # fmt: skip
    with pytest.raises(RecordingError) as caught:
        roster_from_bids(bids)
    message = str(caught.value)
    assert "1 x patient listed twice (rows 3)" in message
    assert "2 x patient key that differs" in message
    assert "kay" not in message.lower()


def test_bids_needs_its_list(tmp_path):
    with pytest.raises(RecordingError, match=r"participants\.tsv"):
        roster_from_bids(touch(tmp_path, "sub-01/eeg/sub-01_eeg.edf"))
    with pytest.raises(RecordingError, match="input folder"):
        roster_from_bids(tmp_path / "nowhere")


def test_manifest(tmp_path):
    touch(tmp_path, "a/1.edf", "a/2.edf", "3.mat")
    manifest = table(tmp_path / "m.csv", ["patient", "path", "session", "sex"],
                     ["P2", "a/1.edf", "x", "f"], ["P1", "", "", "m"], ["P2", "a/2.edf", "y", "f"],
                     ["P3", "3.mat", "", "f"])  # fmt: skip
    roster = roster_from_manifest(manifest, tmp_path)
    assert shape(roster) == {
        "P1": [], "P2": [("1.edf", "x"), ("2.edf", "y")], "P3": [("3.mat", "")],
    }  # fmt: skip
    assert roster.entries[0].attributes == {"sex": "m"}
    assert codes(roster) == {"patients_without_recording": 1}
    chosen = roster_from_manifest(manifest, tmp_path, patients=("P2",), sessions=("y",))
    assert shape(chosen) == {"P2": [("2.edf", "y")]}


def test_all_mistakes_of_a_manifest_at_once(tmp_path):
    root = touch(tmp_path / "root", "1.edf", "2.edf", "notes.txt")
    touch(tmp_path, "outside.edf")
    manifest = table(tmp_path / "m.csv", ["patient", "path", "sex"],
                     ["Anna", "1.edf", "f"], ["Anna", "2.edf", "m"], ["anna ", "1.edf", "f"],
                     ["B", "../outside.edf", "f"], ["C", str(tmp_path / "outside.edf"), "f"],
                     ["D", "missing.edf", "f"], ["E", "notes.txt", "f"], ["", "2.edf", "f"],
                     )  # fmt: skip
    with pytest.raises(RecordingError) as caught:
        roster_from_manifest(manifest, root)
    message = str(caught.value)
    for words in (
        "1 x row whose attributes differ from the patient's first row (rows 3)",
        "1 x patient key that differs from another only by case or white space (rows 4)",
        "2 x recording listed twice (rows 4, 9)", "2 x path outside the input folder (rows 5, 6)",
        "1 x recording that is not there (rows 7)", "1 x file of an unsupported kind (rows 8)",
        "1 x empty patient key (rows 9)",
    ):  # fmt: skip
        assert words in message
    assert "anna" not in message.lower()
    assert "edf" not in message


def test_a_link_out_of_the_folder_is_outside(tmp_path):
    root = touch(tmp_path / "root")
    root.mkdir()
    touch(tmp_path, "outside.edf")
    (root / "link.edf").symlink_to(tmp_path / "outside.edf")
    manifest = table(tmp_path / "m.csv", ["patient", "path"], ["A", "link.edf"])
    with pytest.raises(RecordingError, match="outside the input folder"):
        roster_from_manifest(manifest, root)


@pytest.mark.parametrize(
    ("content", "words"),
    [("", "empty file"), ("patient,\nA,\n", "columns without a name"),
     ("patient,path,path\n", "columns without a name or with the same"),
     ("patient,path\nA\nB,x\n", r"1 rows with another number \(first: row 2\)"),
     ("patient,sex\nA,f\n", "no column 'path'"), ('patient,path\n"A,x\n', "something else")],
)  # fmt: skip
def test_lists_that_cannot_be_read(tmp_path, content, words):
    path = tmp_path / "m.csv"
    path.write_text(content)
    with pytest.raises(RecordingError, match=words):
        roster_from_manifest(path, tmp_path)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
def test_lists_as_spreadsheets_write_them(tmp_path, separator, encoding):
    touch(tmp_path, "1.edf")
    rows = [["patient", "path", "Größe"], ["P1", "1.edf", "groß"], ["", "", ""]]
    path = tmp_path / "m.csv"
    path.write_bytes("\r\n".join(separator.join(r) for r in rows).encode(encoding))
    roster = roster_from_manifest(path, tmp_path)
    assert roster.entries[0].attributes == {"Größe": "groß"}


def test_pattern(tmp_path):
    touch(tmp_path, "S2_1.edf", "S1_2.edf", "S1_1.edf", "notes.txt", "other.edf", ".S9_1.edf")
    roster = roster_from_pattern(tmp_path, "{patient}_{session}.edf")
    assert shape(roster) == {
        "S1": [("S1_1.edf", "1"), ("S1_2.edf", "2")], "S2": [("S2_1.edf", "1")],
    }  # fmt: skip
    assert codes(roster) == {"unclaimed_files": 1}


def test_pattern_with_a_list_and_chosen_patients(tmp_path):
    touch(tmp_path, "S1_1.edf", "S2_1.edf", "S3_1.edf")
    people = table(tmp_path / "people.csv", ["Subject", "Age"], ["S1", "20"], ["S4", "30"],
                   ["S2", "40"])  # fmt: skip
    roster = roster_from_pattern(tmp_path, "{patient}_{session}.edf", people)
    assert {k: len(v) for k, v in shape(roster).items()} == {"S1": 1, "S2": 1, "S4": 0}
    assert roster.entries[1].attributes == {"Age": "40"}
    assert codes(roster) == {"patients_without_recording": 1, "unclaimed_files": 1}
    fixed = roster_from_pattern(tmp_path, "{patient}_{session}.edf", patients=("S3", "S9"))
    assert {k: len(v) for k, v in shape(fixed).items()} == {"S3": 1, "S9": 0}
    both = roster_from_pattern(tmp_path, "{patient}_{session}.edf", people, patients=("S2",))
    assert [e.attributes for e in both.entries] == [{"Age": "40"}]


@pytest.mark.parametrize(
    ("pattern", "name", "found"),
    [
        ("{patient}/{session}.edf", "A/x.edf", ("A", "x")),
        ("{patient}/{patient}_{session}.edf", "A/A_x.edf", ("A", "x")),
        ("{patient}/*.edf", "A/whatever.edf", ("A", "")),
        ("site[1]/{patient}.edf", "site[1]/A.edf", ("A", "")),
        ("{patient}_rest.edf", "A_b_rest.edf", ("A_b", "")),
    ],
)
def test_patterns(tmp_path, pattern, name, found):
    roster = roster_from_pattern(touch(tmp_path, name), pattern)
    assert [(e.patient, e.recordings[0].session) for e in roster.entries] == [found]


def test_a_name_that_can_be_divided_in_two_ways_is_refused(tmp_path):
    touch(tmp_path, "A_B_C.edf")
    with pytest.raises(RecordingError, match="1 x file whose name can be divided in two ways"):
        roster_from_pattern(tmp_path, "{patient}_{session}.edf")


def test_file_names_that_differ_only_by_case(tmp_path):
    touch(tmp_path, "a_1.edf", "A_1.edf")
    with pytest.raises(RecordingError, match="differs from another only by case"):
        roster_from_pattern(tmp_path, "{patient}_{session}.edf")


@pytest.mark.parametrize(
    "pattern",
    ["*.edf", "{name}.edf", "{patient}_{}.edf", "/etc/{patient}", "../{patient}.edf",
     "{patient.edf", "{patient}}.edf"],
)  # fmt: skip
def test_patterns_that_make_no_sense(tmp_path, pattern):
    with pytest.raises(RecordingError, match="file name pattern"):
        roster_from_pattern(tmp_path, pattern)


def test_nobody_is_a_mistake(tmp_path):
    with pytest.raises(RecordingError, match="at least one patient"):
        roster_from_pattern(tmp_path, "{patient}.edf")
