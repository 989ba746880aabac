import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuroveil.errors import LinkageError, StudyError
from neuroveil.linkage.identifiers import NATIONAL_SCHEMES, IdentifierRules, encode_identifier

ROLE = "identifier, line 12"


def norwegian(nine_digits: str) -> str:
    """Append the two check digits (modulo 11), by the published weights."""
    digits = [int(digit) for digit in nine_digits]
    first = -sum(w * d for w, d in zip((3, 7, 6, 1, 8, 9, 4, 5, 2), digits, strict=True)) % 11
    digits.append(first)
    second = -sum(w * d for w, d in zip((5, 4, 3, 2, 7, 6, 5, 4, 3, 2), digits, strict=True)) % 11
    assert first < 10
    assert second < 10
    return nine_digits + f"{first}{second}"


def luhn(digits: str) -> str:
    total = 0
    for position, digit in enumerate(reversed(digits)):
        doubled = int(digit) * (2 if position % 2 == 0 else 1)
        total += doubled // 10 + doubled % 10
    return digits + str(-total % 10)


def encoded(value: object, scheme: str, **rules: object) -> str:
    return encode_identifier(value, IdentifierRules(scheme, **rules), ROLE).decode()


def test_the_encoding_names_version_and_scheme():
    number = norwegian("010170300")
    assert encoded(number, "no.fodselsnummer") == f"neuroveil-id:1:no.fodselsnummer:{number}"


@pytest.mark.parametrize(
    ("scheme", "forms"),
    [
        ("no.fodselsnummer", [norwegian("010170300"), "010170 " + norwegian("010170300")[6:]]),
        ("se.personnummer", ["19811228-9874", "811228-9874", "8112289874", "198112289874"]),
        ("dk.cpr", ["2110625629", "211062-5629", " 211062 5629"]),
        ("fi.hetu", ["131052-308T", "131052-308t", "131052\u2212308T"]),
        ("nl.bsn", ["111222333", "1112.22.333"]),
        ("gb.nhs", ["943-476-5919", "943 476 5919", "9434765919"]),
    ],
)
def test_separators_case_and_century_do_not_matter(scheme, forms):
    assert len({encoded(form, scheme) for form in forms}) == 1


@pytest.mark.parametrize(
    "nine", ["010170300", "410170300", "014170300", "910170300"], ids=["f", "d", "h", "fh"]
)
def test_the_four_kinds_of_norwegian_numbers_are_read(nine):
    number = next(
        norwegian(nine[:6] + f"{tail}") for tail in range(300, 320) if _has_digits(nine[:6], tail)
    )
    assert encoded(number, "no.fodselsnummer").endswith(number)


def _has_digits(start: str, tail: int) -> bool:
    try:
        norwegian(f"{start}{tail}")
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize("month", ["81", "66"])
def test_made_up_norwegians_are_accepted_in_tests_only(month):
    tail = next(tail for tail in range(300, 320) if _has_digits(f"01{month}70", tail))
    number = norwegian(f"01{month}70{tail}")
    assert encoded(number, "no.fodselsnummer", test_people=True).endswith(number)
    with pytest.raises(LinkageError, match="made-up person"):
        encoded(number, "no.fodselsnummer")


def test_swedish_coordination_numbers_are_read_and_plus_means_a_hundred_years():
    number = luhn("810388987")
    assert encoded(number, "se.personnummer").endswith("19" + number)
    old = luhn("110101123")
    assert encoded(f"{old[:6]}+{old[6:]}", "se.personnummer").endswith("19" + old)
    assert encoded(f"{old[:6]}-{old[6:]}", "se.personnummer").endswith("20" + old)
    assert encoded(f"{old[:6]}-{old[6:]}", "se.personnummer", as_of_year=2010).endswith("19" + old)


@pytest.mark.parametrize(
    ("scheme", "right"),
    [
        ("no.fodselsnummer", norwegian("010170300")),
        ("se.personnummer", "198112289874"),
        ("fi.hetu", "131052-308T"),
        ("nl.bsn", "111222333"),
        ("gb.nhs", "9434765919"),
    ],
)
def test_a_wrong_check_digit_is_refused_by_default_and_never_repeated(scheme, right):
    last = "S" if right[-1] == "T" else str((int(right[-1]) + 1) % 10)
    wrong = right[:-1] + last
    with pytest.raises(LinkageError, match="right check digits") as caught:
        encoded(wrong, scheme)
    assert wrong not in str(caught.value)
    assert right[:6] not in str(caught.value)
    assert encoded(wrong, scheme, check_digits="accept") != encoded(right, scheme)


@pytest.mark.parametrize("scheme", sorted(NATIONAL_SCHEMES))
@pytest.mark.parametrize("wrong", ["", "  ", "123", "abcdefghijk", "99999999999999", None, 1234])
def test_other_values_are_refused(scheme, wrong):
    with pytest.raises(LinkageError, match="identifier, line 12"):
        encoded(wrong, scheme)


@pytest.mark.parametrize(
    ("scheme", "wrong"),
    [("dk.cpr", "3202625629"), ("no.fodselsnummer", norwegian("320170300")),
     ("se.personnummer", luhn("811332987"))],
)  # fmt: skip
def test_a_date_that_no_calendar_has_is_refused(scheme, wrong):
    with pytest.raises(LinkageError, match="date of birth"):
        encoded(wrong, scheme)


def test_a_scheme_of_ones_own():
    rules = {"pattern": "mr[0-9]{7}", "check": "none"}
    assert encoded("MR-001 2345", "city-hospital", **rules).endswith(":mr0012345")
    with pytest.raises(LinkageError, match="pattern"):
        encoded("0012345", "city-hospital", **rules)
    assert encoded(luhn("123456"), "own", pattern="[0-9]{7}", check="luhn")
    with pytest.raises(LinkageError, match="luhn check digit"):
        encoded("1234560", "own", pattern="[0-9]{7}", check="luhn")


@pytest.mark.parametrize(
    ("scheme", "rules"),
    [
        ("Own Scheme", {"pattern": ".*"}),
        ("own", {}),
        ("own", {"pattern": "("}),
        ("gb.nhs", {"pattern": "[0-9]+"}),
        ("gb.nhs", {"check": "luhn"}),
    ],
)
def test_rules_that_do_not_fit_together_are_refused(scheme, rules):
    with pytest.raises(StudyError, match="identifier"):
        IdentifierRules(scheme, **rules)


@given(st.text(st.characters(exclude_categories=("Cs", "Co", "Cn")), max_size=30))
def test_no_text_is_a_crash(text):
    for scheme in NATIONAL_SCHEMES:
        try:
            number = encoded(text, scheme)
        except LinkageError:
            continue
        assert number.startswith(f"neuroveil-id:1:{scheme}:")
