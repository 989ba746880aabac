"""Pattern mining: bits that are always set together belong to one piece of a name.

Christen, Ranbaduge, Vatsalan and Schnell (2018) mine sets of bit positions that are set together
in as many records as a frequent q-gram occurs in, take them for that q-gram's positions, and
read names off the q-grams that a record seems to hold. No key and no hash function is needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuroveil.linkage.attacks.outcome import (
    AttackOutcome,
    best_blind_guess,
    require_same_people,
)
from neuroveil.linkage.bloom import BitArray

Grams = frozenset[str]
_MOST_PATTERNS = 40
_FEWEST_BITS = 4
_MISSED, _SEEN = 0.3, 0.05
_TOGETHER = 0.97  # of the rarer bit's records hold the other, too


@dataclass(frozen=True, eq=False)
class Pattern:
    """Positions that are set together, and the piece they are taken for.

    Parameters
    ----------
    positions : ndarray of intp, shape (n_positions,)
        Places of the encoding.
    gram : str
        The piece.
    holders : ndarray of bool, shape (n_records,)
        Records in which all positions are set.
    """

    positions: NDArray[np.intp]
    gram: str
    holders: NDArray[np.bool_]


def mine_patterns(
    bits: BitArray, truth: Sequence[Grams], population: Sequence[Grams]
) -> tuple[AttackOutcome, AttackOutcome]:
    """Read pieces, and from them whole values, off the bits.

    Parameters
    ----------
    bits : ndarray of uint8, shape (n_records, n_bytes)
        Hardened encodings.
    truth : sequence of frozenset of str
        Pieces behind each encoding; used to count what is right.
    population : sequence of frozenset of str
        Pieces of a public list of other people of the same population.

    Returns
    -------
    tuple of AttackOutcome
        Pieces that were said to be in records and are; and records whose value was named.

    Raises
    ------
    LinkageError
        If encodings and values do not belong together.
    """
    require_same_people(len(bits), len(truth))
    patterns = find_patterns(bits, population)
    claims = [(row, p.gram) for p in patterns for row in np.flatnonzero(p.holders).tolist()]
    n_right = sum(gram in truth[row] for row, gram in claims)
    holds = Counter(gram for value in truth for gram in value)
    by_chance = max(holds.values(), default=0) / len(truth)
    pieces = AttackOutcome("pattern mining, pieces", len(claims), n_right, by_chance)
    return pieces, _name_values(patterns, truth, population)


def find_patterns(bits: BitArray, population: Sequence[Grams]) -> list[Pattern]:
    """Mine sets of positions and give each the piece that is about as frequent.

    Parameters
    ----------
    bits : ndarray of uint8, shape (n_records, n_bytes)
        Hardened encodings.
    population : sequence of frozenset of str
        Pieces of a public list.

    Returns
    -------
    list of Pattern
        Most frequent first, each piece and each position once.
    """
    unpacked = np.unpackbits(bits, axis=1)
    shares = Counter(gram for value in population for gram in value)
    grams = [(gram, count / len(population)) for gram, count in shares.most_common()]
    together = unpacked.T.astype(np.float32) @ unpacked.astype(np.float32)
    counts = np.diag(together)
    is_free = (counts > 0.005 * len(bits)) & (counts < 0.95 * len(bits))
    found: list[Pattern] = []
    while len(found) < _MOST_PATTERNS and grams and is_free.any():
        group, holders = _grown(unpacked, together, is_free)
        is_free[group] = False
        if len(group) < _FEWEST_BITS or not holders.any():
            continue
        share = float(holders.mean())
        gram = min(grams, key=lambda each: abs(each[1] - share))
        grams.remove(gram)
        found.append(Pattern(group, gram[0], holders))
    return found


def _grown(
    unpacked: NDArray[np.uint8], together: NDArray[np.float32], is_free: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Grow the pair of positions that is set together most often, while most records stay."""
    counts = np.diag(together)
    rarer = np.minimum(counts[:, None], counts[None, :])
    near = (together >= _TOGETHER * rarer) & (rarer >= 0.6 * np.maximum.outer(counts, counts))
    close = np.asarray(near & np.logical_and.outer(is_free, is_free), dtype=np.bool_)
    np.fill_diagonal(close, False)
    if not close.any():
        return np.flatnonzero(is_free), np.zeros(len(unpacked), dtype=np.bool_)
    start = int(np.argmax(np.where(close.any(axis=1), close.sum(axis=1) * counts, 0)))
    members = [start, *np.flatnonzero(close[start])[:24].tolist()]
    holders = unpacked[:, members].mean(axis=1) >= 0.999
    return np.array(members, dtype=np.intp), holders


def _name_values(
    patterns: Sequence[Pattern], truth: Sequence[Grams], population: Sequence[Grams]
) -> AttackOutcome:
    """Name each record by the public value that fits the pieces it seems to hold best."""
    counts = Counter(population)
    values = list(counts)
    fit = np.tile(np.log([float(counts[value]) for value in values]), (len(truth), 1))
    for pattern in patterns:
        # Bayes' rule, with a chance that a pattern is missed where its piece is, or seen where not.
        has = np.array([pattern.gram in value for value in values], dtype=np.float64)
        fit[pattern.holders] += np.log((1 - _MISSED) / _SEEN) * has
        fit[~pattern.holders] += np.log(_MISSED / (1 - _SEEN)) * has
    best = np.argmax(fit, axis=1) if patterns else []
    n_right = sum(values[guess] == truth[row] for row, guess in enumerate(best))
    return AttackOutcome("pattern mining, values", len(truth), n_right, best_blind_guess(truth))
