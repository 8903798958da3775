"""The next logs of a servo on its bench: mass, length, gain and trajectory, in numbers.

Every combination is simulated on the bench with exact derivatives, at the fitted values.
Information adds up over logs, on top of what the former ones taught; the logs that leave the
smallest largest interval are chosen one after the other, then exchanged while that helps. The
simulator is that of the fit, criterion and intervals are those of the motions of robots.
"""

import itertools
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from trueup._version import __version__
from trueup.actuators.bench.loads import GRAVITY
from trueup.actuators.bench.simulator import BenchSimulator
from trueup.actuators.exports.standard_logs import greatest_torque
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.record.trajectories import all_trajectories, trajectory_named
from trueup.actuators.search.problem import ServoProblem
from trueup.errors import FitError, RunDirectoryError
from trueup.posterior.drawn_run import run_directory_of
from trueup.posterior.excitation.bench_report import bench_page
from trueup.posterior.excitation.criterion import Criterion, half_bounds
from trueup.posterior.excitation.design_search import IDENTIFIABLE
from trueup.posterior.servo_run import ServoRun, servo_run
from trueup.studies import atomic

FILE = "bench_plan.json"

_CHUNK = 24  # logs that are simulated together
_HOLDS = 0.6  # share of the greatest torque that a load may need
_FURTHEST = np.pi  # [rad] of a motion that stays on the bench
_RATE = 200.0  # [Hz] of a log
_FACTORS = (0.5, 1.0, 1.5)  # of masses and gains, where none are given


@dataclass(frozen=True)
class BenchLog:
    """Conditions of one log."""

    mass: float
    """Mass at the tip of the pendulum [kg]."""
    length: float
    """Distance from the axis to the mass [m]."""
    kp: float
    """Firmware gain."""
    trajectory: str
    """Trajectory by name."""


@dataclass(frozen=True)
class BenchPlan:
    """Logs to record next, and what they will teach."""

    logs: tuple[BenchLog, ...]
    content: dict[str, Any]
    """Content of ``bench_plan.json``."""


def plan_bench(
    run: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    logs: int = 3,
    masses: Sequence[float] = (),
    lengths: Sequence[float] = (),
    gains: Sequence[float] = (),
    trajectories: Sequence[str] = (),
    anyway: bool = False,
    overwrite: bool = False,
) -> BenchPlan:
    """Choose the next logs of a servo.

    Args:
      run: run directory of a finished servo fit, or its parameter file.
      output: folder for ``bench_plan.json`` and ``report.html``; nothing is written where None.
      logs: logs to record.
      masses: masses at hand [kg]; those of the former logs, half and one and a half of them where
        empty.
      lengths: lengths of the arm at hand [m]; those of the former logs where empty.
      gains: firmware gains; as masses where empty.
      trajectories: trajectories by name; all where empty.
      anyway: take a run whose verdict is "do not use" too; the plan is marked.
      overwrite: replace a plan that the folder holds.

    Raises:
      RunDirectoryError: the run has no intervals, is not to be used, or the folder holds something.
      FitError: no load is light enough for the servo, or a number that is not positive.
      RecordingError: no such trajectory.
    """
    target = None if output is None else Path(output)
    _check(target, overwrite, logs, masses, lengths, gains)
    source = servo_run(run_directory_of(run), anyway=anyway)
    former = source.job.prepared.training_logs
    candidates = _candidates(source, former, masses, lengths, gains, trajectories)
    grams = _information(source, former[0], candidates)
    usable = np.flatnonzero(np.einsum("kii->k", grams) > 0)
    if not usable.size:
        raise FitError("no motion of these loads stays on the bench: give other masses or lengths")
    shrink = 1.0 / source.widening
    known = source.known.precision * np.outer(shrink, shrink)
    criterion = Criterion(half_bounds(source.space), known)
    inflation = max(source.known.inflation, 1e-30)
    chosen, counted, courses = _choose(grams[usable], inflation, criterion, logs)
    picked = [candidates[usable[k]] for k in chosen]
    content = _content(source, picked, counted, courses, len(candidates), anyway)
    if target is not None:
        page = bench_page(content).html()
        target.mkdir(parents=True, exist_ok=True)
        atomic.write_text(target / "report.html", page)
        atomic.write_json(target / FILE, content)
    return BenchPlan(tuple(picked), content)


def _check(
    target: Path | None,
    overwrite: bool,
    logs: int,
    masses: Sequence[float],
    lengths: Sequence[float],
    gains: Sequence[float],
) -> None:
    if logs < 1 or logs > 100:
        raise FitError(f"{logs} logs are asked for; give 1 to 100")
    for what, given in (("mass", masses), ("length", lengths), ("gain", gains)):
        wrong = [value for value in given if not 0 < value < np.inf]
        if wrong:
            raise FitError(f"the {what} {wrong[0]:g} is not positive")
    if target is not None and target.exists() and not target.is_dir():
        raise RunDirectoryError(f"{target} is a file; --output names a folder")
    if target is not None and target.is_dir() and any(target.iterdir()):
        if not (target / FILE).is_file():
            raise RunDirectoryError(f"{target} holds other files: name another folder")
        if not overwrite:
            raise RunDirectoryError(f"{target} holds a plan: replace it with --overwrite")


def _candidates(
    source: ServoRun,
    former: Sequence[ServoLog],
    masses: Sequence[float],
    lengths: Sequence[float],
    gains: Sequence[float],
    trajectories: Sequence[str],
) -> list[BenchLog]:
    """Every combination whose load the servo can hold."""

    def near(values: set[float], factors: Sequence[float]) -> list[float]:
        return sorted({float(f"{v * f:.3g}") for v in values if v > 0 for f in factors})

    heavy = list(masses) or near({log.mass for log in former}, _FACTORS)
    long = list(lengths) or near({log.length for log in former}, (1.0,))
    stiff = list(gains) or near({log.kp for log in former}, _FACTORS)
    names = [trajectory_named(name).name for name in trajectories] or [
        name for name in all_trajectories() if name != "nothing"  # it needs a hand
    ]  # fmt: skip
    if not heavy or not long:
        raise FitError(
            "the former logs have no pendulum: say which masses and lengths there are, with "
            "--masses and --lengths"
        )
    limit = _HOLDS * greatest_torque(source.model, former[0].vin)
    arm = former[0].arm_mass
    loads = [
        (m, length)
        for m, length in itertools.product(heavy, long)
        if (m + 0.5 * arm) * GRAVITY * length <= limit
    ]
    if not loads:
        raise FitError(
            f"the servo holds {limit / _HOLDS:.3g} N m at most, and the lightest load needs "
            f"{(min(heavy) + 0.5 * arm) * GRAVITY * min(long):.3g} N m: give lighter masses or "
            f"shorter lengths, up to {limit:.3g} N m"
        )
    return [BenchLog(m, n, k, t) for (m, n), k, t in itertools.product(loads, stiff, names)]


def _planned(template: ServoLog, log: BenchLog) -> ServoLog:
    """A log that is not recorded yet: its goals, at rest where it begins."""
    trajectory = trajectory_named(log.trajectory)
    times = np.arange(0.0, trajectory.duration, 1.0 / _RATE)
    goals, enable = trajectory(times)
    zeros = np.zeros(len(times))
    volts = template.vin or (
        float(np.median(template.input_volts)) if template.input_volts is not None else 0.0
    )
    return replace(
        template,
        name=f"{log.mass:g} kg {log.length:g} m kp {log.kp:g} {log.trajectory}",
        source=log.trajectory,
        sha256="",
        trajectory=log.trajectory,
        mass=log.mass,
        length=log.length,
        kp=log.kp,
        dt=1.0 / _RATE,
        times=times,
        position=zeros + goals[0],
        speed=zeros,
        goal_position=goals,
        torque_enable=enable,
        load=zeros,
        input_volts=zeros + volts,
        temperature=zeros + 30.0,
        columns={},
        header={},
    )


def _information(
    source: ServoRun, template: ServoLog, candidates: Sequence[BenchLog]
) -> np.ndarray:
    """``J' J`` of each log ``(k, p, p)`` in search coordinates; zero where it leaves the bench."""
    settings, prepared = source.job.prepared.settings, source.job.prepared
    slope = source.space.slope(source.fit)
    grams = np.zeros((len(candidates), source.space.size, source.space.size))
    for first in range(0, len(candidates), _CHUNK):
        part = [_planned(template, log) for log in candidates[first : first + _CHUNK]]
        simulator = BenchSimulator(
            source.model,
            part,
            free=prepared.free,
            scheme=settings.scheme,
            vin=settings.vin,
            threads=prepared.threads,
        )
        motion = simulator.simulate(source.fit[None, :])
        stays = [
            bool(np.isfinite(p).all() and np.abs(p).max() <= _FURTHEST) for p in motion.position
        ]
        good = [k for k, stay in enumerate(stays) if stay]
        if not good:
            continue
        kept = BenchSimulator(
            source.model,
            [part[k] for k in good],
            free=prepared.free,
            scheme=settings.scheme,
            vin=settings.vin,
            threads=prepared.threads,
        )
        problem = ServoProblem(kept, settings.objective)
        blocks = problem.jacobian_blocks(source.fit, {})
        for k, (_, _, derivatives) in zip(good, blocks, strict=True):
            jacobian = derivatives * slope[:, None]
            grams[first + k] = jacobian @ jacobian.T
    return grams


def _choose(
    grams: np.ndarray, inflation: float, criterion: Criterion, count: int
) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Best logs together, parameters that count, and intervals after each ``(count + 1, p)``."""

    def intervals(total: np.ndarray) -> np.ndarray:
        # what a sample is worth follows from the residuals of the former logs
        worth = total / inflation
        return criterion.intervals(worth, worth)[..., None, :]

    zero = np.zeros_like(grams[0])
    most = intervals(count * grams.mean(axis=0))[0]
    counted = most < IDENTIFIABLE
    if not counted.any():
        counted = most <= most.min()
    chosen: list[int] = []
    for _ in range(count):
        total = grams[chosen].sum(axis=0) if chosen else zero
        costs = criterion.largest(intervals(total + grams), counted)
        chosen.append(int(np.argmin(costs)))
    for _ in range(10):
        former = list(chosen)
        for place in range(count):
            others = chosen[:place] + chosen[place + 1 :]
            total = grams[others].sum(axis=0) if others else zero
            costs = criterion.largest(intervals(total + grams), counted)
            if costs.min() < costs[chosen[place]] - 1e-9:
                chosen[place] = int(np.argmin(costs))
        if chosen == former:
            break
    # the log that teaches most first
    order: list[int] = []
    left = list(chosen)
    while left:
        total = grams[order].sum(axis=0) if order else zero
        costs = [float(criterion.largest(intervals(total + grams[k]), counted)) for k in left]
        order.append(left.pop(int(np.argmin(costs))))
    totals = [zero, *np.cumsum(grams[order], axis=0)]
    return order, counted, np.array([intervals(total)[0] for total in totals])


def _content(
    source: ServoRun,
    picked: Sequence[BenchLog],
    counted: np.ndarray,
    courses: np.ndarray,
    candidates: int,
    anyway: bool,
) -> dict[str, Any]:
    space, z = source.space, source.space.to_search(source.fit)
    half = courses[-1] * half_bounds(space)
    low, high = (space.from_search((z + s * half)[None])[0] for s in (-1, 1))
    servo = source.model.servo.name
    return {
        "format_version": 1,
        "trueup": __version__,
        "kind": "bench plan",
        "run": str(source.directory.path),
        "servo": servo,
        "verdict": source.verdict.plain(),
        "anyway": anyway,
        "candidates": candidates,
        "logs": [
            {
                **asdict(log),
                "largest_after": float(courses[k + 1][counted].max()),
                "command": f"trueup actuator record --port PORT --motor {servo} "
                f"--mass {log.mass:g} --length {log.length:g} --kp {log.kp:g} "
                f"--trajectory {log.trajectory} --output next_{k + 1}.json",
            }
            for k, log in enumerate(picked)
        ],
        "largest_before": float(courses[0][counted].max()),
        "parameters": [
            {
                "name": name,
                "unit": space.units[i] if space.units else "",
                "value": float(source.fit[i]),
                "low": float(low[i]),
                "high": float(high[i]),
                "before": float(courses[0][i]),
                "after": float(courses[-1][i]),
                "unknown": ""
                if counted[i]
                else "no log of these loads, gains and trajectories determines it",
            }
            for i, name in enumerate(space.names)
        ],
    }
