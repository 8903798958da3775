"""The planar walker: its speed, its time step, walks from the nominal vector, and its exoskeleton.

    python benchmarks/gait_planar22.py walk runs/gait/0 --seed 0 [--cpu-minutes 90] [--norm FILE]
    python benchmarks/gait_planar22.py exo runs/gait/0 [--device hip|ankle] [--seeds 1 2]
    python benchmarks/gait_planar22.py step runs/gait/0 [--norm FILE]
    python benchmarks/gait_planar22.py speed runs/gait/0

``walk`` starts from the nominal vector with the configuration ``walk``, goes on with
``walk_upright`` and ``walk_steady``, a given number of generations each, until one of the best
walks 20 s with a speed within 0.03 m/s of 1.25, also lasts at a half and at a quarter of the time
step, there within 0.05 m/s, and stays up in 16 of 20 perturbed repeats of a validation set.
Otherwise it starts again from the nominal vector, with other random numbers, until the time is
spent. It then reports the walk that survived most of those repeats, and its survival in 20 repeats
that neither the searches nor that rule have seen.
``exo`` goes on from a walk up a slope of 5 degrees that already spares effort, with the
configuration ``walk_sparing``, twice with the same seed, generations and cost, with a device of
four parameters at up to 50 N m and without it. It moves a third of the gains, which learns faster
than all entries (``--all``). A search that may turn the torque down does so before the gains fit
it, so its height is held, and its times are searched from those that the profile starts with, or
those of the start. More torque is best come to in stages (``--peaks``): each search goes on from
the cheapest walk of the one before, and so does the arm without. Each arm ends with its cheapest
walk that keeps the speed within 0.03 m/s of 1.25 for 20 s. On level ground, from a walk near to
people's joint angles:

    python benchmarks/gait_planar22.py exo A --slope 0 --start benchmarks/planar22_natural_walk.txt

``--weights effort 6000`` weighs a term of the cost otherwise, for both arms.

``step`` halves the time step of a walk of 10 s, ``speed`` measures simulated seconds per CPU
second on one thread, controller and cost included. All of it can be stopped, killed and called
again: it goes on, and counts the CPU time of all calls.
"""

import argparse
import itertools
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

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
    load_configuration,
    make_problem,
    planar22,
    planar22_anatomy,
    read_norm,
    survival,
)
from trueup.gait.early_stop import EarlyStoppingCmaEs
from trueup.gait.problem import evaluate
from trueup.studies import Budget, RunDirectory, Store, atomic, run

DURATION, SPEED = 20.0, 1.25
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

EXO_START = Path(__file__).with_name("planar22_uphill_walk.txt")
"""A walk that spares effort, from which the searches with an exoskeleton and without begin."""

MAX_TORQUE = 50.0
"""Largest torque of the configuration ``walk_sparing`` [N m]."""

EXO_MOVED = (
    "theta_tgt", "alpha_0", "alpha_delta", "C_d", "C_v", "Tr_St_sup", "Tr_Sw", "ankle_tgt",
    "1_GLU_FG", "1_SOL_FG", "1_FDL_FG", "2_BFSH_PG", "2_GAS_FG", "3_HFL_Th", "3_HFL_d_Th",
    "3_GLU_Th", "4_HFL_C_GLU_PG", "5_TA_PG", "5_TA_SOL_FG", "5_EDL_PG", "6_HFL_RF_PG",
    "6_HFL_RF_VG", "7_BFSH_RF_VG", "8_BFSH_PG", "10_HFL_PG",
)  # fmt: skip
"""Gains that the searches of exo move, with the device's curve."""

NEIGHBOURS, NEIGHBOUR = 16, 1e-4
"""Walks beside the one whose time step is halved, and by how much their vectors differ."""

AT_ONCE = 5
"""Generations between two looks at the clock."""
LOOKED_AT = 24
"""Best candidates of which the first is taken that keeps the speed for the whole time."""


Done = Callable[[GaitProblem, np.ndarray, int], np.ndarray | None]


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
    looked_at: int = LOOKED_AT,
    moved: tuple[str, ...] | None = None,
    most: int | None = None,
) -> tuple[GaitProblem, np.ndarray, int]:
    """Search, or search on, until it is done or the time is spent.

    ``done`` is told the problem, the best whole vectors in order, and the number of generations;
    it returns the vector to end with, or None. That is kept, and taken when called again. Only the
    entries ``moved`` and those of the exoskeleton are searched, all of them where absent. There are
    no more than ``most`` generations.

    Returns:
      The problem, the vector that it ended with, and how many evaluations there were.
    """
    problem = make_problem(configuration, threads=1)
    if start is not None:
        problem = from_start(problem, start, moved, configuration.held or {})
    ended = folder / "ended_with.txt"
    if ended.is_file():
        with Store.open(RunDirectory.open(folder).study) as store:
            return problem, np.loadtxt(ended), store.evaluations
    begun = (folder / "run.json").is_file()
    directory = RunDirectory.open(folder) if begun else RunDirectory.create(folder)
    generations = 0
    with directory.lock():
        while True:
            until = generations + AT_ONCE if most is None else min(generations + AT_ONCE, most)
            settings = CmaEsSettings(population=configuration.popsize)
            solution = run(
                problem,
                EarlyStoppingCmaEs(problem.space, settings, seed=configuration.seed),
                directory,
                settings=configuration.plain(),
                resume=begun,
                budget=Budget(max_generations=until),
                verbose=False,
            )
            if solution.status is Status.INTERRUPTED:
                raise KeyboardInterrupt(solution.message)
            begun = True
            generations = int(solution.stats["generations"])
            with Store.open(directory.study) as store:
                history = store.history()
            order = np.argsort(history.costs[:, 0], kind="stable")[:looked_at]
            best = problem.parameters.complete(history.X[order])
            time_left = clock.tick()
            print(
                f"  {clock.spent / 60.0:6.2f} CPU min, {folder.name}, generation {generations}: "
                f"cost {solution.cost:.4g}",
                flush=True,
            )
            chosen = done(problem, best, generations)
            # a search may also end by itself
            if chosen is not None or not time_left or solution.status is not Status.ITERATION_LIMIT:
                if chosen is not None:
                    np.savetxt(ended, chosen)
                chosen = best[0] if chosen is None else chosen
                return problem, chosen, int(solution.stats["evaluations"])


def from_start(
    problem: GaitProblem,
    start: np.ndarray,
    moved: tuple[str, ...] | None,
    held: Mapping[str, float],
) -> GaitProblem:
    """The problem with another start, and with other entries held at it; ``held`` stay as told."""
    parameters = problem.parameters
    own = problem.space.deviation
    assert own is not None
    deviations = dict(zip(problem.space.names, own.tolist(), strict=True))
    # a walker without a device has fewer entries than the start of one with it
    given = dict(zip(parameters.names, start.tolist(), strict=False)) | dict(held)
    free = {
        entry.name: entry.free
        and (moved is None or entry.name in moved or entry.group == "exoskeleton")
        for entry in parameters.entries
    }
    parameters = parameters.with_entries(
        {name: {"start": value, "free": free[name]} for name, value in given.items()}
    )
    deviation = np.array([deviations[name] for name in parameters.space.names])
    return GaitProblem(
        problem.scenarios, parameters, deviation=deviation, perturbations=problem.perturbations
    )


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

            def done(problem: GaitProblem, order: np.ndarray, now: int, name=name, enough=enough):
                chosen = judge(problem, order, at) if name == "walk_steady" else order[0]
                return chosen if now >= enough or number_in(counted) >= ENOUGH else None

            configuration = load_configuration(name).with_changes({"seed": seed, **changes})
            problem, best, _ = search_on(at / f"{number}_{name}", configuration, best, clock, done)
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


def first_that_fits(simulation: WalkSimulation, best: np.ndarray) -> np.ndarray | None:
    """The first walk that lasts and keeps the speed, or None."""
    speeds, lasted = judged(simulation, best)
    fit = np.flatnonzero((lasted >= DURATION) & (np.abs(speeds - SPEED) <= 0.03))
    at = fit[0] if len(fit) else 0
    print(f"    number {at + 1} of the best: {lasted[at]:.2f} s at {speeds[at]:.3f} m/s")
    return best[at] if len(fit) else None


def holds_at_finer_steps(vector: np.ndarray) -> bool:
    """Whether a walk lasts and keeps the speed at a half and at a quarter of the time step."""
    for parts in (2, 4):
        (speed,), (lasted,) = judged(with_finer_step(parts, DURATION), vector[None])
        # frames need not end with the walk: their period follows from the time step
        if lasted < DURATION - 0.02 or abs(speed - SPEED) > AT_FINER_STEPS:
            return False
    return True


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


class Searches(NamedTuple):
    """What the searches with a device and without have in common."""

    start: Path
    generations: int
    """Of each stage."""
    device: str
    peaks: tuple[float, ...]
    """Heights at which the device's torque is held, one after the other [N m]."""
    slope: float
    """[deg]"""
    few: bool
    """Whether only the gains :data:`EXO_MOVED` are moved."""
    weights: dict[str, float]
    """Weights of the cost that are not those of the configuration."""


def exo(folder: Path, searches: Searches, arms: tuple[str, ...], seeds: list[int]) -> None:
    """Search on from a walk with the exoskeleton and without it, and compare what both come to."""
    found: dict[str, dict[int, Spared]] = {arm: {} for arm in arms}
    for seed, arm in itertools.product(seeds, arms):
        found[arm][seed] = spared(folder, searches, arm, seed)
    if len(arms) == 2:
        carried, body = (Walker.load("planar22", device=d).mass for d in (searches.device, None))
        pairs = {f"seed {seed}": [found[arm][seed].effort for arm in arms] for seed in seeds}
        if len(seeds) > 1:
            pairs["mean"] = np.mean(list(pairs.values()), axis=0).tolist()
            # each arm has had the same searches, and whoever runs several takes the cheapest
            pairs["cheapest walk of all seeds"] = [
                min(found[arm].values(), key=lambda one: one.cost).effort for arm in arms
            ]
        for name, (effort, alone) in pairs.items():
            ratio = effort / alone
            print(
                f"{name}: effort {effort:.5f} with the device against {alone:.5f} without, "
                f"{100.0 * (ratio - 1.0):+.1f} %; effort is told for each kg that is carried, the "
                f"device's among them, and for each kg of the body it is "
                f"{100.0 * (ratio * carried / body - 1.0):+.1f} %"
            )


class Spared(NamedTuple):
    """What a search came to: the cost that it searched, and the effort of the walk for 20 s."""

    cost: float
    effort: float


def spared(folder: Path, searches: Searches, arm: str, seed: int) -> Spared:
    """The cheapest walk of one arm that keeps the speed for the whole time."""
    kind = f"with_{searches.device}" if arm == "with" else "without"
    name = f"exo_{kind}_{seed}"
    configuration = load_configuration("walk_sparing")
    configuration = configuration.with_changes(
        {
            "seed": seed,
            "weights": {**(configuration.weights or {}), **searches.weights},
            "tgt_slope": searches.slope,
        }
    )
    folder.mkdir(parents=True, exist_ok=True)
    clock = Clock(folder / f"{name}_cpu_seconds.json", np.inf)
    moved = EXO_MOVED if searches.few else None
    best, count = np.loadtxt(searches.start), 0
    generations = searches.generations
    for stage, peak in enumerate(searches.peaks):
        if arm == "with":
            held = {"exo_peak": peak / MAX_TORQUE}
            changes = {"ExoOn": True, "model": searches.device, "held": held}
            configuration = configuration.with_changes(changes)

        def done(
            problem: GaitProblem,
            best: np.ndarray,
            now: int,
            last: bool = stage == len(searches.peaks) - 1,
        ) -> np.ndarray | None:
            if now < generations:
                return None
            simulation = problem.scenarios[0].simulation.with_settings(duration=DURATION)
            one = first_that_fits(simulation, best) if last else None
            return best[0] if one is None else one

        at = folder / f"{name}_{stage}"
        problem, best, evaluations = search_on(
            at, configuration, best, clock, done, 5 * LOOKED_AT, moved, generations
        )
        count += evaluations
    np.savetxt(folder / f"{name}_Best.txt", best)
    cost = float(problem.whole_costs(best[None])[0])
    scenario = problem.scenarios[0]
    simulation = scenario.simulation.with_settings(duration=DURATION)
    objective = replace(scenario.objective, strides=10)
    longer = replace(scenario, simulation=simulation, objective=objective)
    _, terms = evaluate(longer, best[None])
    effort = float(terms["effort"][0])
    print(
        f"{kind.replace('_', ' ')} device, seed {seed}, {count} evaluations: cost "
        f"{cost:.2f}, effort {effort:.5f}, speed {terms['speed'][0]:.3f} m/s, lasts "
        f"{terms['lasted'][0]:.2f} s, survives {survival(simulation, best).survived} of 20 repeats"
    )
    device = searches.device if arm == "with" else None
    finer = with_finer_step(2, DURATION, simulation, device)
    _, terms = evaluate(replace(longer, simulation=finer), best[None])
    print(
        f"  at half the time step: effort {terms['effort'][0]:.5f}, speed "
        f"{terms['speed'][0]:.3f} m/s, lasts {terms['lasted'][0]:.2f} s"
    )
    if arm == "with":
        percent, torque, _ = simulation.curves(best[None])[0]
        knots = ", ".join(f"{p:.0f} %: {t:.1f}" for p, t in zip(percent, torque, strict=True))
        print(f"  torque over stance [N m]: {knots}")
        none = best.copy()
        none[[n == "exo_peak" for n in problem.parameters.names]] = 0.0
        _, terms = evaluate(longer, none[None])
        print(
            f"  the same gains, the device carried without its torque: effort "
            f"{terms['effort'][0]:.5f}, speed {terms['speed'][0]:.3f} m/s, lasts "
            f"{terms['lasted'][0]:.2f} s"
        )
    return Spared(cost, effort)


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
    parser.add_argument("what", choices=("walk", "exo", "step", "speed"))
    parser.add_argument("directory", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cpu-minutes", type=float, default=90.0)
    parser.add_argument("--generations", type=int, default=80, help="of each search of exo")
    parser.add_argument("--start", type=Path, default=EXO_START, help="vector that exo begins with")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2], help="of exo")
    parser.add_argument("--arm", choices=("with", "without"), help="one search of exo alone")
    parser.add_argument("--device", choices=("hip", "ankle"), default="hip", help="of exo")
    parser.add_argument(
        "--peaks",
        type=float,
        nargs="+",
        default=[10.0, 25.0],
        help="heights of exo's torque, one after the other [N m]",
    )
    parser.add_argument("--slope", type=float, default=5.0, help="of exo's ground [deg]")
    parser.add_argument(
        "--weights", nargs="+", default=[], metavar="NAME VALUE", help="other weights of exo's cost"
    )
    parser.add_argument("--all", action="store_true", help="exo moves all entries")
    parser.add_argument("--norm", type=Path, help="norms, such as Schwartz2008.json")
    options = parser.parse_args()
    if options.what == "walk":
        walk(options.directory, options.seed, options.cpu_minutes, options.norm)
    elif options.what == "exo":
        arms = ("with", "without") if options.arm is None else (options.arm,)
        if len(options.weights) % 2:
            parser.error(f"--weights takes names and values in turns, not {options.weights}")
        weights = dict(zip(options.weights[::2], map(float, options.weights[1::2]), strict=True))
        searches = Searches(
            options.start,
            options.generations,
            options.device,
            tuple(options.peaks),
            options.slope,
            not options.all,
            weights,
        )
        exo(options.directory, searches, arms, options.seeds)
    elif options.what == "step":
        step(options.directory, options.norm)
    else:
        speed(options.directory)


if __name__ == "__main__":
    main()
