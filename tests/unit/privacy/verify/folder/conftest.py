"""Release folders, written from the contract."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.special import ndtri

REFERENCE = "made-up v1"


def noisy_rows(r: Any, scale: float, seed: int = 7) -> Any:
    """Clipped rows of norm C plus integer noise on the grid, shape (n, m), scaled units."""
    generator = np.random.default_rng(seed)
    shape, step_size = (r.n, r.m), 2.0**r.grid
    rows = generator.normal(size=shape)
    rows *= r.clip_norm / np.linalg.norm(rows, axis=1, keepdims=True)
    draw = generator.normal if r.gaussian else generator.laplace
    return (np.trunc(rows / step_size) + np.rint(draw(0, scale / step_size, shape))) * step_size


def codeword(seed: str, number: int, sphere: int) -> Any:
    """A codeword by numpy's generator and scipy's quantiles, shape (sphere,)."""
    import hashlib

    digest = hashlib.sha256(b"neuroveil codebook 1" + bytes.fromhex(seed)).digest()
    c = -(-sphere // 16)
    stream = np.random.Philox(key=int.from_bytes(digest[:16], "little"), counter=c * number)
    chosen = stream.random_raw(4 * c).astype("<u8").view("<u2").astype(np.int64)
    low = np.rint(1024 * ndtri((np.minimum(chosen, 65535 - chosen) + 0.5) / 65536))
    q = np.where(chosen < 32768, low, -low).reshape(4, 4 * c)
    signs = np.array([[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]])
    direction = (signs @ q).reshape(-1)[:sphere]
    return direction / math.sqrt(float(direction @ direction))


def messages_of(r: Any, seed: str) -> list[tuple[str, int]]:
    generator = np.random.default_rng(11)
    return [
        (generator.bytes(16).hex() if r.per_message else seed, int(number))
        for number in generator.integers(0, r.size, r.n)
    ]


def estimated(r: Any, inputs: dict[str, Any], rows: Any) -> Any:
    """What the steps make of the rows, by matrices; shape (n, d)."""
    arrays = {
        name: np.array([[float.fromhex(x) for x in line] for line in value])
        if name == "basis"
        else value
        for name, value in inputs.items()
    }
    for name in ("mean", "centre", "spread"):
        if name in arrays:
            arrays[name] = np.array([float.fromhex(x) for x in arrays[name]])
    y = np.array(rows)
    for name, params in r.steps:
        if name == "wiener":
            s = np.zeros((r.m, r.m))
            for i, line in enumerate(inputs["covariance"]):
                s[i, : i + 1] = s[: i + 1, i] = [float.fromhex(x) for x in line]
            gain = s @ np.linalg.inv(s + params["noise_variance"] * np.eye(r.m))
            y = arrays["mean"] + (y - arrays["mean"]) @ gain.T
        elif name == "james_stein":
            square = (y**2).sum(axis=1, keepdims=True)
            y = np.maximum(0, 1 - (r.m - 2) * params["noise_variance"] / square) * y
        elif name == "projection_back":
            y = y @ arrays["basis"]
        elif name == "unclipping":
            y = params["factor"] * y
        elif name == "clamp":
            y = np.clip(y, params["low"], params["high"])
        else:
            y = arrays["centre"] + arrays["spread"] * y
            y[:, : params["log10_columns"]] = 10 ** y[:, : params["log10_columns"]]
    return y


def table_text(values: Any, names: list[str], n_labels: int) -> str:
    lines = [",".join(names)]
    for position, row in enumerate(values.tolist()):
        lines.append(",".join([*map(repr, row), *[f"c{position % 2}"] * n_labels]))
    return "\n".join(lines) + "\n"


def table_parquet(values: Any, names: list[str], n_labels: int) -> bytes:
    """The same table, written by pyarrow in the plain form."""
    columns: list[Any] = list(np.asarray(values, dtype=float).T)
    columns += [[f"c{i % 2}" for i in range(len(values))]] * n_labels
    sink = pa.BufferOutputStream()
    pq.write_table(
        pa.table(columns, names=names), sink, compression="none", use_dictionary=False
    )  # fmt: skip
    return bytes(sink.getvalue())


class Press:
    """Writes and rewrites release folders."""

    def __init__(self, workshop: Any) -> None:
        self.workshop = workshop

    def write(self, document: dict[str, Any], r: Any, values: Any = None) -> Path:
        """Write a release folder by the contract, bound to the certificate."""
        folder: Path = self.workshop.folder / "release"
        folder.mkdir(exist_ok=True)
        files = self.files(document, r, values)
        for name, content in files.items():
            (folder / name).write_bytes(content)
        document["release"] = {n: self.workshop.digest(c) for n, c in files.items()}
        self.seal(folder, document)
        return folder

    def files(self, document: dict[str, Any], r: Any, values: Any) -> dict[str, bytes]:
        w = self.workshop
        found: dict[str, Any] = {}
        mechanism = document["chain"]["mechanism"]
        if values is None and r.privunit:
            messages = messages_of(r, mechanism["codebook_seed"]["value"])
            scale = mechanism["decoding_scale"]["value"]
            values = np.array([codeword(s, j, r.m + 1)[:-1] * scale for s, j in messages])
            text = "\n".join(f"{seed},{number}" for seed, number in messages)
            found["messages.csv"] = f"seed,number\n{text}\n"
        elif values is None:
            values = noisy_rows(r, mechanism["noise_scale"]["value"])
        coordinates = [f"component_{i + 1}" for i in range(r.m)] if r.components else r.columns
        labels = [*(label["name"] for label in r.labels), *r.unprotected]
        found["table.csv"] = table_text(values, [*coordinates, *labels], len(labels))
        found["table.parquet"] = table_parquet(values, [*coordinates, *labels], len(labels))
        found["table.json"] = self.dictionary(document, r, [*coordinates, *labels])
        if r.steps:
            made = estimated(r, w.public_inputs(r), values)
            found["table_estimated.csv"] = table_text(made, [*r.columns, *labels], len(labels))
            names = [*r.columns, *labels]
            found["table_estimated.parquet"] = table_parquet(made, names, len(labels))
            found["table_estimated.json"] = self.dictionary(document, r, [*r.columns, *labels])
        if r.steps or r.components:
            found["public_inputs.json"] = json.dumps(w.public_inputs(r))
        last = f"Chain: {self.chain_digest(document)}"
        found["STATEMENT.md"] = f"# Statement\n\n    {document['verdict']}\n\n{last}\n"
        return {n: c.encode() if isinstance(c, str) else c for n, c in found.items()}

    def chain_digest(self, document: dict[str, Any]) -> str:
        outside = ("release", "previous_hash", "signature")
        inner = {key: document[key] for key in document if key not in outside}
        return str(self.workshop.digest(self.workshop.canonical(inner)))

    def dictionary(self, document: dict[str, Any], r: Any, names: list[str]) -> str:
        log10 = dict(r.steps).get("inverse_scaling", {}).get("log10_columns", 0)
        columns: dict[str, Any] = {name: {"Units": "1"} for name in names}
        for key, numbers in self.workshop.constants(r).items():
            for place, (name, number) in enumerate(zip(r.columns, numbers, strict=True)):
                if name in columns and r.fitted_on == "public":
                    columns[name][key] = number
                    columns[name]["Transform"] = "log10" if place < log10 else "linear"
        return json.dumps({
            "NeuroveilChainDigest": self.chain_digest(document), "NumberOfRows": r.n,
            "NumberOfColumns": len(names), "Columns": columns, "Reference": REFERENCE,
        })  # fmt: skip

    def seal(self, folder: Path, document: dict[str, Any]) -> None:
        (folder / "certificate.json").write_text(json.dumps(document), encoding="utf-8")

    def rewrite(self, folder: Path, document: dict[str, Any], name: str, text: str | bytes) -> None:
        """Change a file and renew its digest."""
        content = text.encode() if isinstance(text, str) else text
        (folder / name).write_bytes(content)
        document["release"][name] = self.workshop.digest(content)
        self.seal(folder, document)

    def release(self, **changes: Any) -> tuple[Path, dict[str, Any], Any]:
        recipe = self.workshop.Recipe(**changes)
        document = self.workshop.certificate_of(recipe)
        return self.write(document, recipe), document, recipe


@pytest.fixture
def press(workshop: Any) -> Press:
    """Write, spoil and rewrite release folders."""
    return Press(workshop)


@pytest.fixture
def draw_rows() -> Any:
    """Clipped rows plus noise: takes a recipe, a scale and a seed."""
    return noisy_rows
