"""Effort of the planar walker with a four-parameter exoskeleton, compared with a search without.

    python benchmarks/gait_exoskeleton.py runs/exoskeleton [--device ankle] [--seeds 1 2 3]

Two searches start from a steady walk up a slope of 5 degrees, in the middle of its cycle, with the
same seed, evaluations and cost: one with the device at up to 50 N m, one without. Both move the
gains of the muscles at the device's joint. The start was searched without a device, over the gains
of hip and ankle.

Each search is a run of ``trueup gait optimize walk_sparing_device``: CMA-ES with large populations
and fresh perturbations in each generation; the torque curve starts at 3 N m, at the time of stance
where a small pulse saves most effort (``gait_pulses.py``). The best candidates of the last
generations are scored over eight repeats; the result is the best of them that keeps 1.25 m/s within
0.03 m/s for 20 s.

Walks are sensitive: a change of the vector by a thousandth changes the effort by some percent,
mostly through the speed. Three efforts are reported: that of the resulting walk; that at 1.25 m/s
of copies with vectors changed by a thousandth; and that at 1.25 m/s of all final candidates, which
depends on no selection. The last two are regressions of effort on speed over the walks that last
20 s, with standard errors.

Called again with the same folder, it resumes. The folder of each search is a run directory with a
report that shows the torque over stance.
"""

import argparse
import hashlib
import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import stats

from gait_searches import DURATION, SPEED, first_that_fits, with_finer_step
from trueup.cli import main as trueup
from trueup.errors import GaitError
from trueup.gait import (
    GaitConfiguration,
    GaitProblem,
    Walker,
    cycle_start,
    load_configuration,
    make_problem,
    survival,
)
from trueup.gait.search.earlier_runs import configuration_of_run
from trueup.gait.search.fresh_perturbations import candidates_left_over
from trueup.gait.search.problem import Scenario, evaluate
from trueup.studies import RunDirectory, Store

START = Path(__file__).with_name("planar22_uphill_fitted_walk.json")
"""A walk that spares effort, from which the searches with an exoskeleton and without begin."""

CONFIGURATION = "walk_sparing_device"

PEAKS = {"ankle": 0.35, "hip": 0.8, "hip_extension": 0.35}
"""Time of the peak that the curve of each device begins with, in parts of stance."""

HIP = (
    "theta_tgt", "1_GLU_FG", "2_HAM_FG", "3_HFL_Th", "3_HFL_d_Th", "3_GLU_Th", "3_GLU_d_Th",
    "3_HAM_GLU_SG", "4_HFL_C_GLU_PG", "4_HFL_C_HAM_PG", "4_GLU_C_HFL_PG", "4_GLU_C_RF_PG",
    "4_HAM_GLU_PG",
)  # fmt: skip
"""Gains of the muscles of the hip in stance."""

NEAR = {
    "ankle": (
        "theta_tgt", "ankle_tgt", "1_SOL_FG", "1_FDL_FG", "2_GAS_FG", "5_TA_PG", "5_TA_SOL_FG",
        "5_EDL_PG", "5_EDL_FDL_FG",
    ),
    "hip": (*HIP, "10_HFL_PG"),
    "hip_extension": HIP,
}  # fmt: skip
"""Gains of the muscles that work at the joint of a device while it does."""

JUDGED = {"fresh_perturbations": False, "perturbed_repeats": 8, "perturbation_seed": 1}
"""What the last candidates are judged over."""

BESIDE, BESIDE_BY = 64, 1e-3
"""Walks beside the one that a search came to, and by how much their vectors differ."""

CHEAPEST = "cheapest walk of all seeds"


class Searches(NamedTuple):
    """What the searches with a device and without have in common."""

    start: Path
    generations: int
    device: str
    slope: float
    """[deg]"""


class AtSpeed(NamedTuple):
    """Effort at :data:`SPEED`, by a line through several walks."""

    effort: float
    error: float
    """Standard error of the effort."""
    lasted: int
    """How many of the walks lasted."""
    walked: int
    """How many there were."""

    def __str__(self) -> str:
        return (
            f"{self.lasted} of {self.walked} last; their effort at {SPEED:g} m/s: "
            f"{self.effort:.5f} ± {self.error:.5f}"
        )


class Spared(NamedTuple):
    """What a search came to."""

    cost: float
    """The cost that it searched."""
    effort: float
    """Of the walk for 20 s."""
    beside: AtSpeed
    """Of the walks beside it."""
    left_over: AtSpeed
    """Of all the candidates that the last generations left over."""


def compare(folder: Path, searches: Searches, arms: tuple[str, ...], seeds: list[int]) -> None:
    """Search on from a walk with the exoskeleton and without it, and compare what both come to."""
    found: dict[str, dict[int, Spared]] = {arm: {} for arm in arms}
    for seed, arm in itertools.product(seeds, arms):
        found[arm][seed] = spared(folder, searches, arm, seed)
    if len(arms) < 2:
        return
    carried, body = (Walker.load("planar22", device=d).mass for d in (searches.device, None))
    for line in compared([found[arm] for arm in arms], carried / body):
        print(line)


def compared(arms: list[dict[int, Spared]], heavier: float) -> list[str]:
    """What to say of both arms, with the device and without: as they walk, and at equal speed.

    Args:
      arms: what the searches came to, by their seed.
      heavier: mass with the device, of that without.
    """
    seeds = {f"seed {seed}": [arm[seed] for arm in arms] for seed in arms[0]}
    pairs = dict(seeds)
    if len(seeds) > 1:
        # each arm has had the same searches, and whoever runs several takes the cheapest
        pairs[CHEAPEST] = [min(arm.values(), key=lambda one: one.cost) for arm in arms]
    return [
        *told_as_they_walk(pairs, heavier),
        *told_at_speed("from the walks beside", pairs, lambda one: one.beside),
        *told_at_speed("from all candidates left over", seeds, lambda one: one.left_over),
    ]


def told_as_they_walk(pairs: dict[str, list[Spared]], heavier: float) -> list[str]:
    """The efforts of pairs of walks, and the mean of how they differ."""
    changes, lines = {}, []
    for name, (with_device, alone) in pairs.items():
        ratio = with_device.effort / alone.effort
        changes[name] = 100.0 * (ratio - 1.0)
        lines.append(
            f"{name}: effort {with_device.effort:.5f} with the device against {alone.effort:.5f} "
            f"without, {changes[name]:+.1f} %; effort is told for each kg that is carried, the "
            f"device's among them, and for each kg of the body it is "
            f"{100.0 * (ratio * heavier - 1.0):+.1f} %"
        )
    return lines + told_mean("mean of the seeds", changes)


def told_at_speed(
    source: str, pairs: dict[str, list[Spared]], effort_of: Callable[[Spared], AtSpeed]
) -> list[str]:
    """The efforts of pairs at equal speed, and the mean of how they differ."""
    changes, lines, ahead = {}, [], f"{source}, at {SPEED:g} m/s"
    for name, pair in pairs.items():
        at, alone = map(effort_of, pair)
        ratio = at.effort / alone.effort
        changes[name] = 100.0 * (ratio - 1.0)
        error = 100.0 * ratio * np.hypot(at.error / at.effort, alone.error / alone.effort)
        lines.append(
            f"{name}, {ahead}: {at.effort:.5f} with the device against {alone.effort:.5f} "
            f"without, {changes[name]:+.1f} ± {error:.1f} %"
        )
    return lines + told_mean(f"mean of the seeds, {ahead}", changes)


def told_mean(name: str, changes: dict[str, float]) -> list[str]:
    """The mean over the seeds, with its standard error; nothing where there is one seed."""
    seeds = [change for pair, change in changes.items() if pair != CHEAPEST]
    if len(seeds) < 2:
        return []
    return [f"{name}: {np.mean(seeds):+.1f} ± {stats.sem(seeds):.1f} %"]


def searched(folder: Path, searches: Searches, arm: str, seed: int) -> RunDirectory:
    """The run of one arm, which goes on where it was stopped.

    Raises:
      GaitError: it is refused, such as one that was begun with something else.
    """
    configuration = load_configuration(CONFIGURATION).with_changes({"tgt_slope": searches.slope})
    bare = configuration.with_changes({"model": "baseline", "ExoOn": False})
    # both arms start in the same moment of the same walk, which no device was worn in
    vector, speeds = started_from(searches.start, make_problem(bare, threads=1))
    # another start has another name, and a run that was begun with this one is not gone on with
    start = folder / f"start_{hashlib.sha256(vector.tobytes()).hexdigest()[:8]}.txt"
    folder.mkdir(parents=True, exist_ok=True)
    np.savetxt(start, vector)
    target = folder / f"{arm}_{searches.device}_{seed}"
    device = {
        "with": ("--model", searches.device, "--ExoOn", 1),
        "without": ("--model", "baseline", "--ExoOn", 0),
    }
    words = [
        "gait", "optimize", CONFIGURATION, *device[arm],
        "--moved", *NEAR[searches.device], "exoskeleton",
        "--start-values", "exo_peak", 0.06, "exo_rise", 0.25, "exo_fall", 0.25,
        "exo_peak_time", PEAKS[searches.device],
        "--param-path", start, "--joint-speeds", *itertools.chain(*speeds.items()),
        "--tgt-slope", searches.slope, "--tgt-vel", SPEED, "--seed", seed,
        "--maxiter", searches.generations, "--threads", 1, "--save-path", target,
    ]  # fmt: skip
    begun = ["--resume"] if (target / "run.json").is_file() else []
    if trueup([*map(str, words), *begun]) not in (0, 3):
        raise GaitError(f"the search in {target} was not done: see above")
    return RunDirectory.open(target)


def spared(folder: Path, searches: Searches, arm: str, seed: int) -> Spared:
    """The cheapest walk of one arm that keeps the speed for the whole time."""
    directory = searched(folder, searches, arm, seed)
    configuration = configuration_of_run(directory)
    problem = make_problem(configuration.with_changes(JUDGED), threads=1)
    with Store.open(directory.study) as store:
        history = store.history()
    left_over = candidates_left_over(history.X, history.costs[:, 0], history.generation)
    last = problem.parameters.complete(left_over)
    costs = problem.whole_costs(last)
    order = np.argsort(costs, kind="stable")
    simulation = problem.scenarios[0].simulation.with_settings(duration=DURATION)
    fits = first_that_fits(simulation, last[order])
    best = last[order[0]] if fits is None else fits
    np.savetxt(folder / f"{directory.path.name}_Best.txt", best)
    cost = float(costs[(last == best).all(axis=1)][0])
    effort, beside = told_walk(configuration, problem, best, cost, len(history.X))
    left_over = effort_at_speed(for_long(problem), last)
    print(f"  of all candidates left over {left_over}")
    return Spared(cost, effort, beside, left_over)


def told_walk(
    configuration: GaitConfiguration,
    problem: GaitProblem,
    best: np.ndarray,
    cost: float,
    count: int,
) -> tuple[float, AtSpeed]:
    """Print how a walk goes for 20 s; returns its effort, and that at :data:`SPEED`."""
    longer = for_long(problem)
    simulation = longer.simulation
    _, terms = evaluate(longer, best[None])
    effort = float(terms["effort"][0])
    device = configuration.model if configuration.exo else None
    worn = "without a device" if device is None else f"with the device {device}"
    print(
        f"{worn}, seed {configuration.seed}, {count} evaluations: cost {cost:.2f}, effort "
        f"{effort:.5f}, speed {terms['speed'][0]:.3f} m/s, lasts {terms['lasted'][0]:.2f} s, "
        f"survives {survival(simulation, best).survived} of 20 repeats"
    )
    nudges = 1.0 + BESIDE_BY * np.random.default_rng(0).standard_normal((BESIDE, len(best)))
    beside = effort_at_speed(longer, best * nudges)
    print(f"  of walks beside {beside}")
    finer = with_finer_step(2, DURATION, simulation, device)
    _, terms = evaluate(replace(longer, simulation=finer), best[None])
    print(
        f"  at half the time step: effort {terms['effort'][0]:.5f}, speed "
        f"{terms['speed'][0]:.3f} m/s, lasts {terms['lasted'][0]:.2f} s"
    )
    if device is not None:
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
    return effort, beside


def started_from(path: Path, problem: GaitProblem) -> tuple[np.ndarray, dict[str, float]]:
    """Vector, without the curve of a device, and speeds of joints of a walk in its cycle.

    A JSON file holds both, as ``vector`` and ``joint_speeds``. Other files hold the vector of a
    walk from standing, a number in each line, whose cycle is looked for.
    """
    try:
        if path.suffix == ".json":
            stored = json.loads(path.read_text())
            return body_of(path, np.array(stored["vector"], float), problem), stored["joint_speeds"]
        vector = np.loadtxt(path)
    except (ValueError, TypeError, KeyError) as error:
        raise GaitError(
            f"{path} holds neither a number in each line nor, as JSON, a vector and joint_speeds: "
            f"{error}"
        ) from error
    start = cycle_start(problem.scenarios[0].simulation, body_of(path, vector, problem))
    return start.vector, start.joint_speeds


def body_of(path: Path, vector: np.ndarray, problem: GaitProblem) -> np.ndarray:
    """A vector without the curve of a device that it may end with."""
    body = len(problem.parameters.entries)
    if vector.shape not in ((body,), (body + 4,)) or not np.isfinite(vector).all():
        raise GaitError(
            f"{path} has the shape {vector.shape}; a vector of planar22 has {body} numbers, or "
            f"{body + 4} with the curve of a device, and all of them are finite"
        )
    return vector[:body]


def for_long(problem: GaitProblem) -> Scenario:
    """The scenario of a problem, unperturbed and for :data:`DURATION`."""
    scenario = problem.scenarios[0]
    simulation = scenario.simulation.with_settings(duration=DURATION)
    return replace(
        scenario, simulation=simulation, objective=replace(scenario.objective, strides=10)
    )


def effort_at_speed(scenario: Scenario, X: np.ndarray) -> AtSpeed:
    """The effort at :data:`SPEED`: a line through those walks that last."""
    _, terms = evaluate(scenario, X)
    lasts = terms["lasted"] >= scenario.simulation.settings.duration
    lasted = int(lasts.sum())
    if lasted < 3:
        return AtSpeed(np.nan, np.nan, lasted, len(X))
    line = stats.linregress(terms["speed"][lasts] - SPEED, terms["effort"][lasts])
    return AtSpeed(float(line.intercept), float(line.intercept_stderr), lasted, len(X))


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--generations", type=int, default=80)
    parser.add_argument("--start", type=Path, default=START, help="vector that it begins with")
    parser.add_argument("--arm", choices=("with", "without"), help="one arm alone")
    parser.add_argument("--device", choices=tuple(PEAKS), default="ankle")
    parser.add_argument("--slope", type=float, default=5.0, help="of the ground [deg]")
    options = parser.parse_args()
    if not 1 <= options.generations <= 1000:
        parser.error(f"--generations is 1 to 1000, not {options.generations}")
    searches = Searches(options.start, options.generations, options.device, options.slope)
    arms = ("with", "without") if options.arm is None else (options.arm,)
    try:
        compare(options.directory, searches, arms, options.seeds)
    except (GaitError, FileNotFoundError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
