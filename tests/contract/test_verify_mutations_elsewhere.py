"""The same mutations in the certificates of other mechanisms, where these differ."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

ELSEWHERE = {
    ("gaussian 50", "small"): {"second opinion", "rounded up", "estimate"},
    ("laplace l1", "small"): {"second opinion", "rounded up", "estimate"},
    ("privunit", "small"): {"grid under codewords", "estimate"},
    ("central", "small"): {"second opinion", "rounded up", "estimate"},
    ("drawn", "small"): {"second opinion", "rounded up", "estimate"},
    ("shuffled", "medium"): {"grid under codewords", "estimate", "rounded up"},
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "size"), list(ELSEWHERE))
def test_digests_made_to_fit_elsewhere(
    releases: Callable[..., Any], trial: Callable[..., Any], court: ModuleType, name: str, size: str
) -> None:
    records = trial(releases(name, size), "bound", court.of_the_mechanism)
    always = {"same document", "words"}
    court.assert_all_caught(records, always | ELSEWHERE[name, size])
