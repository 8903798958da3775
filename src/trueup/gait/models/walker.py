"""A walker: a model with legs and muscles, whose parts are known by their roles."""

import functools
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np

from trueup.errors import GaitError, ModelError, did_you_mean, listing
from trueup.gait.controller._registers import LEGS
from trueup.gait.models._exoskeleton_actuators import (
    check_actuators,
    largest_torque,
    torque_of_control,
)
from trueup.gait.models._own_models import OWN_MODELS, build_own_model
from trueup.gait.models.anatomy import Anatomy, myoassist_anatomy
from trueup.gait.models.attachments import Device, attach_exoskeleton
from trueup.gait.models.terrain import STEEPEST_SLOPE, Stairs, add_stairs

NO_TERRAIN_HEIGHT = -10.0
"""Where the terrain of a model is moved to for level ground [m]."""

LOAD_GRAVITY = 9.8
"""Weight for each mass that loads are divided by [m/s2].

It is MyoAssist's number and not gravity, which is the model's own (MuJoCo's is 9.81 m/s2): gains of
loads, and the load at which a foot is on the ground, mean the same here as there.
"""


PARTS = np.dtype(
    [
        ("pelvis", np.int64),
        ("torso", np.int64),
        ("root", np.int64),
        ("feet", np.int64, (2,)),
        ("qpos", np.int64, (2, 4)),
        ("qvel", np.int64, (2, 4)),
        ("adduction", np.int64, (2,)),
        ("inward", np.float64, (2,)),
        ("touch", np.int64, (2, 2)),
        ("knee_joint", np.int64, (2,)),
        ("ankle_joint", np.int64, (2,)),
        ("limits", np.int64, (2, 3)),
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
"""Ids of bodies and joints, and addresses of what is sensed, a leg each where doubled; hip, knee,
ankle and mtp along the second axis, heel and toes likewise."""

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
"""A muscle of the model: ids, its group and leg, its strength [N], its share of the group."""


class BodyMap(NamedTuple):
    """Ids and addresses that the compiled code senses and acts with."""

    parts: np.ndarray
    muscles: np.ndarray
    soles: np.ndarray


def muscle_strengths(model: mujoco.MjModel, ids: Sequence[int] | np.ndarray) -> np.ndarray:
    """Largest isometric forces of muscles ``(n,)`` [N].

    Where the parameter ``force`` is negative MuJoCo takes ``scale`` divided by the acceleration
    that a unit force causes (XML reference of MuJoCo, actuator/muscle).
    """
    gain = model.actuator_gainprm[ids]
    return np.where(gain[:, 2] >= 0.0, gain[:, 2], gain[:, 3] / model.actuator_acc0[ids])


class Walker:
    """A compiled model whose parts are known by their roles.

    Args:
      model: the model; it is changed where level ground needs the terrain out of the way.
      anatomy: names of the parts.
      source: where the model comes from, for messages.
      slope: rise of the ground in the direction of walking [deg].
      stairs: stairs that the model has, see :func:`trueup.gait.models.terrain.add_stairs`.
      xml_sha256: SHA-256 of the XML that the model is compiled from, where it is put together here;
        None for a file that is loaded as it is.

    Raises:
      GaitError: the model lacks a part that a walker needs, or its ground has slope and stairs.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        anatomy: Anatomy | None = None,
        source: str = "the model",
        slope: float = 0.0,
        stairs: Stairs | None = None,
        xml_sha256: str | None = None,
    ):
        self.model = model
        self.xml_sha256 = xml_sha256
        self.anatomy = myoassist_anatomy() if anatomy is None else anatomy
        self.source = source
        self.mass = float(np.sum(model.body_mass))
        self.frontal = bool(self.anatomy.frontal_joints) and all(
            mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name) >= 0
            for pattern in self.anatomy.frontal_joints.values()
            for name in self.anatomy.both(pattern)
        )
        self._lower_terrain()
        self.slope = float(slope)
        self.stairs = stairs
        if slope and stairs is not None:
            raise GaitError("the ground has either a slope or stairs: give one of them")
        if slope:
            self._tilt_ground()

    @property
    def exoskeleton_torque(self) -> float:
        """Largest torque that the exoskeleton can exert [N m], infinite where nothing limits it.

        Raises:
          GaitError: there is no exoskeleton, or none that is driven by motors at its joints.
        """
        if not self.has_exoskeleton:
            raise GaitError(f"{self.source} has no exoskeleton")
        ids = self._exoskeleton_ids()
        check_actuators(self.model, ids, self.source)
        return min(largest_torque(self.model, i) for i in ids)

    @property
    def grade(self) -> float:
        """Rise of the ground over its run."""
        return float(np.tan(np.deg2rad(self.slope)))

    @classmethod
    def load(
        cls,
        path: str | Path,
        anatomy: Anatomy | None = None,
        slope: float = 0.0,
        stairs: Stairs | None = None,
        device: str | Device | None = None,
    ) -> "Walker":
        """A walker of an MJCF file, which is read as it is, or one of our own by its name.

        Args:
          path: the file; or ``planar22``, with 22 muscles in the plane, ``myolegs26`` or
            ``myolegs``, with 26 or 80 in space, or ``planar22_exo``, which is ``planar22`` with the
            device ``ankle``.
          anatomy: names of the parts; those of the named model, else MyoAssist's, where absent.
          slope: rise of the ground in the direction of walking [deg].
          stairs: stairs on the ground.
          device: exoskeleton to attach, see :func:`trueup.gait.attach_exoskeleton`.

        Raises:
          ModelError: the file is missing or does not compile.
          GaitError: the model lacks a part that a walker or the device needs, or has a device.
          MissingExtraError: the named model comes with a package that is not installed.
        """
        path = Path(path)
        try:
            if str(path) in OWN_MODELS:
                spec, own_anatomy = build_own_model(str(path))
                anatomy = anatomy or own_anatomy
            elif not path.is_file():
                raise ModelError(
                    f"there is no model file {path}, and no model of that name; models with a "
                    f"name: {listing(OWN_MODELS)}.{did_you_mean(path.name, OWN_MODELS)}"
                )
            elif device is None and stairs is None:
                return cls(mujoco.MjModel.from_xml_path(str(path)), anatomy, str(path), slope)
            else:
                spec = mujoco.MjSpec.from_file(str(path))
            if device is not None:
                attach_exoskeleton(spec, device, anatomy)
            if stairs is not None:
                add_stairs(spec, stairs)
            model = spec.compile()
        except ValueError as error:
            raise ModelError(f"{path} does not compile: {error}") from error
        digest = hashlib.sha256(spec.to_xml().encode()).hexdigest()
        return cls(model, anatomy, str(path), slope, stairs, digest)

    @functools.cached_property
    def muscle_groups(self) -> tuple[str, ...]:
        """Muscle groups that the model has, in the anatomy's order."""
        names = self._names(mujoco.mjtObj.mjOBJ_ACTUATOR, self.model.nactuator)
        return tuple(
            group
            for group, patterns in self.anatomy.muscles.items()
            if any(name in names for pattern in patterns for name in self.anatomy.both(pattern))
        )

    @functools.cached_property
    def has_exoskeleton(self) -> bool:
        """Whether the model has the actuators of an exoskeleton."""
        names = self.anatomy.both(self.anatomy.exoskeleton)
        return all(
            mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_ACTUATOR, name) >= 0 for name in names
        )

    @functools.cached_property
    def muscle_names(self) -> tuple[str, ...]:
        """Names of the muscle actuators, in the model's order."""
        return tuple(
            self.model.actuator(int(i)).name for i in self.body_map(()).muscles["actuator"]
        )

    def body_map(self, groups: Sequence[str]) -> BodyMap:
        """Ids and addresses for a controller with these muscle groups; all of them if empty.

        Raises:
          GaitError: the model lacks a part.
        """
        groups = tuple(groups) or self.muscle_groups
        model, anatomy = self.model, self.anatomy
        joints = np.array(
            [[self._joint(anatomy.joints[name], leg) for name in _JOINTS] for leg in LEGS]
        )
        parts = np.zeros(1, dtype=PARTS)
        part = parts[0]
        part["pelvis"] = self._id(mujoco.mjtObj.mjOBJ_BODY, "body", anatomy.pelvis)
        part["torso"] = self._id(mujoco.mjtObj.mjOBJ_BODY, "body", anatomy.torso)
        part["root"] = model.body_rootid[part["pelvis"]]
        part["feet"] = [
            self._id(mujoco.mjtObj.mjOBJ_BODY, "body", n) for n in anatomy.both(anatomy.foot)
        ]
        part["qpos"], part["qvel"] = model.jnt_qposadr[joints], model.jnt_dofadr[joints]
        part["adduction"] = -1
        if self.frontal:
            pattern = anatomy.frontal_joints["hip_adduction"]
            part["adduction"] = [model.jnt_qposadr[self._joint(pattern, leg)] for leg in LEGS]
            part["inward"] = self._inward(pattern)
        part["touch"] = [
            [self._sensor(anatomy.touch_sensors[place], leg) for place in ("heel", "toes")]
            for leg in LEGS
        ]
        part["knee_joint"] = joints[:, _JOINTS.index("knee")]
        part["ankle_joint"] = joints[:, _JOINTS.index("ankle")]
        part["limits"] = self._limit_sensors()
        part["exo_ctrl"], part["exo_gain"] = -1, 1.0
        if self.has_exoskeleton:
            ids = self._exoskeleton_ids()
            part["exo_ctrl"] = model.actuator_ctrladr[ids]
            part["exo_gain"] = torque_of_control(model, ids)
        part["upright_roll"] = self._upright_roll(int(part["pelvis"]))
        part["grade"] = self.grade
        if self.stairs is not None:
            stairs = self.stairs
            part["stair_start"], part["stair_count"] = stairs.start, stairs.count
            part["stair_rise"], part["stair_run"] = stairs.rise, stairs.run
        part["weight"] = LOAD_GRAVITY * self.mass
        soles = [
            [
                self._id(mujoco.mjtObj.mjOBJ_SITE, "site", anatomy.named(pattern, leg))
                for pattern in anatomy.sole_sites
            ]
            for leg in LEGS
        ]
        return BodyMap(parts, self._muscles(groups), np.array(soles, dtype=np.int64))

    def _exoskeleton_ids(self) -> list[int]:
        """Actuators of the exoskeleton, right and left."""
        names = self.anatomy.both(self.anatomy.exoskeleton)
        return [int(self.model.actuator(name).id) for name in names]

    def _muscles(self, groups: Sequence[str]) -> np.ndarray:
        """The muscles of some groups, in the model's order."""
        model, anatomy = self.model, self.anatomy
        rows = []
        for k, group in enumerate(groups):
            if group not in anatomy.muscles:
                raise GaitError(
                    f"the anatomy {anatomy.name!r} has no muscle group {group!r}; it has "
                    f"{listing(anatomy.muscles)}.{did_you_mean(group, anatomy.muscles)}"
                )
            patterns = anatomy.muscles[group]
            for leg, side in enumerate(LEGS):
                kind = mujoco.mjtObj.mjOBJ_ACTUATOR
                ids = [self._id(kind, "actuator", anatomy.named(p, side)) for p in patterns]
                strengths = muscle_strengths(model, ids)
                for i, strength in zip(ids, strengths, strict=True):
                    ctrl, act = model.actuator_ctrladr[i], model.actuator_actadr[i]
                    share = strength / strengths.sum()
                    rows.append((i, ctrl, act, k, leg, strength, share))
        return np.array(sorted(rows), dtype=MUSCLE)

    def keyframe(self, name: str) -> int:
        """Id of a keyframe.

        Raises:
          GaitError: the model has no such keyframe.
        """
        names = self._names(mujoco.mjtObj.mjOBJ_KEY, self.model.nkey)
        if name not in names:
            raise GaitError(
                f"{self.source} has no keyframe {name!r}; it has {listing(names)}."
                f"{did_you_mean(name, names)}"
            )
        return names.index(name)

    def _lower_terrain(self) -> None:
        """Move a height field out of the way of the feet: its top is at the ground's height."""
        geom = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_GEOM, self.anatomy.terrain)
        if geom >= 0 and self.model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_HFIELD:
            self.model.geom_pos[geom] = (0.0, 0.0, NO_TERRAIN_HEIGHT)

    def _limit_sensors(self) -> np.ndarray:
        """Addresses of the joint limit forces of hip, knee and ankle; -1 for those not sensed."""
        found = np.full((2, len(LIMITS)), -1, dtype=np.int64)
        for k, joint in enumerate(LIMITS):
            for leg, side in enumerate(LEGS):
                name = self.anatomy.named(self.anatomy.limit_sensors.get(joint, ""), side)
                sensor = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_SENSOR, name)
                if name and sensor >= 0:
                    found[leg, k] = self.model.sensor_adr[sensor]
        return found

    def _inward(self, pattern: str) -> list[float]:
        """Sign of each leg's joint where a positive angle moves the leg towards the other one."""
        data = mujoco.MjData(self.model)
        mujoco.mj_forward(self.model, data)
        forward = data.xaxis[
            self._id(mujoco.mjtObj.mjOBJ_JOINT, "joint", self.anatomy.root.forward)
        ]
        # turned about the direction of walking, a leg moves to the left
        right, left = (float(data.xaxis[self._joint(pattern, leg)] @ forward) for leg in LEGS)
        return [float(np.sign(right)), -float(np.sign(left))]

    @functools.cached_property
    def other_muscles(self) -> np.ndarray:
        """Controls of the muscles of no group: nothing but the least stimulation drives them."""
        model = self.model
        driven = set(self.body_map(()).muscles["actuator"].tolist())
        muscles = np.flatnonzero(model.actuator_dyntype == mujoco.mjtDyn.mjDYN_MUSCLE)
        return np.array(
            [model.actuator_ctrladr[i] for i in muscles if int(i) not in driven], dtype=np.int64
        )

    def ground(self, x: np.ndarray) -> np.ndarray:
        """Height of the ground at places along the direction of walking [m]."""
        return self.grade * np.asarray(x) if self.stairs is None else self.stairs.height(x)

    def _upright_roll(self, pelvis: int) -> float:
        """Roll of the pelvis's frame while it stands upright: its axes need not be the world's."""
        data = mujoco.MjData(self.model)
        mujoco.mj_kinematics(self.model, data)
        w, x, y, z = data.xquat[pelvis]
        quarter = 0.5 * np.pi
        roll = np.arctan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
        return float(np.round(roll / quarter) * quarter)

    def _tilt_ground(self) -> None:
        """Tilt the ground plane about the origin."""
        if not abs(self.slope) <= STEEPEST_SLOPE:
            raise GaitError(
                f"a slope of {self.slope:g} degrees cannot be walked on: give one from "
                f"{-STEEPEST_SLOPE:g} to {STEEPEST_SLOPE:g}"
            )
        model = self.model
        planes = np.flatnonzero(model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE)
        if not len(planes):
            raise GaitError(f"{self.source} has no ground plane that could be tilted")
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        half = -0.5 * np.deg2rad(self.slope)
        tilt = np.array([np.cos(half), 0.0, np.sin(half), 0.0])
        for geom in planes:
            present, tilted, back = np.zeros(4), np.zeros(4), np.zeros(4)
            mujoco.mju_mat2Quat(present, data.geom_xmat[geom])
            mujoco.mju_mulQuat(tilted, tilt, present)
            mujoco.mju_negQuat(back, data.xquat[model.geom_bodyid[geom]])
            mujoco.mju_mulQuat(model.geom_quat[geom], back, tilted)
            model.geom_sameframe[geom] = 0

    def _names(self, kind: Any, count: int) -> list[str]:
        return [mujoco.mj_id2name(self.model, kind, i) or "" for i in range(count)]

    def _joint(self, pattern: str, side: str) -> int:
        name = self.anatomy.named(pattern, side)
        return self._id(mujoco.mjtObj.mjOBJ_JOINT, "joint", name)

    def _sensor(self, pattern: str, side: str) -> int:
        name = self.anatomy.named(pattern, side)
        sensor = self._id(mujoco.mjtObj.mjOBJ_SENSOR, "sensor", name)
        return int(self.model.sensor_adr[sensor])

    def _id(self, kind: Any, what: str, name: str) -> int:
        found = mujoco.mj_name2id(self.model, kind, name)
        if found < 0:
            counts = {
                "joint": self.model.njnt,
                "body": self.model.nbody,
                "sensor": self.model.nsensor,
                "actuator": self.model.nactuator,
                "site": self.model.nsite,
            }
            names = [existing for existing in self._names(kind, counts[what]) if existing]
            raise GaitError(
                f"{self.source} has no {what} {name!r}, which the anatomy {self.anatomy.name!r} "
                f"names; it has {listing(names)}.{did_you_mean(name, names)}"
            )
        return found


LIMITS = ("hip", "knee", "ankle")
"""Joints whose limits hurt, in the order of their columns."""

_JOINTS = ("hip", "knee", "ankle", "mtp")
