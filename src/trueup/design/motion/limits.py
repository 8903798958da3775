"""Limits of a designed motion, per joint, and excess of a simulated motion over them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from trueup.design.motion.family import CommandLimits
from trueup.errors import ExperimentError, did_you_mean, listing
from trueup.sysid.experiment.settings import DesignLimits

SPEED, ACCELERATION, REACH = 2.0, 20.0, 1.0
"""Limits [rad/s, rad/s^2, rad] if neither the experiment nor the model has one."""

_LEAST_ROOM = 1e-3  # smallest range of a motion [rad, m]


@dataclass(frozen=True)
class ResolvedLimits:
    """Limits of the ``n`` moving joints; infinite if there is none."""

    joints: tuple[str, ...]
    lower: np.ndarray
    upper: np.ndarray
    speed: np.ndarray
    acceleration: np.ndarray
    torque: np.ndarray
    torque_rms: np.ndarray
    clearance: float
    margin: float

    def commands(self) -> CommandLimits:
        """Limits of commands, without the margin."""
        keep = 1.0 - self.margin
        room = 0.5 * self.margin * (self.upper - self.lower)
        return CommandLimits(
            self.lower + room, self.upper - room, keep * self.speed, keep * self.acceleration
        )

    def excess(
        self, position: np.ndarray, speed: np.ndarray, force: np.ndarray, margin: float
    ) -> dict[str, np.ndarray]:
        """Relative excess of a motion over each limit, 0 within it ``(m,)``.

        Args:
          position: positions ``(m, T, n)`` [rad, m].
          speed: speeds ``(m, T, n)`` [rad/s, m/s].
          force: forces of the actuators ``(m, T, n)`` [N m, N].
          margin: margin as a fraction of the limits.
        """
        keep = 1.0 - margin
        span = self.upper - self.lower
        room = 0.5 * margin * span
        outside = np.maximum(position - (self.upper - room), (self.lower + room) - position)
        rms = np.sqrt((force**2).mean(axis=1))
        found = {
            "position": (outside / span).max(axis=(1, 2)),
            "speed": (np.abs(speed) / (keep * self.speed) - 1).max(axis=(1, 2)),
            "torque": (np.abs(force) / (keep * self.torque) - 1).max(axis=(1, 2)),
            "heat": (rms / (keep * self.torque_rms) - 1).max(axis=1),
        }
        return {what: np.maximum(value, 0.0) for what, value in found.items()}

    def by_joint(self) -> list[dict[str, Any]]:
        """Limits of each joint, as plain data."""
        keys = ("lower", "upper", "speed", "acceleration", "torque", "torque_rms")
        return [
            {"joint": joint, **{key: float(getattr(self, key)[i]) for key in keys}}
            for i, joint in enumerate(self.joints)
        ]


def resolve_limits(
    part: DesignLimits,
    model: mujoco.MjModel,
    joints: Sequence[str],
    actuators: Sequence[int],
    pose: np.ndarray,
) -> ResolvedLimits:
    """Limits of the moving joints.

    Raises:
      ExperimentError: a limit of a joint that does not move, or limits that exclude any motion.
    """
    for what in ("position", "speed", "acceleration", "torque", "torque_rms"):
        _check_names(what, getattr(part, what), joints)
    ranges = [_range(part, model, joint, pose[i]) for i, joint in enumerate(joints)]
    lower, upper = np.array(ranges, float).T
    torque = _each(part.torque, joints, np.inf)
    for i, (joint, actuator) in enumerate(zip(joints, actuators, strict=True)):
        number = model.joint(joint).id
        own = [np.inf]
        if model.actuator_forcelimited[actuator]:
            own.append(np.abs(model.actuator_forcerange[actuator]).min())
        if model.jnt_actfrclimited[number]:
            own.append(np.abs(model.jnt_actfrcrange[number]).min())
        torque[i] = min(torque[i], *own)
    found = ResolvedLimits(
        tuple(joints),
        lower,
        upper,
        _each(part.speed, joints, SPEED),
        _each(part.acceleration, joints, ACCELERATION),
        torque,
        _each(part.torque_rms, joints, np.inf),
        part.clearance,
        part.margin,
    )
    _check_room(found, pose)
    return found


def _range(
    part: DesignLimits, model: mujoco.MjModel, joint: str, pose: float
) -> tuple[float, float]:
    own = (-np.inf, np.inf)
    element = model.joint(joint)
    if element.limited[0]:
        own = (float(element.range[0]), float(element.range[1]))
    given = part.position.get(joint) if isinstance(part.position, dict) else part.position
    if given is not None:
        return max(own[0], given[0]), min(own[1], given[1])
    if np.isfinite(own).all():
        return own
    return max(own[0], pose - REACH), min(own[1], pose + REACH)


def _check_names(what: str, given: Any, joints: Sequence[str]) -> None:
    unknown = [name for name in given if name not in joints] if isinstance(given, dict) else []
    if unknown:
        raise ExperimentError(
            f"design.limits.{what}: unknown joint {unknown[0]!r}; moving joints are "
            f"{listing(joints)}.{did_you_mean(unknown[0], joints)}"
        )


def _each(
    given: float | dict[str, float] | None, joints: Sequence[str], default: float
) -> np.ndarray:
    if isinstance(given, dict):
        return np.array([given.get(joint, default) for joint in joints], float)
    return np.full(len(joints), default if given is None else given, float)


def _check_room(limits: ResolvedLimits, pose: np.ndarray) -> None:
    """Raise ExperimentError if no joint can move, or the pose is out of range."""
    allowed = limits.commands()
    for i, joint in enumerate(limits.joints):
        if not allowed.lower[i] <= pose[i] <= allowed.upper[i]:
            raise ExperimentError(
                f"the pose of {joint} is {pose[i]:.4g}, outside {allowed.lower[i]:.4g} to "
                f"{allowed.upper[i]:.4g}, its position limits with the margin: "
                f"set design.pose, such as pose: {{{joint}: "
                f"{0.5 * (allowed.lower[i] + allowed.upper[i]):.3g}}}, or widen the limits"
            )
    if not (allowed.upper - allowed.lower > _LEAST_ROOM).any():
        raise ExperimentError("design.limits.position allows no joint to move: widen the limits")
