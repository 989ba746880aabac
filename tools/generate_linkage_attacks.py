"""Write the table of attacks into docs/linkage.md from what was measured, or check that it fits.

Run ``python tools/generate_linkage_attacks.py`` after the long test that measures them; with
``--check`` nothing is written and a difference ends with exit code 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = DOCS / "linkage.md"
MEASURED = DOCS / "measured" / "linkage-attacks.json"
START, END = "<!-- attacks: tools/generate_linkage_attacks.py -->\n", "<!-- end of attacks -->\n"
HEAD = (
    "what is encoded, and how it is hardened", "frequencies", "patterns: pieces",
    "patterns: values", "graph", "with the keys",
)  # fmt: skip


def main() -> int:
    """Write or check the page; give the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(START)
    _, after = rest.split(END)
    new = before + START + table() + END + after
    if not parser.parse_args().check:
        PAGE.write_text(new, encoding="utf-8")
        return 0
    if new == text:
        return 0
    print(f"docs/{PAGE.name} is out of date: run {Path(__file__).name}", file=sys.stderr)
    return 1


def table() -> str:
    """Give the table in Markdown.

    Returns
    -------
    str
        One line a schema and hardening.
    """
    attacks = json.loads(MEASURED.read_text(encoding="utf-8"))["figures"]["attacks"]
    lines = [HEAD, ("---",) * len(HEAD)]
    for name, outcomes in attacks.items():
        cells = [f"{each['success']:.1%}" if each["attacked"] else "–" for each in outcomes]
        lines.append((name, *cells))
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    raise SystemExit(main())
