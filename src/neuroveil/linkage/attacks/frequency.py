"""Frequency alignment: the commonest encoding is the commonest name.

Kuzu, Kantarcioglu, Durham and Malin (2011) and Christen, Schnell, Vatsalan and Ranbaduge (2017)
sort encodings and the values of a public list by how often they occur, and align the two. It
needs encodings that repeat: of one field such as the family name, or without a salt.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from neuroveil.linkage.attacks.outcome import (
    AttackOutcome,
    best_blind_guess,
    require_same_people,
)
from neuroveil.linkage.bloom import BitArray


def align_frequencies(
    bits: BitArray, truth: Sequence[str], population: Sequence[str]
) -> AttackOutcome:
    """Name the encodings by how often they occur.

    Parameters
    ----------
    bits : ndarray of uint8, shape (n_records, n_bytes)
        Hardened encodings.
    truth : sequence of str
        The value behind each encoding; used to count what is right.
    population : sequence of str
        Values of a public list of other people of the same population.

    Returns
    -------
    AttackOutcome
        Records whose value was named. Encodings that occur once cannot be told apart by
        frequency: they get the value of their place in the order, as good as a guess.

    Raises
    ------
    LinkageError
        If encodings and values do not belong together.
    """
    require_same_people(len(bits), len(truth))
    keys = [record.tobytes() for record in bits]
    encodings = [key for key, _ in Counter(keys).most_common()]
    values = [value for value, _ in Counter(population).most_common()]
    named = dict(zip(encodings, values, strict=False))
    n_right = sum(named.get(key) == value for key, value in zip(keys, truth, strict=True))
    return AttackOutcome("frequency alignment", len(bits), n_right, best_blind_guess(truth))
