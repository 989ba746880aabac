"""A forger's desk: a release folder in memory, changed and bound together again.

Loaded by the fixture ``forger`` in conftest.py. The forger may rewrite every file and every
digest; the one thing that nobody can do afterwards is to change the noise that was drawn.
"""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Document = dict[str, Any]
DICTIONARIES = frozenset({"table.json", "table_estimated.json", "synthetic.json"})
VERDICT = re.compile(r"(Differentially|Not differentially) private [^\n]*epsilon = .*")
NOT_IN_THE_CHAIN = ("release", "previous_hash", "signature")


def sha256(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def canonical(document: Any) -> bytes:
    """JSON as the contract spells it; NaN goes through, and of a key that stands twice the last."""
    plain = json.loads(json.dumps(document))
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def chain_digest(document: Document) -> str:
    return sha256(canonical({k: v for k, v in document.items() if k not in NOT_IN_THE_CHAIN}))


def written(document: Any) -> bytes:
    return (json.dumps(document, ensure_ascii=False) + "\n").encode()


class Twice(dict):  # type: ignore[type-arg]
    """An object that is written with one of its keys twice."""

    def __init__(self, content: Mapping[str, Any], key: str, other: Any) -> None:
        super().__init__(content)
        self.key = key
        self.other = other

    def items(self) -> Any:
        for name, value in super().items():
            yield name, value
            if name == self.key:
                yield name, self.other


@dataclass
class Folder:
    """A release folder in memory.

    Parameters
    ----------
    files : dict of str to bytes
        Content by file name, without the certificate.
    document : dict
        The certificate as plain data.
    """

    files: dict[str, bytes]
    document: Document = field(repr=False)

    @classmethod
    def read(cls, path: Path) -> Folder:
        files = {each.name: each.read_bytes() for each in path.iterdir()}
        return cls(files, json.loads(files.pop("certificate.json")))

    def copy(self) -> Folder:
        return Folder(dict(self.files), copy.deepcopy(self.document))

    def value(self, name: str) -> Any:
        link, fact = name.split(".")
        return self.document["chain"][link][fact]["value"]

    def write(self, path: Path) -> Path:
        """Write the folder; files that stand there already with the same content stay."""
        path.mkdir(parents=True, exist_ok=True)
        content = {**self.files, "certificate.json": written(self.document)}
        for name in {each.name for each in path.iterdir()} - set(content):
            (path / name).unlink()
        for name, data in content.items():
            file = path / name
            if not file.exists() or file.read_bytes() != data:
                # Emptying a file and filling it again makes some file systems wait for the disk.
                file.unlink(missing_ok=True)
                file.write_bytes(data)
        return path

    def rewrite_dictionary(
        self, change: Callable[[Document], None], name: str = "table.json"
    ) -> None:
        dictionary = json.loads(self.files[name])
        change(dictionary)
        self.files[name] = written(dictionary)

    def bind(self) -> Folder:
        """Carry digest and verdict into dictionaries and statement, then digest all files.

        Nothing is done where the document is no longer an object with a ``release``.
        """
        if not isinstance(self.document, dict):
            return self
        digest = chain_digest(self.document)
        for name in DICTIONARIES & set(self.files):
            self.rewrite_dictionary(lambda d: d.update(NeuroveilChainDigest=digest), name)
        lines = self.files["STATEMENT.md"].decode().rstrip("\n").split("\n")
        lines[-1] = f"Chain: {digest}"
        verdict = self.document.get("verdict")
        if isinstance(verdict, str):
            said = [i for i, line in enumerate(lines) if VERDICT.search(line)]
            for i in said:
                lines[i] = VERDICT.sub(lambda _: verdict, lines[i])
        self.files["STATEMENT.md"] = ("\n".join(lines) + "\n").encode()
        self.digest_files()
        return self

    def digest_files(self) -> Folder:
        """State the digest of every file as it is now, for the names that are stated."""
        stated = self.document.get("release")
        if isinstance(stated, dict):
            for name in stated:
                if name in self.files:
                    stated[name] = sha256(self.files[name])
        return self


def facts(document: Document) -> Iterator[tuple[str, dict[str, Any]]]:
    for link, members in document["chain"].items():
        for name, fact in members.items():
            yield f"{link}.{name}", fact


def dependents(document: Document) -> dict[str, set[str]]:
    """Links of all facts that rest on a fact, however far away, by the fact's dotted name."""
    below: dict[str, set[str]] = {}
    for name, fact in facts(document):
        for ground in fact["rests_on"]:
            below.setdefault(ground, set()).add(name)

    def links(name: str, seen: set[str]) -> set[str]:
        found: set[str] = set()
        for each in below.get(name, set()) - seen:
            seen.add(each)
            found |= {each.split(".")[0]} | links(each, seen)
        return found

    return {name: links(name, set()) for name, _ in facts(document)}
