"""Read and write servo logs: JSON with a header and one entry per sample, raw or resampled.

The format is that of the recorders of Rhoban's Better Actuator Models: ``mass``, ``arm_mass``,
``length``, ``kp``, ``vin``, ``motor`` and ``trajectory`` next to a list ``entries`` of
``timestamp``, ``position``, ``speed``, ``goal_position``, ``torque_enable``, ``load``,
``input_volts`` and ``temp``. A resampled log also has its time step ``dt``. The header value
``load_unit: duty`` marks a load that is a duty cycle, -1 to 1.
"""

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trueup._input_files import check_regular
from trueup.actuators.logs import checks as log_checks
from trueup.actuators.logs.servo_log import Array, ServoLog
from trueup.errors import RecordingError, TrueupWarning, listing
from trueup.runs.store import atomic
from trueup.runs.store.published_entry import is_entry

LOGS = "logs"
"""Folder of the logs of a published entry."""

LogSource = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

_OF_THE_LOG = ("arm_mass", "arm-mass", "vin", "damping", "dt", "load_unit")
_DUTY_COUNTS = {"xl330": 885.0, "xl330i": 885.0}  # counts of full duty; other servos: 1000
_SIGN_BIT_11 = 1024  # ten bits of magnitude, then a sign bit: Protocol 1.0 servos and the XL320


def read_logs(
    source: LogSource,
    *,
    uniform: bool = False,
    motor: str | None = None,
    check_motion: bool = True,
    skip_bad: bool = False,
    on_skip: Callable[[str], None] | None = None,
) -> list[ServoLog]:
    """Read the logs of a folder (``*.json``, sorted by name), or the files given.

    Args:
        source: folder, file, or files.
        uniform: reject raw logs, which are unevenly sampled.
        motor: servo that the logs must belong to; None: any one servo.
        check_motion: reject jumps of the angle.
        skip_bad: skip unusable logs instead of raising. If logs are of several servos, the most
            frequent servo is kept.
        on_skip: called with the reason for each skipped log; default: warn with
            :class:`~trueup.errors.TrueupWarning`.

    Raises:
        RecordingError: no log, or an unusable one: not JSON, a missing field, a value that is not a
          number, nonmonotonic time, a jump of the angle, another servo.
    """
    report_skip = on_skip or (lambda message: warnings.warn(message, TrueupWarning, stacklevel=3))
    files = log_files(source)
    logs: list[ServoLog] = []
    for path in files:
        try:
            log = read_log(path, check_motion=check_motion)
            if uniform and log.dt is None:
                raise RecordingError(
                    f"{path}: the samples are not evenly spaced (a raw log). Resample it first: "
                    "trueup actuator process --raw FOLDER --logdir FOLDER"
                )
            if motor is not None and log.motor != motor:
                raise RecordingError(
                    f"{path}: the log is of servo {log.motor!r}, expected {motor!r}"
                )
        except RecordingError as error:
            if not skip_bad:
                raise _with_advice(error, len(files)) from error
            report_skip(f"skipped: {error}")
        else:
            logs.append(log)
    if not logs:
        raise RecordingError(f"{_named(source)}: none of the {len(files)} logs is usable")
    return log_checks.logs_of_one_servo(logs, skip_bad, report_skip)


def read_log(path: str | os.PathLike[str], *, check_motion: bool = True) -> ServoLog:
    """Read one servo log, raw or evenly resampled.

    Args:
        path: the file.
        check_motion: reject jumps of the angle.

    Raises:
        RecordingError: the file cannot be read or used; the message names it and the reason.
    """
    content, data = read_log_object(path)
    log = parse_log(data, Path(path).stem, str(path), hashlib.sha256(content).hexdigest())
    if check_motion:
        log_checks.check_jumps(log.times, log.position, str(path))
    return log


def read_log_object(path: str | os.PathLike[str]) -> tuple[bytes, Mapping[str, Any]]:
    """Bytes and JSON object of a log file, with a complete header."""
    path = Path(path)
    try:
        check_regular(path)
        content = path.read_bytes()
        data = json.loads(content)
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise RecordingError(f"{path}: not a JSON file: {error}") from error
    return content, log_checks.check_header(data, str(path))


def parse_log(data: Mapping[str, Any], name: str, source: str, sha256: str = "") -> ServoLog:
    """Log from the content of a log file, without the check for jumps.

    Args:
        data: header and ``entries``.
        name: name of the log.
        source: file name, for errors.
        sha256: hash of the file.

    Raises:
        RecordingError: a field is missing or not a number, a header value is impossible, or time
          is not increasing.
    """
    log_checks.check_header(data, source)
    columns = log_checks.entry_columns(data["entries"], source)
    times = columns.pop("timestamp")
    log_checks.check_times(times, source)
    arm_mass = _optional(data, "arm_mass", source)
    dt = _optional(data, "dt", source)
    if dt is not None:
        log_checks.check_even(times, dt, source)
    motor = str(data["motor"])
    known = (*log_checks.HEADER_FIELDS, *_OF_THE_LOG)
    log = ServoLog(
        name=name,
        source=source,
        sha256=sha256,
        motor=motor,
        trajectory=str(data["trajectory"]),
        mass=log_checks.header_number(data, "mass", source),
        arm_mass=(_optional(data, "arm-mass", source) or 0.0) if arm_mass is None else arm_mass,
        length=log_checks.header_number(data, "length", source),
        kp=log_checks.header_number(data, "kp", source),
        vin=_optional(data, "vin", source),
        damping=_optional(data, "damping", source),
        dt=dt,
        times=times,
        position=columns.pop("position"),
        speed=columns.pop("speed"),
        goal_position=columns.pop("goal_position"),
        torque_enable=columns.pop("torque_enable") > 0.5,
        load=_duty(columns.pop("load", None), motor, data.get("load_unit")),
        input_volts=columns.pop("input_volts", None),
        temperature=columns.pop("temp", None),
        columns=columns,
        header={key: value for key, value in data.items() if key not in known},
    )
    log_checks.check_header_values(data, log.torque_enable, source)
    log_checks.check_gain_column(log.kp, columns.get("kp"), log.torque_enable, source)
    return log


def log_object(log: ServoLog) -> dict[str, Any]:
    """JSON object of a log: header and ``entries``."""
    columns: dict[str, np.ndarray] = {"position": log.position, "speed": log.speed}
    optional = {"load": log.load, "input_volts": log.input_volts, "temp": log.temperature}
    columns |= {name: values for name, values in optional.items() if values is not None}
    columns |= log.columns
    columns |= {
        "timestamp": log.times,
        "goal_position": log.goal_position,
        "torque_enable": log.torque_enable,
    }
    header: dict[str, Any] = {"mass": log.mass, "arm_mass": log.arm_mass, "length": log.length}
    header["kp"] = int(log.kp) if float(log.kp).is_integer() else log.kp
    numbers = {"vin": log.vin, "damping": log.damping, "dt": log.dt}
    header |= {name: value for name, value in numbers.items() if value is not None}
    header |= {"motor": log.motor, "trajectory": log.trajectory}
    if log.load is not None:
        header["load_unit"] = "duty"
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    return {**header, **log.header, "entries": [dict(zip(columns, row)) for row in rows]}


def write_log(log: ServoLog, path: str | os.PathLike[str]) -> Path:
    """Write a log as JSON, atomically.

    Raises:
        RunDirectoryError: the folder is missing or not writable, or the disk is full.
    """
    return write_log_object(log_object(log), path)


def write_log_object(content: Mapping[str, Any], path: str | os.PathLike[str]) -> Path:
    """Write the JSON object of a log atomically; its entries contain plain Python values."""
    header = {key: value for key, value in content.items() if key != "entries"}
    plain = {**atomic.to_plain(header), "entries": content["entries"]}
    return atomic.write_text(path, json.dumps(plain, ensure_ascii=False, allow_nan=False) + "\n")


def log_files(source: LogSource) -> list[Path]:
    """Log files of a folder, or the given files.

    Raises:
        RecordingError: the folder is missing or contains no log.
    """
    if not isinstance(source, (str, os.PathLike)):
        files = [Path(path) for path in source]
        if not files:
            raise RecordingError("the list of logs is empty")
        return files
    path = Path(source)
    if path.is_file():
        return [path]
    if not path.exists() and path.name == LOGS and is_entry(path.parent):
        raise RecordingError(
            f"{path}: the servo {path.parent.name!r} was published without its logs: entry.yaml "
            "has their hashes only; ask its authors for them, or give logs of your own"
        )
    if not path.exists():
        raise RecordingError(f"{path}: no such folder or file of logs")
    files = sorted(path.glob("*.json"))
    if not files:
        names = sorted(entry.name for entry in path.iterdir())
        found = f"it contains {listing(names, limit=5)}" if names else "it is empty"
        raise RecordingError(f"{path}: the folder contains no log (*.json); {found}")
    return files


def _with_advice(error: RecordingError, number: int) -> RecordingError:
    if number == 1:
        return error
    return RecordingError(f"{error} (skip_bad_logs=1 continues with the other logs)")


def _named(source: LogSource) -> str:
    return str(source) if isinstance(source, (str, os.PathLike)) else "the logs given"


def _optional(data: Mapping[str, Any], name: str, where: str) -> float | None:
    if data.get(name) is None:
        return None
    return log_checks.header_number(data, name, where)


def _duty(load: Array | None, motor: str, unit: object) -> Array | None:
    """Load as a duty cycle, -1 to 1; None if it was interpolated without its sign bit."""
    if load is None or unit == "duty" or np.abs(load).max() <= 1.0:
        return load
    if motor in _DUTY_COUNTS:
        signed, full = np.where(load > 32767, load - 65536, load), _DUTY_COUNTS[motor]
    else:
        signed, full = np.where(load >= _SIGN_BIT_11, _SIGN_BIT_11 - load, load), 1000.0
    duty = signed / full
    return duty if np.abs(duty).max() <= 1.03 else None
