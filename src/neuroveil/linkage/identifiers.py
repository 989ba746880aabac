"""One canonical form of a patient number, with its check digits verified.

A national number typed with or without separators, with two or four digits for the year, is the
same number. A wrong check digit means a typing error, and a typing error would give the patient
a second identity, or somebody else's: it is refused. The arithmetic of each country is
python-stdnum's (LGPL, optional); what is added here are the kinds of numbers that it does not
know: synthetic and shared auxiliary numbers of Norway, Swedish coordination numbers, and a
Swedish century that does not depend on today's date.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from neuroveil.errors import LinkageError, StudyError, StudyMistake
from neuroveil.linkage.text import clean_text

ENCODING_VERSION = 1
"""Version of the rules in this room. Any change that alters one encoded byte raises it."""

Check = Literal["none", "luhn", "mod11_10", "mod97_10"]

_SEPARATORS = re.compile(r"[\s./:_-]+")
_SCHEME_NAME = re.compile(r"[a-z0-9]+(?:[.-][a-z0-9]+)*")
_REMEDY = "Correct the number at its source; a number that is wrong would be another patient."


@dataclass(frozen=True)
class IdentifierRules:
    """How patient numbers of a project are read. Public; the same at every hospital.

    Parameters
    ----------
    scheme : str
        ``"no.fodselsnummer"``, ``"se.personnummer"``, ``"dk.cpr"``, ``"fi.hetu"``,
        ``"nl.bsn"``, ``"gb.nhs"``, or any other name for a scheme of your own.
    pattern : str
        Regular expression that a number of your own scheme matches as a whole, after
        separators are taken out and letters are put in lower case. Empty for national ones.
    check : {"none", "luhn", "mod11_10", "mod97_10"}
        Check digit of your own scheme: Luhn (ISO/IEC 7812-1), or ISO 7064.
    check_digits : {"refuse", "accept"}
        What happens to a national number whose check digits are wrong.
    test_people : bool
        Whether numbers of people who do not exist are accepted (Norway's synthetic numbers,
        Finland's temporary ones). For tests only.
    as_of_year : int
        Year of the data: what a two-digit Swedish year counts back from.

    Raises
    ------
    StudyError
        If the rules are not consistent.
    """

    scheme: str
    pattern: str = ""
    check: Check = "none"
    check_digits: Literal["refuse", "accept"] = "refuse"
    test_people: bool = False
    as_of_year: int = 2025

    def __post_init__(self) -> None:
        if not _SCHEME_NAME.fullmatch(self.scheme):
            raise _wrong_rule("scheme", "lower-case words with dots or hyphens", "another text")
        national = self.scheme in NATIONAL_SCHEMES
        if national and (self.pattern or self.check != "none"):
            raise _wrong_rule("pattern", "none for a national scheme", "one")
        if not national and not self.pattern:
            raise _wrong_rule(
                "pattern", f"a pattern, or one of the schemes {', '.join(NATIONAL_SCHEMES)}", "none"
            )
        try:
            re.compile(self.pattern)
        except re.error:
            raise _wrong_rule("pattern", "a regular expression", "a broken one") from None


def encode_identifier(value: object, rules: IdentifierRules, role: str) -> bytes:
    """Encode a patient number: ``Encode(PatientID)`` of the linkage protocol.

    Parameters
    ----------
    value : object
        The number as text, as the hospital writes it.
    rules : IdentifierRules
        The project's rules.
    role : str
        What it is and where, for errors, such as ``"identifier, line 12"``.

    Returns
    -------
    bytes
        ``neuroveil-id:VERSION:SCHEME:NUMBER`` in UTF-8. No part before the number can hold
        a colon, so two different inputs never share an encoding.

    Raises
    ------
    LinkageError
        If the number is empty, has the wrong form or a wrong check digit. The message never
        repeats the number.
    """
    text = clean_text(value, role)
    if not text:
        raise LinkageError(
            role, "a patient number", "an empty value",
            "Patients without a number can only be linked by approximate linkage.",
        )  # fmt: skip
    read = NATIONAL_SCHEMES.get(rules.scheme, _own_scheme)
    number = read(text, rules, role)
    return f"neuroveil-id:{ENCODING_VERSION}:{rules.scheme}:{number}".encode()


def _own_scheme(text: str, rules: IdentifierRules, role: str) -> str:
    number = _SEPARATORS.sub("", text)
    if not re.fullmatch(rules.pattern, number):
        raise _refused(role, "a number of the project's pattern", "another form")
    if rules.check != "none" and not _own_check(number, rules.check, role):
        raise _refused(role, f"a number with its {rules.check} check digit", "a wrong one")
    return number


def _own_check(number: str, check: Check, role: str) -> bool:
    name = {"luhn": "luhn", "mod11_10": "iso7064.mod_11_10", "mod97_10": "iso7064.mod_97_10"}[check]
    return bool(_stdnum(name, role).is_valid(number.upper()))


def _norwegian(text: str, rules: IdentifierRules, role: str) -> str:
    """Fødselsnummer, D-numbers, H-numbers, FH-numbers and synthetic ones."""
    number = _digits(text, 11, role)
    rule = _stdnum("no.fodselsnummer", role)
    right = (rule.calc_check_digit1(number), rule.calc_check_digit2(number)) == (
        number[9], number[10],
    )  # fmt: skip
    _require_check_digits(right, rules, role)
    if int(number[:2]) >= 80:  # shared auxiliary numbers hold no date
        return number
    plain = number
    for offset in (80, 65):  # of the tax administration, and of the health network
        if 1 <= int(number[2:4]) - offset <= 12:
            if not rules.test_people:
                raise LinkageError(
                    role, "the number of a patient", "one of a made-up person",
                    "For a trial with made-up people set test_people = true in [identifier].",
                )  # fmt: skip
            plain = f"{number[:2]}{int(number[2:4]) - offset:02d}{number[4:]}"
    _require_date(lambda: rule.get_birth_date(plain), role)
    return number


def _swedish(text: str, rules: IdentifierRules, role: str) -> str:
    """Personnummer and coordination numbers (day + 60), as twelve digits."""
    compact = re.sub(r"[\s:]", "", text)
    found = re.fullmatch(r"(\d\d)?(\d\d)(\d{4})([-+]?)(\d{4})", compact)
    if found is None:
        raise _refused(role, "10 or 12 digits, perhaps with - or + before the last four", "others")
    century, year, month_and_day, sign, tail = found.groups()
    if century is None:
        # The sign + says that the person turned 100 in that year or before.
        latest = rules.as_of_year - (100 if sign == "+" else 0)
        century = f"{(latest - (latest - int(year)) % 100) // 100:02d}"
    right = _stdnum("luhn", role).is_valid(year + month_and_day + tail)
    _require_check_digits(right, rules, role)
    month, day = int(month_and_day[:2]), int(month_and_day[2:])
    _require_date(lambda: _date(int(century + year), month, day - 60 if day > 60 else day), role)
    return century + year + month_and_day + tail


def _danish(text: str, rules: IdentifierRules, role: str) -> str:
    """CPR. Its check digit has not been binding since 2007, so the date is what is checked."""
    del rules
    number = _digits(text, 10, role)
    _require_date(lambda: _stdnum("dk.cpr", role).get_birth_date(number), role)
    return number


def _finnish(text: str, rules: IdentifierRules, role: str) -> str:
    """Henkilötunnus. The sign in the middle tells people apart and stays."""
    number = re.sub(r"\s", "", text).upper()
    rule = _stdnum("fi.hetu", role)
    wrong = _stdnum("exceptions", role)
    try:
        return str(rule.validate(number, allow_temporary=rules.test_people)).lower()
    except wrong.InvalidChecksum:
        _require_check_digits(False, rules, role)
        return number.lower()
    except wrong.ValidationError:
        raise _refused(role, "a Finnish personal identity code", "another form") from None


def _dutch(text: str, rules: IdentifierRules, role: str) -> str:
    digits = _SEPARATORS.sub("", text)
    number = _digits(digits.zfill(9) if len(digits) >= 8 else digits, 9, role)
    _require_check_digits(_stdnum("nl.bsn", role).is_valid(number), rules, role)
    return number


def _british(text: str, rules: IdentifierRules, role: str) -> str:
    number = _digits(text, 10, role)
    _require_check_digits(_stdnum("gb.nhs", role).is_valid(number), rules, role)
    return number


NATIONAL_SCHEMES: Mapping[str, Callable[[str, IdentifierRules, str], str]] = {
    "no.fodselsnummer": _norwegian,
    "se.personnummer": _swedish,
    "dk.cpr": _danish,
    "fi.hetu": _finnish,
    "nl.bsn": _dutch,
    "gb.nhs": _british,
}
"""Schemes with rules of their own, by name."""


def _stdnum(name: str, role: str) -> Any:
    """Import a module of python-stdnum, which is optional."""
    try:
        return importlib.import_module(f"stdnum.{name}")
    except ImportError:
        raise LinkageError(
            role, "the package python-stdnum for this check", "none",
            "Install it: pip install 'neuroveil[linkage]'.",
        ) from None  # fmt: skip


def _digits(text: str, count: int, role: str) -> str:
    number = _SEPARATORS.sub("", text)
    if not re.fullmatch(rf"[0-9]{{{count}}}", number):
        raise _refused(role, f"{count} digits", "another form")
    return number


def _date(year: int, month: int, day: int) -> object:
    from datetime import date

    return date(year, month, day)


def _require_date(read: Callable[[], object], role: str) -> None:
    """Refuse a number whose date the calendar does not have."""
    try:
        read()
    except ValueError:  # python-stdnum's errors are ValueErrors too
        raise _refused(role, "a number that holds a date of birth", "another") from None


def _require_check_digits(right: bool, rules: IdentifierRules, role: str) -> None:
    if not right and rules.check_digits == "refuse":
        raise _refused(role, "a number with its right check digits", "wrong ones")


def _refused(role: str, expected: str, found: str) -> LinkageError:
    return LinkageError(role, expected, found, _REMEDY)


def _wrong_rule(field: str, expected: str, found: str) -> StudyError:
    return StudyError(
        [StudyMistake(f"identifier.{field}", expected, found, "Correct the linkage schema.")]
    )
