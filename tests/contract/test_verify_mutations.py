"""Every place of a certificate is changed, and every change that matters is caught.

Written by someone who did not write ``verify``, from ``docs/certificate.md``. Here a place is
changed alone, or with all digests made to fit again; ``test_verify_recomputed.py`` has the
forgers who also work out what follows. What may pass, and why, stands in ``excuses.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

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
    "mechanism.codebook_seed", "mechanism.decoding_scale",
}  # fmt: skip
"""Facts that describe the files: where only the files contradict, the link is ``release``."""

DECIDES = {"model.trust": {"amplification", "aggregates"}, "sensitivity.norm": {"mechanism"}}
"""Facts that decide which others there are, or which others they have to match."""


@pytest.fixture
def trial(
    tmp_path: Path, forger: ModuleType, mutations: ModuleType, excuses: ModuleType
) -> Callable[..., dict[str, list[str]]]:
    """Verify every mutant of a release; give what went wrong and which excuses were used."""

    def run(
        honest: Any, reach: str, chosen: Callable[[Any], bool] = lambda mutant: True
    ) -> dict[str, list[str]]:
        court = Court(honest, reach, (forger, excuses), tmp_path / "forged")
        for mutant in mutations.mutants(honest.document, forger.Twice):
            if chosen(mutant):
                court.judge(mutant)
        assert court.judged > 100
        return court.records

    return run


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
    "longer", "emptied", "null", "key removed", "unknown key", "key twice", "last left out",
    "keys in another order", "text for null",
}  # fmt: skip
"""The words are fixed, so a few kinds of changes do for all of them."""

OF_VALUES = {
    "doubled", "halved", "a millionth up", "a millionth down", "zero", "sign turned", "flipped",
    "longer", "emptied", "null", "text for number", "text for null", "bool for number",
    "unknown key", "key twice", "key removed", "keys in another order", "last left out",
    "turned round", "infinity", "tiny", "other spelling",
}  # fmt: skip

ONE_EACH = {
    "doubled", "a millionth up", "flipped", "longer", "unknown key", "null", "text for null",
    "keys in another order", "key removed",
}  # fmt: skip


def how_it_is_written(mutant: Any) -> bool:
    """Whether it changes status, source, formula or grounds of a fact, or an object of facts."""
    return not in_a_value(mutant) and mutant.kind in OF_WORDS


def some_of_a_value(mutant: Any) -> bool:
    return in_a_value(mutant) and (mutant.kind in OF_VALUES or " for " in mutant.kind)


def one_a_value(mutant: Any) -> bool:
    return in_a_value(mutant) and mutant.kind in ONE_EACH


def assert_all_caught(records: dict[str, list[str]], used: Iterable[str]) -> None:
    """Nothing passed without excuse, crashed or named a wrong link; the excuses are needed."""
    faults = {key: found for key, found in records.items() if key != "excuses" and found}
    assert not faults, "\n".join(f"{key}: {one}" for key, found in faults.items() for one in found)
    assert set(records["excuses"]) == set(used)


def test_digests_made_to_fit(releases: Callable[..., Any], trial: Callable[..., Any]) -> None:
    """Every value, of a release that has labels, earlier releases and an estimated table."""
    records = trial(releases("labels", "small"), "bound", in_a_value)
    assert_all_caught(records, {
        "same document", "words", "number of earlier spends", "randomised label",
        "second opinion", "rounded up", "estimate",
    })  # fmt: skip


@pytest.mark.slow
def test_how_facts_are_written_down(
    releases: Callable[..., Any], trial: Callable[..., Any]
) -> None:
    """Status, source, formula and grounds of every fact, and every key of every object."""
    records = trial(releases("labels", "small"), "bound", how_it_is_written)
    assert_all_caught(records, {"same document", "source"})


ELSEWHERE = {
    ("gaussian 50", "small"): {"second opinion", "rounded up", "estimate"},
    ("laplace l1", "small"): {"second opinion", "rounded up", "estimate"},
    ("privunit", "small"): {"grid under codewords", "estimate"},
    ("central", "small"): {"second opinion", "rounded up", "estimate"},
    ("shuffled", "medium"): {"grid under codewords", "estimate", "rounded up"},
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "size"), list(ELSEWHERE))
def test_digests_made_to_fit_elsewhere(
    releases: Callable[..., Any], trial: Callable[..., Any], name: str, size: str
) -> None:
    records = trial(releases(name, size), "bound", some_of_a_value)
    always = {"same document", "words", "number of earlier spends"}
    assert_all_caught(records, always | ELSEWHERE[name, size])


@pytest.mark.slow
def test_certificate_alone(releases: Callable[..., Any], trial: Callable[..., Any]) -> None:
    """The files disagree with any other certificate, whatever is changed in it."""
    records = trial(releases("labels", "small"), "alone", one_a_value)
    assert_all_caught(records, {"same document"})


@pytest.mark.slow
@pytest.mark.parametrize("reach", ["alone", "bound"])
def test_signed_certificate(
    releases: Callable[..., Any], trial: Callable[..., Any], reach: str
) -> None:
    """Without the key there is nothing to excuse: every change breaks the signature."""
    records = trial(releases("signed", "small"), reach, one_a_value)
    assert_all_caught(records, {"same document"} if reach == "alone" else set())


def test_signature_taken_off_or_made_with_another_key(
    releases: Callable[..., Any], tmp_path: Path
) -> None:
    """Who knows the site's key is not fooled; who does not ask for it is told so in a note."""
    honest, other = releases("signed", "small"), releases("signed", "medium")
    key = honest.document["signature"]["public_key"]
    assert verify(honest.write(tmp_path / "honest"), key).exit_code == 0
    assert other.document["signature"]["public_key"] != key
    assert verify(other.write(tmp_path / "other")).exit_code == 0
    assert verify(other.write(tmp_path / "other"), key).broken_links == ("signature",)
    honest.document["signature"] = None
    bare = verify(honest.write(tmp_path / "bare"))
    assert bare.exit_code == 0
    assert any("not signed" in note for note in bare.notes)
    assert verify(tmp_path / "bare", key).broken_links == ("signature",)
    honest.document["signature"] = other.document["signature"]
    assert verify(honest.write(tmp_path / "swapped")).broken_links == ("signature",)


@pytest.mark.parametrize("name", ["STATEMENT.md", "report.html", "load_table.py"])
def test_words_around_the_table_are_bound_by_the_signature(
    releases: Callable[..., Any], tmp_path: Path, name: str
) -> None:
    """Nobody can check prose: unsigned, whoever states the digests anew may write what they like.

    The verdict in the statement is the exception; it is compared word for word.
    """
    for recipe, broken in (("signed", ("signature",)), ("bare", ())):
        folder = releases(recipe, "small")
        place = tmp_path / recipe
        words = folder.files[name].decode().replace(" the ", " no ")
        assert words.encode() != folder.files[name]
        folder.files[name] = words.encode()
        assert verify(folder.write(place)).broken_links[:1] == ("release",)
        assert verify(folder.digest_files().write(place)).broken_links == broken
