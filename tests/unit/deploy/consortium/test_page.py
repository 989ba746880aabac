"""The comparison on the page is what was measured."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[4]


def test_every_figure_of_both_scenarios_is_on_the_page():
    page = (ROOT / "docs" / "trusted-server.md").read_text(encoding="utf-8")
    measured = json.loads((ROOT / "docs" / "measured" / "scenarios.json").read_text())
    n_figures = 0
    for by_kind in measured["by_epsilon"].values():
        for by_way in by_kind.values():
            for figure in by_way.values():
                interval = f"[{figure['low']:.3f}, {figure['high']:.3f}]"
                shown = (f"{figure['mean']:.3f} {interval}", f"**{figure['mean']:.3f}** {interval}")
                assert any(each in page for each in shown), interval
                n_figures += 1
    assert n_figures == 18
