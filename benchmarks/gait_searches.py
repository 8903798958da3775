"""Shared by two benchmarks: resumable searches of planar22, and evaluation of their walks."""

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from trueup.fitting import CmaEsSettings, Status
from trueup.gait import (
    GaitConfiguration,
    GaitProblem,
    Walker,
    WalkObjective,
    WalkSettings,
    WalkSimulation,
    attach_exoskeleton,
    make_problem,
    planar22,
    planar22_anatomy,
)
from trueup.gait.search.early_stop import EarlyStoppingCmaEs
from trueup.studies import Budget, RunDirectory, Store, atomic, run

DURATION, SPEED = 20.0, 1.25
"""How long a walk is judged [s], and the speed that it has to keep [m/s]."""

AT_ONCE = 5
"""Generations between two looks at the clock."""
LOOKED_AT = 24
"""Best candidates of which the first is taken that keeps the speed for the whole time."""

Done = Callable[[GaitProblem, np.ndarray, int, bool], np.ndarray | None]


class Clock:
    """CPU time of all calls together [s], kept in a file."""

    def __init__(self, path: Path, minutes: float):
        self.path, self.limit = path, 60.0 * minutes
        self.spent = json.loads(path.read_text()) if path.is_file() else 0.0
        self._last = time.process_time()

    def tick(self) -> bool:
        """Count the time; returns whether there is some left."""
        now = time.process_time()
        self.spent, self._last = self.spent + now - self._last, now
        atomic.write_json(self.path, self.spent)
        return self.spent < self.limit


def search_on(
    folder: Path,
    configuration: GaitConfiguration,
    start: np.ndarray | None,
    clock: Clock,
    done: Done,
) -> tuple[GaitProblem, np.ndarray]:
    """Search, or search on, until it is done or the time is spent.

    ``done`` is told the problem, the best whole vectors in order, the number of generations, and
    whether they are the last ones; it returns the vector to end with, or None. That is kept, and
    taken when called again.

    Returns:
      The problem, and the vector that it ended with.
    """
    problem = make_problem(configuration, threads=1)
    if start is not None:
        problem = from_start(problem, start)
    ended = folder / "ended_with.txt"
    if ended.is_file():
        return problem, np.loadtxt(ended)
    begun = (folder / "run.json").is_file()
    directory = RunDirectory.open(folder) if begun else RunDirectory.create(folder)
    generations = 0
    with directory.lock():
        while True:
            settings = CmaEsSettings(population=configuration.popsize)
            solution = run(
                problem,
                EarlyStoppingCmaEs(problem.space, settings, seed=configuration.seed),
                directory,
                settings=configuration.plain(),
                resume=begun,
                budget=Budget(max_generations=generations + AT_ONCE),
                verbose=False,
            )
            if solution.status is Status.INTERRUPTED:
                raise KeyboardInterrupt(solution.message)
            begun = True
            generations = int(solution.stats["generations"])
            with Store.open(directory.study) as store:
                history = store.history()
            order = np.argsort(history.costs[:, 0], kind="stable")[:LOOKED_AT]
            best = problem.parameters.complete(history.X[order])
            time_left = clock.tick()
            print(
                f"  {clock.spent / 60.0:6.2f} CPU min, {folder.name}, generation {generations}: "
                f"cost {solution.cost:.4g}",
                flush=True,
            )
            # a search may also end by itself
            ends = solution.status is not Status.ITERATION_LIMIT
            chosen = done(problem, best, generations, ends)
            if chosen is not None:
                np.savetxt(ended, chosen)
            if chosen is not None or ends or not time_left:
                return problem, best[0] if chosen is None else chosen


def from_start(problem: GaitProblem, start: np.ndarray) -> GaitProblem:
    """The problem with another start."""
    parameters = problem.parameters
    parameters = parameters.with_entries(
        {
            name: {"start": value}
            for name, value in zip(parameters.names, start.tolist(), strict=True)
        }
    )
    return GaitProblem(
        problem.scenarios,
        parameters,
        deviation=problem.space.deviation,
        perturbations=problem.perturbations,
    )


def first_that_fits(simulation: WalkSimulation, best: np.ndarray) -> np.ndarray | None:
    """The first walk that lasts and keeps the speed, or None."""
    speeds, lasted = judged(simulation, best)
    fit = np.flatnonzero((lasted >= DURATION) & (np.abs(speeds - SPEED) <= 0.03))
    at = fit[0] if len(fit) else 0
    told = f"number {at + 1} of the best" if len(fit) else "none of the best keeps it, the cheapest"
    print(f"    {told}: {lasted[at]:.2f} s at {speeds[at]:.3f} m/s")
    return best[at] if len(fit) else None


def with_finer_step(
    parts: int, duration: float, like: WalkSimulation | None = None, device: str | None = None
) -> WalkSimulation:
    """Walks with a part of the model's time step, with the exoskeleton and settings of others."""
    spec = planar22()
    if device is not None:
        attach_exoskeleton(spec, device, planar22_anatomy())
    spec.option.timestep /= parts
    slope = 0.0 if like is None else like.walker.slope
    walker = Walker(spec.compile(), planar22_anatomy(), slope=slope)
    if like is None:
        return WalkSimulation(walker, WalkSettings(duration=duration, threads=1))
    settings = replace(like.settings, duration=duration)
    return WalkSimulation(walker, settings, profile=like.profile)


def judged(simulation: WalkSimulation, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean speed over the last ten strides [m/s], and how long the walks last [s], ``(n,)``."""
    records = simulation.run(vectors)
    costs = WalkObjective({"effort": 1.0}, strides=10).costs(
        records, simulation.walker.anatomy, simulation.settings.duration
    )
    return costs.terms["speed"], records.length * records.period
