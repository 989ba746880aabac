from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuroveil.errors import LinkageError
from neuroveil.linkage.dates import canonical_date

ROLE = "date of birth, line 3"


@pytest.mark.parametrize(
    "written",
    [
        "1970-03-01", "19700301", "1970/3/1", "1970.03.01", "01.03.1970", "1/3/1970", "1-3-1970",
        "1. 3. 1970", "1970-03-01T00:00:00", "1970-03-01 12:30", "1 March 1970", "1st Mar 1970",
        "March 1, 1970", "1. März 1970", "1. Maerz 1970", "1. mars 1970", "1 maart 1970",
        "1 mrt 1970", "1. maaliskuuta 1970", "１９７０－０３－０１",
    ],
)  # fmt: skip
def test_common_forms_of_a_date_become_one(written):
    assert canonical_date(written, "dmy", ROLE) == "1970-03-01"


@pytest.mark.parametrize(
    ("word", "month"),
    [
        ("januar", 1), ("tammikuuta", 1), ("februari", 2), ("helmikuuta", 2), ("apríl", 4),
        ("huhtikuuta", 4), ("maj", 5), ("mei", 5), ("toukokuuta", 5), ("juni", 6),
        ("kesäkuuta", 6), ("juli", 7), ("heinäkuuta", 7), ("augusti", 8), ("elokuuta", 8),
        ("september", 9), ("syyskuuta", 9), ("oktober", 10), ("lokakuuta", 10), ("november", 11),
        ("marraskuuta", 11), ("Dezember", 12), ("desember", 12), ("joulukuuta", 12),
    ],
)  # fmt: skip
def test_months_are_known_by_name(word, month):
    assert canonical_date(f"7. {word} 1988", "dmy", ROLE) == f"1988-{month:02d}-07"


def test_the_order_of_day_and_month_is_stated_not_guessed():
    assert canonical_date("01/02/1970", "dmy", ROLE) == "1970-02-01"
    assert canonical_date("01/02/1970", "mdy", ROLE) == "1970-01-02"


@given(st.dates(date(1850, 1, 1), date(2150, 12, 31)))
def test_every_day_is_read_back(day):
    assert canonical_date(day.isoformat(), "dmy", ROLE) == day.isoformat()
    assert canonical_date(day.strftime("%d.%m.%Y"), "dmy", ROLE) == day.isoformat()
    assert canonical_date(f"{day:%m/%d/%Y}", "mdy", ROLE) == day.isoformat()


@pytest.mark.parametrize(
    "wrong",
    ["70-03-01", "01.03.70", "31.02.1970", "1970-13-01", "0070-01-01", "25567", "unknown",
     "1 Brumaire 1970", "1970", "13/13/1970"],
)  # fmt: skip
def test_what_is_no_date_is_refused_without_repeating_it(wrong):
    with pytest.raises(LinkageError, match="date of birth, line 3") as caught:
        canonical_date(wrong, "dmy", ROLE)
    assert wrong not in str(caught.value).replace("1970-01-31", "").replace("31.01.1970", "")


def test_an_empty_date_stays_empty():
    assert canonical_date("", "dmy", ROLE) == ""
