"""Overhead of a study per candidate, compared with Optuna's CMA-ES on the same problem.

CMA-ES with a population of 32 minimises a cheap vectorised function. The overhead, time without the
function itself, is printed per candidate for

- the search alone (no study), a study with its run directory, and one that is exported into an
  Optuna storage (SQLite, journal) afterwards;
- Optuna's ``CmaEsSampler`` with the same population, with trials in memory and in SQLite.

All work of a run counts, opening and closing files included. Run::

    pip install optuna cmaes
    python benchmarks/optuna_overhead.py
    python benchmarks/optuna_overhead.py --generations 300 --dimension 40 --optuna-trials 2000
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from trueup import runs
from trueup.fitting import CmaEs, CmaEsSettings, test_problems
from trueup.runs.optuna_storage import export_study

POPULATION = 32
LIMIT = 1e-3
"""Seconds a candidate that the machinery of a study may take."""


class Timed:
    """A problem that counts its candidates and the time spent in its function: wall, CPU [s]."""

    def __init__(self, problem: Any):
        self._problem = problem
        self.candidates, self.seconds = 0, np.zeros(2)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._problem, name)

    def costs(self, X: np.ndarray, failures: dict[int, str] | None = None) -> np.ndarray:
        """Costs of candidates ``X (n, p)``."""
        began = now()
        costs = self._problem.costs(X, failures)
        self.seconds += now() - began
        self.candidates += len(X)
        return costs


def now() -> np.ndarray:
    """Wall-clock and CPU time of this process [s]."""
    return np.array([time.perf_counter(), time.process_time()])


def overhead(problem: Any, action: Callable[[Timed], object]) -> np.ndarray:
    """Wall-clock and CPU time a candidate that an action takes beside the function itself [s]."""
    timed = Timed(problem)
    began = now()
    action(timed)
    return (now() - began - timed.seconds) / timed.candidates


def our_runs(problem: Any, generations: int, folder: Path) -> dict[str, Callable[[Timed], object]]:
    """What of ours is measured."""
    settings = CmaEsSettings(
        population=POPULATION, options={"tolfun": 0.0, "tolfunhist": 0.0, "tolx": 0.0}
    )
    budget = runs.Budget(max_generations=generations)

    def search() -> Any:
        return CmaEs(problem.space, settings)

    def alone(timed: Timed) -> None:
        strategy = search()
        for _ in range(generations):
            failures: dict[int, str] = {}
            X = strategy.ask()
            strategy.tell(X, timed.costs(X, failures), failures)

    def study(name: str, storage: str | None = None) -> Callable:
        def action(timed: Timed) -> object:
            directory = runs.RunDirectory.create(folder / name)
            solution = runs.run_search(timed, search(), directory, budget=budget, verbose=False)
            if storage is not None:
                export_study(directory, str(folder / storage), space=problem.space)
            return solution

        return action

    return {
        "trueup: search alone": alone,
        "trueup: study": study("plain"),
        "trueup: study, exported to SQLite": study("exported", "study.db"),
        "trueup: study, exported to a journal": study("journal", "study.log"),
    }


def optuna_runs(problem: Any, trials: int, folder: Path) -> dict[str, Callable[[Timed], object]]:
    """What of Optuna is measured."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    space = problem.space
    bounds = list(zip(space.names, space.lower.tolist(), space.upper.tolist(), strict=True))

    def study(storage: str | None) -> Callable:
        def action(timed: Timed) -> object:
            sampler = optuna.samplers.CmaEsSampler(seed=0, popsize=POPULATION)

            def objective(trial: optuna.Trial) -> float:
                x = [trial.suggest_float(name, low, high) for name, low, high in bounds]
                return float(timed.costs(np.array([x]))[0, 0])

            study = optuna.create_study(sampler=sampler, storage=storage)
            return study.optimize(objective, n_trials=trials)

        return action

    return {
        "optuna CmaEsSampler: in memory": study(None),
        "optuna CmaEsSampler: SQLite": study(f"sqlite:///{folder}/optuna.db"),
    }


def main() -> None:
    """Measure each and print the results as JSON, in milliseconds a candidate."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dimension", type=int, default=10)
    parser.add_argument("--generations", type=int, default=100)
    parser.add_argument("--optuna-trials", type=int, default=160)
    options = parser.parse_args()
    problem = test_problems.rosenbrock(options.dimension).problem
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # Imports are not counted, so each kind runs once before.
        warm = our_runs(problem, 1, folder / "warm") | optuna_runs(problem, 1, folder)
        (folder / "warm").mkdir()
        for action in warm.values():
            action(Timed(problem))
        actions = our_runs(problem, options.generations, folder)
        actions |= optuna_runs(problem, options.optuna_trials, folder)
        found = {what: overhead(problem, action) for what, action in actions.items()}
    table = [{what: round(1e3 * s[i], 4) for what, s in found.items()} for i in (0, 1)]
    print(
        json.dumps(
            {
                "population": POPULATION,
                "dimension": options.dimension,
                "overhead a candidate, wall-clock time [ms]": table[0],
                "overhead a candidate, CPU time [ms]": table[1],
                "limit [ms]": 1e3 * LIMIT,
                "within the limit": bool(found["trueup: study"][0] <= LIMIT),
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
