"""The state of a trajectory at given times, from its states or from its recorded signals."""

from __future__ import annotations

import mujoco
import numpy as np

from trueup.errors import SignalError, listing
from trueup.signals.model_signals import sensor_mapping, state_mappings
from trueup.signals.signal_type import SignalType
from trueup.signals.time_series import TimeSeries
from trueup.simulation.engine.initial_state import create_initial_state, state_size, with_start_time

# Sensors that measure a component of the state, and the suffix of the state they measure.
_STATE_SENSORS = {
    mujoco.mjtSensor.mjSENS_JOINTPOS.value: "_qpos",
    mujoco.mjtSensor.mjSENS_BALLQUAT.value: "_qpos",
    mujoco.mjtSensor.mjSENS_JOINTVEL.value: "_qvel",
    mujoco.mjtSensor.mjSENS_BALLANGVEL.value: "_qvel",
}


def recorded_states(
    model: mujoco.MjModel,
    state: TimeSeries | None,
    sensordata: TimeSeries,
    times: np.ndarray,
) -> np.ndarray:
    """Return full-physics states at the given times, shape (times, state size).

    Samples of delays are NaN if no states are known.

    Args:
        model: the model.
        state: states of a trajectory, if known.
        sensordata: its recorded signals.
        times: times [s].

    Raises:
        SignalError: the states are at other times, or a component was not recorded.
    """
    if len(times) == 0:
        return np.empty((0, state_size(model)))
    if state is not None:
        return _rows_at(state, times)
    return _from_signals(model, sensordata, times)


def _rows_at(state: TimeSeries, times: np.ndarray) -> np.ndarray:
    right = np.clip(np.searchsorted(state.times, times), 1, len(state) - 1) if len(state) > 1 else 0
    left = np.maximum(right - 1, 0)
    nearer_left = times - state.times[left] < state.times[right] - times
    rows = np.where(nearer_left, left, right)
    step = (state.times[-1] - state.times[0]) / max(len(state) - 1, 1)
    away = np.abs(state.times[rows] - times)
    if (away > 0.01 * step + 4 * np.spacing(np.abs(times))).any():
        worst = int(np.argmax(away))
        raise SignalError(
            f"No state is known at {times[worst]:.9g} s; the nearest is at "
            f"{state.times[rows[worst]]:.9g} s. States and controls require a common clock."
        )
    return state.data[rows]


def _from_signals(model: mujoco.MjModel, sensordata: TimeSeries, times: np.ndarray) -> np.ndarray:
    qpos, qvel, act, _ = state_mappings(model)
    sources = _state_signals(model, sensordata)
    missing = [name for name in qpos | qvel | act if name not in sources]
    if missing:
        raise SignalError(
            f"The state at the start of a chunk is unknown: {listing(missing)} are neither in "
            "the trajectory's state nor recorded as signals. Give state, or record them."
        )
    values = sensordata.interpolate(times)
    columns = [[c for name in part for c in sources[name]] for part in (qpos, qvel, act)]
    states = []
    for time, row in zip(times.tolist(), values):
        # Interpolated quaternions are not of unit length.
        positions, velocities, activations = (row[part] for part in columns)
        state = create_initial_state(
            model,
            positions,
            velocities,
            activations,
            qpos_names=list(qpos),
            qvel_names=list(qvel),
            act_names=list(act),
            held=True,
        )
        mujoco.mj_normalizeQuat(model, state[1 : 1 + model.nq])
        states.append(with_start_time(model, state, time))
    return np.array(states)


def _state_signals(model: mujoco.MjModel, sensordata: TimeSeries) -> dict[str, list[int]]:
    """Return the columns of each state signal among the recorded signals."""
    recorded = sensordata.signal_mapping
    if recorded is None:
        recorded = sensor_mapping(model) if sensordata.data.shape[1] == model.nsensordata else {}
    sources = {
        name: np.asarray(columns).tolist()
        for name, (signal_type, columns) in recorded.items()
        if signal_type in (SignalType.MjStateQPos, SignalType.MjStateQVel, SignalType.MjStateAct)
    }
    for sensor, name in enumerate(sensor_mapping(model)):
        suffix = _STATE_SENSORS.get(int(model.sensor_type[sensor]))
        if suffix is None or name not in recorded or _is_altered(model, sensor):
            continue
        joint = model.joint(int(model.sensor_objid[sensor])).name
        sources.setdefault(joint + suffix, np.asarray(recorded[name][1]).tolist())
    return sources


def _is_altered(model: mujoco.MjModel, sensor: int) -> bool:
    """Return whether a sensor reports something other than the current value."""
    return bool(model.sensor_delay[sensor] > 0 or model.sensor_cutoff[sensor] > 0)
