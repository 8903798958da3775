"""Takes the picture of the README: the first screen of the report that ``trueup demo`` writes.

Needs chromium. Run::

    python docs/images/take_report_picture.py
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "reports"))

from headless_chromium import Chromium, find_chromium  # noqa: E402

WIDTH, HEIGHT = 1280, 1290


def main() -> None:
    """Run the demonstration and photograph its report."""
    chromium = find_chromium()
    if chromium is None:
        raise SystemExit("no chromium is installed")
    with tempfile.TemporaryDirectory() as folder:
        # the page shows commands with the folder that a reader has
        subprocess.run([sys.executable, "-m", "trueup", "demo"], check=True, cwd=folder)
        with Chromium(chromium) as browser:
            browser.window(WIDTH, HEIGHT)
            browser.open(Path(folder) / "trueup-demo" / "runs" / "arm" / "report.html")
            browser.command("Emulation.setScrollbarsHidden", hidden=True)
            time.sleep(2)  # figures are drawn as they scroll into view
            browser.screenshot(ROOT / "docs" / "images" / "report.png")


if __name__ == "__main__":
    main()
