"""Efficiency of two Dask workers: share of their time spent on evaluations.

Each candidate takes 50 ms (a sleep, so that the load of the machine does not count). Efficiency is
the evaluation time divided by workers x wall-clock time. For comparison: trueup's process pool, and
Dask's ``Client.map`` with one task per candidate. Run::

    python benchmarks/dask_efficiency.py
"""

import argparse
import json
import os
import time

import numpy as np

from trueup.fitting.problem import VectorisedCosts
from trueup.parameters import Space
from trueup.runs.evaluators import DaskCluster, ProcessPool

BAR = 0.8
"""Least efficiency of two Dask workers."""


class Sleeper:
    """Costs of a batch that take so long a candidate [s]."""

    def __init__(self, pause: float):
        self.pause = pause

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Sphere ``(n,)`` of candidates ``(n, p)``, one after another."""
        for _ in X:
            time.sleep(self.pause)
        return (X**2).sum(axis=1)


def problem_of(pause: float) -> VectorisedCosts:
    """A problem with ten unknowns."""
    space = Space(
        tuple(f"x{k}" for k in range(10)),
        np.full(10, -1.0),
        np.full(10, 1.0),
        np.zeros(10),
        np.zeros(10, bool),
    )
    return VectorisedCosts(Sleeper(pause), space)


def efficiency(seconds: float, candidates: int, pause: float, workers: int) -> float:
    """Share of the workers' time that went into evaluations."""
    return candidates * pause / (workers * seconds)


def time_generations(problem, populations: list[np.ndarray]) -> float:
    """Wall-clock time [s] of some generations, one after another, after a first one."""
    problem.costs(populations[0], {})
    began = time.perf_counter()
    for X in populations:
        problem.costs(X, {})
    return time.perf_counter() - began


def time_of_plain_map(populations: list[np.ndarray], pause: float, workers: int) -> float:
    """The same generations by Dask itself, one task a candidate, the function sent each time."""
    from distributed import Client, LocalCluster

    cluster = LocalCluster(
        n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
    )
    sleeper = Sleeper(pause)
    with cluster, Client(cluster) as client:
        client.gather(client.map(sleeper, list(populations[0][:, None, :]), pure=False))
        began = time.perf_counter()
        for X in populations:
            client.gather(client.map(sleeper, list(X[:, None, :]), pure=False))
        return time.perf_counter() - began


def main() -> None:
    """Time each way and print the results as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pause", type=float, default=0.05, help="time of one evaluation [s]")
    parser.add_argument("--population", type=int, default=32)
    parser.add_argument("--generations", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    random = np.random.default_rng(1)
    populations = [
        random.uniform(-1.0, 1.0, (options.population, 10)) for _ in range(options.generations)
    ]
    problem = problem_of(options.pause)
    seconds = {}
    for name, evaluator in (
        ("trueup DaskCluster", DaskCluster(workers=options.workers)),
        ("trueup ProcessPool", ProcessPool(options.workers)),
    ):
        with evaluator.over(problem) as remote:
            seconds[name] = time_generations(remote, populations)
    seconds["dask Client.map"] = time_of_plain_map(populations, options.pause, options.workers)
    count = options.population * options.generations
    found = {
        name: efficiency(value, count, options.pause, options.workers)
        for name, value in seconds.items()
    }
    within = found["trueup DaskCluster"] >= BAR
    print(
        json.dumps(
            {
                "efficiency": found,
                "seconds": seconds,
                "evaluations": count,
                "seconds an evaluation": options.pause,
                "workers": options.workers,
                "cores": os.cpu_count(),
                "within the bar": within,
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
