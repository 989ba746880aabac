from pathlib import Path
from typing import get_args

import pytest

from neuroveil.errors import LinkageError, StudyError
from neuroveil.pipeline.linked_roster import link_roster
from neuroveil.pipeline.promise import protect_settings
from neuroveil.privacy.settings import Dedup
from neuroveil.privacy.verify.rules_rows import DEDUP
from neuroveil.study import load_study
from neuroveil.types.recording import RecordingFile, Roster, RosterEntry

STUDY = """\
[input]
layout = "bids"
folder = "cohort"
[privacy]
mechanism = "gaussian"
epsilon = 1.0
delta = 1e-5
"""

PEOPLE = """\
patient,person,undecided,seconds,seen_on,hospital
a,1,,60,2020-01-01,north
b,2,,60,2020-01-01,north
c,1,,90,2019-05-05,south
"""


def entry(patient: str, **attributes: str) -> RosterEntry:
    return RosterEntry(patient, (RecordingFile(Path(f"{patient}.edf")),), attributes)


@pytest.fixture
def roster() -> Roster:
    return Roster((entry("a", sex="", age="30"), entry("b", sex="M"), entry("c", sex="F")))


@pytest.fixture
def make_study(tmp_path):
    def make(linkage: str, people: str = PEOPLE):
        (tmp_path / "people.csv").write_text(people, encoding="utf-8")
        (tmp_path / "study.toml").write_text(
            f'{STUDY}[linkage]\npeople = "people.csv"\n{linkage}\n', encoding="utf-8"
        )
        return load_study(tmp_path)

    return make


def files(roster: Roster) -> list[list[str]]:
    return [[str(recording.path) for recording in e.recordings] for e in roster.entries]


def test_pooling_keeps_every_recording_of_a_person(make_study, roster):
    linked = link_roster(make_study(""), roster)
    assert [e.patient for e in linked.entries] == ["a", "b"]
    assert files(linked) == [["a.edf", "c.edf"], ["b.edf"]]
    assert linked.entries[0].attributes == {"sex": "F", "age": "30"}
    assert [(f.code, f.count) for f in linked.findings] == [("linked_patients", 1)]


@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        ('policy = "keep_longest"\ncolumn = "seconds"', "c.edf"),
        ('policy = "keep_newest"\ncolumn = "seen_on"', "a.edf"),
        ('policy = "hospital_order"\ncolumn = "hospital"\norder = ["south", "north"]', "c.edf"),
        ('policy = "hospital_order"\ncolumn = "hospital"\norder = ["north", "south"]', "a.edf"),
    ],
)
def test_one_row_is_kept_by_what_the_people_file_says(make_study, roster, settings, kept):
    linked = link_roster(make_study(settings), roster)
    assert files(linked) == [[kept], ["b.edf"]]
    assert [e.patient for e in linked.entries] == ["a", "b"]


def test_a_study_without_linkage_keeps_its_roster(tmp_path, roster):
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    study = load_study(tmp_path)
    assert link_roster(study, roster) is roster
    assert protect_settings(study, 20).dedup == "roster_key"


def test_the_certificate_says_how_people_were_found(make_study):
    assert protect_settings(make_study(""), 20).dedup == "linked_pool"
    together = 'policy = "keep_newest"\ncolumn = "seen_on"\nundecided = "together"'
    dedup = protect_settings(make_study(together), 20).dedup
    assert dedup == "linked_keep_newest_undecided_together"


def test_what_a_release_can_say_is_what_verification_knows():
    assert set(get_args(Dedup)) == set(DEDUP)


def test_undecided_pairs_stop_a_release_or_are_put_together(make_study, roster):
    """Under no setting has a person two rows who may be one."""
    open_pair = PEOPLE.replace("a,1,,", "a,1,x,").replace("b,2,,", "b,2,x,")
    with pytest.raises(LinkageError, match="1 undecided groups"):
        link_roster(make_study("", open_pair), roster)
    together = link_roster(make_study('undecided = "together"', open_pair), roster)
    assert files(together) == [["a.edf", "b.edf", "c.edf"]]
    assert [(f.code, f.count) for f in together.findings] == [("linked_patients", 2)]
    kept = 'policy = "keep_longest"\ncolumn = "seconds"\nundecided = "together"'
    assert files(link_roster(make_study(kept, open_pair), roster)) == [["c.edf"]]
    assert link_roster(make_study('undecided = "together"'), roster).n_patients == 2
    with pytest.raises(StudyError, match="'separate'"):
        make_study('undecided = "separate"')


def test_undecided_groups_that_share_a_person_are_one(make_study):
    keys = "abcdef"
    roster = Roster(tuple(entry(key) for key in keys))
    people = "patient,person,undecided\na,1,x\nb,2,x\nc,2,y\nd,3,y\ne,4,z\nf,5,\n"
    linked = link_roster(make_study('undecided = "together"', people), roster)
    assert files(linked) == [["a.edf", "b.edf", "c.edf", "d.edf"], ["e.edf"], ["f.edf"]]


def test_a_people_file_without_the_column_of_open_pairs_is_refused(make_study, roster):
    people = PEOPLE.replace("undecided", "remark")
    with pytest.raises(LinkageError, match="column 'undecided'"):
        link_roster(make_study("", people), roster)


def test_blanks_around_a_persons_number_make_no_second_person(make_study, roster):
    linked = link_roster(make_study("", PEOPLE.replace("c,1,", "c, 1 ,")), roster)
    assert files(linked) == [["a.edf", "c.edf"], ["b.edf"]]


def test_a_pair_that_was_decided_is_no_longer_open(make_study, roster):
    decided = PEOPLE.replace("a,1,,", "a,1,x,").replace("c,1,,", "c,1,x,")
    assert link_roster(make_study("", decided), roster).n_patients == 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("c,1", "d,1", "1 who are missing and 1 who are not"),
        ("b,2", "b,", "row 3"),
        ("c,1", "a,2", "each patient once, found 1 who stand there again"),
        ("90", "ninety", "row 4, column 'seconds'"),
        ("90", "nan", "row 4, column 'seconds'"),
        ("60,2020-01-01,north\nb", "-1,2020-01-01,north\nb", "row 2, column 'seconds'"),
    ],
)
def test_a_people_file_that_does_not_fit_is_refused(make_study, roster, old, new, message):
    study = make_study('policy = "keep_longest"\ncolumn = "seconds"', PEOPLE.replace(old, new, 1))
    with pytest.raises(LinkageError, match=message) as refusal:
        link_roster(study, roster)
    assert "ninety" not in str(refusal.value)


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ('policy = "keep_longest"', "linkage.column"),
        ('column = "seconds"', "linkage.column"),
        ('policy = "hospital_order"\ncolumn = "hospital"', "linkage.order"),
        ('policy = "hospital_order"\ncolumn = "hospital"\norder = ["a", "a"]', "linkage.order"),
        ('policy = "keep_all"', "linkage.policy"),
    ],
)
def test_settings_that_do_not_fit_are_named(make_study, settings, place):
    with pytest.raises(StudyError) as refusal:
        make_study(settings)
    assert place in {mistake.where for mistake in refusal.value.mistakes}
