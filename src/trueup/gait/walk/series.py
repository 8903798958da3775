"""Time series of a walk: joints, moments, ground reaction, muscles, device.

Frames are those of the costs. A walk is simulated once, the state of each frame is recorded, and
one forward pass per frame computes the forces.
"""

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from mujoco.batch import Batch

from trueup.gait.models.body_map import Joint
from trueup.gait.models.metabolic import measure_muscle_powers
from trueup.gait.models.terrain import Stairs
from trueup.gait.models.walker import Walker
from trueup.gait.walk.frames import ACTIVATIONS, FRAME
from trueup.gait.walk.gait_cycle import Stride, strides_of
from trueup.gait.walk.records import End, WalkRecords
from trueup.gait.walk.simulation import WalkSimulation
from trueup.simulation.engine.warning_capture import captured_warnings

JOINTS = ("hip", "knee", "ankle")
"""Joints, in the order of every array with a joint axis."""

MUSCLE_STATE = ("stimulation", "activation", "length", "velocity")
"""Inputs of the metabolic power of a muscle."""

TRUNK_HEIGHT = 1.6
"""Length of the trunk of a stick figure relative to the distance of its centre of mass from the
hips."""


@dataclass(frozen=True)
class WalkSeries:
    """One walk at the rate of its frames; legs: right, left; joints: hip, knee, ankle.

    Attributes:
      time: time of each frame ``(frames,)`` [s].
      states: states of the simulation ``(frames, size)``, for ``mj_setState``.
      angles: flexion of the joints ``(frames, 2, 3)`` [rad].
      trunk: lean of the trunk, forward positive ``(frames,)`` [rad].
      moments: internal moments of the joints ``(frames, 2, 3)``, extension and plantarflexion
        positive [N m]: sum of muscles, tissue and device.
      device_moments: contribution of the device ``(frames, 2, 3)`` [N m].
      powers: power of the joints ``(frames, 2, 3)``, generation positive [W].
      ground_force: force of the ground on each foot ``(frames, 2, 3)``: forward along the ground,
        to the left, and normal to it [N].
      load: touch sensors of each foot ``(frames, 2)`` [body weights].
      activations: activations of the muscles ``(frames, muscles)`` [0, 1].
      muscle_powers: metabolic power of the muscles ``(frames, muscles)`` [W].
      device_torque: torque of the exoskeleton ``(frames, 2)`` [N m]; zero without one.
      device_power: power delivered by the exoskeleton ``(frames, 2)`` [W].
      places: positions of hip, knee, ankle and points of the sole ``(frames, 2, points, 3)`` [m].
      head: upper end of the trunk ``(frames, 3)`` [m].
      muscles: names of the muscles.
      period: time between frames [s].
      mass: mass of the walker [kg].
      weight: weight of the walker [N].
      slope: rise of the ground [deg].
      stairs: stairs on the ground.
      ended: 0 complete, 1 fall, 2 divergence.
      threshold: load above which a foot is on the ground [body weights].
      has_device: whether an exoskeleton acts.
    """

    time: np.ndarray
    states: np.ndarray
    angles: np.ndarray
    trunk: np.ndarray
    moments: np.ndarray
    device_moments: np.ndarray
    powers: np.ndarray
    ground_force: np.ndarray
    load: np.ndarray
    activations: np.ndarray
    muscle_powers: np.ndarray
    device_torque: np.ndarray
    device_power: np.ndarray
    places: np.ndarray
    head: np.ndarray
    muscles: tuple[str, ...]
    period: float
    mass: float
    weight: float
    slope: float
    stairs: Stairs | None
    ended: int
    threshold: float
    has_device: bool

    @property
    def fell(self) -> bool:
        """Whether the walk ended before its full duration."""
        return self.ended != 0

    def strides(self, leg: int, most: int | None = None) -> list[Stride]:
        """The complete strides of a leg, limited to the last ``most``."""
        return strides_of(self.load[:, leg], leg, self.period, self.threshold, most)


def observe_walks(
    simulation: WalkSimulation, X: np.ndarray
) -> tuple[WalkRecords, list[WalkSeries | None]]:
    """Series of the walks of vectors ``X (n, size)``; None for walks that cannot start.

    Raises:
      GaitError: vectors of another length, or with values that are not finite.
    """
    X = np.atleast_2d(np.asarray(X, dtype=float))
    records, states = walk_with_states(simulation, X)
    series = [
        _series(simulation, records, states[i], i) if records.length[i] else None
        for i in range(len(X))
    ]
    return records, series


def walk_with_states(
    simulation: WalkSimulation, X: np.ndarray
) -> tuple[WalkRecords, list[np.ndarray]]:
    """Records, and the states ``(frames, size)`` of each walk."""
    kept: dict[int, np.ndarray] = {}
    batches: list[Batch] = []

    def observe(tick: int, batch: Batch) -> None:
        if not batches:
            batches.append(batch)
        if tick and tick % every == 0:
            kept[tick // every - 1] = np.array(batch.state)

    every = simulation.frame_every
    records = simulation.run(X, observe)
    found = []
    for i in range(len(X)):
        rows = [kept[k][i] for k in range(records.length[i]) if k in kept]
        # the last frame has no control step, so it is not observed
        if len(rows) < records.length[i]:
            rows.append(np.array(batches[0].state[i]))
        found.append(np.array(rows))
    return records, found


def _series(
    simulation: WalkSimulation, records: WalkRecords, states: np.ndarray, row: int
) -> WalkSeries:
    walker, model = simulation.walker, simulation.walker.model
    ended = int(records.ended[row])
    # the last frame of a diverged simulation has no valid forces
    length = max(int(records.length[row]) - (ended == End.diverged), 1)
    states = states[:length]
    frames = records.frames[row, :length].copy()
    columns = {name: frames[:, k] for k, name in enumerate(FRAME)}
    has_device = simulation.profile is not None
    found = _forward_passes(walker, states, has_device)
    straight = np.array([np.pi, np.pi, 0.5 * np.pi])
    angles = np.stack(
        [np.stack([columns[f"{j}_{s}"] for j in JOINTS], axis=1) for s in "rl"], axis=1
    )
    moments, device, powers = _joint_moments(walker, found)
    spent = np.zeros_like(found["activation"])
    measure_muscle_powers(simulation.fibers, *(found[name] for name in MUSCLE_STATE), spent)
    return WalkSeries(
        time=columns["time"],
        states=states,
        angles=straight - angles,
        trunk=columns["torso_pitch"],
        moments=moments,
        device_moments=device,
        powers=powers,
        ground_force=_along_the_ground(found["ground"], walker.slope),
        load=np.stack([columns["load_r"], columns["load_l"]], axis=1),
        activations=frames[:, ACTIVATIONS:],
        muscle_powers=spent,
        device_torque=np.stack([columns["exo_r"], columns["exo_l"]], axis=1),
        device_power=found["device_power"],
        places=found["places"],
        head=found["head"],
        muscles=records.muscles,
        period=records.period,
        mass=records.mass,
        weight=records.mass * float(np.linalg.norm(model.opt.gravity)),
        slope=walker.slope,
        stairs=walker.stairs,
        ended=ended,
        threshold=simulation.controller.load_threshold,
        has_device=has_device,
    )


def _forward_passes(walker: Walker, states: np.ndarray, device: bool) -> dict[str, np.ndarray]:
    """Forces and positions at each frame: generalised forces, velocities, joints and ground."""
    model, n = walker.model, len(states)
    data = mujoco.MjData(model)
    joints, feet, body = _joint_ids(walker), _foot_bodies(walker), walker.body_map(())
    muscles = body.muscles
    torso, soles = int(body.parts[0]["torso"]), body.soles
    exo = walker.parts.exoskeleton() if device else []
    found = {
        "force": np.zeros((n, model.nv)),
        "device": np.zeros((n, model.nv)),
        "qpos": np.zeros((n, model.nq)),
        "qvel": np.zeros((n, model.nv)),
        "ground": np.zeros((n, 2, 3)),
        "device_power": np.zeros((n, 2)),
        "places": np.zeros((n, 2, 3 + soles.shape[1], 3)),
        "head": np.zeros((n, 3)),
        **{name: np.zeros((n, len(muscles))) for name in MUSCLE_STATE},
    }
    everything = mujoco.mjtState.mjSTATE_INTEGRATION
    with captured_warnings():
        for k, state in enumerate(states):
            mujoco.mj_setState(model, data, state, everything)
            mujoco.mj_forward(model, data)
            found["force"][k] = data.qfrc_actuator + data.qfrc_passive + _limit_forces(model, data)
            found["qpos"][k], found["qvel"][k] = data.qpos, data.qvel
            found["stimulation"][k] = data.ctrl[muscles["ctrl"]]
            found["activation"][k] = data.act[muscles["act"]]
            found["length"][k] = data.actuator_length[muscles["actuator"]]
            found["velocity"][k] = data.actuator_velocity[muscles["actuator"]]
            _add_ground_forces(model, data, feet, found["ground"][k])
            for leg in range(2):
                found["places"][k, leg, :3] = data.xanchor[joints[leg]]
                found["places"][k, leg, 3:] = data.site_xpos[soles[leg]]
            hips = found["places"][k, :, 0].mean(axis=0)
            found["head"][k] = hips + TRUNK_HEIGHT * (data.xipos[torso] - hips)
            for leg, i in enumerate(exo):
                force = data.actuator_force[i]
                found["device"][k] += force * _moment_arms(model, data, i)
                found["device_power"][k, leg] = force * data.actuator_velocity[i]
    return found


def _add_ground_forces(
    model: mujoco.MjModel, data: mujoco.MjData, feet: list[list[int]], total: np.ndarray
) -> None:
    """Add the forces ``(2, 3)`` of fixed bodies on the bodies of each foot."""
    bodies = model.geom_bodyid[data.contact.geom]
    fixed = model.body_weldid[bodies] == 0
    force = np.zeros(6)
    for k in np.flatnonzero(fixed.any(axis=1)):
        moving = bodies[k, 1] if fixed[k, 0] else bodies[k, 0]
        for leg in range(2):
            if moving in feet[leg]:
                mujoco.mj_contactForce(model, data, int(k), force)
                # in the frame of the contact, from its first geom on its second
                pushed = data.contact.frame[k].reshape(3, 3).T @ force[:3]
                total[leg] += pushed if fixed[k, 0] else -pushed


def _limit_forces(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """Generalised forces ``(nv,)`` of the joint limits."""
    forces = np.zeros(model.nv)
    for row in np.flatnonzero(data.efc_type == mujoco.mjtConstraint.mjCNSTR_LIMIT_JOINT):
        joint = data.efc_id[row]
        low, high = model.jnt_range[joint]
        is_low = data.qpos[model.jnt_qposadr[joint]] < 0.5 * (low + high)
        forces[model.jnt_dofadr[joint]] += data.efc_force[row] * (1.0 if is_low else -1.0)
    return forces


def _moment_arms(model: mujoco.MjModel, data: mujoco.MjData, actuator: int) -> np.ndarray:
    """Moment arms ``(nv,)`` of an actuator."""
    arms = np.zeros(model.nv)
    start = data.moment_rowadr[actuator]
    part = slice(start, start + data.moment_rownnz[actuator])
    arms[data.moment_colind[part]] = data.actuator_moment[part]
    return arms


def _joint_moments(
    walker: Walker, found: dict[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Moments of the joints ``(frames, 2, 3)``, contribution of the device, and powers."""
    model, joints = walker.model, _joint_ids(walker)
    # flexion is positive in the coordinates of hips and ankles, negative in that of knees
    sign = np.array([-1.0, 1.0, -1.0])
    moments, device, powers = (np.zeros((len(found["qpos"]), 2, 3)) for _ in range(3))
    for leg in range(2):
        for k, joint in enumerate(joints[leg]):
            slopes = _coupled(model, found["qpos"], joint)
            total = sum(found["force"][:, dof] * slope for dof, slope in slopes.items())
            moments[:, leg, k] = sign[k] * total
            own = sum(found["device"][:, dof] * slope for dof, slope in slopes.items())
            device[:, leg, k] = sign[k] * own
            powers[:, leg, k] = total * found["qvel"][:, model.jnt_dofadr[joint]]
    return moments, device, powers


def _coupled(model: mujoco.MjModel, qpos: np.ndarray, joint: int) -> dict[int, Any]:
    """Degrees of freedom coupled to a joint, including itself, with their derivatives.

    By virtual work a force on a coordinate coupled to the joint by a polynomial, such as the
    translation of a knee, contributes its derivative times the force to the joint.
    """
    slopes: dict[int, Any] = {int(model.jnt_dofadr[joint]): 1.0}
    change = qpos[:, model.jnt_qposadr[joint]] - model.qpos0[model.jnt_qposadr[joint]]
    for row in range(model.neq):
        is_joint = model.eq_type[row] == mujoco.mjtEq.mjEQ_JOINT
        if is_joint and model.eq_obj2id[row] == joint:
            derivative = np.polynomial.polynomial.polyder(model.eq_data[row, :5])
            follower = int(model.jnt_dofadr[model.eq_obj1id[row]])
            slopes[follower] = np.polynomial.polynomial.polyval(change, derivative)
    return slopes


def _along_the_ground(force: np.ndarray, slope: float) -> np.ndarray:
    """Forces ``(..., 3)`` from world axes to the axes of a ground with a slope [deg]."""
    cos, sin = np.cos(np.deg2rad(slope)), np.sin(np.deg2rad(slope))
    forward = cos * force[..., 0] + sin * force[..., 2]
    upright = cos * force[..., 2] - sin * force[..., 0]
    return np.stack([forward, force[..., 1], upright], axis=-1)


def _joint_ids(walker: Walker) -> np.ndarray:
    """Ids of hip, knee and ankle ``(2, 3)``."""
    return walker.parts.joints([Joint[name] for name in JOINTS])


def _foot_bodies(walker: Walker) -> list[list[int]]:
    """Bodies of each foot: the main one and its descendants."""
    model, found = walker.model, []
    for foot in walker.body_map(()).parts[0]["feet"]:
        bodies = [int(foot)]
        for body in range(int(foot) + 1, model.nbody):
            if int(model.body_parentid[body]) in bodies:
                bodies.append(body)
        found.append(bodies)
    return found
