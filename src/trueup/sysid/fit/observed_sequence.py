"""A recorded sequence against the model: channels, weights, controls, simulated windows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import mujoco
import numpy as np

from trueup.errors import SignalError, did_you_mean, listing
from trueup.signals import InterpolationMethod, SignalType, TimeSeries
from trueup.signals.model_signals import sensor_mapping, state_mappings
from trueup.simulation.control_layout import control_in_model_order
from trueup.simulation.lead_in import LeadIn
from trueup.simulation.observation import Channel, Window, clock_slack
from trueup.simulation.segment import Segment
from trueup.simulation.system_trajectory import SystemTrajectory

NORMALISATIONS = ("toolbox", "spread", "none")


@dataclass(frozen=True)
class ObservationSettings:
    """How recordings are compared with the simulation."""

    channels: tuple[str, ...] = ()
    """Names of the signals compared; empty for all that were recorded."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """Factor on the residual of a signal, by name."""
    noise: Mapping[str, float] = field(default_factory=dict)
    """Standard deviation of the noise of a signal [its unit], by name; replaces normalisation."""
    normalise: str = "toolbox"
    """``toolbox``: by the Euclidean norm of the measured column over sqrt 2. ``spread``: by its
    standard deviation. ``none``: physical units."""
    control: InterpolationMethod = "linear"
    """Interpolation of the controls: ``linear``, or ``zoh`` to hold each until the next."""
    exact_sensor_times: bool = False
    """Whether a simulated sensor stands at the time for which it was computed. The toolbox labels
    it one step later."""
    resample: bool = True
    """Whether clocks are matched; otherwise sample k is step k, and the first one is left out."""
    window: float = 0.0
    """Length of the windows [s] that start anew from the measured state; 0 for one simulation from
    beginning to end."""
    state_smoothing: float = 0.02
    """Half width [s] of the local fit that gives a window its initial state."""

    def __post_init__(self):
        for kind, given in (("weights", self.weights), ("noise", self.noise)):
            for signal, value in given.items():
                if not np.isfinite(value) or value < 0 or (kind == "noise" and value == 0):
                    raise SignalError(f"{kind} of {signal!r} has to be positive, got {value}")


@dataclass(frozen=True)
class ObservedSequence:
    """One sequence as the problem compares it."""

    name: str
    channel_names: tuple[str, ...]
    signal_names: tuple[str, ...]
    """Signal of each channel."""
    times: np.ndarray
    """Times of all compared rows ``(T,)`` [s]."""
    measured: np.ndarray
    """``(T, C)``."""
    weights: np.ndarray
    """Factor on the residual of each channel ``(C,)``."""
    windows: tuple[Window, ...]
    normalisation: str
    segments: tuple[Segment, ...] = ()
    """Stretches of the run in the order of time, those before the sequence and those without
    measured rows too: later ones go on from earlier ones."""

    def weights_for(self, measured: np.ndarray) -> np.ndarray:
        """Weights ``(n, C)`` where parameters change the measured side to ``measured (n, T, C)``.

        A given noise level grows with the signal.
        """
        own = normalisers(self.measured, self.normalisation)
        return self.weights * own / np.stack([normalisers(m, self.normalisation) for m in measured])

    def weights_after(self, factor: np.ndarray, offset: np.ndarray) -> np.ndarray:
        """The same for a measured side of ``factor * measured + offset``, without computing it.

        Args:
          factor: ``(n, C)``.
          offset: ``(n, C)``.

        Returns:
          ``(n, C)``.
        """
        if self.normalisation == "none":
            return np.broadcast_to(self.weights, factor.shape)
        mean, spread = self.measured.mean(axis=0), self.measured.std(axis=0)
        if self.normalisation == "toolbox":
            size = np.hypot(factor * spread, factor * mean + offset)
            size *= np.sqrt(len(self.measured) / 2)
        else:
            size = np.abs(factor) * spread
        own = normalisers(self.measured, self.normalisation)
        return self.weights * own / np.where(size > 0, size, 1.0)


def normalisers(measured: np.ndarray, kind: str) -> np.ndarray:
    """Divisor of each channel's residual ``(T, C) -> (C,)``; 1 for a channel without signal."""
    if kind == "none":
        return np.ones(measured.shape[1])
    if kind == "toolbox":
        size = np.linalg.norm(measured, axis=0) / np.sqrt(2)
    else:
        size = np.std(measured, axis=0)
        # a constant channel with an offset has no spread beyond rounding
        size = np.where(size > 1e-12 * np.abs(measured).max(axis=0, initial=0.0), size, 0.0)
    return np.where(size > 0, size, 1.0)


def channels_of(
    model: mujoco.MjModel, sensordata: TimeSeries, settings: ObservationSettings
) -> tuple[list[Channel], list[int], list[str]]:
    """Compared channels, their columns in the recording and the signal of each.

    Raises:
      SignalError: a signal that was not recorded, or that the model does not have.
    """
    mapping = sensordata.signal_mapping
    if mapping is None:
        if sensordata.data.shape[1] != model.nsensordata:
            raise SignalError(
                f"the recording has {sensordata.data.shape[1]} unnamed columns, the model's "
                f"sensors give {model.nsensordata}: name the columns with TimeSeries.from_names"
            )
        mapping = sensor_mapping(model)
    wanted = list(settings.channels) or list(mapping)
    unknown = [name for name in wanted if name not in mapping]
    if unknown:
        raise SignalError(
            f"signals {listing(unknown)} were not recorded; recorded are {listing(mapping)}."
            f"{did_you_mean(unknown[0], mapping)}"
        )
    wanted = [name for name in wanted if settings.weights.get(name, 1.0) != 0]
    if not wanted:
        raise SignalError("every recorded signal has the weight 0: nothing is left to compare")
    channels: list[Channel] = []
    columns: list[int] = []
    owners: list[str] = []
    for name in wanted:
        kind, indices = mapping[name]
        places = _places(model, name, kind, settings)
        if len(places) != len(indices):
            raise SignalError(
                f"signal {name!r} has {len(indices)} recorded columns, the model gives "
                f"{len(places)}"
            )
        for k, ((field_name, column, lag), index) in enumerate(zip(places, indices, strict=True)):
            label = name if len(indices) == 1 else f"{name}[{k}]"
            channels.append(Channel(label, field_name, column, lag))
            columns.append(int(index))
            owners.append(name)
    return channels, columns, owners


def _places(
    model: mujoco.MjModel, name: str, kind: SignalType, settings: ObservationSettings
) -> list[tuple[str, int, int]]:
    if kind is SignalType.MjSensor:
        sensors = sensor_mapping(model)
        if name not in sensors:
            raise SignalError(
                f"the model has no sensor {name!r}; it has {listing(sensors)}."
                f"{did_you_mean(name, sensors)}"
            )
        lag = 0 if settings.exact_sensor_times else 1
        return [("sensordata", int(c), lag) for c in sensors[name][1]]
    states = dict(
        zip(
            (SignalType.MjStateQPos, SignalType.MjStateQVel, SignalType.MjStateAct),
            state_mappings(model),
            strict=False,
        )
    )
    if kind not in states:
        raise SignalError(
            f"signal {name!r} is of type {kind.name}, which the simulation does not give: pass "
            f"modify_residual to compare it"
        )
    if name not in states[kind]:
        raise SignalError(
            f"the model has no state {name!r}; it has {listing(states[kind])}."
            f"{did_you_mean(name, states[kind])}"
        )
    offset = {
        SignalType.MjStateQPos: 0,
        SignalType.MjStateQVel: model.nq,
        SignalType.MjStateAct: model.nq + model.nv,
    }[kind]
    record = {
        SignalType.MjStateQPos: "qpos",
        SignalType.MjStateQVel: "qvel",
        SignalType.MjStateAct: "act",
    }[kind]
    return [(record, int(c) - offset, 1) for c in states[kind][name][1]]


def observe(
    model: mujoco.MjModel,
    name: str,
    trajectory: SystemTrajectory,
    settings: ObservationSettings,
    delay_range: tuple[float, float],
    lead_in: LeadIn | None = None,
) -> ObservedSequence:
    """Prepare a sequence: simulated windows, compared rows, weights.

    Args:
      model: the model.
      name: name of the sequence.
      trajectory: what was recorded.
      settings: what is compared, and how.
      delay_range: smallest and largest delay that any candidate may have [s].
      lead_in: what was recorded before the sequence begins.

    Raises:
      SignalError: the sequence does not fit the model or the settings.
    """
    channels, columns, owners = channels_of(model, trajectory.sensordata, settings)
    timestep = float(model.opt.timestep)
    controls, start = _controls(model, trajectory.control, settings, timestep)
    whole = Segment(start, trajectory.initial_state, controls, name)
    before: tuple[Segment, ...] = ()
    if lead_in is not None:
        from trueup.sysid.fit.lead_in_segments import with_lead_in

        *earlier, whole = with_lead_in(model, whole, lead_in, settings)
        before = tuple(earlier)
    times, data = trajectory.sensordata.times, trajectory.sensordata.data[:, columns]
    if settings.resample:
        rows = _rows_inside(times, whole, timestep, channels, delay_range)
        times, data = times[rows], data[rows]
    else:
        # a sensor's last sample is that of the last step but one where it is not labelled late
        count = min(len(times) - 1, whole.steps - 1 + min(c.lag for c in channels))
        times, data = start + timestep * np.arange(1, count + 1), data[1 : count + 1]
    if len(times) == 0:
        raise SignalError(
            f"sequence {name!r}: no measured sample lies within the simulated time "
            f"{start:.6g} s to {start + whole.steps * timestep:.6g} s"
        )
    if not np.isfinite(data).all():
        bad = [
            c.name
            for c, column in zip(channels, data.T, strict=True)
            if not np.isfinite(column).all()
        ]
        raise SignalError(
            f"sequence {name!r}: {listing(bad)} hold values that are not finite: fill or cut them"
        )
    relative = np.array([float(settings.weights.get(owner, 1.0)) for owner in owners])
    divisors = normalisers(data, settings.normalise)
    for i, owner in enumerate(owners):
        if owner in settings.noise:
            divisors[i] = settings.noise[owner]
    window = Window(whole, timestep, tuple(channels), times, data, delay_range)
    windows, segments = (window,), (whole,)
    if settings.window > 0:
        from trueup.sysid.fit.shooting import cut_windows

        windows, segments = cut_windows(model, window, trajectory, settings)
    return ObservedSequence(
        name,
        tuple(c.name for c in channels),
        tuple(owners),
        np.concatenate([w.times for w in windows]),
        np.concatenate([w.measured for w in windows]),
        relative / divisors,
        windows,
        settings.normalise,
        (*before, *segments),
    )


def _controls(
    model: mujoco.MjModel, control: TimeSeries, settings: ObservationSettings, timestep: float
) -> tuple[np.ndarray, float]:
    """Control of each step and the time of the first."""
    start = float(control.times[0])
    if settings.resample:
        slack = clock_slack(control.times[-1:], timestep)
        steps = int(np.ceil((control.times[-1] - start - slack) / timestep))
        return controls_on_grid(model, control, settings, start, steps), start
    return np.ascontiguousarray(control_in_model_order(model, control)[:-1]), start


def controls_on_grid(
    model: mujoco.MjModel,
    control: TimeSeries,
    settings: ObservationSettings,
    start: float,
    steps: int,
) -> np.ndarray:
    """Control of each simulation step ``(steps, nu)``, the first at ``start`` [s]."""
    timestep = float(model.opt.timestep)
    # a clock that starts at zero keeps the resolution of the grid
    control = TimeSeries(control.times - start, control.data, control.signal_mapping)
    grid = timestep * np.arange(steps)
    # A command takes effect at the nearest step. Waiting for the next one would delay every
    # command by half a step, and a clock with jitter would skip and repeat samples.
    at = grid + 0.499 * timestep if settings.control == "zoh" else grid
    control = TimeSeries(grid, control.interpolate(at, settings.control), control.signal_mapping)
    return np.ascontiguousarray(control_in_model_order(model, control))


def _rows_inside(
    times: np.ndarray,
    segment: Segment,
    timestep: float,
    channels: Sequence[Channel],
    delay_range: tuple[float, float],
) -> slice:
    """Rows for which every channel has simulated samples on both sides, whatever the delay."""
    lags = [c.lag for c in channels]
    first = segment.start_time + timestep * max(lags) + max(delay_range[1], 0.0)
    last = (
        segment.start_time + timestep * (segment.steps - 1 + min(lags)) + min(delay_range[0], 0.0)
    )
    slack = clock_slack(times[-1:], timestep)
    begin = int(np.searchsorted(times, first - slack, side="left"))
    end = int(np.searchsorted(times, last + slack, side="right"))
    return slice(begin, max(begin, end))


def check_signal_settings(settings: ObservationSettings, compared: Sequence[str]) -> None:
    """Check the signals that weights and noise levels name.

    Args:
      settings: the settings.
      compared: signals that are compared in any sequence.

    Raises:
      SignalError: an unknown signal.
    """
    known = {*compared, *(s for s, w in settings.weights.items() if w == 0)}
    for kind, given in (("weights", settings.weights), ("noise", settings.noise)):
        for signal in given:
            if signal not in known:
                raise SignalError(
                    f"{kind} names {signal!r}, which is not compared; compared are "
                    f"{listing(dict.fromkeys(compared))}.{did_you_mean(signal, compared)}"
                )
