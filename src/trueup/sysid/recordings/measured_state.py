"""State of a model at a given time of a recording, from the measured signals.

Joint positions and velocities are read from ``jointpos`` and ``jointvel`` sensors and from state
signals, smoothed by a local quadratic fit, which also gives the velocity if only the position was
measured.
"""

from dataclasses import dataclass, field
from functools import cached_property

import mujoco
import numpy as np

from trueup.signals import SignalType, TimeSeries
from trueup.signals.model_signals import state_mappings
from trueup.simulation.engine.initial_state import create_initial_state, with_start_time
from trueup.simulation.loops.closure import Loop, closed_loops

_FEWEST = 5  # minimum number of samples in a local fit of three coefficients


@dataclass(frozen=True)
class StateColumns:
    """Columns of a recording with positions, velocities and activations of the model."""

    positions: dict[int, int]
    """Index into qpos -> column."""
    velocities: dict[int, int]
    """Index into qvel -> column."""
    position_of_velocity: dict[int, int]
    """Index into qvel -> index into qpos of the same scalar joint."""
    from_sensors: frozenset[int] = frozenset()
    """Columns of sensors of the model; the others are states."""
    activations: dict[int, int] = field(default_factory=dict)
    """Index into act -> column."""
    loops: "FollowedLoops | None" = None
    """Unmeasured joints that are determined by measured ones; None for none."""

    def gives(self, dof: int) -> bool:
        """Whether a velocity was measured, or is determined by a measured position."""
        return dof in self.velocities or self.position_of_velocity.get(dof) in self.positions

    def missing(self, model: mujoco.MjModel) -> list[str]:
        """Names of scalar joints without a measured position."""
        names = []
        for joint in range(model.njnt):
            address = int(model.jnt_qposadr[joint])
            if int(model.jnt_type[joint]) in _SCALAR and address not in self.positions:
                names.append(mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, joint) or "?")
        return names

    def unknown(self, model: mujoco.MjModel) -> list[str]:
        """Those of :meth:`missing` that are not determined by measured ones either."""
        dofs = [] if self.loops is None else self.loops.dofs
        following = {model.joint(int(model.dof_jntid[dof])).name for dof in dofs}
        return [name for name in self.missing(model) if name not in following]

    def places(self) -> list[int]:
        """Indices into qpos of positions that are measured or determined by measured ones."""
        return [*self.positions, *(() if self.loops is None else self.loops.addresses)]

    def follow(
        self,
        qpos: np.ndarray,
        qvel: np.ndarray,
        qacc: np.ndarray | None = None,
        times: np.ndarray | None = None,
    ) -> None:
        """Set the joints that are determined by measured ones along a motion, in place.

        Args:
          qpos: positions ``(T, nq)``.
          qvel: velocities ``(T, nv)``.
          qacc: accelerations ``(T, nv)``; None: not needed.
          times: ``(T,)`` [s], for messages.

        Raises:
          SignalError: a loop cannot be closed, or is at a dead point.
        """
        for loop in () if self.loops is None else self.loops.loops:
            loop.follow(qpos, qvel, qacc, times)


@dataclass(frozen=True)
class FollowedLoops:
    """Joints of a recording that were not measured, but are determined by measured ones."""

    model: mujoco.MjModel
    recorded: TimeSeries
    positions: dict[int, int]
    """Index into qpos -> column."""
    loops: tuple[Loop, ...]

    @property
    def addresses(self) -> list[int]:
        """Their indices into qpos."""
        return [address for loop in self.loops for address in loop.addresses]

    @property
    def dofs(self) -> list[int]:
        """Their degrees of freedom."""
        return [dof for loop in self.loops for dof in loop.unknown]

    def check(self) -> None:
        """Raise SignalError if a recorded sample leaves a loop open, or is a dead point."""
        assert len(self.solved) == len(self.recorded.times)

    @cached_property
    def solved(self) -> np.ndarray:
        """Positions at the recorded samples ``(n, nq)``.

        Raises:
          SignalError: a loop cannot be closed, or is at a dead point.
        """
        times, data = self.recorded.times, self.recorded.data
        qpos = np.tile(self.model.qpos0, (len(times), 1))
        for address, column in self.positions.items():
            qpos[:, address] = data[:, column]
        for loop in self.loops:
            loop.follow(qpos, np.zeros((len(times), self.model.nv)), times=times)
        return qpos

    def follow(self, qpos: np.ndarray, qvel: np.ndarray, time: float) -> None:
        """Set positions ``(nq,)`` and velocities ``(nv,)`` of the joints at a time, in place."""
        near = int(np.argmin(np.abs(self.recorded.times - time)))
        qpos[self.addresses] = self.solved[near, self.addresses]
        for loop in self.loops:
            loop.settle(qpos[None], qvel[None], times=np.array([time]))


_SCALAR = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))


def state_columns(model: mujoco.MjModel, recorded: TimeSeries) -> StateColumns:
    """Find the columns of a recording that determine the state."""
    positions: dict[int, int] = {}
    velocities: dict[int, int] = {}
    activations: dict[int, int] = {}
    qpos, qvel, act, _ = state_mappings(model)
    scalar = [j for j in range(model.njnt) if int(model.jnt_type[j]) in _SCALAR]
    sensors: set[int] = set()
    twin = {int(model.jnt_dofadr[j]): int(model.jnt_qposadr[j]) for j in scalar}
    for name, (kind, columns) in (recorded.signal_mapping or {}).items():
        if kind is SignalType.MjStateQPos:
            positions.update(zip(map(int, qpos[name][1]), map(int, columns), strict=True))
        elif kind is SignalType.MjStateQVel:
            places = (int(i) - model.nq for i in qvel[name][1])
            velocities.update(zip(places, map(int, columns), strict=True))
        elif kind is SignalType.MjStateAct:
            places = (int(i) - model.nq - model.nv for i in act[name][1])
            activations.update(zip(places, map(int, columns), strict=True))
        elif kind is SignalType.MjSensor:
            sensor = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SENSOR, name)
            kind_of_sensor = int(model.sensor_type[sensor])
            joint = int(model.sensor_objid[sensor])
            sensors.update(map(int, columns))
            if kind_of_sensor == int(mujoco.mjtSensor.mjSENS_JOINTPOS):
                positions[int(model.jnt_qposadr[joint])] = int(columns[0])
            elif kind_of_sensor == int(mujoco.mjtSensor.mjSENS_JOINTVEL):
                velocities[int(model.jnt_dofadr[joint])] = int(columns[0])
    known = [dof for dof, address in twin.items() if address in positions]
    found = tuple(closed_loops(model, known)[0])
    loops = FollowedLoops(model, recorded, positions, found) if found else None
    return StateColumns(positions, velocities, twin, frozenset(sensors), activations, loops)


def unmeasured_entries(model: mujoco.MjModel, columns: StateColumns | None) -> np.ndarray | None:
    """Entries of a state that a recording does not determine.

    Args:
      model: the model.
      columns: from :func:`state_columns`; None: positions and velocities are known.

    Returns:
      ``(state size,)`` of bool for ``mjSTATE_FULLPHYSICS``, True for the time, delay buffers and
      unmeasured activations; None if only the time is undetermined.
    """
    entries = np.ones(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS), bool)
    if columns is None:
        entries[1 : 1 + model.nq + model.nv] = False
    else:
        entries[[1 + address for address in columns.positions]] = False
        entries[[1 + model.nq + dof for dof in range(model.nv) if columns.gives(dof)]] = False
        if columns.loops is not None:
            entries[[1 + address for address in columns.loops.addresses]] = False
            entries[[1 + model.nq + dof for dof in columns.loops.dofs]] = False
        entries[[1 + model.nq + model.nv + place for place in columns.activations]] = False
    return entries if entries[1:].any() else None


def measured_state(
    model: mujoco.MjModel,
    recorded: TimeSeries,
    columns: StateColumns,
    time: float,
    half_width: float,
    base: np.ndarray | None = None,
    sensor_lag: float = 0.0,
) -> np.ndarray:
    """State vector ``mjSTATE_FULLPHYSICS`` at a given time.

    Args:
      model: the model.
      recorded: measured signals.
      columns: from :func:`state_columns`.
      time: the time [s].
      half_width: half width of the local fit [s]; increased until it contains five samples.
      base: state for unmeasured entries; None: the model's defaults.
      sensor_lag: lag of sensor time stamps [s]: a time step by the toolbox's convention.
    """
    # shift the time stamps of delay buffers, to keep the age of their samples
    base = create_initial_state(model, model.qpos0) if base is None else base
    state = with_start_time(model, base, time)
    qpos, qvel = state[1 : 1 + model.nq], state[1 + model.nq : 1 + model.nq + model.nv]
    value, slope = local_fit(recorded.times, recorded.data, time, half_width)
    if sensor_lag and columns.from_sensors:
        late = sorted(columns.from_sensors)
        value[late], slope[late] = local_fit(
            recorded.times, recorded.data[:, late], time + sensor_lag, half_width
        )
    for address, column in columns.positions.items():
        qpos[address] = value[column]
    for place, column in columns.activations.items():
        state[1 + model.nq + model.nv + place] = value[column]
    for dof in range(model.nv):
        if dof in columns.velocities:
            qvel[dof] = value[columns.velocities[dof]]
        elif columns.position_of_velocity.get(dof) in columns.positions:
            qvel[dof] = slope[columns.positions[columns.position_of_velocity[dof]]]
    if columns.loops is not None:
        columns.loops.follow(qpos, qvel, time)
    return state


def local_fit(
    times: np.ndarray, data: np.ndarray, time: float, half_width: float
) -> tuple[np.ndarray, np.ndarray]:
    """Value and slope of a quadratic fitted to the samples near a time.

    Args:
      times: ``(n,)`` [s].
      data: ``(n, columns)``.
      time: the time [s].
      half_width: samples within it are used, at least the five nearest [s].

    Returns:
      Value ``(columns,)`` and slope ``(columns,)`` [1/s] at the time. With fewer than three
      samples, the nearest value and a slope of zero.
    """
    distance = np.abs(times - time)
    if len(times) < 3:
        return data[int(np.argmin(distance))].copy(), np.zeros(data.shape[1])
    count = max(min(_FEWEST, len(times)), int(np.sum(distance <= half_width)))
    near = np.sort(np.argpartition(distance, count - 1)[:count])
    t = times[near] - time
    scale = max(np.abs(t).max(), 1e-12)
    basis = np.stack([np.ones_like(t), t / scale, (t / scale) ** 2], axis=1)
    coefficients = np.linalg.lstsq(basis, data[near], rcond=None)[0]
    return coefficients[0], coefficients[1] / scale
