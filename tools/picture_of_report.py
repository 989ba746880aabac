"""Take the picture of the report that the README shows: docs/images/report.png.

``make demo`` first, then ``python tools/picture_of_report.py demo/release/report.html``.
Needs Chromium or Chrome.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "images" / "report.png"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
WIDTH, HEIGHT = 1060, 1425  # pixels: the promise and the chain, and nothing below


def main() -> int:
    """Take the picture.

    Returns
    -------
    int
        0 when it was written, 1 without a browser.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report", type=Path, help="a report.html")
    report = parser.parse_args().report.resolve()
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print(f"None of these browsers is installed: {', '.join(BROWSERS)}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as profile:
        command = [
            browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            f"--user-data-dir={profile}", f"--window-size={WIDTH},{HEIGHT}",
            f"--screenshot={PICTURE}", report.as_uri(),
        ]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
