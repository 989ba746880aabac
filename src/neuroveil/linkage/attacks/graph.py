"""Graph matching: who looks like whom is the same in names and in encodings.

Culnane, Rubinstein and Teague (2017) and Vidanage, Christen, Ranbaduge and Schnell (2020) build
a graph of similarities from a public list and another one from the encodings, and align the
two. Nothing has to repeat, so it also works on encodings of whole records; it needs a public
list with largely the same people. Here the attacker has exactly the encoded people, the worst
case, and aligns by the fast approximate algorithm for graph matching (Vogelstein et al. 2015).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from neuroveil.errors import LinkageError
from neuroveil.linkage.attacks.outcome import AttackOutcome, require_same_people
from neuroveil.linkage.bloom import BitArray

Similarities = NDArray[np.float64]

MOST_PEOPLE = 600
"""Above this an alignment takes too long for a test."""

_POWERS = (4, 8, 16)  # how much more the alike count than the unlike
_TRUST_IN_START = (0.9, 0.5)
_LIKENESSES = 25  # largest similarities of a person that start the alignment


def match_graphs(bits: BitArray, truth: Sequence[frozenset[str]]) -> AttackOutcome:
    """Align the encodings' similarities with those of the people behind them.

    Parameters
    ----------
    bits : ndarray of uint8, shape (n_records, n_bytes)
        Hardened encodings.
    truth : sequence of frozenset of str
        Pieces behind each encoding. The attacker has them, too, but not the order.

    Returns
    -------
    AttackOutcome
        Records that were given to the right person.

    Raises
    ------
    LinkageError
        If encodings and values do not belong together, or there are too many.
    """
    require_same_people(len(bits), len(truth))
    if len(bits) > MOST_PEOPLE:
        raise LinkageError(
            "attack", f"at most {MOST_PEOPLE} people", f"{len(bits)}", "Attack a part of them."
        )
    theirs = _dice(np.unpackbits(bits, axis=1).astype(np.float64))
    ours = _dice(_indicators(truth))
    # The attacker's list is in an order that says nothing: that of the pieces themselves.
    order = np.array(sorted(range(len(truth)), key=lambda row: sorted(truth[row])))
    found = align(theirs, ours[np.ix_(order, order)])
    n_right = sum(truth[row] == truth[order[guess]] for row, guess in enumerate(found))
    return AttackOutcome("graph matching", len(bits), n_right, 1.0 / len(bits))


def align(theirs: Similarities, ours: Similarities) -> NDArray[np.intp]:
    """Find for each row of one matrix of similarities the row of the other that it is.

    Parameters
    ----------
    theirs, ours : ndarray of float64, shape (n_people, n_people)
        Symmetric similarities. Only their order matters: hardening moves all of them.

    Returns
    -------
    ndarray of intp, shape (n_people,)
        Row of ``ours``, by row of ``theirs``.
    """
    ranks = _ranked(theirs), _ranked(ours)
    found = [
        _aligned(ranks[0] ** power, ranks[1] ** power, trust)
        for power in _POWERS
        for trust in _TRUST_IN_START
    ]
    # An attacker sees which alignment fits best.
    fits = [float((ranks[0] * ranks[1][np.ix_(each, each)]).sum()) for each in found]
    return found[int(np.argmax(fits))]


def _aligned(one: Similarities, other: Similarities, trust: float) -> NDArray[np.intp]:
    """Align once: begin with who has how many likenesses of which size, then follow the edges."""
    from scipy.optimize import linear_sum_assignment, quadratic_assignment

    profiles = [-np.sort(-graph, axis=1)[:, :_LIKENESSES] for graph in (one, other)]
    cost = ((profiles[0][:, None, :] - profiles[1][None, :, :]) ** 2).sum(axis=2)
    start = np.full_like(one, (1.0 - trust) / len(one))
    start[linear_sum_assignment(cost)] += trust
    result = quadratic_assignment(
        one, other, method="faq", options={"maximize": True, "P0": start, "maxiter": 60}
    )
    return np.asarray(result.col_ind, dtype=np.intp)


def _ranked(similarities: Similarities) -> Similarities:
    """Replace similarities by their place in the order, from 0 to 1."""
    from scipy.stats import rankdata

    upper = np.triu_indices(len(similarities), 1)
    graph = np.zeros_like(similarities)
    graph[upper] = rankdata(similarities[upper]) / len(upper[0])
    return graph + graph.T


def _indicators(values: Sequence[frozenset[str]]) -> NDArray[np.float64]:
    places = {gram: place for place, gram in enumerate(sorted(frozenset().union(*values)))}
    table = np.zeros((len(values), len(places)))
    for row, value in enumerate(values):
        table[row, [places[gram] for gram in value]] = 1.0
    return table


def _dice(table: NDArray[np.float64]) -> Similarities:
    sizes = table.sum(axis=1)
    similarities: Similarities = 2.0 * (table @ table.T) / (sizes[:, None] + sizes[None, :])
    return similarities
