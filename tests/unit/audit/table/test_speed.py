"""How long an audit takes: 200 patients, 363 columns, quick mode, all attacks on all targets."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuroveil.audit.table.attacks import TABLE_ATTACKS
from neuroveil.audit.table.effort import QUICK
from neuroveil.audit.table.frame import AuditFrame

CASES = (
    ("gaussian", 1.0),
    ("laplace", 1.0),
    ("privunit", 1.0),
    ("privunit", 10.0),
    ("moments", 1.0),
)


@pytest.mark.long
@pytest.mark.alone
def test_quick_mode_takes_less_than_a_minute(
    make_frame: Callable[..., AuditFrame],
    write_down: Callable[[str, Mapping[str, Any]], Path],
) -> None:
    """Issue 6: under 60 s at n = 200, d = 363 on 2 cores, besides reading and drawing pages."""
    rows = np.random.default_rng(0).normal(size=(200, 363))
    seconds = {}
    for name, epsilon in CASES:
        frame = make_frame(rows, name, epsilon)
        start = time.monotonic()
        for attack in TABLE_ATTACKS:
            for target in frame.targets:
                if not attack.obstacle(frame, target):
                    attack.run(frame, target, QUICK, None)
        seconds[f"{name}, epsilon = {epsilon:g}"] = round(time.monotonic() - start, 1)
    write_down("audit-table-speed", {"cores": os.cpu_count(), "seconds": seconds})
    assert max(seconds.values()) < 60
