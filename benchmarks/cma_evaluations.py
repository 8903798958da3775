"""Evaluations of CMA-ES up to a target cost, compared with the package cma, and effect of restarts.

Run with::

    python benchmarks/cma_evaluations.py
    python benchmarks/cma_evaluations.py --restarts --evaluations 300000

The first compares evaluations until the cost is 1e-8 above the optimum: cma gets the same
population, first step, bounds and random numbers. The second counts, on the rotated Rastrigin
function in 10 dimensions, the seeds in which plain CMA-ES, IPOP and BIPOP reach 1e-8.
"""

import argparse
import statistics
import time
import warnings
from collections.abc import Sequence

import numpy as np

from trueup.fitting import CmaEs, CmaEsSettings, minimise, test_problems
from trueup.fitting.test_problems import TestProblem

STRATEGIES = ("none", "ipop", "bipop")
_TARGET = 1e-8
_LIMIT = 60_000


def main() -> None:
    """Print one of the two tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--restarts", action="store_true")
    parser.add_argument("--evaluations", type=int, default=300_000, help="limit with --restarts")
    parser.add_argument("--only", choices=STRATEGIES, help="one strategy with --restarts")
    arguments = parser.parse_args()
    if arguments.restarts:
        chosen = (arguments.only,) if arguments.only else STRATEGIES
        compare_restarts(chosen, arguments.seeds, arguments.evaluations)
    else:
        compare_evaluations(arguments.seeds)


def compare_evaluations(seeds: int) -> None:
    """Median evaluations of both on each problem, and their ratio."""
    print(f"{'problem':<24} {'trueup':>9} {'cma':>9} {'ratio':>7} {'reached':>9}")
    ratios = []
    for dimension in (5, 10):
        for toy in (
            test_problems.sphere(dimension),
            test_problems.ellipsoid(dimension),
            test_problems.rotated_ellipsoid(dimension),
            test_problems.rosenbrock(dimension),
        ):
            ours = [evaluations_of_trueup(toy, seed) for seed in range(seeds)]
            theirs = [evaluations_of_cma(toy, seed) for seed in range(seeds)]
            ratio = statistics.median(ours) / statistics.median(theirs)
            ratios.append(ratio)
            reached = f"{sum(np.isfinite(ours))}/{sum(np.isfinite(theirs))}"
            print(
                f"{toy.name:<24} {statistics.median(ours):>9.0f} "
                f"{statistics.median(theirs):>9.0f} {ratio:>7.3f} {reached:>9}",
                flush=True,
            )
    print(f"median ratio {statistics.median(ratios):.3f}, largest {max(ratios):.3f}")


def evaluations_of_trueup(toy: TestProblem, seed: int) -> float:
    """Evaluations until the target is reached; infinite where it is not."""
    settings = CmaEsSettings(target_cost=toy.cost + _TARGET, max_evaluations=_LIMIT)
    search = CmaEs(toy.space, settings, seed)
    solution = minimise(toy.problem, search)
    return search.evaluations if solution.cost <= toy.cost + _TARGET else np.inf


def evaluations_of_cma(toy: TestProblem, seed: int) -> float:
    """The same of cma, called as its documentation shows."""
    import cma

    rng = np.random.default_rng(seed)
    space = toy.space
    step = CmaEsSettings().deviation * float(space.upper[0] - space.lower[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        strategy = cma.CMAEvolutionStrategy(
            space.start,
            step,
            {
                "bounds": [space.lower.tolist(), space.upper.tolist()],
                "ftarget": toy.cost + _TARGET,
                "maxfevals": _LIMIT,
                "randn": lambda *shape: rng.standard_normal(shape),
                "seed": np.nan,
                "verbose": -9,
                "verb_log": 0,
            },
        )
        while not strategy.stop():
            candidates = strategy.ask()
            costs = toy.problem.costs(np.array(candidates))[:, 0]
            strategy.tell(candidates, costs.tolist())
    return strategy.countevals if strategy.best.f <= toy.cost + _TARGET else np.inf


def compare_restarts(strategies: Sequence[str], seeds: int, evaluations: int) -> None:
    """How many seeds each restart strategy solves, and at what price."""
    toy = test_problems.rotated_rastrigin(10)
    print(f"{toy.name}, at most {evaluations} evaluations")
    for restarts in strategies:
        settings = CmaEsSettings(
            restarts=restarts,
            max_restarts=99,
            target_cost=toy.cost + _TARGET,
            max_evaluations=evaluations,
        )
        start, spent = time.perf_counter(), []
        for seed in range(seeds):
            search = CmaEs(toy.space, settings, seed)
            if minimise(toy.problem, search).cost <= toy.cost + _TARGET:
                spent.append(search.evaluations)
        median = f"{statistics.median(spent):.0f}" if spent else "-"
        print(
            f"{restarts:<6} solved {len(spent)} of {seeds}, median evaluations {median}, "
            f"{time.perf_counter() - start:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
