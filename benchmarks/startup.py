"""Start-up time of ``import trueup`` and ``trueup --help``, best of several fresh processes.

An empty Python process is timed for comparison. Run::

    python benchmarks/startup.py
"""

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

LIMITS = {"import trueup": 0.4, "trueup --help": 0.8}
"""Seconds that each may take."""


def best_time(command: list[str], repeats: int) -> float:
    """Shortest wall-clock time [s] of a command, files in the disk cache after a first run."""
    times = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - began)
    return min(times[1:])


def main() -> None:
    """Time each start and print the results as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "import trueup": [sys.executable, "-c", "import trueup"],
        "trueup --help": [str(Path(sysconfig.get_path("scripts")) / "trueup"), "--help"],
    }
    found = {name: best_time(command, options.repeats) for name, command in commands.items()}
    within = {name: found[name] <= limit for name, limit in LIMITS.items()}
    print(
        json.dumps(
            {"seconds": found, "within the limit": within, "cores": os.cpu_count()}, indent=2
        )
    )


if __name__ == "__main__":
    main()
