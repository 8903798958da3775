"""Torque and its regressor for one recording."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import mujoco
import numpy as np
from scipy.ndimage import uniform_filter1d

from trueup.errors import SignalError
from trueup.simulation.loops.projection import velocity_shares
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.simulation.measured.system_trajectory import SystemTrajectory
from trueup.sysid.torque.joint_motion import (
    JointMotion,
    SmoothedRecording,
    TorqueSources,
    check_measured,
    smoothed_recording,
    torque_sources,
)
from trueup.sysid.torque.known_errors import OwnErrors
from trueup.sysid.torque.left_out_forces import left_out_sentence
from trueup.sysid.torque.link_regressor import check_joints, link_regressor

_SLOWEST = 0.002  # share of the RMS velocity below which the direction of a joint is unknown
_FEWEST = 0.2  # share of samples at which a joint slides, below which all of them count
_REACH = 0.25  # time that the filter spreads it over, in periods of the corner frequency


@dataclass(frozen=True)
class TorqueData:
    """One recording for inverse dynamics."""

    motion: JointMotion
    sources: TorqueSources
    model: mujoco.MjModel
    links: np.ndarray
    """Torque for each link parameter ``(T, dofs, 10 nbody)``."""
    own_error: np.ndarray | None = None
    """Error of inverse dynamics itself ``(T, dofs)`` per unit of the gains of drives, which is
    subtracted from the applied torque; see :mod:`trueup.sysid.torque.own_error`. None: not
    known."""
    slides: np.ndarray | None = None
    """Samples that count ``(T, dofs)`` bool: the joint does not rest or turn round, where friction
    is any torque up to its limit. None: all."""
    shares: np.ndarray | None = None
    """Velocity of each joint of closed loops per velocity of each row ``(T, acting, dofs)``, by
    which forces on it act on the row; None: each joint is a row of its own."""

    @property
    def forces(self) -> list[tuple[int, int, np.ndarray | float]]:
        """Degree of freedom, row on which its force acts, and its share ``(T,)``, each not zero."""
        if self.shares is None:
            return [(dof, k, 1.0) for k, dof in enumerate(self.sources.dofs)]
        return [
            (dof, k, 1.0 if np.all(self.shares[:, a, k] == 1.0) else self.shares[:, a, k])
            for a, dof in enumerate(self.sources.acting)
            for k in range(len(self.sources.dofs))
            if np.any(self.shares[:, a, k])
        ]

    def on_rows(self, torques: np.ndarray) -> np.ndarray:
        """Torques on rows ``(T, dofs, ...)`` of those of a tree of links ``(T, nv, ...)``."""
        if self.shares is None:
            return torques[:, list(self.sources.dofs)]
        return np.einsum("ta...,tak->tk...", torques[:, list(self.sources.acting)], self.shares)

    @property
    def counts(self) -> np.ndarray:
        """Samples that count, as factors 0 and 1 ``(T, dofs)``."""
        if self.slides is None:
            return np.ones((len(self.motion.times), len(self.sources.dofs)))
        return self.slides.astype(float)

    @property
    def name(self) -> str:
        """Name of the recording."""
        return self.motion.name

    def applied(self, fields: dict[str, np.ndarray], raw: bool = False) -> np.ndarray:
        """Applied torque of each joint ``(n, T, dofs)``.

        Args:
          fields: fields of candidate models ``(n, ...)``.
          raw: unfiltered instead of filtered.
        """
        motion = self.motion
        recorded = motion.recorded_raw if raw else motion.recorded
        controls = motion.controls_raw if raw else motion.controls
        gear, gain, bias = (fields[f"actuator_{name}"] for name in ("gear", "gainprm", "biasprm"))
        count = len(gear)
        out = np.zeros((count, len(motion.times), len(self.sources.dofs)))
        for dof, k, share in self.forces:
            total = np.zeros((count, len(motion.times)))
            if dof in self.sources.sensor_columns:
                total += recorded[:, self.sources.sensor_columns[dof]]
            address = self.address(dof)
            for i in self.sources.actuators.get(dof, ()):
                ratio = gear[:, i, :1]
                force = gain[:, i, :1] * controls[:, i] + bias[:, i, :1]
                force = force + bias[:, i, 1:2] * ratio * motion.qpos[:, address]
                force = force + bias[:, i, 2:3] * ratio * motion.qvel[:, dof]
                total += ratio * force
            out[:, :, k] += share * total
        if self.own_error is None:
            return out
        # a gain that only its ratio to others determines is not determined by the own error
        return out - self.own_error * self.drive_gains(fields)[:, None, :]

    def address(self, dof: int) -> int:
        """Index into qpos of the joint of a degree of freedom."""
        return int(self.model.jnt_qposadr[int(self.model.dof_jntid[dof])])

    def is_effort(self, dof: int) -> bool:
        """Whether the torque of a joint is recorded, and not that of a servo at its position."""
        which = self.sources.actuators.get(dof, ())
        return not any(np.any(self.model.actuator_biasprm[i, 1:3]) for i in which)

    def drive_gains(self, fields: dict[str, np.ndarray]) -> np.ndarray:
        """Torque of each joint per unit of its controls ``(n, dofs)``; 1 for recorded torques.

        Noise of a control is scaled by this factor in the torque.
        """
        gear, gain = fields["actuator_gear"], fields["actuator_gainprm"]
        out = np.ones((len(gear), len(self.sources.dofs)))
        for k, dof in enumerate(self.sources.dofs):
            which = list(self.sources.actuators.get(dof, ()))
            if which and dof not in self.sources.sensor_columns:
                out[:, k] = np.sqrt(np.square(gear[:, which, 0] * gain[:, which, 0]).sum(axis=1))
        return out

    def regressor(self, zero: np.ndarray) -> np.ndarray:
        """Torque for each link parameter ``(T, dofs, 10 nbody)``, for zeros of joints ``(nq,)``."""
        if np.array_equal(zero, self.model.qpos0):
            return self.links
        motion = self.motion
        if self.shares is None:
            found = link_regressor(self.model, motion.qpos, motion.qvel, motion.qacc, zero)
            return self.on_rows(found)
        model = copy(self.model)
        model.qpos0[:] = zero
        # MuJoCo places the second anchor of a loop in the pose of qpos0
        mujoco.mj_setConst(model, mujoco.MjData(model))
        qpos, qvel, qacc = motion.qpos.copy(), motion.qvel.copy(), motion.qacc.copy()
        loops = [loop.of(model) for loop in self.sources.loops]
        for loop in loops:
            loop.settle(qpos, qvel, qacc, motion.times)
        sources = self.sources
        shares = velocity_shares(loops, qpos, sources.acting, sources.dofs, motion.times)
        return replace(self, shares=shares).on_rows(link_regressor(model, qpos, qvel, qacc))

    def needed(self, links: np.ndarray, fields: dict[str, np.ndarray]) -> np.ndarray:
        """Torque of inverse dynamics of the motion ``(n, T, dofs)``.

        Args:
          links: link parameters ``(n, 10 nbody)``.
          fields: fields of candidate models ``(n, ...)``.
        """
        motion = self.motion
        shape = self.links.shape
        out = np.empty((len(links), *shape[:2]))
        # candidates with the same joint zeros share a regressor
        zeros, which = np.unique(fields["qpos0"], axis=0, return_inverse=True)
        for k, zero in enumerate(zeros):
            own = np.flatnonzero(which.reshape(-1) == k)
            regressor = self.regressor(zero).reshape(-1, shape[2])
            out[own] = (links[own] @ regressor.T).reshape(len(own), *shape[:2])
        for dof, k, share in self.forces:
            joint, address = int(self.model.dof_jntid[dof]), self.address(dof)
            own = out[:, :, k]
            own += fields["dof_armature"][:, dof, None] * (share * motion.qacc[:, dof])
            own += fields["dof_damping"][:, dof, None] * (share * motion.qvel[:, dof])
            own += fields["dof_frictionloss"][:, dof, None] * (share * motion.direction[:, dof])
            stretch = motion.qpos[:, address] - fields["qpos_spring"][:, address, None]
            own += fields["jnt_stiffness"][:, joint, None] * (share * stretch)
        return out


def torque_data_of(
    model: mujoco.MjModel, motion: JointMotion, sources: TorqueSources
) -> TorqueData:
    """Torque and regressor of one motion."""
    links = link_regressor(model, motion.qpos, motion.qvel, motion.qacc)
    rows = list(sources.dofs)
    if not sources.following:
        return TorqueData(motion, sources, model, links[:, rows])
    shares = velocity_shares(sources.loops, motion.qpos, sources.acting, rows, motion.times)
    part = TorqueData(motion, sources, model, links, shares=shares)
    return replace(part, links=part.on_rows(links))


def joint_names(model: mujoco.MjModel, dofs: Sequence[int]) -> list[str]:
    """Names of the joints of degrees of freedom."""
    return [model.joint(int(model.dof_jntid[d])).name or f"joint {d}" for d in dofs]


class RecalledRecordings:
    """Torques of recordings that several steps use with one filter, each computed once.

    Args:
      trajectories: the recordings; others are not kept.
      bandwidth: corner frequency of the filter [Hz].
    """

    def __init__(self, trajectories: Sequence[SystemTrajectory], bandwidth: float):
        self.bandwidth = bandwidth
        self._smoothed: dict[SystemTrajectory, SmoothedRecording | None]
        self._smoothed = dict.fromkeys(trajectories)
        self._parts: dict[tuple[SystemTrajectory, frozenset[int], bytes], TorqueData] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return RecalledRecordings, ((), self.bandwidth)

    def smoothed(self, trajectory: SystemTrajectory) -> SmoothedRecording:
        """A recording after the filter."""
        found = self._smoothed.get(trajectory)
        if found is None:
            found = smoothed_recording(trajectory, self.bandwidth)
            if trajectory in self._smoothed:
                self._smoothed[trajectory] = found
        return found

    def part(
        self, trajectory: SystemTrajectory, drives: set[int], slowest: np.ndarray
    ) -> TorqueData | None:
        """Torque and regressor of a recording, all samples counted; None if it has no torque.

        Args:
          trajectory: the recording.
          drives: actuators with a recorded control.
          slowest: from :func:`slowest_speeds`.
        """
        key = trajectory, frozenset(drives), slowest.tobytes()
        if key not in self._parts:
            model = trajectory.model
            check_joints(model)
            check_measured(trajectory)
            sources = torque_sources(model, trajectory.sensordata, drives)
            if not sources.has_torque:
                return None
            motion = self.smoothed(trajectory).with_directions(slowest)
            found = torque_data_of(model, motion, sources)
            if trajectory not in self._smoothed:
                return found
            self._parts[key] = found
        return self._parts[key]


def slowest_speeds(
    trajectories: Sequence[SystemTrajectory],
    bandwidth: float,
    recalled: RecalledRecordings | None = None,
) -> np.ndarray:
    """Minimum velocity of each joint for a known direction ``(nv,)``."""
    recalled = recalled or RecalledRecordings((), bandwidth)
    motions = [recalled.smoothed(t).motion for t in trajectories]
    squares = np.concatenate([np.square(m.qvel) for m in motions])
    return np.maximum(_SLOWEST * np.sqrt(squares.mean(axis=0)), 1e-9)


def rest_speeds(slowest: np.ndarray, share: float | np.ndarray) -> np.ndarray:
    """Velocity of each joint below which it rests or turns round ``(nv,)``.

    Args:
      slowest: from :func:`slowest_speeds`.
      share: this velocity relative to the root mean square of each joint.
    """
    return slowest * (share / _SLOWEST)


def sliding(
    motion: JointMotion, dofs: Sequence[int], rest: np.ndarray, bandwidth: float
) -> np.ndarray:
    """Samples at which joints slide, and the filter reaches no others ``(T, dofs)`` bool.

    All samples of a joint that hardly slides.

    Args:
      motion: motion of a recording.
      dofs: its joints.
      rest: velocity of each joint below which its samples do not count ``(nv,)``.
      bandwidth: corner frequency of the filter [Hz].
    """
    slow = np.abs(motion.qvel[:, dofs]) < rest[list(dofs)]
    reach = round(_REACH / (bandwidth * float(np.median(np.diff(motion.times)))))
    near = uniform_filter1d(slow.astype(float), 2 * reach + 1, axis=0, mode="nearest")
    slides = near < 0.5 / (2 * reach + 1)
    slides[:, slides.mean(axis=0) < _FEWEST] = True
    return slides


def torque_data(
    groups: Sequence[ModelSequences],
    bandwidth: float,
    slowest: np.ndarray,
    driven: dict[str, set[int]] | None = None,
    own_errors: OwnErrors | None = None,
    rest: np.ndarray | None = None,
    held: bool = False,
    recalled: RecalledRecordings | None = None,
) -> list[TorqueData]:
    """Torque and regressors of all recordings.

    Args:
      groups: models with their recordings.
      bandwidth: corner frequency of the filter [Hz].
      slowest: from :func:`slowest_speeds`.
      driven: actuators with a recorded control, by recording; None: all.
      own_errors: errors of inverse dynamics itself; None: not known.
      rest: velocity of each joint below which its samples do not count ``(nv,)``; None: all count.
      held: whether recorded controls are held from their sample to the next.
      recalled: recordings that are known; of another filter, they are computed anew.

    Raises:
      SignalError: no recording has a torque, or a joint was not measured.
      ModelError: a free or ball joint.
    """
    out = []
    if recalled is None or recalled.bandwidth != bandwidth:
        recalled = RecalledRecordings((), bandwidth)
    for group in groups:
        for trajectory in group.measured_rollout:
            every = set(range(trajectory.model.nu))
            drives = every if driven is None else driven.get(trajectory.name, set())
            part = recalled.part(trajectory, drives, slowest)
            if part is None:
                continue
            motion = part.motion
            own = own_errors and own_errors.at(trajectory.name, motion.times)
            slides = None if rest is None else sliding(motion, part.sources.dofs, rest, bandwidth)
            motion = motion.centred() if held else motion
            out.append(replace(part, motion=motion, own_error=own, slides=slides))
    if not out:
        reasons = {left_out_sentence(t.model) for g in groups for t in g.measured_rollout} - {""}
        if reasons:
            raise SignalError(
                f"{'; '.join(sorted(reasons))}, and no other joint has a recorded torque: use "
                "search: {method: least-squares}, which simulates these forces"
            )
        raise SignalError(
            "inverse dynamics requires torques, but no recording has the control of a motor on a "
            "joint, or its torque (a jointactuatorfrc sensor). If the model has position servos "
            "and torques were recorded, give model: {actuators: torque}"
        )
    return out
