"""Mistakes in logs of every source: each has to be found, asked about or listed as assumed.

    python benchmarks/import_injections.py RESULTS [--count 100] [--seconds 400]

RESULTS is a file with one JSON object a case, to which further runs add what is missing. The cases
are drawn from all that the sources allow, by a seed that stands in tests/sysid.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "sysid"))

from injected_logs import (
    drawn_cases,
    every_case,
    false_alarms,
    imported,
    verdict,
)
from log_writers import WRITERS


def main() -> None:
    """Run what is missing and print the counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("results", type=Path)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=400.0)
    given = parser.parse_args()
    lines = given.results.read_text().splitlines() if given.results.exists() else []
    done = {entry["case"]: entry for entry in map(json.loads, lines)}
    began = time.monotonic()
    cases = drawn_cases(given.count)
    with given.results.open("a") as file:
        for case in cases:
            if case.name in done or time.monotonic() - began > given.seconds:
                continue
            with tempfile.TemporaryDirectory() as folder:
                home = Path(folder)
                answer = verdict(case, imported(case, home), home)
            done[case.name] = {"case": case.name, "kind": case.kind, "verdict": answer}
            file.write(json.dumps(done[case.name]) + "\n")
            file.flush()
    found = [done[c.name] for c in cases if c.name in done]
    print(f"{len(found)} of {len(cases)} cases (of {len(every_case())}): "
          f"{dict(Counter(e['verdict'] for e in found))}")  # fmt: skip
    for kind in sorted({e["kind"] for e in found}):
        counts = Counter(e["verdict"] for e in found if e["kind"] == kind)
        print(f"  {kind}: {dict(counts)}")
    for entry in found:
        if entry["verdict"] == "silent":
            print(f"  silent: {entry['case']}")
    for source in WRITERS:
        with tempfile.TemporaryDirectory() as folder:
            print(f"  without a mistake, {source}: {false_alarms(source, Path(folder)) or 'none'}")


if __name__ == "__main__":
    main()
