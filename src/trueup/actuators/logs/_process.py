"""Resample raw servo logs onto a uniform grid: commands held, measurements interpolated."""

import hashlib
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from trueup._version import __version__
from trueup.actuators.catalogue.entries import find_servo, use_catalogue
from trueup.actuators.logs import checks as log_checks
from trueup.actuators.logs.files import (
    log_files,
    log_object,
    parse_log,
    read_log_object,
    write_log_object,
)
from trueup.actuators.logs.findings import log_findings
from trueup.actuators.logs.servo_log import ServoLog
from trueup.errors import RecordingError, TrueupWarning, listing
from trueup.signals import Finding
from trueup.signals.clocks.even import on_grid

COMPATIBLE = ("bam",)
"""Tools whose resampling :func:`process` can reproduce."""

_MEASURED = ("position", "speed", "load", "input_volts", "temperature")
_COMMANDED = ("goal_position", "torque_enable")
_HELD = ("kp", "kd", "torque_limit", "current_limit", "control_mode")
_MOST_FAILED = 0.02  # largest share of failed reads in a usable log
_SHORTEST_PART = 0.5  # shortest part between two gaps [s]
_EDGE = 1e-9  # tolerance for rounding at the last sample [steps]


@dataclass(frozen=True)
class ProcessedLog:
    """Result of resampling one log."""

    source: Path
    """The raw log."""
    path: Path
    """The resampled log."""
    samples: int
    """Number of resampled samples."""
    duration: float
    """Duration [s]."""
    failed_reads: int
    """Number of raw samples dropped because the servo did not answer."""
    findings: tuple[Finding, ...] = ()
    """Suspicious properties of the log, such as a value in another unit."""


def process(
    raw: str | os.PathLike[str],
    logdir: str | os.PathLike[str],
    dt: float = 0.005,
    *,
    compat: Literal["bam"] | None = None,
    catalogue: str | os.PathLike[str] | None = None,
    skip_bad: bool = False,
    on_skip: Callable[[str], None] | None = None,
) -> list[ProcessedLog]:
    """Resample the raw logs of a folder onto a uniform grid and write them to another folder.

    Commands (goals, torque enable, gains) are held until the next sample; measurements are
    interpolated linearly, without extrapolation: the grid starts at the first sample and ends at
    the last. A log is split at gaps that are too long to interpolate: each part of half a
    second or more becomes a separate log, ``<name>_part1.json`` and so on. Each file gets its
    time step ``dt`` and a ``provenance`` with the hash of the raw log.
    All logs are read and checked before the first file is written.

    Args:
        raw: folder of raw logs, or one file.
        logdir: folder of the resampled logs; created if missing. Files of the same name are
            replaced.
        dt: time step [s].
        compat: ``"bam"`` reproduces Better Actuator Models: all fields are interpolated, steps of
            the goal included, torque-enable is compared with one half, and the grid starts at 0 s,
            which extrapolates before the first sample.
        catalogue: YAML file with additional servos; the logs must then be of a known servo.
        skip_bad: skip unusable logs instead of raising. If logs are of several servos, the most
            frequent servo is kept.
        on_skip: called with the reason for each skipped log; default: warn with
            :class:`~trueup.errors.TrueupWarning`.

    Raises:
        RecordingError: a log is unusable, ``dt`` is not positive, or both folders are the same.
        TrueupError: ``catalogue`` is wrong, or has no servo of the name in the logs.
    """
    raw, logdir = Path(raw), Path(logdir)
    _check_settings(raw, logdir, dt, compat)
    use_catalogue(catalogue)
    report_skip = on_skip or (lambda message: warnings.warn(message, TrueupWarning, stacklevel=3))
    files = log_files(raw)
    resampled: list[tuple[Path, ServoLog, dict[str, Any], int]] = []
    for path in files:
        try:
            parts = _resampled(path, dt, compat)
        except RecordingError as error:
            if not skip_bad:
                advice = (
                    " (skip_bad_logs=1 continues with the other logs)" if len(files) > 1 else ""
                )
                raise RecordingError(f"{error}{advice}") from error
            report_skip(f"skipped: {error}")
        else:
            resampled += [(path, *part) for part in parts]
    logs = [log for _, log, _, _ in resampled]
    if not logs:
        raise RecordingError(f"{raw}: none of the {len(files)} logs is usable")
    if catalogue is not None:
        for motor in dict.fromkeys(log.motor for log in logs):
            find_servo(motor)
    kept = {log.source for log in log_checks.logs_of_one_servo(logs, skip_bad, report_skip)}
    logdir.mkdir(parents=True, exist_ok=True)
    done = []
    for path, log, content, failed in resampled:
        if log.source not in kept:
            continue
        target = write_log_object(content, logdir / (log.name + path.suffix))
        found = (*_gap_findings(log), *log_findings(log))
        done.append(ProcessedLog(path, target, len(log), log.duration, failed, found))
    return done


def parts_between_gaps(log: ServoLog) -> tuple[ServoLog, ...]:
    """Parts of a raw log between gaps that are too long to interpolate, at least one.

    Parts that are shorter than half a second are dropped.

    Raises:
        RecordingError: no part is long enough.
    """
    failed = log_checks.failed_reads(log.times, log.position)
    rows = np.flatnonzero(~failed)
    ends = np.flatnonzero(np.diff(log.times[rows]) > log_checks.LONGEST_GAP) + 1
    if not ends.size:
        return (log,)
    pieces = [slice(r[0], r[-1] + 1) for r in np.split(rows, ends)]
    long = [p for p in pieces if log.times[p.stop - 1] - log.times[p.start] >= _SHORTEST_PART]
    if not long:
        log_checks.check_gaps(log.times[rows], log.source)
    lost = float(np.diff(log.times[rows])[ends - 1].sum())
    header = {**log.header, "parts": len(long), "seconds_without_samples": round(lost, 6)}
    return tuple(
        replace(_rows_of(log, piece), name=f"{log.name}_part{number}", header=header)
        for number, piece in enumerate(long, start=1)
    )


def _rows_of(log: ServoLog, rows: slice | np.ndarray) -> ServoLog:
    fields = {name: getattr(log, name) for name in ("times", *_MEASURED, *_COMMANDED)}
    cut = {name: values[rows] for name, values in fields.items() if values is not None}
    return replace(log, **cut, columns={n: v[rows] for n, v in log.columns.items()})


def _gap_findings(log: ServoLog) -> tuple[Finding, ...]:
    if "parts" not in log.header:
        return ()
    lost, parts = log.header["seconds_without_samples"], log.header["parts"]
    sentence = (
        f"{lost:.2f} s without samples: the recording is split into {parts} part"
        f"{'s' if parts > 1 else ''}. Fewer other programs on the recording computer avoid gaps."
    )
    return (Finding("gap", "warning", "timestamp", sentence, {"seconds": lost}),)


def resample_log(log: ServoLog, dt: float = 0.005) -> ServoLog:
    """Resample a log onto a uniform grid that starts at its first sample.

    Commands (goals, torque-enable, gains) are held, measurements interpolated linearly. Failed
    reads are dropped first.

    Args:
        log: raw log, or a log with another time step.
        dt: time step [s].

    Raises:
        RecordingError: the log is shorter than a step, has a gap or a jump of the angle, or more
            than 2 % of its reads failed.
    """
    where = log.source
    failed = log_checks.failed_reads(log.times, log.position)
    if failed.mean() > _MOST_FAILED:
        raise RecordingError(
            f"{where}: {failed.sum()} of {failed.size} reads failed; at most "
            f"{100 * _MOST_FAILED:g} % can be interpolated"
        )
    log = _rows_of(log, ~failed) if failed.any() else log
    times = log.times
    log_checks.check_jumps(times, log.position, where)
    log_checks.check_gaps(times, where)
    steps = int(np.floor((times[-1] - times[0]) / dt + _EDGE))
    if steps < 1:
        raise RecordingError(
            f"{where}: the log is {times[-1] - times[0]:.4g} s long, shorter than a step of {dt} s"
        )
    grid = times[0] + dt * np.arange(steps + 1)
    fields = {name: getattr(log, name) for name in (*_MEASURED, *_COMMANDED)}
    fields = {name: values for name, values in fields.items() if values is not None}
    slack = _EDGE * dt
    return replace(
        log,
        dt=dt,
        times=grid,
        **on_grid(times, fields, grid, _COMMANDED, slack),
        columns=on_grid(times, log.columns, grid, list(filter(_is_command, log.columns)), slack),
    )


def _is_command(name: str) -> bool:
    return name.startswith("goal_") or name.endswith("_enable") or name in _HELD


def _check_settings(raw: Path, logdir: Path, dt: float, compat: str | None) -> None:
    if not (np.isfinite(dt) and dt > 0):
        raise RecordingError(f"the time step must be a positive time in seconds, got {dt}")
    if compat is not None and compat not in COMPATIBLE:
        raise RecordingError(f"unknown value compat={compat!r}; available: {listing(COMPATIBLE)}")
    folder = raw if raw.is_dir() else raw.parent
    if folder.resolve() == logdir.resolve():
        raise RecordingError(
            f"{logdir}: the resampled logs would replace the raw ones; choose another folder"
        )
    if logdir.exists() and not logdir.is_dir():
        raise RecordingError(f"{logdir}: is a file; expected a folder for the resampled logs")


def _resampled(
    path: Path, dt: float, compat: str | None
) -> list[tuple[ServoLog, dict[str, Any], int]]:
    """Resampled parts of a log: log, file content and number of failed reads of each."""
    content, data = read_log_object(path)
    digest = hashlib.sha256(content).hexdigest()
    raw = parse_log(data, path.stem, str(path), digest)
    provenance: dict[str, Any] = {
        "source": path.name,
        "sha256": digest,
        "dt": dt,
        "resampling": compat or "commands held, measurements linear",
        "trueup": __version__,
    }
    if compat == "bam":
        resampled = {**data, **_resampled_as_bam(data, dt, str(path))}
        resampled["provenance"] = provenance
        return [(parse_log(resampled, path.stem, str(path)), resampled, 0)]
    found = []
    for part in parts_between_gaps(raw):
        failed = int(log_checks.failed_reads(part.times, part.position).sum())
        log = resample_log(part, dt)
        own = {**provenance, "failed_reads": failed}
        log = replace(log, header={**log.header, "provenance": own})
        found.append((log, log_object(log), failed))
    return found


def _resampled_as_bam(data: Mapping[str, Any], dt: float, where: str) -> dict[str, Any]:
    """Resample as Better Actuator Models does, bit for bit, including its errors."""
    columns = log_checks.entry_columns(data["entries"], where)
    times = columns.pop("timestamp")
    grid = np.arange(0.0, times[-1], dt)
    if grid.size < 2:
        raise RecordingError(f"{where}: the log is shorter than two steps of {dt} s")
    first = np.searchsorted(times[1:], grid, side="left")
    elapsed, interval = grid - times[first], times[first + 1] - times[first]
    resampled: dict[str, list] = {}
    for name, values in columns.items():
        # bit-exact results depend on the order of operations
        line = values[first] + (values[first + 1] - values[first]) * elapsed / interval
        resampled[name] = (line > 0.5 if name == "torque_enable" else line).tolist()
    resampled["timestamp"] = grid.tolist()
    rows = zip(*resampled.values(), strict=True)
    return {"dt": dt, "entries": [dict(zip(resampled, row)) for row in rows]}
