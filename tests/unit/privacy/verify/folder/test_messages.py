"""Codewords and their messages: a table that is not what its messages say is found to the bit."""

from __future__ import annotations

import math
from typing import Any

import pytest

from neuroveil.privacy.verify import verify

BOOK = {"mechanism": "privunit", "epsilon_rows": 5.0}
SHUFFLED = BOOK | {
    "epsilon_rows": 1.0, "trust": "shuffled", "epsilon_local": 1.31, "size": 16384, "top": 2500,
}  # fmt: skip
KINDS = {
    "one codebook": BOOK, "a codebook a row": BOOK | {"per_message": True},
    "projected": BOOK | {"components": 8}, "shuffled": SHUFFLED,
}  # fmt: skip


def sentences(result: Any, name: str) -> str:
    return " ".join(check.sentence for check in result.checks if check.id == name)


@pytest.mark.parametrize("recipe", KINDS.values(), ids=KINDS)
def test_honest_release_holds(press: Any, recipe: Any) -> None:
    folder, _, _ = press.release(**recipe)
    result = verify(folder)
    assert result.exit_code == 0, [check for check in result.checks if check.outcome != "holds"]
    assert "to the bit" in sentences(result, "release.table")


def test_labels_stand_beside_codewords(press: Any) -> None:
    label = {"name": "d", "policy": "randomised_response", "n_categories": 2, "epsilon": 0.5}
    folder, _, _ = press.release(**BOOK, labels=[label], unprotected=["sex"])
    assert verify(folder).exit_code == 0


@pytest.mark.parametrize("place", [0, 7, 16])
@pytest.mark.parametrize("kind", KINDS)
def test_one_value_off_by_one_bit(press: Any, place: int, kind: str) -> None:
    folder, document, _ = press.release(**KINDS[kind])
    rows = [row.split(",") for row in (folder / "table.csv").read_text().splitlines()]
    value = float(rows[1 + place][3])
    rows[1 + place][3] = repr(math.nextafter(value, math.inf))
    text = "\n".join(map(",".join, rows)) + "\n"
    press.rewrite(folder, document, "table.csv", text)
    result = verify(folder)
    assert result.broken_links == ("release",)
    assert "1 row(s)" in sentences(result, "release.table")


def test_rows_in_another_order_than_messages(press: Any) -> None:
    folder, document, _ = press.release(**BOOK)
    lines = (folder / "table.csv").read_text().splitlines()
    text = "\n".join([lines[0], lines[2], lines[1], *lines[3:]]) + "\n"
    press.rewrite(folder, document, "table.csv", text)
    assert "2 row(s)" in sentences(verify(folder), "release.table")


def test_table_of_another_codebook(press: Any, workshop: Any) -> None:
    """Messages and certificate name one seed, the values come from another."""
    folder, document, recipe = press.release(**BOOK)
    other = workshop.certificate_of(recipe)
    workshop.put(other, "mechanism.codebook_seed", "ff" * 16)
    files = press.files(other, recipe, None)
    press.rewrite(folder, document, "table.csv", files["table.csv"])
    assert "17 row(s)" in sentences(verify(folder), "release.table")


MESSAGES = {
    "a seed of its own": lambda rows: rows[1].__setitem__(0, "00" * 16),
    "a number beyond": lambda rows: rows[1].__setitem__(1, "4096"),
    "a negative number": lambda rows: rows[1].__setitem__(1, "-1"),
    "a huge number": lambda rows: rows[1].__setitem__(1, "9" * 30),
    "no number": lambda rows: rows[1].__setitem__(1, ""),
    "a short seed": lambda rows: rows[1].__setitem__(0, "00"),
    "capitals": lambda rows: rows[1].__setitem__(0, rows[1][0].upper()),
    "one fewer": lambda rows: rows.pop(),
    "one more": lambda rows: rows.append(rows[-1]),
    "another header": lambda rows: rows.__setitem__(0, ["number", "seed"]),
    "a third column": lambda rows: [row.append("1") for row in rows],
    "nothing": lambda rows: rows.clear(),
}


@pytest.mark.parametrize("edit", MESSAGES.values(), ids=MESSAGES)
def test_messages_that_are_none(press: Any, edit: Any) -> None:
    folder, document, _ = press.release(**BOOK)
    rows = [row.split(",") for row in (folder / "messages.csv").read_text().splitlines()]
    edit(rows)
    text = "\n".join(map(",".join, rows)) + "\n"
    press.rewrite(folder, document, "messages.csv", text)
    result = verify(folder)
    assert result.broken_links == ("release",)


def test_own_codebooks_all_differ(press: Any) -> None:
    folder, document, _ = press.release(**KINDS["a codebook a row"])
    rows = (folder / "messages.csv").read_text().splitlines()
    rows[2] = f"{rows[1].partition(',')[0]},{rows[2].partition(',')[2]}"
    press.rewrite(folder, document, "messages.csv", "\n".join(rows) + "\n")
    assert "not those of the certificate" in sentences(verify(folder), "release.messages")


def test_messages_where_there_are_no_codewords(press: Any) -> None:
    folder, document, _ = press.release()
    press.rewrite(folder, document, "messages.csv", "seed,number\n")
    assert "does not have" in sentences(verify(folder), "release.files")


@pytest.mark.parametrize("name", ["messages.csv", "table.csv", "table.json"])
def test_files_of_codewords_are_needed(press: Any, name: str) -> None:
    folder, document, _ = press.release(**BOOK)
    (folder / name).unlink()
    del document["release"][name]
    press.seal(folder, document)
    assert f"does not list {name}" in sentences(verify(folder), "release.files")


@pytest.mark.alone
@pytest.mark.slow
def test_ten_thousand_messages_take_seconds() -> None:
    import time

    from neuroveil.privacy.verify.codewords import decoded

    start = time.process_time()
    for number in range(1000):
        decoded(bytes(16), number, 364, 2.0)
    assert time.process_time() - start < 3
