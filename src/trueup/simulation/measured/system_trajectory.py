"""One run of a system: controls, sensor data, initial state and, if known, all states."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from trueup.errors import SignalError, did_you_mean, listing
from trueup.signals.model_signals import sensor_mapping, state_mappings
from trueup.signals.npz_archive import read_npz
from trueup.signals.signal_type import SignalType, decode_signal_mapping, encode_signal_mapping
from trueup.signals.time_series import TimeSeries
from trueup.simulation.engine.control_layout import control_columns, control_in_model_order
from trueup.simulation.engine.initial_state import state_size, with_commands_before
from trueup.simulation.engine.lead_in import LeadIn
from trueup.simulation.measured.recorded_state import recorded_states

_SENSOR_KINDS = {
    "joint_pos": mujoco.mjtSensor.mjSENS_JOINTPOS,
    "joint_vel": mujoco.mjtSensor.mjSENS_JOINTVEL,
    "joint_torque": mujoco.mjtSensor.mjSENS_JOINTACTFRC,
}


@dataclass(frozen=True, eq=False)
class SystemTrajectory:
    """Recorded inputs and outputs of a system.

    Attributes:
        model: the model that the signals belong to.
        control: controls, data of shape (n, nu).
        sensordata: observations, data of shape (n, channels).
        initial_state: full-physics state at the first control, shape (state size,).
        state: full-physics states, data of shape (n, state size) with the time as first column, or
            None for a recording of a real system.
        name: name of the sequence, for messages and figures.
        lead_in: recording before the first control; None if there is none.
    """

    model: mujoco.MjModel
    control: TimeSeries
    sensordata: TimeSeries
    initial_state: np.ndarray
    state: TimeSeries | None = None
    name: str = ""
    lead_in: LeadIn | None = None

    def replace(self, **changes: Any) -> SystemTrajectory:
        """Return a copy with some fields replaced."""
        return dataclasses.replace(self, **changes)

    @property
    def sensordim(self) -> int:
        """Number of scalar sensor outputs of the model."""
        return self.model.nsensordata

    def __len__(self) -> int:
        return len(self.sensordata)

    def get_sensordata_slice(self, sensor: str = "joint_pos") -> np.ndarray:
        """Return the columns of all sensors of one kind, in model order, shape (n, columns).

        Args:
            sensor: ``joint_pos``, ``joint_vel`` or ``joint_torque`` (actuator force at the joint).

        Raises:
            SignalError: another kind, or none of that kind in the model or the data.
        """
        if sensor not in _SENSOR_KINDS:
            raise SignalError(
                f"Unknown kind of sensor {sensor!r}.{did_you_mean(sensor, _SENSOR_KINDS)} "
                f"Available kinds: {listing(_SENSOR_KINDS)}."
            )
        wanted = self.model.sensor_type == _SENSOR_KINDS[sensor].value
        layout = sensor_mapping(self.model)
        names = [name for name, is_wanted in zip(layout, wanted) if is_wanted]
        recorded = self.sensordata.signal_mapping or layout
        columns = [column for name in names if name in recorded for column in recorded[name][1]]
        if not columns:
            raise SignalError(
                f"The trajectory has no {sensor} sensor; available: {listing(recorded)}."
            )
        return self.sensordata.data[:, columns]

    def save_to_disk(self, path: str | Path) -> None:
        """Write everything but the model to an ``.npz`` file."""
        arrays = {"initial_state": self.initial_state}
        for part in ("control", "sensordata", "state"):
            series: TimeSeries | None = getattr(self, part)
            if series is None:
                continue
            arrays[f"{part}_times"] = series.times
            arrays[f"{part}_data"] = series.data
            if series.signal_mapping:
                encoded = encode_signal_mapping(series.signal_mapping)
                arrays[f"{part}_signal_mapping"] = np.asarray(encoded)
        np.savez(path, **arrays)  # pyright: ignore[reportArgumentType]

    @classmethod
    def load_from_disk(
        cls, path: str | Path, model: mujoco.MjModel, allow_missing_sensors: bool = False
    ) -> SystemTrajectory:
        """Read a file of :meth:`save_to_disk` and check that it matches the model.

        Raises:
            SignalError: missing or foreign file, or see :meth:`check_compatible`.
        """
        arrays = read_npz(path)
        parts: dict[str, TimeSeries | None] = {}
        for part in ("control", "sensordata", "state"):
            if f"{part}_times" not in arrays or f"{part}_data" not in arrays:
                parts[part] = None
                continue
            encoded = arrays.get(f"{part}_signal_mapping")
            parts[part] = TimeSeries(
                arrays[f"{part}_times"],
                arrays[f"{part}_data"],
                None if encoded is None else decode_signal_mapping(str(encoded)),
            )
        control, sensordata = parts["control"], parts["sensordata"]
        if control is None or sensordata is None or "initial_state" not in arrays:
            raise SignalError(
                f"{str(path)!r} is not a saved trajectory: it contains {listing(arrays)}, expected "
                "control, sensordata and initial_state."
            )
        trajectory = cls(model, control, sensordata, arrays["initial_state"], parts["state"])
        trajectory.check_compatible(allow_missing_sensors)
        return trajectory

    def check_compatible(self, allow_missing_sensors: bool = False) -> None:
        """Check that every signal matches the model.

        Args:
            allow_missing_sensors: accept sensor data with fewer (or other) columns than the
                model's sensors; named signals must still exist.

        Raises:
            SignalError: a quantity does not match the model; the message gives the expected one.
        """
        self._check_sensordata(allow_missing_sensors)
        control_columns(self.model, self.control)
        size = state_size(self.model)
        if self.state is not None and self.state.data.shape[1:] != (size,):
            raise SignalError(
                f"State dimension {self.state.data.shape[1:]} does not match the model's state "
                f"dimension {size} (time, qpos, qvel, act, ...)."
            )
        if np.shape(self.initial_state) != (size,):
            raise SignalError(
                f"Initial state dimension {np.shape(self.initial_state)} does not match the "
                f"model's state dimension {size}: build it with create_initial_state."
            )

    def _check_sensordata(self, allow_missing_sensors: bool) -> None:
        data, mapping = self.sensordata.data, self.sensordata.signal_mapping or {}
        if data.ndim != 2:
            raise SignalError(
                f"Sensor data must be 2-dimensional (time x channels), found shape {data.shape}."
            )
        for name, (signal_type, columns) in mapping.items():
            if len(columns) and not 0 <= np.min(columns) <= np.max(columns) < data.shape[1]:
                raise SignalError(
                    f"Signal {name!r} refers to columns {np.asarray(columns).tolist()}, but the "
                    f"data has {data.shape[1]} columns."
                )
            if signal_type in (SignalType.CustomObs, SignalType.MjCtrl):
                continue
            available = self._model_signals(signal_type)
            if name not in available:
                raise SignalError(
                    f"The model has no {signal_type.name} signal {name!r}."
                    f"{did_you_mean(name, available)} Available names: {listing(available)}."
                )
            if len(columns) != available[name]:
                raise SignalError(
                    f"Signal {name!r} has {len(columns)} columns in the data and "
                    f"{available[name]} in the model."
                )
        if data.shape[1] != self.model.nsensordata and not allow_missing_sensors:
            raise SignalError(
                f"Sensor data dimension {data.shape[1]} does not match the model's sensor "
                f"dimension {self.model.nsensordata}. Name the columns with TimeSeries.from_names "
                "and pass allow_missing_sensors=True to compare only those."
            )

    def _model_signals(self, signal_type: SignalType) -> dict[str, int]:
        if signal_type is SignalType.MjSensor:
            mapping = sensor_mapping(self.model)
        else:
            qpos, qvel, act, _ = state_mappings(self.model)
            mapping = {
                SignalType.MjStateQPos: qpos,
                SignalType.MjStateQVel: qvel,
                SignalType.MjStateAct: act,
            }[signal_type]
        return {name: len(columns) for name, (_, columns) in mapping.items()}

    def split(self, chunk_size: int) -> list[SystemTrajectory]:
        """Split into consecutive chunks that start from the state reached there.

        A chunk starts from ``state`` if known, otherwise from the recording: all positions and
        velocities (and activations, if the model has any) must be among its signals, as states or
        as joint sensors; delays continue with the previous controls. Incomplete trailing samples
        are dropped. Signal names are kept.

        Args:
            chunk_size: samples of controls and of sensor data in each chunk.

        Raises:
            SignalError: a chunk size below one or above the length, controls and sensor data of
                unequal length, or an unknown state at the start of a chunk.
        """
        samples = len(self.sensordata)
        if not 1 <= chunk_size <= samples:
            raise SignalError(
                f"chunk_size must be between 1 and the {samples} samples, found {chunk_size}."
            )
        if len(self.control) != samples:
            raise SignalError(
                "split requires controls and sensor data of equal length, found "
                f"{len(self.control)} "
                f"and {samples} samples: resample the controls first."
            )
        starts = np.arange(samples // chunk_size) * chunk_size
        later = self.control.times[starts[1:]]
        known = recorded_states(self.model, self.state, self.sensordata, later)
        order = control_in_model_order(self.model, self.control)
        known = [with_commands_before(self.model, k, self.control.times, order) for k in known]
        states = np.vstack([self.initial_state, *known])
        return [
            SystemTrajectory(
                model=self.model,
                control=_rows(self.control, start, start + chunk_size),
                sensordata=_rows(self.sensordata, start, start + chunk_size),
                initial_state=states[chunk],
                state=None if self.state is None else _rows(self.state, start, start + chunk_size),
            )
            for chunk, start in enumerate(starts.tolist())
        ]

    def render(
        self, height: int = 240, width: int = 320, camera: str | int = -1, fps: int = 30
    ) -> list[np.ndarray]:
        """Return RGB frames of the states, each of shape (height, width, 3).

        Args:
            height: height of a frame [pixel].
            width: width of a frame [pixel].
            camera: name or number of a camera; -1 for the free camera.
            fps: frames per second of simulated time.

        Raises:
            SignalError: the trajectory has no states.
        """
        if self.state is None:
            raise SignalError(
                "This trajectory has no states to render: simulate it with sysid_rollout first."
            )
        from trueup.simulation.models.rendering import render_rollout

        return render_rollout(
            model=self.model,
            data=mujoco.MjData(self.model),
            state=self.state.data[np.newaxis],
            framerate=fps,
            camera=camera,
            width=width,
            height=height,
        )


def _rows(series: TimeSeries, start: int, end: int) -> TimeSeries:
    return TimeSeries(series.times[start:end], series.data[start:end], series.signal_mapping)
