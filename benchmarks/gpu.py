"""MuJoCo Warp compared with all CPU cores: steps, identifications, draws, walks; in 8 minutes.

    python benchmarks/gpu.py                               # on a machine with an NVIDIA card
    python benchmarks/gpu.py --device warp-cpu --small     # its kernels on one core, a proof

Needs the extras gpu and robots. Printed is a table in Markdown with the name of the card:

- steps: million steps a second of the library's engines over worlds with different armatures,
  recording and copying positions, and of the batch engine on all cores;
- search: seconds of the search of an identification, kernels compiled, until its end in double
  precision, by the CPU and by the device, and the largest difference of its results in standard
  errors: a hanging quadruped with 49 unknowns and a Panda with 60, 30 s each, in windows of 0.5 s;
- Jacobian: seconds of one in the windows of the search on the device, and of its parts: start
  states of all candidates, simulation, transfer of the records, residuals and ``J'J`` on the host;
- draws: seconds of the check of 10,000 draws about the optimum, the CPU's from a hundredth of them;
- posterior: seconds of a million evaluations of a sampled posterior, from those of 20 steps;
- walks: simulated seconds a second of a generation of 256 candidates in 8 repeats over 10 s, and
  whether costs and durations are distributed as on the CPU, see ``walk_generation``.

A part that would begin after 7 minutes is left out, and named.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from unittest import mock

import mujoco
import numpy as np

from hanging_quadruped import JOINTS as LEGS
from hanging_quadruped import KD, KP, POSE, kind
from inverse_dynamics import models
from trueup import fitting
from trueup.fitting.linearisation import difference_points, final_jacobian, linearise
from trueup.fitting.losses import Loss
from trueup.fitting.posterior.likelihood import NoiseLikelihood
from trueup.fitting.posterior.sampler import PosteriorSampler
from trueup.fitting.problem import ResidualGroup
from trueup.fitting.searches.device_first import STEP
from trueup.knowledge.held_out_check import check_on_held_out
from trueup.simulation.engine.batch import BatchEngine
from trueup.simulation.engine.segment import Segment
from trueup.simulation.targets.resolution import FieldWrite
from trueup.simulation.warp.devices import WarpDevice, find_device
from trueup.simulation.warp.engine import WarpEngine
from trueup.simulation.warp.worlds import Worlds
from trueup.sysid.assess.fit_covariance import sequence_rows
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.model_loading import load_model
from trueup.sysid.experiment.settings import on_device
from trueup.sysid.fit.run import read_and_check
from trueup.sysid.fit.spec import IdentificationSpec
from walk_generation import compare

LAST_BEGIN = 420.0
"""Seconds after which no further part begins."""
NOISE, RATE = 5e-4, 200.0
TRUTH = {"armature": 0.05, "damping": 0.8, "frictionloss": 0.4}
RANGES = {"armature": (0.03, 0.001, 0.5), "damping": (0.5, 0.0, 10.0),
          "frictionloss": (0.2, 0.0, 5.0), "ref": (0.0, -0.2, 0.2)}  # fmt: skip
"""Start value and bounds of the unknowns of each joint."""

LEG = """
<mujoco model="leg">
  <option integrator="implicitfast"/>
  <worldbody>
    <body><joint name="hip" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.4" size=".03" mass=".6" contype="0"/>
      <body pos="0 0 -.4"><joint name="knee" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".025" mass=".4" contype="0"/></body>
    </body>
  </worldbody>
</mujoco>
"""


@dataclass(frozen=True)
class Case:
    """A robot whose joints follow chirps."""

    file: Path
    gains: dict[str, tuple[float, float]]
    """Joint -> stiffness and damping of its servo."""
    pose: dict[str, float]
    timestep: float
    further: tuple[str, ...] = ()
    """Lines of further parameters."""
    kinds: tuple[str, ...] = ("armature", "damping", "frictionloss", "ref")
    fixed: bool = False

    def text(self, window: float) -> str:
        """The experiment file."""
        joints = list(self.gains)
        lines = ["name: robot", "model:", f"  file: {self.file}", "  actuators: position"]
        lines += [f"  timestep: {self.timestep}", *(["  base: fixed"] if self.fixed else [])]
        for place, name in enumerate(("kp", "kd")):
            values = ", ".join(f"{j}: {g[place]}" for j, g in self.gains.items())
            lines.append(f"  {name}: {{{values}}}")
        lines += ["recordings:", "  - file: log.csv", "    time: t", "    signals:"]
        lines += [f"      {j}_qpos: q_{j}" for j in joints]
        lines += ["    controls:", *(f"      {j}: c_{j}" for j in joints)]
        lines += ["held_out: {fraction: 0.0}", f"window: {window}"]
        lines += [f"measurement: {{signals: {{'*_qpos': {{noise: {NOISE}}}}}}}", "parameters:"]
        for what in self.kinds:
            start, low, high = RANGES[what]
            lines += [
                f"  {j}_{what}: {{target: joint/{j}/{what}, start: {start}, "
                f"bounds: [{low}, {high}]}}"
                for j in joints
            ]
        return "\n".join([*lines, *self.further]) + "\n"

    def record(self, folder: Path, seconds: float) -> None:
        """Write the log of the true robot."""
        part = parse_experiment(self.text(0.5)).model
        spec, _ = load_model(part, folder)
        for joint in spec.joints:
            if joint.name in self.gains:
                joint.armature, joint.frictionloss = TRUTH["armature"], TRUTH["frictionloss"]
                joint.damping = [TRUTH["damping"], 0, 0]
        model = spec.compile()
        joints = list(self.gains)
        places = [int(model.joint(j).qposadr[0]) for j in joints]
        order = [joints.index(model.actuator(i).name) for i in range(model.nu)]
        data = mujoco.MjData(model)
        centre = np.array([self.pose[j] for j in joints])
        data.qpos[places] = centre
        each = round(1.0 / (RATE * self.timestep))
        rows, rng = [], np.random.default_rng(0)
        rates = 2 * np.pi * (0.3 + 0.15 * np.arange(len(joints)))
        for k in range(-int(2 * RATE), int(seconds * RATE)):
            t = max(k, 0) / RATE
            command = centre + 0.25 * min(2 * t, 1.0) * np.sin(rates * t * (1 + t / seconds))
            if k >= 0:
                rows.append([t, *(data.qpos[places] + NOISE * rng.normal(size=len(joints)))])
                rows[-1] += list(command)
            data.ctrl[:] = command[order]
            mujoco.mj_step(model, data, each)
        header = ",".join(["t", *(f"q_{j}" for j in joints), *(f"c_{j}" for j in joints)])
        np.savetxt(folder / "log.csv", rows, delimiter=",", header=header, comments="")


def quadruped(folder: Path) -> Case:
    """``unitree_b2`` hangs by its trunk: 48 unknowns of joints, and the damping of a servo."""
    gains = {j: (KP[kind(j)], KD[kind(j)]) for j in LEGS}
    pose = {j: POSE[kind(j)] for j in LEGS}
    servo = f"  kv: {{target: actuator/{LEGS[0]}/kv, start: 1.5, bounds: [0.5, 6]}}"
    return Case(models() / "unitree_b2.xml", gains, pose, 0.0025, (servo,), fixed=True)


def panda(folder: Path) -> Case:
    """A Panda: 28 unknowns of its joints, 14 of its servos, 18 of its links."""
    names = [f"joint{k}" for k in range(1, 8)]
    spec = mujoco.MjSpec.from_file(str(models() / "panda_no_hand.xml"))
    stiffness, damping = (600, 600, 600, 600, 250, 150, 50), (50, 50, 50, 50, 30, 25, 15)
    gains = dict(zip(names, zip(stiffness, damping)))
    pose = dict(zip(names, (0.0, -0.6, 0.0, -2.0, 0.0, 1.6, 0.8)))
    further = []
    for j, pair in gains.items():
        for what, gain in zip(("kp", "kv"), pair, strict=True):
            near = f"start: {0.9 * gain}, bounds: [{0.5 * gain}, {2 * gain}]"
            further.append(f"  {j}_{what}: {{target: actuator/{j}/{what}, {near}}}")
    model = spec.compile()
    links = [model.body(int(model.joint(j).bodyid[0])) for j in names]
    for link in links[1:]:
        mass = float(link.mass[0])
        bounds = f"[{0.5 * mass}, {2 * mass}]"
        further.append(f"  {link.name}_mass: {{target: body/{link.name}/mass, bounds: {bounds}}}")
    for link in links[-4:]:
        for axis in range(3):
            at = float(link.ipos[axis])
            bounds = f"[{at - 0.1}, {at + 0.1}]"
            target = f"body/{link.name}/ipos/{axis}"
            further.append(f"  {link.name}_{axis}: {{target: {target}, bounds: {bounds}}}")
    return Case(models() / "panda_no_hand.xml", gains, pose, 0.002, tuple(further))


def leg(folder: Path) -> Case:
    """A small leg of two joints, for a proof."""
    (folder / "leg.xml").write_text(LEG)
    gains = {"hip": (20.0, 0.5), "knee": (15.0, 0.4)}
    kinds = ("armature", "damping")
    return Case(folder / "leg.xml", gains, {"hip": 0.3, "knee": -0.4}, 0.0025, (), kinds)


def steps_per_second(case: Case, folder: Path, device: WarpDevice | None, worlds: int) -> float:
    """Million steps a second of worlds with their own armatures, the best of three runs."""
    spec, _ = load_model(parse_experiment(case.text(0.5)).model, folder)
    model = spec.compile()
    data = mujoco.MjData(model)
    state = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_getState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    steps = 100 if device is None or device.is_card else 10
    times = model.opt.timestep * np.arange(steps)[:, None]
    controls = 0.2 * np.sin(2 * np.pi * times * np.linspace(0.5, 3, model.nu))
    segment = Segment(0.0, state, controls)
    kind: Callable = BatchEngine if device is None else WarpEngine
    options = {} if device is None else {"device": device}
    engine = kind(model, [segment], ("qpos",), **options)
    entries = np.arange(model.nv)
    armatures = model.dof_armature * np.linspace(1.0, 1.2, worlds)[:, None] + 1e-3
    writes = [(FieldWrite("dof_armature", entries, entries), armatures)]
    best = np.inf
    for _ in range(4):
        began = time.perf_counter()
        for _block in engine.run(worlds, writes):
            pass
        best = min(best, time.perf_counter() - began)
    return 1e-6 * worlds * steps / best


def searched(text: str, folder: Path, device: str):
    """Problem and solution of a search, and its seconds without compilation."""
    experiment = on_device(parse_experiment(text), device)
    ready = read_and_check(IdentificationSpec.of(experiment, folder))
    if device != "cpu":
        # kernels are compiled, and worlds made, by the first batch
        first = ready.problem.quick(4 * ready.problem.space.size + 1)
        first.costs(np.tile(ready.problem.space.start, (4 * ready.problem.space.size + 1, 1)))
    began = time.perf_counter()
    solution = fitting.minimise(ready.problem, ready.search)
    return ready.problem, solution, time.perf_counter() - began


def standard_errors(problem, x: np.ndarray) -> np.ndarray:
    """Standard errors of the estimates in search coordinates, for white noise ``(p,)``."""
    residual, jacobian, _ = final_jacobian(problem, x, central=False)
    rows, p = jacobian.shape
    covariance = np.linalg.pinv(jacobian.T @ jacobian) * (residual @ residual / (rows - p))
    return np.sqrt(np.diag(covariance))


def jacobian_times(problem) -> tuple[float, list[float]]:
    """Million recorded values of a Jacobian on the device, and its seconds: the whole, and parts.

    Parts are start states of all candidates, simulation, transfer, and what follows on the host.
    """
    space = problem.space
    quick = problem.quick(2 * space.size + 1)
    X, steps = difference_points(space, space.start, STEP, True, np.zeros(space.size, bool))
    spent = dict.fromkeys(("begin", "records", "blocks"), 0.0)
    values = 0

    def timed(name: str, work: Callable) -> Callable:
        def run(*given, **named):
            began = time.perf_counter()
            found = work(*given, **named)
            spent[name] += time.perf_counter() - began
            return found

        return run

    def blocks_of(work: Callable) -> Callable:
        def run(*given, **named):
            nonlocal values
            following = timed("blocks", partial(next, work(*given, **named), None))
            while (block := following()) is not None:
                values += sum(records.size for records in block.records.values())
                yield block

        return run

    with ExitStack() as kept:
        kept.enter_context(mock.patch.object(Worlds, "records", timed("records", Worlds.records)))
        for group in quick._groups:
            engine = group.engine
            for name, own in (
                ("_begin", timed("begin", engine._begin)),
                ("run", blocks_of(engine.run)),
            ):
                kept.enter_context(mock.patch.object(engine, name, own))
        for _ in range(2):  # the first one makes worlds
            spent.update(dict.fromkeys(spent, 0.0))
            values = 0
            began = time.perf_counter()
            linearise(quick, X, steps, True, Loss(), {})
            whole = time.perf_counter() - began
    begin, records, blocks = spent.values()
    return 1e-6 * values, [whole, begin, blocks - begin - records, records, whole - blocks]


def near(space, x: np.ndarray, errors: np.ndarray, n: int, rng) -> np.ndarray:
    """Draws ``(n, p)`` about the optimum."""
    steps = 0.1 * np.minimum(errors, 0.1) * rng.normal(size=(n, len(x)))
    return space.from_search(np.clip(space.to_search(x) + steps, *space.search_bounds))


def draws_checked(problem, x: np.ndarray, errors: np.ndarray, count: int) -> float:
    """Seconds of the check of so many draws, with what it does before the first of them."""
    space, rng = problem.space, np.random.default_rng(0)
    steps = space.to_search(near(space, x, errors, 1000, rng)) - space.to_search(x)
    began = time.perf_counter()
    check = check_on_held_out(
        problem, x, lambda n: near(space, x, errors, n, rng), count, steps, training_error=0.0,
        inflation=1.0,
    )  # fmt: skip
    assert len(check.accepted) == count
    return time.perf_counter() - began


def posterior_rate(problem, quick, x: np.ndarray, errors: np.ndarray, steps: int) -> float:
    """Evaluations a second of a posterior, from a number of steps of all walkers."""
    residual = problem.residuals(x[None])[0]
    groups = [
        ResidualGroup(s.name, tuple(s.channel_names), np.asarray(s.times), rows.start)
        for s, rows in sequence_rows(problem)
    ]
    priors = np.ones(problem.residual_size - problem.data_rows)
    likelihood = NoiseLikelihood(residual, groups, priors, parameters=len(x))
    sampler = PosteriorSampler(quick, likelihood, x, np.diag(np.minimum(errors, 0.1) ** 2))
    sampler.advance(1)
    before, began = sampler.evaluations, time.perf_counter()
    sampler.advance(steps)
    return (sampler.evaluations - before) / (time.perf_counter() - began)


def row(*cells: object) -> None:
    """Print a row of a table at once."""
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda", choices=["cuda", "warp-cpu"])
    parser.add_argument("--small", action="store_true", help="small sizes, to see that it runs")
    given = parser.parse_args()
    device = find_device(given.device)
    assert device is not None
    begun = time.perf_counter()
    late = lambda: time.perf_counter() - begun > LAST_BEGIN  # noqa: E731
    cases = {"leg": leg} if given.small else {"quadruped": quadruped, "panda": panda}
    sizes = (2, 8) if given.small else (256, 1024, 4096, 16384, 65536)
    seconds, window, draws = (1.0, 0.05, 40) if given.small else (30.0, 0.5, 10_000)
    print(f"{device.label} compared with {os.cpu_count()} threads, MuJoCo {mujoco.__version__}\n")
    left_out = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        row("steps [10^6/s]", "CPU", *(f"{n} worlds" for n in sizes))
        row(*["---"] * (2 + len(sizes)))
        for label, make in cases.items():
            if late():
                left_out.append(f"steps of {label}")
                continue
            case = make(folder)
            rates = [
                steps_per_second(case, folder, None, max(sizes[0], 1024 if not given.small else 0))
            ]
            rates += [steps_per_second(case, folder, device, n) for n in sizes]
            row(label, *(f"{rate:.3g}" for rate in rates))
        print()
        row("search", "unknowns", "CPU [s]", "device [s]", "apart [standard errors]")
        row(*["---"] * 5)
        checked = []
        for label, make in cases.items():
            if late():
                left_out.append(f"search of {label}")
                continue
            case = make(folder)
            case.record(folder, seconds)
            text = case.text(window)
            plain, wanted, cpu = searched(text, folder, "cpu")
            problem, found, own = searched(text, folder, device.name)
            space = plain.space
            errors = standard_errors(plain, wanted.x)
            apart = np.abs(space.to_search(found.x) - space.to_search(wanted.x)) / errors
            row(label, space.size, f"{cpu:.2f}", f"{own:.2f}", f"{np.nanmax(apart):.2g}")
            checked.append((label, plain, problem, wanted.x, errors))
        print()
        head = ("values [10^6]", "whole [s]", "starts", "simulation", "transfer", "host")
        row("Jacobian on the device", *head)
        row(*["---"] * 7)
        for label, _, problem, _, _ in checked:
            if late():
                left_out.append(f"Jacobian of {label}")
                continue
            values, parts = jacobian_times(problem)
            row(label, f"{values:.2f}", *(f"{part:.3f}" for part in parts))
        print()
        row("check of draws", "draws", "CPU [s]", "device [s]")
        row(*["---"] * 4)
        for label, plain, problem, x, errors in checked:
            if late():
                left_out.append(f"draws of {label}")
                continue
            few = near(plain.space, x, errors, max(draws // 100, 4), np.random.default_rng(0))
            began = time.perf_counter()
            plain.predictions(few)
            cpu = (time.perf_counter() - began) * draws / len(few)
            row(label, draws, f"{cpu:.1f}", f"{draws_checked(problem, x, errors, draws):.1f}")
        print()
        row("posterior, 10^6 evaluations", "walkers a batch", "CPU [s]", "device [s]")
        row(*["---"] * 4)
        for label, plain, problem, x, errors in checked:
            if late():
                left_out.append(f"posterior of {label}")
                continue
            batch = max(len(x) + 1, 12)
            cpu = 1e6 / posterior_rate(plain, plain, x, errors, 2)
            own = 1e6 / posterior_rate(plain, problem.quick(batch), x, errors, 20)
            row(label, batch, f"{cpu:.0f}", f"{own:.0f}")
    print()
    row("generation of walks", "walks", "CPU [s/s]", "device [s/s]", "p of costs", "p of durations")
    row(*["---"] * 6)
    if late():
        left_out.append("generation of walks")
    else:
        found = compare(device.name, *((8, 2, 1.0) if given.small else (256, 8, 10.0)))
        rates = [f"{found.cpu:.3g}", f"{found.device:.3g}"]
        row("planar22", found.walks, *rates, f"{found.p_cost:.2g}", f"{found.p_lasted:.2g}")
    print(f"\n{time.perf_counter() - begun:.0f} s in all.")
    for part in left_out:
        print(f"left out, as it would have begun after {LAST_BEGIN:.0f} s: {part}")


if __name__ == "__main__":
    main()
