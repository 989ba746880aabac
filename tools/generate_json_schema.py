"""Write docs/certificate.schema.json from the rules of verification, or check that it fits.

Run ``python tools/generate_json_schema.py`` after changing the contract; with ``--check``
nothing is written and a difference ends with exit code 1.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from neuroveil.privacy.verify.json_schema import certificate_schema, schema_text

FILE = Path(__file__).resolve().parent.parent / "docs" / "certificate.schema.json"


def main() -> int:
    """Write or check the file; give the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    text = schema_text(certificate_schema())
    if not parser.parse_args().check:
        FILE.write_text(text, encoding="utf-8")
        return 0
    if FILE.read_text(encoding="utf-8") == text:
        return 0
    print(f"docs/{FILE.name} is out of date: run tools/generate_json_schema.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
