"""Walks of ``trueup gait optimize walk --from nominal`` over seeds, and two checks of a walk.

    python benchmarks/gait_planar22.py walk runs/walks [--seeds 0 1 2 3 4] [--piece-minutes 8]
    python benchmarks/gait_planar22.py step [RUN|VECTOR] [--norm FILE]
    python benchmarks/gait_planar22.py speed [RUN|VECTOR]
    python benchmarks/gait_planar22.py parts [RUN|VECTOR]
    python benchmarks/gait_planar22.py ship RUN

``walk`` searches with the default options, a run of each seed, and prints a row for each that has
ended: CPU time, speed over 20 s, repeats of 20 s under unseen perturbations that stay up, distance
of the joints from the norm, and the figures of bar A (steady) and B (natural). It stops after
``--piece-minutes`` of CPU time and goes on when called again; CPU time counts over all calls. On a
machine whose cores are shared a second of CPU time does less.

``step`` halves the time step of a walk of 10 s; ``speed`` measures simulated seconds per CPU second
on one thread, controller and cost included; ``parts`` prints where the time of a step goes. Without
a walk they take the shipped one. ``ship`` makes the walk of a run the shipped one, and notes the
commands that found it.
"""

import argparse
import json
import shutil
import time
from pathlib import Path

import mujoco
import numpy as np
from mujoco.batch import Batch

from trueup.gait import (
    Walker,
    WalkObjective,
    WalkSettings,
    WalkSimulation,
    adult_norm,
    load_configuration,
    make_problem,
    optimize,
    planar22,
    planar22_anatomy,
    read_norm,
    survival,
)
from trueup.gait.report.natural_walk import natural_walk
from trueup.gait.report.walk_verdict import joint_distances
from trueup.gait.search.distribution import DISTRIBUTION
from trueup.gait.search.earlier_runs import configuration_of_run, vector_file
from trueup.gait.search.problem import Scenario
from trueup.gait.search.shipped_walk import SHIPPED_DISTRIBUTION, SHIPPED_WALK
from trueup.gait.walk.series import observe_walks
from trueup.runs import Budget, RunDirectory, atomic, warm_start

DURATION, SPEED = 20.0, 1.25
"""How long a walk is judged [s], and the speed that it has to keep [m/s]."""

NEIGHBOURS, NEIGHBOUR = 16, 1e-4
"""Walks beside the one whose time step is halved, and by how much their vectors differ."""


def walk(folder: Path, seeds: list[int], minutes: float) -> None:
    """Searches from the nominal vector, as far as the time reaches, and a table of those that
    have ended."""
    began = time.process_time()
    for seed in seeds:
        run = folder / str(seed)
        clock = run.with_suffix(".cpu.json")
        while not (run / "solution.json").is_file() or not ended(run):
            left = 60.0 * minutes - (time.process_time() - began)
            if left < 5.0:
                return
            # of wall time: threads make that at most twice as much CPU time
            start, piece = time.process_time(), Budget(max_seconds=max(5.0, 0.5 * left))
            optimize(
                "walk",
                run,
                changes={"param_path": "nominal", "seed": seed},
                limits=piece,
                resume=(run / "run.json").is_file(),
                verbose=False,
            )
            spent = json.loads(clock.read_text()) if clock.is_file() else 0.0
            atomic.write_json(clock, spent + time.process_time() - start)
        print(row(run, seed, json.loads(clock.read_text()) / 60.0), flush=True)


def ended(run: Path) -> bool:
    """Whether the search has come to its end, not that of a piece."""
    return json.loads((run / "solution.json").read_text())["status"] != "time limit"


def row(run: Path, seed: int, minutes: float) -> str:
    """Figures of a walk in a line."""
    vector = np.loadtxt(vector_file(run))
    simulation = WalkSimulation(Walker.load("planar22"), WalkSettings(duration=DURATION))
    terms, lasted = measured(simulation, vector[None])
    held = survival(simulation, vector).survived
    speed = float(terms["speed"][0])
    joints = joint_distances(simulation, vector, adult_norm().reference)
    near = ", ".join(f"{joint} {distance:.1f}" for joint, distance in joints.items())
    _, (series,) = observe_walks(simulation, vector[None])
    assert series is not None
    cadence = 120.0 / (series.period * np.mean([one.frames for one in series.strides(0, 10)]))
    scenario = Scenario(simulation, WalkObjective({"effort": 1.0}, strides=10))
    natural = "; ".join(
        f"{one.name} {one.value:.2f} {one.unit}"
        for one in natural_walk(scenario, simulation.run(vector[None]), adult_norm())
    )
    steady = lasted[0] >= DURATION - 0.02 and abs(speed - SPEED) <= 0.05 and held >= 15
    return (
        f"seed {seed}: {minutes:.1f} CPU min; {lasted[0]:.1f} s at {speed:.3f} m/s; {held} of 20 "
        f"repeats; {near} deg from the norm; {cadence:.0f} steps/min; {natural}; "
        f"metabolic {terms['metabolic'][0]:.1f} J/(kg m); bar A {'met' if steady else 'not met'}"
    )


def measured(
    simulation: WalkSimulation, vectors: np.ndarray
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Terms over the last ten strides, and how long the walks last [s], ``(n,)`` each."""
    records = simulation.run(vectors)
    objective = WalkObjective({"effort": 1.0}, strides=10)
    duration = simulation.settings.duration
    costs = objective.costs(records, simulation.walker.anatomy, duration)
    return costs.terms, records.length * records.period


def given_vector(walk: Path | None) -> np.ndarray:
    """The vector of a run or a file, or the shipped one ``(77,)``."""
    parameters = WalkSimulation(Walker.load("planar22")).parameters
    file = SHIPPED_WALK if walk is None else vector_file(walk)
    warm = warm_start(file, parameters.space, [parameters.names])
    return parameters.complete(warm.x[None])[0]


def with_finer_step(parts: int, duration: float) -> WalkSimulation:
    """Walks with a part of the model's time step."""
    return with_time_step(planar22().option.timestep / parts, duration)


def with_time_step(timestep: float, duration: float) -> WalkSimulation:
    """Walks with another time step of the model [s]."""
    spec = planar22()
    spec.option.timestep = timestep
    walker = Walker(spec.compile(), planar22_anatomy())
    return WalkSimulation(walker, WalkSettings(duration=duration, threads=1))


def step(vector: np.ndarray, norm: Path | None) -> None:
    """Walk 10 s with the time step, with half and a quarter of it, and so do its neighbours.

    A walk is sensitive: numbers of the vector that differ by 1e-4 move its mean speed by some mm/s,
    at one time step. The mean of such neighbours tells what the time step does apart from that.
    """
    nudges = 1.0 + NEIGHBOUR * np.random.default_rng(0).standard_normal((NEIGHBOURS, len(vector)))
    vectors = np.vstack([vector, vector * nudges])
    reference = adult_norm().reference if norm is None else read_norm(norm).reference
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


def speed(vector: np.ndarray) -> None:
    """Simulated seconds per CPU second of a population, one thread, at several time steps by
    turns."""
    (scenario,) = make_problem(load_configuration("walk").staged[0][1], threads=1).scenarios
    X, steps = np.tile(vector, (16, 1)), (scenario.simulation.walker.model.opt.timestep, 0.00125)
    simulations = {step: with_time_step(step, 10.0) for step in steps}
    rates: dict[float, list[float]] = {step: [] for step in steps}
    for _ in range(6):
        for step, simulation in simulations.items():
            start = time.process_time()
            records = simulation.run(X)
            scenario.objective.costs(records, simulation.walker.anatomy, 10.0)
            walked = float((records.length * records.period).sum())
            rates[step].append(walked / (time.process_time() - start))
    for step, found in rates.items():
        print(
            f"{1e3 * step:g} ms, delays, 16 walks of 10 s: median {np.median(found[1:]):.1f}, best "
            f"{max(found[1:]):.1f} simulated s per CPU s"
        )


def parts(vector: np.ndarray) -> None:
    """Where the time of a step goes: MuJoCo's parts by its own timers, whose calls take time too,
    then the step, the controllers with recording, and the cost, all on one thread."""
    simulation = WalkSimulation(Walker.load("planar22"), WalkSettings(duration=10.0, threads=1))
    model, controls, start = simulation.walker.model, [], []

    def keep(tick: int, batch: Batch) -> None:
        if not tick:
            start.append(np.array(batch.state[0]))
        controls.append(np.array(batch.bind("ctrl")[0]))

    simulation.run(vector[None], keep)
    steps = simulation.steps * len(controls)
    data = mujoco.MjData(model)

    def stepped() -> float:
        mujoco.mj_setState(model, data, start[0], int(mujoco.mjtState.mjSTATE_INTEGRATION.value))
        began = time.process_time()
        for control in controls:
            data.ctrl[:] = control
            mujoco.mj_step(model, data, simulation.steps)
        return 1e6 * (time.process_time() - began) / steps

    bare = min(stepped() for _ in range(3))
    timed: list[list[float]] = []
    mujoco.set_mjcb_time(time.perf_counter)
    try:
        for _ in range(7):
            mujoco.mj_resetData(model, data)  # timers too
            stepped()
            timed.append([1e6 * timer.duration / steps for timer in data.timer])
    finally:
        mujoco.set_mjcb_time(None)
    least = np.min(timed, axis=0)  # other work on the machine only adds
    X = np.tile(vector, (16, 1))
    objective = WalkObjective({"effort": 1.0})
    own, cost = [], []
    for _ in range(4):
        began = time.process_time()
        records = simulation.run(X)
        walked = time.process_time()
        objective.costs(records, simulation.walker.anatomy, 10.0)
        own.append(1e6 * (walked - began) / (16 * steps))
        cost.append(1e6 * (time.process_time() - walked) / (16 * steps))
    names = {
        "kinematics and tendons": mujoco.mjtTimer.mjTIMER_POS_KINEMATICS,
        "inertia": mujoco.mjtTimer.mjTIMER_POS_INERTIA,
        "collision": mujoco.mjtTimer.mjTIMER_POS_COLLISION,
        "constraints made": mujoco.mjtTimer.mjTIMER_POS_MAKE,
        "velocities": mujoco.mjtTimer.mjTIMER_VELOCITY,
        "muscles": mujoco.mjtTimer.mjTIMER_ACTUATION,
        "solver": mujoco.mjtTimer.mjTIMER_CONSTRAINT,
        "integrator": mujoco.mjtTimer.mjTIMER_ADVANCE,
        "whole step with timers": mujoco.mjtTimer.mjTIMER_STEP,
    }
    for name, timer in names.items():
        print(f"{name:28} {least[int(timer.value)]:6.2f} us")
    print(f"{'bare step':28} {bare:6.2f} us")
    print(f"{'step of a walk':28} {min(own):6.2f} us, controllers and recording included")
    print(f"{'cost':28} {min(cost):6.2f} us")


def commands(run: Path) -> list[str]:
    """The commands that found the walk of a run, beginning at the nominal vector."""
    configuration = configuration_of_run(RunDirectory.open(run))
    if configuration.stages is None:
        raise SystemExit(f"{run} is no search in stages")
    former = configuration.param_path
    earlier = [] if former is None else commands(Path(former))
    words = [
        "trueup gait optimize walk --from",
        "nominal" if former is None else f"run{len(earlier)}",
    ]
    words += ["--seed", str(configuration.seed)]
    generations = json.loads((run / "solution.json").read_text())["stats"]["generations"]
    if generations < sum(stage["maxiter"] for stage in configuration.stages.values()):
        words += ["--generations", str(generations)]
    return [*earlier, " ".join([*words, "--output", f"run{len(earlier) + 1}"])]


def ship(run: Path) -> None:
    """Make the walk of a finished run the shipped one, with the runs that it continues."""
    solution = json.loads((run / "solution.json").read_text())
    provenance = json.loads((run / "provenance.json").read_text())
    configuration = configuration_of_run(RunDirectory.open(run))
    (survival,) = solution["survival"].values()
    content = {
        "parameters": {row["name"]: row["value"] for row in solution["parameters"]},
        "provenance": {
            "command": "; ".join(commands(run)),
            "seed": configuration.seed,
            "stages": configuration.stages,
            "weights": configuration.weights,
            "generations": solution["stats"]["generations"],
            "evaluations": solution["stats"]["evaluations"],
            "end": solution["status"],
            "cost": solution["cost"],
            "repeats_that_stay_up": f"{survival['survived']} of {survival['perturbations']}",
            "versions": provenance["versions"],
            "date": provenance["started"],
        },
    }
    atomic.write_json(SHIPPED_WALK, content)
    shutil.copyfile(run / DISTRIBUTION, SHIPPED_DISTRIBUTION)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("walk", "step", "speed", "parts", "ship"))
    parser.add_argument("directory", type=Path, nargs="?", help="folder of runs; run or vector")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--piece-minutes", type=float, default=8.0, help="CPU time of a call")
    parser.add_argument("--norm", type=Path, help="norms, such as Schwartz2008.json")
    options = parser.parse_args()
    if options.what == "walk":
        folder = options.directory or Path("runs/walks")
        folder.mkdir(parents=True, exist_ok=True)
        walk(folder, options.seeds, options.piece_minutes)
    elif options.what == "step":
        step(given_vector(options.directory), options.norm)
    elif options.what == "ship":
        ship(options.directory)
    else:
        {"speed": speed, "parts": parts}[options.what](given_vector(options.directory))


if __name__ == "__main__":
    main()
