"""The load on the servo's shaft: a pendulum, or a table of inertia and torque by joint angle."""

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from trueup.actuators.logs.servo_log import ServoLog
from trueup.errors import RecordingError, TargetError, did_you_mean, listing

GRAVITY = 9.80665
"""Standard gravity [m/s2]."""

_SLOPE_STEP = 1e-5
_NO_TABLE = np.zeros((0, 4))


class Bench(Protocol):
    """A load of one degree of freedom, without the servo's own armature."""

    def numbers(self) -> tuple[float, float]:
        """Constant inertia [kg m2] and greatest gravity torque [N m]; unused with a table."""
        ...

    def table(self) -> tuple[float, float, np.ndarray]:
        """First angle [rad], step [rad] and rows of inertia, its slope, torque, its slope (SI)."""
        ...


@dataclass(frozen=True)
class Pendulum:
    """A pendulum: constant inertia, gravity torque ``-gravity_torque sin(angle)``.

    The angle is 0 when it hangs down.
    """

    inertia: float
    """Moment of inertia about the axis [kg m2], without the servo's armature."""
    gravity_torque: float
    """Torque that holds the pendulum horizontally [N m]."""

    def __post_init__(self) -> None:
        if not (self.inertia > 0 and math.isfinite(self.inertia)):
            raise RecordingError(
                f"the inertia of a bench must be positive [kg m2], got {self.inertia}"
            )
        if not math.isfinite(self.gravity_torque):
            raise RecordingError(
                f"the gravity torque of a bench must be finite [N m], got {self.gravity_torque}"
            )

    @classmethod
    def from_masses(cls, mass: float, length: float, arm_mass: float = 0.0) -> "Pendulum":
        """A point mass [kg] at the tip of a uniform arm of a length [m] and mass [kg]."""
        return cls((mass + arm_mass / 3.0) * length**2, (mass + arm_mass / 2.0) * GRAVITY * length)

    def numbers(self) -> tuple[float, float]:
        """Inertia and greatest gravity torque."""
        return self.inertia, self.gravity_torque

    def table(self) -> tuple[float, float, np.ndarray]:
        """No table."""
        return 0.0, 1.0, _NO_TABLE


@dataclass(frozen=True, eq=False)
class TabulatedBench:
    """Inertia and torque of the load at equally spaced angles, cubic between them, constant beyond.

    Where the inertia changes with the angle, the joint feels ``-J'(q) speed^2 / 2`` too.
    """

    lower: float
    """First angle [rad]."""
    step: float
    """Step between angles [rad]."""
    inertia: np.ndarray
    """Inertia, without the servo's armature [kg m2], ``(k,)``."""
    torque: np.ndarray
    """Torque of the load on the joint at rest [N m], ``(k,)``; gravity pulls a pendulum back."""
    inertia_slope: np.ndarray | None = None
    """Slope of the inertia [kg m2/rad], ``(k,)``; default: from differences."""
    torque_slope: np.ndarray | None = None
    """Slope of the torque [N m/rad], ``(k,)``; default: from differences."""

    def __post_init__(self) -> None:
        size = np.size(self.inertia)
        if size < 2 or not self.step > 0:
            raise RecordingError(
                "a tabulated bench requires at least two angles and a positive step [rad]"
            )
        for name in ("inertia", "torque", "inertia_slope", "torque_slope"):
            values = getattr(self, name)
            if values is not None and (
                np.shape(values) != (size,) or not np.isfinite(values).all()
            ):
                raise RecordingError(
                    f"a tabulated bench requires {size} finite values of {name}, got shape "
                    f"{np.shape(values)}"
                )
        if not (self.inertia > 0).all():
            raise RecordingError("all inertias of a tabulated bench must be positive [kg m2]")

    def numbers(self) -> tuple[float, float]:
        """Not used."""
        return 0.0, 0.0

    def table(self) -> tuple[float, float, np.ndarray]:
        """First angle, step and rows of the table."""
        slopes = [
            np.gradient(values, self.step, edge_order=1) if slope is None else slope
            for values, slope in (
                (self.inertia, self.inertia_slope),
                (self.torque, self.torque_slope),
            )
        ]
        return (
            self.lower,
            self.step,
            np.column_stack([self.inertia, slopes[0], self.torque, slopes[1]]),
        )

    @classmethod
    def from_mujoco(
        cls, model: Any, joint: str, qpos: np.ndarray | None = None, points: int = 1441
    ) -> "TabulatedBench":
        """Load on a joint of a MuJoCo model while all other joints are locked.

        The torque includes gravity, springs and gravity compensation. It excludes the joint's own
        armature, damping and frictionloss, which belong to the servo, and contacts.

        Args:
          model: ``mujoco.MjModel``.
          joint: name of a hinge or limited slide joint.
          qpos: positions of all joints ``(nq,)``; the model's reference by default.
          points: angles of the table, over the joint's range or two turns to either side.

        Raises:
          TargetError: unknown joint, or a joint with several degrees of freedom.
        """
        import mujoco

        names = [model.joint(i).name for i in range(model.njnt)]
        if joint not in names:
            raise TargetError(
                f"the model has no joint {joint!r}; available: {listing(names)}."
                f"{did_you_mean(joint, names)}"
            )
        number = names.index(joint)
        kind = model.jnt_type[number]
        limited = bool(model.jnt_limited[number])
        hinge = kind == mujoco.mjtJoint.mjJNT_HINGE
        if not hinge and not (kind == mujoco.mjtJoint.mjJNT_SLIDE and limited):
            raise TargetError(
                f"joint {joint!r} is not a hinge joint or a slide joint with a range; a bench "
                "requires one degree of freedom"
            )
        low, high = model.jnt_range[number] if limited else (-4.0 * np.pi, 4.0 * np.pi)
        angles = np.linspace(low, high, points)
        dof, address = int(model.jnt_dofadr[number]), int(model.jnt_qposadr[number])
        data = mujoco.MjData(model)
        full = np.zeros((model.nv, model.nv))

        def load(angle: float) -> tuple[float, float]:
            data.qpos[:] = model.qpos0 if qpos is None else qpos
            data.qvel[:] = 0.0
            data.qpos[address] = angle
            mujoco.mj_forward(model, data)
            mujoco.mj_fullM(model, data, full)
            torque = data.qfrc_passive[dof] - data.qfrc_bias[dof]
            return full[dof, dof] - model.dof_armature[dof], torque

        at = np.array([load(angle) for angle in angles])
        ahead = np.array([load(angle + _SLOPE_STEP) for angle in angles])
        behind = np.array([load(angle - _SLOPE_STEP) for angle in angles])
        slopes = (ahead - behind) / (2.0 * _SLOPE_STEP)
        return cls(
            float(low), float(angles[1] - angles[0]), at[:, 0], at[:, 1], slopes[:, 0], slopes[:, 1]
        )


def bench_of(log: ServoLog) -> Pendulum:
    """Pendulum described by the header of a log.

    A header with ``total_inertia`` [kg m2] and ``total_g_bias`` [N m] takes precedence over the
    masses.

    Raises:
      RecordingError: the log describes no pendulum.
    """
    inertia, torque = log.header.get("total_inertia"), log.header.get("total_g_bias")
    if inertia is not None and torque is not None:
        return Pendulum(float(inertia), abs(float(torque)))
    if not (log.mass > 0 or log.arm_mass > 0) or not log.length > 0:
        raise RecordingError(
            f"{log.source}: the log does not describe a pendulum (mass {log.mass} kg, length "
            f"{log.length} m): add mass and length, or total_inertia and total_g_bias, to its "
            "header, or pass benches= in Python"
        )
    return Pendulum.from_masses(log.mass, log.length, log.arm_mass)
