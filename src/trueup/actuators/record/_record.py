"""Record one trajectory: safe start, immediate writing of samples, safe stop."""

import datetime
import math
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from trueup._version import __version__
from trueup.actuators.record._sampling import follow
from trueup.actuators.record.driver import Reading, ServoDriver
from trueup.actuators.record.partial_log import PartialLog
from trueup.actuators.record.safety import Safety, StopSignals
from trueup.actuators.record.settings import Bench, Finish, RecordSettings
from trueup.actuators.record.thread_priority import prioritised_thread
from trueup.actuators.record.trajectory import Trajectory, check_trajectory
from trueup.errors import HardwareError, RecordingError

_RAMP_STEP = 0.01  # [s]
_LAST_ATTEMPTS = 5  # attempts to switch the torque off

Tell = Callable[[float], None]


def record(
    driver: ServoDriver,
    trajectory: Trajectory,
    path: str | os.PathLike[str],
    *,
    bench: Bench,
    kp: float,
    settings: RecordSettings | None = None,
    on_progress: Tell | None = None,
) -> Path:
    """Record one trajectory on an open servo, and write the raw log.

    The servo is checked, moves to the start at limited speed, follows the trajectory at absolute
    deadlines of a monotonic clock, returns to rest and goes limp (or holds). A dedicated thread
    samples, with raised priority if the system allows it. Samples are appended
    to ``<name>.partial.jsonl`` immediately; at the end they become the raw log, atomically. On an
    error, Ctrl-C or SIGTERM the servo is made safe, and the partial log is kept for
    :func:`~trueup.actuators.record.recover`.

    Args:
        driver: open servo.
        trajectory: trajectory to command.
        path: raw log to write.
        bench: pendulum on the servo.
        kp: proportional gain in firmware units.
        settings: timing and limits.
        on_progress: called with the completed fraction of the trajectory, about ten times a second.

    Returns:
        The path of the raw log.

    Raises:
        HardwareError: the servo does not answer, reports a fault, or exceeds its limits.
        RecordingError: the trajectory exceeds the limits, or the log already exists or cannot be
          written.
        KeyboardInterrupt: Ctrl-C or SIGTERM, after the servo has been made safe.
    """
    settings = settings or RecordSettings()
    safety = Safety(driver.limits, settings)
    path = Path(path)
    if path.suffix != ".json":
        raise RecordingError(
            f"{path}: a raw log is a JSON file: choose a name that ends with .json"
        )
    if path.exists():
        raise RecordingError(f"{path}: already exists: choose another file or remove it")
    check_trajectory(trajectory, safety.limits)
    _check_gain(kp, trajectory)
    with StopSignals() as stop, prioritised_thread():
        first = driver.read()
        safety.check_start(first)
        log = PartialLog(path, _header(driver, trajectory, bench, kp, settings, first))
        try:
            _go_to_start(driver, trajectory, kp, first, safety, settings, stop)
            counts = follow(driver, trajectory, safety, settings, log, stop, on_progress)
            _go_to_rest(driver, trajectory, safety, settings, stop)
        except BaseException as error:
            log.close()
            _make_safe(driver, settings.finish, error, log.partial)
            raise
        _make_safe(driver, settings.finish, None, log.partial)
        return log.complete(counts)


def _check_gain(kp: float, trajectory: Trajectory) -> None:
    """Reject impossible gains before the servo moves."""
    if not (math.isfinite(kp) and kp >= 0):
        raise RecordingError(f"the gain kp must be finite and at least 0, got {kp}")
    if kp == 0 and trajectory.at(0.0)[1]:
        raise RecordingError(
            f"the gain kp is 0, so the servo would not follow {trajectory.name!r}: set a "
            "gain in the unit of its firmware"
        )


def _header(
    driver: ServoDriver,
    trajectory: Trajectory,
    bench: Bench,
    kp: float,
    settings: RecordSettings,
    first: Reading,
) -> dict[str, Any]:
    return {
        "mass": bench.mass,
        "arm_mass": bench.arm_mass,
        "length": bench.length,
        "kp": int(kp) if float(kp).is_integer() else kp,
        "vin": first.input_volts if bench.vin is None else bench.vin,
        "motor": driver.motor,
        "trajectory": trajectory.name,
        "load_unit": "duty",
        "sample_rate": settings.rate,
        "recorded": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "trueup": __version__,
    }


def _go_to_start(
    driver: ServoDriver,
    trajectory: Trajectory,
    kp: float,
    first: Reading,
    safety: Safety,
    settings: RecordSettings,
    stop: StopSignals,
) -> None:
    driver.write_torque(False)
    driver.write_gain(kp)
    start, enable = trajectory.at(0.0)
    if not enable:
        return
    # Goal before torque: a servo moves to the goal that is left in its register.
    driver.write_goal(first.position)
    driver.write_torque(True)
    _ramp(driver, first.position, start, safety, settings, stop)
    for _ in _ticks(settings.settle, stop):
        safety.check(driver.read())


def _go_to_rest(
    driver: ServoDriver,
    trajectory: Trajectory,
    safety: Safety,
    settings: RecordSettings,
    stop: StopSignals,
) -> None:
    """Lower a driven pendulum until it hangs down; a limp one already does."""
    goal, enable = trajectory.at(trajectory.duration)
    if enable:
        rest = min(max(0.0, safety.limits.lowest), safety.limits.highest)
        _ramp(driver, goal, rest, safety, settings, stop)


def _ramp(
    driver: ServoDriver,
    start: float,
    end: float,
    safety: Safety,
    settings: RecordSettings,
    stop: StopSignals,
) -> None:
    duration = abs(end - start) / settings.start_speed
    for share in _ticks(duration, stop):
        driver.write_goal(start + share * (end - start))
        safety.check(driver.read())
    driver.write_goal(end)


def _ticks(duration: float, stop: StopSignals) -> Iterator[float]:
    """Elapsed fractions of ``duration`` [s], every 10 ms."""
    begin = time.monotonic()
    while (passed := time.monotonic() - begin) < duration:
        stop.check()
        yield passed / duration
        time.sleep(_RAMP_STEP)


def _make_safe(
    driver: ServoDriver, finish: Finish, cause: BaseException | None, partial: Path
) -> None:
    """Release the servo or hold its angle, then raise; with a warning if the command fails."""
    where = f". The recorded samples are in {partial}" if partial.exists() else ""
    try:
        _retried(lambda: _release_or_hold(driver, finish))
    except HardwareError as error:
        message = (
            f"THE SERVO MAY STILL BE DRIVEN: the command to stop failed ({error}). Switch its "
            "power off"
        )
        if cause is None:
            raise HardwareError(message) from error
        raise HardwareError(f"{cause}. {message}{where}") from cause
    if isinstance(cause, HardwareError):
        raise HardwareError(f"{cause}{where}") from cause
    if isinstance(cause, KeyboardInterrupt):
        state = "limp" if finish == "limp" else "holding its angle"
        raise KeyboardInterrupt(f"{cause}: the servo is {state}{where}") from cause


def _release_or_hold(driver: ServoDriver, finish: Finish) -> None:
    if finish == "limp":
        driver.write_torque(False)
    else:
        driver.write_goal(driver.read().position)


def _retried(command: Callable[[], None]) -> None:
    for attempt in range(_LAST_ATTEMPTS):
        try:
            return command()
        except HardwareError:
            if attempt == _LAST_ATTEMPTS - 1:
                raise
            time.sleep(0.02)
    return None
