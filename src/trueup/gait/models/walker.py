"""A walker: a model with legs and muscles, with parts named by role."""

import functools
import hashlib
from collections.abc import Sequence
from pathlib import Path

import mujoco
import numpy as np

from trueup.errors import GaitError, ModelError, did_you_mean, listing
from trueup.gait.models._exoskeleton_actuators import (
    check_actuators,
    largest_torque,
    torque_of_control,
)
from trueup.gait.models._shipped_models import SHIPPED_MODELS, build_shipped_model
from trueup.gait.models._spec_parts import add_pressure
from trueup.gait.models.anatomy import ANATOMY, LEGS, Anatomy, load_anatomy, myoassist_anatomy
from trueup.gait.models.attachments import Device, attach_exoskeleton
from trueup.gait.models.body_map import BodyMap, NamedParts, pressure_sensor
from trueup.gait.models.terrain import (
    STEEPEST_SLOPE,
    Stairs,
    add_stairs,
    ground_friction,
)
from trueup.simulation.models.limits import check_model_file

NO_TERRAIN_HEIGHT = -10.0
"""Height to which the terrain of a model is moved for level ground [m]."""


class Walker:
    """A compiled model with parts named by role.

    Args:
      model: model; its terrain is lowered, its ground tilted.
      anatomy: names of the parts; by default those of MyoAssist.
      source: origin of the model, for messages.
      slope: rise of the ground in the direction of walking [deg].
      stairs: stairs in the model, see :func:`trueup.gait.models.terrain.add_stairs`.
      xml_sha256: SHA-256 of the XML of a model that was built or modified; None for an unmodified
        file.
      assistance: strength of the springs and dampers that hold the pelvis upright and in the plane
        of walking, 0 to 1, see :attr:`Anatomy.assistance`.

    Raises:
      GaitError: a required part is missing, the ground has both slope and stairs, or there is
        assistance of a walker that has none.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        anatomy: Anatomy | None = None,
        source: str = "the model",
        slope: float = 0.0,
        stairs: Stairs | None = None,
        xml_sha256: str | None = None,
        assistance: float = 0.0,
    ):
        self.model = model
        self.xml_sha256 = xml_sha256
        self.anatomy = myoassist_anatomy() if anatomy is None else anatomy
        self.source = source
        self.parts = NamedParts(model, self.anatomy, source)
        self.mass = float(np.sum(model.body_mass))
        joint = mujoco.mjtObj.mjOBJ_JOINT
        frontal = self.anatomy.frontal_joints.values()
        self.frontal = bool(frontal) and all(self.parts.has_both(joint, one) for one in frontal)
        self._lower_terrain()
        self.slope = float(slope)
        self.stairs = stairs
        if slope and stairs is not None:
            raise GaitError("slope and stairs cannot be combined: remove one of them")
        if slope:
            self._tilt_ground()
        self.assistance = float(assistance)
        if assistance:
            self._assist()

    @property
    def exoskeleton_torque(self) -> float:
        """Largest torque of the exoskeleton [N m]; infinite without a limit.

        Raises:
          GaitError: there is no exoskeleton, or it is not driven by motors at its joints.
        """
        if not self.has_exoskeleton:
            raise GaitError(f"{self.source} has no exoskeleton")
        ids = self.parts.exoskeleton()
        check_actuators(self.model, ids, self.source)
        return min(largest_torque(self.model, i) for i in ids)

    @property
    def grade(self) -> float:
        """Slope of the ground, rise over run."""
        return float(np.tan(np.deg2rad(self.slope)))

    @classmethod
    def load(
        cls,
        path: str | Path,
        anatomy: Anatomy | None = None,
        slope: float = 0.0,
        stairs: Stairs | None = None,
        device: str | Device | None = None,
        *,
        pressure: bool = False,
        assistance: float = 0.0,
    ) -> "Walker":
        """Walker of an MJCF file, or a shipped one by its name.

        Args:
          path: MJCF file; or ``planar22`` (planar, 22 muscles), ``space26``, ``myolegs26`` or
            ``myolegs`` (3D, 26, 26 and 80 muscles), or ``planar22_exo``, which is ``planar22`` with
            the device ``ankle``.
          anatomy: names of the parts; by default those of the shipped model, of the file
            ``NAME.anatomy.yaml`` next to ``NAME.xml``, or of MyoAssist.
          slope: rise of the ground in the direction of walking [deg].
          stairs: stairs on the ground.
          device: exoskeleton to attach, see :func:`trueup.gait.attach_exoskeleton`.
          pressure: add sensors of the centre of pressure of each foot, for controllers that use it.
          assistance: strength of the springs that hold the pelvis upright, 0 to 1.

        Raises:
          ModelError: the file is missing or does not compile.
          GaitError: a part required by the walker or the device is missing, or there already is a
            device.
          MissingExtraError: the package of the shipped model is not installed.
        """
        path = Path(path)
        if path.is_file():
            check_model_file(path)
            neighbour = path.with_suffix(ANATOMY)
            if anatomy is None and neighbour.is_file():
                anatomy = load_anatomy(neighbour)
        try:
            if str(path) in SHIPPED_MODELS:
                spec, own_anatomy = build_shipped_model(str(path))
                anatomy = anatomy or own_anatomy
            elif not path.is_file():
                raise ModelError(
                    f"no such model file or shipped model {path}; shipped "
                    f"models: {listing(SHIPPED_MODELS)}.{did_you_mean(path.name, SHIPPED_MODELS)}"
                )
            elif device is None and stairs is None and not pressure:
                model = mujoco.MjModel.from_xml_path(str(path))
                return cls(model, anatomy, str(path), slope, assistance=assistance)
            else:
                spec = mujoco.MjSpec.from_file(str(path))
            if device is not None:
                attach_exoskeleton(spec, device, anatomy)
            if stairs is not None:
                add_stairs(spec, stairs)
            if pressure:
                names = anatomy or myoassist_anatomy()
                for side in LEGS:
                    add_pressure(spec, names.named(names.foot, side), pressure_sensor(side))
            model = spec.compile()
        except ValueError as error:
            raise ModelError(f"{path} does not compile: {error}") from error
        digest = hashlib.sha256(spec.to_xml().encode()).hexdigest()
        return cls(model, anatomy, str(path), slope, stairs, digest, assistance)

    @functools.cached_property
    def muscle_groups(self) -> tuple[str, ...]:
        """Muscle groups of the model, in the order of the anatomy."""
        names = self.parts.names(mujoco.mjtObj.mjOBJ_ACTUATOR, self.model.nactuator)
        return tuple(
            group
            for group, patterns in self.anatomy.muscles.items()
            if any(name in names for pattern in patterns for name in self.anatomy.both(pattern))
        )

    @functools.cached_property
    def has_exoskeleton(self) -> bool:
        """Whether the model has the actuators of an exoskeleton."""
        return self.parts.has_both(mujoco.mjtObj.mjOBJ_ACTUATOR, self.anatomy.exoskeleton)

    @functools.cached_property
    def muscle_names(self) -> tuple[str, ...]:
        """Names of the muscle actuators, in the order of the model."""
        return tuple(
            self.model.actuator(int(i)).name for i in self.body_map(()).muscles["actuator"]
        )

    def body_map(self, groups: Sequence[str]) -> BodyMap:
        """Ids and addresses for a controller with these muscle groups; all of them if empty.

        Raises:
          GaitError: a part is missing.
        """
        parts = self.parts.parts(self.frontal)
        part = parts[0]
        if self.has_exoskeleton:
            ids = self.parts.exoskeleton()
            part["exo_ctrl"] = self.model.actuator_ctrladr[ids]
            part["exo_gain"] = torque_of_control(self.model, ids)
        part["grade"] = self.grade
        if self.stairs is not None:
            stairs = self.stairs
            part["stair_start"], part["stair_count"] = stairs.start, stairs.count
            part["stair_rise"], part["stair_run"] = stairs.rise, stairs.run
        muscles = self.parts.muscles(tuple(groups) or self.muscle_groups)
        return BodyMap(parts, muscles, self.parts.soles())

    def keyframe(self, name: str) -> int:
        """Id of a keyframe.

        Raises:
          GaitError: the model has no such keyframe.
        """
        names = self.parts.names(mujoco.mjtObj.mjOBJ_KEY, self.model.nkey)
        if name not in names:
            raise GaitError(
                f"{self.source} has no keyframe {name!r}; it has {listing(names)}."
                f"{did_you_mean(name, names)}"
            )
        return names.index(name)

    @functools.cached_property
    def other_muscles(self) -> np.ndarray:
        """Control indices of the muscles without a group, which have the smallest stimulation."""
        model = self.model
        driven = set(self.body_map(()).muscles["actuator"].tolist())
        muscles = np.flatnonzero(model.actuator_dyntype == mujoco.mjtDyn.mjDYN_MUSCLE)
        return np.array(
            [model.actuator_ctrladr[i] for i in muscles if int(i) not in driven], dtype=np.int64
        )

    def ground(self, x: np.ndarray) -> np.ndarray:
        """Height of the ground at positions along the direction of walking [m]."""
        return self.grade * np.asarray(x) if self.stairs is None else self.stairs.height(x)

    def _lower_terrain(self) -> None:
        """Lower a height field below the feet, with its top at the height of the ground."""
        geom = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_GEOM, self.anatomy.terrain)
        if geom >= 0 and self.model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_HFIELD:
            self.model.geom_pos[geom] = (0.0, 0.0, NO_TERRAIN_HEIGHT)

    def _assist(self) -> None:
        """Set the springs and dampers of the pelvis."""
        if not 0.0 <= self.assistance <= 1.0:
            raise GaitError(f"the assistance is {self.assistance:g}; it must be from 0 to 1")
        if not self.anatomy.assistance:
            raise GaitError(
                f"{self.source} has no springs that assist its walk (assistance in the anatomy "
                f"{self.anatomy.name!r}); remove assistance, or choose the walker space26"
            )
        for name, spring in self.anatomy.assistance.items():
            joint = self.parts.id(mujoco.mjtObj.mjOBJ_JOINT, "joint", name)
            self.model.jnt_stiffness[joint] += self.assistance * spring.stiffness
            self.model.dof_damping[self.model.jnt_dofadr[joint]] += self.assistance * spring.damping

    def _tilt_ground(self) -> None:
        """Tilt the ground plane about the origin."""
        if not abs(self.slope) <= STEEPEST_SLOPE:
            raise GaitError(
                f"the slope is {self.slope:g} deg; it must be from "
                f"{-STEEPEST_SLOPE:g} to {STEEPEST_SLOPE:g} deg"
            )
        model = self.model
        planes = np.flatnonzero(model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE)
        if not len(planes):
            raise GaitError(f"{self.source} has no ground plane, which a slope requires")
        friction = max(ground_friction(model, int(geom)) for geom in planes)
        if not abs(self.grade) < friction:
            raise GaitError(
                f"the slope is {self.slope:g} deg, but with their friction of {friction:.3g} the "
                f"contacts of {self.source} slide from {np.rad2deg(np.arctan(friction)):.3g} deg: "
                "use a smaller slope, or increase the friction in the model"
            )
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
