"""Positions, velocities, accelerations and torques of joints, from the signals of a recording."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import mujoco
import numpy as np
from scipy.interpolate import CubicSpline

from trueup.errors import SignalError, listing
from trueup.signals import SignalType, TimeSeries, butterworth
from trueup.signals.clocks.gaps import gap_ends
from trueup.simulation.loops.closure import Loop
from trueup.simulation.loops.projection import coordinate_loops
from trueup.simulation.measured.system_trajectory import SystemTrajectory
from trueup.simulation.targets.actuator_types import has_static_law
from trueup.sysid.recordings.measured_state import StateColumns, state_columns
from trueup.sysid.torque.left_out_forces import left_out_dofs, left_out_forces

SAMPLES_PER_PERIOD = 2.0
"""Samples per period of the corner frequency after decimation: enough for the passband, and few
enough that the filtered noise is white, because it fills the remaining band."""

_TORQUE_SENSORS = (
    int(mujoco.mjtSensor.mjSENS_JOINTACTFRC),
    int(mujoco.mjtSensor.mjSENS_ACTUATORFRC),
)
_ON_JOINT = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
_FEWEST = 8  # minimum number of samples after filtering


@dataclass(frozen=True)
class TorqueSources:
    """Source of the torque of each joint in a recording.

    A joint has a recorded torque, or actuators with a known law; ``dofs`` are those with one of
    both and without unsupported forces. In a closed loop they are coordinates of its motion. A
    joint with a spring and without an actuator, such as the elasticity between a motor and its
    link, is included with a torque of zero.
    """

    dofs: tuple[int, ...]
    sensor_columns: dict[int, int]
    """Column of the recording with the torque, by degree of freedom."""
    actuators: dict[int, tuple[int, ...]]
    """Actuators with laws that give the torque, or the part missing in the recorded one."""
    following: tuple[int, ...] = ()
    """Joints of closed loops whose motion ``dofs`` determine, and whose forces act on them."""
    loops: tuple[Loop, ...] = ()
    """Loops of the model, with ``dofs`` among the coordinates that they leave."""

    @property
    def acting(self) -> tuple[int, ...]:
        """Degrees of freedom with forces in the torques of ``dofs``, those themselves first."""
        return (*self.dofs, *self.following)

    @property
    def has_torque(self) -> bool:
        """Whether any torque was recorded."""
        return any(d in self.sensor_columns or d in self.actuators for d in self.dofs)


@dataclass(frozen=True)
class JointMotion:
    """Smoothed motion and torque of one recording at equal intervals ``(T, ...)``."""

    name: str
    times: np.ndarray
    """``(T,)`` [s]."""
    qpos: np.ndarray
    """``(T, nq)``."""
    qvel: np.ndarray
    """``(T, nv)``."""
    qacc: np.ndarray
    """``(T, nv)``."""
    recorded: np.ndarray
    """Recorded torques ``(T, columns)``, smoothed like the motion."""
    recorded_raw: np.ndarray
    """Unfiltered recorded torques ``(T, columns)``."""
    controls: np.ndarray
    """``(T, nu)``, smoothed like the motion."""
    controls_raw: np.ndarray
    """Unfiltered controls ``(T, nu)``."""
    controls_early: np.ndarray
    """Smoothed controls half a sample earlier ``(T, nu)``: the mean delay of a control that is held
    between samples."""
    controls_raw_early: np.ndarray
    """Unfiltered controls half a sample earlier ``(T, nu)``."""
    direction: np.ndarray
    """Sign of each velocity ``(T, nv)``, smoothed like the motion."""

    def centred(self) -> "JointMotion":
        """The motion with each held control as the mean of those before and after its sample.

        Held from a sample on, a control acts half a sample late against the motion.
        """
        return replace(self, controls=self.controls_early, controls_raw=self.controls_raw_early)


def torque_sources(model: mujoco.MjModel, recorded: TimeSeries, driven: set[int]) -> TorqueSources:
    """Find the torque of each joint.

    Args:
      model: the model.
      recorded: measured signals.
      driven: actuators with a recorded control.
    """
    sensors: dict[int, int] = {}
    of_actuator: dict[int, int] = {}
    for name, (kind, columns) in (recorded.signal_mapping or {}).items():
        if kind is not SignalType.MjSensor:
            continue
        sensor = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SENSOR, name)
        kind_of_sensor, element = int(model.sensor_type[sensor]), int(model.sensor_objid[sensor])
        if kind_of_sensor not in _TORQUE_SENSORS:
            continue
        joint = element
        if kind_of_sensor == _TORQUE_SENSORS[1]:
            if int(model.actuator_trntype[element]) not in _ON_JOINT:
                continue
            if float(model.actuator_gear[element, 0]) != 1.0:
                continue
            joint = int(model.actuator_trnid[element, 0])
            of_actuator[int(model.jnt_dofadr[joint])] = element
        sensors[int(model.jnt_dofadr[joint])] = int(columns[0])
    actuators: dict[int, list[int]] = {}
    for i in range(model.nu):
        if int(model.actuator_trntype[i]) in _ON_JOINT:
            dof = int(model.jnt_dofadr[int(model.actuator_trnid[i, 0])])
            actuators.setdefault(dof, []).append(i)
    by_law = {
        dof: tuple(which)
        for dof, which in actuators.items()
        if dof not in sensors and all(i in driven and has_static_law(model, i) for i in which)
    }
    # the sensor of one actuator does not include the others of its joint, such as a constant offset
    for dof, measured in of_actuator.items():
        others = tuple(i for i in actuators[dof] if i != measured and has_static_law(model, i))
        if others:
            by_law[dof] = others
    left_out = left_out_dofs(model)
    known = {*sensors, *by_law}
    columns = state_columns(model, recorded)
    loops = coordinate_loops(
        model, lambda dof: 0 if dof in known else 1 if columns.gives(dof) else 2
    )
    # without an actuator the torque is zero
    unknown = left_out | (set(actuators) - known)
    rows = {*known, *_springs(model)} - left_out
    following: set[int] = set()
    for loop in loops:
        rows -= set(loop.unknown)
        if unknown & set(loop.unknown):
            rows -= set(loop.known)
        elif rows & set(loop.known):
            following |= set(loop.unknown)
    return TorqueSources(
        tuple(sorted(rows)), sensors, by_law, tuple(sorted(following)), tuple(loops)
    )


def actuators_of(model: mujoco.MjModel, dof: int) -> list[int]:
    """Actuators on the joint of a degree of freedom."""
    return [
        i
        for i in range(model.nu)
        if int(model.actuator_trntype[i]) in _ON_JOINT
        and int(model.jnt_dofadr[int(model.actuator_trnid[i, 0])]) == dof
    ]


def _springs(model: mujoco.MjModel) -> set[int]:
    """Undriven degrees of freedom with a spring."""
    driven = {
        int(model.jnt_dofadr[int(model.actuator_trnid[i, 0])])
        for i in range(model.nu)
        if int(model.actuator_trntype[i]) in _ON_JOINT
    }
    elsewhere = any(int(kind) not in _ON_JOINT for kind in model.actuator_trntype)
    stiff = {
        int(model.jnt_dofadr[j])
        for j in range(model.njnt)
        if float(np.ravel(model.jnt_stiffness[j])[0]) > 0
    }
    return set() if elsewhere else stiff - driven


@dataclass(frozen=True)
class SmoothedRecording:
    """A recording after one zero-phase filter, before the directions of its joints are known."""

    motion: JointMotion
    """Its motion; the directions are zero."""
    velocities: np.ndarray
    """Velocities at equal intervals ``(n, nv)``."""
    rows: np.ndarray
    """Those of the motion among them ``(T,)``."""
    filtered: Callable[[np.ndarray], np.ndarray]
    """The filter, of values ``(n, ...)``."""

    def with_directions(self, slowest: np.ndarray | float) -> JointMotion:
        """The motion with the directions of its joints.

        Args:
          slowest: minimum velocity of each joint for a known direction ``(nv,)``.
        """
        direction = self.filtered(np.tanh(self.velocities / slowest))
        return replace(self.motion, direction=direction[self.rows])


def smooth_motion(
    trajectory: SystemTrajectory, bandwidth: float, slowest: np.ndarray | float = 1e-9
) -> JointMotion:
    """Motion and torque of a recording after one zero-phase filter.

    Args:
      trajectory: the recording.
      bandwidth: corner frequency of the filter [Hz].
      slowest: minimum velocity of each joint for a known direction ``(nv,)``.

    Raises:
      SignalError: a moving joint was not measured, or the recording is too short.
    """
    return smoothed_recording(trajectory, bandwidth).with_directions(slowest)


def smoothed_recording(trajectory: SystemTrajectory, bandwidth: float) -> SmoothedRecording:
    """A recording after one zero-phase filter.

    Accelerations are slopes of the filtered velocity, or of the filtered position's slope if the
    velocity was not measured.

    Args:
      trajectory: the recording.
      bandwidth: corner frequency of the filter [Hz].

    Raises:
      SignalError: a moving joint was not measured, or the recording is too short.
    """
    model, recorded = trajectory.model, trajectory.sensordata
    columns = state_columns(model, recorded)
    grid, rows, step = _grid(trajectory, bandwidth)
    signals = CubicSpline(recorded.times, recorded.data)(grid)

    def smooth(values: np.ndarray) -> np.ndarray:
        if not values.size or bandwidth >= 0.45 / step:
            return values
        return butterworth(grid, values, cutoff=bandwidth, order=4)

    smoothed = smooth(signals)
    qpos, qvel, qacc = _states(model, columns, grid, smoothed)
    columns.follow(qpos, qvel, qacc, grid)
    half = 0.5 * float(np.median(np.diff(trajectory.control.times)))
    controls, early = (
        trajectory.control.interpolate(grid - shift, "linear") for shift in (0.0, half)
    )
    smooth_controls = smooth(controls)
    motion = JointMotion(
        trajectory.name,
        grid[rows],
        qpos[rows],
        qvel[rows],
        qacc[rows],
        smoothed[rows],
        signals[rows],
        smooth_controls[rows],
        controls[rows],
        # a mean of two samples would be smoother, and compare better for that alone
        _at(grid, smooth_controls, grid - half)[rows],
        early[rows],
        np.zeros_like(qvel[rows]),
    )
    return SmoothedRecording(motion, qvel, rows, smooth)


def check_length(trajectory: SystemTrajectory, bandwidth: float) -> None:
    """Raise SignalError if a recording is too short for a filter with a corner frequency [Hz]."""
    _grid(trajectory, bandwidth)


def _grid(trajectory: SystemTrajectory, bandwidth: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Times at equal intervals ``(n,)`` [s], which of them are compared ``(T,)``, and their step.

    Raises:
      SignalError: the recording is too short.
    """
    times = trajectory.sensordata.times
    step = float(np.median(np.diff(times)))
    grid = times[0] + step * np.arange(int((times[-1] - times[0]) / step) + 1)
    every = max(1, int(1.0 / (SAMPLES_PER_PERIOD * bandwidth * step)))
    margin = min(int(0.5 / (bandwidth * step)), len(grid) // 10)
    rows = np.arange(margin, len(grid) - margin, every)
    rows = rows[_between_samples(times, grid[rows])]
    if len(rows) < _FEWEST:
        raise SignalError(
            f"{trajectory.name} is too short for inverse dynamics with a filter of "
            f"{bandwidth:g} Hz: {len(rows)} samples remain, at least {_FEWEST} are required"
        )
    return grid, rows, step


def _between_samples(times: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Whether instants lie between samples that follow each other, not in a gap ``(n,)``."""
    ends = gap_ends(times)
    kept = np.ones(len(grid), bool)
    for begin, end in zip(times[ends], times[ends + 1], strict=True):
        kept[np.searchsorted(grid, begin, "right") : np.searchsorted(grid, end)] = False
    return kept


def _at(times: np.ndarray, values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    if not values.size:
        return values
    return np.asarray(CubicSpline(times, values)(np.clip(wanted, times[0], times[-1])))


def _states(
    model: mujoco.MjModel, columns: StateColumns, grid: np.ndarray, signals: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    qpos = np.tile(model.qpos0, (len(grid), 1))
    qvel, qacc = np.zeros((len(grid), model.nv)), np.zeros((len(grid), model.nv))
    for address, column in columns.positions.items():
        qpos[:, address] = signals[:, column]
    for dof, address in columns.position_of_velocity.items():
        if dof in columns.velocities:
            speed = signals[:, columns.velocities[dof]]
        elif address in columns.positions:
            speed = CubicSpline(grid, signals[:, columns.positions[address]])(grid, 1)
        else:
            continue
        qvel[:, dof] = speed
        qacc[:, dof] = CubicSpline(grid, speed)(grid, 1)
    return qpos, qvel, qacc


def check_measured(trajectory: SystemTrajectory) -> None:
    """Raise SignalError if the position of a joint was not measured, nor follows from others.

    A joint that an equality or a tendon couples to others that were not measured either, such as a
    gripper's finger, is assumed at its default.
    """
    model = trajectory.model
    missing = state_columns(model, trajectory.sensordata).unknown(model)
    forces = left_out_forces(model)
    coupled = {dof for force in forces if force.couples for dof in force.dofs}
    dofs = {model.joint(j).name or "?": int(model.jnt_dofadr[j]) for j in range(model.njnt)}
    missing = [name for name in missing if dofs[name] not in coupled]
    if missing:
        loops = [f.what for f in forces if f.loop and any(dofs[n] in f.dofs for n in missing)]
        of_loop = f", and {' and '.join(loops)} does not determine it" if loops else ""
        raise SignalError(
            f"inverse dynamics requires the measured position of every joint; {trajectory.name} "
            f"has none of {listing(missing)}{of_loop}"
        )
