"""Checks that reject unusable servo logs: missing fields, nonmonotonic time, angle jumps.

Each check raises :class:`~trueup.errors.RecordingError`; the message starts with the file.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueup.actuators.logs.servo_log import Array, ServoLog
from trueup.errors import RecordingError, did_you_mean, listing

HEADER_FIELDS = ("mass", "length", "kp", "motor", "trajectory", "entries")
"""Required fields of the header; mass and length are 0 on a rig without a pendulum."""

ENTRY_FIELDS = ("timestamp", "position", "speed", "goal_position", "torque_enable")
"""Required fields of each entry."""

FASTEST = 60.0
"""Speed limit of plausible motion [rad/s]; the fastest servo of the catalogue turns at 13."""

SMALLEST_JUMP = 0.5
"""Smallest change of the angle that counts as a jump [rad]."""

LONGEST_GAP = 0.25
"""Longest gap between samples that may be interpolated [s]."""

_NO_PENDULUM = "; it is 0 on a rig without a pendulum"
_NEVER_NEGATIVE = {
    "mass": (" kg", _NO_PENDULUM),
    "arm_mass": (" kg", ""),
    "arm-mass": (" kg", ""),
    "length": (" m", _NO_PENDULUM),
    "kp": ("", ""),
    "damping": ("", ""),
    "vin": (" V", ""),
}
"""Unit of each header field that must not be negative, and advice for rigs without it."""

_TURN = 2 * math.pi
_LONGEST_FAILED_READ = 3  # [samples]


def check_header(data: object, where: str) -> Mapping[str, Any]:
    """Check that ``data`` has all header fields and at least two entries."""
    if not isinstance(data, dict):
        raise RecordingError(
            f"{where}: a servo log must be a JSON object with a header and 'entries', found a "
            f"{type(data).__name__}"
        )
    for name in HEADER_FIELDS:
        if name not in data:
            _check_stated_gains(data, name, where)
            raise RecordingError(
                f"{where}: the header has no field {name!r}; its fields are {listing(data)}."
                f"{did_you_mean(name, data)} Add it to the file; mass and length are 0 on a rig "
                "without a pendulum"
            )
    entries = data["entries"]
    if not isinstance(entries, list) or len(entries) < 2:
        found = f"{len(entries)}" if isinstance(entries, list) else f"a {type(entries).__name__}"
        raise RecordingError(f"{where}: 'entries' must list at least two samples, found {found}")
    return data


def _check_stated_gains(data: Mapping[str, Any], name: str, where: str) -> None:
    """Reject a log whose gain only its entries state."""
    entries = data.get("entries")
    if name != "kp" or not isinstance(entries, list) or not entries:
        return
    stated = {entry["kp"] for entry in entries if isinstance(entry, dict) and "kp" in entry}
    if stated:
        raise RecordingError(
            f"{where}: the header has no field 'kp', and the entries state "
            f"{listing(sorted(stated))}: a log has one gain; split it by gain and add 'kp' to the "
            "header of each part"
        )


def check_gain_column(
    kp: float, gains: Array | None, torque_enable: NDArray[np.bool_], where: str
) -> None:
    """Check that entries that state a gain state that of the header.

    Args:
      kp: gain of the header.
      gains: gain of each entry ``(n,)``; None without any.
      torque_enable: whether the servo is driven, ``(n,)``.
      where: name of the log in errors.
    """
    driven = () if gains is None else np.unique(gains[torque_enable])
    if len(driven) == 0 or (len(driven) == 1 and driven[0] == kp):
        return
    if len(driven) == 1:
        found, remedy = f"the entries state {driven[0]:g}", "correct one of them"
    else:
        found = f"the entries state gains from {driven[0]:g} to {driven[-1]:g}"
        remedy = "a log has one gain, split it by gain"
    raise RecordingError(f"{where}: header field 'kp' is {kp:g}, but {found}: {remedy}")


def header_number(data: Mapping[str, Any], name: str, where: str) -> float:
    """Header value as a finite number."""
    value = data[name]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise RecordingError(f"{where}: header field {name!r} must be a number, found {value!r}")
    return float(value)


def check_header_values(
    data: Mapping[str, Any], torque_enable: NDArray[np.bool_], where: str
) -> None:
    """Check that header values are physically possible.

    Args:
        data: header; its values are finite numbers.
        torque_enable: whether the servo is driven, ``(n,)``.
        where: name of the log in errors.
    """
    for name, (unit, absent) in _NEVER_NEGATIVE.items():
        value = data.get(name)
        if value is not None and value < 0:
            raise RecordingError(
                f"{where}: header field {name!r} must not be negative, found {value:g}{unit}"
                f"{absent}. Correct the file"
            )
    vin = data.get("vin")
    if vin is not None and vin == 0:
        raise RecordingError(
            f"{where}: header field 'vin' is 0 V: a servo requires a supply. Enter "
            "its voltage, or omit the field if it is unknown"
        )
    if data["kp"] == 0 and torque_enable.any():
        raise RecordingError(
            f"{where}: header field 'kp' is 0, but torque is on in "
            f"{100 * torque_enable.mean():.0f} % of the samples: a servo without a gain does "
            "not move. Enter the gain in the unit of its firmware"
        )


def entry_columns(entries: Sequence[Any], where: str) -> dict[str, Array]:
    """Convert entries to one array per field; all entries must have the same numeric fields."""
    if not all(isinstance(entry, dict) for entry in entries):
        raise RecordingError(f"{where}: every entry must be an object of named values")
    names = entries[0].keys()
    for name in ENTRY_FIELDS:
        if name not in names:
            raise RecordingError(
                f"{where}: the entries have no field {name!r}; their fields are {listing(names)}."
                f"{did_you_mean(name, names)}"
            )
    for index, entry in enumerate(entries):
        if entry.keys() != names:
            differing = sorted(names ^ entry.keys())
            raise RecordingError(
                f"{where}: entry {index} differs from the first one in the fields "
                f"{listing(differing)}; all entries must have the same fields"
            )
    return {name: _column([entry[name] for entry in entries], name, where) for name in names}


def _column(values: list[Any], name: str, where: str) -> Array:
    try:
        column = np.array(values, dtype=float)
        bad = np.flatnonzero(~np.isfinite(column)) if column.ndim == 1 else np.array([0])
    except (TypeError, ValueError, OverflowError):
        bad = np.array([i for i, v in enumerate(values) if not isinstance(v, (int, float))] or [0])
        column = np.zeros(0)
    if bad.size or any(isinstance(value, str) for value in values):
        index = int(bad[0]) if bad.size else 0
        raise RecordingError(
            f"{where}: {name!r} of entry {index} must be a number, found {values[index]!r} "
            f"({max(bad.size, 1)} in all)"
        )
    return column


def check_times(times: Array, where: str) -> None:
    """Check that time is strictly increasing."""
    backwards = np.flatnonzero(np.diff(times) <= 0)
    if backwards.size:
        index = int(backwards[0])
        raise RecordingError(
            f"{where}: time must be strictly increasing: entry {index} is at {times[index]:.6f} s, "
            f"entry {index + 1} at {times[index + 1]:.6f} s ({backwards.size} in all). Record "
            "again with a monotonic clock"
        )


def check_even(times: Array, dt: float, where: str) -> None:
    """Check that samples of a resampled log are ``dt`` [s] apart, as stated in its header."""
    worst = float(np.abs(np.diff(times) - dt).max())
    if not dt > 0 or worst > 1e-3 * dt:
        raise RecordingError(
            f"{where}: the header states dt = {dt} s, but samples deviate by up to {worst:.6f} s "
            "from that step. Resample the raw log: trueup actuator process"
        )


def check_gaps(times: Array, where: str) -> None:
    """Check that no gap between samples is too long to interpolate."""
    intervals = np.diff(times)
    index = int(intervals.argmax())
    if intervals[index] > LONGEST_GAP:
        raise RecordingError(
            f"{where}: no sample between {times[index]:.3f} s and {times[index + 1]:.3f} s; "
            f"at most {LONGEST_GAP} s can be interpolated"
        )


def failed_reads(times: Array, position: Array) -> np.ndarray:
    """Failed reads: one to three samples that jump away and back.

    Some recorders write the angle of raw value 0 if a servo does not answer.

    Returns:
        Mask ``(n,)``, True for failed reads.
    """
    failed = np.zeros(times.size, dtype=bool)
    if np.abs(np.diff(position)).max(initial=0.0) <= SMALLEST_JUMP:
        return failed
    start = 0
    while start < times.size - 1:
        if not _jumps(times, position, start, start + 1):
            start += 1
            continue
        for end in range(start + 2, min(start + 2 + _LONGEST_FAILED_READ, times.size)):
            if not _jumps(times, position, start, end):
                failed[start + 1 : end] = True
                start = end
                break
        else:
            start += 1
    return failed


def check_jumps(times: Array, position: Array, where: str) -> None:
    """Check that the angle never changes faster than a servo can turn."""
    change = np.abs(np.diff(position))
    interval = np.diff(times)
    jumps = np.flatnonzero(
        ((change > SMALLEST_JUMP) & (change > FASTEST * interval))
        | ((np.abs(change - _TURN) < SMALLEST_JUMP) & (interval < LONGEST_GAP))
    )
    if not jumps.size:
        return
    index = int(jumps[0])
    found = (
        f"{where}: the position jumps from {position[index]:.4f} to {position[index + 1]:.4f} rad "
        f"at {times[index + 1]:.3f} s ({jumps.size} in all). "
    )
    if abs(change[index] - _TURN) < SMALLEST_JUMP:
        raise RecordingError(
            f"{found}This is a jump of 2 pi: the angle is wrapped. Unwrap it, or set the zero "
            "of the servo so that the motion does not cross the end of its range"
        )
    if failed_reads(times, position)[index + 1]:
        raise RecordingError(
            f"{found}The adjacent samples do not move with it: a failed read. "
            "Resample the raw log (trueup actuator process): this drops such samples"
        )
    raise RecordingError(
        f"{found}No servo is that fast: check the encoder, and that angles are in radians"
    )


def most_frequent_servo(logs: Sequence[ServoLog]) -> str | None:
    """Servo of most logs; None on a tie."""
    (name, most), *others = Counter(log.motor for log in logs).most_common()
    return None if others and others[0][1] == most else name


def check_one_servo(logs: Sequence[ServoLog]) -> str:
    """Name of the servo of all logs.

    Raises:
        RecordingError: logs of several servos; the message starts with the logs that are not of the
            most frequent servo or, on a tie, with one log of each.
    """
    by_servo: dict[str, list[str]] = {}
    for log in logs:
        by_servo.setdefault(log.motor, []).append(log.source)
    if len(by_servo) == 1:
        return logs[0].motor
    usual = most_frequent_servo(logs)
    firsts = [sources[0] for motor, sources in by_servo.items() if motor != usual]
    order = sorted(by_servo.items(), key=lambda item: -len(item[1]))
    kinds = "; ".join(
        f"{len(sources)} of {motor!r}, {listing(sources, limit=5)}" for motor, sources in order
    )
    raise RecordingError(
        f"{firsts[0] if usual else ' and '.join(firsts)}: the logs are of several servos: {kinds}. "
        "Keep each servo in its own folder"
    )


def logs_of_one_servo(
    logs: Sequence[ServoLog], skip_bad: bool, report_skip: Callable[[str], None]
) -> list[ServoLog]:
    """Logs of one servo: all, or those of the most frequent servo.

    Args:
        logs: logs.
        skip_bad: drop logs of other servos than the most frequent one, instead of raising.
        report_skip: called with a message per dropped log.

    Raises:
        RecordingError: several servos.
    """
    usual = most_frequent_servo(logs)
    if usual is None or not skip_bad:
        try:
            check_one_servo(logs)
        except RecordingError as error:
            if usual is None:
                raise
            advice = f" (skip_bad_logs=1 continues with the logs of {usual!r})"
            raise RecordingError(f"{error}{advice}") from error
    for log in logs:
        if log.motor != usual:
            report_skip(
                f"skipped: {log.source}: the log is of servo {log.motor!r}, expected {usual!r}"
            )
    return [log for log in logs if log.motor == usual]


def _jumps(times: Array, position: Array, first: int, second: int) -> bool:
    change = abs(position[second] - position[first])
    return change > SMALLEST_JUMP and change > FASTEST * (times[second] - times[first])
