"""Peak memory and time of a generation of 32 walks of 20 s, costs included.

    python benchmarks/gait_memory.py [MODEL.xml VECTOR.txt] [--candidates 32] [--seconds 20]
        [--repeats 0] [--early-stop]

The default is planar22 with its nominal vector. A MODEL with an exoskeleton and a VECTOR that
walks, such as MyoAssist's tutorial, run as in MyoAssist. The figure is the peak resident size of a
separate process (limit: 1 GB). ``--repeats``: perturbed repeats for each candidate;
``--early-stop``: candidates, half of them with disturbed gains, with and without a bound at their
median cost, and the time saved.
"""

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from trueup.gait import (
    FourParameterProfile,
    GaitProblem,
    MyoAssistCost,
    Perturbations,
    Scenario,
    Walker,
    WalkObjective,
    WalkSettings,
    WalkSimulation,
)
from trueup.gait.costs.stages import PRESETS


def main() -> None:
    """Run the benchmark in a process of its own and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", default="planar22")
    parser.add_argument("vector", nargs="?", type=Path)
    parser.add_argument("--candidates", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--repeats", type=int, default=0)
    parser.add_argument("--early-stop", action="store_true")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        _measure(options)
    else:
        subprocess.run([sys.executable, *sys.argv, "--measure"], check=True)


def _measure(options: argparse.Namespace) -> None:
    compat = options.vector is not None
    settings = WalkSettings(duration=options.seconds, delayed=not compat, compat=compat)
    profile = FourParameterProfile(strict=True) if compat else None
    simulation = WalkSimulation(Walker.load(options.model), settings, profile=profile)
    own = compat and not options.early_stop
    objective = MyoAssistCost("Effort") if own else WalkObjective(PRESETS["-vel"])
    repeats = Perturbations(options.repeats) if options.repeats else None
    problem = GaitProblem([Scenario(simulation, objective)], perturbations=repeats)
    vector = np.loadtxt(options.vector) if compat else simulation.parameters.start
    X = np.tile(vector, (options.candidates, 1))
    if options.early_stop:
        rng = np.random.default_rng(0)
        X[::2, :50] *= 1.0 + 0.1 * rng.standard_normal(X[::2, :50].shape)
    problem.whole_costs(X)  # compiles, and makes the batch
    start = time.process_time()
    costs = problem.whole_costs(X)
    seconds = time.process_time() - start
    lasted = problem.terms["lasted"].mean()
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    print(
        f"{options.candidates} candidates x {max(options.repeats, 1)} walks of {options.seconds:g} "
        f"s, {lasted:.2f} s walked on average: {size:.0f} MB, {seconds:.1f} CPU s",
        flush=True,
    )
    if options.early_stop:
        problem.bound = float(np.median(costs))
        start = time.process_time()
        again = problem.whole_costs(X)
        saved = 1.0 - (time.process_time() - start) / seconds
        kept = costs <= problem.bound
        print(
            f"early stop at the median: {saved:.0%} less CPU time, "
            f"{int((problem.terms['stopped'] > 0).sum())} candidates stopped, costs of the better "
            f"half equal: {bool(np.array_equal(costs[kept], again[kept]))}"
        )


if __name__ == "__main__":
    main()
