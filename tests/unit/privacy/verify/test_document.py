"""Files that nobody vouches for: refused with a clear message, never a crash."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuroveil.errors import CertificateError
from neuroveil.privacy.verify import verify
from neuroveil.privacy.verify.document import MAX_BYTES, load_json


def refusal(path: Path) -> str:
    with pytest.raises(CertificateError) as caught:
        verify(path)
    message = str(caught.value)
    assert str(path.parent) not in message
    assert caught.value.exit_code == 4
    return message


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "JSON in UTF-8"),
        (b"{", "JSON in UTF-8"),
        (b"\xff\xfe{}", "JSON in UTF-8"),
        (b"[]", "a JSON object"),
        (b"3", "a JSON object"),
        (b'{"a": NaN}', "finite numbers"),
        (b'{"a": -Infinity}', "finite numbers"),
        (b'{"a": 1e999}', "finite numbers"),
        (b'{"a": 1' + b"0" * 5000 + b"}", "integers of 64 bits"),
        (b'{"a": 0.' + b"0" * 5000 + b"1}", "finite numbers"),
        (b'{"a": 9223372036854775808}', "integers of 64 bits"),
        (b'{"a": 1, "a": 2}', "every key once"),
        (b'{"a": {"b": 1, "b": 1}}', "every key once"),
        (b'{"a": "\\ud800"}', "UTF-8 form"),
        (b'{"\\ud800": 1}', "UTF-8 form"),
        (b'{"a": ' + b"[" * 40 + b"]" * 40 + b"}", "32 levels"),
        (b'{"a": ' + b"[" * 200_000 + b"]" * 200_000 + b"}", "expected"),
    ],
)  # fmt: skip
def test_hostile_json_is_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    path = tmp_path / "certificate.json"
    path.write_bytes(data)
    assert reason in refusal(path)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[unit", "TOML in UTF-8"),
        ("[bound]\nclip_norm = nan", "finite numbers"),
        ("[bound]\nclip_norm = -inf", "finite numbers"),
        ("[bound]\nclip_norm = 1e999999", "finite numbers"),
        ("[bound]\nclip_norm = 1e99999999999999999999", "finite numbers"),
        ('[bound]\nclip_norm = "2"', "kind number"),
        ("[bound]\nclip_norm = true", "kind number"),
        ("[bound]\nclip_norm = 1979-05-27", "kind number"),
        ("[domain]\ndimension = 363.0", "kind integer"),
        ("[bound]\nclipnorm = 2.0", "Did you mean bound.clip_norm"),
        ("[boundary]\nnorm = 'l2'", "Did you mean bound.norm"),
        ("bound = 3", "names of links"),
        ("[preprocessing.scaling]\nfitted = 'public'", "fitted_on"),
        ("[preprocessing]\nscaling = 'public'", "kind object"),
        ("[[domain.labels]]\nname = 3", "n_categories"),
        ("[domain]\nlabels = [3]", "n_categories"),
        ("x = " + "[" * 5000 + "]" * 5000, "expected"),
    ],
)
def test_hostile_claim_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "claim.toml"
    path.write_text(text, encoding="utf-8")
    assert reason in refusal(path)


def test_nothing_there(tmp_path: Path) -> None:
    assert "can be read" in refusal(tmp_path / "absent.json")
    assert "can be read" in refusal(tmp_path)
    assert "none of them" in refusal(tmp_path / "certificate.pdf")


def test_huge_file(tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    with path.open("wb") as stream:
        stream.truncate(MAX_BYTES + 1)
    assert "10 MB" in refusal(path)


def test_links_and_pipes_are_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target.json"
    target.write_text("{}", encoding="utf-8")
    link = tmp_path / "certificate.json"
    link.symlink_to(target)
    assert "regular file" in refusal(link)
    assert "regular file" in refusal(tmp_path)
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    assert "regular file" in refusal(pipe)


def test_empty_object_is_broken_not_refused(tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    path.write_text("{}", encoding="utf-8")
    result = verify(path)
    assert result.exit_code == 4
    assert json.dumps(result.as_dict(), allow_nan=False)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62)
    | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


rationals = st.builds(
    lambda top, bottom: f"{top}/{bottom}", st.integers(0, 2**130), st.integers(0, 2**130)
)

extreme_numbers = st.sampled_from(
    [
        0,
        -1,
        1,
        2**62,
        -(2**62),
        5e-324,
        -5e-324,
        1e-160,
        1e6,
        1e150,
        -1e150,
        1e308,
        0.5,
        -0.0,
        1e-12,
    ]
)


@pytest.mark.slow
@given(st.dictionaries(st.text(max_size=5), json_values, max_size=4))
def test_json_is_read_as_written(document: dict[str, Any]) -> None:
    assert load_json(json.dumps(document).encode(), "test") == document


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(CertificateError):
        assert isinstance(load_json(data, "test"), dict)


KINDS: dict[str, dict[str, Any]] = {
    "gaussian": {},
    "codewords": {"mechanism": "privunit"},
    "shuffled": {"mechanism": "privunit", "trust": "shuffled", "epsilon_local": 1.31,
                 "size": 16384, "top": 2500},
    "projected": {
        "components": 8,
        "steps": [("wiener", {"noise_variance": 3.0}), ("projection_back", {"components": 8}),
                  ("inverse_scaling", {"log10_columns": 100})],
    },
    "pld": {"rule": "pld", "remaining": 9.1116},
}  # fmt: skip


@pytest.mark.slow
@given(data=st.data())
def test_arbitrary_values_never_crash(
    data: Any, tmp_path_factory: Any, honest: dict[str, str]
) -> None:
    """Any JSON under any facts of any case: verification ends, with a verdict to print."""
    document = json.loads(honest[data.draw(st.sampled_from(sorted(honest)))])
    names = [f"{link}.{key}" for link, facts in document["chain"].items() for key in facts]
    for name in data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=4)):
        link, key = name.split(".")
        fact = document["chain"][link][key]
        inner = list(fact["value"]) if isinstance(fact["value"], dict) else []
        value = data.draw(json_values | extreme_numbers | rationals)
        if inner and data.draw(st.booleans()):
            fact["value"][data.draw(st.sampled_from(inner))] = value
        else:
            fact["value"] = value
    path = tmp_path_factory.mktemp("any") / "certificate.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    result = verify(path)
    assert result.exit_code in {0, 4, 5}
    assert json.dumps(result.as_dict(), allow_nan=False)


@pytest.fixture(scope="module")
def honest(certificates: Any) -> dict[str, str]:
    return {name: certificates(**recipe) for name, recipe in KINDS.items()}
