"""``trueup actuator record``: recordings on hardware, sweeps, and recovery of interrupted ones."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from trueup.actuators import all_trajectories, read_log
from trueup.actuators import record as recording
from trueup.actuators.logs.checks import LONGEST_GAP
from trueup.cli.actuator.connection import Connection
from trueup.cli.output import Output
from trueup.errors import RecordingError
from trueup.runs.loop.progress import Progress
from trueup.runs.loop.progress import duration as duration_text


def run_record(
    connection: Connection,
    kp: float,
    trajectory: str,
    path: Path,
    bench: recording.Bench,
    settings: recording.RecordSettings,
    quiet: bool,
    output: Output,
) -> int:
    """Record one trajectory; returns the exit code."""
    wanted = recording.trajectory_of(trajectory)
    with connection.opened(bench) as driver, Progress(not quiet) as progress:
        recording.record(
            driver,
            wanted,
            path,
            bench=bench,
            kp=kp,
            settings=settings,
            on_progress=lambda share: progress.update(f"recording {wanted.name}", share),
        )
        retries = driver.retries
    log = read_log(path, check_motion=False)
    gap = float(np.diff(log.times).max())
    output.text(
        f"{path}: {wanted.name} at a gain of {kp:g}, {len(log)} samples in {log.duration:.1f} s, "
        f"at most {1e3 * gap:.0f} ms apart, {retries} packets repeated"
    )
    if gap > LONGEST_GAP:
        output.text(
            f"  ! the largest gap is {gap:.2f} s, at most {LONGEST_GAP:g} s can be interpolated: "
            "trueup actuator process splits the log there. To avoid gaps, stop other programs on "
            "this computer"
        )
    output.result(
        {
            "log": str(path),
            "retried_packets": retries,
            "samples": len(log),
            "seconds": log.duration,
            "longest_gap": gap,
        }
    )
    return 0


def run_sweep(
    connection: Connection,
    gains: Sequence[float],
    trajectories: Sequence[str],
    directory: Path,
    bench: recording.Bench,
    settings: recording.RecordSettings,
    dry_run: bool,
    quiet: bool,
    output: Output,
) -> int:
    """Record every trajectory at every gain, without finished ones; returns the exit code.

    The default gains and trajectories are the standard ones of the servo.
    """
    servo = connection.servo()
    connection.check(servo)
    planned = recording.plan_sweep(
        connection.motor,
        directory,
        bench=bench,
        gains=gains or recording.standard_gains(servo),
        trajectories=[
            recording.trajectory_of(n) for n in trajectories or recording.STANDARD_TRAJECTORIES
        ],
        settings=settings,
    )
    seconds = recording.sweep_seconds(planned, settings)
    output.table(
        ["log", "kp", "trajectory", "seconds", ""],
        [
            [
                item.path.name,
                f"{item.kp:g}",
                item.trajectory.name,
                f"{item.trajectory.duration:g}",
                "done" if item.done else "",
            ]
            for item in planned
        ],
    )
    waiting = sum(not item.done for item in planned)
    output.text(f"{waiting} of {len(planned)} recordings, about {duration_text(seconds)}")
    result = {
        "logs": [str(item.path) for item in planned],
        "done": [item.done for item in planned],
        "seconds": seconds,
    }
    if not dry_run and waiting:
        with connection.opened(bench) as driver, Progress(not quiet) as progress:

            def show(now: recording.SweepProgress) -> None:
                share = 1 - now.seconds_left / seconds if seconds else None
                note = f", {now.note}" if now.note else ""
                progress.update(f"{now.number} of {now.total}: {now.path.name}{note}", share)

            recording.record_sweep(
                driver, planned, bench=bench, settings=settings, on_progress=show
            )
        result["done"] = [True] * len(planned)
        output.text(f"All {len(planned)} logs are in {directory}")
    output.result(result)
    return 0


def run_read(connection: Connection, output: Output) -> int:
    """Print one reading of the servo, such as its angle with the pendulum hanging down."""
    with connection.opened() as driver:
        reading, limits = driver.read(), driver.limits
    units = {
        "position": "rad",
        "speed": "rad/s",
        "load": "of full duty",
        "input_volts": "V",
        "temperature": "degrees C",
        "current": "A",
        "tick": "s, by its own clock",
    }
    for name, value in dataclasses.asdict(reading).items():
        if value is not None:
            output.text(f"  {name:12} {value:10.4f} {units[name]}")
    output.text(
        f"  limits       {limits.lowest:.3f} to {limits.highest:.3f} rad, "
        f"{limits.lowest_volts:.1f} to {limits.highest_volts:.1f} V, "
        f"{limits.highest_temperature:.0f} degrees C"
    )
    output.result({"reading": dataclasses.asdict(reading), "limits": dataclasses.asdict(limits)})
    return 0


def run_recover(partial: Path, path: Path | None, output: Output) -> int:
    """Convert the partial file of an interrupted recording to a raw log; returns the exit code."""
    if not partial.is_file():
        raise RecordingError(f"{partial}: no such file")
    recovered = recording.recover(partial, path)
    output.text(f"Recovered: {recovered}")
    output.result({"log": str(recovered)})
    return 0


def run_trajectories(output: Output) -> int:
    """List the trajectories with the parameters that each identifies; returns the exit code."""
    known = all_trajectories().values()
    for trajectory in known:
        output.text(f"{trajectory.name} ({trajectory.duration:g} s)", f"  {trajectory.identifies}")
    output.result(
        {
            "trajectories": [
                {"name": t.name, "duration": t.duration, "identifies": t.identifies} for t in known
            ]
        }
    )
    return 0
