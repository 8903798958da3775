"""Exactness of resume at every generation: all methods, dimensions 2 to 100, populations 4 to 40.

A search is saved before each of its generations, restored from the bytes of the state, and followed
for a few generations beside the search that was never stopped: candidates and history have to be
equal bit for bit. The problem is Rosenbrock's valley as residuals.

    python benchmarks/resume_everywhere.py                       # all, an hour on two cores
    python benchmarks/resume_everywhere.py --method cmaes --dimension 40 70 --population 6

Prints a line for each method and dimension; exit code 1 if any resume differs.
"""

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from typing import Any

import numpy as np

from trueup.fitting import SEARCH_METHODS, Problem, Vectorised, make_search
from trueup.fitting.test_problems.test_problem import box
from trueup.runs.store.state_codec import decode_state, encode_state

DIMENSIONS = range(2, 101)
POPULATIONS = range(4, 41)
GENERATIONS, FOLLOWED = 40, 3


def valley(dimension: int) -> Problem:
    """Rosenbrock's valley as residuals, which have its cost."""

    def residuals(X: np.ndarray) -> np.ndarray:
        bend = 10.0 * (X[:, 1:] - np.square(X[:, :-1]))
        return np.sqrt(2.0) * np.concatenate([bend, 1.0 - X[:, :-1]], axis=1)

    start = np.where(np.arange(dimension) % 2 == 0, -1.2, 1.0)
    return Vectorised(residuals, box(start, -5.0, 5.0))


def differences(
    method: str,
    dimension: int,
    population: int | None,
    generations: int = GENERATIONS,
    followed: int = FOLLOWED,
) -> list[int]:
    """Generations at which a search that is stopped and resumed differs from an unbroken one.

    Args:
        method: name of the search.
        dimension: unknowns.
        population: candidates in a batch, for methods that can choose.
        generations: generations of the unbroken search; fewer where it ends before.
        followed: generations for which each resumed search is compared.
    """
    problem = valley(dimension)
    search = make_search(method, problem.space, seed=1, population=population)
    resumed: list[tuple[int, Any]] = []
    bad = []
    for generation in range(generations):
        if search.done() is not None:
            break
        if generation % 2:
            search.ask()  # a state that is saved in between holds nothing of the question
        state = decode_state(*encode_state(search.state()))
        resumed.append((generation, type(search).from_state(state, problem.space)))
        X = search.ask()
        _take(search, problem, X)
        kept = []
        for stop, other in resumed:
            Y = other.ask()
            if X.tobytes() != Y.tobytes():
                bad.append(stop)
                continue
            _take(other, problem, Y)
            if other.history != search.history:
                bad.append(stop)
            elif generation - stop + 1 < followed:
                kept.append((stop, other))
        resumed = kept
    return bad


def _take(search: Any, problem: Problem, X: np.ndarray) -> None:
    failures: dict[int, str] = {}
    search.tell(X, search.evaluate(problem, X, failures), failures)


def main() -> int:
    """Sweep methods, dimensions and populations."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--method", nargs="*", default=list(SEARCH_METHODS))
    parser.add_argument("--dimension", nargs="*", type=int, default=list(DIMENSIONS))
    parser.add_argument("--population", nargs="*", type=int, default=list(POPULATIONS))
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    found = tried = 0
    began = time.perf_counter()
    with ProcessPoolExecutor(options.workers) as pool:
        for method, dimension in product(options.method, options.dimension):
            sized = SEARCH_METHODS[method].population is not None
            populations = options.population if sized else [None]
            count = len(populations)
            answers = pool.map(differences, [method] * count, [dimension] * count, populations)
            for population, bad in zip(populations, answers, strict=True):
                tried += 1
                found += bool(bad)
                if bad:
                    print(f"{method} {dimension}-D, population {population}: differs at {bad}")
            print(f"{method} {dimension}-D: {count} sizes", flush=True)
    seconds = time.perf_counter() - began
    print(f"{tried} searches, {found} differ, {seconds:.0f} s")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
