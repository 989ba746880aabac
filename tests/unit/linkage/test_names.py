import pytest

from neuroveil.errors import LinkageError
from neuroveil.linkage.names import canonical_name


@pytest.mark.parametrize(
    "written",
    [
        ["Sørensen", "Soerensen", "SORENSEN", "So\u0338rensen".replace("o\u0338", "ø")],
        ["Håkon", "Haakon", "Hakon", "Ha\u030akon"],
        ["Müller", "Mueller", "Muller"],
        ["Bäck", "Baeck", "Back"],
        ["Weiß", "Weiss"],
        ["Łukasz", "Lukasz"],
        ["Nguyễn Thị Đào", "Nguyen Thi Dao", "NGUYÊ\u0303N THI\u0323 ĐA\u0300O"],
        ["Þórr", "Thorr"],
        ["Anne-Marie", "Anne Marie", "anne\u2011marie"],
        ["O'Brien", "O\u2019Brien", "OBrien"],
        ["van der Berg", "Berg", "Van Der Berg"],
        ["Æsa", "Aesa"],
        ["İpek", "Ipek", "ıpek"],
    ],
)
def test_ways_of_writing_a_name_become_one(written):
    assert len({canonical_name(each, "surname, line 1") for each in written}) == 1


@pytest.mark.parametrize(
    ("one", "other"), [("Hansen", "Jansen"), ("Anne Marie", "Marie Anne"), ("Иван", "Олег")]
)
def test_different_names_stay_different(one, other):
    role = "name, line 1"
    assert canonical_name(one, role) != canonical_name(other, role)


def test_the_order_of_a_full_name_need_not_matter():
    forms = ["Nguyễn Văn An", "An Văn Nguyễn", "Nguyen, An Van"]
    assert len({canonical_name(each, "name, line 1", ordered=False) for each in forms}) == 1


def test_a_name_of_particles_alone_is_kept():
    assert canonical_name("Van", "surname, line 1") == "van"


def test_an_empty_name_stays_empty_and_one_without_letters_is_refused():
    assert canonical_name("  ", "surname, line 1") == ""
    with pytest.raises(LinkageError, match="a name with letters") as caught:
        canonical_name("12345", "surname, line 1")
    assert "12345" not in str(caught.value)
