"""A small evolution strategy on a sphere; as a script, a study that a test can kill.

Usage: toy_study.py DIRECTORY GENERATIONS PAUSE  (PAUSE: seconds of one evaluation)
"""

import sys
import time

import numpy as np

from trueup.fitting.solution import Status
from trueup.parameters import Space
from trueup.runs import Budget, RunDirectory, run_search


class Sphere:
    """Cost: squared distance from the optimum; the candidates beyond 2 are invalid."""

    def __init__(self, pause=0.0):
        self.pause = pause
        self.space = Space(
            names=("a", "b", "c"),
            lower=np.full(3, -5.0),
            upper=np.full(3, 5.0),
            start=np.ones(3),
            log=np.zeros(3, bool),
        )

    def costs(self, X, failures):
        time.sleep(self.pause)
        for row in np.flatnonzero(np.abs(X).max(axis=1) > 2.0):
            failures[int(row)] = "out of reach"
        return ((X - [0.3, -0.2, 0.1]) ** 2).sum(axis=1)[:, None]


class Evolution:
    """Mean of the better half, a step size that shrinks, and a random generator in the state."""

    population = 6

    def __init__(self, space, seed=3):
        self.mean, self.step = space.start.copy(), 1.0
        self.x, self.cost = space.start.copy(), np.inf
        self.message, self.history = "", []
        self.random = np.random.default_rng(seed)

    def ask(self):
        return self.mean + self.step * self.random.standard_normal((self.population, 3))

    def tell(self, X, answer, failures):
        costs = np.where([i in failures for i in range(len(X))], np.inf, answer[:, 0])
        order = np.argsort(costs, kind="stable")
        self.mean = X[order[:3]].mean(axis=0)
        self.step *= 0.99
        if costs[order[0]] < self.cost:
            self.x, self.cost = X[order[0]].copy(), float(costs[order[0]])

    def done(self):
        return Status.CONVERGED if self.step < 1e-6 else None

    def info(self):
        return {"step": self.step}

    def state(self):
        return {
            "mean": self.mean,
            "step": self.step,
            "x": self.x,
            "cost": self.cost,
            "random": self.random.bit_generator.state,
        }

    @classmethod
    def from_state(cls, state, space):
        search = cls(space)
        search.mean, search.step = state["mean"], state["step"]
        search.x, search.cost = state["x"], state["cost"]
        search.random.bit_generator.state = state["random"]
        return search


def main():
    path, generations, pause = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    try:
        directory = RunDirectory.open(path)
    except Exception:
        directory = RunDirectory.create(path)
    problem = Sphere(pause)
    solution = run_search(
        problem,
        Evolution(problem.space),
        directory,
        resume=True,
        budget=Budget(max_generations=generations),
        on_generation=lambda generation: print(generation.number, flush=True),
        verbose=False,
    )
    print(solution.status.name, solution.message, flush=True)


if __name__ == "__main__":
    main()
