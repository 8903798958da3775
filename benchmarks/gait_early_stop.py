"""Simulated time and CPU time that early stopping of candidates saves in a robust gait search.

A search with early stop runs a few generations; each of its populations is evaluated with the bound
and without it. Candidates at or below the bound must have the same cost bit for bit, and the best
candidate must be the same. Run with

    python benchmarks/gait_early_stop.py [--start VECTOR] [--generations 6] [--population 16]

``VECTOR`` is a walk of planar22 without an exoskeleton, such as a ``*_Best.txt``; the default is
the nominal vector, most of whose neighbours fall soon in either case.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from trueup.fitting import CmaEsSettings
from trueup.gait import EarlyStoppingCmaEs, GaitProblem, load_configuration, make_problem
from trueup.runs import warm_start


def walked(problem: GaitProblem, X: np.ndarray, bound: float) -> tuple[np.ndarray, float, float]:
    """Costs ``(n,)`` of candidates, simulated seconds and CPU seconds."""
    problem.bound, start = bound, time.process_time()
    try:
        costs = problem.costs(X)[:, 0]
    finally:
        problem.bound = np.inf
    spent = time.process_time() - start
    repeats = 1 if problem.perturbations is None else problem.perturbations.repeats
    lasted = sum(v.sum() for name, v in problem.terms.items() if name.endswith("lasted"))
    return costs, repeats * float(lasted), spent


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Saving of the early stop.")
    parser.add_argument("--start", help="vector to start from")
    parser.add_argument("--config", default="walk")
    parser.add_argument("--generations", type=int, default=6)
    parser.add_argument("--population", type=int, default=16)
    parser.add_argument("--sim-time", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    _, configuration = load_configuration(arguments.config).staged[-1]
    problem = make_problem(
        configuration.with_changes({"sim_time": arguments.sim_time, "param_path": None}), 1
    )
    space = problem.space
    if arguments.start:
        warm = warm_start(Path(arguments.start), space, [problem.parameters.names])
        space = warm.space(space)
    settings = CmaEsSettings(population=arguments.population)
    search = EarlyStoppingCmaEs(space, settings, seed=arguments.seed)
    bound, totals = np.inf, np.zeros(4)
    print("generation     bound  stopped  simulated s: without     with   CPU s: without   with")
    for generation in range(arguments.generations):
        X = search.ask()
        whole, all_seconds, all_cpu = walked(problem, X, np.inf)
        costs, seconds, cpu = walked(problem, X, bound)
        kept = whole <= bound
        if not np.array_equal(costs[kept], whole[kept]) or (costs[~kept] <= bound).any():
            raise SystemExit("the early stop changed a candidate that could have won")
        if kept.any() and int(np.argmin(costs)) != int(np.argmin(whole)):
            raise SystemExit("the early stop changed the best candidate")
        stopped = int(np.sum(costs != whole))
        print(
            f"{generation:10d} {bound:9.5g} {stopped:8d} {all_seconds:21.1f} {seconds:8.1f} "
            f"{all_cpu:16.1f} {cpu:6.1f}",
            flush=True,
        )
        if generation:  # the first one has no bound
            totals += (all_seconds, seconds, all_cpu, cpu)
        search.tell(X, costs[:, None], {})
        bound = float(np.median(costs))
    saved = 100.0 * (1.0 - totals[1::2] / totals[::2])
    print(
        f"saved after the first: {saved[0]:.1f} % of simulated time, {saved[1]:.1f} % of CPU time"
    )


if __name__ == "__main__":
    main()
