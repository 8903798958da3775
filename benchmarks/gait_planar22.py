"""Planar walker: time from the nominal vector to a steady walk, time-step study, speed.

    python benchmarks/gait_planar22.py walk runs/gait/0 --seed 0 [--cpu-minutes 90] [--norm FILE]
    python benchmarks/gait_planar22.py step runs/gait/0 [--norm FILE]
    python benchmarks/gait_planar22.py speed runs/gait/0

``walk`` runs the configurations ``walk``, ``walk_upright`` and ``walk_steady`` from the nominal
vector, a fixed number of generations each, until one of the best walks keeps 1.25 m/s within
0.03 m/s for 20 s, also lasts at half and at a quarter of the time step (within 0.05 m/s), and
survives 16 of 20 perturbed repeats of a validation set. Otherwise it restarts with other random
numbers until the CPU time is spent. It reports the walk with the best survival, and its survival in
20 repeats that neither the searches nor the selection have used.
``step`` halves the time step of a walk of 10 s; ``speed`` measures simulated seconds per CPU second
on one thread, controller and cost included. All resume when called again, and count the CPU time of
all calls.
"""

import argparse
import itertools
import json
import time
from pathlib import Path

import numpy as np

from gait_searches import (
    DURATION,
    SPEED,
    Clock,
    first_that_fits,
    judged,
    search_on,
    with_finer_step,
)
from trueup.gait import (
    GaitProblem,
    Walker,
    WalkObjective,
    WalkSettings,
    WalkSimulation,
    load_configuration,
    read_norm,
    survival,
)
from trueup.studies import atomic

ENOUGH, VALIDATION = 16, 1
"""Repeats that a walk has to survive for the search to end, and the seed of those repeats; the
final ones have the seed 0."""

STAGES: tuple[tuple[str, int, dict[str, object]], ...] = (
    ("walk", 120, {}),
    ("walk_upright", 60, {}),
    ("walk_steady", 25, {}),
    ("walk_steady", 30, {"perturbed_repeats": 8}),
)
"""Searches of an attempt: configuration, generations, and what is changed of it."""

AT_FINER_STEPS = 0.05
"""How far a walk's speed may be from 1.25 m/s at a half and a quarter of the time step [m/s]."""

PROMISING = 5
"""Validation repeats that a walk has to survive for the last search to be worth its time."""

NEIGHBOURS, NEIGHBOUR = 16, 1e-4
"""Walks beside the one whose time step is halved, and by how much their vectors differ."""


def walk(folder: Path, seed: int, minutes: float, norm: Path | None) -> None:
    """From the nominal vector to a steady walk of 20 s."""
    folder.mkdir(parents=True, exist_ok=True)
    clock = Clock(folder / "cpu_seconds.json", minutes)
    kept, counted = folder / "validated_Best.txt", folder / "validated.json"

    def judge(problem: GaitProblem, best: np.ndarray, at: Path) -> np.ndarray:
        """The best walk that lasts and keeps the speed; how much it survives goes to a file."""
        simulation = problem.scenarios[0].simulation.with_settings(duration=DURATION)
        one = first_that_fits(simulation, best)
        if one is None:
            atomic.write_json(at / "survived.json", -1)
            return best[0]
        known = survival(simulation, one, seed=VALIDATION).survived
        holds = holds_at_finer_steps(one)
        finer = "" if holds else ", but not the same walk at a half or a quarter of the time step"
        print(f"    {known} of 20 validation repeats survived{finer}", flush=True)
        atomic.write_json(at / "survived.json", known)
        if holds and known > number_in(counted):
            np.savetxt(kept, one)
            atomic.write_json(counted, known)
        return one

    def attempt(at: Path, seed: int) -> np.ndarray | None:
        """The searches one after the other, as long as they come to a walk."""
        at.mkdir(exist_ok=True)
        best = None
        for number, (name, enough, changes) in enumerate(STAGES):
            if number == len(STAGES) - 1 and number_in(at / "survived.json") < PROMISING:
                break

            def done(
                problem: GaitProblem, order: np.ndarray, now: int, _: bool, name=name, enough=enough
            ):
                chosen = judge(problem, order, at) if name == "walk_steady" else order[0]
                return chosen if now >= enough or number_in(counted) >= ENOUGH else None

            configuration = load_configuration(name).with_changes({"seed": seed, **changes})
            problem, best = search_on(at / f"{number}_{name}", configuration, best, clock, done)
            simulation = problem.scenarios[0].simulation
            falls = judged(simulation, best[None])[1][0] < simulation.settings.duration
            if falls or number_in(counted) >= ENOUGH or not clock.tick():
                break
        return best

    for k in itertools.count():
        # attempts differ by more than seeds that somebody asks for
        best = attempt(folder / str(k), seed + 1000 * k)
        if number_in(counted) >= ENOUGH or not clock.tick():
            break
    best = np.loadtxt(kept) if kept.is_file() else np.asarray(best)
    np.savetxt(folder / "walk_Best.txt", best)
    simulation = WalkSimulation(Walker.load("planar22"), WalkSettings(duration=DURATION, threads=1))
    (speed,), (lasted,) = judged(simulation, best[None])
    survived = survival(simulation, best)
    print(f"seed {seed}: {clock.spent / 60.0:.1f} CPU minutes from the nominal vector")
    print(f"  walks {lasted:.2f} s at {speed:.3f} m/s")
    print(
        f"  survives {survived.survived} of 20 perturbed repeats that it was not scored on; they "
        f"last {survived.lasted.mean():.1f} s on average"
    )
    if norm is not None:
        beside_norm(simulation, best, norm)


def number_in(path: Path) -> int:
    """A number that was kept in a file, -1 before."""
    return json.loads(path.read_text()) if path.is_file() else -1


def holds_at_finer_steps(vector: np.ndarray) -> bool:
    """Whether a walk lasts and keeps the speed at a half and at a quarter of the time step."""
    for parts in (2, 4):
        (speed,), (lasted,) = judged(with_finer_step(parts, DURATION), vector[None])
        # frames need not end with the walk: their period follows from the time step
        if lasted < DURATION - 0.02 or abs(speed - SPEED) > AT_FINER_STEPS:
            return False
    return True


def beside_norm(simulation: WalkSimulation, vector: np.ndarray, path: Path) -> None:
    """Print how far the joint angles are from the norm, and how much is in its band."""
    reference = read_norm(path).reference
    records = simulation.run(vector[None])
    length = int(records.length[0])
    loaded = records.column("load_r")[0, :length] > 0.1
    downs = np.flatnonzero(loaded[1:] & ~loaded[:-1]) + 1
    downs = downs[np.diff(downs, prepend=-100) > 30][-11:]
    means = reference.leg_angles()
    parts = np.linspace(0.0, 1.0, means.shape[1], endpoint=False)
    for joint, mean in zip(("hip", "knee", "ankle"), means, strict=True):
        angle = records.column(f"{joint}_r")[0]
        cycles = [
            np.interp(a + parts * (b - a), np.arange(a, b + 1), angle[a : b + 1])
            for a, b in itertools.pairwise(downs)
        ]
        off = np.rad2deg(np.mean(cycles, axis=0) - mean)
        inside = ""
        deviation = reference.angles[joint].sd
        if deviation is not None:
            band = np.interp(parts, np.linspace(0.0, 1.0, len(deviation)), np.rad2deg(deviation))
            share = 100.0 * np.mean(np.abs(off) <= 2.0 * band)
            inside = f", {share:.0f} % of the cycle within two deviations of the norm"
        print(f"  {joint}: mean distance {np.abs(off).mean():.1f} deg{inside}")


def step(folder: Path, norm: Path | None) -> None:
    """Walk 10 s with the time step, with half and a quarter of it, and so do its neighbours.

    A walk is sensitive: numbers of the vector that differ by 1e-4 move its mean speed by some mm/s,
    at one time step. The mean of such neighbours tells what the time step does apart from that.
    """
    vector = np.loadtxt(folder / "walk_Best.txt")
    nudges = 1.0 + NEIGHBOUR * np.random.default_rng(0).standard_normal((NEIGHBOURS, len(vector)))
    vectors = np.vstack([vector, vector * nudges])
    reference = None if norm is None else read_norm(norm).reference
    found = []
    for parts in (1, 2, 4):
        simulation = with_finer_step(parts, 10.0)
        records = simulation.run(vectors)
        objective = WalkObjective({"effort": 1.0}, reference=reference)
        terms = objective.costs(records, simulation.walker.anatomy, 10.0).terms
        found.append(terms)
        timestep = 1e3 * simulation.walker.model.opt.timestep
        print(
            f"{timestep:.3g} ms: {records.length[0] * records.period:.2f} s, speed "
            f"{terms['speed'][0]:.4f} m/s, effort {terms['effort'][0]:.5f}, kinematic "
            f"{terms['kinematic'][0]:.5f}; neighbours differ by {terms['speed'][1:].std():.4f} m/s"
        )
    whole, half = found[0], found[1]
    for name in ("effort", "kinematic"):
        alone, mean = (100.0 * (f(half[name]) / f(whole[name]) - 1.0) for f in (first, np.mean))
        print(f"  halved: {name} {alone:+.2f} %, mean of the neighbours {mean:+.2f} %")
    alone, mean = (f(half["speed"]) - f(whole["speed"]) for f in (first, np.mean))
    print(f"  halved: speed {alone:+.4f} m/s, mean of the neighbours {mean:+.4f} m/s")


def first(values: np.ndarray) -> float:
    """That of the walk itself."""
    return float(values[0])


def speed(folder: Path) -> None:
    """Simulated seconds per CPU second of a population, one thread."""
    vector = np.loadtxt(folder / "walk_Best.txt")
    simulation = WalkSimulation(Walker.load("planar22"), WalkSettings(duration=10.0, threads=1))
    objective = WalkObjective(load_configuration("walk").weights or {}, trunk="zero_diff")
    X = np.tile(vector, (16, 1))
    rates = []
    for _ in range(6):
        start = time.process_time()
        records = simulation.run(X)
        objective.costs(records, simulation.walker.anatomy, 10.0)
        rates.append(float((records.length * records.period).sum()) / (time.process_time() - start))
    print(
        f"{simulation.walker.model.opt.timestep * 1e3:g} ms, delays, 16 walks of 10 s: median "
        f"{np.median(rates[1:]):.1f}, best {max(rates[1:]):.1f} simulated s per CPU s"
    )


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("walk", "step", "speed"))
    parser.add_argument("directory", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cpu-minutes", type=float, default=90.0)
    parser.add_argument("--norm", type=Path, help="norms, such as Schwartz2008.json")
    options = parser.parse_args()
    if options.what == "walk":
        walk(options.directory, options.seed, options.cpu_minutes, options.norm)
    elif options.what == "step":
        step(options.directory, options.norm)
    else:
        speed(options.directory)


if __name__ == "__main__":
    main()
