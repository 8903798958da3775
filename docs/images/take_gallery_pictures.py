"""Takes the pictures of the gallery: reports of runs that the examples of the pages make.

Each entry names a page, whose examples are executed, and a report that they write. Needs chromium.
Run with the names of pictures to take some of them only::

    python docs/images/take_gallery_pictures.py [NAME ...]
"""

import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(DOCS.parent / "tests" / "reports"), str(DOCS / "_extensions")]

from executed_examples import run_page_in  # noqa: E402
from headless_chromium import Chromium, find_chromium  # noqa: E402

WIDTH, HEIGHT = 1200, 900
SHOWN = 720
"""Width of the stored pictures [pixels]."""


@dataclass(frozen=True)
class Entry:
    """A picture of the gallery."""

    name: str
    """Name of the picture."""
    page: str
    """Page whose examples make the run."""
    report: str
    """Report in the folder of the examples."""
    scroll: str = ""
    """Anchor of the section at the top of the picture; empty for the first screen."""


ENTRIES = (
    Entry("so101", "tutorials/so101.md", "so101_run/report.html"),
    Entry("motor", "how-to/motor.md", "runs/motor/report.html", "signals"),
    Entry("bounds", "symptoms/bounds.md", "runs/narrow/report.html"),
    Entry("explain", "how-to/explain.md", "runs/arm-explained/report.html", "causes"),
    Entry("torque", "how-to/inverse-dynamics.md", "runs/arm/report.html", "parameters"),
    Entry("randomisation", "how-to/randomisation.md", "arm_mjlab/report.html"),
    Entry("design", "how-to/design.md", "designed/report.html"),
    Entry("servo", "how-to/servo-actuators.md", "m3.run/report.html"),
    Entry("network", "how-to/learned-actuators.md", "scores.html"),
    Entry("front", "how-to/studies.md", "runs/front/report.html"),
)


def take(entry: Entry, browser: Chromium) -> None:
    """Execute the page of an entry, and photograph its report."""
    from PIL import Image

    with tempfile.TemporaryDirectory() as folder:
        run_page_in(DOCS / entry.page, Path(folder))
        report = Path(folder) / entry.report
        if not report.is_file():
            found = sorted(str(p.relative_to(folder)) for p in Path(folder).rglob("*.html"))
            raise SystemExit(f"{entry.page} writes no {entry.report}; it writes {found}")
        browser.window(WIDTH, HEIGHT)
        browser.open(report)
        browser.command("Emulation.setScrollbarsHidden", hidden=True)
        if entry.scroll:
            browser.evaluate(f"document.getElementById({entry.scroll!r}).scrollIntoView()")
        time.sleep(3)  # figures are drawn as they scroll into view
        picture = Path(folder) / "picture.png"
        browser.screenshot(picture)
        with Image.open(picture) as image:
            small = image.convert("RGB").resize((SHOWN, SHOWN * HEIGHT // WIDTH))
            small.save(DOCS / "images" / "gallery" / f"{entry.name}.webp", quality=80)


def main() -> None:
    """Take the pictures that are named, or all."""
    chromium = find_chromium()
    if chromium is None:
        raise SystemExit("no chromium is installed")
    wanted = sys.argv[1:] or [entry.name for entry in ENTRIES]
    (DOCS / "images" / "gallery").mkdir(exist_ok=True)
    for entry in ENTRIES:
        if entry.name in wanted:
            with Chromium(chromium) as browser:
                take(entry, browser)
            print(f"docs/images/gallery/{entry.name}.webp", flush=True)


if __name__ == "__main__":
    main()
