"""A court for forged certificates: verifies mutants of one release and keeps a record.

Loaded by the fixture ``court`` in conftest.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from neuroveil.errors import CertificateError
from neuroveil.privacy.verify import verify

ALLOWED_LINKS = {
    "schema": {"document"}, "schema_version": {"document"}, "signature": {"document"},
    "previous_hash": {"document"}, "release": {"document", "release"},
    "formal_guarantee": {"document", "verdict"}, "verdict": {"document", "verdict"},
    "blocking_reasons": {"document", "verdict"},
}  # fmt: skip
"""The links that may be named for what stands beside the chain."""

SEEN_IN_THE_FILES = {
    "domain.columns_digest", "domain.labels", "domain.unprotected", "domain.dimension",
    "domain.n", "adjacency.n_roster", "bound.grid_log2", "postprocessing.steps",
    "mechanism.codebook_seed", "mechanism.decoding_scale", "preprocessing.quantiles",
}  # fmt: skip
"""Facts that describe the files: where only the files contradict, the link is ``release``."""

DECIDES = {"model.trust": {"amplification", "aggregates"}, "sensitivity.norm": {"mechanism"}}
"""Facts that decide which others there are, or which others they have to match."""


class Court:
    """Verifies mutants of one release and keeps a record."""

    def __init__(
        self, honest: Any, reach: str, tools: tuple[ModuleType, ModuleType], folder: Path
    ) -> None:
        self.honest, self.reach, self.folder = honest, reach, folder
        self.forger, self.excuses = tools
        self.records: dict[str, list[str]] = {
            "passed": [], "crashed": [], "wrong link": [], "called false": [], "excuses": []
        }  # fmt: skip
        self.dependents = self.forger.dependents(honest.document)
        self.judged = 0
        signature = honest.document["signature"]
        self.key = signature["public_key"] if signature else None
        assert verify(honest.write(folder), self.key).exit_code == 0

    def judge(self, mutant: Any) -> None:
        self.judged += 1
        self._write(mutant)
        excuse = self._excuse(mutant)
        try:
            result = verify(self.folder, self.key)
        except CertificateError:
            return  # refused outright: not JSON, a key twice, no number
        except Exception as error:  # whatever it is, it is a defect, and the list shall be whole
            self.records["crashed"].append(f"{mutant} ({error!r})")
            return
        if mutant.path == ("schema_version",) and result.exit_code == 5:
            return  # another version: nothing is affirmed
        if result.exit_code == 4:
            if self._is_honest(mutant, excuse):
                self.records["called false"].append(f"{mutant} {result.broken_links}")
            elif not self._links(mutant) & set(result.broken_links):
                self.records["wrong link"].append(f"{mutant} {result.broken_links}")
        elif excuse is None:
            self.records["passed"].append(f"{mutant}, exit code {result.exit_code}")
        elif excuse.name not in self.records["excuses"]:
            self.records["excuses"].append(excuse.name)

    def _is_honest(self, mutant: Any, excuse: Any) -> bool:
        """Whether nothing was changed, not even the text under a digest.

        A whole number that has to be one is never written 24.0.
        """
        same = excuse is not None and excuse.name == "same document"
        text_counts = isinstance(mutant.old, int) or "params" in mutant.path or self.key
        return same and self.reach == "bound" and not text_counts

    def _excuse(self, mutant: Any) -> Any:
        """What may pass; a forger without the key has no more reach than one without digests."""
        reach = "alone" if self.key else self.reach
        return self.excuses.excuse_for(mutant, reach, self.honest.value("mechanism.name"))

    def _write(self, mutant: Any) -> None:
        forged = self.forger.Folder(dict(self.honest.files), mutant.apply(self.honest.document))
        if self.reach == "bound":
            if (
                mutant.path[:1] == ("release",) and len(mutant.path) == 2
            ):  # or binding would undo the change
                forged = self.forger.Folder(dict(self.honest.files), self.honest.document)
                forged = forged.copy().bind()
                forged.document = mutant.apply(forged.document)
            else:
                forged.bind()
        forged.write(self.folder)

    def _links(self, mutant: Any) -> set[str]:
        """Links of which one has to be named: that of the fact, or of one that rests on it."""
        if mutant.path in ((), ("chain",)):
            return {"document", "verdict", "release", *(n.split(".")[0] for n in self.dependents)}
        if self.key:
            return {"signature", "document"}
        if mutant.path[0] != "chain":
            return ALLOWED_LINKS[mutant.path[0]] | ({"release"} if self.reach == "alone" else set())
        link = mutant.path[1]
        name = ".".join(mutant.path[1:3])
        named = {link} | self.dependents.get(name, set()) | DECIDES.get(name, set())
        if self.reach == "alone":  # the digest in dictionary and statement is the first to object
            named.add("release")
        return named | ({"release"} if name in SEEN_IN_THE_FILES else set())


def in_a_value(mutant: Any) -> bool:
    """Whether it changes what the document says rather than how a fact is written down."""
    path = mutant.path
    return bool(path) and (path[0] != "chain" or (len(path) >= 4 and path[3] == "value"))


OF_WORDS = {
    "longer", "key removed", "unknown key", "key twice", "last left out", "keys in another order",
    "text for null",
}  # fmt: skip
"""The words of facts are fixed, so a few kinds of changes do for all of them."""

ONE_EACH = {
    "doubled", "a millionth up", "flipped", "longer", "unknown key", "null", "text for null",
    "keys in another order", "key removed",
}  # fmt: skip

OF_NUMBERS = {
    "halved", "a millionth down", "zero", "sign turned", "tiny", "huge", "bool for number",
}  # fmt: skip

OF_THE_STUDY = {"unit", "adjacency", "domain", "sampler", "composition", "software"}
"""Links whose facts are the same whatever the mechanism is."""


def another_word(mutant: Any) -> bool:
    """Whether a word of the contract stands in the place of another."""
    return " for " in mutant.kind and isinstance(mutant.new, str)


def how_it_is_written(mutant: Any) -> bool:
    """Whether it changes status, source, formula or grounds of a fact, or an object of facts."""
    return not in_a_value(mutant) and (mutant.kind in OF_WORDS or another_word(mutant))


def one_a_value(mutant: Any) -> bool:
    """A few changes of each value."""
    return in_a_value(mutant) and mutant.kind in ONE_EACH


def rest_of_a_value(mutant: Any) -> bool:
    """All other changes of a value, from half of it to NaN."""
    return in_a_value(mutant) and mutant.kind not in ONE_EACH


def of_the_mechanism(mutant: Any) -> bool:
    """Changes of values in the links that differ from mechanism to mechanism."""
    chosen = mutant.kind in ONE_EACH | OF_NUMBERS or another_word(mutant)
    if not in_a_value(mutant) or not chosen or mutant.path[0] != "chain":
        return False
    return mutant.path[1] not in OF_THE_STUDY


def assert_all_caught(records: dict[str, list[str]], used: Iterable[str]) -> None:
    """Nothing passed without excuse, crashed or named a wrong link; the excuses are needed."""
    faults = {key: found for key, found in records.items() if key != "excuses" and found}
    assert not faults, "\n".join(f"{key}: {one}" for key, found in faults.items() for one in found)
    assert set(records["excuses"]) == set(used), f"excused: {sorted(records['excuses'])}"
