"""Reading of recordings: resampling to one rate, and the target torque."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np

from trueup.errors import ColumnError, RecordingError, listing
from trueup.networks.data.actuator_series import ActuatorSeries
from trueup.networks.data.features import (
    ANGLE,
    ANGLE_ERROR,
    COMMANDED_TORQUE,
    FEATURES,
    INERTIA,
    TARGET_ANGLE,
    TARGET_VELOCITY,
    VELOCITY,
    with_derived,
)
from trueup.networks.data.recordings import (
    COMMANDS,
    load_group,
    name_of_joint,
    read_recordings,
    recording_files,
)
from trueup.networks.data.settings import ACCELERATION, REFERENCE_TORQUE, TORQUE, DataSettings
from trueup.networks.data.torque_target import with_torque
from trueup.signals import Recording, repaired, resampled, split_at_gaps
from trueup.signals.clocks.even import sampling_rate
from trueup.signals.clocks.repair import check_usable
from trueup.signals.clocks.runs import runs_of

RATE_TOLERANCE = 0.01
"""Relative difference above which the rates of recordings count as different."""

_MOST_TIMES_RECORDED = 10.0
"""Largest factor between a requested and a recorded rate; above it all would be interpolation."""


def read_series(settings: DataSettings) -> list[ActuatorSeries]:
    """Read the recordings of the settings, ordered by group and file.

    Each is resampled to one rate and filtered as configured, and its torque is computed where it is
    not measured; the processing is listed in ``notes``. One with gaps is split at them.

    Raises:
        RecordingError: a folder or file is missing or unusable (missing values, times that do not
            increase), or the files have different rates and the settings have none.
        ColumnError: a column does not exist.
        UnitError: a unit does not fit its quantity.
        ExperimentError: a group has no inertia where the torque is computed from it.
        SignalError: the corner of the filter is not below half the rate.
    """
    return series_of(read_recorded(settings), settings)


def read_recorded(settings: DataSettings) -> list[Recording]:
    """The raw signals of all recordings, ordered by group and file, each run of a file apart.

    They are named after their files, preceded by the group where two files share a name.

    Raises:
        RecordingError: a folder or file is missing or cannot be read.
        ColumnError: a column does not exist.
        UnitError: a unit does not fit its quantity.
    """
    files = recording_files(settings)
    if settings.num_workers > 0:
        with ThreadPoolExecutor(settings.num_workers) as pool:
            found = list(pool.map(lambda file: read_recordings(file, settings), files))
    else:
        found = [read_recordings(file, settings) for file in files]
    names = [file.path.stem for file in files]
    if len(set(names)) < len(names):
        names = [f"{file.group}/{file.path.stem}" for file in files]
    named = [
        replace(each, name="/".join(filter(None, (name, name_of_joint(each)))))
        for of_file, name in zip(found, names, strict=True)
        for each in of_file
    ]
    return [run for each in named for run in runs_of(each)]


def series_of(recorded: list[Recording], settings: DataSettings) -> list[ActuatorSeries]:
    """Recordings as `read_series` returns them, from those of `read_recorded`.

    Raises:
        TrueupError: as `read_series`, except for errors of the files themselves.
    """
    recordings = [usable(each, settings.repair) for each in recorded]
    recordings = [_with_torque_moved(each, settings.torque_delay) for each in recordings]
    rate = settings.rate if settings.rate is not None else common_rate(recordings)
    _check_rate(rate, recordings)
    return [
        _series(part, rate, settings, _is_idle(recording))
        for recording in recordings
        for part in split_at_gaps(recording)
    ]


def _with_torque_moved(recording: Recording, delay: float) -> Recording:
    """The recording with its torque earlier by a delay [s], cut where the torque is unknown then.

    Raises:
        RecordingError: the recording is not longer than the delay.
    """
    columns, times = recording.stream.columns, recording.stream.times
    moved = [name for name in (TORQUE, ACCELERATION, REFERENCE_TORQUE) if name in columns]
    if delay == 0.0 or not moved:
        return recording
    if len(times) < 2 or abs(delay) >= times[-1] - times[0]:
        raise RecordingError(
            f"data.torque_delay is {delay:g} s, but {Path(recording.source).name} is "
            f"{times[-1] - times[0]:.4g} s long: set a shorter delay"
        )
    earlier = {name: np.interp(times + delay, times, columns[name]) for name in moved}
    changed = recording.with_columns(earlier).noted(f"torque moved by {-delay:g} s")
    return changed.slice(times[0] + max(0.0, -delay), times[-1] - max(0.0, delay))


def usable(recording: Recording, repair: bool) -> Recording:
    """A recording with an increasing clock and finite values: repaired, or refused.

    Raises:
        RecordingError: the recording is defective, and ``repair`` is off or does not help.
    """
    if repair:
        return repaired(recording, COMMANDS)
    check_usable(recording, "Set data.repair=true")
    return recording


def common_rate(recordings: list[Recording]) -> float:
    """Common sample rate of all recordings [Hz].

    Raises:
        RecordingError: the rates differ.
    """
    rates = np.array([sampling_rate(each.stream.times) for each in recordings])
    if np.ptp(rates) > RATE_TOLERANCE * rates.min():
        slow, fast = recordings[int(rates.argmin())], recordings[int(rates.argmax())]
        raise RecordingError(
            f"the recordings have different rates, from {rates.min():.6g} Hz "
            f"({Path(slow.source).name}) to {rates.max():.6g} Hz ({Path(fast.source).name}): set "
            "data.rate to the rate that the network is to run at"
        )
    return float(f"{np.median(rates):.4g}")


def _check_rate(rate: float, recordings: list[Recording]) -> None:
    """Refuse a rate far above the recorded one, or too low for two samples of a recording.

    Raises:
        RecordingError: the rate is too high or too low.
    """
    rates = [sampling_rate(each.stream.times) for each in recordings]
    slowest = int(np.argmin(rates))
    highest = _MOST_TIMES_RECORDED * rates[slowest]
    if rate > highest:
        raise RecordingError(
            f"data.rate is {rate:g} Hz, but {Path(recordings[slowest].source).name} was recorded "
            f"at {rates[slowest]:.6g} Hz: set data.rate to at most {highest:.4g} Hz "
            f"({_MOST_TIMES_RECORDED:g} times as much); the rest would be interpolation"
        )
    shortest = min(recordings, key=lambda each: each.end - each.start)
    duration = shortest.end - shortest.start
    if rate * duration < 1.0:
        raise RecordingError(
            f"data.rate is {rate:g} Hz, but {Path(shortest.source).name} is {duration:.4g} s long: "
            f"set data.rate to at least {1.0 / duration:.4g} Hz, for two samples"
        )


def _is_idle(recording: Recording) -> bool:
    """Whether the target angle is constant while the commanded torque changes."""
    columns, needed = recording.stream.columns, (TARGET_ANGLE, ANGLE, COMMANDED_TORQUE)
    if any(name not in columns for name in needed):
        return False
    target, angle, torque = (np.ptp(columns[name]) for name in needed)
    return bool(target == 0.0 and angle > 0.0 and torque > 0.0)


def _following(recording: Recording) -> Recording:
    """The recording with targets equal to the motion, so that the angle error is zero."""
    columns = recording.stream.columns
    followed = {TARGET_ANGLE: columns[ANGLE]}
    if ANGLE_ERROR in columns:
        followed[ANGLE_ERROR] = np.zeros(len(columns[ANGLE]))
    target = columns.get(TARGET_VELOCITY)
    if VELOCITY in columns and target is not None and np.ptp(target) == 0.0:
        followed[TARGET_VELOCITY] = columns[VELOCITY]
    return recording.with_columns(followed).noted(
        "the target angle is constant while the commanded torque changes: driven by torque, angle "
        "error set to zero (data.idle_target=keep retains the target)"
    )


def _series(
    recording: Recording, rate: float, settings: DataSettings, idle: bool
) -> ActuatorSeries:
    # the inertia is constant: holding it is as good as interpolating it
    even = resampled(recording, rate, (*COMMANDS, INERTIA))
    even = with_torque(even, rate, settings)
    if idle and settings.idle_target == "follow":
        even = _following(even)
    columns = even.stream.columns
    channels = with_derived({n: v for n, v in columns.items() if n in FEATURES})
    missing = [feature for feature in settings.features if feature not in channels]
    if missing:
        hint = (
            ". Its value comes from inertia_groups, or from a column" if INERTIA in missing else ""
        )
        raise ColumnError(
            f"{recording.source} has no {listing(missing)}; it has {listing(channels)}{hint}"
        )
    return ActuatorSeries(
        name=even.name,
        group=load_group(even),
        rate=rate,
        channels=channels,
        torque=columns[TORQUE],
        reference_torque=columns.get(REFERENCE_TORQUE),
        start=float(even.stream.times[0]),
        source=even.source,
        sha256=even.sha256,
        notes=even.notes,
    )
