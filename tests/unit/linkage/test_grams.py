import pytest

from neuroveil.errors import LinkageError
from neuroveil.linkage.grams import canonical_value, cut_into_grams

ROLE = "field, line 2"


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("name", "Sørensen", "SOERENSEN"),
        ("full_name", "Nguyễn Văn An", "An, Van Nguyen"),
        ("date", "01.03.1970", "1970-03-01"),
        ("postcode", "SW1A 1AA", "sw1a1aa"),
        ("text", "Storgata 12, 3. etg.", "storgata 12 3 etg"),
        ("number", "007", "7"),
        ("category", "F", " f "),
    ],
)
def test_ways_of_writing_a_value_become_one(kind, one, other):
    first = canonical_value(one, kind, "dmy", ROLE)
    assert first
    assert first == canonical_value(other, kind, "dmy", ROLE)


def test_postcodes_keep_their_leading_zeros():
    assert canonical_value("0455", "postcode", "dmy", ROLE) == "0455"


@pytest.mark.parametrize(
    ("text", "kind", "grams"),
    [
        ("ab cd", "name", {"_a", "ab", "b_", "_c", "cd", "d_"}),
        ("f", "category", {"=f"}),
        ("", "name", set()),
        ("", "category", set()),
        ("", "date", set()),
        (
            "1970-03-01", "date",
            {"0:_1", "1:19", "2:97", "3:70", "4:00", "5:03", "6:30", "7:01", "8:1_"},
        ),
    ],
)  # fmt: skip
def test_the_pieces_of_a_value(text, kind, grams):
    assert cut_into_grams(text, kind) == grams


def test_one_wrong_letter_changes_few_pieces():
    one, other = (cut_into_grams(name, "name") for name in ("hansen", "hanzen"))
    assert len(one ^ other) == 4
    assert len(one & other) == 5


def test_a_value_of_the_wrong_kind_is_refused():
    with pytest.raises(LinkageError, match="field, line 2"):
        canonical_value("someday", "date", "dmy", ROLE)
