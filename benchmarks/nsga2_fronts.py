"""Hypervolume of the Pareto fronts of NSGA-II, compared with other implementations.

Every implementation gets the same problems, population and number of evaluations, and several
seeds. The figure is the hypervolume of the front to the point (1.1, 1.1) over that of the
analytic front; 1 is perfect. The front is that of the last population; for optuna, that of all
trials, which can only be better. optuna's ``NSGAIISampler`` comes with the extra ``storage``; pymoo
takes part if it is installed::

    python benchmarks/nsga2_fronts.py
    python benchmarks/nsga2_fronts.py --generations 250 --seeds 5 --without optuna
"""

import argparse
import importlib.util
import time
import warnings

import numpy as np

from trueup import fitting
from trueup.fitting import test_problems

REFERENCE = np.array([1.1, 1.1])


def of_trueup(toy, population, generations, seed):
    """Front of :class:`trueup.fitting.NSGA2`."""
    settings = fitting.NSGA2Settings(population, generations, tolerance=0.0)
    search = fitting.NSGA2(toy.space, settings, seed)
    for _ in range(generations):
        X = search.ask()
        search.tell(X, toy.problem.costs(X), {})
    return search.front.costs


def of_pymoo(toy, population, generations, seed):
    """Front of pymoo's NSGA2 with its own defaults."""
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.core.problem import Problem
    from pymoo.optimize import minimize

    class Toy(Problem):
        def __init__(self):
            space = toy.space
            super().__init__(n_var=space.size, n_obj=2, xl=space.lower, xu=space.upper)

        def _evaluate(self, X, out, *args, **kwargs):
            out["F"] = toy.problem.costs(X)

    return minimize(Toy(), NSGA2(pop_size=population), ("n_gen", generations), seed=seed).F


def of_optuna(toy, population, generations, seed):
    """Front of all trials of optuna's NSGAIISampler, with simulated binary crossover."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.NSGAIISampler(
        population_size=population,
        seed=seed,
        crossover=optuna.samplers.nsgaii.SBXCrossover(eta=15.0),
    )
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler)
    box = {
        name: optuna.distributions.FloatDistribution(low, high)
        for name, low, high in zip(toy.space.names, toy.space.lower, toy.space.upper, strict=True)
    }
    for _ in range(population * generations):
        trial = study.ask(box)
        X = np.array([[trial.params[name] for name in toy.space.names]])
        study.tell(trial, toy.problem.costs(X)[0].tolist())
    return np.array([trial.values for trial in study.best_trials])


IMPLEMENTATIONS = {"trueup": of_trueup, "pymoo": of_pymoo, "optuna": of_optuna}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--population", type=int, default=100)
    parser.add_argument("--generations", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--dimension", type=int, default=10)
    parser.add_argument("--without", nargs="*", default=[], choices=list(IMPLEMENTATIONS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")

    names = [
        name
        for name in IMPLEMENTATIONS
        if name not in options.without and importlib.util.find_spec(name)
    ]
    print(
        f"population {options.population}, {options.generations} generations, "
        f"{options.dimension} unknowns, {options.seeds} seeds: median (worst) share of the "
        "hypervolume, seconds a run"
    )
    for make in (test_problems.zdt1, test_problems.zdt2, test_problems.zdt3):
        toy = make(options.dimension)
        whole = fitting.hypervolume(toy.front, REFERENCE)
        print(f"{toy.name:12s}", end="", flush=True)
        for name in names:
            start = time.perf_counter()
            shares = [
                fitting.hypervolume(
                    IMPLEMENTATIONS[name](toy, options.population, options.generations, seed),
                    REFERENCE,
                )
                / whole
                for seed in range(options.seeds)
            ]
            seconds = (time.perf_counter() - start) / options.seeds
            print(
                f"  {name} {np.median(shares):.4f} ({min(shares):.4f}), {seconds:.1f} s",
                end="",
                flush=True,
            )
        print()


if __name__ == "__main__":
    main()
