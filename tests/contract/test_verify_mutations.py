"""Every place of a certificate is changed, and every change that matters is caught.

Written by someone who did not write ``verify``, from ``docs/certificate.md``. Here a place is
changed alone, or with all digests made to fit again; ``test_verify_recomputed.py`` has the
forgers who also work out what follows. What may pass, and why, stands in ``excuses.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from neuroveil.privacy.verify import verify

EXCUSED = {
    "words", "number of earlier spends", "randomised label", "second opinion", "estimate",
}  # fmt: skip


@pytest.mark.slow
def test_digests_made_to_fit(
    releases: Callable[..., Any], trial: Callable[..., Any], court: ModuleType
) -> None:
    """Every value, of a release that has labels, earlier releases and an estimated table."""
    records = trial(releases("labels", "small"), "bound", court.one_a_value)
    court.assert_all_caught(records, EXCUSED | {"same document", "rounded up"})


@pytest.mark.slow
def test_digests_made_to_fit_after_all_other_changes(
    releases: Callable[..., Any], trial: Callable[..., Any], court: ModuleType
) -> None:
    records = trial(releases("labels", "small"), "bound", court.rest_of_a_value)
    court.assert_all_caught(records, EXCUSED | {"same document"})


@pytest.mark.slow
def test_how_facts_are_written_down(
    releases: Callable[..., Any], trial: Callable[..., Any], court: ModuleType
) -> None:
    """Status, source, formula and grounds of every fact, and every key of every object."""
    records = trial(releases("labels", "small"), "bound", court.how_it_is_written)
    court.assert_all_caught(records, {"same document", "source"})


@pytest.mark.slow
def test_certificate_alone(
    releases: Callable[..., Any], trial: Callable[..., Any], court: ModuleType
) -> None:
    """The files disagree with any other certificate, whatever is changed in it."""
    records = trial(releases("labels", "small"), "alone", court.one_a_value)
    court.assert_all_caught(records, {"same document"})


@pytest.mark.slow
@pytest.mark.parametrize("reach", ["alone", "bound"])
def test_signed_certificate(
    releases: Callable[..., Any], trial: Callable[..., Any], court: ModuleType, reach: str
) -> None:
    """Without the key there is nothing to excuse: every change breaks the signature."""
    records = trial(releases("signed", "small"), reach, court.one_a_value)
    court.assert_all_caught(records, {"same document"} if reach == "alone" else set())


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
