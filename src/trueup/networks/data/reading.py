"""Recordings read, put on one rate, and given their torque."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from trueup.errors import ColumnError, RecordingError, listing
from trueup.networks.data.actuator_series import ActuatorSeries
from trueup.networks.data.clock_gaps import stretch_names, stretches
from trueup.networks.data.clock_repair import usable
from trueup.networks.data.data_settings import REFERENCE_TORQUE, TORQUE, DataSettings
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
from trueup.networks.data.raw_signals import (
    COMMANDS,
    RawSignals,
    RecordingFile,
    read_raw,
    recording_files,
)
from trueup.networks.data.torque_target import with_torque

RATE_TOLERANCE = 0.01
"""Recordings whose rates differ by more than this share are of different rates."""

_UNIFORM = 0.02
"""A clock within this share of a step of an even one is taken as even."""

_MOST_TIMES_RECORDED = 10.0
"""A rate of more than this many times the recorded one holds nothing but interpolation."""

_DECIMATION = 1.25
_DECIMATION_CORNER = 0.4


def read_series(settings: DataSettings) -> list[ActuatorSeries]:
    """Read the recordings that the settings name, group after group, file after file.

    Each is put on one rate, filtered as the settings say, and given its torque; ``notes`` of the
    result says what was done. One with gaps in its clock becomes one recording a stretch.

    Raises:
        RecordingError: a folder or file is missing or cannot be used (missing values, a clock that
            does not increase), or the files have different rates and the settings name none.
        ColumnError: a column does not exist.
        UnitError: a unit does not fit its quantity.
        ExperimentError: a group has no inertia where the torque is computed from it.
        SignalError: the corner of the filter is not below half the rate.
    """
    return series_of(read_recorded(settings), settings)


def read_recorded(settings: DataSettings) -> list[RawSignals]:
    """The signals of all recordings as they were recorded, group after group, file after file.

    Raises:
        RecordingError: a folder or file is missing or cannot be read.
        ColumnError: a column does not exist.
        UnitError: a unit does not fit its quantity.
    """
    files = recording_files(settings)
    if settings.num_workers > 0:
        with ThreadPoolExecutor(settings.num_workers) as pool:
            return list(pool.map(lambda file: read_raw(file, settings), files))
    return [read_raw(file, settings) for file in files]


def series_of(recorded: list[RawSignals], settings: DataSettings) -> list[ActuatorSeries]:
    """Recordings as `read_series` gives them, from what `read_recorded` has read.

    Raises:
        TrueupError: as `read_series`, but for what the files themselves lack.
    """
    raws = [usable(raw, settings.repair) for raw in recorded]
    rate = settings.rate if settings.rate is not None else common_rate(raws)
    _check_rate(rate, raws)
    found = []
    for raw, name in zip(raws, _names([raw.file for raw in raws]), strict=True):
        parts = stretches(raw)
        for part, own in zip(parts, stretch_names(name, len(parts)), strict=True):
            found.append(_series(part, own, rate, settings, _is_idle(raw)))
    return found


def common_rate(raws: list[RawSignals]) -> float:
    """The rate that all recordings have [Hz].

    Raises:
        RecordingError: they have different ones.
    """
    rates = np.array([recorded_rate(raw.times) for raw in raws])
    if np.ptp(rates) > RATE_TOLERANCE * rates.min():
        slow, fast = raws[int(rates.argmin())], raws[int(rates.argmax())]
        raise RecordingError(
            f"the recordings have different rates, from {rates.min():.6g} Hz "
            f"({slow.file.path.name}) to {rates.max():.6g} Hz ({fast.file.path.name}): set "
            "data.rate to the rate that the network is to run at"
        )
    return float(f"{np.median(rates):.4g}")


def _check_rate(rate: float, raws: list[RawSignals]) -> None:
    """Refuse a rate far above what was recorded, or one that leaves a recording no two samples.

    Raises:
        RecordingError: it is.
    """
    rates = [recorded_rate(raw.times) for raw in raws]
    slowest = int(np.argmin(rates))
    highest = _MOST_TIMES_RECORDED * rates[slowest]
    if rate > highest:
        raise RecordingError(
            f"data.rate is {rate:g} Hz, but {raws[slowest].file.path.name} was recorded at "
            f"{rates[slowest]:.6g} Hz: set data.rate to {highest:.4g} Hz at most "
            f"({_MOST_TIMES_RECORDED:g} times as much), the rest would be interpolation"
        )
    shortest = min(raws, key=lambda raw: raw.times[-1] - raw.times[0])
    duration = shortest.times[-1] - shortest.times[0]
    if rate * duration < 1.0:
        raise RecordingError(
            f"data.rate is {rate:g} Hz, but {shortest.file.path.name} is {duration:.4g} s long: "
            f"set data.rate to {1.0 / duration:.4g} Hz at least, for two samples"
        )


def recorded_rate(times: np.ndarray) -> float:
    """Rate of a clock that may jitter [Hz]: its median step, or the mean one where it is rounded.

    Times rounded to whole milliseconds have steps of, say, 3 and 4 ms for 300 Hz: the mean of the
    steps near the median is not fooled by that, nor by gaps.
    """
    steps = np.diff(times)
    typical = np.quantile(steps, 0.5, method="lower")
    regular = steps[(steps > 0.4 * typical) & (steps < 1.6 * typical)]
    return float(1.0 / regular.mean())


def _is_idle(raw: RawSignals) -> bool:
    """Whether the target angle never changes while the commanded torque does."""
    needed = (TARGET_ANGLE, ANGLE, COMMANDED_TORQUE)
    if any(name not in raw.signals for name in needed):
        return False
    target, angle, torque = (np.ptp(raw.signals[name]) for name in needed)
    return bool(target == 0.0 and angle > 0.0 and torque > 0.0)


def _following(raw: RawSignals) -> RawSignals:
    """The recording with targets that follow the motion: their errors are zero."""
    followed = {TARGET_ANGLE: raw.signals[ANGLE]}
    if ANGLE_ERROR in raw.signals:
        followed[ANGLE_ERROR] = np.zeros(len(raw.times))
    target = raw.signals.get(TARGET_VELOCITY)
    if VELOCITY in raw.signals and target is not None and np.ptp(target) == 0.0:
        followed[TARGET_VELOCITY] = raw.signals[VELOCITY]
    return raw.with_note(
        "the target angle never changes while the commanded torque does: driven by torque, angle "
        "error zero (data.idle_target=keep leaves it)",
        signals={**raw.signals, **followed},
    )


def _series(
    raw: RawSignals, name: str, rate: float, settings: DataSettings, idle: bool
) -> ActuatorSeries:
    even = with_torque(_resampled(raw, rate), rate, settings)
    if idle and settings.idle_target == "follow":
        even = _following(even)
    channels = with_derived({n: v for n, v in even.signals.items() if n in FEATURES})
    missing = [feature for feature in settings.features if feature not in channels]
    if missing:
        hint = (
            ". Its value comes from inertia_groups, or from a column" if INERTIA in missing else ""
        )
        raise ColumnError(
            f"{raw.file.path} lacks the features {listing(missing)}; it has {listing(channels)}"
            f"{hint}"
        )
    return ActuatorSeries(
        name=name,
        group=raw.file.group,
        rate=rate,
        channels=channels,
        torque=even.signals[TORQUE],
        reference_torque=even.signals.get(REFERENCE_TORQUE),
        start=float(even.times[0]),
        source=str(raw.file.path),
        sha256=raw.sha256,
        notes=even.notes,
    )


def _resampled(raw: RawSignals, rate: float) -> RawSignals:
    """The signals at an even rate: commands held, measurements interpolated."""
    own = recorded_rate(raw.times)
    even = raw.times[0] + np.arange(len(raw.times)) / rate
    if np.abs(raw.times - even).max() <= _UNIFORM / rate:
        return raw.with_note(f"{rate:.6g} Hz as recorded", times=even)
    signals, note = raw.signals, f"resampled from {own:.6g} Hz to {rate:.6g} Hz"
    if own > _DECIMATION * rate:
        signals = _without_high_frequencies(raw, _DECIMATION_CORNER * rate)
        note += f", measurements below {_DECIMATION_CORNER * rate:.4g} Hz only (no delay)"
    steps = int(np.floor((raw.times[-1] - raw.times[0]) * rate + 1e-6))
    grid = raw.times[0] + np.arange(steps + 1) / rate
    held = np.clip(raw.times.searchsorted(grid + 1e-9, side="right") - 1, 0, None)
    return raw.with_note(
        f"{note}: commands held, measurements interpolated",
        times=grid,
        signals={
            name: values[held] if name in COMMANDS else np.interp(grid, raw.times, values)
            for name, values in signals.items()
        },
    )


def _without_high_frequencies(raw: RawSignals, cutoff: float) -> dict[str, np.ndarray]:
    from trueup.signals import butterworth

    return {
        name: values
        if name in (*COMMANDS, INERTIA)
        else butterworth(raw.times, values, cutoff=cutoff, irregular="resample")
        for name, values in raw.signals.items()
    }


def _names(files: list[RecordingFile]) -> list[str]:
    """Names of the recordings: of the files, with the group where two files share one."""
    stems = [file.path.stem for file in files]
    if len(set(stems)) == len(stems):
        return stems
    return [f"{file.group}/{file.path.stem}" for file in files]
