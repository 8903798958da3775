"""Sweep over trajectories and gains, one log each; existing logs are skipped."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from trueup.actuators.catalogue.servo import Servo
from trueup.actuators.logs.files import read_log
from trueup.actuators.record._record import record
from trueup.actuators.record.driver import ServoDriver
from trueup.actuators.record.settings import Bench, RecordSettings
from trueup.actuators.record.trajectory import Trajectory, check_trajectory
from trueup.errors import HardwareError, RecordingError

_COOLER = 5.0  # margin below the temperature limit for the next start [K]
_LONGEST_COOLING = 900.0  # longest wait for a hot servo [s]
_WAIT = 1.0  # interval of temperature checks [s]
_ROUND_TRIP = 2.0  # typical distance to the start and back to rest [rad]

STANDARD_GAINS: dict[str, tuple[float, ...]] = {
    "xl330": (50, 100, 200, 300, 400),
    "xl330i": (50, 100, 200, 300, 400),
    "xl320": (4, 8, 16, 32),
    "mx64": (4, 8, 16, 32),
    "mx106": (4, 8, 16, 32),
    "sts3215": (4, 8, 16, 32),
}
"""Default gains of a sweep by servo, in firmware units."""


def standard_gains(servo: Servo) -> tuple[float, ...]:
    """Gains for a sweep of a servo: from :data:`STANDARD_GAINS`, or up to its default gain."""
    if servo.name in STANDARD_GAINS:
        return STANDARD_GAINS[servo.name]
    gains = [servo.kp / share for share in (8, 4, 2, 1)]
    whole = [float(round(gain)) for gain in gains]
    return tuple(dict.fromkeys(gains if min(whole) < 1 else whole))


STANDARD_TRAJECTORIES = ("sin_sin", "lift_and_drop", "up_and_down", "sin_time_square")
"""Default trajectories of a sweep."""


@dataclass(frozen=True)
class PlannedRecording:
    """One recording of a sweep."""

    kp: float
    """Proportional gain in firmware units."""
    trajectory: Trajectory
    """Trajectory to command."""
    path: Path
    """The raw log."""
    done: bool
    """Whether the log exists."""


@dataclass(frozen=True)
class SweepProgress:
    """Progress of a sweep."""

    number: int
    """Number of the current recording, from 1."""
    total: int
    """Number of recordings, including finished ones."""
    path: Path
    """Raw log of the current recording."""
    fraction: float
    """Completed fraction of its trajectory, 0 to 1."""
    seconds_left: float
    """Remaining time of the sweep [s]."""
    note: str = ""
    """Reason for waiting, if any."""


def plan_sweep(
    motor: str,
    directory: str | os.PathLike[str],
    *,
    bench: Bench,
    gains: Sequence[float],
    trajectories: Sequence[Trajectory],
    settings: RecordSettings | None = None,
) -> list[PlannedRecording]:
    """Checked list of the recordings of a sweep; needs no servo.

    Args:
        motor: name of the servo.
        directory: folder of the raw logs.
        bench: pendulum on the servo.
        gains: proportional gains in firmware units, in the order of recording.
        trajectories: trajectories to record at each gain.
        settings: timing and limits.

    Raises:
        RecordingError: a trajectory exceeds the limits, there is nothing to record, or the folder
            contains a log of the same name from another bench.
    """
    settings = settings or RecordSettings()
    if not gains or not trajectories:
        raise RecordingError("a sweep requires at least one gain and one trajectory")
    for trajectory in trajectories:
        check_trajectory(trajectory, settings.limits)
    planned = []
    for kp in dict.fromkeys(gains):
        for trajectory in trajectories:
            name = (
                f"{motor}_m{bench.mass:g}_l{bench.length:g}_kp{kp:g}_{trajectory.name}"
                f"{f'_a{bench.arm_mass:g}' if bench.arm_mass else ''}.json"
            )
            path = Path(directory) / name
            done = path.exists()
            if done:
                _check_same(path, motor, bench, kp, trajectory)
            planned.append(PlannedRecording(kp, trajectory, path, done))
    return planned


def sweep_seconds(
    planned: Sequence[PlannedRecording], settings: RecordSettings | None = None
) -> float:
    """Duration of the missing recordings, including moves to the start [s]."""
    settings = settings or RecordSettings()
    each = settings.settle + _ROUND_TRIP / settings.start_speed + _WAIT
    return sum(each + item.trajectory.duration for item in planned if not item.done)


def record_sweep(
    driver: ServoDriver,
    planned: Sequence[PlannedRecording],
    *,
    bench: Bench,
    settings: RecordSettings | None = None,
    on_progress: Callable[[SweepProgress], None] | None = None,
) -> list[Path]:
    """Record the missing logs of a plan of :func:`plan_sweep`.

    To resume an interrupted sweep, plan it again. A hot servo cools down before the next recording.

    Args:
        driver: open servo.
        planned: planned recordings.
        bench: pendulum on the servo, as planned.
        settings: timing and limits.
        on_progress: called with the progress of the sweep.

    Returns:
        All raw logs of the plan.

    Raises:
        HardwareError: the servo does not answer, reports a fault, exceeds its limits, or does not
            cool down.
        KeyboardInterrupt: Ctrl-C or SIGTERM, after the servo has been made safe.
    """
    settings = settings or RecordSettings()
    for index, item in enumerate(planned):
        if item.done:
            continue
        left = sweep_seconds(planned[index:], settings)

        def report(
            fraction: float,
            note: str = "",
            index: int = index,
            item: PlannedRecording = item,
            left: float = left,
        ) -> None:
            if on_progress is not None:
                remaining = left - fraction * item.trajectory.duration
                on_progress(
                    SweepProgress(index + 1, len(planned), item.path, fraction, remaining, note)
                )

        _cool_down(driver, settings, report)
        report(0.0)
        record(
            driver,
            item.trajectory,
            item.path,
            bench=bench,
            kp=item.kp,
            settings=settings,
            on_progress=report,
        )
    return [item.path for item in planned]


def _cool_down(
    driver: ServoDriver, settings: RecordSettings, report: Callable[[float, str], None]
) -> None:
    begin = time.monotonic()
    while (temperature := driver.read().temperature) > settings.highest_temperature - _COOLER:
        if time.monotonic() - begin > _LONGEST_COOLING:
            raise HardwareError(
                f"the servo stays at {temperature:.0f} degrees C with its torque off; the limit is "
                f"{settings.highest_temperature:.0f}"
            )
        report(0.0, f"cooling down from {temperature:.0f} degrees C")
        time.sleep(_WAIT)


def _check_same(path: Path, motor: str, bench: Bench, kp: float, trajectory: Trajectory) -> None:
    log = read_log(path)
    found = (log.motor, log.mass, log.length, log.arm_mass, log.kp, log.trajectory)
    wanted = (motor, bench.mass, bench.length, bench.arm_mass, kp, trajectory.name)
    if found != wanted:
        raise RecordingError(
            f"{path}: contains another recording ({found}, expected {wanted}): choose another "
            "folder"
        )
