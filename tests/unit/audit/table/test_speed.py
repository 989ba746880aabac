"""How long an audit takes: 200 patients, 363 columns, quick mode, all attacks on all targets."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuroveil.audit.table.attacks import TABLE_ATTACKS
from neuroveil.audit.table.effort import QUICK
from neuroveil.audit.table.frame import Attribute, AuditFrame


@pytest.mark.long
def test_quick_mode_takes_less_than_a_minute(
    make_frame: Callable[..., AuditFrame],
    write_down: Callable[[str, Mapping[str, Any]], Path],
) -> None:
    """Issue 6: under 60 s at n = 200, d = 363 on 2 cores, besides reading and drawing pages.

    In seconds of all cores together, which a busy machine does not change: less than 60 of them
    are less than a minute even where nothing runs side by side.
    """
    rows = np.random.default_rng(0).normal(size=(200, 363))
    sex = Attribute("sex", ("m", "f") * 100)
    seconds: dict[str, dict[str, float]] = {}
    for name, epsilon in (("gaussian", 1.0), ("privunit", 10.0)):
        frame, spent = replace(make_frame(rows, name, epsilon), attribute=sex), {}
        for attack in TABLE_ATTACKS:
            for target in frame.targets:
                if not attack.obstacle(frame, target):
                    start = time.process_time()
                    attack.run(frame, target, QUICK, None)
                    spent[f"{attack.name}, {target.name}"] = round(time.process_time() - start, 1)
        seconds[f"{name}, epsilon = {epsilon:g}"] = {**spent, "all": round(sum(spent.values()), 1)}
    write_down("audit-table-speed", {"processor_seconds": seconds})
    assert all(spent["all"] < 60 for spent in seconds.values())
