"""Ids and addresses of the parts of a walker in the arrays of a simulation, found by name."""

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, NamedTuple

import mujoco
import numpy as np

from trueup.errors import GaitError, did_you_mean, listing
from trueup.gait.models.anatomy import LEGS, Anatomy

LOAD_GRAVITY = 9.8
"""Acceleration for the normalisation of loads [m/s2].

It is the value of MyoAssist, not the gravity of the model (9.81 m/s2 in MuJoCo): gains of loads,
and the load threshold of ground contact, are then equal to those of MyoAssist.
"""


class Joint(IntEnum):
    """Joints of a leg, in the order of the joint axis of arrays."""

    hip = 0
    knee = 1
    ankle = 2
    mtp = 3


class Touch(IntEnum):
    """Touch sensors of a foot, in the order of the sensor axis of arrays."""

    heel = 0
    toes = 1


SENSED_LIMITS = (Joint.hip, Joint.knee, Joint.ankle)
"""Joints with recorded limit torques, in the order of their axis."""

OPTIONAL = ("FDL", "EDL")
"""Groups that a model may lack: muscles of the toes, whose reflexes then drive nothing."""

PARTS = np.dtype(
    [
        ("pelvis", np.int64),
        ("torso", np.int64),
        ("root", np.int64),
        ("feet", np.int64, (2,)),
        ("qpos", np.int64, (2, len(Joint))),
        ("qvel", np.int64, (2, len(Joint))),
        ("adduction", np.int64, (2,)),
        ("adduction_rate", np.int64, (2,)),
        ("inward", np.float64, (2,)),
        ("touch", np.int64, (2, len(Touch))),
        ("pressure", np.int64, (2,)),
        ("optional_signals", np.int64),
        ("knee_joint", np.int64, (2,)),
        ("ankle_joint", np.int64, (2,)),
        ("limits", np.int64, (2, len(SENSED_LIMITS))),
        ("exo_ctrl", np.int64, (2,)),
        ("exo_gain", np.float64, (2,)),
        ("upright_roll", np.float64),
        ("weight", np.float64),
        ("grade", np.float64),
        ("stair_start", np.float64),
        ("stair_run", np.float64),
        ("stair_rise", np.float64),
        ("stair_count", np.float64),
    ]
)
"""Ids of bodies and joints, and addresses of coordinates and sensors; first axis right and left
leg,
-1 for missing parts.

``inward`` is the sign of the coordinate of adduction that moves a leg towards the other one,
``pressure`` are the sensors of the centre of pressure, ``optional_signals`` is the index of the
first optional one in a row of measured signals, ``exo_gain`` the torque per unit of control [N m],
``weight`` the unit of loads [N], ``grade`` the slope of the ground, rise over run; ``stair_*`` are
the sizes of :class:`trueup.gait.Stairs`, all zero without stairs.
"""

MUSCLE = np.dtype(
    [
        ("actuator", np.int64),
        ("ctrl", np.int64),
        ("act", np.int64),
        ("group", np.int64),
        ("leg", np.int64),
        ("strength", np.float64),
        ("share", np.float64),
    ]
)
"""Muscle: ids, group and leg, strength [N], fraction of the strength of its group."""


class BodyMap(NamedTuple):
    """Ids and addresses for sensing and actuation in compiled code.

    Attributes:
      parts: an array of one :data:`PARTS`.
      muscles: muscles ``(n,)`` of :data:`MUSCLE`, in the order of the model.
      soles: sites of the soles ``(2, sites)``.
    """

    parts: np.ndarray
    muscles: np.ndarray
    soles: np.ndarray


def pressure_sensor(side: str) -> str:
    """Name of the sensor of the centre of pressure of a foot."""
    return f"pressure_{side}"


class NamedParts:
    """Lookup of the parts of a model by the names of an anatomy.

    Args:
      model: model.
      anatomy: names of the parts.
      source: origin of the model, for messages.
    """

    def __init__(self, model: mujoco.MjModel, anatomy: Anatomy, source: str):
        self.model = model
        self.anatomy = anatomy
        self.source = source

    def has_both(self, kind: Any, pattern: str) -> bool:
        """Whether the model has the parts of both legs."""
        names = self.anatomy.both(pattern)
        return all(mujoco.mj_name2id(self.model, kind, name) >= 0 for name in names)

    def names(self, kind: Any, count: int) -> list[str]:
        """Names of all parts of a kind."""
        return [mujoco.mj_id2name(self.model, kind, i) or "" for i in range(count)]

    def id(self, kind: Any, what: str, name: str) -> int:
        """Id of a part.

        Raises:
          GaitError: the model has no such part.
        """
        found = mujoco.mj_name2id(self.model, kind, name)
        if found < 0:
            counts = {
                "joint": self.model.njnt,
                "body": self.model.nbody,
                "sensor": self.model.nsensor,
                "actuator": self.model.nactuator,
                "site": self.model.nsite,
            }
            names = [existing for existing in self.names(kind, counts[what]) if existing]
            raise GaitError(
                f"{self.source} has no {what} {name!r}, which the anatomy {self.anatomy.name!r} "
                f"requires; it has {listing(names)}.{did_you_mean(name, names)}"
            )
        return found

    def body(self, name: str) -> int:
        """Id of a body."""
        return self.id(mujoco.mjtObj.mjOBJ_BODY, "body", name)

    def joint(self, pattern: str, side: str) -> int:
        """Id of a joint of a leg."""
        return self.id(mujoco.mjtObj.mjOBJ_JOINT, "joint", self.anatomy.named(pattern, side))

    def sensor(self, pattern: str, side: str) -> int:
        """Address of a sensor of a leg."""
        name = self.anatomy.named(pattern, side)
        return int(self.model.sensor_adr[self.id(mujoco.mjtObj.mjOBJ_SENSOR, "sensor", name)])

    def exoskeleton(self) -> list[int]:
        """Actuators of the exoskeleton, right and left."""
        names = self.anatomy.both(self.anatomy.exoskeleton)
        return [int(self.model.actuator(name).id) for name in names]

    def joints(self, joints: Sequence[Joint] = tuple(Joint)) -> np.ndarray:
        """Ids of joints of both legs ``(2, joints)``."""
        patterns = [self.anatomy.joints[joint.name] for joint in joints]
        return np.array([[self.joint(pattern, side) for pattern in patterns] for side in LEGS])

    def parts(self, frontal: bool) -> np.ndarray:
        """An array of one :data:`PARTS`, without entries of ground and exoskeleton.

        Args:
          frontal: whether the hips have adduction.
        """
        model, anatomy = self.model, self.anatomy
        joints = self.joints()
        parts = np.zeros(1, dtype=PARTS)
        part = parts[0]
        part["pelvis"], part["torso"] = self.body(anatomy.pelvis), self.body(anatomy.torso)
        part["root"] = model.body_rootid[part["pelvis"]]
        part["feet"] = [self.body(name) for name in anatomy.both(anatomy.foot)]
        part["qpos"], part["qvel"] = model.jnt_qposadr[joints], model.jnt_dofadr[joints]
        part["adduction"] = part["adduction_rate"] = -1
        if frontal:
            pattern = anatomy.frontal_joints["hip_adduction"]
            ids = [self.joint(pattern, side) for side in LEGS]
            part["adduction"] = model.jnt_qposadr[ids]
            part["adduction_rate"] = model.jnt_dofadr[ids]
            part["inward"] = self._inward(pattern)
        part["touch"] = [
            [self.sensor(anatomy.touch_sensors[place.name], side) for place in Touch]
            for side in LEGS
        ]
        part["pressure"] = [self._optional_sensor(pressure_sensor(side)) for side in LEGS]
        part["knee_joint"], part["ankle_joint"] = joints[:, Joint.knee], joints[:, Joint.ankle]
        part["limits"] = self._limit_sensors()
        part["exo_ctrl"], part["exo_gain"] = -1, 1.0
        part["upright_roll"] = self._upright_roll(int(part["pelvis"]))
        part["weight"] = LOAD_GRAVITY * float(np.sum(model.body_mass))
        return parts

    def soles(self) -> np.ndarray:
        """Sites of the soles ``(2, sites)``."""
        patterns, site = self.anatomy.sole_sites, mujoco.mjtObj.mjOBJ_SITE
        names = [[self.anatomy.named(pattern, side) for pattern in patterns] for side in LEGS]
        return np.array([[self.id(site, "site", name) for name in leg] for leg in names])

    def muscles(self, groups: Sequence[str]) -> np.ndarray:
        """Muscles of the groups ``(n,)`` of :data:`MUSCLE`, in the order of the model.

        Raises:
          GaitError: unknown group of the anatomy, or missing muscle of the model.
        """
        model, anatomy = self.model, self.anatomy
        rows = []
        for k, group in enumerate(groups):
            if group in OPTIONAL and group not in anatomy.muscles:
                continue
            if group not in anatomy.muscles:
                raise GaitError(
                    f"the anatomy {anatomy.name!r} has no muscle group {group!r}; it has "
                    f"{listing(anatomy.muscles)}.{did_you_mean(group, anatomy.muscles)}"
                )
            for leg, side in enumerate(LEGS):
                kind = mujoco.mjtObj.mjOBJ_ACTUATOR
                names = [anatomy.named(pattern, side) for pattern in anatomy.muscles[group]]
                ids = [self.id(kind, "actuator", name) for name in names]
                strengths = muscle_strengths(model, ids)
                for i, strength in zip(ids, strengths, strict=True):
                    ctrl, act = model.actuator_ctrladr[i], model.actuator_actadr[i]
                    share = strength / strengths.sum()
                    rows.append((i, ctrl, act, k, leg, strength, share))
        return np.array(sorted(rows), dtype=MUSCLE)

    def _limit_sensors(self) -> np.ndarray:
        """Addresses of the limit torques of joints ``(2, joints)``; -1 without a
        sensor."""
        found = np.full((2, len(SENSED_LIMITS)), -1, dtype=np.int64)
        for k, joint in enumerate(SENSED_LIMITS):
            for leg, side in enumerate(LEGS):
                name = self.anatomy.named(self.anatomy.limit_sensors.get(joint.name, ""), side)
                found[leg, k] = self._optional_sensor(name)
        return found

    def _optional_sensor(self, name: str) -> int:
        """Address of a sensor; -1 without it."""
        sensor = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_SENSOR, name) if name else -1
        return int(self.model.sensor_adr[sensor]) if sensor >= 0 else -1

    def _inward(self, pattern: str) -> list[float]:
        """Sign of the coordinate of each leg for motion towards the other leg."""
        data = mujoco.MjData(self.model)
        mujoco.mj_forward(self.model, data)
        joint = self.id(mujoco.mjtObj.mjOBJ_JOINT, "joint", self.anatomy.root.forward)
        forward = data.xaxis[joint]
        # a positive rotation about the direction of walking moves a leg to the left
        right, left = (float(data.xaxis[self.joint(pattern, side)] @ forward) for side in LEGS)
        return [float(np.sign(right)), -float(np.sign(left))]

    def _upright_roll(self, pelvis: int) -> float:
        """Roll of the frame of the pelvis in upright posture [rad]: its axes may differ from the
        world axes."""
        data = mujoco.MjData(self.model)
        mujoco.mj_kinematics(self.model, data)
        w, x, y, z = data.xquat[pelvis]
        quarter = 0.5 * np.pi
        roll = np.arctan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
        return float(np.round(roll / quarter) * quarter)


def muscle_strengths(model: mujoco.MjModel, ids: Sequence[int] | np.ndarray) -> np.ndarray:
    """Largest isometric forces of muscles ``(n,)`` [N].

    Where the parameter ``force`` is negative, MuJoCo uses ``scale`` divided by the acceleration
    due to a unit force (XML reference of MuJoCo, actuator/muscle).
    """
    force, scale = model.actuator_gainprm[ids, 2], model.actuator_gainprm[ids, 3]
    return np.where(force >= 0.0, force, scale / model.actuator_acc0[ids])
