"""Names as a person hears them: without accents, particles and the order they came in.

Unicode's decomposition takes accents off letters, but ø, æ, ł, đ, ð, þ, ı and ß are letters of
their own, and people without them on the keyboard write oe, ae, dj, th or ss. Both ways of
writing must fold to one. Since å, ä, ö and ü lose their marks in some files and become aa, ae,
oe and ue in others, the digraphs are folded too. Some different names fall together ("Noel" and
"Nol"); they do so at every hospital alike.
"""

from __future__ import annotations

import re
import unicodedata

from neuroveil.errors import LinkageError
from neuroveil.linkage.text import clean_text

_LETTERS = {
    "ø": "o", "œ": "o", "æ": "a", "ß": "ss", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i",
    "ħ": "h", "ŋ": "n", "ŧ": "t", "ĸ": "k", "ə": "a", "ſ": "s",
}  # fmt: skip
_TABLE = str.maketrans(_LETTERS)
_DIGRAPHS = (("aa", "a"), ("ae", "a"), ("oe", "o"), ("ue", "u"))
_WORDS = re.compile(r"[^\W\d_]+")

PARTICLES = frozenset({
    "af", "al", "av", "bin", "bint", "da", "das", "de", "del", "den", "der", "des", "di", "do",
    "dos", "du", "e", "el", "i", "ibn", "la", "le", "les", "lo", "los", "och", "of", "og", "ten",
    "ter", "the", "til", "und", "van", "vom", "von", "y", "zu", "zum", "zur",
})  # fmt: skip
"""Words that come and go in front of surnames; as folded."""


def fold_letters(text: str) -> str:
    """Take marks off letters, and write letters of one language with those of all.

    Parameters
    ----------
    text : str
        In the form of :func:`~neuroveil.linkage.text.clean_text`.

    Returns
    -------
    str
        Latin letters without marks; other scripts keep their letters.

    Examples
    --------
    >>> fold_letters("søren ångström-łuczak"), fold_letters("soeren aangstroem-luczak")
    ('soren angstrom-luczak', 'soren angstrom-luczak')
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text.translate(_TABLE))
        text = "".join(letter for letter in text if not unicodedata.combining(letter))
        text = unicodedata.normalize("NFC", text)
    for pair, letter in _DIGRAPHS:
        text = text.replace(pair, letter)
    return text


def canonical_name(value: object, role: str, *, ordered: bool = True) -> str:
    """Bring a name into its canonical form.

    Parameters
    ----------
    value : object
        A given name, a surname or a full name, as text.
    role : str
        What it is and where, for errors.
    ordered : bool
        Whether the order of the parts counts. Without it they are sorted: for full names,
        which some files begin with the surname.

    Returns
    -------
    str
        Parts with one space between them. Particles are left out, unless there is nothing
        else; double names count as two parts. Empty for an empty value.

    Raises
    ------
    LinkageError
        If there is text without a single letter.

    Examples
    --------
    >>> canonical_name("von der Müller-Lüdenscheidt", "surname, line 1")
    'muller ludenscheidt'
    >>> canonical_name("O’Brien, Seán", "name, line 1", ordered=False)
    'obrien sean'
    """
    text = clean_text(value, role)
    if not text:
        return ""
    words = _WORDS.findall(fold_letters(text.replace("'", "")))
    if not words:
        raise LinkageError(
            role, "a name with letters", "none", "Check that the columns are not exchanged."
        )
    kept = [word for word in words if word not in PARTICLES] or words
    return " ".join(kept if ordered else sorted(kept))
