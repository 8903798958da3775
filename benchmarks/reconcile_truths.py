"""Ten runs of a simulated arm, one with a hidden load and one with a warm motor: are both named?

Each repeat records and identifies ten runs: eight alike, one with 5 % more mass at the forearm,
one with 15 % less friction and damping at the shoulder. Named falsely counts any other run. With
``--plain`` all runs are alike: nothing may be named, and the intervals of the common values are
counted (they have to hold the truth 91 to 98 times in 100, pooled).

    python benchmarks/reconcile_truths.py --repeats 20 --results reconcile.jsonl
    python benchmarks/reconcile_truths.py --repeats 100 --plain --results reconcile.jsonl

Results are appended, and repeats that the file holds are not run again.
"""

import argparse
import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from posterior_coverage import Robot, arm, record
from trueup import sysid
from trueup.reconcile import reconcile

RUNS, LOADED, WARM = 10, 3, 6


def robot_of(run: int, plain: bool) -> Robot:
    """The arm of one run."""
    robot = replace(arm(), noise=(0.003, 0.03))
    truth = dict(robot.truth)
    if run == LOADED and not plain:
        truth["m"] *= 1.05
    if run == WARM and not plain:
        truth["d1"] *= 0.85
        truth["f1"] *= 0.85
    return replace(robot, truth=truth)


def one(seed: int, plain: bool) -> dict[str, object]:
    """One repeat."""
    began = time.process_time()
    with tempfile.TemporaryDirectory() as given:
        runs = []
        for run in range(RUNS):
            folder = Path(given) / f"run{run}"
            folder.mkdir()
            record(robot_of(run, plain), folder, 1000 * seed + run)
            # the same unknowns and start for every run, whatever its truth
            loaded = sysid.load_experiment(folder / "experiment.yaml")
            result = sysid.identify(loaded, folder, output=folder / "run", verbose=False)
            if result.assessment.known is not None:  # a fit without an optimum knows nothing
                runs.append(folder / "run")
        found = reconcile(runs, anyway=True)
        content = found.content()
    truth = arm().truth
    rows = content["parameters"]
    return {
        "seed": seed,
        "plain": plain,
        "runs": len(runs),
        "named": {int(Path(o["run"]).parent.name[3:]): o["reason"] for o in content["outlying"]},
        "inside": [bool(r["low"] <= truth[r["name"]] <= r["high"]) for r in rows],
        "cpu": time.process_time() - began,
    }


def main() -> None:
    """Run the repeats that are missing and print the counts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--results", type=Path, default=Path("reconcile_truths.jsonl"))
    options = parser.parse_args()
    rows = []
    if options.results.is_file():
        rows = [json.loads(line) for line in options.results.read_text().splitlines()]
    rows = [row for row in rows if row["plain"] == options.plain]
    for seed in range(options.repeats):
        if not any(row["seed"] == seed for row in rows):
            rows.append(json.loads(json.dumps(one(seed, options.plain))))
            with options.results.open("a") as file:
                file.write(json.dumps(rows[-1]) + "\n")
    named = [{int(run): reason for run, reason in row["named"].items()} for row in rows]
    load = sum("load" in n.get(LOADED, "") for n in named)
    warm = sum("warm" in n.get(WARM, "") for n in named)
    right = () if options.plain else (LOADED, WARM)
    false = sum(any(run not in right for run in n) for n in named)
    inside = np.mean([ok for row in rows for ok in row["inside"]])
    print(f"{len(rows)} repeats: load named {load}, warm motor {warm}, both "
          f"{sum(LOADED in n and WARM in n for n in named)}, another run named falsely in {false}; "
          f"{sum(RUNS - row.get('runs', RUNS) for row in rows)} runs without an optimum; "
          f"common values inside their intervals {100 * inside:.1f} %; "
          f"{np.mean([row['cpu'] for row in rows]):.1f} CPU s a repeat")  # fmt: skip
    for row, n in zip(rows, named, strict=True):
        if set(n) != set(right):
            print(row["seed"], n)


if __name__ == "__main__":
    main()
