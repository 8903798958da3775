"""Size of a report of a long recording, and time to its first screen.

The page holds 10 minutes at 1 kHz of 12 channels, each measured, initial, fitted and residual::

    python benchmarks/report_size.py
    python benchmarks/report_size.py --chromium        # measures the first screen as well

The time to the first screen is compared with that of a page that holds plotly.js only, in
alternating loads of a headless chromium; medians count. Limits: 8 MB, and 2 s more.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from trueup import reports

ROOT = Path(__file__).resolve().parents[1]
LIMIT_BYTES = 8e6
LIMIT_SECONDS = 2.0
CHANNELS, RATE, DURATION = 12, 1000, 600


def long_report() -> reports.Page:
    """Return the page that is measured: findings, a table, and the signals first of all figures."""
    rng = np.random.default_rng(0)
    times = np.arange(DURATION * RATE) / RATE
    panels = []
    rows = []
    for channel in range(CHANNELS):
        frequency = 0.1 + 0.05 * channel
        truth = np.sin(2 * np.pi * frequency * times) + 0.3 * np.sin(11 * frequency * times)
        measured = truth + 0.02 * rng.standard_normal(times.size)
        initial = 1.2 * np.sin(2 * np.pi * 1.02 * frequency * times)
        panels.append(
            reports.Panel(
                f"joint {channel + 1}",
                "rad",
                [
                    reports.Trace("measured", times, measured, "measured"),
                    reports.Trace("initial", times, initial, "initial"),
                    reports.Trace("fitted", times, truth, "fitted"),
                    reports.Trace("residual", times, measured - truth, "residual"),
                ],
            )
        )
        rows.append([f"joint {channel + 1}", float(np.std(measured - truth))])
    signals = [reports.time_series_figure(panels), reports.Table(["channel", "RMSE"], rows)]
    page = reports.Page("Twelve joints", "10 minutes at 1 kHz")
    page.add(reports.KeyFigures([(0.02, "RMSE", "rad"), (CHANNELS, "channels")]))
    return page.add(reports.Section("Signals", content=signals))


def first_screen(paths: dict[str, Path], repeats: int) -> dict[str, float]:
    """Return the median time to the first screen of each page [s], opened in turns."""
    sys.path.insert(0, str(ROOT / "tests" / "reports"))
    # The tests' browser; their folder is on no path that a checker knows.
    from headless_chromium import Chromium, find_chromium  # pyright: ignore[reportMissingImports]

    executable = find_chromium()
    if executable is None:
        raise SystemExit("no chromium on the PATH: install it, or leave --chromium out")
    seconds: dict[str, list[float]] = {name: [] for name in paths}
    with Chromium(executable) as browser:
        browser.window(1280, 900)
        for _ in range(repeats + 1):
            for name, path in paths.items():
                browser.open(path)
                stamp = browser.wait_for("document.documentElement.dataset.firstScreen")
                seconds[name].append(float(stamp) / 1000)
    # The first round also starts the browser's own machinery.
    return {name: statistics.median(stamps[1:]) for name, stamps in seconds.items()}


def empty_page(path: Path) -> Path:
    """Write a page that holds the plotting code alone and notes when its first frame is due."""
    from plotly.offline import get_plotlyjs

    note = (
        "requestAnimationFrame(() => { document.documentElement.dataset.firstScreen = "
        "performance.now(); });"
    )
    path.write_text(
        f"<!doctype html><meta charset='utf-8'><script>{get_plotlyjs()}</script>"
        f"<p>Nothing</p><script>{note}</script>",
        encoding="utf-8",
    )
    return path


def main() -> int:
    """Measure, print, and return 1 if a limit is passed."""
    parser = argparse.ArgumentParser(description="Measure a report of a long recording.")
    parser.add_argument("--chromium", action="store_true", help="measure the first screen as well")
    parser.add_argument("--repeats", type=int, default=5, help="rounds behind a median (5)")
    parser.add_argument("--keep", type=Path, help="keep the page at this path")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        page = long_report()
        start = time.perf_counter()
        path = page.save(options.keep or Path(folder) / "report.html")
        result: dict[str, float] = {
            "write_s": round(time.perf_counter() - start, 2),
            "size_MB": round(path.stat().st_size / 1e6, 2),
        }
        passed = path.stat().st_size < LIMIT_BYTES
        if options.chromium:
            empty = empty_page(Path(folder) / "empty.html")
            medians = first_screen({"report": path, "empty": empty}, options.repeats)
            extra = medians["report"] - medians["empty"]
            result |= {
                "first_screen_s": round(medians["report"], 3),
                "empty_page_s": round(medians["empty"], 3),
                "extra_s": round(extra, 3),
            }
            passed = passed and extra < LIMIT_SECONDS
    if options.json:
        print(json.dumps(result))
    else:
        print("\n".join(f"{name:15s} {value}" for name, value in result.items()))
        print("within the limits" if passed else "a limit is passed")
    return 0 if passed else 1


if __name__ == "__main__":
    raise SystemExit(main())
