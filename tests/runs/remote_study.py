"""A study on workers that a test can interrupt.

Usage: remote_study.py pool|dask|ADDRESS DIRECTORY GENERATIONS PAUSE
"""

import sys

from remote_problems import Sphere
from toy_study import Evolution

from trueup.runs import Budget, RunDirectory, run_search
from trueup.runs.evaluators import DaskCluster, ProcessPool


class OneCost(Sphere):
    """The first cost of the sphere."""

    objectives = ("near",)

    def costs(self, X, failures=None):
        return super().costs(X, failures)[:, :1]


def main():
    where, path, generations, pause = sys.argv[1:]
    evaluators = {"pool": lambda: ProcessPool(2), "dask": lambda: DaskCluster(workers=2)}
    evaluator = evaluators.get(where, lambda: DaskCluster(where))()
    problem = OneCost(float(pause))
    solution = run_search(
        problem,
        Evolution(problem.space),
        RunDirectory.create(path),
        budget=Budget(max_generations=int(generations)),
        evaluator=evaluator,
        on_generation=lambda generation: print(generation.number, flush=True),
        verbose=False,
    )
    print(solution.status.name, solution.message, flush=True)


if __name__ == "__main__":
    main()
