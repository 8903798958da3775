"""Exoskeletons attached to the legs of a model: masses and a torque at a joint of each leg."""

import functools
from pathlib import Path
from typing import Annotated, Literal

import mujoco
import numpy as np
import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from trueup._input_files import read_settings, safe_yaml
from trueup.errors import GaitError, ModelError, did_you_mean, listing
from trueup.gait.models.anatomy import LEGS, SUFFIX, Anatomy, myoassist_anatomy

DEVICES = Path(__file__).with_name("devices.yaml")

UPWARD = np.array([0.0, 0.0, 1.0])

Triple = tuple[float, float, float]


class DevicePart(BaseModel):
    """Mass of a device attached to the leg."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    body: Literal["above", "below"]
    """Body above or below the joint."""
    place: Triple
    """Center of mass from the joint in the standing pose (forward, outward, upward) [m]."""
    mass: Annotated[float, Field(gt=0.0)]
    """Mass [kg]."""
    inertia: tuple[
        Annotated[float, Field(gt=0.0)],
        Annotated[float, Field(gt=0.0)],
        Annotated[float, Field(gt=0.0)],
    ]
    """Moments of inertia about those axes [kg m2]."""


class Device(BaseModel):
    """An exoskeleton: the same on each leg."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    says: str = ""
    """Description of the purpose."""
    joint: Literal["hip", "knee", "ankle", "mtp"]
    """Actuated joint, by its role."""
    turns: Literal["forward", "backward"]
    """Direction of rotation of the part below the joint; ``forward``: its front upwards."""
    torque: Annotated[float, Field(gt=0.0)]
    """Largest torque [N m]."""
    parts: dict[str, DevicePart] = {}


@functools.cache
def shipped_devices() -> dict[str, Device]:
    """Devices of the package by name."""
    return load_devices(DEVICES)


def load_devices(path: str | Path) -> dict[str, Device]:
    """Devices of a YAML file, by name.

    Raises:
      GaitError: the file is missing or malformed.
    """
    path = Path(path)
    try:
        content = safe_yaml(read_settings(path))
        return TypeAdapter(dict[str, Device]).validate_python(content)
    except OSError as error:
        raise GaitError(f"cannot read the devices {path}: {error.strerror or error}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        if not isinstance(error, ValidationError):
            raise GaitError(f"{path} is not a YAML file: {error}") from error
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise GaitError(
            f"{path} is not a valid file of devices: {place}: {first['msg']}"
        ) from error


def find_device(name: str) -> Device:
    """A shipped device by its name.

    Raises:
      GaitError: unknown device.
    """
    devices = shipped_devices()
    if name not in devices:
        raise GaitError(
            f"unknown exoskeleton {name!r}; available: {listing(devices)}."
            f"{did_you_mean(name, devices)}"
        )
    return devices[name]


def attach_exoskeleton(
    spec: mujoco.MjSpec, device: str | Device = "ankle", anatomy: Anatomy | None = None
) -> mujoco.MjSpec:
    """Attach an exoskeleton to both legs of a model.

    Each leg receives the masses of the device and an actuator, named by the anatomy (``Exo_R``,
    ``Exo_L``). Its control is the fraction of the largest torque along the coordinate of the joint:
    from 0 to 1, or from -1 to 0 where the device acts against it.

    Args:
      spec: the model, modified.
      device: name of a device in ``devices.yaml``, or a custom device.
      anatomy: names of the joints of the model; by default those of MyoAssist.

    Returns:
      The model.

    Raises:
      GaitError: unknown device, missing joint, a device that is as heavy as the body, or a model
        that already has an exoskeleton.
      ModelError: the model does not compile.
    """
    device = find_device(device) if isinstance(device, str) else device
    anatomy = myoassist_anatomy() if anatomy is None else anatomy
    try:
        model = spec.compile()
    except ValueError as error:
        raise ModelError(f"the model does not compile: {error}") from error
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    forward = data.xaxis[_joint(model, anatomy.root.forward)]
    carried = len(LEGS) * sum(part.mass for part in device.parts.values())
    if carried >= (own := float(np.sum(model.body_mass))):
        raise GaitError(
            f"the device has {carried:.4g} kg on both legs, and the body that carries it only "
            f"{own:.4g} kg: reduce the masses of its parts"
        )
    axes = np.stack([forward, np.cross(UPWARD, forward), UPWARD], axis=1)
    for side, name in zip(LEGS, anatomy.both(anatomy.exoskeleton), strict=True):
        if spec.actuator(name) is not None:
            raise GaitError(f"the model already has an exoskeleton: actuator {name!r}")
        joint_name = anatomy.named(anatomy.joints[device.joint], side)
        joint = _joint(model, joint_name)
        below = int(model.jnt_bodyid[joint])
        bodies = {"below": below, "above": int(model.body_parentid[below])}
        outward = 1.0 if side == LEGS[1] else -1.0
        for part_name, part in device.parts.items():
            body = bodies[part.body]
            place = data.xanchor[joint] + axes @ (np.array(part.place) * (1.0, outward, 1.0))
            to_body = data.xmat[body].reshape(3, 3).T
            quat = np.zeros(4)
            mujoco.mju_mat2Quat(quat, (to_body @ axes).ravel())
            added = spec.body(model.body(body).name).add_body(
                name=f"exo_{part_name}_{SUFFIX[side]}",
                pos=to_body @ (place - data.xpos[body]),
                quat=quat,
            )
            added.mass, added.inertia = part.mass, part.inertia
            added.ipos, added.iquat = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
            added.explicitinertial = True
        along = float(data.xaxis[joint] @ -axes[:, 1])
        sense = np.sign(along) * (1.0 if device.turns == "forward" else -1.0)
        actuator = spec.add_actuator(
            name=name,
            target=joint_name,
            trntype=mujoco.mjtTrn.mjTRN_JOINT,
            ctrllimited=mujoco.mjtLimited.mjLIMITED_TRUE,
            ctrlrange=(0.0, 1.0) if sense > 0.0 else (-1.0, 0.0),
        )
        actuator.set_to_motor()
        actuator.gainprm[0] = device.torque
    return spec


def _joint(model: mujoco.MjModel, name: str) -> int:
    found = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name)
    if found < 0:
        names = [model.joint(i).name for i in range(model.njnt)]
        raise GaitError(
            f"an exoskeleton requires the joint {name!r}, which the model does not have; it has "
            f"{listing(names)}.{did_you_mean(name, names)}"
        )
    return found
