"""The changes that verification may let pass, in classes, each with its reason.

Loaded by the fixture ``excuses`` in conftest.py. A change that no class covers has to be
caught. The classes were written down from ``docs/certificate.md`` and from what a stranger can
know, not from what ``verify`` happens to do; the tests also fail when a class is no longer
needed.

How far the forger went is one of three:

- ``alone``: certificate.json was changed, nothing else;
- ``bound``: and the digests of chain and files were made to fit again;
- ``recomputed``: and everything that follows from the change was worked out again.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

BOUND = frozenset({"bound", "recomputed"})
RECOMPUTED = frozenset({"recomputed"})
EVERYWHERE = frozenset({"alone", "bound", "recomputed"})

FREE_WORDS = {
    "guarantee.proof", "model.who_is_trusted", "mechanism.choice",
    "guarantee.delta_justification",
}  # fmt: skip
FOUND_IN_THE_FILES = {
    "reference", "constants_digest", "components", "basis_digest", "kind",
}  # fmt: skip
SMALL_STEPS = ("a millionth up", "a millionth down")


@dataclass(frozen=True)
class Excuse:
    """A class of changes that may pass.

    Parameters
    ----------
    name : str
        A word or two.
    reason : str
        Why nobody who has only the folder could object.
    reach : frozenset of str
        How far the forger may have gone.
    covers : callable
        Whether a mutant belongs to it.
    mechanisms : tuple of str
        The mechanisms that it is for; empty for all.
    """

    name: str
    reason: str
    reach: frozenset[str]
    covers: Callable[[Any], bool]
    mechanisms: tuple[str, ...] = ()


def fact_of(mutant: Any) -> str | None:
    """Dotted name of the fact whose value was changed."""
    path = mutant.path
    if len(path) >= 4 and path[0] == "chain" and path[3] == "value":
        return ".".join(path[1:3])
    return None


def says_something(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _same_document(mutant: Any) -> bool:
    if mutant.kind == "keys in another order":
        return True
    old, new = mutant.old, mutant.new
    return (is_number(old) and is_number(new) and old == new) or (
        type(old) is type(new) and old == new
    )


def _source(mutant: Any) -> bool:
    path = mutant.path
    return len(path) == 4 and path[3] == "source" and says_something(mutant.new)


def _ledger_count(mutant: Any) -> bool:
    count = mutant.new
    return (
        fact_of(mutant) == "composition.prior_releases"
        and isinstance(count, int) and not isinstance(count, bool)
        and count > 0 and mutant.old > 0
    )  # fmt: skip


def _ledger_sums(mutant: Any) -> bool:
    return (
        fact_of(mutant) in ("composition.limit", "composition.spent_before")
        and isinstance(mutant.new, (int, float))
        and (mutant.new > 0 or (mutant.new == 0 and mutant.path[-1] == "delta"))
    )  # fmt: skip


def _commit(mutant: Any) -> bool:
    new = mutant.new
    text = isinstance(new, str) and re.fullmatch("[0-9a-f]{7,64}", new) is not None
    return fact_of(mutant) == "software.commit" and (new is None or text)


def _versions(mutant: Any) -> bool:
    return fact_of(mutant) == "software.versions" and says_something(mutant.new)


def _label(mutant: Any) -> bool:
    """More categories than were seen, or another epsilon, for a label that spends budget."""
    is_label = fact_of(mutant) == "domain.labels"
    if not is_label or mutant.path[-1] not in ("n_categories", "epsilon"):
        return False
    return is_number(mutant.new) and (mutant.path[-1] == "epsilon" or mutant.new > mutant.old)


def _second_opinion(mutant: Any) -> bool:
    if fact_of(mutant) != "accountant.cross_check":
        return False
    if mutant.path[-1] == "epsilon":
        return mutant.kind in SMALL_STEPS
    if mutant.path[-1] == "method":
        return says_something(mutant.new) and mutant.new.startswith("dp-accounting,")
    # Under Laplace noise the library is asked at any small delta: 1e-12 moves nothing.
    return (
        mutant.path[-1] == "delta" and is_number(mutant.new)
        and mutant.old <= 1e-12 and 0 <= mutant.new <= 1e-9
    )  # fmt: skip


def _fine(mutant: Any) -> bool:
    if fact_of(mutant) == "guarantee.delta":
        return mutant.kind in (*SMALL_STEPS, "doubled", "halved")
    foundations = ("bound.clip_norm", "guarantee.epsilon_rows")
    return fact_of(mutant) in foundations and mutant.kind in SMALL_STEPS


def _rounded_up(mutant: Any) -> bool:
    rounded = (
        "guarantee.epsilon_supported", "mechanism.noise_scale", "amplification.delta_bound",
    )  # fmt: skip
    return fact_of(mutant) in rounded and mutant.kind == "a millionth up"


def _settings(mutant: Any) -> bool:
    in_params = str(fact_of(mutant)).startswith("preprocessing.") and "params" in mutant.path
    return in_params and mutant.path[-1] not in FOUND_IN_THE_FILES


def _estimate(mutant: Any) -> bool:
    if fact_of(mutant) == "postprocessing.steps":
        return "params" in mutant.path and mutant.kind in SMALL_STEPS
    correlation = fact_of(mutant) == "utility.estimate" and mutant.path[-1] == "correlation"
    return correlation and is_number(mutant.new) and -1 <= mutant.new <= 1


EXCUSES: tuple[Excuse, ...] = (
    Excuse(
        "same document",
        "JSON objects have no order, and 2 and 2.0 are one number: nothing was changed",
        EVERYWHERE, _same_document,
    ),
    Excuse(
        "source",
        "where a fact comes from is said in free words; nothing is derived from them",
        BOUND, _source,
    ),
    Excuse(
        "words",
        "who is trusted, who chose, why delta is large and which theorem it is are said in free "
        "words; verification proves the numbers itself",
        BOUND, lambda m: fact_of(m) in FREE_WORDS and (says_something(m.new) or m.new is None),
    ),
    Excuse(
        "number of earlier spends",
        "how many there were, and in which scope, stands in the ledger, which never leaves the "
        "site",
        BOUND,
        lambda m: _ledger_count(m)
        or (fact_of(m) == "composition.scope" and m.new in ("study", "patients", "site")),
    ),
    Excuse(
        "sums of the ledger",
        "limit and earlier spending stand in the ledger, which never leaves the site",
        RECOMPUTED, _ledger_sums,
    ),
    Excuse(
        "revision",
        "which revision of the source ran cannot be seen in what it wrote",
        BOUND, _commit,
    ),
    Excuse(
        "versions",
        "which versions ran cannot be seen in what they wrote",
        RECOMPUTED, _versions,
    ),
    Excuse(
        "randomised label",
        "24 labels after randomised response look alike at any epsilon near the stated one, "
        "and a category may never have come up",
        BOUND, _label,
    ),
    Excuse(
        "second opinion",
        "the library's epsilon differs from the exact one by up to about a millionth; for "
        "Laplace noise it may be asked at any delta, and its method is named in words",
        BOUND, _second_opinion,
    ),
    Excuse(
        "rounded up",
        "noise scale, supported epsilon and the bound of shuffling are rounded up: less is "
        "promised than is true",
        BOUND, _rounded_up,
    ),
    Excuse(
        "estimate",
        "the estimated table follows from the steps to a millionth; how well it correlates was "
        "worked out on simulated rows",
        BOUND,
        lambda m: _estimate(m)
        or (fact_of(m) == "utility.estimate" and m.new is None)
        or (fact_of(m) == "utility.source" and m.new in ("public", "simulated")),
    ),
    Excuse(
        "grid under codewords",
        "the grid on which a row is bounded leaves no trace in the codeword that is released, "
        "whose guarantee holds for any row",
        BOUND,
        lambda m: fact_of(m) == "bound.grid_log2" and isinstance(m.new, int)
        and not isinstance(m.new, bool),
        ("privunit",),
    ),
    Excuse(
        "finer than the table shows",
        "noise whose scale is wrong by a few per cent cannot be told from the stated noise "
        "in a table of this size",
        RECOMPUTED, _fine,
    ),
    Excuse(
        "settings of features and scaling",
        "filters and windows cannot be seen in the table, and change nothing in the guarantee",
        RECOMPUTED, _settings,
    ),
)  # fmt: skip


def excuse_for(mutant: Any, reach: str, mechanism: str) -> Excuse | None:
    """The class that lets a mutant pass, if there is one."""
    for excuse in EXCUSES:
        right_place = not excuse.mechanisms or mechanism in excuse.mechanisms
        if right_place and reach in excuse.reach and excuse.covers(mutant):
            return excuse
    return None
