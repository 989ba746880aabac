import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuroveil.errors import LinkageError
from neuroveil.linkage.text import LONGEST_TEXT, clean_text

ASSIGNED = st.text(
    st.characters(exclude_categories=("Cs", "Co", "Cn"), exclude_characters="\ufffd"), max_size=40
)


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("Smith", "smith"),
        ("  Smith\tJones\n", "smith jones"),
        ("Smith\u00a0Jones", "smith jones"),
        ("\ufeffSm\u200bith\u00ad", "smith"),
        ("Ｓｍｉｔｈ１２", "smith12"),
        ("١٢٣", "123"),
        ("12\u201334\u221256\u20107", "12-34-56-7"),
        ("O\u2019Brien", "o'brien"),
        ("Cafe\u0301", "café"),
        ("Stra\u00dfe", "strasse"),
        ("STRASSE", "strasse"),
        ("\ufb01nn", "finn"),
        ("\u01c5", "dž"),
        ("", ""),
        (" \u2003 ", ""),
    ],
)
def test_ways_of_writing_the_same_text_become_one(written, canonical):
    assert clean_text(written, "name, line 1") == canonical


@given(ASSIGNED)
def test_the_form_is_stable_composed_and_without_white_space_at_its_ends(text):
    once = clean_text(text, "name, line 1")
    assert clean_text(once, "name, line 1") == once
    assert unicodedata.is_normalized("NFKC", once)
    assert once == once.strip()


@given(ASSIGNED)
def test_case_and_normal_form_do_not_matter(text):
    expected = clean_text(text, "name, line 1")
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert clean_text(unicodedata.normalize(form, text), "name, line 1") == expected


@pytest.mark.parametrize("wrong", [1234567, None, 12.5, b"abc", float("nan")])
def test_only_texts_are_accepted(wrong):
    with pytest.raises(LinkageError, match=r"identifier, line 12: expected a text") as caught:
        clean_text(wrong, "identifier, line 12")
    assert "1234567" not in str(caught.value)


@pytest.mark.parametrize("wrong", ["a\ud800b", "\ue000", "\u0378", "S\ufffdrensen"])
def test_characters_without_a_meaning_are_refused(wrong):
    with pytest.raises(LinkageError, match="Unicode assigns"):
        clean_text(wrong, "name, line 1")


def test_very_long_texts_are_refused_without_repeating_them():
    with pytest.raises(LinkageError, match=f"at most {LONGEST_TEXT}") as caught:
        clean_text("secret" * 200, "name, line 1")
    assert "secret" not in str(caught.value)
