"""Simulation of a model along a recording, for the error of inverse dynamics itself.

The recorded torques and controls drive the model, held as in the experiment. A weak spring and
damper on each measured joint, the follower, pulls it to its recorded position, because a model
driven by noisy torques alone drifts away. The result is a recording without noise of a model with
known values, on nearly the motion of the machine, with its starts, stops and reversals.
"""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from mujoco.rollout import rollout
from scipy.interpolate import CubicSpline

from trueup.signals import InterpolationMethod, TimeSeries, butterworth
from trueup.simulation.engine.held_start import held_states
from trueup.simulation.engine.initial_state import with_start_time
from trueup.simulation.engine.warning_capture import captured_warnings
from trueup.simulation.measured.system_trajectory import SystemTrajectory
from trueup.simulation.targets.variants import compile_spec
from trueup.sysid.fit.observation_settings import ObservationSettings
from trueup.sysid.fit.step_controls import controls_on_grid
from trueup.sysid.recordings.measured_state import StateColumns, state_columns
from trueup.sysid.torque.joint_motion import TorqueSources, actuators_of

_RATE = 2 * np.pi * 1.0
"""Natural frequency of a followed joint [rad/s]. A faster follower imposes the smoothed motion,
without the rests of a joint with friction; a slower one is farther from the recording."""
_DAMPING = 0.7  # damping ratio of a followed joint
_SMOOTHED = 20.0  # lowest corner frequency of the followed motion [Hz]: rests at reversals remain
_LOST = 0.5  # RMS distance from the recording, over its spread, at which a simulation is useless
_FAR = 1e6  # largest position or velocity of a simulation that did not diverge [rad, m, rad/s, m/s]
_SCALAR = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
_IMPLICIT = (int(mujoco.mjtIntegrator.mjINT_IMPLICIT), int(mujoco.mjtIntegrator.mjINT_IMPLICITFAST))


@dataclass(frozen=True)
class FollowedMotion:
    """A simulated recording, with the torque of its followers."""

    trajectory: SystemTrajectory
    """Simulated signals at the recorded times. Its controls are the recorded ones, followed by the
    torque of each follower, held like them."""
    followers: Mapping[int, int]
    """Column of the controls with the torque of a follower, by degree of freedom."""


def follow(
    spec: Any,
    trajectory: SystemTrajectory,
    sources: TorqueSources,
    corner: float,
    control: InterpolationMethod,
) -> FollowedMotion | None:
    """Simulate a model along a recording; None if it does not stay near it.

    Contacts and joint limits are off: inverse dynamics does not include their forces.

    Args:
      spec: the model, which is not changed.
      trajectory: the recording.
      sources: source of the torque of each joint.
      corner: corner frequency of the filter of inverse dynamics [Hz].
      control: interpolation of controls, ``zoh`` or ``linear``.
    """
    recorded, own = trajectory.sensordata, trajectory.model.nu
    columns = state_columns(trajectory.model, recorded)
    model = _with_followers(spec)
    _silence(model, sources, own)
    step = float(model.opt.timestep)
    start, end = float(recorded.times[0]), float(recorded.times[-1])
    steps = int(np.ceil((end - start) / step)) + 1
    times = start + step * np.arange(steps)
    settings = ObservationSettings(control=control)
    stepped = copy(trajectory.model)
    stepped.opt.timestep = step  # of the machine, which may be that of another step
    controls = np.zeros((steps, model.nu))
    controls[:, :own] = controls_on_grid(stepped, trajectory.control, settings, start, steps)
    splines = _smoothed_positions(trajectory, columns.positions, max(corner, _SMOOTHED))
    # an implicit integrator damps by the velocity at the end of a step
    late = _end_share(model)
    # and one with stages applies a force at the positions within a step
    within = late if int(model.opt.integrator) == int(mujoco.mjtIntegrator.mjINT_RK4) else 0.0
    reached = np.clip(times + late * step, start, end)
    followers: dict[int, int] = {}
    pulls: dict[int, np.ndarray] = {}
    first = with_start_time(model, trajectory.initial_state, 0.0)
    stiffnesses, dampings = _gains(model, recorded.data, columns)
    for i in range(own, model.nu):
        joint = int(model.actuator_trnid[i, 0])
        dof, address = int(model.jnt_dofadr[joint]), int(model.jnt_qposadr[joint])
        if address not in splines:
            continue
        spline, stiffness, damping = splines[address], stiffnesses[dof], dampings[dof]
        model.actuator_biasprm[i, 1:3] = -stiffness, -damping
        pulls[dof] = stiffness * spline(np.minimum(times, end)) + damping * spline(reached, 1)
        controls[:, i] = pulls[dof]
        if dof in sources.sensor_columns:
            torque = recorded.data[:, sources.sensor_columns[dof]]
            controls[:, i] += np.interp(times, recorded.times, torque)
        followers[dof] = i
        first[1 + address], first[1 + model.nq + dof] = spline(start), spline(start, 1)
    states = _simulated(model, first, controls)
    if states is None:
        return None
    qpos = states[:, 1 : 1 + model.nq]
    qvel = states[:, 1 + model.nq : 1 + model.nq + model.nv]
    for dof, i in followers.items():
        stiffness, damping = -model.actuator_biasprm[i, 1:3]
        address = int(model.jnt_qposadr[int(model.actuator_trnid[i, 0])])
        place = (1 - within) * qpos[:-1, address] + within * qpos[1:, address]
        speed = (1 - late) * qvel[:-1, dof] + late * qvel[1:, dof]
        pulls[dof] -= stiffness * place + damping * speed
    ends = start + step * np.arange(steps + 1)
    data = recorded.data.copy()
    for address, column in columns.positions.items():
        data[:, column] = CubicSpline(ends, qpos[:, address])(recorded.times)
        away = data[:, column] - recorded.data[:, column]
        if not np.std(away) <= _LOST * max(float(np.std(recorded.data[:, column])), 1e-12):
            return None
    for dof, column in columns.velocities.items():
        data[:, column] = CubicSpline(ends, qvel[:, dof])(recorded.times)
    force = np.zeros((len(trajectory.control.times), model.nu - own))
    for dof, i in followers.items():
        force[:, i - own] = _held(times, pulls[dof], trajectory.control.times, control)
    held = np.column_stack([trajectory.control.data, force])
    return FollowedMotion(
        trajectory.replace(
            control=TimeSeries(trajectory.control.times, held),
            sensordata=TimeSeries(recorded.times, data, recorded.signal_mapping),
        ),
        followers,
    )


def _with_followers(spec: Any) -> mujoco.MjModel:
    """The model with one more motor on each scalar joint, after its own actuators."""
    spec = spec.copy()
    flags = mujoco.mjtDisableBit
    spec.option.disableflags |= int(flags.mjDSBL_CONTACT) | int(flags.mjDSBL_LIMIT)
    for number, joint in enumerate(spec.joints):
        if int(joint.type) in _SCALAR and joint.name:
            added = spec.add_actuator(name=f"follower {number}", target=joint.name)
            added.trntype = mujoco.mjtTrn.mjTRN_JOINT
            added.gaintype = mujoco.mjtGain.mjGAIN_FIXED
            added.biastype = mujoco.mjtBias.mjBIAS_AFFINE
            added.gainprm = [1.0] + 9 * [0.0]
            added.biasprm = 10 * [0.0]
    return compile_spec(spec)


def _gains(
    model: mujoco.MjModel, recorded: np.ndarray, columns: StateColumns
) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness ``(nv,)`` [N m/rad, N/m] and damping ``(nv,)`` of followers, in the mean pose.

    The stiffness exceeds the largest slope of the gravity torque, for links that stand upright. In
    a closed loop a follower holds the joints that follow too, by their velocity per velocity of
    its own.
    """
    data = mujoco.MjData(model)
    for address, column in columns.positions.items():
        data.qpos[address] = recorded[:, column].mean()
    shares = np.eye(model.nv)
    if columns.loops is not None:
        places = list(columns.positions)
        away = columns.loops.solved[:, places] - data.qpos[places]
        data.qpos[:] = columns.loops.solved[int(np.argmin(np.square(away).sum(axis=1)))]
        for loop in columns.loops.loops:
            slopes = loop.slopes(np.array(data.qpos)[None])[0]
            shares[np.ix_(loop.unknown, loop.known)] = slopes
    mujoco.mj_fwdPosition(model, data)
    mass = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, mass)
    joints = model.dof_jntid
    bodies = model.jnt_bodyid[joints]
    levers = np.linalg.norm(data.subtree_com[bodies] - data.xanchor[joints], axis=1)
    weights = model.body_subtreemass[bodies] * np.linalg.norm(model.opt.gravity)
    turns = model.jnt_type[joints] == int(mujoco.mjtJoint.mjJNT_HINGE)
    inertia = np.einsum("ij,ik,kj->j", shares, mass, shares)
    load = np.square(shares).T @ np.where(turns, weights * levers, 0.0)
    stiffness = inertia * _RATE**2 + load
    return stiffness, 2 * _DAMPING * np.sqrt(stiffness * inertia)


def _silence(model: mujoco.MjModel, sources: TorqueSources, own: int) -> None:
    """Switch off the actuators whose torque was recorded, which is applied in their place."""
    for dof in sources.sensor_columns:
        kept = sources.actuators.get(dof, ())
        for i in actuators_of(model, dof):
            if i < own and i not in kept:
                model.actuator_gaintype[i] = int(mujoco.mjtGain.mjGAIN_FIXED)
                model.actuator_biastype[i] = int(mujoco.mjtBias.mjBIAS_NONE)
                model.actuator_gainprm[i] = 0.0


def _smoothed_positions(
    trajectory: SystemTrajectory, positions: Mapping[int, int], corner: float
) -> dict[int, CubicSpline]:
    """Recorded positions after a zero-phase filter, by index into qpos."""
    times = trajectory.sensordata.times
    step = float(np.median(np.diff(times)))
    grid = times[0] + step * np.arange(int((times[-1] - times[0]) / step) + 1)
    chosen = list(positions.values())
    signals = CubicSpline(times, trajectory.sensordata.data[:, chosen])(grid)
    if corner < 0.45 / step:
        signals = butterworth(grid, signals, cutoff=corner, order=4)
    return {address: CubicSpline(grid, signals[:, k]) for k, address in enumerate(positions)}


def _end_share(model: mujoco.MjModel) -> float:
    """Share of the velocity at the end of a step, as opposed to its beginning, in damping."""
    if int(model.opt.integrator) in _IMPLICIT:
        return 1.0
    return 0.0 if int(model.opt.integrator) == int(mujoco.mjtIntegrator.mjINT_EULER) else 0.5


def _simulated(model: mujoco.MjModel, first: np.ndarray, controls: np.ndarray) -> np.ndarray | None:
    """States before and after each step ``(steps + 1, state size)``; None if it diverges."""
    start = held_states([model], first[None], controls[:1])
    with captured_warnings() as warnings:
        states, _ = rollout(model, mujoco.MjData(model), start, controls[None], nstep=len(controls))
        diverged = bool(warnings)
    out = np.concatenate([start, np.asarray(states)[0]])
    # not yet seen as unstable by MuJoCo, but too far off for squares of its numbers
    return None if diverged or not np.abs(out[:, 1:]).max() < _FAR else out


def _held(
    times: np.ndarray, force: np.ndarray, at: np.ndarray, control: InterpolationMethod
) -> np.ndarray:
    """Mean of a force over the interval of each control ``(n,)``.

    A held control acts after its time, another one about it.

    Args:
      times: begin of each step of the simulation ``(steps,)`` [s].
      force: force in each step ``(steps,)``.
      at: times of the controls ``(n,)`` [s].
      control: ``zoh`` or ``linear``.
    """
    step, pace = times[1] - times[0], float(np.median(np.diff(at)))
    begin = at if control == "zoh" else at - 0.5 * pace
    total = np.concatenate([[0.0], np.cumsum(force) * step])
    grid = times[0] + step * np.arange(len(times) + 1)
    low, high = (np.clip(edge, grid[0], grid[-1]) for edge in (begin, begin + pace))
    width = np.maximum(high - low, 1e-12)
    mean = (np.interp(high, grid, total) - np.interp(low, grid, total)) / width
    inside = high - low > 0.5 * step
    return np.where(inside, mean, 0.0)
