"""What somebody gets who has the key: everybody on a list.

These attacks work, and no encoding can stop them: identifiers and names come from lists that
can be tried one by one. That is why the linkage key stays with those who hold the patients'
identities anyway, the hospitals, and never goes to whoever compares the lists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from neuroveil.linkage.attacks.outcome import AttackOutcome, require_same_people
from neuroveil.linkage.bloom import BitArray
from neuroveil.linkage.dice import pairs_from


def dictionary_attack(
    global_ids: Sequence[str], truth: Sequence[str], dictionary: Sequence[str],
    global_id_of: Callable[[str], str],
) -> AttackOutcome:  # fmt: skip
    """Compute the identifier of every number that there is, and look.

    Parameters
    ----------
    global_ids : sequence of str
        Keyed identifiers of patients.
    truth : sequence of str
        The patient number behind each; used to count what is right.
    dictionary : sequence of str
        Numbers to try. All numbers of a country are a few hundred million.
    global_id_of : callable
        Gives the identifier of a number. With the linkage key it gives the patients'; with
        another key it gives nothing.

    Returns
    -------
    AttackOutcome
        Patients whose number was found.

    Raises
    ------
    LinkageError
        If identifiers and numbers do not belong together.
    """
    require_same_people(len(global_ids), len(truth))
    known = {global_id_of(number): number for number in dictionary}
    n_right = sum(known.get(each) == number for each, number in zip(global_ids, truth, strict=True))
    return AttackOutcome(
        "dictionary, with the key", len(truth), n_right, 1.0 / max(1, len(dictionary))
    )


def compromised_key_attack(
    bits: BitArray, truth: Sequence[str], dictionary: BitArray, names: Sequence[str]
) -> AttackOutcome:
    """Encode a public list with the stolen keys and take the likest entry.

    Parameters
    ----------
    bits : ndarray of uint8, shape (n_records, n_bytes)
        Hardened encodings of patients.
    truth : sequence of str
        Who stands behind each; used to count what is right.
    dictionary : ndarray of uint8, shape (n_entries, n_bytes)
        The public list, encoded by the attacker.
    names : sequence of str
        Who stands behind each entry.

    Returns
    -------
    AttackOutcome
        Patients who were named.

    Raises
    ------
    LinkageError
        If encodings and names do not belong together.
    """
    require_same_people(len(bits), len(truth))
    require_same_people(len(dictionary), len(names))
    pairs = pairs_from(bits, dictionary, 0.01)
    order = np.lexsort((-pairs.scores, pairs.left))
    rows, first = np.unique(pairs.left[order], return_index=True)
    best = pairs.right[order][first]
    n_right = sum(
        truth[row] == names[entry] for row, entry in zip(rows.tolist(), best.tolist(), strict=True)
    )
    return AttackOutcome("encoding a list, with the keys", len(bits), n_right, 1.0 / len(names))
