"""Time and memory of what follows a fit: six recordings of a UR10e, 38 unknowns in simulation.

    python benchmarks/after_fit.py DATA [--time-limit SECONDS] [--window SECONDS]

DATA holds ``ur10e``. Everything after the fit has to take at most half of the fit's time or 10 s,
whichever is larger, within the time limit; the process at most 400 MB.
"""

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

from inverse_dynamics import ur10e_experiment
from trueup import sysid
from trueup.sysid.experiment.file import parse_experiment

LINKS = ("upper_arm", "forearm", "wrist_1")


def experiment(data: Path, window: float, time_limit: float) -> str:
    """The experiment of the torque benchmark with 24 joint unknowns and 14 of links."""
    text = ur10e_experiment(data)
    head = "\n".join(
        line for line in text.splitlines() if "inertia_type" not in line and "search:" not in line
    )
    for link in LINKS:
        head += f"\n  {link}: {{inertia: {link}_link, inertia_type: mass_ipos}}"
    for link in ("wrist_2", "wrist_3"):
        head += f"\n  {link}: {{inertia: {link}_link, inertia_type: mass}}"
    return f"{head}\nwindow: {window}\nsearch: {{time_limit: {time_limit}}}\n"


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--window", type=float, default=0.5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        parsed = parse_experiment(experiment(given.data, given.window, given.time_limit))
        wall, cpu = time.perf_counter(), time.process_time()
        sysid.identify(parsed, folder, output=Path(folder) / "run", verbose=False)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        # written as soon as the fit ends
        after = time.time() - (Path(folder) / "run" / "identified_parameters.yaml").stat().st_mtime
        solution = json.loads((Path(folder) / "run" / "solution.json").read_text())
    fit = solution["stats"]["seconds"]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    allowed = max(10.0, 0.5 * fit)
    print(f"{len(solution['parameters'])} unknowns, {solution['status']}: fit {fit:.1f} s, whole "
          f"{wall:.1f} s wall, {cpu:.1f} CPU s; after the fit {after:.1f} s "
          f"(bar {allowed:.1f}), {peak:.0f} MB (bar 400)")  # fmt: skip


if __name__ == "__main__":
    main()
